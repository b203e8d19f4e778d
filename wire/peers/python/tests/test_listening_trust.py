"""Who is let in by a program that listens, and what becomes of the others."""

import os
import socket
import struct
import sys
import time
import unittest

from tests.daemon import WAIT, proof, until
from tests.guests import ProgramCase, Refused, open_kernel

PLAIN = 'import imago\nkept = 1\nimago.listen()\nwait_for_end()'


class Strangers(ProgramCase):
    def setUp(self):
        self.guest = self.program(PLAIN)
        self.said = self.guest.announcement()

    def assert_left_without_a_word(self, raw):
        self.assertTrue(raw.is_closed())
        link = self.guest.attach()
        self.assertEqual(link.value('kept'), '1')
        link.close()
        self.assertEqual(self.guest.said(), '\n')

    def test_threat_27_one_who_does_not_know_the_secret_is_left_without_a_word_and_the_next_one_let_in(self):
        raw = self.guest.connection()
        opener = os.urandom(32).hex()
        raw.send({'imago': 1, 'nonce': opener})
        acceptor = raw.receive()['nonce']
        raw.send({'proof': proof('another secret', 'opener', opener, acceptor)})
        self.assert_left_without_a_word(raw)

    def test_threat_27_the_acceptor_says_nothing_before_the_opener_does_and_reveals_no_proof_before_it_has_one(self):
        raw = self.guest.connection()
        raw.send({'imago': 1, 'nonce': os.urandom(32).hex()})
        answer = raw.receive()
        self.assertEqual(set(answer), {'imago', 'nonce'})
        raw.send({'proof': '0' * 64})
        self.assert_left_without_a_word(raw)

    def test_threat_27_the_proof_of_an_acceptor_does_not_pass_for_that_of_an_opener(self):
        raw = self.guest.connection()
        opener = os.urandom(32).hex()
        raw.send({'imago': 1, 'nonce': opener})
        acceptor = raw.receive()['nonce']
        raw.send({'proof': proof(self.said['secret'], 'acceptor', opener, acceptor)})
        self.assert_left_without_a_word(raw)

    def test_fault_19_21_garbage_and_half_frames_are_left_without_a_word(self):
        for sent in (
            b'POST / HTTP/1.1\r\nHost: localhost\r\n\r\n',
            struct.pack('>I', 4097),
            struct.pack('>I', 0xFFFFFFFF),
            struct.pack('>I', 0),
            struct.pack('>I', 2) + b'[]',
            struct.pack('>I', 4000) + b'[' * 4000,
            os.urandom(4000),
            b'\x00\x00\x00\x30{"ima',
            b'',
        ):
            raw = self.guest.connection()
            raw.connection.sendall(sent)
            raw.connection.shutdown(socket.SHUT_WR)
            self.assert_left_without_a_word(raw)

    def test_another_version_is_answered_with_ours(self):
        raw = self.guest.connection()
        raw.send({'imago': 2, 'nonce': os.urandom(32).hex()})
        self.assertEqual(raw.receive(), {'imago': 1, 'error': 'version', 'versions': [1]})
        self.assert_left_without_a_word(raw)

    def test_fault_22_slow_ones_keep_nobody_out_very_many_are_closed_at_once_and_all_are_given_up(self):
        slow = [self.connection() for _ in range(8)]
        slow[0].connection.sendall(b'\x00')
        link = self.guest.attach()
        self.assertEqual(link.value('kept'), '1')
        link.close()
        slow += [self.connection() for _ in range(192)]
        for raw in slow:
            self.assertTrue(raw.is_closed())
        self.assertEqual(self.guest.attach().value('kept'), '1')

    def connection(self):
        while True:
            try:
                return self.guest.connection(self.said['address'])
            except BlockingIOError:
                # More wait already than the system keeps.
                time.sleep(0.01)

    @unittest.skipUnless(sys.platform.startswith('linux'), 'reads /proc')
    def test_fault_22_nothing_is_left_of_strangers(self):
        before = settled(self.guest)
        for _ in range(30):
            raw = self.guest.connection()
            raw.connection.sendall(b'garbage')
            raw.connection.shutdown(socket.SHUT_WR)
            self.assertTrue(raw.is_closed())
        until(lambda: threads_and_descriptors(self.guest) == before)


class OneAtATime(ProgramCase):
    def setUp(self):
        self.guest = self.program(PLAIN)

    def test_a_second_daemon_is_refused_while_the_first_one_answers(self):
        first = self.guest.attach()
        with self.assertRaises(Refused) as caught:
            # A daemon answers pings from whoever it is linked to; this one does by its own hand.
            self.attach_while_answering(first)
        self.assertEqual(caught.exception.args[0]['code'], 'occupied')
        self.assertIn('app', caught.exception.args[0]['message'])
        self.assertEqual(first.value('kept'), '1')

    def test_fault_15_a_half_open_link_is_dropped_for_a_daemon_that_is_there(self):
        first = self.guest.attach()
        call = first.start('import time; time.sleep(3); kept += 1; kept', call='c-1')
        second = self.guest.attach()
        self.assertTrue(first.ended.wait(WAIT))
        again = second.call('recall', call='c-1').answer()
        self.assertEqual(again['values'][0]['repr']['text'], '2')
        self.assertTrue(call.answers.empty())
        self.assertEqual(second.value('kept'), '2')

    def test_two_that_come_at_once_are_not_both_let_in(self):
        raws = [self.guest.connection() for _ in range(2)]
        secret = self.guest.announcement()['secret']
        hello = open_kernel(raws[0], secret)
        self.assertEqual(hello['role'], 'kernel')
        with self.assertRaises((Refused, EOFError, OSError)):
            # The first one is still to be welcomed, and this one's time is over before it is not.
            open_kernel(raws[1], secret)

    def attach_while_answering(self, first):
        import threading

        def answer():
            ping = first.asked.get(timeout=WAIT)
            first.send({'type': 'pong', 'n': ping['n']})

        answering = threading.Thread(target=answer)
        answering.start()
        try:
            self.guest.attach()
        finally:
            answering.join(WAIT)


class Descriptors(ProgramCase):
    @unittest.skipUnless(sys.platform.startswith('linux'), 'reads /proc')
    def test_fault_13_a_program_without_descriptors_left_neither_spins_nor_stops_listening(self):
        guest = self.program(
            'import imago, os, resource, sys\n'
            'imago.listen()\n'
            'resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n'
            'taken = []\n'
            'try:\n'
            '    while True: taken.append(os.open(os.devnull, os.O_RDONLY))\n'
            'except OSError: pass\n'
            'print("full", flush=True)\n'
            'sys.stdin.readline()\n'
            'for one in taken: os.close(one)\n'
            'wait_for_end()'
        )
        said = guest.announcement()
        guest.until_printed('full')
        raw = guest.connection(said['address'])
        time.sleep(0.3)
        before = processor_ticks(guest)
        time.sleep(0.5)
        self.assertLess(processor_ticks(guest) - before, 10)
        guest.process.stdin.write(b'\n')
        guest.process.stdin.flush()
        self.assertEqual(open_kernel(raw, said['secret'])['role'], 'kernel')


def threads_and_descriptors(program):
    """How many the process has, as the system counts them."""
    process = '/proc/%d' % program.process.pid
    return len(os.listdir(process + '/task')), len(os.listdir(process + '/fd'))


def settled(program):
    """The same, once the last link has been let go of."""
    counts = []

    def is_settled():
        counts.append(threads_and_descriptors(program))
        return len(counts) > 60 and len(set(counts[-60:])) == 1

    until(is_settled)
    return counts[-1]


def processor_ticks(program):
    with open('/proc/%d/stat' % program.process.pid) as file:
        fields = file.read().rpartition(')')[2].split()
    return int(fields[11]) + int(fields[12])
