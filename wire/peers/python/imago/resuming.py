"""How a suspended evaluation goes on: by a restart, or not at all."""

import types

from imago.inframe import refused, unknown
from imago.link import Fail
from imago.params import count, optional, text
from imago.works import Ran

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
            suspensions.leave(evaluation, renew=False)
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
