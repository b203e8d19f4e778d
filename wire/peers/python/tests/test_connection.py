"""The connection to the daemon: how it is made and lost, and calls that are known by their names across links."""

import os
import subprocess
import sys
import unittest

from imago.service import ABILITIES
from tests.daemon import MAIN, WAIT, Kernel, KernelCase, until


class Connecting(unittest.TestCase):
    def test_whoever_is_not_the_daemon_is_left_and_the_next_one_that_is_taken(self):
        with Kernel() as kernel:
            kernel.link.evaluate('kept = 1')
            kernel.link.close()
            # Of a handshake that fails nothing is told: see test_link.
            for sent in (b'POST / HTTP/1.1\r\nHost: localhost\r\n\r\n', b'\x00\x00\x00\x30{"ima'):
                raw = kernel.connection()
                raw.receive()
                raw.connection.sendall(sent)
                raw.connection.shutdown(1)
                self.assertTrue(raw.is_closed())
            kernel.link = kernel.accept()
            self.assertEqual(kernel.link.value('kept'), '1')

    def test_a_refused_kernel_ends_and_says_why(self):
        kernel = Kernel()
        self.addCleanup(kernel.__exit__)
        raw = kernel.connection()
        raw.shake_hands(kernel.secret)
        raw.send({'refused': {'code': 'VERSION_MISMATCH', 'message': 'too old'}})
        kernel.wait()
        self.assertIn('too old', kernel.said())

    def test_loopback_tcp_serves_as_well(self):
        with Kernel(address='tcp') as kernel:
            self.assertEqual(kernel.link.value('1+2'), '3')

    def test_standard_input_that_is_no_invitation_ends_with_one_line(self):
        for line in (b'', b'hello\n', b'{"address": "unix:/x"}\n'):
            done = subprocess.run([sys.executable, MAIN], input=line, capture_output=True, timeout=WAIT)
            self.assertEqual((done.returncode, done.stderr.count(b'\n')), (1, 1), done.stderr)
            self.assertIn(b'imago', done.stderr)


class Connected(KernelCase):
    def reconnect(self, before=lambda: None):
        self.link = type(self).link = self.kernel.reconnect(before)
        return self.link

    def test_the_hello_says_who_the_kernel_is(self):
        hello = self.link.hello
        self.assertEqual(hello['role'], 'kernel')
        self.assertEqual((hello['protocol'], hello['language'], hello['pid']), (1, 'python', self.kernel.process.pid))
        self.assertRegex(hello['implementation'], r'^CPython 3\.\d+\.\d+')
        self.assertRegex(hello['epoch'], '^[0-9a-f]{8}$')
        self.assertIn('json', hello['encodings'])
        self.assertEqual(hello['abilities'], [*ABILITIES, 'hold'])

    def test_fault_19_a_daemon_that_breaks_the_link_or_dies_finds_the_same_image_when_it_comes_back(self):
        self.link.evaluate('kept = 1')
        epoch = self.link.hello['epoch']
        for sent, code in ((b'\x00\x00\x00\x02\xff\xff', 'FRAME_MALFORMED'), (b'\x00\x00\x01\x00{"type":"call"', None)):
            self.link.raw.connection.sendall(sent)
            if code is not None:
                self.assertTrue(self.link.ended.wait(WAIT))
                self.assertEqual(self.link.bye['code'], code)
            self.reconnect()
            self.assertEqual((self.link.hello['epoch'], self.link.value('kept')), (epoch, '1'))

    def test_a_ping_is_answered_while_code_runs(self):
        call = self.link.start('print("runs", flush=True)\nwhile True: pass')
        call.until_printed('runs')
        self.link.send({'type': 'ping', 'n': 7})
        self.assertEqual(self.link.pongs.get(timeout=WAIT), {'type': 'pong', 'n': 7})
        call.cancel()
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_no_thread_is_left_over_from_broken_links(self):
        self.link.evaluate('print(1)')
        names = 'import threading; sorted(t.name for t in threading.enumerate())'
        before = self.link.value(names)
        for _ in range(3):
            self.reconnect()
        self.assertEqual(self.link.value(names), before)

    def test_fault_29_a_call_that_is_known_is_not_run_again(self):
        self.link.evaluate('runs = 0')
        first = self.link.start('runs += 1\nruns', call='the same')
        second = self.link.start('runs += 1\nruns', call='the same')
        self.assertEqual(first.answer(), second.answer())
        third = self.link.start('something else', call='the same')
        self.assertEqual(third.answer(), self.link.call('recall', call='the same').answer())
        self.reconnect()
        self.assertEqual(self.link.call('recall', call='the same').answer()['values'][0]['repr']['text'], '1')
        self.assertEqual(self.link.value('runs'), '1')

    def test_fault_29_a_call_that_runs_is_joined_with_its_events_from_then_on(self):
        source = 'import time\nprint("one")\nwhile True: time.sleep(0.001)'
        first = self.link.start(source, call='joined')
        first.until_printed('one')
        second = self.link.call('recall', call='joined')
        self.link.call('status').answer()
        self.assertEqual(second.output(), '')
        first.cancel()
        self.assertEqual(first.answer(), second.answer())

    def test_the_last_256_calls_are_remembered(self):
        for n in range(260):
            self.link.start('%d' % n, call='n%d' % n).answer()
        self.assertEqual(self.link.call('recall', call='n259').answer()['values'][0]['repr']['text'], '259')
        for name in ('n0', 'nobody'):
            self.assertEqual(self.link.call('recall', call=name).failure()['code'], 'unknown_call')

    def test_more_calls_than_may_wait_are_refused_as_busy(self):
        first = self.link.start('print("on")\nwhile True: pass')
        first.until_printed('on')
        calls = [self.link.start('1') for _ in range(1030)]
        self.assertEqual([call.failure()['code'] for call in calls[1024:]], ['busy'] * 6)
        first.cancel()
        for call in calls[:1024]:
            self.assertEqual(call.answer()['type'], 'done')

    def test_fault_29_what_ran_and_what_waited_when_the_link_broke_runs_once_and_is_found_again_with_its_output(self):
        self.link.evaluate('import os, time; ran = []')
        waits = 'print("before")\nwhile not os.path.exists("go"): time.sleep(0.001)\nprint("between")\n"end"'
        self.link.start(waits, call='long').until_printed('before')
        self.link.start('ran.append(1)', call='waiting')
        self.link.call('status').answer()
        link = self.reconnect()
        open(os.path.join(self.kernel.folder, 'go'), 'w').close()
        until(lambda: link.call('status').answer()['running'] is None)
        again = link.call('recall', call='long')
        self.assertEqual((again.answer()['values'][0]['repr']['text'], again.output()), ("'end'", 'between\n'))
        self.assertEqual(self.link.call('recall', call='waiting').answer()['type'], 'done')
        self.assertEqual(self.link.value('ran'), '[1]')

    def test_output_that_nobody_fetched_is_bounded(self):
        self.link.start('print("x" * 3000000)\nprint("done")', call='loud')
        again = self.reconnect().call('recall', call='loud')
        again.answer()
        self.assertLessEqual(len(again.output()), 1024 * 1024)

    def test_background_output_waits_for_a_daemon_that_is_away(self):
        self.link.evaluate(
            'import os, threading, time\ndef talk():\n    while not os.path.exists("away"): time.sleep(0.01)\n'
            '    print("while away")\n    open("talked", "w").close()\nthreading.Thread(target=talk).start()'
        )

        def away():
            self.kernel.put('away')
            until(lambda: self.kernel.has('talked'))

        self.assertEqual(self.reconnect(away).notes.get(timeout=WAIT)['params']['text'], 'while away\n')


class Chunks(unittest.TestCase):
    def test_large_answers_and_events_come_in_chunks_and_events_stay_before_the_answer(self):
        with Kernel(welcome={'chunk': 300}) as kernel:
            outcome = kernel.link.evaluate('"x" * 100000')
            self.assertGreater(len(outcome['values'][0]['repr']['text']), 1000)
            self.assertTrue(any(message['type'] == 'chunk' for message in kernel.link.log))
            for count in (1, 10, 1000, 5000):
                call = kernel.link.start('for n in range(%d): print(n)\n"z" * 20000' % count)
                call.answer()
                self.assertEqual(call.output(), ''.join('%d\n' % n for n in range(count)))
