"""Stopping code that runs, and only the code that was meant.

User code is *exposed* to interrupts while it runs for a named call. Our own code around it is not, and our own code
beneath it (a ``print`` on its way out) is *shielded*: what is asked for then is raised on the way back into user
code. On the main thread the means is SIGINT, whose handler runs on that thread and so can check at the moment of
the effect what is running there. On any other thread, and where the program has put its own SIGINT handler in
place, it is an asynchronous exception, set under a lock after the same check.

A SIGINT from outside is the daemon's means against C code that holds the interpreter but looks at signals: the
handler lets the reader of the link catch up, and raises only if an interrupt names the call that runs.
"""

import signal
import threading
import time

from imago.looking.deadline import DeadlineExceeded

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
        self._lock = threading.RLock()
        self._thread = None
        self._exposed = None
        self._shields = 0
        self._wanted = None
        self._hit = None
        self._thrown = None
        self._leaving = False
        self._guards = []
        self._watched = None
        self._asked_at = float('-inf')
        self._signalled = False
        self._handler = None
        self.script = False
        self.shield = _Shield(self)

    def install(self):
        """Takes SIGINT over. Call it on the main thread, once."""
        self._handler = self._on_sigint
        signal.signal(signal.SIGINT, self._handler)

    def become_child(self):
        """In a forked child: no link, nobody who interrupts, and locks whose holders do not exist here."""
        self._lock = threading.RLock()
        self._wanted = self._thrown = None
        if signal.getsignal(signal.SIGINT) is self._handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def asked(self):
        """The daemon asks for an interrupt, of whatever call: that explains a SIGINT which comes with it."""
        self._asked_at = time.monotonic()

    def interrupt(self, call):
        """Raises ``KeyboardInterrupt`` in ``call`` if it is exposed, or as soon as it is; in nothing else, ever."""
        self._wanted = call
        self._poke()

    def forget(self, call):
        """The call is over: an interrupt of it that was not delivered is void."""
        if self._wanted is call:
            self._wanted = None
        self._hit = None

    def hit(self, call):
        """Whether an interrupt has been raised in this call."""
        return self._hit is call

    def leave(self):
        """Raises ``SystemExit`` in what runs on the main thread, evaluation or script."""
        self._leaving = True
        if self._exposed is not None:
            self._poke()
        if self.script:
            _signal_main(self._main)

    def expose(self, call):
        """From here on this thread runs user code for ``call``; pair it with ``conceal``. May raise at once."""
        self._thread = threading.get_ident()
        self._exposed = call
        self._deliver()

    def conceal(self):
        """User code has ended on this thread. Raises what was on its way; call it until it does not."""
        while self._exposed is not None:
            with self._lock:
                if self._thrown is None:
                    self._exposed = self._thread = None
                    self._shields = 0
                    self._guards.clear()
                    return
            self._land()

    def guard(self, seconds):
        """``with guard(seconds):`` raises ``DeadlineExceeded`` in its body once the time is over, and again."""
        return _Guard(self, seconds)

    def _due(self):
        """What is to be raised in the exposed code now, if anything."""
        if self._exposed is None or self._shields:
            return None
        if self._leaving:
            return SystemExit
        if self._wanted is self._exposed:
            return KeyboardInterrupt
        now = time.monotonic()
        if any(guard.until <= now for guard in self._guards):
            return DeadlineExceeded
        return None

    def _deliver(self):
        """Raises what is due, on the exposed thread itself."""
        due = self._due()
        if due is not None:
            self._note_hit(due)
            raise due()

    def _note_hit(self, due):
        if due is KeyboardInterrupt:
            self._wanted = None
        if due is not DeadlineExceeded:
            self._hit = self._exposed

    def _poke(self):
        """Makes the exposed thread raise what is due. For other threads."""
        by_signal = self._thread == self._main and signal.getsignal(signal.SIGINT) is self._handler
        throw = None if by_signal else _thrower()
        with self._lock:
            due = self._due()
            if due is None:
                return
            if throw is None:
                self._signalled = True
                _signal_main(self._main)
            else:
                # In the place of one before that has not landed yet; one that has may have been caught.
                self._note_hit(due)
                self._thrown = due
                throw(self._thread, due)

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
            if not ours and self._due() is None:
                self._catch_up()
            self._deliver()
            stray = not ours
        else:
            if self._leaving and self.script:
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
            time.sleep(0.005)

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


class _Shield:
    """Our own code beneath user code, whole. For any thread: only the exposed one is affected."""

    __slots__ = ('_of',)

    def __init__(self, of):
        self._of = of

    def __enter__(self):
        of = self._of
        while of._thread == threading.get_ident():
            with of._lock:
                if of._thrown is None:
                    of._shields += 1
                    return
            of._land()

    def __exit__(self, *_):
        of = self._of
        if of._thread == threading.get_ident():
            of._shields -= 1
            if of._wanted is not None or of._guards or of._leaving:
                of._deliver()


class _Guard:
    __slots__ = ('_of', '_seconds', '_mine', 'until')

    def __init__(self, of, seconds):
        self._of = of
        self._seconds = seconds
        self._mine = False

    def __enter__(self):
        of = self._of
        self.until = time.monotonic() + self._seconds
        self._mine = of._thread == threading.get_ident()
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


def _signal_main(ident):
    if hasattr(signal, 'pthread_kill'):
        signal.pthread_kill(ident, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()


def _thrower():
    """The function that sets an exception in another thread. It is loaded at its first use, and not under a lock."""
    import ctypes

    def throw(ident, kind):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(kind))

    return throw
