import os
import signal
import sys
import unittest

from tests.daemon import WAIT, Kernel, KernelCase, until


class Secrets(unittest.TestCase):
    def test_threat_30_the_secret_is_not_in_arguments_environment_files_or_descriptors(self):
        with Kernel() as kernel:
            secret = kernel.secret
            seen = kernel.link.value(
                'import os, sys, subprocess\n'
                'shown = [repr(sys.argv), repr(dict(os.environ)), repr(list(globals().items()))]\n'
                'for name in ("cmdline", "environ"):\n'
                '    try: shown.append(open("/proc/self/" + name, "rb").read().decode("latin-1"))\n'
                '    except OSError: pass\n'
                'shown.append(repr(os.read(0, 65536)))\n'
                '"".join(shown)[:100000]'
            )
            self.assertNotIn(secret, seen)
            self.assertNotIn(secret[:16], seen)

    def test_threat_30_standard_input_is_empty_and_children_inherit_no_descriptor_of_ours(self):
        with Kernel() as kernel:
            self.assertEqual(kernel.link.value('import os; os.read(0, 100)'), "b''")
            code = 'import os; print([n for n in range(3, 64) if os.path.exists("/proc/self/fd/%d" % n)])'
            source = (
                'import subprocess, sys\n'
                'subprocess.run([sys.executable, "-c", %r], capture_output=True, close_fds=False).stdout'
            )
            listed = kernel.link.value(source % code)
            # What is there is what listing the directory itself opened.
            self.assertIn(listed, ("b'[]\\n'", "b'[3]\\n'"))


class Forking(KernelCase):
    def test_a_forked_child_does_not_use_its_parents_link(self):
        source = (
            'import os\npid = os.fork()\nif pid == 0:\n    print("from the child")\n    os._exit(0)\n'
            'os.waitpid(pid, 0)[1]'
        )
        call = self.link.start(source)
        self.assertEqual(call.answer()['values'][0]['repr']['text'], '0')
        until(lambda: b'from the child\n' in bytes(self.kernel.printed[1]))
        self.assertEqual(call.output(), '')
        self.assertEqual(self.link.value('1'), '1')

    def test_a_child_that_comes_to_the_end_of_the_code_ends_there(self):
        for last, status in (('pass', 0), ('raise SystemExit(7)', 7), ('1/0', 1), ('import sys; sys.exit("no")', 1)):
            source = (
                'import os\npid = os.fork()\nif pid == 0:\n    %s\nelse:\n    status = os.waitpid(pid, 0)[1] >> 8\n'
                ''
            ) % last
            self.assertEqual(self.link.evaluate(source)['type'], 'done')
            self.assertEqual(self.link.value('status'), str(status), last)

    def test_a_child_may_outlive_many_evaluations(self):
        self.link.evaluate('import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(0.5)\n    os._exit(3)')
        for n in range(50):
            self.assertEqual(self.link.value(str(n)), str(n))
        self.assertEqual(self.link.value('os.waitpid(pid, 0)[1] >> 8'), '3')

    @unittest.skipUnless(sys.platform.startswith('linux'), 'forking workers are the way of Linux')
    def test_worker_processes_of_multiprocessing_work(self):
        source = (
            'import multiprocessing\nwith multiprocessing.get_context("fork").Pool(2) as pool:\n'
            '    answer = pool.map(len, ["a", "bb", "ccc"])\nanswer'
        )
        self.assertEqual(self.link.value(source), '[1, 2, 3]')

    def test_spawned_workers_do_not_run_a_second_kernel(self):
        source = (
            'import multiprocessing\nwith multiprocessing.get_context("spawn").Pool(1) as pool:\n'
            '    answer = pool.map(len, ["a", "bb"])\nanswer'
        )
        self.assertEqual(self.link.value(source), '[1, 2]')

    def test_an_interrupt_of_the_parent_is_not_the_childs(self):
        call = self.link.start(
            'import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(0.5); os._exit(0)\n'
            'print("on")\ntime.sleep(60)'
        )
        call.until_printed('on')
        call.cancel()
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.assertEqual(self.link.value('os.waitpid(pid, 0)[1]'), '0')


class Ending(unittest.TestCase):
    def assert_ends(self, kernel, code=0):
        self.assertEqual(kernel.process.wait(WAIT), code)

    def test_stop_ends_the_process_in_order(self):
        with Kernel() as kernel:
            path = kernel.folder + '/exited'
            kernel.link.evaluate('import atexit; atexit.register(lambda: open(%r, "w").close())' % path)
            self.assertIsNone(kernel.link.call('stop').answer())
            self.assert_ends(kernel)
            self.assertTrue(os.path.exists(path))

    def test_fault_8_a_daemon_that_is_gone_ends_the_kernel_in_order(self):
        with Kernel() as kernel:
            path = kernel.folder + '/exited'
            kernel.link.evaluate('import atexit; atexit.register(lambda: open(%r, "w").close())' % path)
            kernel.process.stdin.close()
            self.assert_ends(kernel)
            self.assertTrue(os.path.exists(path))

    def test_fault_8_code_that_runs_is_ended_with_its_finally_blocks(self):
        with Kernel() as kernel:
            path = kernel.folder + '/finally'
            call = kernel.link.start(
                'print("on")\ntry:\n    for i in range(10**12): n = i\n'
                'finally: open(%r, "w").close()' % path
            )
            call.until_printed('on')
            kernel.process.stdin.close()
            self.assert_ends(kernel)
            self.assertTrue(os.path.exists(path))

    def test_fault_8_code_that_will_not_end_is_ended_all_the_same(self):
        with Kernel() as kernel:
            call = kernel.link.start(
                'print("on")\nwhile True:\n    try:\n        for i in range(10**12): n = i\n'
                '    except BaseException: pass'
            )
            call.until_printed('on')
            kernel.process.stdin.close()
            self.assert_ends(kernel, 1)

    def test_threads_of_the_program_are_waited_for_and_then_not(self):
        with Kernel() as kernel:
            kernel.link.evaluate('import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()')
            kernel.link.call('stop').answer()
            self.assert_ends(kernel, 1)

    def test_tasks_of_the_event_loop_are_cancelled_at_the_end(self):
        with Kernel() as kernel:
            path = kernel.folder + '/finally'
            kernel.link.evaluate(
                'import asyncio\nasync def work():\n    try:\n        await asyncio.sleep(600)\n'
                '    finally:\n        open(%r, "w").close()\n'
                'async def begin():\n    return asyncio.create_task(work())\n'
                'task = await begin()\nawait asyncio.sleep(0)' % path
            )
            kernel.link.call('stop').answer()
            self.assert_ends(kernel)
            self.assertTrue(os.path.exists(path))

    def test_a_crash_leaves_its_stack_on_standard_error(self):
        with Kernel() as kernel:
            kernel.link.start('import ctypes; ctypes.string_at(0)')
            self.assertEqual(kernel.process.wait(WAIT), -signal.SIGSEGV)
            until(lambda: b'Fatal Python error' in bytes(kernel.printed[2]))


class Scripts(unittest.TestCase):
    def test_a_script_runs_as_main_and_stays_live(self):
        source = (
            'import sys\nanswer = 42\nseen = (__name__, __file__, sys.argv, sys.path[0])\n'
            'if __name__ == "__main__": ran = 1\n'
        )
        with Kernel(script=source, args=['--fast', 'x y']) as kernel:
            self.assertEqual(kernel.link.value('answer, ran'), '(42, 1)')
            folder = os.path.realpath(kernel.folder)
            expected = ('__main__', kernel.script, [kernel.script, '--fast', 'x y'], folder)
            self.assertEqual(kernel.link.value('seen'), repr(expected))

    def test_a_script_imports_its_neighbours_and_not_the_modules_of_imago(self):
        with Kernel(script='import sys\ntry:\n    import codec\nexcept ImportError: found = None\n') as kernel:
            self.assertEqual(kernel.link.value('found'), 'None')

    def test_a_script_that_never_returns_is_reachable_in_its_own_namespace(self):
        with Kernel(
            script='import time\nstate = {"hits": 0}\nwhile not state.get("stop"): time.sleep(0.001)\nleft = 1\n'
            ''
        ) as kernel:
            self.assertEqual(kernel.link.value('state["hits"]'), '0')
            thread = kernel.link.value('import threading; threading.current_thread().name')
            self.assertEqual(thread, "'imago-eval'")
            kernel.link.evaluate('state["stop"] = True')
            until(lambda: kernel.link.value('"left" in globals()') == 'True')
            until(lambda: kernel.link.value('threading.current_thread() is threading.main_thread()') == 'True')

    def test_top_level_await_works_beside_a_script_and_after_it(self):
        source = 'import time\nend = False\nwhile not end: time.sleep(0.001)\n'
        with Kernel(script=source) as kernel:
            self.assertEqual(kernel.link.value('import asyncio\nawait asyncio.sleep(0, 1)'), '1')
            kernel.link.evaluate('end = True')
            main = 'import threading; threading.current_thread() is threading.main_thread()'
            until(lambda: kernel.link.value(main) == 'True')
            self.assertEqual(kernel.link.value('await asyncio.sleep(0, 2)'), '2')

    def notes(self, kernel, text):
        seen = ''
        while text not in seen:
            note = kernel.link.notes.get(timeout=WAIT)
            seen += note['params']['text'] if note['name'] == 'output' else ''
        return seen

    def fate(self, kernel, said=None):
        """The next that is told of the script itself; what it printed before is added to ``said``."""
        while True:
            note = kernel.link.notes.get(timeout=WAIT)
            if note['name'] == 'script':
                self.assertEqual(set(note['params']), {'state', 'message'})
                return note['params']['state'], note['params']['message']
            if said is not None:
                said.append(note['params']['text'])

    def test_a_script_that_reached_its_end_is_told_to_have_returned(self):
        for source in ('x = 1\n', 'import sys\nsys.exit()\n', 'raise SystemExit(0)\n'):
            with Kernel(script=source) as kernel:
                self.assertEqual(self.fate(kernel), ('returned', None), source)

    def test_a_script_that_failed_is_told_in_one_line_after_its_traceback(self):
        for source, message in (
            ('\n\nraise ValueError("boom\\n\\nmore")\n', 'ValueError: boom more (app.py:3)'),
            ('import sys\nsys.exit(4)\n', 'SystemExit: 4 (app.py:2)'),
            ('import json\njson.loads("{")\n', '(app.py:2)'),
            ('class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd\n', 'Odd: <its text'),
            ('import sys\nsys.stderr = None\n1/0\n', 'ZeroDivisionError: division by zero (app.py:3)'),
        ):
            with Kernel(script=source) as kernel:
                said = []
                state, told = self.fate(kernel, said)
                self.assertEqual(state, 'failed')
                self.assertIn(message, told)
                self.assertNotIn('\n', told)
                self.assertEqual(bool(said), 'stderr = None' not in source, source)
                self.assertEqual(kernel.link.value('1'), '1')

    def test_a_script_that_is_no_python_or_not_there_is_told_to_have_failed(self):
        with Kernel(script='x = 1\ndef broken(:\n') as kernel:
            state, message = self.fate(kernel)
            self.assertEqual(state, 'failed')
            self.assertRegex(message, r'^SyntaxError: [^(]* \(app\.py:2\)$')
        with Kernel(script=Kernel.MISSING) as kernel:
            state, message = self.fate(kernel)
            self.assertEqual(state, 'failed')
            self.assertTrue(message.startswith('FileNotFoundError: '), message)
            self.assertIn('missing.py', message)

    def test_a_script_that_goes_on_is_told_to_run_and_later_how_it_ended(self):
        source = 'import time\nend = False\nwhile not end: time.sleep(0.001)\nraise ValueError("late")\n'
        with Kernel(script=source) as kernel:
            self.assertEqual(self.fate(kernel), ('running', None))
            kernel.link.evaluate('end = True')
            self.assertEqual(self.fate(kernel), ('failed', 'ValueError: late (app.py:4)'))

    def test_a_script_that_raises_leaves_its_traceback_and_its_image(self):
        with Kernel(script='x = 1\ndef fail():\n    return 1 / 0\nfail()\n') as kernel:
            told = self.notes(kernel, 'ZeroDivisionError')
            self.assertIn('line 3, in fail', told)
            self.assertNotIn('scripts.py', told)
            self.assertEqual(kernel.link.value('x'), '1')

    def test_a_script_that_exits_is_said_to_have_and_stays_live(self):
        with Kernel(script='import sys\nx = 1\nsys.exit(3)\n') as kernel:
            self.assertIn('3', self.notes(kernel, 'ended with'))
            self.assertEqual(kernel.link.value('x'), '1')

    def test_a_script_that_is_not_there_or_no_python_leaves_a_kernel_that_says_so(self):
        with Kernel(script='def broken(:\n') as kernel:
            self.assertIn('^', self.notes(kernel, 'SyntaxError'))
            self.assertEqual(kernel.link.value('1'), '1')

    def test_what_a_script_prints_is_background_output(self):
        with Kernel(script='print("hello from the script")\n') as kernel:
            self.notes(kernel, 'hello from the script\n')

    def test_a_script_is_stopped_by_stop(self):
        with Kernel(
            script='import time\ntry:\n    while True: time.sleep(60)\nfinally: open("finally", "w").close()\n'
            ''
        ) as kernel:
            self.assertEqual(kernel.link.value('1'), '1')
            kernel.link.call('stop').answer()
            kernel.process.wait(WAIT)
            self.assertTrue(os.path.exists(kernel.folder + '/finally'))

    def test_future_statements_of_a_script_hold_for_evaluations(self):
        with Kernel(script='from __future__ import annotations\n') as kernel:
            self.assertEqual(kernel.link.value('def f(x: Undefined): pass\nf.__annotations__'), "{'x': 'Undefined'}")
