"""A process that the daemon started for one kernel: its link, its script, its evaluations and its end."""

import faulthandler
import os
import sys

from imago import native
from imago.connection import Connecting, Refused
from imago.scripts import Fate, Script
from imago.streams import Streams

#: Seconds that an ending kernel has for ``finally`` blocks, ``atexit`` and threads before it is ended hard.
LEAVE = 4.0
#: Seconds that a script waits for the first link, so that it can be watched from its first line.
FIRST_LINK = 5.0

_STARTS_A_CHILD = frozenset(
    ['subprocess.Popen', 'os.system', 'os.posix_spawn', 'os.fork', 'os.forkpty', 'os.exec', 'pty.spawn']
)


class KernelProcess:
    """A kernel that has a process to itself. ``kernel_of(end)`` makes it, as for ``boot.main``."""

    def __init__(self, invitation, kernel_of):
        self._ending = native.Event()
        self._kernel = kernel = kernel_of(self.end)
        self._evaluator = kernel.evaluator
        self._errors = self._evaluator.errors.of_program
        self._connecting = Connecting(kernel.session, invitation, self._ending)
        self._script = None
        if invitation['script']:
            self._script = Script(invitation['script'], invitation['args'], Fate(kernel.session.note, kernel.clock))
        self._streams = Streams(kernel.output, kernel.interrupts.shield, kernel.ask)

    def run(self):
        """Serves until the daemon says ``stop`` or is gone; the script, where there is one, goes first."""
        self._kernel.interrupts.install()
        self._streams.install()
        os.register_at_fork(after_in_child=self._become_child)
        sys.addaudithook(self._before_children)
        if self._errors is not None:
            self._errors.begin()
        native.start(self._connect, 'imago-link')
        if self._script is not None:
            self._kernel.session.connected.wait(FIRST_LINK)
            if not self._ending.is_set():
                self._script.run(self._evaluator, self._kernel.interrupts)
        if not self._ending.is_set():
            self._evaluator.run()
        self._evaluator.finish()
        self._kernel.output.flush()
        self._kernel.session.close()
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__

    def end(self):
        """Begins the end of this process: in order where it can be had, hard after ``LEAVE`` seconds."""
        if self._ending.is_set():
            return
        self._ending.set()
        # A watchdog without need of the interpreter, which C code may hold.
        faulthandler.dump_traceback_later(LEAVE, exit=True, file=open(os.devnull, 'w'))
        self._evaluator.stop()
        self._kernel.interrupts.leave()

    def watch(self, lifeline):
        """Ends this process when the daemon has let go of the lifeline."""
        try:
            while os.read(lifeline, 4096):
                pass
        except OSError:
            pass
        self.end()

    def _connect(self):
        try:
            self._connecting.run(self._kernel.hello(), self._kernel.serve)
        except Refused as refused:
            sys.__stderr__.write('imago: the daemon refused this kernel: %s\n' % refused)
            sys.__stderr__.flush()
            self.end()

    def _before_children(self, event, args):
        if event in _STARTS_A_CHILD:
            self._kernel.output.flush()
            self._evaluator.starts_child()

    def _become_child(self):
        """A forked child has its parent's descriptors, but neither its threads nor any right to its link."""
        self._ending.set()
        if self._errors is not None:
            self._errors.end()
        self._streams.leave_link()
        self._kernel.session.drop()
        self._evaluator.suspensions.become_child()
        if self._evaluator.holder is not None:
            self._evaluator.holder.become_child()
        self._kernel.interrupts.become_child()
