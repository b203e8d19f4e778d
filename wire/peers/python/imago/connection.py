"""The connection to the daemon: the socket, the mutual challenge on it, and how a kernel that was started connects
again."""

import errno
import hmac
import os
import socket
import sys

from imago import native
from imago.codec import Broken, Frames, Json, frame
from imago.native import time
from imago.version import PROTOCOL


# A socket of ours, and the certainty that it still is ours.
#
# A program may close descriptors that it never opened: those that turn into daemons close all of them, and later files
# and connections get the numbers. So each socket remembers which one it is to the system, and is looked at before its
# descriptor is used; one that is not there any more is left alone, not even closed.

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


def _socket_for(address):
    """``(socket, where)`` for ``unix:/path`` or ``tcp:host:port``. Raises ``ValueError`` for neither."""
    kind, _, rest = address.partition(':')
    if kind == 'unix':
        return native.Socket(socket.AF_UNIX, socket.SOCK_STREAM), rest
    if kind != 'tcp':
        raise ValueError('%r is not an address; one begins with unix: or tcp:' % address)
    host, _, port = rest.rpartition(':')
    return native.Socket(socket.AF_INET, socket.SOCK_STREAM), (host, int(port))


def connect(address):
    """A connection to ``unix:/path`` or ``tcp:host:port``. Raises ``OSError``, or ``ValueError`` for neither."""
    raw, target = _socket_for(address)
    try:
        if raw.family != _UNIX:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
    raw, target = _socket_for(address)
    try:
        if raw.family != _UNIX:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        raw.bind(target)
        if raw.family == _UNIX:
            os.chmod(target, 0o600)
        raw.listen(BACKLOG)
        raw.settimeout(None)
        if raw.family != _UNIX:
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


# The first frames of a link, as ``docs/wire.md#handshake`` lists them, from the end that is the kernel.
#
# Each end proves that it knows the secret without sending it. An end that cannot is closed without a word. A kernel
# that was started by the daemon has connected to it, and is the opener; one that listens is the acceptor.

FRAME_LIMIT = 4 * 1024
HELLO_LIMIT = 256 * 1024
SECONDS = 5.0


class NotTrusted(Exception):
    """The other end did not prove itself, or did not keep to the handshake. Nothing was told to it."""


class Refused(Exception):
    """The other end proved itself and will not have us; trying again is of no use."""


class Limits:
    """What the welcome grants: sizes in bytes."""

    def __init__(self, welcome):
        self.credit = _size(welcome, 'credit', 1024 * 1024)
        self.chunk = _size(welcome, 'chunk', 256 * 1024)
        self.frame = _size(welcome, 'frame', 8 * 1024 * 1024)
        self.message = _size(welcome, 'message', 64 * 1024 * 1024)


class Handshake:
    """One handshake on a connected channel: first ``open`` or ``accept``, then ``greet`` or ``refuse``.

    All of it is done within ``SECONDS`` of the beginning. Every method raises ``NotTrusted`` where the other end is not
    what it should be; the channel is the caller's to close.
    """

    def __init__(self, channel):
        self._channel = channel
        self._until = time.monotonic() + SECONDS
        self._frames = Frames(self._receive, FRAME_LIMIT)

    def open(self, secret):
        """Proves both ends to each other, as the one that has connected."""
        try:
            self._prove_as_opener(secret.encode())
        except (Broken, OSError) as error:
            raise _failed(error) from error

    def accept(self, secret):
        """Proves both ends to each other, as the one that was connected to."""
        try:
            self._prove_as_acceptor(secret.encode())
        except (Broken, OSError) as error:
            raise _failed(error) from error

    def greet(self, hello):
        """Says hello. Returns ``(welcome, frames)``: what was granted, and a reader with nothing lost after it.

        Raises ``Refused`` too.
        """
        try:
            self._send({'hello': hello})
            self._frames.limit = HELLO_LIMIT
            answer = self._next()
            if 'refused' in answer:
                refused = answer['refused'] if isinstance(answer['refused'], dict) else {}
                raise Refused('%s (%s)' % (refused.get('message', 'no reason given'), refused.get('code', 'refused')))
            welcome = answer.get('welcome')
            if not isinstance(welcome, dict) or welcome.get('encoding') not in hello['encodings']:
                raise NotTrusted('the answer to the hello is no welcome in an encoding of ours')
            self._channel.settimeout(None)
        except (Broken, OSError) as error:
            raise _failed(error) from error
        self._frames.receive = self._channel.recv
        return welcome, self._frames

    def refuse(self, code, message):
        """Tells the other end, which has proved itself, why it gets no hello."""
        try:
            self._send({'refused': {'code': code, 'message': message}})
        except OSError as error:
            raise _failed(error) from error

    def seconds_left(self):
        return max(0.0, self._until - time.monotonic())

    def _prove_as_opener(self, secret):
        ours = os.urandom(32).hex()
        self._send({'imago': PROTOCOL, 'nonce': ours})
        theirs = self._nonce(ours)
        self._send({'proof': _proof(secret, 'opener', ours, theirs)})
        self._check_proof(_proof(secret, 'acceptor', ours, theirs))

    def _prove_as_acceptor(self, secret):
        ours = os.urandom(32).hex()
        theirs = self._nonce(ours)
        self._send({'imago': PROTOCOL, 'nonce': ours})
        self._check_proof(_proof(secret, 'opener', theirs, ours))
        self._send({'proof': _proof(secret, 'acceptor', theirs, ours)})

    def _nonce(self, ours):
        """The other end's nonce. One that speaks another version is told which there are."""
        greeting = self._next()
        if greeting.get('error') == 'version':
            raise NotTrusted('the other end speaks versions %r of the protocol' % (greeting.get('versions'),))
        version = greeting.get('imago')
        if type(version) is int and version != PROTOCOL:
            self._send({'imago': PROTOCOL, 'error': 'version', 'versions': [PROTOCOL]})
            raise NotTrusted('the other end speaks version %d of the protocol' % version)
        theirs = greeting.get('nonce')
        if version != PROTOCOL or not _is_hex(theirs) or theirs == ours:
            raise NotTrusted('the other end sent no nonce of its own')
        return theirs

    def _check_proof(self, right):
        proof = self._next().get('proof')
        if not _is_hex(proof) or not hmac.compare_digest(proof, right):
            raise NotTrusted('the other end does not know the secret')

    def _next(self):
        body = self._frames.next()
        if body is None:
            raise NotTrusted('the other end closed the connection during the handshake')
        message = Json.decode(body)
        if not isinstance(message, dict):
            raise NotTrusted('a frame of the handshake holds no object')
        return message

    def _send(self, message):
        self._channel.settimeout(max(0.001, self.seconds_left()))
        self._channel.sendall(frame(Json.encode(message)))

    def _receive(self, size):
        # A timeout of nothing would be a socket that does not wait at all.
        self._channel.settimeout(max(0.001, self.seconds_left()))
        return self._channel.recv(size)


def _proof(secret, role, opener, acceptor):
    message = 'imago/%d %s %s %s' % (PROTOCOL, role, opener, acceptor)
    return hmac.new(secret, message.encode('ascii'), 'sha256').hexdigest()


def _failed(error):
    return NotTrusted('the handshake failed: %s' % error)


def _is_hex(text):
    return isinstance(text, str) and len(text) == 64 and all(mark in '0123456789abcdef' for mark in text)


def _size(welcome, name, default):
    value = welcome.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise NotTrusted('the welcome has no usable %s' % name)
    return value


# How a kernel that the daemon started reaches it: connected, lost, connected again with the same secret.

#: Seconds before the first try to connect again, by how much that grows, and how far.
WAIT = 0.25
GROWTH = 1.6
LONGEST_WAIT = 5.0


class Connecting:
    """Keeps up the link of one session. ``invitation`` has the address and the secret.

    ``ending`` is an event: once it is set, nothing more is tried.
    """

    def __init__(self, session, invitation, ending):
        self._session = session
        self._address = invitation['address']
        self._secret = invitation['secret']
        self._ending = ending
        self._complained = False

    def run(self, hello, serve):
        """Connects and serves, again and again, until the process ends. Raises ``Refused`` where the daemon says so."""
        wait = WAIT
        while not self._ending.is_set():
            try:
                link = self._connect(hello, serve)
            except (NotTrusted, OSError, ValueError) as error:
                self._complain(error)
            else:
                wait = WAIT
                broken = self._session.serve(link)
                if broken is not None and not self._ending.is_set():
                    self._complain(broken)
            self._ending.wait(wait)
            wait = min(wait * GROWTH, LONGEST_WAIT)

    def _connect(self, hello, serve):
        channel = connect(self._address)
        try:
            handshake = Handshake(channel)
            handshake.open(self._secret)
            return self._session.begin(channel, handshake, hello, serve)
        except BaseException:
            channel.close()
            raise

    def _complain(self, error):
        """Once: a daemon that restarts is tried for long."""
        if not self._complained:
            self._complained = True
            sys.__stderr__.write('imago: no link to the daemon: %s\n' % error)
            sys.__stderr__.flush()
