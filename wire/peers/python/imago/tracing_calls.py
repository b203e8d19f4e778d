"""Calls as they are taken down: at their begin and at their end, on the thread on which they are made.

Nothing here runs code of the program or raises into it, and nothing here is taken down itself. A value is written from
what it stores. What it was then is text; a handle, made when somebody asks, leads to what it is now: through a weak
reference, so that objects end when they would have ended, or, for what has no weak references, while it is among the
last that were met.
"""

import collections
import threading
import weakref
from _thread import _local
from itertools import islice

from imago import native
from imago.history import rfc3339
from imago.looking.display import SCALAR_FACTS, is_worth_a_handle, quick
from imago.looking.fields import ABSENT, plain, type_facts
from imago.looking.frames import LOCALS_PROXY, function_name, is_ours, outwards, stored_message
from imago.looking.source import exact, shown_file
from imago.looking.rendering import preview_of, shown_text, static_repr
from imago.looking.sizes import bytes_of
from imago.looking.waiting import thread_name
from imago.native import time

#: Arguments of one call that are taken down, and the characters of each value's text.
ARGUMENTS = 20
VALUE_CHARS = 300
#: Values without weak references that are kept for their handles' sake, in all, and the bytes of them; one that alone
#: has more is not kept.
KEPT = 128
KEPT_BYTES = 16 * 1024 * 1024
#: Frames that are searched, inner ones first, for the traced call around a call.
AROUND = 200


class _Busy(_local):
    """Whether this thread is taking a call down."""

    now = False


class Taken:
    """A value as it was. ``lead`` is called for what it is now; ``None`` where its text is all there is to it."""

    __slots__ = ('repr', 'type', 'lead')

    def shown(self, handles):
        """A ``Shown`` of the contract."""
        shown = {'repr': self.repr, 'type': self.type}
        value = ABSENT if self.lead is None else self.lead()
        if value is not ABSENT and value is not None and is_worth_a_handle(value):
            shown['handle'] = handles.keep_value(value)
            preview = preview_of(value)
            if preview is not None:
                shown['preview'] = preview
        return shown


class Call:
    """One call. ``outcome`` is ``None`` until it is wholly taken down, and then ``running`` until it has ended."""

    __slots__ = ('point', 'number', 'at', 'thread', 'depth', 'arguments', 'omitted', 'outcome', 'elapsed', 'caller')

    def __init__(self, point, number):
        self.point = point
        self.number = number
        self.at = time.time()
        self.thread = ''
        self.depth = self.omitted = 0
        self.arguments = []
        self.outcome = self.elapsed = self.caller = None

    def shown(self, handles):
        """A ``TracedCall`` of the contract."""
        outcome = dict(self.outcome)
        if 'values' in outcome:
            outcome['values'] = [value.shown(handles) for value in outcome['values']]
        return {
            'number': self.number,
            'at': rfc3339(self.at),
            'thread': self.thread,
            'depth': self.depth,
            'arguments': [{'name': name, 'value': value.shown(handles)} for name, value in self.arguments],
            'arguments_omitted': self.omitted,
            'outcome': outcome,
            'elapsed_ms': self.elapsed,
            'caller': self.caller,
        }


class Recorder:
    """Takes calls down for the points of a hook. Its methods are called on threads of the program, and never raise."""

    def __init__(self, handles):
        self._handles = handles
        self._busy = _Busy()
        self._open = {}  # The number of a frame -> what has begun there: `(hook, calls, when)`.
        self._kept = collections.deque()
        self._kept_bytes = 0

    def begin(self, hook, frame, values=None):
        """The call that ``frame`` has begun; its arguments are ``values``, or else what the frame has for their names.
        Returns what ``end`` wants of it.
        """
        busy = self._busy
        if busy.now:
            return None
        busy.now = True
        try:
            calls = [call for call in [point.begin() for point in hook.points] if call is not None]
            if not calls:
                return None
            key = id(frame)
            depth = self._depth(frame)
            self._open[key] = (hook, calls, time.perf_counter())
            try:
                self._describe(calls, hook, frame, values)
            except Exception:
                pass  # It is a call all the same, and its end is waited for.
            for call in calls:
                call.depth = depth
                call.outcome = {'type': 'running'}
            # From here on what it takes is the program's.
            self._open[key] = (hook, calls, time.perf_counter())
            return key
        except Exception:
            return None
        finally:
            busy.now = False

    def end(self, key, value=ABSENT, error=None):
        """The call that ``begin`` has named so has returned a value, or an error has left it."""
        elapsed = time.perf_counter()
        busy = self._busy
        if busy.now:
            return
        busy.now = True
        try:
            begun = self._open.pop(key, None)
            if begun is not None:
                outcome = self._outcome(value, error)
                for call in begun[1]:
                    call.elapsed = (elapsed - begun[2]) * 1000
                    call.outcome = outcome
                    call.point.end()
        except Exception:
            pass
        finally:
            busy.now = False

    def forget(self, hook):
        """Nothing is heard of that hook any more: not of the end of calls that have begun, either."""
        for key, begun in list(self._open.items()):
            if begun[0] is hook:
                self._open.pop(key, None)

    def drop(self):
        """Lets go of the values that are kept for handles."""
        while self._kept:
            self._let_go()

    def _describe(self, calls, hook, frame, values):
        thread, caller = _thread_here(), _caller(frame.f_back)
        pairs = zip(hook.names[:ARGUMENTS], _stored(frame, hook.names) if values is None else values)
        arguments = [(name, self._taken(value)) for name, value in pairs if value is not ABSENT]
        for call in calls:
            call.thread, call.caller, call.arguments = thread, caller, arguments
            call.omitted = max(0, len(hook.names) - ARGUMENTS)

    def _depth(self, frame):
        if not self._open:
            return 0
        for outer in islice(outwards(frame.f_back), AROUND):
            begun = self._open.get(id(outer))
            if begun is not None:
                return begun[1][0].depth + 1
        return 0

    def _outcome(self, value, error):
        if error is None:
            return {'type': 'returned', 'values': [self._taken(value)]}
        if type(error) is GeneratorExit:
            return {'type': 'left'}
        return {'type': 'raised', 'exception': {'type': type_facts(error), 'message': stored_message(error)}}

    def _taken(self, value):
        taken = Taken()
        taken.lead = None
        text, truncated = quick(value), False
        if text is not None and len(text) <= VALUE_CHARS:
            taken.type = SCALAR_FACTS[type(value)]
        else:
            try:
                text, truncated = static_repr(value, VALUE_CHARS)
            except Exception:
                text, truncated = '<cannot be shown>', True
            taken.type = type_facts(value)
            try:
                taken.lead = weakref.ref(value)
            except TypeError:
                if is_worth_a_handle(value):
                    taken.lead = self._keep(value)
        taken.repr = shown_text(text, truncated)
        return taken

    def _keep(self, value):
        size = bytes_of(value)
        if size > KEPT_BYTES:
            return None
        cell = [value]
        self._kept.append((cell, size))
        self._kept_bytes += size
        while len(self._kept) > KEPT or self._kept_bytes > KEPT_BYTES:
            self._let_go()
        return lambda: cell[0] if cell else ABSENT

    def _let_go(self):
        try:
            cell, size = self._kept.popleft()
        except IndexError:
            self._kept_bytes = 0
            return
        self._kept_bytes -= size
        # Its last reference may be this one, and code of the program may run when that goes.
        self._handles.retire(cell.pop(), size)


def _stored(frame, names):
    """What a frame that has just begun stores under the names of its arguments."""
    variables = frame.f_locals
    if type(variables) is not dict and LOCALS_PROXY is None:
        # A mapping of the program's, with which `exec` runs code of a function.
        return [ABSENT for _ in names[:ARGUMENTS]]
    values = [variables.get(name.lstrip('*'), ABSENT) for name in names[:ARGUMENTS]]
    if type(variables) is dict and frame.f_trace is None:
        # Before 3.13 this is a snapshot that stays with the frame, and would keep alive what the function lets go of.
        variables.clear()
    return values


def _caller(frame):
    if frame is None or is_ours(frame.f_code):
        return None
    code = frame.f_code
    return {'function': function_name(code), 'file': shown_file(code), 'line': frame.f_lineno}


def _thread_here():
    ident = native.get_ident()
    thread = threading._active.get(ident)
    name = None if thread is None else thread_name(thread)
    return name or native.names().get(ident) or 'thread %d' % ident


def argument_names(code):
    """The names of what a function is called with, in the order in which its frame stores them: a, *rest, **more."""
    count = code.co_argcount + code.co_kwonlyargcount
    stored = [plain(name) or '?' for name in exact(code.co_varnames)]
    names = stored[:count]
    for flag, star in ((0x04, '*'), (0x08, '**')):
        if code.co_flags & flag:
            names.append(star + stored[len(names)])
    return names
