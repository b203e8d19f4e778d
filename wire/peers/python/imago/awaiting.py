"""Event loops for top-level ``await``: one of our own, or the program's.

Our own goes on while nothing else does in its thread. It is made when it is first needed, so that a session without
``await`` never loads asyncio.
"""

import os
import sys


class Onto:
    """Yielded by an evaluation that must go on elsewhere: in a task of ``loop``, or at its place where that is ``None``.

    It is for whoever drives the evaluation. One that is there already goes on at once.
    """

    __slots__ = ('loop',)

    def __init__(self, loop):
        self.loop = loop


def running_loop():
    """The event loop that runs in this thread, or ``None``."""
    # While asyncio is being imported it is there, and has not got this yet.
    running = getattr(sys.modules.get('asyncio'), '_get_running_loop', None)
    return None if running is None else running()


class Loop:
    """The event loop of one thread of ours. The first ``run`` takes up the one that code there has used, or makes it,
    and so does the next after somebody has closed it.

    All is called on that thread but ``wake`` and ``nudge``.
    """

    def __init__(self):
        self._loop = None
        self._idle = False

    def idles(self):
        """Whether there is a loop to keep going while nothing is evaluated."""
        return self._loop is not None and not self._loop.is_closed()

    def run(self, coroutine):
        """Runs a coroutine to its end, and returns what it returns.

        An interrupt cancels its task; it is raised here once the task has ended by that, from where the task stood.
        """
        loop = self._get()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except BaseException as interrupt:
            if task.done():
                raise interrupt.with_traceback(_past_the_loop(interrupt.__traceback__))
            task.cancel()
            stopped = self._stop(task)
            if stopped is not None:
                raise interrupt.with_traceback(_past_the_loop(stopped.__traceback__)) from None
            raise interrupt.with_traceback(None) from None

    def idle(self):
        """Runs the loop until ``wake`` is called."""
        self._idle = True
        try:
            self._loop.run_forever()
        finally:
            self._idle = False

    def wake(self):
        """Makes ``idle`` return, or not begin. From any thread."""
        try:
            self._loop.call_soon_threadsafe(self._end_idling)
        except RuntimeError:
            pass

    def nudge(self, deliver):
        """Has ``deliver()`` called between two steps of what runs on the loop; an interrupt that it raises ends ``run``.

        From any thread.
        """
        loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(deliver)
            except RuntimeError:
                pass

    def finish(self):
        """Cancels the tasks that are left, and runs the loop until they have ended or a second has gone by."""
        import asyncio

        if self.idles():
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            if tasks:
                self._loop.run_until_complete(asyncio.wait(tasks, timeout=1.0))
            self._loop.close()

    def _end_idling(self):
        # It may come late, when a coroutine already runs on the loop: that must not be stopped.
        if self._idle:
            self._loop.stop()

    def _get(self):
        import asyncio

        if not self.idles():
            self._loop = _current() or asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        return self._loop

    def _stop(self, task):
        """Runs the loop until a cancelled task has ended. A further interrupt leaves it behind."""
        import asyncio

        try:
            self._loop.run_until_complete(task)
        except asyncio.CancelledError as cancelled:
            return cancelled
        except (KeyboardInterrupt, SystemExit):
            return None
        except BaseException as other:
            return other
        return None


def _current():
    """The loop that code without ``await`` has used in this thread: what it has put there is to run. Or ``None``.

    asyncio makes one for whoever asks, and warns of that, so it is not asked.
    """
    policy = getattr(sys.modules['asyncio.events'], '_event_loop_policy', None)
    local = getattr(policy, '_local', None)
    loop = getattr(local, '_loop', None)
    return None if loop is None or loop.is_closed() or loop.is_running() else loop


def _past_the_loop(trace):
    """The traceback from the first frame on that is neither ours nor the event loop's."""
    import asyncio

    loop = os.path.dirname(asyncio.__file__)
    inner = trace
    while inner is not None:
        file = inner.tb_frame.f_code.co_filename
        if file != __file__ and os.path.dirname(file) != loop:
            return inner
        inner = inner.tb_next
    return trace
