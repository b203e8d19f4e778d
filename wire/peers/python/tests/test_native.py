import os
import re
import threading
import time
import unittest

from imago import native
from tests.daemon import WAIT
from tests.guests import PACKAGE


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
        deadline = time.monotonic() + WAIT
        while 'at-work' in native.names().values() and time.monotonic() < deadline:
            time.sleep(0.001)
        self.assertNotIn('at-work', native.names().values())


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
