"""The methods that the daemon calls, by name: what each takes, and where its work is done."""

import copy

from imago import looking, suspension_looks, tracing
from imago.link import Fail
from imago.looking import outcomes
from imago.looking.classes import hierarchy, slots
from imago.looking.completion import complete
from imago.looking.definitions import definition
from imago.looking.description import arglist, describe
from imago.looking.loaded import is_imago, main_namespace, module_dict
from imago.looking.names import apropos, globals_of, symbols
from imago.looking.references import references
from imago.looking.running import kept_text
from imago.looking.threads import threads
from imago.native import report_fault
from imago.params import count, flag, optional, query, suspending, text
from imago.suspensions import Left, adopt, theirs
from imago.unread_errors import unread
from imago.work import work_of
from imago.workers import Task

# The looks that this peer offers: for each its parameters, and the function that answers it.
#
# A function is given the image and its query, runs no user code, and returns a ``Looked`` of ``wire/kernel.ts``. It is
# called on a worker, while the program runs.


class Image:
    """What is looked at: the namespace of the top level, and what is remembered beside it."""

    __slots__ = ('_namespace', 'handles', 'history', 'errors', 'suspensions', 'left', 'tracing')

    def __init__(self, namespace, handles, evaluator, tracing):
        self._namespace = namespace
        self.handles = handles
        self.history = evaluator.history
        self.errors = evaluator.errors
        self.suspensions = evaluator.suspensions
        self.left = Left(handles)
        self.tracing = tracing

    @property
    def namespace(self):
        return main_namespace() if self._namespace is None else self._namespace

    def within(self, module):
        """The same with the names of a loaded module in place of those of the top level."""
        namespace = module_dict(module)
        if namespace is None:
            raise outcomes.Unresolved(outcomes.not_found('the module %s, which is not loaded' % module))
        image = copy.copy(self)
        image._namespace = namespace
        return image


def _unread(image, query):
    found = unread(image.namespace, image.handles) if query.get('unread') else None
    return {} if found is None else {'unread': found}


def _within(function):
    """The look, among the names of the module that the query names as its package."""

    def look(image, query):
        module = query.get('package')
        try:
            return function(image if module is None else image.within(module), query)
        except outcomes.Unresolved as unresolved:
            return unresolved.looked

    return look


def _scope(image, query):
    """In which module the names of a file are; `None` where the file is not loaded."""
    from imago.loading import modules_of

    # A program that was started by this file has its names there; a module that was imported besides is another one.
    names = [name for name, _ in modules_of(query['file']) if not is_imago(name)]
    return outcomes.found({'module': names[0] if names else None})


LOOKS = {
    'scope': ({'file': text}, _scope),
    'inspect': (
        {'expr': text, 'frame': optional(text), 'package': optional(text)},
        _within(
            lambda image, query: looking.inspect_static(
                image.namespace, query['expr'], image.handles, query.get('frame'), image.errors.of_program
            )
        ),
    ),
    'globals': (
        {
            'modules': flag,
            'limit': count,
            'module': optional(text),
            'after': optional(text),
            'filter': optional(text),
        },
        globals_of,
    ),
    'more': (
        {'handle': text, 'from': count, 'count': count},
        lambda image, query: looking.more(image.handles, query),
    ),
    'history': (
        {'limit': count, 'before': optional(count)},
        lambda image, query: outcomes.found(image.history.page(query)),
    ),
    'errors': (
        {'count': count, 'unread': optional(flag)},
        lambda image, query: outcomes.found(
            {**image.errors.page_of_program(query), **_unread(image, query)},
        ),
    ),
    'last_error': ({}, lambda image, _: outcomes.found(image.errors.last())),
    'definition': (
        {'name': text, 'max_length': count, 'contexts': optional(flag), 'package': optional(text)},
        _within(definition),
    ),
    'kept_text': ({'file': text}, kept_text),
    'describe': ({'name': text, 'package': optional(text)}, _within(describe)),
    'arglist': ({'name': text, 'package': optional(text)}, _within(arglist)),
    'complete': ({'text': text, 'cursor': count, 'limit': count, 'package': optional(text)}, _within(complete)),
    'apropos': ({'pattern': text, 'module': optional(text), 'after': optional(text), 'limit': count}, apropos),
    'symbols': (
        {'module': text, 'internal': flag, 'filter': optional(text), 'after': optional(text), 'limit': count},
        symbols,
    ),
    'slots': ({'name': text, 'limit': count}, slots),
    'hierarchy': ({'name': text, 'limit': count}, hierarchy),
    'references': ({'name': text, 'limit': count}, references),
    'suspensions': ({}, suspension_looks.suspensions),
    'suspension': ({'suspension': text, 'from': count, 'count': count}, suspension_looks.suspension),
    'frame': ({'suspension': text, 'frame': count}, suspension_looks.frame),
    'theirs': ({}, theirs),
    'adopt': ({'id': text}, adopt),
    'threads': ({'filter': optional(text), 'limit': count, 'frames': count, 'locals': flag}, threads),
    **tracing.LOOKS,
}

#: What this peer can do, as its hello says it.
ABILITIES = ['evaluate', 'load', 'reload', 'interrupt', 'ask', 'live_frames', 'suspend', *LOOKS]


# The methods that the daemon calls.
#
# All of them are entered on the reader's thread and return at once. ``evaluate`` goes to the evaluator, looking to
# workers, and what can be said from memory is answered on the spot.


class Service:
    """The table of methods of one kernel. ``serve`` is what a link is given to call."""

    # What a kernel of another language has in the place of these.
    image_of = Image
    looks = LOOKS
    work_of = staticmethod(work_of)

    def __init__(self, evaluator, workers, clock, namespace, handles, tracing, stop, detach=None):
        self._evaluator = evaluator
        self._workers = workers
        self._clock = clock
        self._image = self.image_of(namespace, handles, evaluator, tracing)
        self._stop = stop
        self._detach = detach
        self._methods = {
            'evaluate': self._evaluate,
            'recall': self._recall,
            **{name: self._looker(*look) for name, look in self.looks.items()},
            'interrupt': self._interrupt,
            'status': self._status,
            'detach': self._detach_program,
            'stop': self._stop_kernel,
        }

    def serve(self, served, method, params):
        run = self._methods.get(method)
        if run is None:
            raise Fail('unknown_method', 'this kernel has no method %r' % method[:100])
        if not isinstance(params, dict):
            raise Fail('invalid_params', '%s takes an object of parameters' % method)
        try:
            run(served, params)
        except Fail:
            raise
        except Exception as error:
            report_fault('the method %s' % method)
            raise Fail('fault', '%s failed with %s: %s' % (method, type(error).__name__, error)) from None

    def _evaluate(self, served, params):
        call, who = text(params, 'call'), text(params, 'who')
        self._evaluator.evaluate(served, call, who, self.work_of(params), suspending(params))

    def _recall(self, served, params):
        self._evaluator.recall(served, text(params, 'call'))

    def _interrupt(self, served, params):
        self._evaluator.interrupt(text(params, 'call'), served.result)

    def _status(self, served, params):
        served.result(self._evaluator.status())

    def _stop_kernel(self, served, params):
        if self._stop is None:
            raise Fail('not_owned', 'this program is not the daemon\'s to end; it only listens to it')
        served.result(None)
        self._stop()

    def _detach_program(self, served, params):
        if self._detach is not None:
            self._detach()
        served.result(None)

    def _looker(self, readers, answer):
        def look(served, params):
            wanted = query(readers, params)
            self._look(served, params, lambda: answer(self._image, wanted))

        return look

    def _look(self, served, params, look):
        """Answers with what a worker finds, or ``timed_out`` when the deadline is over."""
        deadline_ms = count(params, 'deadline_ms', 1)

        def work():
            try:
                answer, said = served.result, (look(),)
            except Exception as error:
                report_fault('a look')
                answer, said = served.fail, ('fault', 'looking failed with %s: %s' % (type(error).__name__, error))
            call_off()
            answer(*said)

        def late():
            served.result({'type': 'timed_out', 'deadline_ms': deadline_ms})
            self._workers.give_up(task)

        task = Task(work)
        call_off = self._clock.after(deadline_ms / 1000, late)
        self._workers.do(task)
