"""Programs that call `imago.listen()`: what they make known, who is let in, and what they pay for it."""

import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

from imago import ipython
from imago import listener
from imago.listener import Announcement, name_of, runtime_directory
from tests.daemon import PACKAGE, WAIT, until
from tests.guests import PLAIN, PlainCase, ProgramCase, Refused, open_kernel

on_linux = unittest.skipUnless(sys.platform.startswith('linux'), 'reads /proc')

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
    imago.listen(%s)
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

CALLABLE = """
import imago, queue, threading
works = queue.Queue()
imago.listen(evaluate=works.put)
while True:
    work = works.get()
    if work is None: break
    work()
"""

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


class Listening(ProgramCase):
    def test_two_lines_in_a_program_with_threads_let_it_be_looked_at_and_evaluated_in(self):
        program = self.program(THREADS)
        program.until_printed('ready')
        link = program.attach()
        self.assertEqual(link.value('worker.is_alive()'), 'True')
        link.evaluate('count = -1000000')
        self.assertLess(int(link.value('count')), 0)
        found = link.call('globals', modules=False, limit=10, deadline_ms=60_000).answer()
        self.assertIn('worker', [entry['name'] for entry in found['value']['globals']])
        self.assertEqual(program.end(), 0)
        self.assertEqual((program.said(), program.announcements()), ('ready\n\n', []))

    def test_a_program_on_asyncio_goes_on_while_code_is_evaluated_and_awaits_on_its_loop(self):
        program = self.program(ASYNCIO % '')
        link = program.attach()
        link.evaluate('import threading\nasync def where(): return threading.get_ident()')
        self.assertEqual(link.value('await where() == loop_thread'), 'True')
        self.assertEqual(link.value('threading.get_ident() == loop_thread'), 'False')
        call = link.start('before = len(log)\nwhile len(log) < before + 5: pass\nlen(log) >= before')
        self.assertEqual(call.answer()['values'][0]['repr']['text'], 'True')
        self.assertEqual((program.end(), program.said()), (0, 'ready\n\n'))

    def test_the_place_of_evaluations_can_be_the_loop_of_the_program_or_a_callable_of_its(self):
        link = self.program(ASYNCIO % 'evaluate="loop"').attach()
        self.assertEqual(link.value('import threading; threading.get_ident() == loop_thread'), 'True')
        program = self.program(CALLABLE)
        link = program.attach()
        where = 'import threading; threading.current_thread() is threading.main_thread()'
        self.assertEqual(link.value(where), 'True')
        link.evaluate('works.put(None)')
        self.assertEqual(program.wait(), 0)

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
        self.assertEqual((program.end(), bytes(program.printed[2])), (0, b''))

    def test_evaluated_code_sees_the_names_of_what_listens_or_those_that_it_gives(self):
        module = (
            'import types, sys\n'
            'app = types.ModuleType("webapp")\n'
            'sys.modules["webapp"] = app\n'
            'exec("import imago\\nmine = 1\\ndef begin():\\n    return imago.listen()", vars(app))\n'
            'app.begin()\nwait_for_end()\n'
        )
        plain = 'import imago, threading\nmine = 1\n%s\nwait_for_end()\n'
        for source, names, options in (
            (plain % 'imago.listen()', "(1, '__main__')", ()),
            (plain % 'imago.listen(namespace={"mine": 2, "__name__": "other"})', "(2, 'other')", ()),
            (module, "(1, 'webapp')", ()),
            # Called by a pool of the standard library, and under a profiler.
            (plain % 'threading.Thread(target=imago.listen).start()', "(1, '__main__')", ()),
            (plain % 'imago.listen()', "(1, '__main__')", ('-m', 'cProfile')),
        ):
            with self.subTest(source, options=options):
                link = self.program(source, options=options).attach()
                self.assertEqual(link.value('mine, __name__'), names)
                self.assertEqual(link.evaluate('runctx')['type'], 'raised')

    def test_a_thread_of_ours_is_one_of_the_program_only_while_code_of_a_caller_runs_on_it(self):
        link = self.program('import imago\nimago.listen()\nwait_for_end()').attach()

        def named():
            found = link.call('threads', limit=10, frames=10, locals=False, deadline_ms=60_000).answer()['value']
            return found['threads_total'], {one['names'][0] for one in found['threads'] if one['role'] != 'imago'}

        self.assertEqual((1, {'MainThread'}), named())
        self.assertEqual('1', link.value('1'))
        self.assertEqual((1, {'MainThread'}), named())
        running = link.start('import time; print("on")\nwhile True: time.sleep(0.01)')
        running.until_printed('on')
        self.assertEqual((2, {'MainThread', 'imago-eval'}), named())
        running.cancel()
        running.answer()

    def test_a_debugger_of_the_programs_neither_traces_our_threads_nor_is_disturbed(self):
        program = self.program(DEBUGGED)
        link = program.attach()
        link.call('threads', limit=10, frames=10, locals=True, deadline_ms=60_000).answer()
        self.assertEqual(link.value('sys.gettrace()'), 'None')
        self.assertEqual((program.end(), bytes(program.printed[2])), (0, b''))

    def test_close_takes_everything_back_and_listen_begins_anew(self):
        program = self.program(
            'import imago, sys\n'
            'listener = imago.listen()\n'
            'for line in sys.stdin:\n'
            '    if line == "close\\n": listener.close(); print("closed", listener.address, flush=True)\n'
            '    if line == "listen\\n": listener = imago.listen()\n'
        )
        said = program.announcement()
        link = program.attach()
        self.assertEqual(link.value('kept = 1; kept'), '1')
        before = None
        for _ in range(3):
            program.tell('close')
            self.assertTrue(link.ended.wait(WAIT))
            until(lambda: os.listdir(os.path.join(program.runtime, 'programs')) == [])
            program.until_printed('closed None')
            with self.assertRaises(OSError):
                program.connection(said['address'])
            if sys.platform.startswith('linux'):
                left = settled(program)
                self.assertEqual(left, before or left)
                before = left
            program.tell('listen')
            again = program.announcement()
            self.assertNotEqual(again['epoch'], said['epoch'])
            link = program.attach(again)
            self.assertEqual(link.value('kept'), '1')

    def test_a_port_of_the_loopback_interface_serves_as_well_and_a_key_that_was_given_is_told_to_nobody(self):
        key = 'k' * 32
        for arguments, env in (('', {}), (', key="%s"' % key, {}), ('', {'IMAGO_KEY': key})):
            program = self.program('import imago\nlistener = imago.listen(port=0%s)\nwait_for_end()' % arguments, env=env)
            said = program.announcement()
            self.assertRegex(said['address'], r'^tcp:127\.0\.0\.1:[1-9]\d*$')
            if arguments or env:
                self.assertNotIn('secret', said)
                self.assertNotIn(key, repr(said))
                said['secret'] = key
            self.assertEqual(program.attach(said).value('listener.address'), repr(said['address']))


class Plain(PlainCase):
    """A program that only listens: each test leaves it attached to."""

    def attach_again(self):
        self.link.close()
        type(self).link = self.guest.attach()
        return self.link

    def test_nothing_of_ours_is_in_the_users_namespace_or_among_the_threads_that_the_program_can_count(self):
        link = self.program().attach()
        link.evaluate('1')
        link.call('globals', modules=True, limit=10, deadline_ms=60_000).answer()
        names = 'sorted(name for name in globals() if not name.startswith("__"))'
        self.assertEqual(link.value(names), "['imago', 'io', 'kept', 'sys', 'threading', 'time']")
        self.assertEqual(link.value('threading.active_count()'), '1')

    def test_the_hello_says_that_the_program_is_attached_and_it_is_not_the_daemons_to_stop(self):
        hello, said = self.link.hello, self.guest.announcement()
        self.assertIs(hello['attached'], True)
        self.assertEqual((hello['role'], hello['pid'], hello['epoch']), ('kernel', said['pid'], said['epoch']))
        self.assertEqual(self.link.call('stop').failure()['code'], 'not_owned')

    @on_linux
    def test_threat_29_the_announcement_tells_the_process_from_a_later_one_of_its_number(self):
        with open('/proc/%d/stat' % self.guest.process.pid) as file:
            began = file.read().rpartition(')')[2].split()[19]
        with open('/proc/sys/kernel/random/boot_id') as file:
            self.assertEqual(self.guest.announcement()['started'], '%s:%s' % (file.read().strip(), began))

    def test_fault_7_a_daemon_that_comes_back_finds_its_handles_and_its_calls_each_having_run_once(self):
        self.link.evaluate('kept = 0')
        epoch = self.link.hello['epoch']
        handle = self.link.evaluate('list(range(300))')['values'][0]['handle']
        self.link.start('kept += 1', call='before').answer()
        source = (
            'print("before")\nkept += 1\n'
            'try:\n    while True: time.sleep(0.01)\nexcept KeyboardInterrupt: pass\nprint("after"); kept'
        )
        self.link.start(source, call='c-7').until_printed('before')
        link = self.attach_again()
        self.assertEqual(link.hello['epoch'], epoch)
        piece = link.call('more', handle=handle, **{'from': 200}, count=1, deadline_ms=60_000).answer()
        self.assertEqual(piece['value']['items'], ['200'])
        recalled = link.call('recall', call='c-7')
        joined = link.start(source, call='c-7')
        self.assertEqual(link.call('status').answer()['running']['call'], 'c-7')
        link.call('interrupt', call='c-7').answer()
        for call in (recalled, joined):
            self.assertEqual(call.answer()['values'][0]['repr']['text'], '2')
            self.assertEqual(call.output(), 'after\n')
        link.start('kept += 1', call='before').answer()
        self.assertEqual(link.value('kept'), '2')
        self.assertEqual(self.guest.said(), '\n')

    @on_linux
    def test_many_links_leave_no_thread_and_no_descriptor_behind(self):
        def round_trip():
            link = self.attach_again()
            link.call('inspect', expr='kept', deadline_ms=60_000).answer()
            self.assertEqual(link.value('"there"'), "'there'")

        for _ in range(3):
            round_trip()
        before = settled(self.guest)
        for _ in range(20):
            round_trip()
        until(lambda: threads_and_descriptors(self.guest) == before)

    @on_linux
    def test_nothing_wakes_up_while_the_program_is_idle_whether_it_is_attached_or_not(self):
        # Threads that have looked end at once: one that ends in the midst of this would be taken for one that wakes.
        attached = self.program('import imago.workers\nimago.workers.IDLE = 0.05\n' + PLAIN)
        alone = self.program()
        alone.announcement()
        link = attached.attach()
        link.evaluate('print("x" * 100000)\nkept')
        link.call('globals', modules=False, limit=10, deadline_ms=60_000).answer()
        link.evaluate('import asyncio; await asyncio.sleep(0)')
        until(lambda: is_still(attached) and is_still(alone))
        before = switches(attached), switches(alone)
        # The time is the subject: nothing is to happen in it, so there is no sign to wait for.
        time.sleep(2)
        self.assertEqual((switches(attached), switches(alone)), before)

    def test_a_program_that_stops_listening_as_a_daemon_comes_in_is_left_by_it(self):
        closing = (
            'import imago.kernel\n'
            'begin = imago.kernel.Session.begin\n'
            'def close_first(*arguments):\n'
            '    imago.listen().close()\n'
            '    return begin(*arguments)\n'
            'imago.kernel.Session.begin = close_first\n'
        )
        link = self.program(closing + PLAIN).attach()
        self.assertTrue(link.ended.wait(WAIT))

    def test_a_daemon_that_comes_in_before_the_program_is_back_from_listening_stays(self):
        held_up = (
            'import imago.guest, threading\n'
            'take, gate = imago.guest.Guest._take_errors, threading.Event()\n'
            'def wait_first(guest):\n'
            '    take(guest)\n'
            '    if threading.current_thread() is threading.main_thread(): gate.wait()\n'
            'imago.guest.Guest._take_errors = wait_first\n'
        )
        link = self.program(held_up + PLAIN).attach()
        self.assertEqual(link.value('gate.set()'), 'None')
        self.assertEqual(link.value('kept'), '0')

    def test_a_second_daemon_is_refused_while_the_first_one_answers(self):
        first = self.link

        def answer():
            ping = first.asked.get(timeout=WAIT)
            first.send({'type': 'pong', 'n': ping['n']})

        answering = threading.Thread(target=answer)
        answering.start()
        with self.assertRaises(Refused) as caught:
            self.guest.attach()
        answering.join(WAIT)
        self.assertEqual(caught.exception.args[0]['code'], 'occupied')
        self.assertIn('app', caught.exception.args[0]['message'])
        self.assertEqual(first.value('"there"'), "'there'")

    def test_fault_15_a_half_open_link_is_dropped_for_a_daemon_that_is_there(self):
        first = self.link
        first.evaluate('kept = 0')
        call = first.start('while True: time.sleep(0.01)', call='c-1')
        second = type(self).link = self.guest.attach()
        self.assertTrue(first.ended.wait(WAIT))
        again = second.call('recall', call='c-1')
        second.call('interrupt', call='c-1').answer()
        self.assertEqual(again.answer()['type'], 'interrupted')
        self.assertTrue(call.answers.empty())
        self.assertEqual(second.value('kept'), '0')

    def test_two_that_come_at_once_are_not_both_let_in(self):
        self.link.close()
        raws = [self.guest.connection() for _ in range(2)]
        secret = self.guest.announcement()['secret']
        self.assertEqual(open_kernel(raws[0], secret)['role'], 'kernel')
        with self.assertRaises((Refused, EOFError, OSError)):
            # The first one is still to be welcomed, and this one's time is over before it is not.
            open_kernel(raws[1], secret)
        raws[0].close()
        type(self).link = self.guest.attach()


class Strangers(ProgramCase):
    @on_linux
    def test_faults_19_and_21_and_threat_27_they_are_left_without_a_word_and_without_a_trace(self):
        guest = self.program()
        guest.announcement()
        before = settled(guest)
        # What else is left, and that nothing is told: see test_link.
        for sent in (b'POST / HTTP/1.1\r\nHost: localhost\r\n\r\n', struct.pack('>I', 4097), b'\x00\x00\x00\x30{"ima') * 10:
            raw = guest.connection()
            raw.connection.sendall(sent)
            raw.connection.shutdown(socket.SHUT_WR)
            self.assertTrue(raw.is_closed())
        with self.assertRaises(EOFError):
            guest.attach(secret='another secret')
        until(lambda: threads_and_descriptors(guest) == before)
        self.assertEqual(guest.attach().value('kept'), '0')
        self.assertEqual(guest.said(), '\n')

    def test_fault_22_slow_ones_keep_nobody_out_very_many_are_closed_at_once_and_all_are_given_up(self):
        # Less than it has else, and enough for a daemon on a slow machine.
        guest = self.program('import imago.connection\nimago.connection.SECONDS = 4\n' + PLAIN)
        address = guest.announcement()['address']

        def connection():
            while True:
                try:
                    return guest.connection(address)
                except BlockingIOError:
                    # More wait already than the system keeps.
                    time.sleep(0.01)

        # It says something at once: it is given up soon, and the others may be long in coming.
        first = connection()
        first.connection.sendall(b'\x00')
        slow = [first, *(connection() for _ in range(7))]
        link = guest.attach()
        self.assertEqual(link.value('kept'), '0')
        link.close()
        slow += [connection() for _ in range(192)]
        for raw in slow:
            self.assertTrue(raw.is_closed())
        self.assertEqual(guest.attach().value('kept'), '0')

    @on_linux
    def test_fault_13_a_program_without_descriptors_left_neither_spins_nor_stops_listening(self):
        guest = self.program(
            'import imago, os, resource, sys\n'
            'imago.listen()\n'
            'resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n'
            'taken = []\n'
            'try:\n'
            '    while True: taken.append(os.open(os.devnull, os.O_RDONLY))\n'
            'except OSError: pass\n'
            'print("full", flush=True)\n'
            'sys.stdin.readline()\n'
            'for one in taken: os.close(one)\n'
            'wait_for_end()'
        )
        said = guest.announcement()
        guest.until_printed('full')
        raw = guest.connection(said['address'])
        time.sleep(0.3)
        before = processor_ticks(guest)
        time.sleep(0.5)
        self.assertLess(processor_ticks(guest) - before, 10)
        guest.tell('')
        self.assertEqual(open_kernel(raw, said['secret'])['role'], 'kernel')


class Announcing(ProgramCase):
    def test_a_program_says_what_it_is_where_only_its_owner_can_read_it(self):
        program = self.program('import imago, os\nos.umask(0)\nimago.listen()\nwait_for_end()', name='my engine.py')
        said = program.announcement()
        self.assertEqual(
            (said['imago'], said['name'], said['language'], said['pid'], said['cwd'], said['program']),
            (1, 'my-engine', 'python', program.process.pid, os.path.realpath(program.folder), program.script),
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

    def test_a_program_is_called_as_its_file_is_but_never_by_a_number(self):
        for path, name in (
            ('/x/my server.py', 'my-server'),
            ('/x/2024.py', 'python-2024'),
            ('', 'python'),
            ('/x/tool/__main__.py', 'tool'),
        ):
            self.assertEqual(name_of(path), name)
        shell = types.SimpleNamespace(user_ns={})
        for path, notebook, name in (
            ('/x/2024.ipynb', True, 'notebook-2024'),
            ('/x/2024.ipynb', False, 'ipython-2024'),
            ('/x/2024-plan.ipynb', True, '2024-plan'),
            ('', True, 'notebook'),
        ):
            with mock.patch.dict(os.environ, JPY_SESSION_NAME=path):
                self.assertEqual(ipython._name(shell, notebook), name)

    def test_threat_28_a_runtime_directory_is_closed_to_others_or_refused_with_what_to_do(self):
        with tempfile.TemporaryDirectory(prefix='imago-run-') as folder:
            def prepared(name):
                with mock.patch.dict(os.environ, IMAGO_RUNTIME_DIR=os.path.join(folder, name)):
                    Announcement().prepare()

            os.makedirs(os.path.join(folder, 'open/programs'))
            for name in ('open', 'open/programs'):
                os.chmod(os.path.join(folder, name), 0o777)
            prepared('open')
            for name in ('open', 'open/programs'):
                self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o700)
            os.symlink('open', os.path.join(folder, 'link'))
            open(os.path.join(folder, 'file'), 'w').close()
            for name, words in (
                ('link', 'is a symbolic link.*IMAGO_RUNTIME_DIR'),
                ('file', 'is no directory.*IMAGO_RUNTIME_DIR'),
                ('file/run', 'the runtime directory .*/file/run.* cannot be made: .*file.*; set IMAGO_RUNTIME_DIR'),
                ('x' * 100, 'too long for a socket; set IMAGO_RUNTIME_DIR'),
            ):
                with self.assertRaisesRegex(OSError, words):
                    prepared(name)

    def test_the_runtime_directory_is_found_as_the_daemon_finds_it(self):
        own = 'imago-%d' % os.getuid()
        with tempfile.TemporaryDirectory() as home, mock.patch.object(listener, 'USERS', home):
            self._finds(home, own)

    def _finds(self, home, own):
        for env, found in (
            ({'IMAGO_RUNTIME_DIR': '/a/b/../c', 'XDG_RUNTIME_DIR': '/run/user/7'}, '/a/c'),
            ({'IMAGO_RUNTIME_DIR': '', 'XDG_RUNTIME_DIR': '/run/user/7/'}, '/run/user/7/imago'),
            ({'XDG_RUNTIME_DIR': 'relative', 'TMPDIR': '/var/tmp/'}, '/var/tmp/' + own),
            ({}, '/tmp/' + own),
        ):
            self.assertEqual(runtime_directory({'HOME': home, **env}), found)
        users = os.path.join(home, str(os.getuid()))
        os.mkdir(users, 0o700)
        self.assertEqual(runtime_directory({'HOME': home}), os.path.join(users, 'imago'))
        os.chmod(users, 0o755)
        self.assertEqual(runtime_directory({'HOME': home}), '/tmp/' + own)

    def test_the_state_directory_names_the_runtime_directory_of_the_first_who_listened(self):
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(os.path.join(home, 'run'), 0o700)
            env = {'HOME': home, 'XDG_RUNTIME_DIR': os.path.join(home, 'run')}
            one = runtime_directory(env)
            os.mkdir(one, 0o700)
            listener._tell(one, env)
            self.assertEqual(runtime_directory({'HOME': home}), one)
            listener._tell('/another', {'HOME': home})
            self.assertEqual(runtime_directory({'HOME': home}), one)
            self.assertEqual(os.listdir(os.path.join(home, '.local/state/imago')), ['runtime'])
            word = os.path.join(home, '.local/state/imago/runtime')
            for line in (b'', one.encode(), one.encode() + b'-gone\n', b'run\n', b'/a\0b\n', b'\xff\n', b'/' * 5000 + b'\n'):
                with open(word, 'wb') as file:
                    file.write(line)
                self.assertEqual(runtime_directory({'HOME': home, 'XDG_RUNTIME_DIR': '/run/7'}), '/run/7/imago', line)

    def test_who_names_a_runtime_directory_tells_nobody_of_it(self):
        with tempfile.TemporaryDirectory() as home:
            listener._tell(home, {'HOME': home, 'IMAGO_RUNTIME_DIR': home})
            self.assertEqual(os.listdir(home), [])


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
        said = run('import imago\n' + tried).splitlines()
        self.assertEqual(len(said), len(wrong))
        for line, (arguments, words) in zip(said, wrong):
            self.assertIn(words, line, arguments)

    def test_listening_twice_is_one_listener_if_it_is_asked_for_in_one_way_and_importing_imports_its_version_alone(self):
        said = run(
            'import sys, imago\n'
            'print([name for name in sys.modules if name.startswith("imago.")])\n'
            'first = imago.listen("a")\n'
            'print(imago.listen("a") is first, imago.listen() is first)\n'
            'try: imago.listen("b")\n'
            'except RuntimeError as error: print(error)\n'
        ).splitlines()
        self.assertEqual(said[:2], ["['imago.version']", 'True True'])
        self.assertIn('listens already, as a', said[2])


def run(source):
    """What a short program prints, which has a runtime directory of its own and leaves nothing in it."""
    with tempfile.TemporaryDirectory(prefix='imago-run-') as folder:
        env = dict(os.environ, IMAGO_RUNTIME_DIR=folder, PYTHONPATH=PACKAGE)
        done = subprocess.run([sys.executable, '-c', source], env=env, capture_output=True, text=True, timeout=WAIT)
        left = os.path.join(folder, 'programs')
        if os.path.exists(left) and os.listdir(left):
            raise AssertionError('it has left %s' % os.listdir(left))
        return done.stdout


def threads_and_descriptors(program):
    """How many the process has, as the system counts them."""
    process = '/proc/%d' % program.process.pid
    return len(os.listdir(process + '/task')), len(os.listdir(process + '/fd'))


def settled(program):
    """The same, once the last link has been let go of."""
    counts = []

    def is_settled():
        counts.append(threads_and_descriptors(program))
        return len(counts) > 60 and len(set(counts[-60:])) == 1

    until(is_settled)
    return counts[-1]


def processor_ticks(program):
    with open('/proc/%d/stat' % program.process.pid) as file:
        fields = file.read().rpartition(')')[2].split()
    return int(fields[11]) + int(fields[12])


def switches(program):
    """How often each thread of the process has gone to sleep so far, by its number; and whether it sleeps now."""
    tasks = '/proc/%d/task' % program.process.pid
    counts = {}
    for task in os.listdir(tasks):
        try:
            with open('%s/%s/status' % (tasks, task)) as file:
                told = dict(line.split(':', 1) for line in file)
        except (FileNotFoundError, ProcessLookupError):
            # It has ended since.
            continue
        counts[task] = int(told['voluntary_ctxt_switches']), told['State'].split()[0] == 'S'
    return counts


def is_still(program):
    """Whether nothing has woken up for a moment, and nothing is left that only waits for a processor."""
    before = switches(program)
    time.sleep(0.3)
    return switches(program) == before and all(sleeps for _, sleeps in before.values())
