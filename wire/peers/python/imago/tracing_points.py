"""Tracepoints: what is wanted of the calls of one function, for how long, and how far that has come."""

import time

from imago import native
from imago.history import rfc3339
from imago.tracing_calls import Call


class Point:
    """One tracepoint. ``state`` is as the contract has it; while it is ``on``, calls are taken down."""

    def __init__(self, name, target, hook, query, when_full):
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
