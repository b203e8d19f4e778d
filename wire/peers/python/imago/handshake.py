"""The first frames of a link, as ``docs/wire.md#handshake`` lists them: this end connects, and is the opener.

Each end proves that it knows the secret without sending it. An acceptor that cannot is closed without a word.
"""

import hmac
import os
import socket
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


def connect(address):
    """A connected socket for ``unix:/path`` or ``tcp:host:port``. Raises ``OSError``, or ``ValueError`` for neither."""
    kind, _, rest = address.partition(':')
    if kind == 'unix':
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        target = rest
    elif kind == 'tcp':
        host, _, port = rest.rpartition(':')
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        target = (host, int(port))
    else:
        raise ValueError('%r is not an address; one begins with unix: or tcp:' % address)
    try:
        link.settimeout(SECONDS)
        link.connect(target)
    except BaseException:
        link.close()
        raise
    return link


def open_kernel(link, secret, hello):
    """Proves both ends to each other over a connected socket and says hello.

    Returns ``(welcome, frames)``: what the daemon granted, and a reader with nothing lost after it. Raises
    ``NotTrusted`` or ``Refused``; the socket is the caller's to close.
    """
    until = time.monotonic() + SECONDS

    def receive(size):
        link.settimeout(max(0.001, until - time.monotonic()))
        return link.recv(size)

    frames = Frames(receive, FRAME_LIMIT)
    try:
        _prove(link, frames, secret.encode())
        link.sendall(frame(Json.encode({'hello': hello})))
        frames.limit = HELLO_LIMIT
        answer = _object(frames)
    except (Broken, OSError) as error:
        raise NotTrusted('the handshake failed: %s' % error) from error
    if 'refused' in answer:
        refused = answer['refused'] if isinstance(answer['refused'], dict) else {}
        raise Refused('%s (%s)' % (refused.get('message', 'no reason given'), refused.get('code', 'refused')))
    welcome = answer.get('welcome')
    if not isinstance(welcome, dict) or welcome.get('encoding') not in hello['encodings']:
        raise NotTrusted('the answer to the hello is no welcome in an encoding of ours')
    link.settimeout(None)
    frames.receive = link.recv
    return welcome, frames


def _prove(link, frames, secret):
    ours = os.urandom(32).hex()
    link.sendall(frame(Json.encode({'imago': PROTOCOL, 'nonce': ours})))
    answer = _object(frames)
    if answer.get('error') == 'version':
        raise NotTrusted('the other end speaks versions %r of the protocol' % (answer.get('versions'),))
    version = answer.get('imago')
    if type(version) is int and version != PROTOCOL:
        link.sendall(frame(Json.encode({'imago': PROTOCOL, 'error': 'version', 'versions': [PROTOCOL]})))
        raise NotTrusted('the other end speaks version %d of the protocol' % version)
    theirs = answer.get('nonce')
    if version != PROTOCOL or not _is_hex(theirs) or theirs == ours:
        raise NotTrusted('the other end sent no nonce of its own')
    link.sendall(frame(Json.encode({'proof': _proof(secret, 'opener', ours, theirs)})))
    proof = _object(frames).get('proof')
    if not _is_hex(proof) or not hmac.compare_digest(proof, _proof(secret, 'acceptor', ours, theirs)):
        raise NotTrusted('the other end does not know the secret')


def _proof(secret, role, opener, acceptor):
    message = 'imago/%d %s %s %s' % (PROTOCOL, role, opener, acceptor)
    return hmac.new(secret, message.encode('ascii'), 'sha256').hexdigest()


def _object(frames):
    body = frames.next()
    if body is None:
        raise NotTrusted('the other end closed the connection during the handshake')
    message = Json.decode(body)
    if not isinstance(message, dict):
        raise NotTrusted('a frame of the handshake holds no object')
    return message


def _is_hex(text):
    return isinstance(text, str) and len(text) == 64 and all(mark in '0123456789abcdef' for mark in text)


def _size(welcome, name, default):
    value = welcome.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise NotTrusted('the welcome has no usable %s' % name)
    return value
