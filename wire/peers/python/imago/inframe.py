"""Code that is evaluated in a frame of a suspended evaluation, and the names that it sees there."""

import sys
import types

from imago.looking.codes import inner_codes, instructions, names_in
from imago.looking.frames import has_own_names, variables
from imago.params import count, text
from imago.works import executed

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
    """Source, evaluated in frame ``number`` of a suspension. An error in it suspends one level deeper."""

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
            suspensions.leave(evaluation, renew=False)
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
