"""A kernel process that the daemon starts, from its first line of standard input to its end."""

import faulthandler
import importlib
import json
import os
import sys
import types

from imago import codec, native
from imago.connection import Connecting, Refused
from imago.held_stacks import Holder
from imago.history import LastValues
from imago.kernel import Kernel, import_lazy
from imago.mark import mark
from imago.program_errors import ProgramErrors
from imago.scripts import Fate, Script
from imago.streams import Streams

# From a fresh interpreter to a kernel: the invitation, the descriptors, the namespace, and the threads.
#
# The daemon writes one line of JSON to standard input, ``{"address", "secret", "script", "args"}``, and keeps the pipe
# open. The line never was in an argument or in the environment; the pipe is moved out of the way of user code, and its
# end is taken for the daemon's.

#: An invitation longer than this is none.
INVITATION = 1024 * 1024
#: Seconds that an ending kernel has for ``finally`` blocks, ``atexit`` and threads before it is ended hard.
LEAVE = 4.0
#: Seconds that a script waits for the first link, so that it can be watched from its first line.
FIRST_LINK = 5.0

_STARTS_A_CHILD = frozenset(
    ['subprocess.Popen', 'os.system', 'os.posix_spawn', 'os.fork', 'os.forkpty', 'os.exec', 'pty.spawn']
)


def main(kernel_of=None):
    """``kernel_of(end)`` makes the kernel, where it is not one of Python; ``end`` is what ends its process."""
    invitation = _read_invitation()
    lifeline = _move_stdin()
    mark()
    faulthandler.enable(file=sys.__stderr__)
    owned = Owned(invitation, kernel_of or _python)
    native.start(lambda: owned.watch(lifeline), 'imago-lifeline')
    owned.run()


def _python(end):
    _import_all()
    namespace = _fresh_main()
    # As an interpreter has it that was started without a script; not before, for what is imported until then is ours.
    sys.path.insert(0, '')
    kernel = Kernel(namespace, end)
    evaluator = kernel.evaluator
    evaluator.last_values = LastValues(namespace)
    evaluator.errors.of_program = ProgramErrors()
    kernel.follow_errors(evaluator.errors.of_program)
    evaluator.holder = Holder(evaluator, kernel.interrupts)
    return kernel


class Owned:
    """A kernel that has a process to itself, and the daemon to thank for it."""

    def __init__(self, invitation, kernel_of):
        self._ending = native.Event()
        self._kernel = kernel = kernel_of(self.end)
        self._session = kernel.session
        self._output = kernel.output
        self._interrupts = kernel.interrupts
        self._evaluator = kernel.evaluator
        self._errors = self._evaluator.errors.of_program
        self._connecting = Connecting(kernel.session, invitation, self._ending)
        self._script = None
        if invitation['script']:
            self._script = Script(invitation['script'], invitation['args'], Fate(kernel.session.note, kernel.clock))
        self._streams = Streams(kernel.output, kernel.interrupts.shield, kernel.ask)

    def run(self):
        """Serves until the daemon says ``stop`` or is gone; the script, where there is one, goes first."""
        self._interrupts.install()
        self._streams.install()
        os.register_at_fork(after_in_child=self._become_child)
        sys.addaudithook(self._before_children)
        if self._errors is not None:
            self._errors.begin()
        native.start(self._connect, 'imago-link')
        if self._script is not None:
            self._session.connected.wait(FIRST_LINK)
            if not self._ending.is_set():
                self._script.run(self._evaluator, self._interrupts)
        if not self._ending.is_set():
            self._evaluator.run()
        self._evaluator.finish()
        self._output.flush()
        self._session.close()
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__

    def end(self):
        """Begins the end of this process: in order where it can be had, hard after ``LEAVE`` seconds."""
        if self._ending.is_set():
            return
        self._ending.set()
        # A watchdog without need of the interpreter, which C code may hold.
        faulthandler.dump_traceback_later(LEAVE, exit=True, file=open(os.devnull, 'w'))
        self._evaluator.stop()
        self._interrupts.leave()

    def watch(self, lifeline):
        """Ends this process when the daemon has let go of the lifeline."""
        while True:
            try:
                if not os.read(lifeline, 4096):
                    break
            except OSError:
                break
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
            self._output.flush()
            self._evaluator.starts_child()

    def _become_child(self):
        """A forked child has its parent's descriptors, but neither its threads nor any right to its link."""
        self._ending.set()
        if self._errors is not None:
            self._errors.end()
        self._streams.leave_link()
        self._session.drop()
        self._evaluator.suspensions.become_child()
        if self._evaluator.holder is not None:
            self._evaluator.holder.become_child()
        self._interrupts.become_child()


def _read_invitation():
    line = b''
    while not line.endswith(b'\n'):
        data = os.read(0, 65536)
        if not data or len(line) > INVITATION:
            sys.exit('imago: this is started by the imago daemon, which writes one line of JSON to standard input')
        line += data
    try:
        invitation = json.loads(line)
        return {
            'address': str(invitation['address']),
            'secret': str(invitation['secret']),
            'script': invitation.get('script'),
            'args': [str(arg) for arg in invitation.get('args') or []],
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        sys.exit('imago: the first line of standard input is not an invitation of the imago daemon')


def _move_stdin():
    """The pipe at descriptor 0 goes where no child inherits it; code that reads 0 finds nothing there."""
    import fcntl

    lifeline = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return lifeline


def _import_all():
    """What a look may import later, while a project's folder comes first on ``sys.path``."""
    for name in ('ctypes', 'getpass', 'zlib'):
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    codec.encodings()
    import_lazy()


def _fresh_main():
    """A ``__main__`` as an interpreter has it that was started without a script. Returns its namespace."""
    sys.modules['imago.__main__'] = sys.modules['__main__']
    module = types.ModuleType('__main__')
    module.__builtins__ = sys.modules['builtins']
    sys.modules['__main__'] = module
    sys.argv[:] = ['']
    return module.__dict__
