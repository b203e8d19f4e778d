"""A socket of ours, and the certainty that it still is ours.

A program may close descriptors that it never opened: those that turn into daemons close all of them, and later files
and connections get the numbers. So each socket remembers which one it is to the system, and is looked at before its
descriptor is used; one that is not there any more is left alone, not even closed.
"""

import errno
import os
import socket

from imago import native

#: Seconds that connecting may take.
CONNECT = 5.0
#: Connections that may wait to be accepted.
BACKLOG = 128

_SHUT_RDWR = socket.SHUT_RDWR


class Lost(OSError):
    """The descriptor was closed under us, and may be another file's by now."""


class Channel:
    """A socket, connected or listening. The methods are those of sockets, and raise ``OSError`` as those do."""

    def __init__(self, raw):
        self._raw = raw
        self._identity = _identity(raw.fileno())

    def is_ours(self):
        """Whether the descriptor still is this socket."""
        descriptor = self._raw.fileno()
        return descriptor >= 0 and _identity(descriptor) == self._identity

    def recv(self, size):
        self._check()
        return self._raw.recv(size)

    def send(self, data, flags=0):
        self._check()
        return self._raw.send(data, flags)

    def sendall(self, data):
        self._check()
        self._raw.sendall(data)

    def settimeout(self, seconds):
        self._check()
        self._raw.settimeout(seconds)

    def accept(self):
        """Waits for a connection, and returns its channel."""
        self._check()
        descriptor, _ = self._raw._accept()
        raw = native.Socket(fileno=descriptor)
        if raw.family != _UNIX:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.settimeout(None)
        return Channel(raw)

    def shutdown(self):
        """Ends it for both ends, also where another thread waits in it or another process has a copy."""
        if self.is_ours():
            try:
                self._raw.shutdown(_SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        """Lets go of this process's copy."""
        if self.is_ours():
            self._raw.close()
        else:
            self._raw.detach()

    def _check(self):
        if not self.is_ours():
            raise Lost(errno.EBADF, 'its descriptor was closed by the program')


_UNIX = getattr(socket, 'AF_UNIX', None)


def connect(address):
    """A connection to ``unix:/path`` or ``tcp:host:port``. Raises ``OSError``, or ``ValueError`` for neither."""
    kind, _, rest = address.partition(':')
    if kind == 'unix':
        raw = native.Socket(socket.AF_UNIX, socket.SOCK_STREAM)
        target = rest
    elif kind == 'tcp':
        host, _, port = rest.rpartition(':')
        raw = native.Socket(socket.AF_INET, socket.SOCK_STREAM)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        target = (host, int(port))
    else:
        raise ValueError('%r is not an address; one begins with unix: or tcp:' % address)
    try:
        raw.settimeout(CONNECT)
        raw.connect(target)
    except BaseException:
        raw.close()
        raise
    return Channel(raw)


def listen_at(address):
    """Listens at ``unix:/path``, readable by its owner alone, or ``tcp:127.0.0.1:port`` (0 is any free one).

    Returns ``(channel, address)``, with the port that was found.
    """
    kind, _, rest = address.partition(':')
    if kind == 'unix':
        raw = native.Socket(socket.AF_UNIX, socket.SOCK_STREAM)
        target = rest
    else:
        host, _, port = rest.rpartition(':')
        raw = native.Socket(socket.AF_INET, socket.SOCK_STREAM)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        target = (host, int(port))
    try:
        raw.bind(target)
        if kind == 'unix':
            os.chmod(target, 0o600)
        raw.listen(BACKLOG)
        raw.settimeout(None)
        if kind != 'unix':
            address = 'tcp:%s:%d' % raw.getsockname()[:2]
    except BaseException:
        raw.close()
        raise
    return Channel(raw), address


def _identity(descriptor):
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mode
