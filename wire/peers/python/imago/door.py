"""Where a program that listens is knocked at.

One thread waits for connections, and does nothing else. Each is let in, or not, on a thread of its own: one that is
slow keeps nobody out. A door whose descriptor was closed by the program is made anew when somebody next knocks.
"""

import errno
import os

from imago import native
from imago.channel import Lost, connect, listen_at

#: Connections that may be undecided at once; one more is closed right away.
UNDECIDED = 16
#: Seconds until a door is tried again when the system has no room for a connection, and at the longest.
AGAIN = 0.5
LONGEST_AGAIN = 30.0

_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Door:
    """``admit(channel, decided)`` is run for each connection; ``moved(address)`` says where the door now is."""

    def __init__(self, address, admit, moved):
        self._admit = admit
        self._moved = moved
        self._undecided = 0
        self._counting = native.Lock()
        self._closed = False
        self._channel, self.address = listen_at(address)

    def open(self):
        native.start(self._run, 'imago-listen')

    def close(self):
        """Lets nobody in any more. From another thread than the one that waits."""
        self._closed = True
        self._channel.shutdown()
        try:
            # For systems where a thread in ``accept`` is not woken by that, and for descriptors that are lost.
            connect(self.address).close()
        except (OSError, ValueError):
            pass

    def drop(self):
        """In a forked child: closes the copy of the parent's socket, and nothing else."""
        self._closed = True
        self._channel.close()

    def _run(self):
        wait = AGAIN
        while not self._closed:
            try:
                channel = self._channel.accept()
                wait = AGAIN
            except OSError as error:
                if self._closed:
                    break
                if error.errno == errno.ECONNABORTED:
                    continue
                is_lost = isinstance(error, Lost) or not self._channel.is_ours()
                if (is_lost or error.errno not in _NO_ROOM) and self._made_anew():
                    continue
                native.sleep(wait)
                wait = min(wait * 2, LONGEST_AGAIN)
            else:
                self._let_in(channel)
        self._channel.close()

    def _let_in(self, channel):
        with self._counting:
            full = self._closed or self._undecided >= UNDECIDED
            self._undecided += not full
        if full:
            channel.close()
            return
        try:
            native.start(lambda: self._decide(channel), 'imago-link')
        except RuntimeError:
            # There are no more threads to be had, or the interpreter is ending.
            self._decided()
            channel.close()

    def _decide(self, channel):
        once = native.Lock()

        def decided():
            if once.acquire(False):
                self._decided()

        try:
            self._admit(channel, decided)
        finally:
            decided()
            channel.close()

    def _decided(self):
        with self._counting:
            self._undecided -= 1

    def _made_anew(self):
        try:
            self._channel.close()
            if self.address.startswith('unix:'):
                _remove(self.address[len('unix:') :])
            self._channel, self.address = listen_at(self.address)
            self._moved(self.address)
        except OSError:
            return False
        return True


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass
