"""What waits to be sent on one connection.

Nobody who has something to say ever waits for a slow reader: what the kernel's buffer does not take at once is
left to a thread that does the waiting. Frames of large messages stand behind all others, so that between two
chunks of a result a ``pong`` can pass. Every method may be called from any thread, also from a finalizer that
runs in the middle of another call: whoever comes second only adds to the queue.
"""

import collections
import socket

from imago import native

#: Above this nothing unasked is added; above the second the connection is given up.
HIGH = 1024 * 1024
CUT = 80 * 1024 * 1024

_AT_ONCE = getattr(socket, 'MSG_DONTWAIT', 0)
_AND_WAIT = 0


class Outbox:
    """The frames on their way out of one ``connection``. ``on_broken()`` is called when nothing more can be sent on it,
    or too much waits.
    """

    def __init__(self, connection, on_broken):
        self._connection = connection
        self._on_broken = on_broken
        self._first = collections.deque()
        self._bulk = collections.deque()
        self._bulky = set()
        self._partial = None
        self._adding = native.RLock()
        self._sending = native.Lock()
        self._stalled = native.Event()
        self._waits = False
        self._closed = False
        self.queued = 0

    def send(self, owner, frames):
        """Queues the frames of one message. Messages of one ``owner`` keep their order among themselves."""
        if len(frames) == 1 and self._sent_at_once(frames[0]):
            return
        if self._closed:
            return
        with self._adding:
            self.queued += sum(map(len, frames))
            if len(frames) == 1 and owner not in self._bulky:
                self._first.append(frames[0])
            else:
                self._bulky.add(owner)
                self._bulk.extend(frames)
        if self.queued > CUT:
            self._broken()
        elif not self._stalled.is_set():
            self._send_what_goes()

    def _sent_at_once(self, data):
        """The usual case: nothing waits, and the socket takes it. True where there is nothing left to do."""
        if not self._sending.acquire(False):
            return False
        try:
            if self._closed or not self.drained():
                return self._closed
            sent = self._connection.send(data, _AT_ONCE)
            if sent == len(data):
                return True
            self._partial = memoryview(data)[sent:]
            self._leave_to_waiter()
            return True
        except BlockingIOError:
            return False
        except OSError:
            self._broken()
            return True
        finally:
            self._sending.release()
            if self._first or self._bulk:
                self._send_what_goes()

    def close(self):
        """Sends no more. What is being sent is the connection's to break off."""
        self._closed = True
        self._stalled.set()

    def finish(self):
        """Lets go of the connection, once nobody sends on it: its descriptor may be another file's right after."""
        self.close()
        self._connection.shutdown()
        if self._connection.is_ours():
            with self._sending:
                self._connection.close()

    def drained(self):
        """Whether nothing waits to be taken up."""
        return self._closed or not (self._partial or self._first or self._bulk)

    def flushed(self):
        """Whether all that was said has left this process."""
        return self.drained() and not self._sending.locked()

    def _send_what_goes(self):
        # Looking again after letting go of the lock: what came in between was left to whoever held it.
        while not self.drained() and self._sending.acquire(False):
            try:
                if not self._send_next(_AT_ONCE):
                    self._leave_to_waiter()
                    return
            finally:
                self._sending.release()

    def _send_next(self, flags):
        """Sends until the queue is empty (true) or the socket takes no more (false)."""
        while True:
            data = self._partial
            if data is None:
                data = self._take()
                if data is None:
                    return True
                self.queued -= len(data)
            try:
                sent = self._connection.send(data, flags)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._broken()
                return True
            if sent < len(data):
                self._partial = memoryview(data)[sent:]
                return False
            self._partial = None

    def _take(self):
        if self._first:
            return self._first.popleft() if len(self._first) == 1 else self._several()
        if self._bulk:
            return self._bulk.popleft()
        with self._adding:
            if not (self._first or self._bulk):
                self._bulky.clear()
                self.queued = 0
        return None

    def _several(self):
        """Several small frames as one piece, for one system call."""
        frames = []
        size = 0
        while self._first and size < 65536:
            frames.append(self._first.popleft())
            size += len(frames[-1])
        return b''.join(frames)

    def _leave_to_waiter(self):
        self._stalled.set()
        if not self._waits:
            self._waits = True
            native.start(self._wait_and_send, 'imago-send')

    def _wait_and_send(self):
        """Waits, in nobody's stead but its own, until the other end reads again."""
        while not self._closed:
            self._stalled.wait()
            with self._sending:
                if self._closed or self._send_next(_AND_WAIT):
                    self._stalled.clear()
            self._send_what_goes()

    def _broken(self):
        if not self._closed:
            self.close()
            self._on_broken()
