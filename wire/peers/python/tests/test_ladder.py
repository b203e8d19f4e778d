import os
import sys
import unittest

from imago.interrupts import lasted
from tests.daemon import Kernel, KernelCase, until

#: Catches every interrupt for as long as it is let run. A plain `while True` would not do: see test_interrupting.
DEAF = (
    'print("on")\nimport os, time\n'
    'while not os.path.exists("hear"):\n    try:\n        while not os.path.exists("hear"): time.sleep(0.01)\n'
    '    except BaseException: pass\n"heard"'
)


#: The same steps, in less time.
QUICK = 'import sys\nladder = sys.modules["imago.interrupts"]\nladder.REPEAT, ladder.TERMINATE, ladder.GIVE_UP = 0.4, 0.8, 1.6'


class Ladder(KernelCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.link.evaluate(QUICK)

    def running(self, source):
        call = self.link.start(source)
        call.until_printed('on')
        return call

    def interrupt(self, call):
        return self.link.call('interrupt', call=call.name).answer()

    def assert_stopped(self, source):
        call = self.running(source)
        self.assertEqual(self.interrupt(call)['outcome'], 'stopped', source)
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.assertEqual(self.link.value('"alive"'), "'alive'")

    def is_alive(self, pid):
        try:
            with open('/proc/%s/stat' % pid, encoding='utf-8') as file:
                return file.read().rpartition(')')[2].split()[0] != 'Z'
        except OSError:
            return False

    def test_loops_waits_and_reads_are_stopped(self):
        read = 'import socket\na, b = socket.socketpair()\nprint("on", flush=True)\na.recv(1)'
        for source in (
            'print("on")\nwhile True: pass',
            'import time\nprint("on")\ntime.sleep(600)',
            read,
            'import sys\nprint("on")\nclass A:\n    def __eq__(self, other):\n        while True: pass\nA() == 1',
        ):
            self.assert_stopped(source)

    def test_the_report_says_how_long_it_took_to_stop_apart_from_how_long_the_call_had_run(self):
        call = self.running('import time\ntime.sleep(1.2)\nprint("on", flush=True)\nwhile True: pass')
        message = self.interrupt(call)['message']
        self.assertRegex(message, r'^it was seen to stop, [\d.]+ m?s after it was asked to; it had run for [\d.]+ s$')
        ran = call.answer()['elapsed_ms'] / 1000
        self.assertTrue(message.endswith('it had run for %.1f s' % ran), (message, ran))

    def test_a_wait_for_a_child_process_is_stopped_and_the_child_with_it(self):
        call = self.running(
            'import subprocess, sys\nprint("on", flush=True)\nsubprocess.run([%r, "-c", "import time; time.sleep(600)"])'
            % sys.executable
        )
        self.assertEqual(self.interrupt(call)['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_fault_3_c_code_that_waits_for_a_child_is_stopped_by_way_of_the_child(self):
        # While `system` waits, it has the whole process ignore SIGINT.
        call = self.running('import os\nprint("on", flush=True)\nos.system("echo $$ > child; exec sleep 600")\nlater = 1')
        path = os.path.join(self.kernel.folder, 'child')
        until(lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        with open(path, encoding='utf-8') as file:
            pid = file.read().strip()
        self.assertEqual(self.interrupt(call)['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.assertFalse(self.is_alive(pid))
        self.assertEqual(self.link.value('"later" in globals()'), 'False')

    def test_a_child_that_ignores_sigint_is_terminated(self):
        call = self.running(
            'import os\nprint("on", flush=True)\n'
            'os.system("trap \'\' INT; echo $$ > stubborn; while true; do sleep 0.1; done")'
        )
        path = os.path.join(self.kernel.folder, 'stubborn')
        until(lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        with open(path, encoding='utf-8') as file:
            pid = file.read().strip()
        self.assertEqual(self.interrupt(call)['outcome'], 'stopped')
        self.assertFalse(self.is_alive(pid))
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_children_of_earlier_calls_and_in_sessions_of_their_own_are_left_alone(self):
        sleep = '[%r, "-c", "import time; time.sleep(600)"]' % sys.executable
        self.link.evaluate('import subprocess\nbefore = subprocess.Popen(%s)' % sleep)
        call = self.running(
            'mine = subprocess.Popen(%s)\napart = subprocess.Popen(%s, start_new_session=True)\n' % (sleep, sleep) + DEAF
        )
        report = self.interrupt(call)
        self.assertEqual(report['outcome'], 'still_running')
        open(os.path.join(self.kernel.folder, 'hear'), 'w').close()
        self.assertEqual(call.answer()['type'], 'done')
        os.unlink(os.path.join(self.kernel.folder, 'hear'))
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
        open(os.path.join(self.kernel.folder, 'hear'), 'w').close()
        self.assertEqual(call.answer()['type'], 'done')
        os.unlink(os.path.join(self.kernel.folder, 'hear'))
        self.assertEqual(self.link.value('others.poll()'), 'None')
        self.link.evaluate('for one in (own, others): one.kill(); one.wait()')

    def test_fault_4_code_that_swallows_every_interrupt_is_told_of_with_its_place_and_how_often_it_was_asked(self):
        call = self.link.start(DEAF, file='/app/deaf.py', line=10)
        call.until_printed('on')
        report = self.interrupt(call)
        self.assertEqual((report['outcome'], report['offer']), ('still_running', 'restart'))
        self.assertIn('/app/deaf.py:14 in <module>', report['message'])
        self.assertIn('raised in it twice', report['message'])
        self.assertIn('raised in it 4 times', self.interrupt(call)['message'])
        open(os.path.join(self.kernel.folder, 'hear'), 'w').close()
        self.assertEqual(call.answer()['values'][0]['repr']['text'], "'heard'")
        os.unlink(os.path.join(self.kernel.folder, 'hear'))
        self.assertEqual(self.link.value('1'), '1')


class Lasting(unittest.TestCase):
    def test_it_is_said_as_exactly_as_it_matters(self):
        said = [lasted(seconds) for seconds in (0, 0.0004, 0.0854, 0.9996, 7.40455, 59.96, 185.2)]
        self.assertEqual(said, ['0 ms', '0 ms', '85 ms', '1.0 s', '7.4 s', '1 min 0 s', '3 min 5 s'])


class Ending(unittest.TestCase):
    def test_a_script_that_leaves_because_the_image_ends_has_not_returned(self):
        with Kernel(script='import time\nwhile True: time.sleep(0.01)') as kernel:
            told = [kernel.link.notes.get(timeout=20)]
            kernel.link.call('stop').answer()
            kernel.process.wait(20)
            kernel.link.ended.wait(20)
            while not kernel.link.notes.empty():
                told.append(kernel.link.notes.get())
            states = [note['params']['state'] for note in told if note['name'] == 'script']
            self.assertEqual(states, ['running'])
