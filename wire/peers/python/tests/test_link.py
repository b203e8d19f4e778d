"""The link: its frames, encodings and chunks, the handshake before it, and what breaks it."""

import socket
import struct
import threading
import unittest
from unittest import mock

from imago.codec import Broken, Chunks, Frames, Json, TooLarge, encodings, frame
from imago.connection import Channel, Handshake, Limits, NotTrusted, Refused
from imago.link import Link
from imago.native import Socket
from tests.daemon import proof


def receiver(data, size):
    """A ``recv`` that gives at most ``size`` bytes at a time."""
    rest = [data]

    def receive(most):
        count = min(size, most)
        part, rest[0] = rest[0][:count], rest[0][count:]
        return part

    return receive


class Framing(unittest.TestCase):
    def test_frames_are_read_the_same_however_the_stream_is_split(self):
        bodies = [b'a', b'{"b":1}', b'c' * 300, b'd' * 70000]
        stream = b''.join(map(frame, bodies))
        for size in (1, 2, 3, 4, 5, 7, 64, 4096, 1 << 20):
            frames = Frames(receiver(stream, size), 1 << 20)
            self.assertEqual([frames.next() for _ in bodies] + [frames.next()], [*bodies, None], size)

    def test_fault_19_every_cut_inside_a_frame_is_truncation(self):
        stream = frame(b'{"type":"ping","n":1}')
        for cut in range(1, len(stream)):
            with self.assertRaises(Broken) as caught:
                Frames(receiver(stream[:cut], 5), 1 << 20).next()
            self.assertEqual(caught.exception.code, 'FRAME_TRUNCATED')

    def test_fault_20_a_length_over_the_limit_is_refused_before_its_body_is_read(self):
        for length in (101, 0xFFFFFF, 0xFFFFFFFF):
            with self.assertRaises(Broken) as caught:
                Frames(receiver(struct.pack('>I', length), 4), 100).next()
            self.assertEqual(caught.exception.code, 'FRAME_TOO_LARGE')


class Encoding(unittest.TestCase):
    def test_json_is_utf_8_without_spaces(self):
        self.assertEqual(Json.encode({'a': 'é', 'b': [1, None]}), '{"a":"é","b":[1,null]}'.encode())

    def test_lone_surrogates_travel_as_escapes(self):
        self.assertEqual(Json.decode(Json.encode({'a': 'x\ud800é'})), {'a': 'x\ud800é'})

    def test_numbers_that_json_does_not_have_are_not_sent(self):
        with self.assertRaises(ValueError):
            Json.encode(float('nan'))

    def test_what_is_no_json_is_malformed(self):
        for body in (b'\xff', b'{', b'[' * 100000, b'"\x00"', b'1' * 5000 + b'x', b'{} {}'):
            with self.assertRaises(Broken) as caught:
                Json.decode(body)
            self.assertEqual(caught.exception.code, 'FRAME_MALFORMED')



class Chunking(unittest.TestCase):
    def round_trip(self, message, chunk):
        chunks = Chunks(Json, chunk, 1 << 20)
        whole = None
        frames = chunks.cut(Json.encode(message))
        for piece in frames:
            decoded = Json.decode(piece[4:])
            self.assertIsNone(whole)
            whole = chunks.join(decoded) if decoded.get('type') == 'chunk' else decoded
        return whole, len(frames)

    def test_a_message_is_the_same_after_chunks_of_any_size(self):
        message = {'type': 'return', 'id': 1, 'result': 'aé\ud800"\\\n😀' * 100}
        for chunk in (1, 2, 3, 10, 100, 1000, 100000):
            self.assertEqual(self.round_trip(message, chunk)[0], message, chunk)

    def test_chunks_of_several_messages_may_mix(self):
        chunks = Chunks(Json, 5, 1 << 20)
        one = [Json.decode(piece[4:]) for piece in chunks.cut(Json.encode({'n': 'first one'}))]
        two = [Json.decode(piece[4:]) for piece in chunks.cut(Json.encode({'n': 'second two'}))]
        joined = []
        while one or two:
            for pieces in (one, two):
                if pieces:
                    whole = chunks.join(pieces.pop(0))
                    if whole is not None:
                        joined.append(whole['n'])
        self.assertEqual(sorted(joined), ['first one', 'second two'])

    def test_more_than_a_message_may_hold_is_neither_sent_nor_joined(self):
        chunks = Chunks(Json, 10, 100)
        with self.assertRaises(TooLarge):
            chunks.cut(b'x' * 101)
        with self.assertRaises(Broken) as caught:
            for _ in range(11):
                chunks.join({'type': 'chunk', 'stream': 1, 'last': False, 'data': 'x' * 10})
        self.assertEqual(caught.exception.code, 'MESSAGE_TOO_LARGE')


OURS = bytes(32).hex()
THEIRS = 'ab' * 32
SECRET = 'what both of them know'


def greeting(nonce=THEIRS, version=1):
    return {'imago': version, 'nonce': nonce}


def told(end, role, secret=SECRET):
    """The proof of this role, as it is told to our end, ``'open'`` or ``'accept'``."""
    nonces = (OURS, THEIRS) if end == 'open' else (THEIRS, OURS)
    return {'proof': proof(secret, role, *nonces)}


class End(unittest.TestCase):
    """One end that is ours, and another that says all it has to say at once."""

    def connect(self, *sent, closes=True):
        near, self.far = socket.socketpair()
        self.channel = Channel(Socket(fileno=near.detach()))

        def send():
            try:
                self.far.sendall(b''.join(one if type(one) is bytes else frame(Json.encode(one)) for one in sent))
                if closes:
                    self.far.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        sending = threading.Thread(target=send)
        sending.start()
        # What the system keeps is there before our end begins.
        sending.join(1)
        for cleanup in (sending.join, self.far.close, self.channel.close):
            self.addCleanup(cleanup)

    def said(self):
        """What our end has said, after its last word."""
        self.channel.shutdown()
        with self.far.makefile('rb') as file:
            frames = Frames(file.read, 1 << 20)
            return [Json.decode(body) for body in iter(frames.next, None)]


#: What no honest end begins with, under either role.
STRANGE = (
    ('fault 19: half a frame', b'\x00\x00\x00\x30{"ima'),
    ('fault 20: more than a frame may hold', struct.pack('>I', 4097)),
    ('fault 20: much more than that', struct.pack('>I', 0xFFFFFFFF)),
    ('fault 20: an empty frame', struct.pack('>I', 0)),
    ('fault 21: another protocol', b'POST / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    ('fault 21: no JSON', frame(b'\xff\xfe')),
    ('fault 21: no object', []),
    ('fault 21: a bomb of brackets', frame(b'[' * 4000)),
    ('fault 21: a nonce that is none', {'nonce': 3}),
    ('fault 21: a nonce that is short', greeting('short')),
    ('threat 27: our own nonce', greeting(OURS)),
    ('the end', b''),
    ('a version that we do not have', {'imago': 1, 'error': 'version', 'versions': [7]}),
)


class Handshaking(End):
    def shake(self, end, *sent, **settings):
        self.connect(*sent, **settings)
        handshake = Handshake(self.channel)
        with mock.patch('imago.connection.os.urandom', return_value=bytes(32)):
            getattr(handshake, end)(SECRET)
        return handshake

    def left(self, end, *sent, **settings):
        """What our end has said to one that it leaves."""
        with self.assertRaises(NotTrusted):
            self.shake(end, *sent, **settings)
        return self.said()

    def test_what_does_not_begin_a_handshake_is_left_with_no_more_than_the_nonce_of_the_opener(self):
        for end, expected in (('open', [greeting(OURS)]), ('accept', [])):
            for name, sent in STRANGE:
                with self.subTest(name, end=end):
                    self.assertEqual(self.left(end, sent), expected)

    def test_another_version_is_answered_with_ours(self):
        for end in ('open', 'accept'):
            ours = {'imago': 1, 'error': 'version', 'versions': [1]}
            self.assertEqual(self.left(end, greeting(version=2))[-1], ours, end)

    def test_threat_27_a_proof_that_does_not_fit_is_left_and_the_acceptor_tells_none_before_it_has_one(self):
        for end, role, other in (('open', 'acceptor', 'opener'), ('accept', 'opener', 'acceptor')):
            for sent in (told(end, role, 'another secret'), told(end, other), {'proof': '0' * 64}, {'proof': 7}, {}):
                with self.subTest(end=end, sent=sent):
                    said = self.left(end, greeting(), sent)
                    self.assertEqual(said[1:], [] if end == 'accept' else [told('open', 'opener')])

    def test_those_who_know_the_secret_are_believed_and_shown_that_we_know_it(self):
        for end, role, other in (('open', 'acceptor', 'opener'), ('accept', 'opener', 'acceptor')):
            self.shake(end, greeting(), told(end, role))
            self.assertEqual(self.said(), [greeting(OURS), told(end, other)])

    def test_fault_22_one_who_says_nothing_is_given_up(self):
        with mock.patch('imago.connection.SECONDS', 0.05):
            for end in ('open', 'accept'):
                self.left(end, closes=False)

    def test_a_welcome_is_taken_in_an_encoding_that_was_offered_and_a_refusal_as_the_last_word(self):
        for answer, raised in (
            ({'welcome': {'encoding': 'morse'}}, NotTrusted),
            ({'welcome': None}, NotTrusted),
            ({'refused': {'code': 'VERSION_MISMATCH', 'message': 'too old'}}, Refused),
        ):
            handshake = self.shake('accept', greeting(), told('accept', 'opener'), answer)
            with self.assertRaises(raised):
                handshake.greet({'encodings': ['json']})
        handshake = self.shake('accept', greeting(), told('accept', 'opener'), {'welcome': {'encoding': 'json'}})
        self.assertEqual(handshake.greet({'encodings': ['json']})[0], {'encoding': 'json'})


def call(number, method='status'):
    return {'type': 'call', 'id': number, 'method': method, 'params': {}}


PIECE = {'type': 'chunk', 'stream': 1, 'last': False, 'data': 'x' * 600}
ANSWER = {'type': 'return', 'id': 1, 'result': {'answer': 'Ada'}}

#: What breaks a link on which one question has been asked, and the code that the daemon is told.
BREAKS = (
    ('fault 19: half a frame', [b'\x00\x00\x01\x00{"type":"call"'], 'FRAME_TRUNCATED'),
    ('fault 20: more than a frame may hold', [struct.pack('>I', 0xFFFFFFFF)], 'FRAME_TOO_LARGE'),
    ('fault 20: an empty frame', [struct.pack('>I', 0)], 'FRAME_MALFORMED'),
    ('fault 21: no JSON', [frame(b'\xff\x00garbage')], 'FRAME_MALFORMED'),
    ('fault 21: a bomb of brackets', [frame(b'[' * 100000)], 'FRAME_MALFORMED'),
    ('no object', [[]], 'MESSAGE_INVALID'),
    ('no known type', [{'type': 'unheard of'}], 'MESSAGE_INVALID'),
    ('a number that is none', [{'type': 'credit', 'id': 'x'}], 'MESSAGE_INVALID'),
    ('a ping without one', [{'type': 'ping'}], 'MESSAGE_INVALID'),
    ('a chunk of nothing', [{'type': 'chunk'}], 'MESSAGE_INVALID'),
    ('chunks of too much', [PIECE, PIECE], 'MESSAGE_TOO_LARGE'),
    ('the number of an earlier call', [call(2), call(2)], 'PROTOCOL_BROKEN'),
    ('an answer to nothing', [{'type': 'return', 'id': 99, 'result': None}], 'PROTOCOL_BROKEN'),
    ('a second answer', [ANSWER, ANSWER], 'PROTOCOL_BROKEN'),
    ('an event of nothing', [{'type': 'event', 'id': 99, 'event': {}}], 'PROTOCOL_BROKEN'),
)


class Linked(End):
    def run_link(self, *sent):
        """The link that has run to its end, the answers to the one question asked on it, and what it has said."""
        self.connect(*sent)
        answers = []
        limits = Limits({'message': 1000})
        link = Link(self.channel, Frames(self.channel.recv, 4096), Json, limits, lambda served, method, params: None)
        link.ask('ask', {}, lambda *answer: answers.append(answer))
        link.run()
        return answers, self.said()

    def test_what_breaks_the_protocol_is_told_with_its_code_and_ends_the_link(self):
        for name, sent, code in BREAKS:
            with self.subTest(name):
                answers, said = self.run_link(*sent)
                self.assertEqual((said[-1]['type'], said[-1]['code']), ('bye', code))
                self.assertEqual(len(answers), 1)

    def test_what_comes_too_late_for_a_call_is_ignored_and_a_ping_is_answered(self):
        late = [{'type': 'credit', 'id': 7, 'bytes': 10}, {'type': 'cancel', 'id': 4711}]
        answers, said = self.run_link(ANSWER, *late, {'type': 'ping', 'n': 3})
        self.assertEqual(answers, [({'answer': 'Ada'}, None)])
        self.assertEqual(said[1:], [{'type': 'pong', 'n': 3}])

    def test_a_link_that_just_ends_says_so_to_whoever_waits_for_an_answer(self):
        answers, _ = self.run_link()
        self.assertEqual([failure['code'] for _, failure in answers], ['closed'])
