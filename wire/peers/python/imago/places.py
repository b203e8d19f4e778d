"""Where evaluated code runs: the thread of an owned kernel, or what an attached program has chosen.

Every place has ``put(step, refused)``, which has ``step()`` run there soon, in the order of putting, or else calls
``refused(error)``; ``wait``, an async function through which evaluated code awaits (a generator, of which Python does
not complain when an interrupt comes before it has begun); ``wake(deliver)``, which has
``deliver()`` called in between by a thread that runs an event loop of ours; and ``stop``. All but ``wait`` may be called from any thread.
"""

import types

from imago import native
from imago.calls import CURRENT
from imago.coroutines import Loop, Onto, program_loop, running_loop

_STOP = object()
_TAKE_OVER = object()


def place_for(evaluate, loop=None):
    """The place of an attached program: ``'thread'``, ``'loop'``, or a callable that is given what is to be run.

    ``loop`` is the event loop that ran where the program began to listen, or ``None``. Raises ``ValueError`` or
    ``TypeError``, in words for the programmer.
    """
    if isinstance(evaluate, Through):
        return evaluate
    if callable(evaluate):
        return Through(evaluate, loop)
    if not isinstance(evaluate, str):
        raise TypeError("evaluate must be 'thread', 'loop' or a callable, not %s" % type(evaluate).__name__)
    if evaluate == 'thread':
        return OwnThread(loop)
    if evaluate != 'loop':
        raise ValueError("evaluate must be 'thread', 'loop' or a callable, not %r" % evaluate[:100])
    if loop is None:
        raise ValueError("evaluate='loop' needs an event loop: call listen() from a coroutine that runs on it")
    return OnLoop(loop)


def with_room(work):
    """What ``work()`` returns. Calls in it cost the same at each depth, as far as code mostly goes down.

    CPython 3.11 to 3.13 keep frames in chunks of 16 kB, and map and unmap one at each call that passes the end of the
    last: a call there takes 50 to 350 times as long. A frame for this many values has a chunk of 2 MB, half of it free.
    """
    return work()


with_room.__code__ = with_room.__code__.replace(co_stacksize=140_000)


class Here:
    """The thread that calls ``run``, first the one that made this. Awaits run on an event loop of its own."""

    def __init__(self):
        self._queue = native.SimpleQueue()
        self._loop = Loop()
        self._idling = False
        self._maker = native.get_ident()
        #: Told of what tasks of the user's ended with while nothing was evaluated, and nobody waited for.
        self.report = _unreported

    def put(self, step, refused=None):
        self._queue.put(step)
        if self._idling:
            self._loop.wake()

    @types.coroutine
    def wait(self, coroutine):
        """What ``coroutine`` returns. Nothing else runs here meanwhile but the tasks of the same loop."""
        yield from ()
        return _blocking(self._loop, coroutine)

    def wake(self, deliver):
        self._loop.nudge(deliver)

    def stop(self):
        """Ends ``run`` once what runs has ended."""
        self.put(_STOP)

    def take_over(self, ended):
        """Ends ``run`` on another thread, which then sets ``ended``, so that the maker's can go on with it."""
        self.put(_TAKE_OVER)
        ended.wait()

    def finish(self):
        """Lets the tasks of the event loop end, at the end of the process."""
        try:
            self._loop.finish()
        except BaseException as error:
            self.report(error)

    def run(self):
        """Runs what is put until ``stop``. A step lets nothing out, so no evaluated code can end this."""
        with_room(self._run)

    def _run(self):
        while True:
            step = self._next()
            if step is _STOP:
                return
            if step is _TAKE_OVER:
                if native.get_ident() == self._maker:
                    continue
                return
            step()

    def serve(self, is_over):
        """Runs what is put, in the midst of a step, until ``is_over()`` or ``stop``; returns whether it is over."""
        while not is_over():
            step = self._next()
            if step is _STOP:
                # For whoever has called this, and so on to `run`.
                self._queue.put(step)
                return False
            if step is not _TAKE_OVER:
                step()
        return True

    def _next(self):
        if not self._loop.idles():
            return self._queue.get()
        while True:
            self._idling = True
            try:
                if self._queue.empty():
                    self._loop.idle()
                self._idling = False
                return self._queue.get_nowait()
            except native.Empty:
                pass
            except BaseException as error:
                # A task of the user's that ended with SystemExit, say.
                self.report(error)
                if not self._loop.idles():
                    return self._queue.get()


class OwnThread(Here):
    """A thread of its own, made when it is first needed.

    Awaits run on the event loop that ran where the program began to listen, or else on the one that runs in it now; where
    there is none, on one of this thread.
    """

    def __init__(self, loop=None, name='imago-eval'):
        super().__init__()
        self._programs = loop
        self._name = name
        self._started = False
        self._starting = native.Lock()
        self._mask = native.blocked_signals()

    def put(self, step, refused=None):
        if not self._started:
            with self._starting:
                if not self._started:
                    self._started = True
                    native.start_for_program(self.run, self._name, self._mask)
        super().put(step)

    @types.coroutine
    def wait(self, coroutine):
        loop = self._programs if _runs(self._programs) else _found_for(coroutine)
        if loop is not None:
            return (yield from over(loop, coroutine))
        return (yield from super().wait(coroutine))

    def stop(self):
        if self._started:
            super().stop()


class OnLoop:
    """An event loop of the program's: everything runs there, between its own callbacks; awaits are tasks on it."""

    def __init__(self, loop):
        self._loop = loop

    def put(self, step, refused=None):
        try:
            self._loop.call_soon_threadsafe(step)
        except RuntimeError as closed:
            refused(closed)

    @types.coroutine
    def wait(self, coroutine):
        yield Onto(self._loop)
        return (yield from coroutine)

    def wake(self, deliver):
        """What waits here is a task, and is cancelled."""

    def stop(self):
        pass


class Through:
    """Wherever the program's own callable has it run. The callable may wait: it is called on a thread of ours.

    Awaits run on the event loop that runs in that place, as tasks; else on the program's; else they block there.
    """

    def __init__(self, put, loop=None):
        self._programs_put = put
        self._programs = loop
        self._own = Loop()
        self._giving = OwnThread(name='imago-put')

    def put(self, step, refused=None):
        self._giving.put(lambda: self._give(step, refused))

    @types.coroutine
    def wait(self, coroutine):
        here = running_loop()
        if here is not None:
            yield Onto(here)
            return (yield from coroutine)
        loop = self._programs if _runs(self._programs) else _found_for(coroutine)
        if loop is not None:
            return (yield from over(loop, coroutine))
        return _blocking(self._own, coroutine)

    def wake(self, deliver):
        self._own.nudge(deliver)

    def stop(self):
        self._giving.stop()

    def _give(self, step, refused):
        try:
            self._programs_put(step)
        except BaseException as error:
            refused(error)


def _blocking(loop, coroutine):
    """Runs ``coroutine`` on a loop of ours, and nothing else here but the tasks of the same loop."""
    evaluation = CURRENT.get()
    if evaluation is None:
        return loop.run(coroutine)
    evaluation.awaited = coroutine
    try:
        return loop.run(coroutine)
    finally:
        evaluation.awaited = None


@types.coroutine
def over(loop, coroutine):
    """Awaits ``coroutine`` in a task on another thread's loop, and comes back with what came of it."""
    yield Onto(loop)
    try:
        result, error = (yield from coroutine), None
    except GeneratorExit:
        raise
    except BaseException as raised:
        result, error = None, raised
    yield Onto(None)
    if error is not None:
        raise error
    return result


def _found_for(coroutine):
    """The program's one running loop, or ``None``. Raises where there are several: then ``coroutine`` never begins."""
    try:
        return program_loop()
    except RuntimeError:
        coroutine.close()
        raise


def _runs(loop):
    return loop is not None and loop.is_running()


def _unreported(error):
    """Where nobody has asked to be told."""
