"""From a fresh interpreter to a kernel: the invitation, the descriptors, the namespace.

The daemon writes one line of JSON to standard input, ``{"address", "secret", "script", "args"}``, and keeps the pipe
open. The line never was in an argument or in the environment; the pipe is moved out of the way of user code, and its
end is taken for the daemon's.
"""

import faulthandler
import importlib
import json
import os
import sys
import types

from imago import codec, native
from imago.held_stacks import Holder
from imago.history import LastValues
from imago.kernel import Kernel, import_lazy
from imago.kernel_process import KernelProcess
from imago.mark import mark
from imago.program_errors import ProgramErrors

#: An invitation longer than this is none.
INVITATION = 1024 * 1024


def main(kernel_of=None):
    """``kernel_of(end)`` makes the kernel, where it is not one of Python; ``end`` is what ends its process."""
    invitation = _read_invitation()
    lifeline = _move_stdin()
    mark()
    faulthandler.enable(file=sys.__stderr__)
    process = KernelProcess(invitation, kernel_of or _python)
    native.start(lambda: process.watch(lifeline), 'imago-lifeline')
    process.run()


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
