"""Bytes to messages and back: frames, JSON, msgpack where its package is there, and chunks. No input or output.

A frame is a big-endian ``u32`` with the length of the body, then the body. A body is one message.
"""

import importlib
import json
import os
import struct
import sys
import types

_HEADER = struct.Struct('>I')

_json_utf8 = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(',', ':')).encode
_json_ascii = json.JSONEncoder(ensure_ascii=True, check_circular=False, allow_nan=False, separators=(',', ':')).encode
_json_decode = json.JSONDecoder().decode


class Broken(Exception):
    """The other end broke the protocol; ``code`` is one of ``wire/errors.ts``, and the link is over."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message


class TooLarge(Exception):
    """A message of our own is larger than chunks may carry. Nothing of it was sent."""


class Json:
    """Messages as JSON text in UTF-8. Lone surrogates travel as escapes, so no text is ever lost."""

    name = 'json'

    @staticmethod
    def encode(message):
        try:
            return _json_utf8(message).encode()
        except UnicodeEncodeError:
            return _json_ascii(message).encode()

    @staticmethod
    def decode(body):
        try:
            return _json_decode(str(body, 'utf-8'))
        except (ValueError, RecursionError) as error:
            raise Broken('FRAME_MALFORMED', 'the body of a frame is not valid JSON: %s' % error) from None

    @staticmethod
    def pieces(body, size):
        """The body as pieces of text, each of at most ``size`` characters."""
        text = str(body, 'utf-8')
        return [text[start : start + size] for start in range(0, len(text), size)]

    @staticmethod
    def join(pieces):
        try:
            return ''.join(pieces).encode('utf-8', 'surrogatepass')
        except TypeError:
            raise Broken('MESSAGE_INVALID', 'a chunk of JSON text is not a string') from None

    @staticmethod
    def measure(piece):
        return len(piece) if isinstance(piece, str) else 0


class Msgpack:
    """Messages as msgpack, by what the ``msgpack`` package has in C: a program may put other functions in the package."""

    name = 'msgpack'

    def __init__(self, packer, unpackb):
        self._packer = packer
        self._unpackb = unpackb

    def encode(self, message):
        try:
            return self._packer().pack(message)
        except UnicodeEncodeError:
            return self._packer(unicode_errors='backslashreplace').pack(message)

    def decode(self, body):
        try:
            return self._unpackb(body, strict_map_key=False)
        except Exception as error:
            raise Broken('FRAME_MALFORMED', 'the body of a frame is not valid msgpack: %s' % error) from None

    @staticmethod
    def pieces(body, size):
        return [body[start : start + size] for start in range(0, len(body), size)]

    @staticmethod
    def join(pieces):
        try:
            return b''.join(pieces)
        except TypeError:
            raise Broken('MESSAGE_INVALID', 'a chunk of msgpack is not binary') from None

    @staticmethod
    def measure(piece):
        return len(piece) if isinstance(piece, bytes) else 0


_known = {}


def encodings():
    """The encodings that this process can speak, by name. They are looked up once and kept."""
    if not _known:
        found = {'json': Json()}
        try:
            if _is_installed('msgpack'):
                package = importlib.import_module('msgpack')
                native = importlib.import_module('msgpack._cmsgpack')
                if package.version >= (1, 0) and _is_native(native.Packer):
                    found['msgpack'] = Msgpack(native.Packer, native.unpackb)
        except Exception:
            pass
        _known.update(found)
    return dict(_known)


def _is_installed(name):
    """Whether a package is, and no module of a project has its name: that would be code to be run for a look."""
    for entry in sys.path:
        if any(os.path.exists(os.path.join(entry, name + ending)) for ending in ('', '.py')):
            return os.path.basename(entry) in ('site-packages', 'dist-packages')
    return False


def _is_native(packer):
    return packer.__mro__ == (packer, object) and type(packer.__dict__['pack']) is not types.FunctionType


def frame(body):
    """The body with its length before it."""
    return _HEADER.pack(len(body)) + body


class Chunks:
    """Cuts large messages of ours, and joins those of the other end."""

    def __init__(self, codec, chunk, message):
        self._codec = codec
        self._chunk = chunk
        self._limit = message
        self._streams = 0
        self._joining = {}
        self._held = 0

    def cut(self, body):
        """The frames of one encoded message: itself, or as many chunks as it needs."""
        if len(body) <= self._chunk:
            return [frame(body)]
        if len(body) > self._limit:
            raise TooLarge('a message has %d bytes, and chunks may carry %d' % (len(body), self._limit))
        self._streams += 1
        pieces = self._codec.pieces(body, self._chunk)
        last = len(pieces) - 1
        return [
            frame(self._codec.encode({'type': 'chunk', 'stream': self._streams, 'last': at == last, 'data': piece}))
            for at, piece in enumerate(pieces)
        ]

    def join(self, chunk):
        """Takes one chunk in; returns the whole message with its last one, else ``None``."""
        stream, piece = chunk.get('stream'), chunk.get('data')
        if not isinstance(stream, int) or not isinstance(chunk.get('last'), bool):
            raise Broken('MESSAGE_INVALID', 'a chunk has no number, or does not say whether it is the last')
        self._held += self._codec.measure(piece)
        if self._held > self._limit:
            raise Broken('MESSAGE_TOO_LARGE', 'chunks add up to more than %d bytes' % self._limit)
        pieces = self._joining.setdefault(stream, [])
        pieces.append(piece)
        if not chunk['last']:
            return None
        del self._joining[stream]
        self._held -= sum(map(self._codec.measure, pieces))
        return self._codec.decode(self._codec.join(pieces))


class Frames:
    """Reads frames from a function that gives bytes, such as ``socket.recv``. Little more than a frame is held."""

    def __init__(self, receive, limit):
        self.receive = receive
        self.limit = limit
        self._data = b''
        self._at = 0

    def next(self):
        """The body of the next frame, or ``None`` where the stream ends between two frames."""
        data, at = self._data, self._at
        while len(data) - at < 4:
            more = self.receive(65536)
            if not more:
                if len(data) > at:
                    raise Broken('FRAME_TRUNCATED', 'the connection ended inside the length of a frame')
                return None
            data, at = data[at:] + more, 0
        (length,) = _HEADER.unpack_from(data, at)
        if length == 0:
            raise Broken('FRAME_MALFORMED', 'a frame has no body')
        if length > self.limit:
            raise Broken('FRAME_TOO_LARGE', 'a frame announced %d bytes, and %d are allowed' % (length, self.limit))
        start = at + 4
        end = start + length
        if len(data) < end:
            data = self._fill(bytearray(data[start:]), length)
            start, end = 0, length
        self._data, self._at = data, end
        return data[start:end]

    def _fill(self, body, length):
        while len(body) < length:
            more = self.receive(min(262144, length - len(body)))
            if not more:
                raise Broken('FRAME_TRUNCATED', 'the connection ended inside the body of a frame')
            body += more
        return bytes(body)
