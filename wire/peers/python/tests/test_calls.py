import unittest

from tests.daemon import WAIT, Kernel, KernelCase, until


class AtMostOnce(KernelCase):
    def test_fault_29_a_call_that_is_known_is_not_run_again(self):
        self.link.evaluate('runs = 0')
        first = self.link.start('runs += 1\nruns', call='the same')
        second = self.link.start('runs += 1\nruns', call='the same')
        self.assertEqual(first.answer(), second.answer())
        third = self.link.start('something else', call='the same')
        self.assertEqual(third.answer(), self.link.call('recall', call='the same').answer())
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

    def test_a_call_that_is_not_known_cannot_be_recalled(self):
        self.assertEqual(self.link.call('recall', call='nobody').failure()['code'], 'unknown_call')

    def test_the_last_256_calls_are_remembered(self):
        for n in range(260):
            self.link.start('%d' % n, call='n%d' % n).answer()
        self.assertEqual(self.link.call('recall', call='n259').answer()['values'][0]['repr']['text'], '259')
        self.assertEqual(self.link.call('recall', call='n0').failure()['code'], 'unknown_call')

    def test_more_calls_than_may_wait_are_refused_as_busy(self):
        first = self.link.start('print("on")\nwhile True: pass')
        first.until_printed('on')
        calls = [self.link.start('1') for _ in range(1030)]
        codes = [call.failure()['code'] for call in calls[1024:]]
        self.assertEqual(codes, ['busy'] * 6)
        first.cancel()
        for call in calls[:1024]:
            self.assertEqual(call.answer()['type'], 'done')


class Reconnecting(unittest.TestCase):
    def setUp(self):
        self.kernel = Kernel().__enter__()
        self.addCleanup(self.kernel.__exit__)

    def reconnect(self):
        self.kernel.link.close()
        self.kernel.link = self.kernel.accept()
        return self.kernel.link

    def test_fault_29_what_runs_goes_on_and_is_found_again_with_its_output(self):
        call = self.kernel.link.start(
            'import os, time\nprint("before")\nwhile not os.path.exists(%r): time.sleep(0.001)\nprint("between")\n"end"'
            % (self.kernel.folder + '/go'),
            call='long',
        )
        call.until_printed('before')
        link = self.reconnect()
        open(self.kernel.folder + '/go', 'w').close()
        until(lambda: link.call('status').answer()['running'] is None)
        again = link.call('recall', call='long')
        self.assertEqual(again.answer()['values'][0]['repr']['text'], "'end'")
        self.assertEqual(again.output(), 'between\n')

    def test_fault_29_a_result_whose_answer_was_lost_is_remembered(self):
        self.kernel.link.start('kept = 5\nkept', call='lost').answer()
        link = self.reconnect()
        self.assertEqual(link.call('recall', call='lost').answer()['values'][0]['repr']['text'], '5')

    def test_what_waited_when_the_link_broke_still_runs_once(self):
        link = self.kernel.link
        link.evaluate('import threading; gate = threading.Event(); ran = []')
        holding = link.start('print("on")\ngate.wait()', call='holding')
        holding.until_printed('on')
        link.start('ran.append(1)', call='waiting')
        link.call('status').answer()
        link = self.reconnect()
        link.call('interrupt', call='holding').answer()
        self.assertEqual(link.call('recall', call='waiting').answer()['type'], 'done')
        self.assertEqual(link.value('ran'), '[1]')

    def test_output_that_nobody_fetched_is_bounded(self):
        self.kernel.link.start('print("x" * 3000000)\nprint("done")', call='loud')
        self.kernel.link.close()
        link = self.kernel.link = self.kernel.accept()
        again = link.call('recall', call='loud')
        again.answer()
        self.assertLessEqual(len(again.output()), 1024 * 1024)
