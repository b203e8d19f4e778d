"""``imago.listen()`` in programs of every shape, and what they make known of themselves."""

import os
import stat
import subprocess
import sys
import types
import unittest
from unittest import mock

from imago import ipython
from tests.daemon import WAIT, until
from tests.guests import PACKAGE, ProgramCase

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
