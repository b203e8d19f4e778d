import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from tests.daemon import Kernel, KernelCase, LONG, until

LOOP = 'print("on")\nwhile True: len("")'
# A plain `while True` would not do here: some versions of CPython raise an interrupt at its jump outside of `try`.
CATCHING = 'print("on")\ntry:\n    for i in range(10**12): n = i\nexcept KeyboardInterrupt: '



class Interrupting(KernelCase):
    def running(self, source):
        call = self.link.start(source)
        call.until_printed('on')
        return call

    def assert_alive(self):
        self.assertEqual(self.link.value('"alive"'), "'alive'")

    def test_cancel_stops_a_loop_and_what_it_did_is_done(self):
        call = self.running('done = 1\n' + LOOP)
        call.cancel()
        outcome = call.answer()
        self.assertEqual(outcome['type'], 'interrupted')
        self.assertEqual(outcome['exception']['type']['name'], 'KeyboardInterrupt')
        self.assertEqual(self.link.value('done'), '1')

    def test_interrupt_reports_what_was_seen(self):
        call = self.running(LOOP)
        report = self.link.call('interrupt', call=call.name).answer()
        self.assertEqual(report['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_sleeping_reading_and_waiting_code_is_stopped(self):
        for wait in ('time.sleep(3600)', 'os.read(os.pipe()[0], 1)', 'threading.Event().wait()', 'queue.Queue().get()'):
            call = self.running('import os, queue, threading, time\nprint("on")\n' + wait)
            self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped', wait)
            self.assertEqual(call.answer()['type'], 'interrupted')

    def test_fault_4_code_that_swallows_one_interrupt_is_stopped_by_the_next(self):
        call = self.running(CATCHING + 'print("caught")\nwhile True: len("")')
        report = self.link.call('interrupt', call=call.name)
        call.until_printed('caught')
        self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
        self.assertEqual(report.answer()['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_fault_4_an_interrupt_that_was_swallowed_is_repeated(self):
        call = self.running(CATCHING + 'caught = 1\nwhile True: len("")')
        self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.assertEqual(self.link.value('caught'), '1')

    def test_code_that_ends_well_in_spite_of_an_interrupt_is_done(self):
        call = self.running(CATCHING + 'pass\n"well"')
        report = self.link.call('interrupt', call=call.name).answer()
        self.assertEqual(report['outcome'], 'not_running')
        self.assertEqual(call.answer()['values'][0]['repr']['text'], "'well'")

    def test_an_error_raised_because_of_an_interrupt_counts_as_interrupted(self):
        call = self.running(CATCHING + 'raise ValueError("aborted")')
        call.cancel()
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_a_keyboard_interrupt_of_the_users_own_is_an_exception_like_others(self):
        self.assertEqual(self.raised('raise KeyboardInterrupt')['type']['name'], 'KeyboardInterrupt')

    def test_an_unknown_or_ended_call_is_not_running(self):
        self.assertEqual(self.link.call('interrupt', call='never').answer()['outcome'], 'not_running')
        call = self.link.start('1')
        call.answer()
        self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'not_running')

    def test_a_call_that_waits_is_withdrawn_and_never_runs(self):
        first = self.running(LOOP)
        second = self.link.start('ran = True')
        third = self.link.start('ran_too = True')
        report = self.link.call('interrupt', call=second.name).answer()
        self.assertEqual(report['outcome'], 'withdrawn')
        self.assertEqual(second.answer(), {'type': 'withdrawn'})
        third.cancel()
        self.assertEqual(third.answer(), {'type': 'withdrawn'})
        first.cancel()
        first.answer()
        self.assertEqual(self.link.value('[n for n in ("ran", "ran_too") if n in globals()]'), '[]')

    def test_a_printer_that_never_returns_is_stopped_by_its_deadline_and_the_value_is_not_lost(self):
        self.link.evaluate('class Slow:\n    def __repr__(self):\n        while True: len("")')
        shown = self.link.evaluate('Slow()')['values'][0]['repr']
        self.assertIn('error', shown)
        self.assert_alive()

    def test_a_printer_can_be_interrupted(self):
        self.link.evaluate('class Loud:\n    def __repr__(self):\n        print("on")\n        while True: len("")')
        call = self.running('Loud()')
        call.cancel()
        self.assertIn(call.answer()['type'], ('interrupted', 'done'))
        self.assert_alive()

    def test_a_deadline_that_is_swallowed_comes_again(self):
        self.link.evaluate(
            'class Deaf:\n    def __repr__(self):\n        for n in range(3):\n            try:\n'
            '                while True: len("")\n            except BaseException: pass\n        return "deaf"'
        )
        self.link.evaluate('Deaf()')
        self.assert_alive()

    def test_fault_5_an_interrupt_at_completion_never_hits_the_next_call(self):
        chance = random.Random(7)
        for _ in range(400 if LONG else 50):
            first = self.link.start('n = 0\nfor i in range(%d): n += i' % chance.randrange(1, 4000))
            second = self.link.start('m = 0\nfor i in range(2000): m += i\nm')
            for _ in range(chance.randrange(0, 300)):
                pass
            first.cancel()
            self.assertIn(first.answer()['type'], ('done', 'interrupted', 'withdrawn'))
            self.assertEqual(second.answer()['type'], 'done')

    def test_fault_30_a_cancel_at_completion_gives_one_answer(self):
        for _ in range(200 if LONG else 40):
            call = self.link.start('1')
            call.cancel()
            call.answer()
        self.assert_alive()
        ids = [message['id'] for message in self.link.log if message['type'] in ('return', 'fail')]
        self.assertEqual(len(ids), len(set(ids)))

    def test_a_flood_can_be_interrupted_and_nothing_is_torn(self):
        for _ in range(20 if LONG else 3):
            call = self.link.start('import time\nprint("on")\nwhile True: print("line of text")')
            call.until_printed('on')
            call.cancel()
            self.assertEqual(call.answer()['type'], 'interrupted')
        self.assert_alive()

    def test_status_tells_what_runs_and_what_waits(self):
        self.assertEqual(self.link.call('status').answer(), {'running': None, 'queued': 0})
        call = self.running(LOOP)
        waiting = self.link.start('1')
        status = self.link.call('status').answer()
        self.assertEqual((status['running']['call'], status['queued']), (call.name, 1))
        self.assertGreater(status['running']['elapsed_ms'], 0)
        call.cancel()
        call.answer()
        waiting.answer()


class Races(unittest.TestCase):
    """In a process without a link, so that there can be many: see ``races.py``."""

    def race(self, kind, rounds):
        rounds = rounds if LONG else rounds // 10
        command = [sys.executable, '-m', 'tests.races', kind, str(rounds)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        ends = json.loads(done.stdout)
        self.assertEqual(sum(ends.values()), rounds)
        # Else nothing was raced: they came too early or too late, all of them.
        self.assertGreater(min(ends['done'], ends['interrupted']), 0, ends)

    def test_fault_5_of_many_interrupts_at_completion_none_hits_the_next_call(self):
        self.race('main', 10_000)

    def test_fault_5_none_does_on_a_thread_of_an_attached_program(self):
        self.race('thread', 2_000)

    def test_fault_5_none_does_on_the_event_loop_of_an_attached_program(self):
        self.race('loop', 2_000)
        self.race('await', 2_000)


class Signals(KernelCase):
    def kill(self):
        os.kill(self.kernel.process.pid, signal.SIGINT)

    def test_fault_3_c_code_that_looks_at_signals_is_stopped_by_the_daemons_sigint(self):
        call = self.link.start('import re\nprint("on", flush=True)\nre.match("(a+)+$", "a" * 40 + "b")')
        call.until_printed('on')
        report = self.link.call('interrupt', call=call.name)
        time.sleep(0.05)
        self.kill()
        self.assertIn(report.answer()['outcome'], ('stopped', 'still_running'))
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_fault_5_a_late_sigint_of_the_daemons_does_not_hit_another_call(self):
        for _ in range(4):
            first = self.link.start('1')
            self.link.call('interrupt', call=first.name).answer()
            first.answer()
            second = self.link.start('m = 0\nfor i in range(200000): m += i\n"well"')
            self.kill()
            self.assertEqual(second.answer()['values'][0]['repr']['text'], "'well'")

    def test_a_sigint_while_nothing_runs_has_no_effect(self):
        for _ in range(5):
            self.kill()
        self.assertEqual(self.link.value('1'), '1')

    def test_a_sigint_that_the_program_sends_itself_has_its_usual_meaning(self):
        with Kernel() as kernel:
            source = 'import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(20)'
            outcome = kernel.link.evaluate(source)
            self.assertEqual(outcome['type'], 'raised')
            self.assertEqual(outcome['exception']['type']['name'], 'KeyboardInterrupt')

    def test_a_sigint_from_outside_ends_a_script_and_not_its_image(self):
        with Kernel(script='import time\nx = 1\nprint("on", flush=True)\nwhile True: time.sleep(0.01)') as kernel:
            kernel.link.notes.get(timeout=20)
            os.kill(kernel.process.pid, signal.SIGINT)
            told = ''
            while 'KeyboardInterrupt' not in told:
                told += kernel.link.notes.get(timeout=20)['params'].get('text', '')
            self.assertEqual(kernel.link.value('x'), '1')

    def test_a_handler_of_the_programs_own_does_not_keep_calls_from_being_interrupted(self):
        with Kernel() as kernel:
            kernel.link.evaluate('import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)')
            call = kernel.link.start(LOOP)
            call.until_printed('on')
            self.assertEqual(kernel.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
            self.assertEqual(call.answer()['type'], 'interrupted')
            self.assertEqual(kernel.link.value('1'), '1')


class Beside(unittest.TestCase):
    """Evaluations that run beside a script which holds the main thread."""

    def test_they_are_interrupted_as_well_and_the_script_is_not(self):
        with Kernel(script='import time\nbeats = 0\nwhile True:\n    beats += 1\n    time.sleep(0.001)\n') as kernel:
            link = kernel.link
            chance = random.Random(3)
            for _ in range(20 if LONG else 4):
                call = link.start(LOOP)
                call.until_printed('on')
                call.cancel()
                self.assertEqual(call.answer()['type'], 'interrupted')
            for _ in range(80 if LONG else 20):
                first = link.start('n = 0\nfor i in range(%d): n += i' % chance.randrange(1, 4000))
                second = link.start('print("x")\nm = 0\nfor i in range(2000): m += i\nm')
                first.cancel()
                first.answer()
                self.assertEqual(second.answer()['type'], 'done')
            before = int(link.value('beats'))
            until(lambda: int(link.value('beats')) > before)

    def test_one_that_was_caught_there_is_repeated(self):
        with Kernel(script='import time\nwhile True: time.sleep(0.01)') as kernel:
            for _ in range(2):
                call = kernel.link.start(CATCHING + 'caught = 1\nfor i in range(10**12): n = i')
                call.until_printed('on')
                self.assertEqual(kernel.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
                self.assertEqual(call.answer()['type'], 'interrupted')
                self.assertEqual(kernel.link.value('caught'), '1')

    def test_a_blocking_call_there_is_reported_as_going_on(self):
        with Kernel(script='import time\nwhile True: time.sleep(0.01)') as kernel:
            gate = os.path.join(kernel.folder, 'gate')
            os.mkfifo(gate)
            for _ in range(10):
                call = kernel.link.start('import os\nprint("on", flush=True)\nos.open("gate", os.O_RDONLY)\nlater = 1')
                call.until_printed('on')
                report = kernel.link.call('interrupt', call=call.name).answer()
                if report['outcome'] != 'stopped':
                    break
                # It was hit before it came to the call.
                call.answer()
            self.assertEqual(report['outcome'], 'still_running')
            self.assertIn('takes effect when that call returns', report['message'])
            self.assertNotIn('never signals', report['message'])
            # Or it had still not come to the call, and never does.
            until(lambda: opens(gate) or not call.answers.empty())
            self.assertEqual(call.answer()['type'], 'interrupted')
            self.assertEqual(kernel.link.value('1'), '1')


def opens(gate):
    """Whether somebody waits at the pipe, who goes on then. The plain way to open it would wait for one for ever."""
    try:
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True
