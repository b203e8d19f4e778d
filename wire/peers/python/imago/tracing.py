"""Traces of functions and tracepoints: what may be traced, what is kept of it, and the looks that turn it on and off."""

import os
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, WrapperDescriptorType

from imago import native
from imago.history import rfc3339
from imago.looking.fields import class_qualified, cut, exactly, is_class
from imago.looking.frames import is_ours
from imago.looking.name_lookup import named
from imago.looking.outcomes import Unresolved, found, malformed, not_found
from imago.looking.rendering import function_label
from imago.looking.unwrapping import unwrapped
from imago.native import time
from imago.params import count, optional, text
from imago.tracing_calls import Call, Recorder
from imago.tracing_code import Changed, can_change
from imago.tracing_monitoring import Monitoring

# The function that a name stands for, where its calls can be taken down; and what then is not seen.

_COMPILED = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)
_COROUTINE, _GENERATOR, _ASYNC_GENERATOR = 0x80, 0x20, 0x200


class Target:
    """A function of the program's. ``label`` is its name, and ``notes`` what is not taken down of it."""

    __slots__ = ('function', 'label', 'notes')

    def __init__(self, function, notes):
        self.function = function
        self.label = function_label(function)
        self.notes = notes


def target_of(namespace, source, handles):
    """The ``Target`` that ``source`` names. Raises ``Unresolved``: there is none, or its calls cannot be seen."""
    stands_for = named(namespace, source, handles).value
    value, wrappers = unwrapped(stands_for)
    if type(value) is not FunctionType:
        raise Unresolved(malformed(_why_not(source, value)))
    if is_ours(value.__code__):
        raise Unresolved(malformed('`%s` is a function of Imago itself, which is not traced.' % source))
    return Target(value, [*_of_wrappers(wrappers), *_of_kind(value, stands_for)])


def _why_not(source, value):
    if is_class(value):
        return '`%s` is a class. Name the method whose calls are wanted: `%s.__init__`.' % (source, source)
    if exactly(value, _COMPILED) or (callable(value) and type(value).__name__ == 'cython_function_or_method'):
        return '`%s` is compiled: only the calls of functions that are written in Python can be traced.' % source
    kind = class_qualified(type(value))
    if callable(value):
        return '`%s` is an instance of %s. Name the method that its calls run: `%s.__call__`.' % (source, kind, kind)
    return '`%s` is no function: it is an instance of %s.' % (source, kind)


def _of_wrappers(wrappers):
    plain = ('staticmethod', 'classmethod')
    names = [wrapper['name'] for wrapper in wrappers if wrapper['name'] not in plain]
    if names == ['property']:
        return ['Only what reads the property is seen, and not what sets or deletes it.']
    if not names:
        return []
    return ['It stands inside of %s: calls that this answers itself are not seen.' % ', '.join(names[:4])]


def _of_kind(function, stands_for):
    flags = function.__code__.co_flags
    notes = []
    if type(stands_for) is MethodType:
        notes.append('The calls on all instances are seen, and not only those on this one.')
    if flags & (_GENERATOR | _ASYNC_GENERATOR):
        notes.append('A call is seen once its generator takes its first step, and ends when that is used up or closed.')
    elif flags & _COROUTINE:
        notes.append('A call is seen once its coroutine takes its first step, and its time is that of its waits, too.')
    return notes


# Tracepoints: what is wanted of the calls of one function, for how long, and how far that has come.


class Point:
    """One tracepoint. ``state`` is as the contract has it; while it is ``on``, calls are taken down."""

    def __init__(self, name, target, hook, query, when_full, news):
        self.id = name
        self.target = target
        self.hook = hook
        self.who = query['who']
        self.wanted = query['calls']
        self.at = time.time()
        self.until = time.monotonic() + query['expires_ms'] / 1000
        self.seen = 0
        self.calls = []
        self.state = 'on'
        #: The link that it was asked for on, with which it ends.
        self.link = None
        self._ended = 0
        self._when_full = when_full
        self._news = news
        self._changing = native.Lock()

    # The lock is taken on threads of the program, which the recorder has marked as busy: what comes in between there,
    # a signal handler or a finalizer, does not come here.

    def begin(self):
        """The call that begins now, to be taken down; ``None`` where it is not wanted any more."""
        with self._changing:
            if self.state != 'on':
                return None
            self.seen += 1
            if len(self.calls) >= self.wanted:
                return None
            call = Call(self, len(self.calls) + 1)
            self.calls.append(call)
            return call

    def end(self):
        """One of the calls has been taken down to its end."""
        with self._changing:
            self._ended += 1
            full = self._ended == self.wanted and self.state == 'on'
            if full:
                self.state = 'full'
        if full:
            self._when_full()
        self._news()

    def leave(self, state):
        """Ends it, as ``expired`` or ``removed``, unless it has ended."""
        with self._changing:
            if self.state == 'on':
                self.state = state

    def become_child(self):
        """In a forked child, where whoever has held the lock does not exist."""
        self._changing = native.Lock()
        self.state = 'removed'

    def shown(self):
        """A ``Tracepoint`` of the contract."""
        left = max(0, round((self.until - time.monotonic()) * 1000))
        return {
            'id': self.id,
            'name': self.target.label,
            'who': self.who,
            'state': self.state,
            'by': self.hook.by,
            'wanted': self.wanted,
            'seen': self.seen,
            'at': rfc3339(self.at),
            'expires_in_ms': left if self.state == 'on' else None,
            'notes': [*self.target.notes, *self.hook.notes],
        }

    def page(self, first, count, handles):
        """``(calls, next)``: some ``TracedCall`` of the contract, and the number of the first that is left."""
        told = [call for call in self.calls[first - 1 : first - 1 + count] if call.outcome is not None]
        after = first + len(told)
        return [call.shown(handles) for call in told], after if after <= len(self.calls) and told else None


# The looks ``trace``, ``untrace`` and ``traces``: the next calls of a function, taken down as they happen.
#
# A tracepoint changes how a function is called and nothing that it does. It is out of the program after so many calls,
# after so long, when it is removed, when the link to the daemon is lost, and in every forked child.

#: Tracepoints that are on at a time, those that are remembered, and the calls that are kept of all of them.
MOST_ON = 16
MOST = 32
MOST_CALLS = 4000
CALLS = 1000
LONGEST_MS = 24 * 3600 * 1000
#: Calls on one page.
PAGE = 100
WHO_CHARS = 200
#: Seconds between two notes to the daemon.
AGAIN = 0.1


class Tracing:
    """The tracepoints of one kernel. ``session`` has the link, with which they end."""

    def __init__(self, handles, clock, session):
        self._handles = handles
        self._clock = clock
        self._session = session
        self._recorder = Recorder(handles)
        self._monitoring = Monitoring(self._recorder)
        self._changed = []  # Hooks that have exchanged code.
        self._points = {}  # By id, oldest first.
        self._issued = 0
        self._lock = native.RLock()
        self._told_at = 0.0
        self._is_due = False

    def trace(self, image, query):
        """``Looked<Tracepoint>``: of one that is on from now on."""
        try:
            self._check(query)
            target = target_of(image.namespace, query['name'], self._handles)
            with self._lock:
                point = self._set(target, query)
        except Unresolved as unresolved:
            return unresolved.looked
        self._clock.after(query['expires_ms'] / 1000, lambda: self._end(point, 'expired'))
        if point.link is not self._session.link:
            self.lost(point.link)
        return found(point.shown())

    def untrace(self, _, query):
        """``Looked<Tracepoint>``: of one that is not on any more; why it is not, where it was not before."""
        point = self._points.get(query['tracepoint'])
        if point is None:
            return self._unknown(query['tracepoint'])
        self._end(point, 'removed')
        return found(point.shown())

    def traces(self, _, query):
        """``Looked<Traces>``."""
        with self._lock:
            for point in list(self._points.values()):
                self._take_out(point)
            points = list(self._points.values())
        wanted = query.get('tracepoint')
        if wanted is None:
            return found({'tracepoints': [point.shown() for point in points], 'calls': [], 'next': None})
        point = self._points.get(wanted)
        if point is None:
            return self._unknown(wanted)
        calls, after = point.page(query['from'], min(query['count'], PAGE), self._handles)
        return found({'tracepoints': [point.shown()], 'calls': calls, 'next': after})

    def lost(self, link):
        """That link is over, and what was asked for on it ends."""
        for point in list(self._points.values()):
            if point.link is link:
                self._end(point, 'removed')

    def close(self):
        """Ends all of them, and lets go of what was kept."""
        for point in list(self._points.values()):
            self._end(point, 'removed')
        self._recorder.drop()

    def become_child(self):
        """In a forked child, which has neither the threads of its parent nor its link."""
        self._lock = native.RLock()
        for point in self._points.values():
            point.become_child()
            self._take_out(point)

    def _check(self, query):
        for name, most in (('calls', CALLS), ('expires_ms', LONGEST_MS)):
            if not 1 <= query[name] <= most:
                raise Unresolved(malformed('`%s` of a tracepoint is from 1 to %d.' % (name, most)))

    def _set(self, target, query):
        for point in self._points.values():
            self._take_out(point)
        self._make_room(query['calls'])
        hook = self._hook(target.function)
        self._issued += 1
        name = 't%d@%s' % (self._issued, self._handles.prefix)
        asked = {**query, 'who': cut(query['who'], WHO_CHARS)}
        point = Point(name, target, hook, asked, lambda: self._clock.soon(lambda: self._end(point, 'full')), self._news)
        point.link = self._session.link
        self._points[name] = point
        _traced.append(self)
        hook.points += (point,)
        if len(hook.points) == 1:
            hook.install()
        return point

    def _make_room(self, calls):
        on = [point for point in self._points.values() if point.state == 'on']
        if len(on) >= MOST_ON:
            raise Unresolved(malformed('%d tracepoints are on already: remove one of them first.' % len(on)))
        kept = sum(point.wanted if point.state == 'on' else len(point.calls) for point in self._points.values())
        for point in [point for point in self._points.values() if point.state != 'on']:
            if kept + calls <= MOST_CALLS and len(self._points) < MOST:
                return
            kept -= len(point.calls)
            del self._points[point.id]
        if kept + calls > MOST_CALLS:
            message = 'The tracepoints that are on want %d calls already, of %d in all: ask for fewer, or remove one.'
            raise Unresolved(malformed(message % (kept, MOST_CALLS)))

    def _hook(self, function):
        for hook in self._changed:
            if hook.changes(function):
                return hook
        hook = self._monitoring.hook(function)
        if hook is None:
            why_not = can_change(function)
            if why_not is not None:
                raise Unresolved(malformed('`%s` %s.' % (function.__name__, why_not)))
            hook = Changed(self._recorder, function)
            self._changed.append(hook)
        return hook

    def _end(self, point, state):
        point.leave(state)
        with self._lock:
            self._take_out(point)
        self._news()

    def _news(self):
        """A call was taken down to its end, or a tracepoint has ended: the daemon is told soon, once for all until then."""
        # In a forked child there is no link, and the lock of the clock may be held by a thread that does not exist there.
        if not self._is_due and self._session.link is not None:
            self._is_due = True
            try:
                self._clock.after(max(0, self._told_at + AGAIN - time.monotonic()), self._tell)
            except BaseException:  # An interrupt of the program comes in between.
                self._is_due = False
                raise

    def _tell(self):
        # What comes from here on is told with the next note.
        self._is_due = False
        self._told_at = time.monotonic()
        link = self._session.link
        if link is not None and not link.note('traces', {}) and link.open:
            self._news()

    def _take_out(self, point):
        """Takes one out of the program that has ended; a second time it does nothing."""
        hook = point.hook
        if point.state == 'on' or point not in hook.points:
            return
        hook.points = tuple(one for one in hook.points if one is not point)
        _traced.remove(self)
        if not hook.points:
            if hook in self._changed:
                self._changed.remove(hook)
            hook.remove()

    def _unknown(self, name):
        return not_found('tracepoint %s' % name, list(self._points))


#: Once for each tracepoint that is in the program: whose it is.
_traced = []


def _become_child():
    for tracing in list(_traced):
        tracing.become_child()


os.register_at_fork(after_in_child=_become_child)

#: As in ``service.py``.
LOOKS = {
    'trace': (
        {'name': text, 'package': optional(text), 'calls': count, 'expires_ms': count, 'who': text},
        lambda image, query: image.tracing.trace(image, query),
    ),
    'untrace': ({'tracepoint': text}, lambda image, query: image.tracing.untrace(image, query)),
    'traces': (
        {'tracepoint': optional(text), 'from': count, 'count': count},
        lambda image, query: image.tracing.traces(image, query),
    ),
}
