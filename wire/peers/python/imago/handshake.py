"""The first frames of a link, as ``docs/wire.md#handshake`` lists them, from the end that is the kernel.

Each end proves that it knows the secret without sending it. An end that cannot is closed without a word. A kernel
that was started by the daemon has connected to it, and is the opener; one that listens is the acceptor.
"""

import hmac
import os
import time

from imago import PROTOCOL
from imago.codec import Broken, Frames, Json, frame

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
