"""What a Python does that ``imago run`` has started: it listens, and so do its children.

``IMAGO_RUN`` in the environment holds ``{"name", "heard"}`` as JSON: what the program is called, and a folder in
which every process of it says that it listens, or why it cannot. A process that listens adds ``parent`` for those that it
starts: ``{"pid", "line", "name", "role"}``.
"""

import json
import os
import sys

from imago import family, frameworks, guest, listener, listening, native
from imago.mark import mark
from imago.program_errors import one_line

#: Seconds until a forked child listens: one that becomes another program at once has done so by then.
_AFTER_FORK = 0.1
#: Seconds for which a process that ``multiprocessing`` starts may be told what it is to run, and between two looks.
_PREPARED = 60
_STEP = 0.02
_OPTIONS_WITH_A_VALUE = ('-W', '-X')

_run = None
#: What this process is called, and its children in turn but for helpers.
_name = None
#: The session of what the run has started.
_session = os.getsid(0)


def begin():
    """Marks the process and all that it starts, and listens. Nothing that fails here reaches the program."""
    global _run, _name
    mark()
    try:
        _run = json.loads(os.environ['IMAGO_RUN'])
        parent = _run.get('parent')
        _name = family.program = parent['name'] if parent else _run['name']
        line = _command_line()
        if family.is_launcher(line):
            # What it starts is the program, and this process none of it.
            _tell(None)
            return
        os.register_at_fork(after_in_child=lambda: native.start(_listen_soon, 'imago-listen'))
        if '--multiprocessing-fork' in line:
            from multiprocessing import util

            # One whose code cannot be loaded ends before it listens.
            util.Finalize(None, _say_why, exitpriority=1)
            native.start(_begin_worker, 'imago-listen')
        elif not family.is_machinery(line):
            _begin_command(line, parent)
    except Exception as error:
        _tell(error)


def _begin_command(line, parent):
    global _name
    if parent is None:
        role = 'main'
    elif parent['pid'] == os.getpid():
        # It has replaced itself.
        role = parent['role']
    else:
        role = family.role_under(line, parent['line'])
        if role is None:
            file = line[1] if line[:1] == ['-m'] and len(line) > 1 else line[0] if line else ''
            _name = ('%s-%s' % (_run['name'], listener.name_of(file)))[:64]
    family.become(role)
    known = {'pid': os.getpid(), 'line': line, 'name': _name, 'role': role}
    os.environ['IMAGO_RUN'] = json.dumps({**_run, 'parent': known})
    notebook = _name if _name == _run['name'] else '%s-notebook' % _run['name']
    frameworks.join_at('ipykernel.kernelapp', lambda module: _join_notebook(module, notebook))
    _listen()


def _join_notebook(module, name):
    """Has the kernel of a notebook do what ``%load_ext imago`` does, in the first turn of its event loop."""
    app, loops = module['IPKernelApp'], module['ioloop']
    start = app.start

    def load(shell):
        from imago import ipython

        try:
            ipython.load(shell, name)
        except Exception as error:
            _tell(error)

    def start_and_load(self):
        loops.IOLoop.current().add_callback(load, self.shell)
        return start(self)

    app.start = start_and_load
    return lambda: setattr(app, 'start', start)


def _command_line():
    """The arguments of this Python without its own options."""
    words = _words()[1:]
    while words and words[0].startswith('-') and words[0] not in ('-', '-m', '-c'):
        del words[: 2 if words[0] in _OPTIONS_WITH_A_VALUE else 1]
    return words


def _words():
    if hasattr(sys, 'orig_argv'):
        return list(sys.orig_argv)
    try:
        with open('/proc/self/cmdline', 'rb') as file:
            return [os.fsdecode(word) for word in file.read().split(b'\0')[:-1]]
    except OSError:
        return [sys.executable, *sys.argv]


def _listen_soon():
    """In a forked child."""
    native.sleep(_AFTER_FORK)
    if family.role() is None and family.is_machinery(_command_line()):
        # A server of forks has forked: it is known now what runs in the child.
        _begin_worker()
    else:
        # One that has a session of its own was let go on purpose, as a server is.
        if family.role() is None and os.getsid(0) == _session:
            family.become('fork')
        _listen()


def _begin_worker():
    """Listens in a process that ``multiprocessing`` starts, once it is known what it does."""
    waited = 0
    while not family.is_told() and waited < _PREPARED:
        native.sleep(_STEP)
        waited += _STEP
    _listen()


def _say_why():
    """Leaves word of the exception that ends this process, where it does not listen yet."""
    try:
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not listening.listens() and family.role() != 'helper':
            guest.leave_word(_name, one_line(error))
    except Exception as failed:
        _tell(failed)


def _listen():
    try:
        is_helper = family.role() == 'helper' and not _name.endswith('-worker')
        listening.listen_for_run(_name[:57] + '-worker' if is_helper else _name)
        _tell(None)
    except Exception as error:
        _tell(error)


def _tell(error):
    """Says in the folder of the run that this process listens, or why not. Without that folder nobody is told."""
    try:
        with open(os.path.join(_run['heard'], str(os.getpid())), 'w', encoding='utf-8') as file:
            if error is not None:
                file.write('%s: %s' % (type(error).__name__, error))
    except Exception:
        pass
