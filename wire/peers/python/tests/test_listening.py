"""Programs that call `imago.listen()`."""

import os
import stat
import subprocess
import sys
import time
import types
import unittest
from unittest import mock

from imago import ipython
from tests.daemon import WAIT, until
from tests.guests import PACKAGE, ProgramCase
from tests.test_listening_trust import settled, threads_and_descriptors


# ``imago.listen()`` in programs of every shape, and what they make known of themselves.

THREADS = """
import imago, threading, time
imago.listen()
count = 0
go_on = threading.Event()
def work():
    global count
    while not go_on.wait(0.01):
        count += 1
worker = threading.Thread(target=work)
worker.start()
print('ready', flush=True)
wait_for_end()
go_on.set()
worker.join()
"""

ASYNCIO = """
import asyncio, sys, threading
import imago
log = []
async def main():
    global done, loop_thread
    loop_thread = threading.get_ident()
    done = asyncio.Event()
    imago.listen()
    async def tick():
        while True:
            log.append('tick')
            await asyncio.sleep(0.01)
    task = asyncio.create_task(tick(), name='ticker')
    print('ready', flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, lambda: wait_for_end())
asyncio.run(main())
"""


class Listening(ProgramCase):
    def test_two_lines_in_a_program_with_threads_let_it_be_looked_at_and_evaluated_in(self):
        program = self.program(THREADS)
        program.until_printed('ready')
        link = program.attach()
        self.assertEqual(link.value('worker.is_alive()'), 'True')
        link.evaluate('count = -1000000')
        self.assertLess(int(link.value('count')), 0)
        found = link.call('globals', modules=False, limit=10, deadline_ms=5000).answer()
        self.assertIn('worker', [entry['name'] for entry in found['value']['globals']])
        self.assertEqual(program.end(), 0)
        self.assertEqual(program.said(), 'ready\n\n')

    def test_a_program_on_asyncio_goes_on_while_code_is_evaluated_and_awaits_on_its_loop(self):
        program = self.program(ASYNCIO)
        link = program.attach()
        link.evaluate('import threading\nasync def where(): return threading.get_ident()')
        self.assertEqual(link.value('await where() == loop_thread'), 'True')
        self.assertEqual(link.value('threading.get_ident() == loop_thread'), 'False')
        call = link.start('before = len(log)\nwhile len(log) < before + 5: pass\nlen(log) >= before')
        self.assertEqual(call.answer()['values'][0]['repr']['text'], 'True')
        self.assertEqual(program.end(), 0)
        self.assertEqual(program.said(), 'ready\n\n')

    def test_the_place_can_be_the_loop_that_runs_where_the_program_listens(self):
        program = self.program(ASYNCIO.replace('imago.listen()', 'imago.listen(evaluate="loop")'))
        link = program.attach()
        self.assertEqual(link.value('import threading; threading.get_ident() == loop_thread'), 'True')

    def test_the_place_can_be_a_callable_of_the_programs(self):
        program = self.program(
            'import imago, queue, threading\n'
            'works = queue.Queue()\n'
            'imago.listen(evaluate=works.put)\n'
            'while True:\n'
            '    work = works.get()\n'
            '    if work is None: break\n'
            '    work()\n'
        )
        link = program.attach()
        where = 'import threading; threading.current_thread() is threading.main_thread()'
        self.assertEqual(link.value(where), 'True')
        link.evaluate('works.put(None)')
        self.assertEqual(program.wait(), 0)

    def test_nothing_of_ours_is_in_the_users_namespace_or_among_the_threads_that_the_program_can_count(self):
        program = self.program('import imago\nimago.listen()\nwait_for_end()')
        link = program.attach()
        link.evaluate('1')
        link.call('globals', modules=True, limit=10, deadline_ms=5000).answer()
        names = 'sorted(name for name in globals() if not name.startswith("__"))'
        self.assertEqual(link.value(names), "['imago']")
        self.assertEqual(link.value('import threading; threading.active_count()'), '1')

    def test_a_program_that_joins_all_its_threads_does_not_find_the_one_that_evaluates(self):
        program = self.program(
            'import imago, sys, threading\n'
            'imago.listen()\n'
            'sys.__stdin__.readline()\n'
            'for thread in threading.enumerate():\n'
            '    if thread is not threading.current_thread(): thread.join()\n'
        )
        link = program.attach()
        link.evaluate('import logging; logging.warning("asks which thread it is"); threading.current_thread()')
        link.evaluate('import asyncio; await asyncio.sleep(0)')
        self.assertEqual(program.end(), 0)
        self.assertEqual(bytes(program.printed[2]), b'')

    def test_the_hello_says_that_the_program_is_attached(self):
        program = self.program('import imago\nimago.listen()\nwait_for_end()')
        hello = program.attach().hello
        said = program.announcement()
        self.assertIs(hello['attached'], True)
        self.assertEqual((hello['role'], hello['pid']), ('kernel', program.process.pid))
        self.assertEqual(hello['epoch'], said['epoch'])

    def test_a_program_is_not_the_daemons_to_stop(self):
        program = self.program('import imago\nimago.listen()\nwait_for_end()')
        link = program.attach()
        self.assertEqual(link.call('stop').failure()['code'], 'not_owned')
        self.assertEqual(link.value('1+1'), '2')

    def test_a_call_is_run_once_however_often_it_is_asked_for(self):
        program = self.program('import imago\nn = 0\nimago.listen()\nwait_for_end()')
        link = program.attach()
        for _ in range(3):
            outcome = link.start('n += 1\nn', call='the same').answer()
            self.assertEqual(outcome['values'][0]['repr']['text'], '1')

    def test_handles_and_exceptions_are_as_in_any_other_kernel(self):
        program = self.program('import imago\nrows = list(range(500))\nimago.listen()\nwait_for_end()')
        link = program.attach()
        looked = link.call('inspect', expr='rows', evaluate=False, deadline_ms=5000).answer()
        handle = looked['value']['handle']
        piece = link.call('more', handle=handle, **{'from': 400}, count=3, deadline_ms=5000).answer()
        self.assertEqual(piece['value']['items'], ['400', '401', '402'])
        raised = link.evaluate('1/0')
        self.assertEqual(raised['exception']['type']['name'], 'ZeroDivisionError')


class Announcing(ProgramCase):
    def test_a_program_says_what_it_is_where_only_its_owner_can_read_it(self):
        program = self.program('import imago, os\nos.umask(0)\nimago.listen()\nwait_for_end()', name='engine.py')
        said = program.announcement()
        self.assertEqual(
            (said['imago'], said['name'], said['language'], said['pid'], said['cwd'], said['program']),
            (1, 'engine', 'python', program.process.pid, os.path.realpath(program.folder), program.script),
        )
        self.assertRegex(said['implementation'], r'^CPython 3\.')
        self.assertRegex(said['secret'], '^[0-9a-f]{64}$')
        self.assertRegex(said['epoch'], '^[0-9a-f]{8}$')
        self.assertRegex(said['announced_at'], r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$')
        ((path, _),) = program.announcements()
        socket = said['address'][len('unix:') :]
        self.assertEqual(socket[: -len('.sock')], path[: -len('.json')])
        for file, mode in ((path, 0o600), (socket, 0o600), (os.path.dirname(path), 0o700), (program.runtime, 0o700)):
            self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), mode, file)

    @unittest.skipUnless(sys.platform.startswith('linux'), 'reads /proc')
    def test_threat_29_the_announcement_tells_the_process_from_a_later_one_of_its_number(self):
        program = self.program('import imago\nimago.listen()\nwait_for_end()')
        with open('/proc/%d/stat' % program.process.pid) as file:
            began = file.read().rpartition(')')[2].split()[19]
        with open('/proc/sys/kernel/random/boot_id') as file:
            self.assertEqual(program.announcement()['started'], '%s:%s' % (file.read().strip(), began))

    def test_the_name_is_the_given_one_or_the_stem_of_the_script_or_python(self):
        source = (
            'import imago, sys\n'
            'for argv in [sys.argv, ["/x/2024.py"], [], ["-c"], ["/x/tool/__main__.py"]]:\n'
            '    sys.argv = argv\n'
            '    listener = imago.listen()\n'
            '    print(listener.name, flush=True)\n'
            '    listener.close()\n'
            'imago.listen("web-1")\nwait_for_end()'
        )
        program = self.program(source, name='my server.py')
        until(lambda: [said['name'] for _, said in program.announcements()] == ['web-1'])
        program.end()
        self.assertEqual(program.said().split(), ['my-server', 'python-2024', 'python', 'python', 'tool'])

    def test_a_notebook_that_is_called_by_a_number_says_what_it_is(self):
        shell = types.SimpleNamespace(user_ns={})
        for path, notebook, name in (
            ('/x/2024.ipynb', True, 'notebook-2024'),
            ('/x/2024.ipynb', False, 'ipython-2024'),
            ('/x/2024-plan.ipynb', True, '2024-plan'),
            ('', True, 'notebook'),
        ):
            with mock.patch.dict(os.environ, JPY_SESSION_NAME=path):
                self.assertEqual(ipython._name(shell, notebook), name)

    def test_close_takes_everything_back_and_listen_begins_anew(self):
        program = self.program(
            'import imago, sys\n'
            'listener = imago.listen()\n'
            'print(listener.address, flush=True)\n'
            'for line in sys.stdin:\n'
            '    if line == "close\\n": listener.close(); print("closed", listener.address, flush=True)\n'
            '    if line == "listen\\n": listener = imago.listen(); print(repr(listener), flush=True)\n'
        )
        said = program.announcement()
        link = program.attach()
        self.assertEqual(link.value('kept = 1; kept'), '1')
        program.process.stdin.write(b'close\n')
        program.process.stdin.flush()
        program.until_printed('closed None')
        self.assertTrue(link.ended.wait(WAIT))
        self.assertEqual(os.listdir(os.path.join(program.runtime, 'programs')), [])
        with self.assertRaises(OSError):
            program.connection(said['address'])
        program.process.stdin.write(b'listen\n')
        program.process.stdin.flush()
        again = program.announcement()
        self.assertNotEqual(again['epoch'], said['epoch'])
        self.assertEqual(program.attach(again).value('kept'), '1')

    def test_the_announcement_is_gone_when_the_program_has_ended(self):
        program = self.program('import imago\nimago.listen()\nwait_for_end()\nraise SystemExit(7)')
        program.attach()
        self.assertEqual(program.end(), 7)
        self.assertEqual(os.listdir(os.path.join(program.runtime, 'programs')), [])

    def test_threat_28_a_runtime_directory_that_others_could_have_made_is_refused(self):
        program = self.program(
            'import imago, os\n'
            'os.mkdir("elsewhere")\nos.symlink("elsewhere", "run")\n'
            'try: imago.listen()\n'
            'except OSError as error: print(error, flush=True)\n'
        )
        program.end()
        self.assertIn('symbolic link', program.said())
        self.assertIn('IMAGO_RUNTIME_DIR', program.said())

    def test_a_runtime_directory_that_is_open_to_others_is_closed_to_them(self):
        program = self.program(
            'import imago, os\nos.umask(0)\nos.makedirs("run/programs", 0o777)\nimago.listen()\nwait_for_end()'
        )
        program.announcement()
        for directory in (program.runtime, os.path.join(program.runtime, 'programs')):
            self.assertEqual(stat.S_IMODE(os.stat(directory).st_mode), 0o700)

    def test_a_path_that_is_too_long_for_a_socket_is_said_to_be(self):
        program = self.program(
            'import imago, os\nos.environ["IMAGO_RUNTIME_DIR"] = os.path.abspath("x" * 100)\n'
            'try: imago.listen()\nexcept OSError as error: print(error, flush=True)'
        )
        program.end()
        self.assertIn('too long', program.said())


class RuntimeDirectory(unittest.TestCase):
    def test_it_is_found_as_the_daemon_finds_it(self):
        from imago.listener import runtime_directory

        own = 'imago-%d' % os.getuid()
        for env, found in (
            ({'IMAGO_RUNTIME_DIR': '/a/b/../c', 'XDG_RUNTIME_DIR': '/run/user/7'}, '/a/c'),
            ({'IMAGO_RUNTIME_DIR': '', 'XDG_RUNTIME_DIR': '/run/user/7/'}, '/run/user/7/imago'),
            ({'XDG_RUNTIME_DIR': 'relative', 'TMPDIR': '/var/tmp/'}, '/var/tmp/' + own),
            ({}, '/tmp/' + own),
        ):
            self.assertEqual(runtime_directory(env), found)


class Ports(ProgramCase):
    KEY = 'k' * 32

    def test_a_port_of_the_loopback_interface_serves_as_well(self):
        program = self.program('import imago\nlistener = imago.listen(port=0)\nwait_for_end()')
        said = program.announcement()
        self.assertRegex(said['address'], r'^tcp:127\.0\.0\.1:[1-9]\d*$')
        self.assertEqual(program.attach().value('listener.address'), repr(said['address']))

    def test_a_key_that_was_given_is_told_to_nobody(self):
        given = self.program('import imago\nimago.listen(port=0, key="%s")\nwait_for_end()' % self.KEY)
        found = self.program('import imago\nimago.listen(port=0)\nwait_for_end()', env={'IMAGO_KEY': self.KEY})
        for program in (given, found):
            said = program.announcement()
            self.assertNotIn('secret', said)
            self.assertNotIn(self.KEY, repr(said))
            self.assertEqual(program.attach(said, self.KEY).value('1+1'), '2')


class Arguments(unittest.TestCase):
    """What cannot be asked for is said so, and nothing is left behind."""

    def test_what_listen_cannot_take_is_named(self):
        wrong = (
            ('"two words"', 'ValueError: name'),
            ('7', 'TypeError: name'),
            ('"123"', 'ValueError: name must not be a number: 123'),
            ('evaluate="somewhere"', 'ValueError: evaluate'),
            ('evaluate="loop"', 'ValueError: evaluate'),
            ('namespace=[]', 'TypeError: namespace'),
            ('port="80"', 'TypeError: port'),
            ('port=70000', 'ValueError: port'),
            ('port=0, key="short"', 'ValueError: key'),
            ('key="%s"' % ('k' * 32), 'ValueError: key'),
        )
        tried = ''.join(
            'try: imago.listen(%s)\n'
            'except Exception as error: print("%%s: %%s" %% (type(error).__name__, error))\n'
            'else: print("was taken")\n' % arguments
            for arguments, _ in wrong
        )
        said = run('import imago\n' + tried).stdout.splitlines()
        self.assertEqual(len(said), len(wrong))
        for line, (arguments, words) in zip(said, wrong):
            self.assertIn(words, line, arguments)

    def test_listening_twice_is_one_listener_if_it_is_asked_for_in_one_way(self):
        done = run(
            'import imago\n'
            'first = imago.listen("a")\n'
            'print(imago.listen("a") is first, imago.listen() is first)\n'
            'try: imago.listen("b")\n'
            'except RuntimeError as error: print(error)\n'
        )
        self.assertEqual(done.stdout.splitlines()[0], 'True True')
        self.assertIn('listens already, as a', done.stdout)

    def test_importing_the_package_imports_nothing_of_it(self):
        done = run('import sys, imago; print([name for name in sys.modules if name.startswith("imago.")])')
        self.assertEqual(done.stdout, '[]\n')


def run(source):
    """The outcome of a short program with a runtime directory of its own."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix='imago-run-') as folder:
        env = dict(os.environ, IMAGO_RUNTIME_DIR=folder, PYTHONPATH=PACKAGE)
        done = subprocess.run([sys.executable, '-c', source], env=env, capture_output=True, text=True, timeout=WAIT)
        left = os.path.join(folder, 'programs')
        if os.path.exists(left) and os.listdir(left):
            raise AssertionError('it has left %s' % os.listdir(left))
        return done


# A daemon that goes away and comes back, and what the program pays while nobody asks.

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


# Whose names code sees that is evaluated in a program which listens.

class Names(ProgramCase):
    def test_evaluated_code_sees_the_names_of_main_or_those_of_the_given_namespace(self):
        source = 'import imago\nmine = 1\nnames = {"other": 2}\nimago.listen(%s)\nwait_for_end()'
        self.assertEqual(self.program(source % '').attach().value('mine'), '1')
        link = self.program(source % 'namespace=names').attach()
        self.assertEqual(link.value('other'), '2')
        self.assertEqual(link.evaluate('mine')['type'], 'raised')

    def test_without_a_namespace_evaluated_code_sees_the_module_that_listens_whoever_runs_it(self):
        source = (
            'import types, sys\n'
            'app = types.ModuleType("webapp")\n'
            'sys.modules["webapp"] = app\n'
            'exec("import imago\\nhits = 7\\ndef begin():\\n    return imago.listen()", vars(app))\n'
            'app.begin()\nwait_for_end()\n'
        )
        link = self.program(source).attach()
        self.assertEqual(link.value('hits, __name__'), "(7, 'webapp')")

    def test_a_pool_of_the_standard_library_that_calls_it_is_not_the_program(self):
        source = 'import imago, threading\nkept = 5\nthreading.Thread(target=imago.listen).start()\nwait_for_end()\n'
        self.assertEqual(self.program(source).attach().value('kept'), '5')


# ``imago.listen()`` in programs that another tool runs, and where there is no place to listen.

#: What pydevd, the debugger of VS Code and PyCharm, does to a program before it begins.
DEBUGGED = """
import _thread, sys
_thread._original_start_new_thread = start = _thread.start_new_thread
settrace = sys.settrace

def trace(frame, event, argument):
    return trace

def start_traced(work, arguments=(), kwargs={}):
    def run():
        settrace(trace)
        work(*arguments, **kwargs)
    return start(run, ())

def warn(hook):
    sys.stderr.write('settrace() should not be used\\n')
    settrace(hook)

_thread.start_new_thread = start_traced
sys.settrace = warn

import imago
imago.listen()
wait_for_end()
"""


class Tools(ProgramCase):
    def test_evaluated_code_sees_the_names_of_a_program_that_a_profiler_runs(self):
        source = 'import imago\nmine = 1\nimago.listen()\nwait_for_end()'
        link = self.program(source, options=['-m', 'cProfile']).attach()
        self.assertEqual(link.value('mine, __name__'), "(1, '__main__')")
        self.assertEqual(link.evaluate('runctx')['type'], 'raised')

    def test_a_debugger_of_the_programs_neither_traces_our_threads_nor_is_disturbed(self):
        program = self.program(DEBUGGED)
        link = program.attach()
        link.call('threads', limit=10, frames=10, locals=True, deadline_ms=5000).answer()
        self.assertEqual(link.value('sys.gettrace()'), 'None')
        self.assertEqual(program.end(), 0)
        self.assertEqual(bytes(program.printed[2]), b'')


POOL = """
import imago, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

def whoami(_):
    return imago.listen().name

if __name__ == '__main__':
    for way in 'fork', 'spawn', 'forkserver':
        with ProcessPoolExecutor(1, get_context(way), imago.listen, ('worker',)) as pool:
            print(way, *pool.map(whoami, [0]), flush=True)
"""


class Pools(ProgramCase):
    def test_workers_of_a_pool_that_begin_by_listening_take_it_back_when_they_end(self):
        program = self.program(POOL)
        self.assertEqual(program.end(), 0)
        self.assertEqual(program.said(), 'fork worker\nspawn worker\nforkserver worker\n\n')
        self.assertEqual(bytes(program.printed[2]), b'')
        self.assertEqual(os.listdir(os.path.join(program.runtime, 'programs')), [])


class Places(ProgramCase):
    def test_a_runtime_directory_that_cannot_be_made_is_named_with_what_to_do(self):
        program = self.program(
            'import imago, os\n'
            'open("file", "w").close()\n'
            'os.environ.update(IMAGO_RUNTIME_DIR="", XDG_RUNTIME_DIR=os.path.abspath("file/run"))\n'
            'try: imago.listen()\n'
            'except OSError as error: print(error, flush=True)\n'
        )
        program.end()
        self.assertRegex(program.said(), 'the runtime directory .*/file/run/imago cannot be made: .*file.*; set IMAGO')
