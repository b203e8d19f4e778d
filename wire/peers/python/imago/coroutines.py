"""Coroutines of evaluated code: on the event loop of the program, on one of ours, or driven by hand."""

import os
import sys
import types

from imago import native
from imago.looking.frames import entries_of, outwards, variables
from imago.looking.waiting import thread_names

# Event loops for top-level ``await``: one of our own, or the program's.
#
# Our own goes on while nothing else does in its thread. It is made when it is first needed, so that a session without
# ``await`` never loads asyncio.


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


def program_loop():
    """The event loop that runs in a thread of the program, or ``None``. Raises ``RuntimeError`` where several do.

    It is told by what the frames of the threads hold: no loop says which others there are.
    """
    base = getattr(sys.modules.get('asyncio.events'), 'AbstractEventLoop', None)
    if base is None:
        return None
    runner = getattr(sys.modules.get('asyncio.runners'), 'Runner', None)
    ours, here, names = native.names(), native.get_ident(), thread_names()
    found = {}
    for ident, frame in sys._current_frames().items():
        for one in outwards(None if ident in ours or ident == here else frame):
            for value in variables(one).values():
                loop = getattr(value, '_loop', None) if type(value) is runner else value
                if issubclass(type(loop), base) and loop.is_running():
                    found.setdefault(id(loop), (loop, names.get(ident, 'a thread without a name')))
    if len(found) > 1:
        where = ', '.join(name for _, name in found.values())
        raise RuntimeError(
            'several event loops run in the program, in %s, and nothing says on which to await. Nothing ran. '
            'Use asyncio.run_coroutine_threadsafe(coroutine, loop).result()' % where
        )
    return next(iter(found.values()))[0] if found else None


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
        if self.idles():
            import asyncio

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
    for inner in entries_of(trace):
        file = inner.tb_frame.f_code.co_filename
        if file != __file__ and os.path.dirname(file) != loop:
            return inner
    return trace


# Carries an evaluation, which is a coroutine, from step to step, each exposed to interrupts of it and of nothing else.
#
# Mostly there is a single step, at the place. Where the code awaits on an event loop of the program's, the evaluation
# goes on in a task there, and the place is free for other things until it comes back.

_NOTHING = object()


class Driver:
    """``finish(evaluation, error)`` is called where an evaluation has come to its end; ``error`` got out of it."""

    def __init__(self, place, interrupts, finish):
        self._place = place
        self._interrupts = interrupts
        self._finish = finish

    def begin(self, evaluation, body):
        """Runs the coroutine ``body`` at the place where this is called, as far as it gets there."""
        evaluation.body = body
        self._go_on(evaluation, body, body.send, None)

    def cancel(self, evaluation):
        """On its event loop: cancels its task, unless the interrupt has been raised in a step of it by now."""
        if evaluation.task is not None and self._interrupts.take(evaluation):
            evaluation.task.cancel()

    def expose(self, owner, work):
        """Runs ``work()`` exposed to interrupts of ``owner``.

        Returns its result, or what it raised, and with it an interrupt that came too early or too late for it.
        """
        outcome, late = _NOTHING, None
        try:
            self._interrupts.expose(owner)
            try:
                outcome = work()
            except BaseException as error:
                outcome = error
            # Within the same `try`: behind its end there would be a step at which an interrupt is raised in neither.
            self._interrupts.conceal()
            return outcome, late
        except BaseException as error:
            late = error
        while True:
            try:
                self._interrupts.conceal()
                return outcome, late
            except BaseException as error:
                late = error

    def _step(self, body, evaluation, step):
        """``expose``, with what was raised before or behind the body's own code among what came too early or late."""
        came, late = self.expose(evaluation, step)
        if isinstance(came, BaseException) and not _at_end(body):
            return _NOTHING, came
        return came, late

    def _go_on(self, evaluation, body, send, value):
        while True:
            came, late = self._step(body, evaluation, lambda: send(value))
            if _at_end(body):
                self._finish(evaluation, came)
                return
            send, value = body.send, None
            if late is not None:
                send, value = body.throw, late
            elif came.loop is not None:
                try:
                    came.loop.call_soon_threadsafe(self._enter, evaluation, body, came.loop)
                    return
                except RuntimeError as closed:
                    send, value = body.throw, closed

    def _enter(self, evaluation, body, loop):
        # It keeps itself alive: `_in_task` notes it before it waits for anything.
        loop.create_task(self._in_task(evaluation, body, loop))

    async def _in_task(self, evaluation, body, loop):
        import asyncio

        # Here, since the program may have its tasks begin, and even end, while they are made.
        evaluation.task, evaluation.loop = asyncio.current_task(), loop
        came = await self._steps(evaluation, body)
        evaluation.task = evaluation.loop = None
        if type(came) is not Onto:
            self._finish(evaluation, came)
            return
        self._place.put(
            lambda: self._go_on(evaluation, body, body.send, None),
            lambda error: self._go_on(evaluation, body, body.throw, error),
        )

    @types.coroutine
    def _steps(self, evaluation, body):
        """Drives the body in a task, to its end or until it asks to be back at the place; returns what it came to.

        Nothing that the body raises gets out: by ``SystemExit`` the program's event loop itself would end.
        """
        send, value = body.send, None
        while True:
            came, late = self._step(body, evaluation, lambda: send(value))
            if _at_end(body):
                return came
            send, value = body.send, None
            if late is not None:
                send, value = body.throw, late
            elif type(came) is not Onto:
                try:
                    value = yield came
                except BaseException as cancelled:
                    send, value = body.throw, cancelled
            elif came.loop is None:
                return came


def _at_end(body):
    return body.cr_frame is None
