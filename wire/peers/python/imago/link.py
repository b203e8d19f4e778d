"""One link to the daemon: the calls that it makes here, and those made to it, over frames.

``run`` reads on the caller's thread until the link is over. Everything else may be called from any thread and
never waits. ``docs/wire.md`` has the messages and their order; who breaks it is told with ``bye`` and left.
"""

import itertools

from imago import native
from imago.codec import Broken, Chunks, TooLarge
from imago.native import time
from imago.outbox import HIGH, Outbox

#: Seconds that the last of what is queued may take when a link is closed.
LAST_WORDS = 1.0


class Fail(Exception):
    """Raised by a method to answer its call with a fault: ``code`` is one of ``FAILURES`` or a word of our own."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message


class Link:
    """One connection after its handshake. ``serve(served, method, params)`` is called for each call that comes, on the
    reader's thread, and raises ``Fail`` to refuse it; ``note(name, params)``, if given, for each note.
    """

    def __init__(self, connection, frames, codec, limits, serve, note=None):
        self._connection = connection
        self._frames = frames
        self._codec = codec
        self._serve = serve
        self._note = note
        self._chunks = Chunks(codec, limits.chunk, limits.message)
        self._outbox = Outbox(connection, self.hang_up)
        self.served = {}
        self._asked = {}
        self._given_up = set()
        self._pings = itertools.count(1)
        self._pongs = {}
        self._last_id = 0
        self._ids = itertools.count(1)
        self.limits = limits
        self.open = True
        self.encode = codec.encode
        frames.limit = limits.frame

    def run(self):
        """Reads and serves until the link ends. Returns why: ``None`` where the other end just closed it."""
        try:
            while self.open:
                body = self._frames.next()
                if body is None:
                    return None
                self._take(self._codec.decode(body))
            return None
        except Broken as error:
            self.close(error.code, error.message)
            return error
        except OSError as error:
            return Broken('LINK_CLOSED', str(error))
        finally:
            self._end()

    def ask(self, method, params, answer):
        """Calls the daemon. ``answer(result, failure)`` comes once, on the reader's thread. Returns a give-up."""
        number = next(self._ids)
        self._asked[number] = answer
        self._send({'type': 'call', 'id': number, 'method': method, 'params': params})
        if not self.open:
            self._lose(number)

        def give_up():
            if self._asked.pop(number, None):
                self._given_up.add(number)
                self._send({'type': 'cancel', 'id': number})

        return give_up

    def note(self, name, params):
        """Says something unasked, unless the other end is far behind; returns whether it was said."""
        if self._outbox.queued > HIGH:
            return False
        self._send({'type': 'note', 'name': name, 'params': params})
        return self.open

    def answers(self, seconds):
        """Whether the other end says that it is there, asked now and given so long."""
        number = next(self._pings)
        pong = self._pongs[number] = native.Event()
        self._send({'type': 'ping', 'n': number})
        try:
            return pong.wait(seconds) and self.open
        finally:
            self._pongs.pop(number, None)

    def close(self, code=None, message=''):
        """Sends what is queued, for a moment, and closes; with a code, says why before."""
        if code is not None:
            self._send({'type': 'bye', 'code': code, 'message': message})
        until = time.monotonic() + LAST_WORDS
        while self.open and not self._outbox.flushed() and time.monotonic() < until:
            native.sleep(0.001)
        self.hang_up()

    def hang_up(self):
        """Ends the link at once. ``run`` then ends too."""
        self.open = False
        self._connection.shutdown()

    def drop(self):
        """Forgets the connection without a word to the other end; for a forked child, which shares it."""
        self.open = False
        self._outbox.close()
        self._connection.close()

    def _send(self, message):
        self.post(None, [self.encode(message)])

    def post(self, owner, bodies):
        """Sends encoded messages together, in order."""
        if len(bodies) == 1:
            self._outbox.send(owner, self._chunks.cut(bodies[0]))
            return
        frames = []
        for body in bodies:
            frames += self._chunks.cut(body)
        self._outbox.send(owner, [b''.join(frames)] if len(frames) == len(bodies) else frames)

    def _take(self, message):
        if not isinstance(message, dict):
            raise Broken('MESSAGE_INVALID', 'a frame holds no message')
        kind = message.get('type')
        if kind == 'call':
            self._take_call(message)
        elif kind == 'credit':
            served = self.served.get(_number(message, 'id'))
            if served is not None:
                served.granted += _number(message, 'bytes')
                if served.owner is not None:
                    served.owner.credited(served)
        elif kind == 'cancel':
            served = self.served.get(_number(message, 'id'))
            if served is not None and served.owner is not None:
                served.owner.cancelled(served)
        elif kind == 'ping':
            self._send({'type': 'pong', 'n': _number(message, 'n')})
        elif kind in ('return', 'fail'):
            self._take_answer(message)
        elif kind == 'chunk':
            whole = self._chunks.join(message)
            if whole is not None:
                if isinstance(whole, dict) and whole.get('type') == 'chunk':
                    raise Broken('PROTOCOL_BROKEN', 'chunks made a chunk')
                self._take(whole)
        elif kind == 'note':
            if self._note is not None:
                self._note(message.get('name'), message.get('params'))
        elif kind == 'event':
            number = _number(message, 'id')
            if number not in self._asked and number not in self._given_up:
                raise Broken('PROTOCOL_BROKEN', 'an event belongs to no call')
        elif kind == 'bye':
            self.hang_up()
        elif kind == 'pong':
            pong = self._pongs.get(_number(message, 'n'))
            if pong is not None:
                pong.set()
        else:
            raise Broken('MESSAGE_INVALID', 'a message is of no known type')

    def _take_call(self, message):
        number = _number(message, 'id')
        method = message.get('method')
        if number <= self._last_id or not isinstance(method, str):
            raise Broken('PROTOCOL_BROKEN', 'a call names no method, or has the number of an earlier one')
        self._last_id = number
        served = self.served[number] = Served(self, number)
        try:
            self._serve(served, method, message.get('params'))
        except Fail as fail:
            served.fail(fail.code, fail.message)

    def _take_answer(self, message):
        number = _number(message, 'id')
        answer = self._asked.pop(number, None)
        if answer is not None:
            answer(message.get('result'), message.get('error') if message['type'] == 'fail' else None)
        elif number in self._given_up:
            self._given_up.discard(number)
        else:
            raise Broken('PROTOCOL_BROKEN', 'an answer belongs to no pending call')

    def _lose(self, number):
        answer = self._asked.pop(number, None)
        if answer is not None:
            answer(None, {'code': 'closed', 'message': 'the link to the daemon was lost'})

    def _end(self):
        self.open = False
        self._outbox.finish()
        for pong in list(self._pongs.values()):
            pong.set()
        for number in list(self._asked):
            self._lose(number)
        for served in list(self.served.values()):
            if served.owner is not None:
                served.owner.lost(served)
        self.served.clear()


class Served:
    """One call that the daemon made here. One ``result`` or ``fail`` reaches it; later ones are ignored.

    Its ``owner``, where it has one, is told of what the daemon says about it: ``cancelled(served)``,
    ``credited(served)``, and ``lost(served)`` when the link is gone.
    """

    __slots__ = ('link', 'number', 'granted', 'spent', 'owner')

    def __init__(self, link, number):
        self.link = link
        self.number = number
        self.granted = link.limits.credit
        self.spent = 0
        self.owner = None

    def result(self, result, before=()):
        """Answers, with encoded events before the answer in the same piece. Returns whether this was the answer."""
        link = self.link
        if link.served.pop(self.number, None) is None:
            return False
        try:
            link.post(self.number, [*before, link.encode({'type': 'return', 'id': self.number, 'result': result})])
        except (TooLarge, ValueError, TypeError, OverflowError) as error:
            self._send_failure('fault', 'the answer could not be sent: %s' % error)
        return True

    def fail(self, code, message):
        if self.link.served.pop(self.number, None) is not None:
            self._send_failure(code, message)

    def event(self, event):
        """The event as a message, encoded; send it with ``post``. Its length is what it costs."""
        return self.link.encode({'type': 'event', 'id': self.number, 'event': event})

    def post(self, bodies):
        self.link.post(self.number, bodies)

    def _send_failure(self, code, message):
        failure = {'type': 'fail', 'id': self.number, 'error': {'code': code, 'message': message}}
        self.link.post(self.number, [self.link.encode(failure)])


def _number(message, name):
    value = message.get(name)
    if type(value) is not int or value < 0:
        raise Broken('MESSAGE_INVALID', 'a %s has no usable %s' % (message.get('type'), name))
    return value
