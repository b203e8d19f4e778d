"""The looks ``trace``, ``untrace`` and ``traces``: the next calls of a function, taken down as they happen.

A tracepoint changes how a function is called and nothing that it does. It is out of the program after so many calls,
after so long, when it is removed, when the link to the daemon is lost, and in every forked child.
"""

import os

from imago import native
from imago.looking.fields import cut
from imago.looking.outcomes import Unresolved, found, malformed, not_found
from imago.params import count, optional, text
from imago.tracing_calls import Recorder
from imago.tracing_code import Changed, can_change
from imago.tracing_monitoring import Monitoring
from imago.tracing_points import Point
from imago.tracing_targets import target_of

#: Tracepoints that are on at a time, those that are remembered, and the calls that are kept of all of them.
MOST_ON = 16
MOST = 32
MOST_CALLS = 4000
CALLS = 1000
LONGEST_MS = 24 * 3600 * 1000
#: Calls on one page.
PAGE = 100
WHO_CHARS = 200


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
        point = Point(name, target, hook, asked, lambda: self._clock.soon(lambda: self._end(point, 'full')))
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

#: As in ``looks.py``.
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
