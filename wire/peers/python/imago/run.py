"""What a Python does that ``imago run`` has started: it listens, and so do its children.

``IMAGO_RUN`` in the environment holds ``{"name", "heard"}`` as JSON: what the program is called, and a folder in
which every process of it says that it listens, or why it cannot.
"""

import json
import os
import sys

from imago import frameworks, guest, listener, listening, native
from imago.mark import mark
from imago.program_errors import one_line

#: The command line of the process that bears the name of the run. A reloader starts itself again with the same one.
_LINE = 'IMAGO_RUN_LINE'
#: Seconds until a forked child listens: one that becomes another program at once has done so by then.
_AFTER_FORK = 0.1
#: Seconds for which a process that ``multiprocessing`` starts may be told what it is to run, and between two looks.
_PREPARED = 60
_STEP = 0.02
#: Where the pools of the standard library run their work, by the module of what a worker runs.
_POOLS = ('multiprocessing.pool', 'multiprocessing.managers', 'concurrent.futures.process')
#: Processes of the standard library in which nothing of a program runs.
_MACHINERY = ('multiprocessing.resource_tracker', 'multiprocessing.forkserver')
#: What only starts notebooks, and holds nothing of theirs.
_SERVERS = ('jupyter', 'jupyter-lab', 'jupyter-notebook', 'jupyter-server', 'jupyter-nbconvert', 'papermill')
_SERVERS_AS_MODULES = [['-m', name] for name in ('jupyter', 'jupyterlab', 'notebook', 'jupyter_server', 'papermill')]
_OPTIONS_WITH_A_VALUE = ('-W', '-X')

_run = None


def begin():
    """Marks the process and all that it starts, and listens. Nothing that fails here reaches the program."""
    global _run
    mark()
    try:
        _run = json.loads(os.environ['IMAGO_RUN'])
        line = _command_line()
        os.register_at_fork(after_in_child=lambda: native.start(_begin_child, 'imago-listen'))
        if '--multiprocessing-fork' in line:
            from multiprocessing import util

            # One whose code cannot be loaded ends before it listens.
            util.Finalize(None, _say_why, exitpriority=1)
            native.start(lambda: _begin_child(is_prepared=False), 'imago-listen')
            return
        if any(module in ' '.join(line) for module in _MACHINERY):
            return
        name = _name_for(line)
        if name == _run['name']:
            os.environ[_LINE] = json.dumps(line)
        if os.path.basename(line[0] if line else '') in _SERVERS or line[:2] in _SERVERS_AS_MODULES:
            _tell(None)
            return
        notebook = name if name == _run['name'] else _name_with('notebook')
        frameworks.join_at('ipykernel.kernelapp', lambda module: _join_notebook(module, notebook))
        _listen(name)
    except Exception as error:
        _tell(error)


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


def _name_for(line):
    """The name of the run, or with that of its file for another program that this one has started."""
    before = os.environ.get(_LINE)
    if before is None or before == json.dumps(line):
        return _run['name']
    return _name_with(line[1] if line[:1] == ['-m'] and len(line) > 1 else line[0] if line else '')


def _name_with(file):
    return ('%s-%s' % (_run['name'], listener.name_of(file)))[:64]


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


def _begin_child(is_prepared=True):
    """Listens in a child that was forked, or is being started by ``multiprocessing``, once it is known what it does."""
    try:
        if is_prepared:
            native.sleep(_AFTER_FORK)
        waited = 0
        while not is_prepared and not _is_told() and waited < _PREPARED:
            native.sleep(_STEP)
            waited += _STEP
        _listen(_name_with('worker') if _is_of_a_pool() else _run['name'])
    except Exception as error:
        _tell(error)


def _say_why():
    """Leaves word of the exception that ends this process, where it does not listen yet."""
    try:
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not listening.listens() and not _is_of_a_pool():
            guest.leave_word(_run['name'], one_line(error))
    except Exception as failed:
        _tell(failed)


def _is_told():
    """Whether ``multiprocessing`` has told this process what it is to run."""
    multiprocessing = sys.modules.get('multiprocessing.process')
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def _is_of_a_pool():
    multiprocessing = sys.modules.get('multiprocessing.process')
    target = multiprocessing and getattr(multiprocessing.current_process(), '_target', None)
    return getattr(target, '__module__', None) in _POOLS


def _listen(name):
    listening.listen_for_run(name)
    _tell(None)


def _tell(error):
    """Says in the folder of the run that this process listens, or why not. Without that folder nobody is told."""
    try:
        with open(os.path.join(_run['heard'], str(os.getpid())), 'w', encoding='utf-8') as file:
            if error is not None:
                file.write('%s: %s' % (type(error).__name__, error))
    except Exception:
        pass
