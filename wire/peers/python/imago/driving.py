"""Carries an evaluation, which is a coroutine, from step to step, each exposed to interrupts of it and of nothing else.

Mostly there is a single step, at the place. Where the code awaits on an event loop of the program's, the evaluation
goes on in a task there, and the place is free for other things until it comes back.
"""

import types

from imago.awaiting import Onto

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
