"""What an evaluation runs: source, or another kind of work that the daemon names in its parameters.

Work has ``text``, by which the history tells of it, ``place`` (file and first line, each perhaps ``None``),
``begin(evaluator, evaluation)``, which is called at its turn, before any of it is run, and returns a ``Refused`` of the
contract or ``None``, and ``run(evaluator)``, an async function that is entered exposed to interrupts and returns
``Ran``. It is a generator: Python does not complain of one that an interrupt has kept from beginning.
"""

import inspect
import types

from imago.compiling import awaits
from imago.link import Fail
from imago.params import count, optional, text, texts

LONGEST_LINE = 10_000_000


class Ran:
    """``values`` are what is shown of it; ``loaded`` is the ``Loaded`` of the contract, where it loaded something.

    ``left`` says why it has no value, where it was given up instead of run to its end.
    """

    __slots__ = ('values', 'loaded', 'left')

    def __init__(self, values, loaded=None, left=None):
        self.values = values
        self.loaded = loaded
        self.left = left


class Source:
    """Source to be run at the top level. What its last statement comes to is shown, where that is an expression."""

    __slots__ = ('text', 'place')

    def __init__(self, source, place=(None, None)):
        self.text = source
        self.place = place

    def begin(self, evaluator, evaluation):
        return None

    @types.coroutine
    def run(self, evaluator):
        codes = evaluator.compiler.compile(self.text, *self.place)
        return (yield from executed(evaluator, codes, lambda code: eval(code, evaluator.namespace)))


@types.coroutine
def executed(evaluator, compiled, run):
    """``Ran``, of ``(statements, expression)`` as the compiler has them; ``run(code)`` is what one of them comes to."""
    codes = [code for code in compiled if code is not None]
    value = None
    if any(awaits(code) for code in codes):
        # All of it on the one event loop: a last expression may make a task of what was awaited before.
        value = yield from _whole(evaluator, evaluator.place.wait, _in_turn(evaluator, codes, run))
    else:
        for code in codes:
            value = run(code)
    return Ran([] if compiled[1] is None else [value])


async def _in_turn(evaluator, codes, run):
    """What the last of them comes to."""
    value = None
    for code in codes:
        with evaluator.shield:
            coroutine = run(code) if awaits(code) else None
        value = run(code) if coroutine is None else await _whole(evaluator, _itself, coroutine)
    return value


@types.coroutine
def _whole(evaluator, wait, coroutine):
    """Awaits ``wait(coroutine)``. One that an interrupt has kept from beginning is closed, or Python would complain."""
    try:
        return (yield from wait(coroutine))
    except BaseException:
        if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
            coroutine.close()
        raise


@types.coroutine
def _itself(coroutine):
    return (yield from coroutine)


class Task:
    """Work of a kind other than source: ``task(evaluator)`` is run where evaluations run, and returns ``Ran``."""

    __slots__ = ('text', 'place', '_task')

    def __init__(self, text, task, file=None):
        self.text = text
        self.place = (file, None)
        self._task = task

    def begin(self, evaluator, evaluation):
        return None

    @types.coroutine
    def run(self, evaluator):
        yield from ()
        return self._task(evaluator)


def work_of(params):
    """The work that the parameters of ``evaluate`` name. Raises ``Fail``."""
    kinds = [kind for kind in KINDS if params.get(kind) is not None]
    if kinds == ['source', 'suspension']:
        del kinds[0]
    if len(kinds) != 1:
        raise Fail('invalid_params', 'evaluate takes exactly one of %s' % ', '.join(KINDS))
    return KINDS[kinds[0]](params)


def _source(params):
    source, file, line = text(params, 'source'), params.get('file'), params.get('line')
    if file is not None:
        file = text(params, 'file')
    if line is not None:
        line = count(params, 'line', 1, LONGEST_LINE)
    return Source(source, (file, line))


def _load(params):
    file = text(params, 'load')
    names = optional(texts)(params, 'names')

    def load(evaluator):
        from imago import loading

        return Ran([], loading.load(evaluator, file, names))

    return Task('load %s' % file if names is None else 'load %s: %s' % (file, ', '.join(names)), load, file)


def _reload(params):
    module = text(params, 'reload')

    def reload(evaluator):
        from imago import loading

        return Ran([], loading.reload(evaluator, module))

    return Task('reload %s' % module, reload)


def _in_frame(params):
    from imago.inframe import in_frame

    return in_frame(params)


def _resume(params):
    from imago.resuming import resume

    return resume(params)


#: By the parameter that names it, what reads the work of each kind. ``imago.loading`` has what loads: functions that
#: are called where evaluations run, exposed to interrupts, with the evaluator (its ``namespace``, ``compiler``,
#: ``guard`` and ``handles``); they return the ``Loaded`` of the contract, or raise what the loaded code raised.
KINDS = {'source': _source, 'load': _load, 'reload': _reload, 'suspension': _in_frame, 'resume': _resume}
