"""Interrupts and deadlines: an exception raised in the thread that runs code, shielded parts, and what is tried in
turn."""

import signal
import sys
import threading
import types
from itertools import islice

from imago import native
from imago.calls import CURRENT
from imago.looking.frames import is_ours, library_file, outwards
from imago.looking.limits import DeadlineExceeded
from imago.native import time

# The two means of raising an exception in another thread: a signal, and what CPython calls an asynchronous exception.


def landing(kind, landed):
    """An exception like ``kind`` that tells when it is raised: an asynchronous one is set long before, in a wait."""

    class Landing(kind):
        def __init__(self, *args):
            super().__init__(*args)
            landed()

    Landing.__name__ = Landing.__qualname__ = kind.__name__
    Landing.__module__ = kind.__module__
    return Landing


def signal_thread(ident):
    """Sends SIGINT to a thread of this process: the main one, where threads cannot be told apart."""
    if hasattr(signal, 'pthread_kill'):
        signal.pthread_kill(ident, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()


def thrower():
    """The function that sets an exception in another thread. It is loaded at its first use, and not under a lock."""
    import ctypes

    def throw(ident, kind):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(kind))

    return throw


# Stretches of code that interrupts leave whole, and stretches that a deadline ends.


class Shield:
    """Our own code beneath user code, whole. For any thread: only the exposed one is affected."""

    __slots__ = ('_of',)

    def __init__(self, of):
        self._of = of

    def __enter__(self):
        of = self._of
        while of._thread == native.get_ident():
            with of._lock:
                if of._thrown is None:
                    of._shields += 1
                    return
            of._land()

    def __exit__(self, *_):
        of = self._of
        if of._thread == native.get_ident():
            of._shields -= 1
            if of._wanted is not None or of._guards or of.leaving:
                of._deliver()


class Guard:
    """A deadline for its body: ``DeadlineExceeded`` is raised there, once the time is over and again. For one use."""

    __slots__ = ('_of', '_seconds', '_mine', 'until')

    def __init__(self, of, seconds):
        self._of = of
        self._seconds = seconds
        self._mine = False

    def __enter__(self):
        of = self._of
        self.until = time.monotonic() + self._seconds
        self._mine = of._thread == native.get_ident()
        if self._mine:
            of._guards.append(self)
            of._watch(self)
        return self

    def __exit__(self, *_):
        of = self._of
        if self._mine:
            with of.shield:
                if self in of._guards:
                    of._guards.remove(self)


# Stopping code that runs, and only the code that was meant.
#
# User code is *exposed* to interrupts while it runs for a named call. Our own code around it is not, and our own code
# beneath it (a ``print`` on its way out) is *shielded*: what is asked for then is raised on the way back into user
# code. On the main thread of a process of ours the means is SIGINT, whose handler runs on that thread and so can check
# at the moment of the effect what is running there. On any other thread, where the program has put its own SIGINT
# handler in place, and in every program that is not ours, it is an asynchronous exception, set under a lock after the
# same check. That one breaks no wait: it is raised once the thread is back in Python code.
#
# A SIGINT from outside is the daemon's means against C code that holds the interpreter but looks at signals: the
# handler lets the reader of the link catch up, and raises only if an interrupt names the call that runs.

#: Seconds that a SIGINT of unknown origin waits for the reader, and for which a request explains later ones.
CATCH_UP = 0.25
EXPLAINS = 10.0
#: Seconds after which a deadline that was swallowed is raised again.
AGAIN = 0.1


class Interrupts:
    """Raises into the evaluating thread. At most one thread evaluates at a time; a script may hold the main one."""

    def __init__(self, clock):
        self._clock = clock
        self._main = threading.main_thread().ident
        self._lock = native.RLock()
        self._thread = None  #: Where exposed code runs, as a thread's ident.
        self._exposed = None  #: For whom: an ``Evaluation``, or a ``Look``.
        self._closing = False  #: Its code has ended: nothing is set on its way any more.
        self._shields = 0  #: How deep the exposed thread is in code of ours, which nothing may cut short.
        self._wanted = None  #: The call whose interrupt is undelivered.
        self._hit = None  #: The call in which one has been raised, or set to be,
        self._raised = 0  #: and how often it was.
        self._thrown = None  #: What is set on the exposed thread asynchronously, until it is seen to have landed.
        self.stop_by(KeyboardInterrupt)
        self._mark = None  #: The code of the frame beneath which exposed code stands.
        self.leaving = False  #: The process ends: what is raised now is ``SystemExit``.
        self._guards = []  #: Deadlines that hold for the exposed code.
        self._watched = None  #: When the clock rings for the first of them.
        self._asked_at = float('-inf')  #: When the daemon has last asked for any interrupt.
        self._signalled = False  #: The next SIGINT is our own.
        self._handler = None  #: Ours for SIGINT, in a process of ours alone.
        self.script = False  #: Whether the script runs on the main thread now.
        self.shield = Shield(self)

    def install(self):
        """Takes SIGINT over, in a process of ours. Call it on the main thread, once."""
        self._handler = self._on_sigint
        signal.signal(signal.SIGINT, self._handler)

    def become_child(self):
        """In a forked child: no link, nobody who interrupts, and locks whose holders do not exist here."""
        self._lock = native.RLock()
        self._wanted = self._thrown = None
        if self.owned and signal.getsignal(signal.SIGINT) is self._handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def asked(self):
        """The daemon asks for an interrupt, of whatever call: that explains a SIGINT which comes with it."""
        self._asked_at = time.monotonic()

    def interrupt(self, call):
        """Raises what stops code in ``call`` if it is exposed, or as soon as it is; in nothing else, ever."""
        self._wanted = call
        self._poke()

    def pend(self, call):
        """Has an interrupt that the call has not taken yet wait for it; false where there is none.

        A signal is lost while C code has the process ignore it, as ``system`` does.
        """
        if self._wanted is not call:
            return False
        self._throw()
        return True

    def take(self, call):
        """Whether an interrupt of the call is undelivered. It counts as delivered then: the asker sees to that."""
        with self._lock:
            if self._wanted is not call:
                return False
            self._wanted = None
            self._hit = call
            self._raised += 1
            return True

    def forget(self, call):
        """The call is over: an interrupt of it that was not delivered is void."""
        if self._wanted is call:
            self._wanted = None
        self._hit = None
        self._raised = 0

    def hit(self, call):
        """Whether an interrupt has been raised in this call."""
        return self._hit is call

    @property
    def owned(self):
        """Whether the process is ours: only then it is ever signalled."""
        return self._handler is not None

    def stop_by(self, kind):
        """From here on an exception of this kind is raised in code that is to stop."""
        self._stops = kind
        self._landing = landing(kind, self.landed)

    @property
    def stops(self):
        """What is raised in code that is to stop, by its name."""
        return self._stops.__name__

    def raised(self, call):
        """How many interrupts have been raised in this call so far."""
        return self._raised if self._hit is call else 0

    def by_signal(self, call):
        """Whether an interrupt of the call, which runs user code now, breaks its waits."""
        return self._exposed is call and self._signals()

    def thread_of(self, call):
        """The thread on which user code of this call runs at the moment, or ``None``."""
        return self._thread if self._exposed is call else None

    def exposed_here(self):
        """For which call user code runs on this very thread, or ``None``."""
        return self._exposed if self._thread == native.get_ident() else None

    def leave(self):
        """Raises ``SystemExit`` in what runs on the main thread, evaluation or script."""
        self.leaving = True
        if self._exposed is not None:
            self._poke()
        if self.script:
            signal_thread(self._main)

    def expose(self, call):
        """From here on this thread runs user code for ``call``; pair it with ``conceal``. May raise at once."""
        self._mark = sys._getframe(1).f_code
        self._thread = native.get_ident()
        self._closing = False
        self._exposed = call
        self._deliver()

    def conceal(self):
        """User code has ended on this thread. Raises what was on its way; call it until it does not.

        Nothing is set on its way from here on, so that there is one such exception at most.
        """
        self._closing = True
        while self._exposed is not None:
            with self._lock:
                if self._thrown is None:
                    self._exposed = self._thread = None
                    self._shields = 0
                    self._guards.clear()
                    return
            self._land()

    def set_aside(self):
        """User code stays on the stack and does not go on. For its thread, shielded; for ``take_up``."""
        with self._lock:
            aside = self._mark, self._shields, self._guards
            self._exposed = self._thread = None
            self._shields = 0
            self._guards = []
            return aside

    def take_up(self, aside, call):
        """What was set aside goes on, for ``call``."""
        with self._lock:
            self._mark, self._shields, self._guards = aside
            self._closing = False
            self._thread, self._exposed = native.get_ident(), call

    def guard(self, seconds):
        """``with guard(seconds):`` raises ``DeadlineExceeded`` in its body once the time is over, and again."""
        return Guard(self, seconds)

    def _due(self):
        """What is to be raised in the exposed code now, if anything."""
        if self._exposed is None or self._shields or self._closing:
            return None
        if self.leaving:
            return SystemExit
        if self._wanted is self._exposed:
            return self._stops
        now = time.monotonic()
        if any(guard.until <= now for guard in self._guards):
            return DeadlineExceeded
        return None

    def deliver(self):
        """For the event loop in which the exposed code waits: raises an interrupt of it between two steps."""
        if self._exposed is not None and self._thread == native.get_ident():
            self._deliver()

    def _deliver(self):
        """Raises what is due, on the exposed thread itself."""
        due = self._due()
        if due is not None:
            self._note_hit(due)
            if due is self._stops:
                self._raised += 1
            raise due()

    def _note_hit(self, due):
        if due is self._stops:
            self._wanted = None
        if due is not DeadlineExceeded:
            self._hit = self._exposed

    def landed(self):
        """An asynchronous interrupt is being raised in the exposed code."""
        self._raised += 1

    def _poke(self):
        """Makes the exposed thread raise what is due. For other threads."""
        if not self._signals():
            self._throw()
            return
        with self._lock:
            if self._due() is not None:
                self._signalled = True
                signal_thread(self._main)

    def _throw(self):
        """Sets what is due, to be raised as soon as the exposed thread is in Python code."""
        throw = thrower()
        with self._lock:
            due = self._due()
            if due is not None and self._stands():
                # In the place of one before that has not landed yet; one that has may have been caught.
                self._note_hit(due)
                self._thrown = due
                throw(self._thread, self._landing if due is self._stops else due)

    def _signals(self):
        return self.owned and self._thread == self._main and signal.getsignal(signal.SIGINT) is self._handler

    def _stands(self):
        """Whether the thread is in the exposed code.

        It can be in other tasks of the event loop in which that waits, or on the stack of another greenlet.
        """
        awaited = getattr(self._exposed, 'awaited', None)
        if awaited is None and 'greenlet' not in sys.modules:
            return True
        frames = outwards(sys._current_frames().get(self._thread))
        return any(one is awaited.cr_frame if awaited is not None else one.f_code is self._mark for one in frames)

    def _land(self):
        """Lets an asynchronous exception on its way to this thread be raised here, where nothing is half done."""
        try:
            # Each turn of a loop looks for such exceptions, in every version of CPython.
            for _ in range(16):
                pass
        finally:
            self._thrown = None

    def _on_sigint(self, number, frame):
        ours, self._signalled = self._signalled, False
        if self._thread == self._main and self._exposed is not None:
            if self._shields:
                return
            belongs = CURRENT.get()
            if belongs is not None and belongs is not self._exposed:
                # A task that an earlier call has left on the same event loop. See `deliver`.
                return
            if not ours and self._due() is None:
                self._catch_up()
            self._deliver()
            stray = not ours
        else:
            if self.leaving and self.script:
                raise SystemExit(0)
            stray = self.script and not ours
            if stray:
                self._catch_up()
        if stray and time.monotonic() - self._asked_at > EXPLAINS:
            # Nobody asked for it over the link: the program's own signal, with its usual meaning.
            raise KeyboardInterrupt

    def _catch_up(self):
        asked = self._asked_at
        until = time.monotonic() + CATCH_UP
        while asked == self._asked_at and time.monotonic() < until:
            native.sleep(0.005)

    def _watch(self, guard):
        """Sees to it that the clock rings in time, without waking it for each guard."""
        if self._watched is None or guard.until < self._watched:
            self._watched = guard.until
            self._clock.after(guard.until - time.monotonic(), self._ring)

    def _ring(self):
        self._watched = None
        guards = list(self._guards)
        if not guards:
            return
        now = time.monotonic()
        self._watched = max(min(guard.until for guard in guards), now + AGAIN)
        self._clock.after(self._watched - now, self._ring)
        self._poke()


# The steps by which one call is brought to a stop, from asking to saying honestly that it goes on.
#
# It is asked by an interrupt; after ``REPEAT`` seconds asked again, and in a process of ours the child processes that
# it started are asked too, by SIGINT and later by SIGTERM. When it was seen to end, or after ``GIVE_UP`` seconds, what
# was observed is reported. Asking again is always possible.

#: Seconds from the first asking to the second, to the end of the patience with children, and to the report.
REPEAT = 2.0
TERMINATE = 3.5
GIVE_UP = 5.0
#: Frames looked at to tell where code stands, and children that are named.
DEEP = 2000
NAMED = 5


class Ladder:
    """For one request to stop a call; ``report(InterruptReport)`` is called once."""

    def __init__(self, evaluator, interrupts, clock, evaluation, report):
        self._evaluator = evaluator
        self._interrupts = interrupts
        self._clock = clock
        self._evaluation = evaluation
        self._report = report
        self._once = native.Lock()
        self._asked = None

    def climb(self):
        self._asked = time.monotonic()
        if not self._evaluator.watch_end(self._evaluation, self._ended):
            self._say('not_running', 'it had ended before it could be interrupted')
            return
        self._evaluator.ask_to_stop(self._evaluation)
        self._clock.after(REPEAT, self._repeat)

    def _repeat(self):
        if not self._runs():
            return
        if not self._interrupts.owned and not self._interrupts.raised(self._evaluation):
            # Nothing more can be done to code that has not come back to Python in a program that is not ours.
            self._give_up()
            return
        if not self._interrupts.pend(self._evaluation):
            self._evaluator.ask_to_stop(self._evaluation)
        self._stop_children()
        self._clock.after(TERMINATE - REPEAT, self._stop_children)
        self._clock.after(GIVE_UP - REPEAT, self._give_up)

    def _stop_children(self):
        if self._runs() and self._interrupts.owned:
            # What waits for a child must not go on when that has ended: an interrupt awaits it by now.
            self._evaluator.children.stop(self._evaluation)

    def _runs(self):
        return self._evaluation.state == 'running'

    def _ended(self):
        if self._evaluation.outcome['type'] == 'interrupted':
            waited = time.monotonic() - self._asked
            ran = self._evaluation.outcome['elapsed_ms'] / 1000
            how_long = 'it was seen to stop, %s after it was asked to; it had run for %s'
            self._say('stopped', how_long % (lasted(waited), lasted(ran)))
        else:
            self._say('not_running', 'it ended by itself before the interrupt took effect')

    def _give_up(self):
        if self._runs():
            self._say('still_running', _observed(self._evaluator, self._interrupts, self._evaluation))

    def _say(self, outcome, message):
        if self._once.acquire(False):
            report = said(outcome, message)
            if outcome == 'still_running' and self._interrupts.owned:
                report['offer'] = 'restart'
            self._report(report)


def said(outcome, message):
    """An ``InterruptReport`` of the contract."""
    return {'outcome': outcome, 'message': message}


def lasted(seconds):
    """``85 ms``, ``7.4 s`` or ``3 min 5 s``: for people, no more exact than it matters to them."""
    if seconds < 0.9995:
        return '%d ms' % round(seconds * 1000)
    if seconds < 59.95:
        return '%.1f s' % seconds
    return '%d min %d s' % divmod(round(seconds), 60)


def _observed(evaluator, interrupts, evaluation):
    """What is seen of a call that was interrupted and goes on."""
    raised = interrupts.raised(evaluation)
    place = where(interrupts, evaluation)
    parts = ['it was asked to stop and still runs' + (', at ' + place if place else '')]
    if raised:
        how = 'its task was cancelled' if evaluation.task is not None else '%s was raised in it' % interrupts.stops
        parts.append('%s %s, and it went on: it catches that, or is still cleaning up' % (how, _times(raised)))
    elif interrupts.owned and interrupts.by_signal(evaluation):
        parts.append('it is in C code that does not look at signals, and is interrupted once that code returns')
    else:
        parts.append('it waits in a call that cannot be broken off from another thread, or in C code')
        if interrupts.owned:
            parts.append('the interrupt takes effect when that call returns')
        else:
            parts.append(
                'the interrupt takes effect when that call returns, and no signal is sent: '
                'Imago never signals a program that is not its own'
            )
    alive = evaluator.children.alive(evaluation)
    if alive:
        parts.append('child processes of its own are alive: ' + _named(alive))
    return '; '.join(parts)


def where(interrupts, evaluation):
    """``app.py:3 in spin``: where user code of the evaluation stands, as far as that can be seen."""
    thread = interrupts.thread_of(evaluation)
    running = None if thread is None else sys._current_frames().get(thread)
    frames = islice(outwards(running), DEEP) if thread is not None else _awaiting(evaluation.body)
    inner = None
    for frame in frames:
        if is_ours(frame.f_code):
            continue
        if library_file(frame.f_code) is None:
            return _place(frame) + ('' if inner is None else ', inside ' + _place(inner))
        inner = inner or frame
    return None if inner is None else _place(inner)


def _awaiting(coroutine):
    """The frames of a coroutine that waits and of those that it waits for, innermost first."""
    frames = []
    while len(frames) < DEEP:
        if type(coroutine) is types.CoroutineType:
            frame, coroutine = coroutine.cr_frame, coroutine.cr_await
        elif type(coroutine) is types.GeneratorType:
            frame, coroutine = coroutine.gi_frame, coroutine.gi_yieldfrom
        else:
            break
        if frame is not None:
            frames.append(frame)
    return reversed(frames)


def _place(frame):
    code = frame.f_code
    return '%s:%s in %s' % (library_file(code) or code.co_filename, frame.f_lineno, code.co_name)


def _times(count):
    return {1: 'once', 2: 'twice'}.get(count, '%d times' % count)


def _named(children):
    named = ['%s (process %d)' % (child.name, child.pid) for child in children[:NAMED]]
    more = len(children) - len(named)
    return ', '.join(named) + (' and %d more' % more if more else '')
