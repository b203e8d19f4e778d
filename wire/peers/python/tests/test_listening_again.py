"""A daemon that goes away and comes back, and what the program pays while nobody asks."""

import os
import sys
import time
import unittest

from tests.daemon import WAIT, until
from tests.guests import ProgramCase
from tests.test_listening_trust import settled, threads_and_descriptors

#: The descriptors of an idle program: its three, and the one that it listens with.
IDLE = 4
PLAIN = 'import imago\nkept = 0\nimago.listen()\nwait_for_end()'


class Again(ProgramCase):
    def setUp(self):
        self.guest = self.program(PLAIN)

    def test_a_daemon_that_comes_back_finds_the_same_epoch_its_handles_and_its_calls(self):
        link = self.guest.attach()
        handle = link.evaluate('list(range(300))')['values'][0]['handle']
        link.start('kept += 1', call='before').answer()
        link.close()
        again = self.guest.attach()
        self.assertEqual(again.hello['epoch'], link.hello['epoch'])
        piece = again.call('more', handle=handle, **{'from': 200}, count=1, deadline_ms=5000).answer()
        self.assertEqual(piece['value']['items'], ['200'])
        self.assertEqual(again.call('recall', call='before').answer()['type'], 'done')
        again.start('kept += 1', call='before').answer()
        self.assertEqual(again.value('kept'), '1')

    def test_fault_7_a_call_under_way_goes_on_without_a_daemon_and_is_recalled_having_run_once(self):
        link = self.guest.attach()
        source = (
            'import time\nprint("before")\nkept += 1\n'
            'try:\n    while True: time.sleep(0.01)\nexcept KeyboardInterrupt: pass\nprint("after"); kept'
        )
        link.start(source, call='c-7').until_printed('before')
        link.close()
        again = self.guest.attach()
        recalled = again.call('recall', call='c-7')
        joined = again.start(source, call='c-7')
        self.assertEqual(again.call('status').answer()['running']['call'], 'c-7')
        again.call('interrupt', call='c-7').answer()
        for call in (recalled, joined):
            self.assertEqual(call.answer()['values'][0]['repr']['text'], '1')
            self.assertEqual(call.output(), 'after\n')
        self.assertEqual(again.value('kept'), '1')

    def test_what_is_printed_while_no_daemon_is_there_reaches_the_next_one(self):
        link = self.guest.attach()
        call = link.start('import time\nprint("one")\ntime.sleep(0.5)\nprint("two")\n1', call='c-8')
        call.until_printed('one')
        link.close()
        recalled = self.guest.attach().call('recall', call='c-8')
        self.assertEqual(recalled.answer()['values'][0]['repr']['text'], '1')
        self.assertEqual(recalled.output(), 'two\n')
        self.assertEqual(self.guest.said(), '\n')

    def test_a_daemon_that_dies_inside_a_frame_is_not_noticed_by_the_program(self):
        link = self.guest.attach()
        link.raw.connection.sendall(b'\x00\x00\x01\x00{"type":"call"')
        link.close()
        self.assertEqual(self.guest.attach().value('kept'), '0')
        self.assertEqual(self.guest.end(), 0)
        self.assertEqual(self.guest.said(), '\n')

    @unittest.skipUnless(sys.platform.startswith('linux'), 'reads /proc')
    def test_many_links_leave_no_thread_and_no_descriptor_behind(self):
        def round_trip():
            link = self.guest.attach()
            link.call('inspect', expr='kept', evaluate=False, deadline_ms=5000).answer()
            self.assertEqual(link.value('kept'), '0')
            link.close()

        for _ in range(3):
            round_trip()
        before = settled(self.guest)
        self.assertEqual(before[1], IDLE)
        for _ in range(40):
            round_trip()
        until(lambda: threads_and_descriptors(self.guest) == before)

    @unittest.skipUnless(sys.platform.startswith('linux'), 'reads /proc')
    def test_nothing_wakes_up_while_the_program_is_idle_and_attached(self):
        link = self.guest.attach()
        call = link.start('print("x" * 100000)\nkept')
        call.answer()
        link.call('globals', modules=False, limit=10, deadline_ms=5000).answer()
        link.evaluate('import asyncio; await asyncio.sleep(0)')
        until(lambda: is_still(self.guest))
        before = switches(self.guest)
        time.sleep(2)
        self.assertEqual(switches(self.guest), before)

    @unittest.skipUnless(sys.platform.startswith('linux'), 'reads /proc')
    def test_nothing_wakes_up_while_nobody_is_attached(self):
        self.guest.announcement()
        until(lambda: is_still(self.guest))
        before = switches(self.guest)
        time.sleep(2)
        self.assertEqual(switches(self.guest), before)

    @unittest.skipUnless(sys.platform.startswith('linux'), 'reads /proc')
    def test_listening_and_closing_leaves_no_thread_and_no_descriptor_behind(self):
        guest = self.program(
            'import imago, sys\n'
            'for line in sys.stdin:\n'
            '    listener = imago.listen()\n'
            '    print("listens", flush=True)\n'
            '    sys.stdin.readline()\n'
            '    listener.close()\n'
            '    print("closed", flush=True)\n'
        )
        before = settled(guest)
        for count in range(1, 4):
            guest.process.stdin.write(b'\n')
            guest.process.stdin.flush()
            until(lambda: guest.printed[1].count(b'listens') == count)
            link = guest.attach(guest.announcements()[0][1])
            link.call('globals', modules=False, limit=10, deadline_ms=5000).answer()
            self.assertEqual(link.value('1+1'), '2')
            guest.process.stdin.write(b'\n')
            guest.process.stdin.flush()
            until(lambda: guest.printed[1].count(b'closed') == count)
            self.assertTrue(link.ended.wait(WAIT))
            until(lambda: threads_and_descriptors(guest) == before)


def switches(program):
    """How often each thread of the process has gone to sleep so far, by its number."""
    tasks = '/proc/%d/task' % program.process.pid
    counts = {}
    for task in os.listdir(tasks):
        with open('%s/%s/status' % (tasks, task)) as file:
            (line,) = [line for line in file if line.startswith('voluntary_ctxt_switches')]
            counts[task] = int(line.split()[1])
    return counts


def is_still(program):
    before = switches(program)
    time.sleep(0.3)
    return switches(program) == before
