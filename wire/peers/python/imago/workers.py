"""Threads that look while code runs: made when all others are busy, up to a few, and kept."""

import queue
import sys
import threading

from imago.clock import report_fault

MOST = 8


class Workers:
    def __init__(self):
        self._tasks = queue.SimpleQueue()
        self._count = 0
        self._free = 0
        self._changing = threading.Lock()

    def do(self, task):
        """Runs ``task()`` on some worker, soon."""
        with self._changing:
            if self._free > 0:
                self._free -= 1
            elif self._count < MOST:
                self._count += 1
                threading.Thread(target=self._work, name='imago-look', daemon=True).start()
        self._tasks.put(task)

    def _work(self):
        # What the program traces or profiles is its own threads: its hook would run in the midst of looks.
        sys.settrace(None)
        sys.setprofile(None)
        while True:
            task = self._tasks.get()
            try:
                task()
            except BaseException:
                report_fault('a look')
            with self._changing:
                self._free += 1
