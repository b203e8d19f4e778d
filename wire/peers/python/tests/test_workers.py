"""Threads of ours: what starts them, and those that look."""

import ast
import os
import re
import threading
import time
import unittest
from unittest import mock

from imago import native, workers
from imago.workers import MOST, Task, Workers
from tests.daemon import WAIT, until
from tests.guests import PACKAGE, ProgramCase


class Events(unittest.TestCase):
    def test_whoever_waits_for_an_event_is_woken_and_nobody_waits_for_one_that_is_set(self):
        event = native.Event()
        woken = []
        threads = [threading.Thread(target=lambda: woken.append(event.wait(WAIT))) for _ in range(5)]
        for thread in threads:
            thread.start()
        event.set()
        for thread in threads:
            thread.join(WAIT)
        self.assertEqual(woken, [True] * 5)
        self.assertTrue(event.wait())
        self.assertTrue(event.wait(0))

    def test_a_wait_that_is_over_is_not_one_that_was_answered(self):
        event = native.Event()
        self.assertFalse(event.wait(0.01))
        event.set()
        event.clear()
        self.assertFalse(event.wait(0))
        self.assertFalse(event.is_set())

    def test_no_wake_up_is_lost_between_two_threads_that_hand_over_to_each_other(self):
        here, there = native.Event(), native.Event()
        count = 2000

        def answer():
            for _ in range(count):
                there.wait()
                there.clear()
                here.set()

        native.start(answer, 'answers')
        for _ in range(count):
            there.set()
            self.assertTrue(here.wait(WAIT))
            here.clear()


class Threads(unittest.TestCase):
    def test_they_have_names_and_are_none_that_the_program_can_count(self):
        began, end = native.Event(), native.Event()

        def work():
            began.set()
            end.wait()

        before = threading.active_count()
        native.start(work, 'at-work')
        self.assertTrue(began.wait(WAIT))
        self.assertIn('at-work', native.names().values())
        self.assertEqual(threading.active_count(), before)
        end.set()
        until(lambda: 'at-work' not in native.names().values())


class Sources(unittest.TestCase):
    def test_nothing_of_ours_that_a_guest_has_takes_threads_or_waits_from_where_a_program_may_have_replaced_them(self):
        # Those that only a process of ours uses, which no program came to before.
        owned = {'boot.py', 'scripts.py', 'children.py', '__main__.py'}
        # What is asked of them there: which thread is the main one, and what hooks and threads the program has.
        asked = re.compile(r'threading\.(main_thread|excepthook|_active|current_thread)')
        wrong = []
        for folder, _, names in os.walk(os.path.join(PACKAGE, 'imago')):
            for name in sorted(names):
                if not name.endswith('.py') or name in owned:
                    continue
                with open(os.path.join(folder, name), encoding='utf-8') as file:
                    for number, line in enumerate(file, 1):
                        used = re.search(r'\b(threading\.[A-Z]\w+\(|queue\.[A-Z]\w+\(|time\.sleep\(|select\.\w+\()', line)
                        if used and not asked.search(line) and '"' not in line:
                            wrong.append('%s:%d %s' % (name, number, line.strip()))
        self.assertEqual(wrong, [])

    def test_every_module_and_every_public_class_of_the_peer_has_one(self):
        without = []
        for name in sorted(os.listdir(os.path.join(PACKAGE, 'imago'))):
            if not name.endswith('.py'):
                continue
            with open(os.path.join(os.path.join(PACKAGE, 'imago'), name), encoding='utf-8') as file:
                tree = ast.parse(file.read())
            classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != '_']
            without += [(name, getattr(node, 'name', None)) for node in [tree, *classes] if not ast.get_docstring(node)]
        self.assertEqual(without, [])


class Tracing(unittest.TestCase):
    def seen_while_looking(self, hook_into):
        """The functions of a look that a hook of the program saw."""
        seen, done = [], threading.Event()

        def hook(frame, event, argument):
            seen.append(frame.f_code.co_name)

        def look():
            done.set()

        hook_into(hook)
        try:
            Workers().do(Task(look))
            self.assertTrue(done.wait(WAIT))
        finally:
            hook_into(None)
        return [name for name in seen if name in ('look', 'set', 'notify_all')]

    def test_what_the_program_traces_and_profiles_in_all_threads_does_not_run_inside_looks(self):
        for hook_into in (threading.settrace, threading.setprofile):
            self.assertEqual(self.seen_while_looking(hook_into), [])


class LookThreads(unittest.TestCase):
    def setUp(self):
        # Those of other tests in this process.
        until(lambda: not self.alive())

    def alive(self):
        return [name for name in native.names().values() if name == 'imago-look']

    def occupy(self, crew, count):
        """Has so many tasks run at once, as far as the crew has threads; returns a function that lets them end."""
        go_on, begun, ended = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)

        def task():
            begun.release()
            go_on.wait(WAIT)
            ended.release()

        for _ in range(count):
            crew.do(Task(task))
        for _ in range(min(count, MOST)):
            self.assertTrue(begun.acquire(timeout=WAIT))

        def let_end():
            go_on.set()
            for _ in range(count):
                self.assertTrue(ended.acquire(timeout=WAIT))

        return let_end

    def test_those_that_have_had_nothing_to_do_for_a_while_end_and_later_tasks_begin_others(self):
        with mock.patch.object(workers, 'IDLE', 0.05):
            crew = Workers()
            for _ in range(3):
                # More tasks than threads, and then fewer.
                self.occupy(crew, 3 * MOST)()
                self.occupy(crew, 2)()
                until(lambda: not self.alive())

    def test_there_are_never_more_than_a_few_and_each_task_is_done_once_while_they_come_and_go(self):
        with mock.patch.object(workers, 'IDLE', 0.0001):
            crew, done, at_once, most = Workers(), [], [], []

            def work(number):
                # What counts is who works: one that ends still has its name for a moment.
                at_once.append(number)
                most.append(len(at_once))
                time.sleep(0.0005)
                at_once.remove(number)
                done.append(number)

            for number in range(2000):
                crew.do(Task(lambda number=number: work(number)))
            until(lambda: len(done) == 2000)
            self.assertEqual(sorted(done), list(range(2000)))
            self.assertLessEqual(max(most), MOST)
            until(lambda: not self.alive())

    def test_tasks_that_are_given_up_keep_no_thread_from_others(self):
        with mock.patch.object(workers, 'IDLE', 0.05):
            crew, go_on, begun, done = Workers(), threading.Event(), threading.Semaphore(0), []

            def hang():
                begun.release()
                go_on.wait(WAIT)

            def hang_and_give_up():
                hung = [Task(hang) for _ in range(MOST)]
                for task in hung:
                    crew.do(task)
                for _ in hung:
                    self.assertTrue(begun.acquire(timeout=WAIT))
                dropped = Task(lambda: done.append('dropped'))
                crew.do(dropped)
                for task in [dropped, *hung]:
                    crew.give_up(task)

            hang_and_give_up()
            crew.do(Task(lambda: done.append('at once')))
            until(lambda: done == ['at once'])
            for _ in range(workers.MOST_STUCK // MOST):
                hang_and_give_up()
            # By now as many are stuck as may be: the last ones keep the threads that others would need.
            self.assertLessEqual(len(self.alive()), MOST + workers.MOST_STUCK)
            crew.do(Task(lambda: done.append('late')))
            go_on.set()
            until(lambda: done == ['at once', 'late'])
            until(lambda: not self.alive())

    def test_to_stop_ends_those_that_wait_at_once_and_the_others_after_their_task(self):
        with mock.patch.object(workers, 'IDLE', 600):
            crew = Workers()
            self.occupy(crew, 4)()
            let_end = self.occupy(crew, 1)
            crew.stop()
            until(lambda: len(self.alive()) == 1)
            let_end()
            until(lambda: not self.alive())
            self.occupy(crew, 2)()
            crew.stop()
            until(lambda: not self.alive())


class InAProgram(ProgramCase):
    def test_none_is_left_when_the_daemon_has_gone(self):
        program = self.program(
            'import imago, imago.workers\n'
            'imago.workers.IDLE = 600\n'
            'imago.listen()\n'
            'wait_for_end()\n'
        )
        link = program.attach()
        calls = [link.call('globals', modules=True, limit=10, deadline_ms=60_000) for _ in range(20)]
        for call in calls:
            call.answer()
        names = '__import__("imago.native").native.names().values()'
        self.assertIn('imago-look', link.value('list(%s)' % names))
        link.close()
        link = program.attach()
        until(lambda: 'imago-look' not in link.value('list(%s)' % names))
        self.assertEqual(program.end(), 0)
