"""Suspended evaluations: where they are kept, how an error suspends one, and errors of the person that can be
adopted."""

import collections
import sys

from imago import native
from imago.exceptions import still
from imago.history import WHERE, left_error, rfc3339
from imago.looking.fields import type_facts
from imago.looking.frames import entries_of, is_ours, stored_message, traceback_of
from imago.looking.outcomes import found, malformed, nearest, not_found
from imago.looking.source import file_of
from imago.native import time
from imago.sources import is_evaluated
from imago.work import restarts


# Evaluations that an error has suspended, by name, until each is resumed, left, or given up.
#
# The daemon has the clock: an image keeps a suspension until it is told how that goes on, or its link is gone. All of an
# attached program end at once when its link to the daemon is lost. An owned kernel keeps its own over a broken link,
# which it makes again at once; when its daemon is gone it ends itself. An evaluation that fails in an attached program while nobody is attached is not
# suspended. Each end is told once, by a note; an owned kernel whose link is broken tells of it over the next one.
#
# What a suspension keeps alive is let go of where evaluations run, since finalizers of the program's may run then.

#: Suspensions of one image.
MOST = 8
#: How soon a daemon that is behind or away is told again of an end, in seconds.
AGAIN = 0.25

FULL = (
    'It did not suspend, as %d errors wait here already, which is the most: resume or leave one of them '
    '(debug_restart), and run this again.' % MOST
)
UNHEARD = 'It did not suspend, as nobody was attached when it was raised.'


class Suspension:
    """One stack that is kept.

    ``frames`` are ``(frame, line)``, innermost first, and ``scopes`` the names that code evaluated in some of them has
    set, by their numbers. ``work`` is what ``retry`` runs again; ``None`` for an error that nobody asked Imago for.
    ``running`` is the evaluation that works with it now, ``within`` the suspension that it stands on, and ``held``
    what holds its stack alive; ``by`` is who was there. ``known`` are its facts, as the contract spells them.
    """

    def __init__(self, number, prefix):
        self.number = number
        self.id = 's%d@%s' % (number, prefix)
        self.known = {}
        self.frames = []
        self.scopes = {}
        self.notes = ()
        self.work = self.within = self.held = self.by = self.running = None
        self.looks = 0
        self.ended = False

    def told(self):
        """The ``Suspension`` of the contract."""
        return {**self.known, 'busy': self.running is not None}


class Suspensions:
    """Those of one image. Any thread may call; on the one that evaluates, under the shield."""

    def __init__(self, handles, clock, place, note=None):
        self._handles = handles
        self._clock = clock
        self._place = place
        self._news = News(clock, note or _untold, lambda: self.heard())
        self._lock = native.RLock()
        self._count = 0
        self._live = {}
        #: Who is there and could come back to a suspension, if anybody is: the link, where its loss ends them.
        self.heard = _always

    def why_not(self):
        """Why no error can suspend now, as a sentence; ``None`` where one can."""
        if not self.heard():
            return UNHEARD
        return FULL if len(self._live) >= MOST else None

    def keep(self, facts, frames, within=None, work=None, notes=(), held=None):
        """A new suspension, or ``None`` where there can be none by now.

        ``facts`` are ``call``, ``who``, ``type``, ``message`` and ``at``.
        """
        with self._lock:
            if self.why_not() is not None:
                return None
            self._count += 1
            kept = Suspension(self._count, self._handles.prefix)
            kept.by = self.heard()
            kept.frames, kept.within, kept.work, kept.notes, kept.held = frames, within, work, notes, held
            kept.known = {
                'id': kept.id,
                **facts,
                'how': 'post_mortem' if held is None else 'held',
                'level': 1 if within is None else within.known['level'] + 1,
                'within': None if within is None else within.id,
            }
            self._live[kept.id] = kept
        return kept

    def find(self, name):
        """The one with that id, or ``None``."""
        with self._lock:
            return self._live.get(name)

    def live(self):
        """Newest first."""
        with self._lock:
            return list(reversed(list(self._live.values())))

    def nearest(self, name):
        """The ids that live, those like ``name`` first."""
        ids = [one.id for one in self.live()]
        like = nearest(name, ids)
        return like + [one for one in ids if one not in like]

    def seize(self, name, evaluation):
        """The one with that id, from now on with ``evaluation`` running in it; ``None`` if there is none."""
        with self._lock:
            found = self.find(name)
            if found is not None:
                found.running = evaluation
            return found

    def leave(self, evaluation):
        """The evaluation, or what it has gone on as, runs in none of them any more."""
        with self._lock:
            for one in self._live.values():
                if one.running is evaluation:
                    one.running = None

    def look(self, suspension, look):
        """``look()``, through which nothing of the suspension is let go of."""
        with self._lock:
            suspension.looks += 1
        try:
            return look()
        finally:
            with self._lock:
                suspension.looks -= 1
                self._let_go(suspension)

    def end(self, suspension, how, message):
        """Ends it, and what stands on it before. False, and nothing is done, where it has ended."""
        with self._lock:
            if suspension.ended:
                return False
            for inner in self.live():
                if inner.within is suspension:
                    self.end(inner, 'within', '%s, on which it stood, has ended.' % suspension.id)
            suspension.ended = True
            del self._live[suspension.id]
            self._news.tell({'id': suspension.id, 'how': how, 'message': message})
            self._let_go(suspension)
            return True

    def lose(self, by, message):
        """Ends those that were made while ``by`` was there: nobody can come back to one."""
        with self._lock:
            for one in self.live():
                if one.by is by:
                    self.end(one, 'lost', message)

    def become_child(self):
        """In a forked child, which has nobody to tell of what its parent keeps."""
        self._lock = native.RLock()
        self._news = News(self._clock, _untold, _always)
        self._live = {}

    def _let_go(self, suspension):
        """Drops what it keeps alive, once it has ended and nobody looks any more."""
        if suspension.ended and not suspension.looks and suspension.frames is not None:
            kept = [suspension.frames, suspension.scopes, suspension.work, self._handles.take_back(suspension.id)]
            suspension.frames = suspension.scopes = suspension.work = None
            self._place.put(kept.clear, lambda _: kept.clear())


class News:
    """What the daemon is told of ends: each once, in order, if not now then later, unless none will come back."""

    def __init__(self, clock, note, heard):
        self._clock = clock
        self._note = note
        self._heard = heard
        self._untold = collections.deque(maxlen=4 * MOST)
        self._awaited = False
        self._telling = native.RLock()

    def tell(self, end):
        with self._telling:
            self._untold.append(end)
            self.speak()

    def speak(self):
        """Says what is unsaid, as far as the daemon takes it; the rest is tried again."""
        with self._telling:
            while self._untold:
                if not self._note('suspension', self._untold[0]):
                    if not self._heard():
                        self._untold.clear()
                    elif not self._awaited:
                        self._awaited = True
                        self._clock.after(AGAIN, self._late)
                    return
                self._untold.popleft()

    def _late(self):
        self._awaited = False
        self.speak()


def _always():
    return True


def _untold(name, params):
    """Where there is nobody to tell."""
    return True


# Whether an error suspends its evaluation, and what is kept of it then.
#
# Not suspended are what ends a program or was asked to stop it (``SystemExit``, ``KeyboardInterrupt``), a source that
# cannot be compiled, which has no frames, and ``MemoryError``, whose frames would keep the memory. A ``RecursionError``
# is: its frames are there already, and looking at them goes by pages.

_ENDS = (SystemExit, KeyboardInterrupt, GeneratorExit)
MEMORY = 'It did not suspend: its frames would keep what has filled the memory.'
OUTER_ENDED = 'It did not suspend: the suspension in whose frame it was raised has ended.'


def ended_with(evaluator, evaluation, error, raised, elapsed_ms):
    """The outcome of an evaluation that ended with ``error``, of which ``raised`` is the report."""
    outcome = {'type': 'raised', 'exception': raised, 'elapsed_ms': elapsed_ms}
    if evaluation.suspend is None or issubclass(type(error), _ENDS):
        return outcome
    frames = frames_of(traceback_of(error))
    if not frames:
        return outcome
    within = evaluation.within
    why_not = MEMORY if issubclass(type(error), MemoryError) else evaluator.suspensions.why_not()
    if why_not is None and within is not None and within.ended:
        why_not = OUTER_ENDED
    if why_not is not None:
        raised['notes'] = [*raised.get('notes', ()), why_not]
        return outcome
    facts = facts_of(raised, evaluation.call, evaluation.who)
    work = evaluation.again or evaluation.work
    kept = evaluator.suspensions.keep(facts, frames, within, work, notes_of(raised))
    if kept is None:
        raised['notes'] = [*raised.get('notes', ()), UNHEARD]
        return outcome
    return suspended_as(kept, raised, elapsed_ms)


def suspended_as(suspension, raised, elapsed_ms):
    """The outcome of an evaluation that waits as ``suspension``, by an error of which ``raised`` is the report."""
    exception = {**raised, 'restarts': restarts(suspension)}
    told = suspension.told()
    return {'type': 'suspended', 'suspension': told, 'exception': exception, 'elapsed_ms': elapsed_ms}


def is_stopped(error):
    """Whether an exception is an interrupt, or was raised while handling one."""
    asyncio = sys.modules.get('asyncio')
    cancelled = () if asyncio is None else (asyncio.CancelledError,)
    seen = []
    while error is not None and all(error is not known for known in seen):
        if isinstance(error, (KeyboardInterrupt, SystemExit, *cancelled)):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False


def facts_of(raised, call, who):
    """What a ``Suspension`` of the contract says of an error, and of whose it is."""
    message, kind = raised['message'], raised['type']
    return {'call': call, 'who': who, 'type': kind, 'message': message, 'at': rfc3339(time.time())}


def notes_of(raised):
    """What is to be said in each of its frames: there is another error behind it, whose frames are not among them."""
    if 'cause' not in raised:
        return ()
    other = raised['cause']
    how = 'was raised from' if other['how'] == 'cause' else 'was raised while handling'
    name = other['exception']['type']['name']
    said = 'The error %s another one, %s, whose frames are not among these; its report has them.' % (how, name)
    return (said,)


def frames_of(trace):
    """``(frame, line)`` of the program's frames, innermost first."""
    frames = [(one.tb_frame, one.tb_lineno or 0) for one in entries_of(trace) if not is_ours(one.tb_frame.f_code)]
    frames.reverse()
    return frames


# The error that the person at a prompt of this program was left with: told of, and made a suspension on their word.
#
# It is what the prompt leaves for its own debugger, as ``sys.last_exc`` or ``sys.last_value``. What was raised in an
# evaluation of Imago's is not theirs, whoever has put it there.

#: Who it is of.
PERSON = 'the person at the prompt'
#: Frames of the prompt itself, at the outer end of such an error.
_PROMPTS = frozenset(['code.py', 'pdb.py', 'bdb.py'])


class Left:
    """The error that is there now, by a name of its own for each that was."""

    def __init__(self, handles):
        self._prefix = handles.prefix
        self._count = 0
        self._moment = None
        self._adopted = None

    def found(self):
        """``(id, error)``, or ``(None, None)`` where there is none."""
        error, moment = left_error()
        if error is None or _is_ours(error):
            return None, None
        if moment != self._moment:
            self._count += 1
            self._moment, self._adopted = moment, None
        return 'e%d@%s' % (self._count, self._prefix), error

    def adopted(self, live):
        """The suspension that it is, if it still is one of ``live``."""
        return self._adopted if self._adopted in live else None

    def adopt(self, suspension):
        self._adopted = suspension


def theirs(image, query):
    """A ``Looked<Theirs>``."""
    name, error = image.left.found()
    if error is None:
        return found({'errors': []})
    told = {'id': name, 'where': WHERE, 'type': type_facts(error), 'message': stored_message(error)}
    return found({'errors': [told]})


def adopt(image, query):
    """A ``Looked<Suspension>``: the same one again, where it is one."""
    name, error = image.left.found()
    if error is None or name != query['id']:
        return not_found(query['id'], [] if name is None else [name])
    suspensions = image.suspensions
    known = image.left.adopted(suspensions.live())
    if known is not None:
        return found(known.told())
    why_not = suspensions.why_not()
    frames = _without_prompt(frames_of(traceback_of(error)))
    if why_not is None and not frames:
        why_not = 'It has no frames of the program to look at.'
    if why_not is not None:
        return malformed(why_not)
    raised = still(error)
    kept = suspensions.keep(facts_of(raised, None, PERSON), frames, notes=notes_of(raised))
    if kept is None:
        return malformed(suspensions.why_not() or 'It could not be kept; ask again.')
    image.left.adopt(kept)
    return found(kept.told())


def _is_ours(error):
    """Whether it was raised in an evaluation, by which its stack begins, whoever has caught it."""
    trace = traceback_of(error)
    if trace is not None and is_evaluated(trace.tb_frame.f_code):
        return True
    return any(is_ours(one.tb_frame.f_code) for one in entries_of(trace))


def _without_prompt(frames):
    """The frames but those at the outer end that are the prompt's own."""
    kept = list(frames)
    while kept and _of_a_prompt(file_of(kept[-1][0].f_code)):
        kept.pop()
    return kept


def _of_a_prompt(file):
    parts = file.replace('\\', '/').split('/')
    return 'IPython' in parts or parts[-1] in _PROMPTS
