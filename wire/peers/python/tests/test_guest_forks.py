"""Programs that fork, that end in every way there is, and whose signals are their own."""

import os
import signal
import unittest

from tests.daemon import LONG, WAIT, until
from tests.guests import PLAIN, ProgramCase

FORKS = """
import imago, os, sys
imago.listen()
kept = 1
sys.stdin.readline()
child = os.fork()
if child == 0:
    %s
    wait_for_end()
    sys.exit(3)
print('child', child, flush=True)
wait_for_end()
print('status', os.waitpid(child, 0)[1] >> 8, flush=True)
"""

POOL = """
import imago, multiprocessing, os, sys
listener = imago.listen()
def work(n):
    return n * n, os.getpid(), listener.address, len(threads())
def threads():
    return os.listdir('/proc/self/task') if os.path.exists('/proc/self/task') else [0]
if __name__ == '__main__':
    context = multiprocessing.get_context('%s')
    with context.Pool(2) as pool:
        results = pool.map(work, range(8))
        print('squares', [result[0] for result in results])
        print('addresses', sorted({str(result[2]) for result in results}))
        sys.stdout.flush()
        sys.stdin.readline()
    print('done', flush=True)
    wait_for_end()
"""

LISTENING_POOL = """
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

#: From 3.12 on, Python itself says of a fork that the process has threads: it has ours.
QUIET = ('-W', 'ignore:This process:DeprecationWarning')


class Forks(ProgramCase):
    def forked(self, in_child='pass'):
        """A program with a link to it and then a child; ``(program, link)``."""
        program = self.program(FORKS % in_child, options=QUIET)
        link = program.attach()
        link.evaluate('handle = [1]')
        program.tell('')
        program.until_printed('child')
        return program, link

    def test_a_forked_child_serves_nothing_and_leaves_the_link_and_the_announcement_to_its_parent(self):
        program, link = self.forked()
        self.assertEqual(link.value('os.getpid()'), str(program.process.pid))
        ((path, said),) = program.announcements()
        self.assertEqual(said['pid'], program.process.pid)
        program.process.stdin.close()
        program.until_printed('status 3')
        self.assertTrue(link.ended.wait(WAIT))
        self.assertEqual(program.wait(), 0)
        self.assertFalse(os.path.exists(path))
        self.assertEqual(bytes(program.printed[2]), b'')

    def test_a_child_that_ends_first_takes_nothing_with_it_and_a_daemon_sees_the_end_of_its_parent(self):
        program, link = self.forked('sys.exit(5)')
        until(lambda: link.value('os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT).si_status') == '5')
        self.assertEqual(link.value('kept'), '1')
        program, link = self.forked()
        program.process.kill()
        self.assertTrue(link.ended.wait(WAIT))

    def test_a_child_can_listen_itself_beside_its_parent(self):
        program, link = self.forked('kept = 2; imago.listen()')
        pid = int(link.value('child'))
        child = program.attach(program.announcement(pid))
        self.assertEqual(child.value('kept, os.getpid()'), '(2, %d)' % pid)
        self.assertEqual(link.value('kept'), '1')
        self.assertNotEqual(child.hello['epoch'], link.hello['epoch'])
        program.process.stdin.close()
        self.assertEqual(program.wait(), 0)
        self.assertEqual(program.announcements(), [])

    def test_a_child_forked_by_evaluated_code_ends_with_that_code_and_prints_where_the_program_does(self):
        program = self.program(options=QUIET)
        link = program.attach()
        call = link.start(
            'import os\nchild = os.fork()\n'
            'if child == 0: print("in the child", flush=True)\n'
            'else: print("in the parent"); status = os.waitpid(child, 0)[1]\n'
        )
        self.assertEqual(call.answer()['type'], 'done')
        self.assertEqual(call.output(), 'in the parent\n')
        program.until_printed('in the child')
        self.assertEqual(link.value('status'), '0')

    def test_a_child_forked_elsewhere_while_code_is_evaluated_has_the_programs_own_streams(self):
        program = self.program(
            'import imago, os, sys\n'
            'imago.listen()\n'
            'sys.__stdin__.readline()\n'
            'before = type(sys.stdout).__name__\n'
            'child = os.fork()\n'
            'if child == 0: print("child", type(sys.stdout).__name__, flush=True); os._exit(0)\n'
            'os.waitpid(child, 0)\n'
            'print("parent", before, flush=True)\n'
            'wait_for_end()'
        )
        link = program.attach()
        call = link.start(
            'import time\nprint("on")\nwhile "before" not in globals(): time.sleep(0.01)\ntime.sleep(0.5)'
        )
        call.until_printed('on')
        program.tell('')
        program.until_printed('child TextIOWrapper')
        program.until_printed('parent StandIn')
        self.assertEqual(call.answer()['type'], 'done')

    def test_a_program_that_turns_into_a_daemon_leaves_its_child_unannounced_until_that_listens(self):
        program = self.program(
            'import imago, os, sys\n'
            'imago.listen("before")\n'
            'if os.fork(): os._exit(0)\n'
            'os.setsid()\n'
            'os.closerange(3, 1024)\n'
            'imago.listen("after")\n'
            'wait_for_end()'
        )
        until(lambda: 'after' in [said['name'] for _, said in program.announcements()])
        names = {said['name']: said for _, said in program.announcements()}
        link = program.attach(names['after'])
        self.assertEqual(link.value('1+1'), '2')
        self.assertNotEqual(names['before']['pid'], names['after']['pid'])
        program.process.stdin.close()
        self.assertTrue(link.ended.wait(WAIT))


class Pools(ProgramCase):
    def test_workers_serve_nothing_however_they_come_to_be_though_the_program_listens_at_its_top_level(self):
        for method in ('fork', 'spawn', 'forkserver'):
            with self.subTest(method):
                program = self.program(POOL % method)
                link = program.attach()
                program.until_printed('addresses')
                self.assertEqual([one['pid'] for _, one in program.announcements()], [program.process.pid])
                self.assertEqual(link.value('os.getpid()'), str(program.process.pid))
                program.tell('')
                program.until_printed('done')
                self.assertEqual(program.end(), 0)
                self.assertIn("squares [0, 1, 4, 9, 16, 25, 36, 49]\naddresses ['None']\n", program.said())
                self.assertEqual(program.announcements(), [])

    def test_workers_that_begin_by_listening_take_it_back_when_they_end(self):
        program = self.program(LISTENING_POOL)
        self.assertEqual(program.end(), 0)
        self.assertEqual(program.said(), 'fork worker\nspawn worker\nforkserver worker\n\n')
        self.assertEqual(program.announcements(), [])


class Ends(ProgramCase):
    def busy(self, end):
        """A program with a link, an evaluation that runs, one that waits, and threads, that then does ``end``."""
        program = self.program(
            'import imago, os, signal, sys, threading, time\n'
            'imago.listen()\n'
            'def spin():\n'
            '    while True: time.sleep(0.001)\n'
            'threading.Thread(target=spin, daemon=True).start()\n'
            'sys.__stdin__.readline()\n' + end
        )
        said = program.announcement()
        link = program.attach()
        call = link.start('import time\nprint("on")\nwhile True: time.sleep(0.001)')
        call.until_printed('on')
        link.start('"never"')
        link.call('globals', modules=False, limit=10, deadline_ms=60_000).answer()
        program.tell('')
        code = program.wait()
        self.assertTrue(link.ended.wait(WAIT))
        return program, code, said

    def test_a_program_that_ends_while_code_is_evaluated_ends_as_ever_and_without_a_word(self):
        for end, expected in [('pass', 0), ('sys.exit(9)', 9), ('raise SystemExit', 0)] * (5 if LONG else 1):
            with self.subTest(end):
                program, code, _ = self.busy(end)
                self.assertEqual((code, program.said(), program.announcements()), (expected, '\n', []))

    def test_a_program_that_ends_with_an_exception_shows_only_its_own_traceback(self):
        program, code, _ = self.busy('1/0')
        self.assertEqual((code, program.said().count('Traceback')), (1, 1))
        [(_, left)] = program.announcements()
        self.assertIn('ZeroDivisionError', left['ended'])
        self.assertNotIn('imago/', program.said())

    def test_a_program_that_is_killed_leaves_its_announcement_for_the_daemon_to_judge(self):
        for end, expected in (
            ('os._exit(4)', 4),
            ('os.kill(os.getpid(), signal.SIGKILL)', -signal.SIGKILL),
            ('os.kill(os.getpid(), signal.SIGTERM)', -signal.SIGTERM),
        ):
            with self.subTest(end):
                program, code, said = self.busy(end)
                self.assertEqual((code, program.said()), (expected, '\n'))
                self.assertEqual([one for _, one in program.announcements()], [said])
                with self.assertRaises(OSError):
                    program.connection(said['address'])


class Signals(ProgramCase):
    def test_interrupting_the_program_from_its_terminal_ends_it_as_ever(self):
        # It can be attached to before it is back from listening, which it is to be interrupted after.
        program = self.program(PLAIN.replace('wait_for_end()', 'print("listens", flush=True)\nwait_for_end()'))
        link = program.attach()
        link.evaluate('1')
        program.until_printed('listens')
        program.process.send_signal(signal.SIGINT)
        self.assertEqual(program.wait(), -signal.SIGINT)
        self.assertIn(b'KeyboardInterrupt', bytes(program.printed[2]))
        self.assertNotIn(b'imago/', bytes(program.printed[2]))
        self.assertEqual(program.announcements(), [])

    def test_the_handlers_of_the_program_stay_its_own_also_while_code_is_evaluated(self):
        program = self.program(
            'import imago, signal, sys\n'
            'def ended(number, frame): print("asked to end", flush=True); sys.exit(6)\n'
            'signal.signal(signal.SIGTERM, ended)\n'
            'def handlers(): return [signal.getsignal(number) for number in signal.valid_signals()]\n'
            'before = handlers()\n'
            'imago.listen()\n'
            'wait_for_end()'
        )
        link = program.attach()
        self.assertEqual(link.value('handlers() == before'), 'True')
        link.start('import time\nprint("on")\nwhile True: time.sleep(0.01)').until_printed('on')
        program.process.send_signal(signal.SIGTERM)
        self.assertEqual(program.wait(), 6)
        self.assertEqual(bytes(program.printed[1]), b'asked to end\n')
        self.assertEqual(bytes(program.printed[2]), b'')

    @unittest.skipUnless(hasattr(signal, 'sigwait'), 'needs sigwait')
    def test_a_program_that_waits_for_signals_gets_them_though_our_threads_were_there_before_it_blocked_them(self):
        program = self.program(
            'import imago, signal\n'
            'imago.listen()\n'
            'signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})\n'
            'print("ready", flush=True)\n'
            'print("got", signal.sigwait({signal.SIGTERM, signal.SIGUSR1}) == signal.SIGTERM, flush=True)\n'
        )
        link = program.attach()
        link.call('globals', modules=False, limit=10, deadline_ms=60_000).answer()
        program.until_printed('ready')
        program.process.send_signal(signal.SIGTERM)
        self.assertEqual(program.wait(), 0)
        self.assertIn('got True', program.said())

    def test_children_of_evaluated_code_begin_with_the_signals_of_the_program(self):
        link = self.program().attach()
        code = 'import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))'
        self.assertEqual(link.value('import subprocess; subprocess.check_output([sys.executable, "-c", %r])' % code), "b'set()\\n'")
