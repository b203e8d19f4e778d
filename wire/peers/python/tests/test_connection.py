"""The connection to the daemon, and what breaks it."""

import json
import os
import struct
import unittest

from imago.service import ABILITIES
from tests.daemon import WAIT, Kernel, KernelCase, proof, until


# handshake

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


# link

class Link(KernelCase):
    """One kernel for all, which a test leaves with a link that works."""

    def setUp(self):
        self.link = self.kernel.link

    def assert_broken(self, code):
        """The link ends, the kernel says why, and the next one finds the image as it was."""
        self.assertTrue(self.link.ended.wait(WAIT))
        if code is not None:
            self.assertEqual(self.link.bye['code'], code)
        self.link.close()
        self.link = self.kernel.link = self.kernel.accept()
        self.assertEqual(self.link.value('kept'), '1')

    def keep(self):
        self.link.evaluate('kept = 1')

    def test_fault_21_a_body_that_is_no_json_breaks_the_link(self):
        self.keep()
        self.link.raw.send_body(b'\xff\x00garbage')
        self.assert_broken('FRAME_MALFORMED')

    def test_fault_20_a_frame_over_the_limit_is_refused_before_it_comes(self):
        self.keep()
        self.link.raw.connection.sendall(struct.pack('>I', 0xFFFFFFFF))
        self.assert_broken('FRAME_TOO_LARGE')

    def test_fault_20_an_empty_frame_breaks_the_link(self):
        self.keep()
        self.link.raw.connection.sendall(struct.pack('>I', 0))
        self.assert_broken('FRAME_MALFORMED')

    def test_fault_19_a_daemon_that_dies_inside_a_frame_is_replaced(self):
        self.keep()
        self.link.raw.connection.sendall(b'\x00\x00\x01\x00{"type":"call"')
        self.link.raw.connection.shutdown(1)
        self.assert_broken('FRAME_TRUNCATED')

    def test_a_bomb_of_brackets_breaks_the_link_and_not_the_kernel(self):
        self.keep()
        self.link.raw.send_body(b'[' * 1000000)
        self.assert_broken('FRAME_MALFORMED')

    def test_what_is_no_message_breaks_the_link(self):
        for message in ([], {'type': 'unheard of'}, {'type': 'credit', 'id': 'x'}, {'type': 'ping'}, {'type': 'chunk'}):
            self.keep()
            self.link.send(message)
            self.assert_broken('MESSAGE_INVALID')

    def test_a_call_with_the_number_of_an_earlier_one_breaks_the_link(self):
        self.keep()
        self.link.send({'type': 'call', 'id': 1, 'method': 'status', 'params': {}})
        self.assert_broken('PROTOCOL_BROKEN')

    def test_an_answer_to_nothing_breaks_the_link(self):
        self.keep()
        self.link.send({'type': 'return', 'id': 99, 'result': None})
        self.assert_broken('PROTOCOL_BROKEN')

    def test_a_second_answer_to_one_question_breaks_the_link(self):
        self.keep()
        call = self.link.start('input()')
        number = self.link.asked.get(timeout=WAIT)['id']
        self.link.send({'type': 'return', 'id': number, 'result': {'answer': 'once'}})
        self.assertEqual(call.answer()['values'][0]['repr']['text'], "'once'")
        self.link.send({'type': 'return', 'id': number, 'result': {'answer': 'twice'}})
        self.assert_broken('PROTOCOL_BROKEN')

    def test_chunks_that_add_up_to_too_much_break_the_link(self):
        self.keep()
        for _ in range(65):
            try:
                self.link.send({'type': 'chunk', 'stream': 1, 'last': False, 'data': 'x' * (1024 * 1024)})
            except OSError:
                break
        self.assert_broken('MESSAGE_TOO_LARGE')

    def test_a_ping_is_answered_while_code_runs(self):
        call = self.link.start('import time\nwhile True: pass')
        self.link.send({'type': 'ping', 'n': 7})
        self.assertEqual(self.link.pongs.get(timeout=WAIT), {'type': 'pong', 'n': 7})
        call.cancel()
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_credit_and_cancel_of_calls_that_are_over_are_ignored(self):
        call = self.link.start('1')
        call.answer()
        call.cancel()
        self.link.send({'type': 'credit', 'id': call.number, 'bytes': 10})
        self.link.send({'type': 'cancel', 'id': 4711})
        self.assertEqual(self.link.value('2'), '2')

    def test_a_daemon_that_went_away_comes_back_to_the_same_image(self):
        self.keep()
        epoch = self.link.hello['epoch']
        self.link.close()
        self.link = self.kernel.link = self.kernel.accept()
        self.assertEqual(self.link.hello['epoch'], epoch)
        self.assertEqual(self.link.value('kept'), '1')

    def test_background_output_waits_for_a_daemon_that_is_away(self):
        self.link.evaluate(
            'import threading, time\ndef talk():\n    time.sleep(0.1)\n    print("while away")\n    spoken.set()\n'
            'spoken = threading.Event(); threading.Thread(target=talk).start()'
        )
        self.link.raw.connection.shutdown(2)
        self.link.close()
        self.link = self.kernel.link = self.kernel.accept()
        self.assertEqual(self.link.notes.get(timeout=WAIT)['params']['text'], 'while away\n')

    def test_requests_in_pieces_of_one_byte_are_understood(self):
        body = b'{"type":"ping","n":3}'
        for byte in struct.pack('>I', len(body)) + body:
            self.link.raw.connection.sendall(bytes([byte]))
        self.assertEqual(self.link.pongs.get(timeout=WAIT)['n'], 3)

    def test_no_thread_is_left_over_from_broken_links(self):
        self.link.evaluate('print(1)')
        names = 'import threading; sorted(t.name for t in threading.enumerate())'
        before = self.link.value(names)
        for _ in range(5):
            self.link.close()
            self.link = self.kernel.link = self.kernel.accept()
        self.assertEqual(self.link.value(names), before)


class Chunks(unittest.TestCase):
    def test_a_large_answer_comes_in_chunks_and_a_pong_may_pass_between(self):
        with Kernel(welcome={'chunk': 1000}) as kernel:
            outcome = kernel.link.evaluate('"x" * 100000')
            self.assertGreater(len(outcome['values'][0]['repr']['text']), 1000)
            self.assertTrue(any(message['type'] == 'chunk' for message in kernel.link.log))
            call = kernel.link.start('print("y" * 20000); "z" * 20000')
            call.answer()
            self.assertEqual(call.output(), 'y' * 20000 + '\n')

    def test_events_in_chunks_stay_before_the_answer(self):
        with Kernel(welcome={'chunk': 300}) as kernel:
            for count in (1, 10, 1000, 5000):
                call = kernel.link.start('for n in range(%d): print(n)' % count)
                call.answer()
                until(lambda: call.output() == ''.join('%d\n' % n for n in range(count)))
