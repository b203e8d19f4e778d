import threading
import unittest

from imago.workers import Workers
from tests.daemon import WAIT


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
            Workers().do(look)
            self.assertTrue(done.wait(WAIT))
        finally:
            hook_into(None)
        return [name for name in seen if name in ('look', 'set', 'notify_all')]

    def test_a_trace_of_all_threads_does_not_run_inside_looks(self):
        self.assertEqual(self.seen_while_looking(threading.settrace), [])

    def test_a_profile_of_all_threads_does_not_run_inside_looks(self):
        self.assertEqual(self.seen_while_looking(threading.setprofile), [])
