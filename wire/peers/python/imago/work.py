"""What an evaluation can be asked to do: run code, load or reload, run code in a frame, resume what is suspended."""

import inspect
import sys
import types

from imago.compiling import awaits
from imago.link import Fail
from imago.looking.frames import has_own_names, variables
from imago.looking.loaded import module_dict, other_copies
from imago.looking.source import inner_codes, instructions, names_in
from imago.params import count, optional, text, texts


# What an evaluation runs: source, or another kind of work that the daemon names in its parameters.
#
# Work has ``text``, by which the history tells of it, ``place`` (file and first line, each perhaps ``None``),
# ``begin(evaluator, evaluation)``, which is called at its turn, before any of it is run, and returns a ``Refused`` of the
# contract or ``None``, and ``run(evaluator)``, an async function that is entered exposed to interrupts and returns
# ``Ran``. It is a generator: Python does not complain of one that an interrupt has kept from beginning.

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
    """Source to be run at the top level, or in a loaded module. What its last statement comes to is shown, where that is
    an expression.
    """

    __slots__ = ('text', 'place', 'module', '_ran')

    def __init__(self, source, place=(None, None), module=None):
        self.text = source
        self.place = place
        self.module = module
        self._ran = None

    def begin(self, evaluator, evaluation):
        if self.module is None or module_dict(self.module) is not None:
            return None
        return refused('malformed', 'The module %s is not loaded.' % self.module, self.module)

    @types.coroutine
    def run(self, evaluator):
        codes = evaluator.compiler.compile(self.text, *self.place)
        names = evaluator.namespace if self.module is None else module_dict(self.module)
        self._ran = names, codes
        return (yield from executed(evaluator, codes, lambda code: eval(code, names)))

    def other_copies(self):
        """That names which it has read or set are other ones in the module that serves; ``None`` where none is."""
        names, whole = self._ran or ({}, ())
        codes = (one for code in whole if code is not None for one in inner_codes(code))
        used = (one for code in codes for one in instructions(code) if one.opname.endswith(('_NAME', '_GLOBAL')))
        return other_copies(names, (one.argval for one in used))


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


def _source(params):
    source, file, line = text(params, 'source'), params.get('file'), params.get('line')
    if file is not None:
        file = text(params, 'file')
    if line is not None:
        line = count(params, 'line', 1, LONGEST_LINE)
    return Source(source, (file, line), optional(text)(params, 'package'))


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


# Code that is evaluated in a frame of a suspended evaluation, and the names that it sees there.

#: Since 3.13 what is assigned to ``frame.f_locals`` is assigned to the variables of the frame (PEP 667).
WRITES_THROUGH = sys.version_info >= (3, 13)


class Scope:
    """The names of one frame. What is assigned here is seen by what is evaluated in the same frame later.

    ``locals`` are the frame's own where Python lets them be set, and a copy of them elsewhere.
    """

    def __init__(self, frame):
        self.globals = frame.f_globals
        self.is_copy = self.copies(frame)
        self.locals = variables(frame) if self.is_copy else frame.f_locals

    @staticmethod
    def copies(frame):
        return has_own_names(frame) and not WRITES_THROUGH

    def run(self, code):
        """What ``code`` comes to; a coroutine, where it awaits."""
        return eval(code, self._seen_by(code), self.locals)

    def _seen_by(self, code):
        """The globals for ``code``. By themselves, functions that it defines see no locals of the frame."""
        if self.locals is self.globals:
            return self.globals
        used, sets = set(), False
        for inner in inner_codes(code):
            sets = sets or any(one.opname in ('STORE_GLOBAL', 'DELETE_GLOBAL') for one in instructions(inner))
            if inner is not code:
                used.update(names_in(inner))
        hidden = {name: self.locals[name] for name in used if name in self.locals}
        return self.globals if sets or not hidden else {**self.globals, **hidden}


class InFrame:
    """Source, evaluated in frame ``number`` of a suspension. An error that suspends it does so one level deeper."""

    __slots__ = ('text', 'place', '_name', '_number', '_suspension')

    def __init__(self, name, number, source):
        self.text = source
        self.place = (None, None)
        self._name = name
        self._number = number
        self._suspension = None

    def begin(self, evaluator, evaluation):
        suspensions = evaluator.suspensions
        found = suspensions.seize(self._name, evaluation)
        if found is None:
            return unknown(suspensions, self._name)
        if self._number >= len(found.frames):
            suspensions.leave(evaluation)
            return refused('malformed', no_frame(found, self._number), str(self._number))
        self._suspension = evaluation.within = found
        return None

    @types.coroutine
    def run(self, evaluator):
        with evaluator.shield:
            scope = self._scope()
        return (yield from executed(evaluator, evaluator.compiler.compile(self.text), scope.run))

    def _scope(self):
        suspension, number = self._suspension, self._number
        frames, scopes = suspension.frames, suspension.scopes
        if frames is None or scopes is None:
            raise LookupError('%s has ended' % suspension.id)
        if number not in scopes:
            scopes[number] = Scope(frames[number][0])
        return scopes[number]


def in_frame(params):
    """The work that ``suspension``, ``frame`` and ``source`` name."""
    return InFrame(text(params, 'suspension'), count(params, 'frame'), text(params, 'source'))


def unknown(suspensions, name):
    """``Refused``: nothing waits under that name."""
    answer = refused('not_found', 'Nothing is suspended as %s: it has ended, or never was.' % name[:100], name[:100])
    return {**answer, 'nearest': suspensions.nearest(name)}


def refused(reason, message, what=None, next=None):
    """The ``Refused`` of the contract."""
    answer = {'type': 'refused', 'reason': reason, 'message': message}
    if what is not None:
        answer['what'] = what
    if next is not None:
        answer['next'] = next
    return answer


def no_frame(suspension, number):
    """A sentence: what frames there are."""
    total = len(suspension.frames)
    return '%s has no frame %d: its frames are 0 to %d, innermost first.' % (suspension.id, number, total - 1)


# How a suspended evaluation goes on: by a restart, or not at all.

RETRY = {
    'name': 'retry',
    'description': 'Run the same code again, from its beginning, with what is defined now.',
}
ABORT = {'name': 'abort', 'description': 'Give it up, with its frames. It has no value.'}
CONTINUE = {
    'name': 'continue',
    'description': 'Let the exception go on as Python does, through finally blocks to the top level.',
}
_HELD = (CONTINUE, {**RETRY, 'description': 'Unwind the stack, and r' + RETRY['description'][1:]}, ABORT)

#: What Python cannot do to a frame, and what can be done instead.
CANNOT = {
    'return': (
        'Python cannot have a frame return a value once an error was raised in it.',
        'Evaluate in the frame (debug_eval) what its callers would do with the value, or define the function anew and '
        'take the restart retry.',
    ),
    'again': (
        'Python cannot call the function of a frame again in its place.',
        'Call the function with the values of the frame (debug_eval), or take the restart retry, which runs the whole '
        'code again.',
    ),
}
_WAYS = ('restart', 'leave', *CANNOT)


def restarts(suspension):
    """The restarts of a suspension, each at the place of its number."""
    if suspension.held is not None:
        return list(_HELD)
    return [ABORT] if suspension.work is None else [RETRY, ABORT]


class Resume:
    """``way`` is ``restart``, with its number, or ``leave``. Others are refused, since Python knows none."""

    __slots__ = ('text', 'place', '_name', '_way', '_restart', '_value', '_suspension', '_chosen')

    def __init__(self, name, way, restart=None, value=None):
        self.text = 'resume %s: %s' % (name, way if restart is None else '%s %d' % (way, restart))
        self.place = (None, None)
        self._name = name
        self._way = way
        self._restart = restart
        self._value = value
        self._suspension = self._chosen = None

    def begin(self, evaluator, evaluation):
        suspensions = evaluator.suspensions
        found = suspensions.seize(self._name, evaluation)
        answer = unknown(suspensions, self._name) if found is None else self._refused(found)
        if answer is not None:
            suspensions.leave(evaluation)
            return answer
        self._suspension = found
        self._chosen = ABORT if self._way == 'leave' else restarts(found)[self._restart]
        self.text = 'resume %s: %s' % (found.id, 'leave' if self._way == 'leave' else self._chosen['name'])
        evaluation.within = found.within
        if self._chosen['name'] == 'retry':
            evaluation.again = found.work
        if found.held is not None:
            found.held.resume(evaluation, self._chosen['name'])
        return None

    def _refused(self, found):
        if self._way in CANNOT:
            why, instead = CANNOT[self._way]
            return refused('malformed', why, self._way, instead)
        if self._way == 'leave':
            return None
        offered = restarts(found)
        if self._restart >= len(offered):
            said = '%s has no restart %d.' % (found.id, self._restart)
            there = ['%d %s' % (at, one['name']) for at, one in enumerate(offered)]
            return {**refused('not_found', said, str(self._restart)), 'nearest': there}
        if self._value is not None:
            said = 'The restart %s takes no value: no restart of Python does.' % offered[self._restart]['name']
            return refused('malformed', said, 'value', 'Take it without a value.')
        return None

    @types.coroutine
    def run(self, evaluator):
        yield from ()
        suspension, work = self._suspension, self._suspension.work
        again = self._chosen['name'] == 'retry'
        self._suspension = None
        with evaluator.shield:
            if again:
                evaluator.suspensions.end(suspension, 'resumed', 'Its code is run again from its beginning.')
            else:
                evaluator.suspensions.end(suspension, 'left', 'It was given up, on request.')
        if again:
            return (yield from work.run(evaluator))
        return Ran([], left='%s was given up.' % suspension.id)


def resume(params):
    """The work that ``resume``, ``way`` and what belongs to it name."""
    way = text(params, 'way')
    if way not in _WAYS:
        raise Fail('invalid_params', 'way must be one of %s' % ', '.join(_WAYS))
    restart = count(params, 'restart') if way == 'restart' else None
    return Resume(text(params, 'resume'), way, restart, optional(text)(params, 'value'))


#: By the parameter that names it, what reads the work of each kind. ``imago.loading`` has what loads: functions that
#: are called where evaluations run, exposed to interrupts, with the evaluator (its ``namespace``, ``compiler``,
#: ``guard`` and ``handles``); they return the ``Loaded`` of the contract, or raise what the loaded code raised.
KINDS = {'source': _source, 'load': _load, 'reload': _reload, 'suspension': in_frame, 'resume': resume}


def work_of(params):
    """The work that the parameters of ``evaluate`` name. Raises ``Fail``."""
    kinds = [kind for kind in KINDS if params.get(kind) is not None]
    if kinds == ['source', 'suspension']:
        del kinds[0]
    if len(kinds) != 1:
        raise Fail('invalid_params', 'evaluate takes exactly one of %s' % ', '.join(KINDS))
    return KINDS[kinds[0]](params)
