"""One thread that does things later: flushes, deadlines, reports. What it runs must be short and never block."""

import heapq
import itertools

from imago import native
from imago.native import time


class Clock:
    """The thread and what it has to do, soonest first. The thread begins with the first ``after``, and ``after`` may be
    called from any thread, also from what the clock runs. What raises is reported and costs nothing else its turn.
    """

    def __init__(self):
        self._due = []
        self._order = itertools.count()
        self._changing = native.RLock()
        self._changed = native.Event()
        self._started = False
        self._stopping = False

    def after(self, seconds, action):
        """Runs ``action()`` once, in so many seconds. Returns a function that calls it off."""
        timer = [time.monotonic() + seconds, next(self._order), action]
        with self._changing:
            if not self._started:
                self._started = True
                native.start(self._run, 'imago-clock')
            heapq.heappush(self._due, timer)
            first = self._due[0] is timer
        if first:
            self._changed.set()

        def call_off():
            timer[2] = None

        return call_off

    def soon(self, action):
        self.after(0, action)

    def stop(self):
        """Ends the thread once nothing is left to be done. What is asked for later begins another one."""
        with self._changing:
            self._stopping = True
            self._due = [timer for timer in self._due if timer[2] is not None]
            heapq.heapify(self._due)
        self._changed.set()

    def _run(self):
        while True:
            self._changed.clear()
            with self._changing:
                while self._due and self._due[0][2] is None:
                    heapq.heappop(self._due)
                wait = self._due[0][0] - time.monotonic() if self._due else None
                action = heapq.heappop(self._due)[2] if wait is not None and wait <= 0 else None
                if wait is None and self._stopping:
                    self._started = False
                    return
            if wait is None or wait > 0:
                self._changed.wait(wait)
            elif action is not None:
                try:
                    action()
                except Exception:
                    native.report_fault('a timer')
