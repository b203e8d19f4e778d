"""The same link in msgpack, where its package is installed."""

import unittest

from tests.daemon import Kernel, Link, Raw

try:
    import msgpack
except ImportError:
    msgpack = None


class MsgpackRaw(Raw):
    def __init__(self, raw):
        super().__init__(raw.connection)
        self._rest = raw._rest

    def receive(self):
        return msgpack.unpackb(self.body())

    def send(self, message):
        self.send_body(msgpack.packb(message))


@unittest.skipIf(msgpack is None, 'the msgpack package is not installed')
class Msgpack(unittest.TestCase):
    def setUp(self):
        self.kernel = Kernel(welcome={'encoding': 'msgpack', 'chunk': 1000})
        self.addCleanup(self.kernel.__exit__)
        raw = self.kernel.connection()
        self.hello = raw.shake_hands(self.kernel.secret)
        raw.send({'welcome': self.kernel.welcome})
        self.link = MsgpackLink(MsgpackRaw(raw), self.hello, self.kernel.welcome)
        self.addCleanup(self.link.close)

    def test_it_is_offered(self):
        self.assertEqual(self.hello['encodings'], ['json', 'msgpack'])

    def test_a_program_that_replaces_functions_of_the_package_has_none_of_them_run_in_a_look(self):
        self.link.evaluate(
            'import msgpack, msgpack._cmsgpack as native\nran = []\n'
            'def spy(*a, **k): ran.append(1); return b""\n'
            'msgpack.packb = msgpack.unpackb = native.packb = native.unpackb = msgpack.Packer = native.Packer = spy'
        )
        self.assertEqual(self.link.value('ran'), '[]')

    def test_evaluations_and_their_output_come_through(self):
        call = self.link.start('print("é")\n1+2')
        self.assertEqual(call.answer()['values'][0]['repr']['text'], '3')
        self.assertEqual(call.output(), 'é\n')

    def test_large_answers_come_in_binary_chunks(self):
        text = self.link.evaluate('"x" * 5000')['values'][0]['repr']['text']
        self.assertTrue(text.startswith("'xxx"))
        self.assertTrue(any(message['type'] == 'chunk' for message in self.link.log))

    def test_lone_surrogates_become_escapes(self):
        call = self.link.start('print("a\\ud800b")')
        call.answer()
        self.assertEqual(call.output(), 'a\\ud800b\n')

    def test_a_body_that_is_no_msgpack_breaks_the_link(self):
        self.link.raw.send_body(b'\xc1')
        self.assertTrue(self.link.ended.wait(20))
        self.assertEqual(self.link.bye['code'], 'FRAME_MALFORMED')


class MsgpackLink(Link):
    def unpack_chunks(self, pieces):
        return msgpack.unpackb(b''.join(pieces))
