"""The process of a kernel: its secret, its children, its end, and the script that it runs."""

import os
import signal
import sys
import unittest

from tests.daemon import WAIT, Kernel, KernelCase, until


class Secrets(KernelCase):
    def test_threat_30_the_secret_is_not_in_arguments_environment_files_or_descriptors(self):
        secret = self.kernel.secret
        seen = self.link.value(
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
        self.assertEqual(self.link.value('import os; os.read(0, 100)'), "b''")
        code = 'import os; print([n for n in range(3, 64) if os.path.exists("/proc/self/fd/%d" % n)])'
        source = (
            'import subprocess, sys\n'
            'subprocess.run([sys.executable, "-c", %r], capture_output=True, close_fds=False).stdout'
        )
        listed = self.link.value(source % code)
        # What is there is what listing the directory itself opened.
        self.assertIn(listed, ("b'[]\\n'", "b'[3]\\n'"))


class AProjectsModules(unittest.TestCase):
    """A project may have a module of any name. Nothing of ours is it."""

    def test_threat_9_a_kernel_and_its_looks_import_no_module_of_the_project(self):
        note = 'open("ran", "a")\nprint(__name__, "ran")\nraise ImportError("a module of the project")\n'
        names = sorted(getattr(sys, 'stdlib_module_names', OLDER)) + ['msgpack', 'sitecustomize']
        with Kernel(files={name + '.py': note for name in names}) as kernel:
            link = kernel.link
            self.assertEqual(link.value('import sys; sys.path[0]'), "''")
            link.evaluate('def half(n):\n    """Half."""\n    return n / 2\nclass One: pass\ntext = "x" * 100000\n[half]')
            link.evaluate('half("x")')
            for method, params in LOOKS:
                link.call(method, deadline_ms=60_000, **params).answer()
            link.evaluate('print("é")\nprint(1, file=sys.stderr)')
            self.assertEqual(kernel.end(), 0, kernel.said())
            self.assertFalse(kernel.has('ran'), kernel.said())

    def test_threat_9_its_mark_is_on_a_kernel_whatever_the_project_has(self):
        with Kernel(files={'resource.py': 'raise ImportError'}) as kernel:
            limits = kernel.link.value('open("/proc/self/limits").read()')
            self.assertRegex(limits, r'Max file locks +\d')

    def test_the_project_comes_first_on_the_path_of_evaluated_code(self):
        with Kernel(files={'colorsys.py': 'mine = 5\n'}) as kernel:
            self.assertEqual(kernel.link.value('import colorsys; colorsys.mine'), '5')


#: Of the standard library, where its names cannot be asked for.
OLDER = ('resource', 'json', 'asyncio', 'socket', 'getpass', 'subprocess', 'tokenize', 'zlib', 'textwrap', 'ctypes')
LOOKS = (
    ('inspect', {'expr': 'half'}),
    ('inspect', {'expr': 'text'}),
    ('globals', {'modules': True, 'limit': 100}),
    ('history', {'limit': 9}),
    ('errors', {'count': 9}),
    ('last_error', {}),
    ('definition', {'name': 'half', 'max_length': 1000}),
    ('definition', {'name': 'argparse.nothing', 'max_length': 1000}),
    ('kept_text', {'file': 'half'}),
    ('describe', {'name': 'half'}),
    ('arglist', {'name': 'half'}),
    ('complete', {'text': 'import ht', 'cursor': 9, 'limit': 9}),
    ('complete', {'text': 'half.', 'cursor': 5, 'limit': 9}),
    ('apropos', {'pattern': 'hal', 'limit': 9}),
    ('symbols', {'module': '__main__', 'internal': True, 'limit': 9}),
    ('slots', {'name': 'One', 'limit': 9}),
    ('hierarchy', {'name': 'One', 'limit': 9}),
    ('references', {'name': 'half', 'limit': 9}),
    ('threads', {'limit': 9, 'frames': 9, 'locals': True}),
)


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
            ) % last
            self.assertEqual(self.link.evaluate(source)['type'], 'done')
            self.assertEqual(self.link.value('status'), str(status), last)

    def test_workers_of_multiprocessing_work_and_run_no_second_kernel(self):
        for method in ('fork', 'spawn'):
            source = (
                'import multiprocessing\nwith multiprocessing.get_context(%r).Pool(1) as pool:\n'
                '    answer = pool.map(len, ["a", "bb", "ccc"])\nanswer' % method
            )
            self.assertEqual(self.link.value(source), '[1, 2, 3]')

    def test_an_interrupt_of_the_parent_is_not_the_childs(self):
        call = self.link.start(
            'import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(0.5); os._exit(0)\n'
            'print("on")\ntime.sleep(60)'
        )
        call.until_printed('on')
        call.cancel()
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.assertEqual(self.link.value('os.waitpid(pid, 0)[1]'), '0')


#: Leaves a file where it is ended in order.
LEAVES = 'open("ended", "w").close()'

AT_EXIT = 'import atexit; atexit.register(lambda: %s)' % LEAVES
LOOPS = 'try:\n    print("on")\n    for i in range(10**12): n = i\nfinally: %s' % LEAVES
TASK = (
    'import asyncio\nasync def work():\n    try: await asyncio.sleep(600)\n    finally: %s\n'
    'async def begin(): return asyncio.create_task(work())\n'
    'task = await begin()\nawait asyncio.sleep(0)\nprint("on")' % LEAVES
)


class Ending(unittest.TestCase):
    def assert_ends(self, kernel, code=0):
        self.assertEqual(kernel.process.wait(WAIT), code)

    def test_fault_8_a_kernel_is_ended_in_order_by_the_daemons_word_or_its_end(self):
        for source in (AT_EXIT + '\nprint("on")', LOOPS, TASK):
            for by_word in (True, False):
                with self.subTest(source, by_word=by_word), Kernel() as kernel:
                    kernel.link.start(source).until_printed('on')
                    if by_word:
                        self.assertIsNone(kernel.link.call('stop').answer())
                    else:
                        kernel.process.stdin.close()
                    self.assert_ends(kernel)
                    self.assertTrue(os.path.exists(kernel.folder + '/ended'))

    def test_fault_8_code_that_will_not_end_is_ended_all_the_same(self):
        with Kernel() as kernel:
            call = kernel.link.start(
                'import time\nwhile True:\n    try:\n        while True:\n            try:\n                print("on")\n'
                '                for i in range(10**12): time.sleep(0.01)\n'
                '            except BaseException: time.sleep(0.01)\n    except BaseException: pass'
            )
            call.until_printed('on')
            kernel.process.stdin.close()
            self.assert_ends(kernel, 1)

    def test_threads_of_the_program_are_waited_for_and_then_not(self):
        with Kernel() as kernel:
            kernel.link.evaluate('import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()')
            kernel.link.call('stop').answer()
            self.assert_ends(kernel, 1)

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
            'try:\n    import codec\nexcept ImportError: found = None\n'
        )
        with Kernel(script=source, args=['--fast', 'x y']) as kernel:
            self.assertEqual(self.end(kernel), ('returned', None))
            # It imports its neighbours, and none of our modules.
            self.assertEqual(kernel.link.value('answer, ran, found'), '(42, 1, None)')
            folder = os.path.realpath(kernel.folder)
            expected = ('__main__', kernel.script, [kernel.script, '--fast', 'x y'], folder)
            self.assertEqual(kernel.link.value('seen'), repr(expected))

    def test_a_script_that_never_returns_is_reachable_in_its_own_namespace(self):
        script = 'import threading, time\nstate = {"hits": 0}\nwhile not state.get("stop"): time.sleep(0.001)\nleft = 1\n'
        with Kernel(script=script) as kernel:
            until(lambda: kernel.link.value('"state" in globals()') == 'True')
            self.assertEqual(kernel.link.value('state["hits"]'), '0')
            self.assertEqual(kernel.link.value('threading.current_thread().name'), "'imago-eval'")
            self.assertEqual(kernel.link.value('import asyncio\nawait asyncio.sleep(0, 1)'), '1')
            kernel.link.evaluate('state["stop"] = True')
            until(lambda: kernel.link.value('"left" in globals()') == 'True')
            until(lambda: kernel.link.value('threading.current_thread() is threading.main_thread()') == 'True')
            self.assertEqual(kernel.link.value('await asyncio.sleep(0, 2)'), '2')

    def fate(self, kernel, said=None):
        """The next that is told of the script itself; what it printed before is added to ``said``."""
        while True:
            note = kernel.link.notes.get(timeout=WAIT)
            if note['name'] == 'script':
                self.assertEqual(set(note['params']), {'state', 'message'})
                return note['params']['state'], note['params']['message']
            if said is not None:
                said.append(note['params']['text'])

    def end(self, kernel, said=None):
        """How the script has ended. On a slow machine even a short one may be told to run before."""
        told = self.fate(kernel, said)
        return self.fate(kernel, said) if told == ('running', None) else told

    def test_a_script_that_reached_its_end_is_told_to_have_returned(self):
        for source in ('x = 1\n', 'import sys\nsys.exit()\n'):
            with Kernel(script=source) as kernel:
                self.assertEqual(self.end(kernel), ('returned', None), source)

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
                state, told = self.end(kernel, said)
                self.assertEqual(state, 'failed')
                self.assertIn(message, told)
                self.assertNotIn('\n', told)
                self.assertEqual(bool(said), 'stderr = None' not in source, source)
                self.assertEqual(kernel.link.value('1'), '1')

    def test_a_script_that_is_no_python_or_not_there_is_told_to_have_failed(self):
        for script, message in (
            ('x = 1\ndef broken(:\n', r'^SyntaxError: [^(]* \(app\.py:2\)$'),
            (Kernel.MISSING, r'^FileNotFoundError: .*missing\.py'),
        ):
            with Kernel(script=script) as kernel:
                state, told = self.end(kernel)
                self.assertEqual(state, 'failed')
                self.assertRegex(told, message)
                self.assertEqual(kernel.link.value('1'), '1')

    def test_a_script_that_goes_on_is_told_to_run_and_later_how_it_ended(self):
        # It sets nothing that an evaluation may have set before it has come to its first line.
        source = 'import time\n\nwhile not globals().get("end"): time.sleep(0.001)\nraise ValueError("late")\n'
        with Kernel(script=source) as kernel:
            self.assertEqual(self.fate(kernel), ('running', None))
            kernel.link.evaluate('end = True')
            self.assertEqual(self.fate(kernel), ('failed', 'ValueError: late (app.py:4)'))

    def test_what_a_script_prints_and_its_last_words_are_background_output_and_its_image_stays(self):
        for script, words in (
            ('x = 1\nprint("hello from the script")\n', ['hello from the script\n']),
            ('x = 1\ndef fail():\n    return 1 / 0\nfail()\n', ['line 3, in fail', 'ZeroDivisionError']),
            ('import sys\nx = 1\nsys.exit(3)\n', ['ended with', '3']),
        ):
            with Kernel(script=script) as kernel:
                told = ''
                while not all(word in told for word in words):
                    told += kernel.link.notes.get(timeout=WAIT)['params'].get('text', '')
                self.assertNotIn('scripts.py', told)
                self.assertEqual(kernel.link.value('x'), '1')

    def test_a_script_is_stopped_by_stop(self):
        source = 'import time\ntry:\n    print("on")\n    while True: time.sleep(60)\nfinally: %s\n' % LEAVES
        with Kernel(script=source) as kernel:
            # That it is told to run is a matter of time; it is inside of `try` once it has printed.
            said = []
            self.assertEqual(self.fate(kernel, said), ('running', None))
            while 'on' not in ''.join(said):
                said.append(kernel.link.notes.get(timeout=WAIT)['params']['text'])
            kernel.link.call('stop').answer()
            kernel.process.wait(WAIT)
            self.assertTrue(os.path.exists(kernel.folder + '/ended'))
            self.assertTrue(kernel.link.ended.wait(WAIT))
            # It left because the image ends: it has not returned.
            states = [note['params'].get('state') for note in kernel.link.notes.queue if note['name'] == 'script']
            self.assertEqual(states, [])

    def test_future_statements_of_a_script_hold_for_evaluations(self):
        with Kernel(script='from __future__ import annotations\n') as kernel:
            self.assertEqual(self.end(kernel), ('returned', None))
            self.assertEqual(kernel.link.value('def f(x: Undefined): pass\nf.__annotations__'), "{'x': 'Undefined'}")
