"""Where code is evaluated in a program that listens: on a thread of ours, on its loop, or wherever it says."""

import asyncio
import queue
import signal
import threading
import unittest
from unittest import mock

from imago import interrupts
from imago.places import place_for
from tests.daemon import until
from tests.evaluating import WAIT, Guest


class Program:
    """An event loop on a thread of its own, as a server has it."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(WAIT)
        self.loop.close()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def beats(self):
        """Whether the loop goes on: a callback that is put on it now runs."""
        beaten = threading.Event()
        self.loop.call_soon_threadsafe(beaten.set)
        return beaten.wait(WAIT)


def hurried():
    """The same steps, in less time, for what is not stopped. What is to be stopped has all of it (test_interrupts)."""
    return mock.patch.multiple(interrupts, REPEAT=1.0, GIVE_UP=2.0)


def started(guest, source, **place):
    """An evaluation that has come to `started.set()`."""
    guest.namespace.pop('started', None)
    call = guest.start(source, **place)
    until(lambda: 'started' in guest.namespace and guest.namespace['started'].is_set())
    return call


WHERE = 'threading.get_ident()'
SLEEP = 'import asyncio, threading\nstarted = threading.Event()\nasync def wait():\n    started.set()\n'


class OwnThread(unittest.TestCase):
    def test_a_thread_is_made_for_the_first_evaluation_and_kept(self):
        before = threading.get_ident()
        guest = Guest(place_for('thread'))
        first = guest.value(WHERE)
        self.assertNotEqual(first, str(before))
        self.assertEqual(guest.value(WHERE), first)

    def test_awaits_run_on_the_loop_of_the_program_and_the_rest_on_the_thread(self):
        with Program() as program:
            guest = Guest(place_for('thread', program.loop))
            source = (
                'import asyncio\nbefore = threading.get_ident()\nloop = await asyncio.sleep(0, asyncio.get_running_loop())\n'
                'inside = threading.get_ident()'
            )
            self.assertEqual(guest.evaluate(source)['type'], 'done')
            self.assertIs(guest.namespace['loop'], program.loop)
            self.assertEqual(guest.namespace['inside'], program.thread.ident)
            self.assertNotEqual(guest.value(WHERE), str(program.thread.ident))
            self.assertEqual(guest.value('await asyncio.sleep(0, 7)'), '7')

    def test_the_thread_is_free_to_be_interrupted_while_code_awaits_and_the_task_is_cancelled(self):
        with Program() as program:
            guest = Guest(place_for('thread', program.loop))
            call = started(
                guest,
                SLEEP + '    try: await asyncio.sleep(3600)\n    finally: tidied.append(1)\ntidied = []\nawait wait()',
            )
            self.assertEqual(guest.interrupt(call)()['outcome'], 'stopped')
            outcome = call.answer()
            self.assertEqual(outcome['type'], 'interrupted')
            self.assertEqual([frame['function'] for frame in outcome['exception']['frames']][:2], ['<module>', 'wait'])
            self.assertEqual(guest.namespace['tidied'], [1])
            self.assertTrue(program.beats())
            self.assertEqual(guest.value('await asyncio.sleep(0, 8)'), '8')

    def test_without_a_loop_busy_coroutines_are_interrupted_and_tasks_of_earlier_calls_are_not(self):
        guest = Guest(place_for('thread'))
        guest.evaluate(
            'import asyncio, time\nasync def toil():\n    while True:\n        began = time.perf_counter()\n'
            '        while time.perf_counter() - began < 0.01: pass\n        await asyncio.sleep(0)\n'
            'async def begin():\n    return asyncio.create_task(toil())\ntask = await begin()'
        )
        for body in ('    await asyncio.sleep(3600)\n', '    while True: pass\n') * 2:
            call = started(guest, SLEEP + body + 'await wait()')
            self.assertEqual(guest.interrupt(call)()['outcome'], 'stopped', body)
            self.assertEqual(call.answer()['type'], 'interrupted')
            self.assertFalse(guest.namespace['task'].done())
        guest.evaluate('task.cancel()')

    def test_a_program_whose_tasks_begin_at_once_is_no_different(self):
        if not hasattr(asyncio, 'eager_task_factory'):
            self.skipTest('this Python has no eager tasks')
        with Program() as program:
            program.loop.set_task_factory(asyncio.eager_task_factory)
            guest = Guest(place_for('thread', program.loop))
            self.assertEqual(guest.value('import asyncio\nawait asyncio.sleep(0, 7)'), '7')
            self.assertEqual(guest.value('async def at_once(): return 8\nawait at_once()'), '8')
            call = guest.start('on = 1\nwhile True: pass')
            until(lambda: 'on' in guest.namespace)
            self.assertEqual(guest.interrupt(call)()['outcome'], 'stopped')

    def test_awaits_run_on_the_one_loop_that_began_after_the_program_listened(self):
        guest = Guest(place_for('thread'))
        with Program() as program:
            self.assertTrue(program.beats())
            self.assertEqual(guest.value('import asyncio\nawait asyncio.sleep(0, %s)' % WHERE), str(program.thread.ident))
            call = started(guest, SLEEP + '    await asyncio.sleep(3600)\nawait wait()')
            self.assertEqual(guest.interrupt(call)()['outcome'], 'stopped')
            self.assertTrue(program.beats())
        self.assertNotEqual(guest.value('await asyncio.sleep(0, %s)' % WHERE), str(program.thread.ident))

    def test_where_several_loops_run_the_answer_names_their_threads_and_nothing_is_awaited(self):
        guest = Guest(place_for('thread'))
        with Program() as first, Program() as second:
            self.assertTrue(first.beats() and second.beats())
            outcome = guest.evaluate('begun = []\nasync def begin():\n    begun.append(1)\nawait begin()')
            said = outcome['exception']['message']
            self.assertIn('several event loops run in the program, in ', said)
            self.assertIn(first.thread.name, said)
            self.assertIn('run_coroutine_threadsafe', said)
            self.assertNotIn('begun', guest.namespace)

    def test_a_loop_that_has_ended_is_not_waited_for(self):
        program = Program()
        with program:
            guest = Guest(place_for('thread', program.loop))
        self.assertEqual(guest.value('import asyncio\nawait asyncio.sleep(0, 3)'), '3')

    def test_a_loop_that_is_closed_while_code_awaits_holds_nothing_up(self):
        with Program() as program:
            guest = Guest(place_for('thread', program.loop))
            call = started(guest, SLEEP + '    await asyncio.sleep(3600)\nawait wait()')
        self.assertEqual(guest.interrupt(call)()['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.assertEqual(guest.value('6 * 7'), '42')


    def test_code_runs_below_a_frame_that_takes_more_than_half_of_a_large_chunk_of_the_stack(self):
        guest = Guest(place_for('thread'))
        guest.evaluate(
            'import sys\ndef slots(frame):\n'
            '    return [] if frame is None else [frame.f_code.co_stacksize, *slots(frame.f_back)]\n'
        )
        self.assertGreater(int(guest.value('max(slots(sys._getframe()))')), 2**20 // 8)


class OnLoop(unittest.TestCase):
    def setUp(self):
        self.program = Program().__enter__()
        self.addCleanup(self.program.__exit__)
        self.guest = Guest(place_for('loop', self.program.loop))

    def test_everything_runs_on_the_loop(self):
        self.assertEqual(self.guest.value(WHERE), str(self.program.thread.ident))
        awaited = self.guest.value('import asyncio\nawait asyncio.sleep(0, %s)' % WHERE)
        self.assertEqual(awaited, str(self.program.thread.ident))

    def test_the_loop_goes_on_while_an_evaluation_awaits_and_others_wait_their_turn(self):
        call = self.guest.start(
            'import asyncio\ngo = asyncio.Event()\nreached = True\nawait go.wait()\norder = ["first"]\n"went"'
        )
        until(lambda: 'reached' in self.guest.namespace)
        second = self.guest.start('order.append("second")\norder')
        self.assertTrue(self.program.beats())
        self.assertEqual(self.guest.evaluator.status()['queued'], 1)
        self.program.loop.call_soon_threadsafe(self.guest.namespace['go'].set)
        self.assertEqual(call.answer()['values'][0]['repr']['text'], "'went'")
        self.assertEqual(second.answer()['values'][0]['repr']['text'], "['first', 'second']")

    def test_a_task_that_waits_is_cancelled_and_one_that_is_busy_is_interrupted(self):
        for body in ('    await asyncio.sleep(3600)\n', '    while True: pass\n'):
            call = started(self.guest, SLEEP + body + 'await wait()')
            self.assertEqual(self.guest.interrupt(call)()['outcome'], 'stopped', body)
            self.assertEqual(call.answer()['type'], 'interrupted')
            self.assertTrue(self.program.beats())

    def test_busy_code_without_await_is_interrupted_and_the_loop_goes_on(self):
        call = self.guest.start('reached = True\nwhile True: pass')
        until(lambda: 'reached' in self.guest.namespace)
        self.assertEqual(self.guest.interrupt(call)()['outcome'], 'stopped')
        self.assertTrue(self.program.beats())
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_code_that_exits_ends_neither_the_loop_nor_the_program(self):
        for source in ('raise SystemExit', 'import asyncio\nawait asyncio.sleep(0)\nraise KeyboardInterrupt'):
            self.assertEqual(self.guest.evaluate(source)['type'], 'raised')
            self.assertTrue(self.program.beats())

    @hurried()
    def test_a_task_that_catches_its_cancellation_is_told_of_with_its_place(self):
        call = started(
            self.guest,
            SLEEP + '    while not free:\n        try: await asyncio.sleep(3600)\n        except asyncio.CancelledError: pass\n'
            'free = []\nawait wait()',
            file='/app/tough.py',
        )
        report = self.guest.interrupt(call)()
        self.assertEqual(report['outcome'], 'still_running')
        self.assertNotIn('offer', report)
        self.assertIn('/app/tough.py:6 in wait, inside asyncio/tasks.py', report['message'])
        self.assertIn('cancelled twice', report['message'])
        self.guest.namespace['free'].append(1)
        again = self.guest.interrupt(call)
        self.assertEqual(call.answer()['type'], 'done')
        self.assertEqual(again()['outcome'], 'not_running')

    def test_a_closed_loop_is_an_error_of_each_evaluation_and_of_nothing_else(self):
        other = Program()
        with other:
            guest = Guest(place_for('loop', other.loop))
            self.assertEqual(guest.value('1'), '1')
        for _ in range(3):
            outcome = guest.evaluate('2')
            self.assertEqual((outcome['type'], outcome['exception']['type']['name']), ('raised', 'RuntimeError'))


class Through(unittest.TestCase):
    def test_a_callable_decides_where_and_when(self):
        steps = queue.Queue()
        guest = Guest(place_for(steps.put))
        call = guest.start(WHERE)
        self.assertEqual(guest.evaluator.status()['queued'], 1)
        steps.get(timeout=WAIT)()
        self.assertEqual(call.answer()['values'][0]['repr']['text'], str(threading.get_ident()))

    def test_what_it_has_not_run_yet_is_withdrawn(self):
        steps = queue.Queue()
        guest = Guest(place_for(steps.put))
        call = guest.start('ran = True')
        step = steps.get(timeout=WAIT)
        self.assertEqual(guest.interrupt(call)()['outcome'], 'withdrawn')
        step()
        self.assertNotIn('ran', guest.namespace)
        later = guest.start('1')
        steps.get(timeout=WAIT)()
        self.assertEqual(later.answer()['type'], 'done')

    def test_one_that_fails_is_an_error_of_the_evaluation(self):
        def put(step):
            raise ValueError('the window is gone')

        guest = Guest(place_for(put))
        outcome = guest.evaluate('1')
        self.assertEqual((outcome['type'], outcome['exception']['message']), ('raised', 'the window is gone'))
        self.assertEqual(guest.evaluate('2')['type'], 'raised')

    def test_awaits_are_tasks_on_the_loop_that_runs_there(self):
        with Program() as program:
            guest = Guest(place_for(program.loop.call_soon_threadsafe))
            awaited = guest.value('import asyncio\nawait asyncio.sleep(0.001, %s)' % WHERE)
            self.assertEqual(awaited, str(program.thread.ident))
            self.assertTrue(program.beats())


class Choosing(unittest.TestCase):
    def test_what_is_no_place_is_refused_in_clear_words(self):
        for wrong, fault, words in (
            ('main', ValueError, 'thread'),
            (3, TypeError, 'int'),
            ('loop', ValueError, 'event loop'),
        ):
            with self.assertRaisesRegex(fault, words):
                place_for(wrong)


class Attached(unittest.TestCase):
    """What can be interrupted on a thread of a program that is not ours: no signal is ever sent."""

    def setUp(self):
        self.signals = []
        before = signal.signal(signal.SIGINT, lambda *_: self.signals.append(1))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.guest = Guest(place_for('thread'))

    def tearDown(self):
        self.assertEqual(self.signals, [])

    def running(self, source, **place):
        self.guest.namespace.pop('on', None)
        call = self.guest.start(source, **place)
        until(lambda: 'on' in self.guest.namespace)
        return call

    def test_python_code_is_stopped(self):
        for source in ('on = 1\nwhile True: pass', 'import re\non = 1\nwhile True: re.match("a*", "a" * 100)'):
            call = self.running(source)
            self.assertEqual(self.guest.interrupt(call)()['outcome'], 'stopped')
            self.assertEqual(call.answer()['exception']['type']['name'], 'KeyboardInterrupt')

    @hurried()
    def test_a_blocking_call_is_told_of_with_its_place_and_is_interrupted_when_it_returns(self):
        source = 'import socket\na, b = socket.socketpair()\non = 1\na.recv(1)\nlater = 1'
        call = self.running(source, file='/app/reads.py', line=1)
        report = self.guest.interrupt(call)()
        self.assertEqual(report['outcome'], 'still_running')
        self.assertNotIn('offer', report)
        self.assertIn('/app/reads.py:4 in <module>', report['message'])
        self.assertIn('takes effect when that call returns', report['message'])
        self.assertIn('never signals a program that is not its own', report['message'])
        self.guest.namespace['b'].send(b'x')
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.assertNotIn('later', self.guest.namespace)
        self.assertEqual(self.guest.value('1'), '1')

    @hurried()
    def test_fault_4_code_that_swallows_interrupts_is_told_of_and_may_be_interrupted_again(self):
        source = (
            'import time\nfree, on = [], 1\nwhile not free:\n    try:\n        while not free:\n            try:\n'
            '                while not free: time.sleep(0.01)\n            except BaseException: pass\n'
            '    except BaseException: pass\n"freed"'
        )
        call = self.running(source, file='/app/deaf.py', line=1)
        report = self.guest.interrupt(call)()
        self.assertEqual(report['outcome'], 'still_running')
        self.assertRegex(report['message'], '/app/deaf.py:[0-9]+ in <module>')
        self.assertIn('raised in it twice', report['message'])
        self.guest.namespace['free'].append(1)
        self.assertEqual(call.answer()['type'], 'done')


if __name__ == '__main__':
    unittest.main()
