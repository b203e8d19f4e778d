import struct
import unittest

from imago.codec import Broken, Chunks, Frames, Json, TooLarge, encodings, frame


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

    def test_msgpack_is_offered_only_where_its_package_is(self):
        try:
            import msgpack  # noqa: F401
        except ImportError:
            self.assertEqual(list(encodings()), ['json'])
        else:
            codec = encodings()['msgpack']
            self.assertEqual(codec.decode(codec.encode({'a': [1, 'x', b'y']})), {'a': [1, 'x', b'y']})


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
