"""One thread that does things later: flushes, deadlines, reports. What it runs must be short and never block."""

import heapq
import itertools
import threading
import time


class Clock:
    def __init__(self):
        self._due = []
        self._order = itertools.count()
        self._changed = threading.Condition(threading.Lock())
        self._thread = None

    def after(self, seconds, action):
        """Runs ``action()`` once, in so many seconds. Returns a function that calls it off."""
        timer = [time.monotonic() + seconds, next(self._order), action]
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='imago-clock', daemon=True)
                self._thread.start()
            heapq.heappush(self._due, timer)
            if self._due[0] is timer:
                self._changed.notify()

        def call_off():
            timer[2] = None

        return call_off

    def soon(self, action):
        self.after(0, action)

    def _run(self):
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > time.monotonic():
                    self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
                action = heapq.heappop(self._due)[2]
            if action is not None:
                try:
                    action()
                except Exception:
                    report_fault('a timer')


def report_fault(where):
    """Writes the exception at hand to the process's own standard error: a fault of ours, not of user code."""
    import sys
    import traceback

    try:
        sys.__stderr__.write('imago: fault in %s\n%s' % (where, traceback.format_exc()))
        sys.__stderr__.flush()
    except Exception:
        pass
