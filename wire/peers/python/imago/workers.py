"""Threads that look while code runs: made when all others are busy, up to a few, and ended soon after the last look.

They outlive a look because the next one mostly follows at once. While there are none, nothing waits and nothing wakes.
"""

import sys

from imago import native
from imago.clock import report_fault

MOST = 8
#: Seconds for which one that has nothing to do waits for more.
IDLE = 3.0


class Workers:
    """Does tasks, each once, on at most ``MOST`` threads of ours. For any thread."""

    def __init__(self):
        self._tasks = native.SimpleQueue()
        self._count = 0
        #: Tasks that wait or run.
        self._open = 0
        self._changing = native.Lock()

    def do(self, task):
        """Runs ``task()`` on some worker, soon."""
        with self._changing:
            if self._count < min(self._open + 1, MOST):
                native.start(self._work, 'imago-look')
                self._count += 1
            self._open += 1
            self._tasks.put(task)

    def stop(self):
        """Ends each worker once it has nothing left to do. A later task begins another one."""
        with self._changing:
            for _ in range(self._count):
                self._tasks.put(None)

    def _work(self):
        # What the program traces or profiles is its own threads: its hook would run in the midst of looks.
        # Only if there is one: debuggers put functions that complain in the place of these two.
        if sys.gettrace() is not None:
            sys.settrace(None)
        if sys.getprofile() is not None:
            sys.setprofile(None)
        while True:
            try:
                task = self._tasks.get(True, IDLE)
            except native.Empty:
                task = None
            if task is None:
                if self._is_spared():
                    return
                continue
            try:
                task()
            except BaseException:
                report_fault('a look')
            with self._changing:
                self._open -= 1

    def _is_spared(self):
        """Whether this worker, which has nothing to do, may end: not while a task has no other one."""
        with self._changing:
            if self._open >= self._count:
                return False
            self._count -= 1
            return True
