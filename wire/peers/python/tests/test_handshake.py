import json
import os
import struct
import unittest

from imago.service import ABILITIES
from tests.daemon import WAIT, Kernel, proof


class Unready(unittest.TestCase):
    """Kernels whose daemon does not behave: each test takes the first connection itself."""

    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()
        cls.addClassCleanup(cls.kernel.__exit__)

    def setUp(self):
        self.raw = self.kernel.connection()
        self.addCleanup(lambda: self.raw.close())

    def assert_left_for_a_better_one(self):
        """The connection is closed without a word, and the next, honest one is taken."""
        self.assertTrue(self.raw.is_closed())
        link = self.kernel.accept()
        self.assertEqual(link.value('1+2'), '3')
        link.close()

    def test_the_opener_begins_with_a_nonce_of_its_own(self):
        first = self.raw.receive()
        self.assertEqual(set(first), {'imago', 'nonce'})
        self.assertEqual(first['imago'], 1)
        self.assertRegex(first['nonce'], '^[0-9a-f]{64}$')

    def test_the_hello_says_who_the_kernel_is(self):
        hello = self.raw.shake_hands(self.kernel.secret)
        self.assertEqual(hello['role'], 'kernel')
        self.assertEqual((hello['protocol'], hello['language'], hello['pid']), (1, 'python', self.kernel.process.pid))
        self.assertRegex(hello['implementation'], r'^CPython 3\.\d+\.\d+')
        self.assertRegex(hello['epoch'], '^[0-9a-f]{8}$')
        self.assertIn('json', hello['encodings'])
        self.assertEqual(hello['abilities'], [*ABILITIES, 'hold'])
        self.assertLessEqual({'evaluate', 'inspect', 'interrupt', 'ask', 'threads'}, set(ABILITIES))

    def test_threat_27_a_squatter_who_does_not_know_the_secret_is_left_without_a_hello(self):
        opener = self.raw.receive()['nonce']
        acceptor = os.urandom(32).hex()
        self.raw.send({'imago': 1, 'nonce': acceptor})
        self.raw.receive()
        self.raw.send({'proof': proof('another secret', 'acceptor', opener, acceptor)})
        self.assert_left_for_a_better_one()

    def test_threat_27_the_openers_own_proof_does_not_pass_for_the_acceptors(self):
        self.raw.receive()
        self.raw.send({'imago': 1, 'nonce': os.urandom(32).hex()})
        self.raw.send(self.raw.receive())
        self.assert_left_for_a_better_one()

    def test_threat_27_a_reflected_nonce_is_not_answered_with_a_proof(self):
        self.raw.send(self.raw.receive())
        self.assert_left_for_a_better_one()

    def test_fault_21_garbage_is_left_without_a_word(self):
        self.raw.receive()
        self.raw.connection.sendall(b'POST / HTTP/1.1\r\nHost: localhost\r\n\r\n')
        self.assert_left_for_a_better_one()

    def test_fault_21_frames_of_other_things_are_left_without_a_word(self):
        for body in (b'\xff\xfe', b'[]', b'{"nonce": 3}', b'[' * 4000, b'{"imago":1,"nonce":"short"}'):
            with self.subTest(body=body[:10]):
                self.raw.receive()
                self.raw.send_body(body)
                self.assertTrue(self.raw.is_closed())
                self.raw.close()
                self.raw = self.kernel.connection()

    def test_fault_20_a_frame_that_announces_too_much_is_refused_before_it_comes(self):
        self.raw.receive()
        self.raw.connection.sendall(struct.pack('>I', 4097))
        self.assert_left_for_a_better_one()

    def test_fault_20_an_empty_frame_is_refused(self):
        self.raw.receive()
        self.raw.connection.sendall(struct.pack('>I', 0))
        self.assert_left_for_a_better_one()

    def test_fault_19_a_connection_that_ends_inside_a_frame_is_left(self):
        self.raw.receive()
        self.raw.connection.sendall(b'\x00\x00\x00\x30{"ima')
        self.raw.connection.shutdown(1)
        self.assert_left_for_a_better_one()

    def test_fault_22_an_acceptor_that_says_nothing_is_given_up(self):
        self.raw.receive()
        self.assert_left_for_a_better_one()

    def test_another_version_is_answered_with_ours(self):
        self.raw.receive()
        self.raw.send({'imago': 2, 'nonce': os.urandom(32).hex()})
        self.assertEqual(self.raw.receive(), {'imago': 1, 'error': 'version', 'versions': [1]})
        self.assertTrue(self.raw.is_closed())

    def test_an_acceptor_of_another_version_is_not_told_more(self):
        self.raw.receive()
        self.raw.send({'imago': 1, 'error': 'version', 'versions': [7]})
        self.assert_left_for_a_better_one()

    def test_a_welcome_in_an_encoding_that_was_not_offered_is_not_taken(self):
        self.raw.shake_hands(self.kernel.secret)
        self.raw.send({'welcome': {'encoding': 'morse'}})
        self.assert_left_for_a_better_one()


class Refused(unittest.TestCase):
    def test_a_refused_kernel_ends_and_says_why(self):
        kernel = Kernel()
        self.addCleanup(kernel.__exit__)
        raw = kernel.connection()
        raw.shake_hands(kernel.secret)
        raw.send({'refused': {'code': 'VERSION_MISMATCH', 'message': 'too old'}})
        kernel.process.wait(WAIT)
        self.assertIn(b'too old', bytes(kernel.printed[2]))


class Addresses(unittest.TestCase):
    def test_loopback_tcp_serves_as_well(self):
        with Kernel(address='tcp') as kernel:
            self.assertEqual(kernel.link.value('1+2'), '3')

    def test_standard_input_that_is_no_invitation_ends_with_one_line(self):
        import subprocess
        import sys

        from tests.daemon import MAIN

        for line in (b'', b'hello\n', b'[]\n', json.dumps({'address': 'unix:/x'}).encode() + b'\n'):
            done = subprocess.run([sys.executable, MAIN], input=line, capture_output=True, timeout=WAIT)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count(b'\n'), 1, done.stderr)
            self.assertIn(b'imago', done.stderr)
