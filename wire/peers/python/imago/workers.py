"""Threads that look while code runs: made when all others are busy, up to a few, and ended soon after the last look.

They outlive a look because the next one mostly follows at once. While there are none, nothing waits and nothing wakes.
"""

import collections
import sys

from imago import native
from imago.native import report_fault

MOST = 8
#: Threads more that may be stuck in tasks that were given up. Beyond these, such a task keeps one of the others.
MOST_STUCK = 32
#: Seconds for which one that has nothing to do waits for more.
IDLE = 3.0


class Task:
    """What is to be run, and how far that is: ``new``, ``waiting``, ``running``, ``ended`` or ``given_up``."""

    __slots__ = ('run', 'state')

    def __init__(self, run):
        self.run = run
        self.state = 'new'


class Workers:
    """Does tasks, each once, on at most ``MOST`` threads of ours. For any thread."""

    def __init__(self):
        self._tasks = collections.deque()
        #: Of the workers that wait, each a lock that whoever has a task for it releases.
        self._bells = []
        self._count = 0
        #: Tasks that wait or run.
        self._open = 0
        #: Threads that are stuck in tasks that were given up. They are none of ``_count``.
        self._stuck = 0
        self._changing = native.Lock()

    def do(self, task):
        """Runs a ``Task`` on some worker, soon."""
        with self._changing:
            if task.state == 'given_up':
                return
            task.state = 'waiting'
            self._open += 1
            self._put(task)
            self._start_enough()

    def give_up(self, task):
        """Drops a task that has not begun. One that runs cannot be stopped: it keeps its thread, and others get a new one."""
        with self._changing:
            if task.state == 'waiting':
                self._tasks.remove(task)
                self._open -= 1
            elif task.state == 'running' and self._stuck < MOST_STUCK:
                self._stuck += 1
                self._count -= 1
                self._open -= 1
                self._start_enough()
            elif task.state != 'new':
                return
            task.state = 'given_up'

    def stop(self):
        """Ends each worker once it has nothing left to do. A later task begins another one."""
        with self._changing:
            for _ in range(self._count):
                self._put(None)

    def _start_enough(self):
        if self._count < min(self._open, MOST):
            native.start(self._work, 'imago-look')
            self._count += 1

    def _put(self, task):
        self._tasks.append(task)
        if self._bells:
            self._bells.pop().release()

    def _next(self):
        """The next task; ``None`` where none has come for ``IDLE`` seconds, or a worker is to end.

        A queue of the interpreter would do, but ``get`` of CPython 3.9 and 3.10 forgets its timeout when it is woken
        for what another thread has taken.
        """
        bell = native.Lock()
        bell.acquire()
        with self._changing:
            if self._tasks:
                return self._take()
            self._bells.append(bell)
        bell.acquire(True, IDLE)
        with self._changing:
            if bell in self._bells:
                self._bells.remove(bell)
            return self._take() if self._tasks else None

    def _take(self):
        task = self._tasks.popleft()
        if task is not None:
            task.state = 'running'
        return task

    def _work(self):
        # What the program traces or profiles is its own threads: its hook would run in the midst of looks.
        # Only if there is one: debuggers put functions that complain in the place of these two.
        if sys.gettrace() is not None:
            sys.settrace(None)
        if sys.getprofile() is not None:
            sys.setprofile(None)
        while True:
            task = self._next()
            if task is None:
                if self._is_spared():
                    return
                continue
            try:
                task.run()
            except BaseException:
                report_fault('a look')
            with self._changing:
                if task.state == 'given_up':
                    self._stuck -= 1
                    return
                task.state = 'ended'
                self._open -= 1

    def _is_spared(self):
        """Whether this worker, which has nothing to do, may end: not while a task has no other one."""
        with self._changing:
            if self._open >= self._count:
                return False
            self._count -= 1
            return True
