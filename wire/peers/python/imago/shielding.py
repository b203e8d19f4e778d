"""Stretches of code that interrupts leave whole, and stretches that a deadline ends. ``interrupting.py`` makes them."""

import time

from imago import native


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
            if of._wanted is not None or of._guards or of._leaving:
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
