"""Interrupts: what they hit, what they never hit, and what is reported of them."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from imago.interrupts import lasted
from tests.daemon import LONG, Kernel, KernelCase, until


# interrupting

#: The steps of the ladder, in less time, for tests of what is not stopped. What is to be stopped has all of it: a
#: machine under load may take a while.
QUICK = 'import sys\nladder = sys.modules["imago.interrupts"]\nladder.REPEAT, ladder.TERMINATE, ladder.GIVE_UP = 1.0, 1.5, 3.0'
LOOP = 'print("on")\nwhile True: len("")'
#: Goes on for as long, and leaves the processor to others: for what is only hit after a while.
NAP = 'import time\nwhile True: time.sleep(0.01)'
# A plain `while True` would not do here: some versions of CPython raise an interrupt at its jump outside of `try`.
# It prints where it catches already: the interrupt may come before it has gone on.
CATCHING = 'try:\n    print("on")\n    for i in range(10**12): n = i\nexcept KeyboardInterrupt: '


class InterruptCase(KernelCase):
    ladder = ''

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.link.evaluate(cls.ladder)

    def running(self, source, **more):
        call = self.link.start(source, **more)
        call.until_printed('on')
        return call

    def interrupt(self, call):
        return self.link.call('interrupt', call=call.name).answer()

    def assert_stopped(self, call):
        self.assertEqual(self.interrupt(call)['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')

    def assert_alive(self):
        self.assertEqual(self.link.value('"alive"'), "'alive'")


class Interrupting(InterruptCase):

    def test_cancel_stops_a_loop_and_what_it_did_is_done(self):
        call = self.running('done = 1\n' + LOOP)
        call.cancel()
        outcome = call.answer()
        self.assertEqual((outcome['type'], outcome['exception']['type']['name']), ('interrupted', 'KeyboardInterrupt'))
        self.assertEqual(self.link.value('done'), '1')

    def test_what_loops_sleeps_reads_or_waits_is_stopped(self):
        for source in (
            'while True: pass',
            'time.sleep(3600)',
            'os.read(os.pipe()[0], 1)',
            'threading.Event().wait()',
            'queue.Queue().get()',
            'near, far = socket.socketpair()\nnear.recv(1)',
            'subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"])',
            'class A:\n    def __eq__(self, other):\n        while True: pass\nA() == 1',
        ):
            with self.subTest(source):
                imports = 'import os, queue, socket, subprocess, sys, threading, time\n'
                self.assert_stopped(self.running(imports + 'print("on", flush=True)\n' + source))
                self.assert_alive()

    def test_fault_4_code_that_swallows_one_interrupt_is_stopped_by_the_next(self):
        call = self.running(CATCHING + 'print("caught")\nwhile True: len("")')
        report = self.link.call('interrupt', call=call.name)
        call.until_printed('caught')
        self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
        self.assertEqual(report.answer()['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_fault_4_an_interrupt_that_was_swallowed_is_repeated(self):
        self.assert_stopped(self.running(CATCHING + 'caught = 1\n' + NAP))
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
            'import time\nclass Deaf:\n    def __repr__(self):\n        for n in range(3):\n            try:\n'
            '                while True: time.sleep(0.01)\n            except BaseException: pass\n        return "deaf"'
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
            call = self.running('import time\nprint("on")\nwhile True: print("line of text")')
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


class Signals(InterruptCase):
    def kill(self):
        os.kill(self.kernel.process.pid, signal.SIGINT)

    def test_fault_3_c_code_that_looks_at_signals_is_stopped_by_the_daemons_sigint(self):
        call = self.running('import re\nprint("on", flush=True)\nre.match("(a+)+$", "a" * 40 + "b")')
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


class Beside(InterruptCase):
    """Evaluations that run beside a script which holds the main thread."""

    ladder = QUICK
    settings = {'script': 'import time\nbeats = 0\nwhile True:\n    beats += 1\n    time.sleep(0.001)\n'}

    def test_they_are_interrupted_as_well_and_the_script_is_not(self):
        chance = random.Random(3)
        for _ in range(20 if LONG else 4):
            call = self.running(LOOP)
            call.cancel()
            self.assertEqual(call.answer()['type'], 'interrupted')
        for _ in range(80 if LONG else 20):
            first = self.link.start('n = 0\nfor i in range(%d): n += i' % chance.randrange(1, 4000))
            second = self.link.start('print("x")\nm = 0\nfor i in range(2000): m += i\nm')
            first.cancel()
            first.answer()
            self.assertEqual(second.answer()['type'], 'done')
        before = int(self.link.value('beats'))
        until(lambda: int(self.link.value('beats')) > before)

    def test_one_that_was_caught_there_is_repeated(self):
        for _ in range(2):
            self.assert_stopped(self.running(CATCHING + 'caught = 1\n' + NAP))
            self.assertEqual(self.link.value('caught'), '1')

    def test_a_blocking_call_there_is_reported_as_going_on(self):
        gate = os.path.join(self.kernel.folder, 'gate')
        os.mkfifo(gate)
        for _ in range(10):
            call = self.running('import os\nprint("on", flush=True)\nos.open("gate", os.O_RDONLY)\nlater = 1')
            report = self.interrupt(call)
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
        self.assert_alive()


def opens(gate):
    """Whether somebody waits at the pipe, who goes on then. The plain way to open it would wait for one for ever."""
    try:
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


# ladder

#: Catches every interrupt for as long as it is let run: the outer loop has those that hit the inner one between its
#: ``except`` and its ``try``.
DEAF = (
    'import os, time\nwhile not os.path.exists("hear"):\n    try:\n'
    '        while not os.path.exists("hear"):\n            try:\n                print("on")\n'
    '                while not os.path.exists("hear"): time.sleep(0.01)\n'
    '            except BaseException: pass\n    except BaseException: pass\n"heard"'
)


class Ladder(InterruptCase):
    ladder = QUICK

    def pid_in(self, name):
        """The process that has written its number into this file."""
        path = os.path.join(self.kernel.folder, name)
        until(lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        with open(path, encoding='utf-8') as file:
            return file.read().strip()

    def let_hear(self, call):
        """Lets ``DEAF`` come to its end."""
        path = os.path.join(self.kernel.folder, 'hear')
        open(path, 'w').close()
        self.assertEqual(call.answer()['values'][0]['repr']['text'], "'heard'")
        os.unlink(path)

    def is_alive(self, pid):
        try:
            with open('/proc/%s/stat' % pid, encoding='utf-8') as file:
                return file.read().rpartition(')')[2].split()[0] != 'Z'
        except OSError:
            return False

    def test_the_report_says_how_long_it_took_to_stop_apart_from_how_long_the_call_had_run(self):
        call = self.running('import time\ntime.sleep(1.2)\nprint("on", flush=True)\nwhile True: pass')
        message = self.interrupt(call)['message']
        self.assertRegex(message, r'^it was seen to stop, [\d.]+ m?s after it was asked to; it had run for [\d.]+ s$')
        ran = call.answer()['elapsed_ms'] / 1000
        self.assertTrue(message.endswith('it had run for %.1f s' % ran), (message, ran))

    def test_fault_3_c_code_that_waits_for_a_child_is_stopped_by_way_of_the_child(self):
        # While `system` waits, it has the whole process ignore SIGINT.
        call = self.running('import os\nprint("on", flush=True)\nos.system("echo $$ > child; exec sleep 600")\nlater = 1')
        pid = self.pid_in('child')
        self.assert_stopped(call)
        self.assertFalse(self.is_alive(pid))
        self.assertEqual(self.link.value('"later" in globals()'), 'False')

    def test_a_child_that_ignores_sigint_is_terminated(self):
        call = self.running(
            'import os\nprint("on", flush=True)\n'
            'os.system("trap \'\' INT; echo $$ > stubborn; while true; do sleep 0.1; done")'
        )
        pid = self.pid_in('stubborn')
        self.assert_stopped(call)
        self.assertFalse(self.is_alive(pid))

    def test_children_of_earlier_calls_and_in_sessions_of_their_own_are_left_alone(self):
        sleep = '[%r, "-c", "import time; time.sleep(600)"]' % sys.executable
        self.link.evaluate('import subprocess\nbefore = subprocess.Popen(%s)' % sleep)
        call = self.running(
            'mine = subprocess.Popen(%s)\napart = subprocess.Popen(%s, start_new_session=True)\n' % (sleep, sleep) + DEAF
        )
        report = self.interrupt(call)
        self.assertEqual(report['outcome'], 'still_running')
        self.let_hear(call)
        self.assertNotEqual(self.link.value('mine.wait(10)'), '0')
        self.assertEqual(self.link.value('(before.poll(), apart.poll())'), '(None, None)')
        self.link.evaluate('for one in (before, apart): one.kill(); one.wait()')

    def test_children_that_another_thread_started_meanwhile_are_left_alone(self):
        sleep = '[%r, "-c", "import time; time.sleep(600)"]' % sys.executable
        self.link.evaluate(
            'import subprocess, threading\ngo, done = threading.Event(), threading.Event()\n'
            'def start():\n    global others\n    go.wait()\n    others = subprocess.Popen(%s)\n    done.set()\n'
            'threading.Thread(target=start).start()' % sleep
        )
        call = self.running('own = subprocess.Popen(%s)\ngo.set(); done.wait()\n' % sleep + DEAF)
        self.assertEqual(self.interrupt(call)['outcome'], 'still_running')
        self.let_hear(call)
        self.assertEqual(self.link.value('others.poll()'), 'None')
        self.link.evaluate('for one in (own, others): one.kill(); one.wait()')

    def test_fault_4_code_that_swallows_every_interrupt_is_told_of_with_its_place_and_how_often_it_was_asked(self):
        call = self.running(DEAF, file='/app/deaf.py', line=10)
        report = self.interrupt(call)
        self.assertEqual((report['outcome'], report['offer']), ('still_running', 'restart'))
        self.assertRegex(report['message'], '/app/deaf.py:1[0-9] in <module>')
        self.assertIn('raised in it twice', report['message'])
        self.assertIn('raised in it 4 times', self.interrupt(call)['message'])
        self.let_hear(call)
        self.assertEqual(self.link.value('1'), '1')


class Lasting(unittest.TestCase):
    def test_it_is_said_as_exactly_as_it_matters(self):
        said = [lasted(seconds) for seconds in (0, 0.0004, 0.0854, 0.9996, 7.40455, 59.96, 185.2)]
        self.assertEqual(said, ['0 ms', '0 ms', '85 ms', '1.0 s', '7.4 s', '1 min 0 s', '3 min 5 s'])
