"""What was evaluated and what failed: the history, the last error, and the last values at the top level."""

import builtins
import collections
import datetime
import sys

from imago import native
from imago.exceptions import cut, moment_of, still
from imago.looking.fields import ABSENT, stored
from imago.native import time


# What has been evaluated in this image, by whom, and what came of it; and the error that was raised last.
#
# Both are bounded, hold text alone (no value of the program's is kept alive by them), and may be asked from any thread.

#: Entries that are kept, and how much of each: characters of who asked, of its source, and of what came of it.
KEPT = 1000
WHO_CHARS = 200
SOURCE_CHARS = 4000
RESULT_CHARS = 400

_OUTCOMES = frozenset(['done', 'raised', 'suspended', 'interrupted', 'left'])


class Entry:
    """One evaluation as it is remembered. ``at`` is in seconds since 1970, and ``place`` has a file and a line; what is
    not known, or not yet, is ``None``. ``outcome`` is ``running`` until it has ended.
    """

    __slots__ = ('number', 'who', 'call', 'source', 'truncated', 'place', 'outcome', 'result', 'at', 'elapsed_ms')

    def shown(self):
        """A ``RunHistoryEntry`` of the contract."""
        shown = {name: getattr(self, name) for name in self.__slots__}
        shown['at'] = rfc3339(self.at)
        return shown


class History:
    """The last ``KEPT`` entries, numbered from 1 without a gap, also where older ones have gone."""

    def __init__(self):
        self._entries = collections.deque(maxlen=KEPT)
        self._total = 0
        self._adding = native.Lock()

    def begin(self, evaluation):
        """An entry for an evaluation that begins now; ``end`` completes it."""
        file, line = evaluation.work.place
        entry = self.add(evaluation.who, evaluation.work.text, file=file, line=line, outcome='running')
        entry.call = evaluation.call
        return entry

    def end(self, entry, outcome):
        """Completes an entry with the ``Evaluated`` that an evaluation has come to."""
        entry.elapsed_ms = outcome['elapsed_ms']
        entry.result = _result(outcome)
        entry.outcome = outcome['type']

    def add(self, who, source, outcome, result=None, at=None, elapsed_ms=None, file=None, line=None):
        """An entry for what ``who`` has run without us. ``at`` is in seconds since 1970, as ``time.time`` has it."""
        if outcome != 'running' and outcome not in _OUTCOMES:
            raise ValueError('an outcome is one of %s' % ', '.join(sorted(_OUTCOMES)))
        entry = Entry()
        entry.who = who[:WHO_CHARS]
        entry.call = None
        entry.source = source[:SOURCE_CHARS]
        entry.truncated = len(source) > SOURCE_CHARS
        entry.place = None if file is None else {'file': file, 'line': line}
        entry.outcome = outcome
        entry.result = None if result is None else cut(result, RESULT_CHARS)
        entry.at = time.time() if at is None else at
        entry.elapsed_ms = elapsed_ms
        with self._adding:
            self._total += 1
            entry.number = self._total
            self._entries.append(entry)
        return entry

    def page(self, query):
        """A ``RunHistory``: the newest ``limit`` entries, or those before the number ``before``; newest first."""
        limit, before = query['limit'], query.get('before')
        with self._adding:
            entries, total = list(self._entries), self._total
        wanted = [entry for entry in reversed(entries) if before is None or entry.number < before]
        return {'entries': [entry.shown() for entry in wanted[:limit]], 'total': total}


class Errors:
    """The last error that was seen, as it was taken down where it was raised."""

    def __init__(self):
        self._last = None
        self._known = left_error()[1]
        self._seen = ['evaluations']
        #: The ``ProgramErrors``, unless a program listens without them.
        self.of_program = None

    def watch(self, what):
        """From here on, ``what`` is looked at too: a phrase for whoever asks where errors are seen."""
        self._seen.append(what)

    def note(self, raised, who=None, call=None):
        """Keeps a ``Raised`` as the last error."""
        self._known = left_error()[1]
        self._last = {'error': raised, 'who': who, 'call': call, 'at': rfc3339(time.time())}

    def page_of_program(self, query):
        """``ProgramErrors`` of the contract: none where nobody looks for them."""
        if self.of_program is None:
            return {'errors': [], 'total': 0, 'watched': False}
        return {**self.of_program.page(query), 'watched': self.of_program.watched}

    def last(self):
        """A ``LastError``."""
        error, known = left_error()
        last = self._last
        if error is not None and known != self._known:
            # It is none of those that we took down, and came after the last of them.
            last = {'error': still(error), 'who': None, 'call': None, 'at': None}
        if last is None:
            last = {'error': None, 'who': None, 'call': None, 'at': None}
        return {**last, 'seen': [*self._seen, WHERE]}


#: Where the interpreter leaves the error that a prompt has shown last.
WHERE = 'sys.last_exc' if sys.version_info >= (3, 12) else 'sys.last_value'


def left_error():
    """What the interpreter, or a prompt of the program's, has left of its last error; and by what that is known."""
    for name in ('last_exc', 'last_value'):
        error = stored(sys.__dict__, name)
        if error is not ABSENT and issubclass(type(error), BaseException):
            return error, moment_of(error)
    return None, None


def rfc3339(seconds):
    """``2025-01-31T12:00:00.123Z``"""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    # strftime would import a module at each call.
    return moment.replace(tzinfo=None).isoformat(timespec='milliseconds') + 'Z'


def _result(outcome):
    if outcome['type'] == 'done':
        values = outcome['values']
        return cut(values[-1]['repr']['text'], RESULT_CHARS) if values else None
    exception = outcome.get('exception')
    if exception is None:
        return None
    name = exception['type']['name']
    return cut('%s: %s' % (name, exception['message']) if exception['message'] else name, RESULT_CHARS)


# ``_``, ``__`` and ``___``: the last values that a person was shown at the console, as Python's own prompts have them.
#
# They are names of the top level, and only as long as nothing else has these names there or among the builtins, where
# ``gettext`` puts its own ``_``. What agents evaluate in between changes none of them, and a program that Imago is
# attached to is not given any.

#: Who asks as the console does.
CONSOLE = 'imago'
NAMES = ('_', '__', '___')

_ABSENT = object()


class LastValues:
    """Gives the names in one namespace, and knows which values it gave: a name that has another one is not ours."""

    def __init__(self, namespace):
        self._namespace = namespace
        self._given = dict.fromkeys(NAMES, _ABSENT)

    def keep(self, values, who):
        """Remembers what an evaluation of ``who`` came to. ``None`` is shown to nobody, and is not remembered."""
        if who != CONSOLE or not values or values[-1] is None or not self._are_free():
            return
        value = values[-1]
        for name in NAMES:
            value, self._given[name] = self._given[name], value
            if self._given[name] is _ABSENT:
                return
            self._namespace[name] = self._given[name]

    def _are_free(self):
        """Whether the names are ours, or nobody's."""
        if '_' in vars(builtins):
            return False
        return all(name not in self._namespace or self._namespace[name] is self._given[name] for name in NAMES)
