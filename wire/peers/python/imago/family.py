"""What this process is to the one that started it.

``main``: ``imago run`` started it. ``serves``: it does the work of its parent, which only starts it. ``helper``: it works
for its parent. ``fork``: a plain fork within a run. ``None``: it is a program of its own. The reason is how it was started:
the stack that called ``os.fork``, what ``multiprocessing`` was told to run, or the command line.
"""

import os
import re
import sys

#: Packages that have ``multiprocessing``, or a copy of it, run the program itself: the process that calls them waits.
_SERVERS = (
    'aiohttp_devtools billiard celery dramatiq granian gunicorn hupper hypercorn marimo robyn sanic uvicorn watchfiles'
).split()
#: What one of them starts beside the program.
_BESIDE = ('celery.beat', 'sanic.worker.inspector')
#: The function that forks, by its module, and what its children are.
_FORKS = {
    ('gunicorn.arbiter', 'spawn_worker'): 'serves',
    ('gunicorn.arbiter', 'spawn_dirty_arbiter'): 'helper',
    ('tornado.process', 'start_child'): 'serves',
    ('rq.worker', 'fork_work_horse'): 'serves',
    ('socketserver', 'process_request'): 'helper',
}
#: How far up the stack that function is looked for: a library may have wrapped ``os.fork``.
_FRAMES = 8

#: Commands that start other commands and run nothing of a program themselves.
_LAUNCHERS = (
    'accelerate circusd ddtrace-run dotenv fab hatch honcho inv invoke jupyter jupyter_console jupyter_server '
    'jupyterhub-singleuser jupyterlab nbclassic nbconvert newrelic-admin notebook nox opentelemetry-instrument papermill '
    'pdm pipenv poetry qtconsole supervisord torch.distributed.launch torch.distributed.run torchrun tox voila '
    'watchdog.watchmedo watchfiles watchmedo'
).split()
#: Commands that start another command to do their work, or do it themselves.
_SERVES_BY_CHILD = ('litestar',)

_MACHINERY = re.compile(r'[\w.]+\.(?:resource_tracker|semaphore_tracker|forkserver) import main\b')
_LOKY = 'loky.backend.popen_loky_posix'

_UNKNOWN = object()
_role = _UNKNOWN
_pid = os.getpid()
#: The process that this one was forked from, which may have ended since.
_forked_from = None
#: What ``imago run`` has called the program that this process belongs to.
program = None


def role():
    """One of those above. Of a child of ``multiprocessing`` it is known once that has been told what to run."""
    if _role is not _UNKNOWN:
        return _role
    process = _process()
    return None if process is None else _role_of_process(process)


def parent():
    """The process that has started this one. A server of forks does so for another one."""
    if _role is _UNKNOWN and _process() is not None:
        return sys.modules['multiprocessing.process'].parent_process().pid
    return _forked_from if _role == 'fork' else os.getppid()


def given():
    """What the server that has started this process gave it, its configuration among that; nothing to others."""
    process = _process() if role() == 'serves' else None
    return (*getattr(process, '_args', ()), *getattr(process, '_kwargs', {}).values())


def become(role):
    """Says it where only the command line tells."""
    global _role
    _role = role


def is_told():
    """Whether ``multiprocessing`` has told this process what it is to run."""
    return _process() is not None


def is_machinery(line):
    """Whether nothing of a program runs under that command line: it is a resource tracker, or a server of forks."""
    return line[:1] == ['-c'] and bool(_MACHINERY.search(' '.join(line[1:2])))


def is_launcher(line):
    """Whether that command line only starts another one."""
    name = command(line)
    # Jupyter's own commands run notebooks, and those run in kernels.
    return name in _LAUNCHERS or name.startswith('jupyter-')


def role_under(line, parent):
    """The role of a command line that was started, directly or not, under the command line ``parent``."""
    if line == parent or command(parent) in _SERVES_BY_CHILD:
        return 'serves'
    if line[:1] == ['-m']:
        return 'helper' if len(line) > 1 and line[1].endswith(_LOKY) else None
    return 'helper' if line and '/site-packages/' in line[0] else None


def command(line):
    """What a command line is called: its module, or the name of its file."""
    if line[:1] == ['-m']:
        return line[1] if len(line) > 1 else ''
    return os.path.basename(line[0]) if line else ''


def _process():
    """What ``multiprocessing`` knows of this process, where that has started it."""
    multiprocessing = sys.modules.get('multiprocessing.process')
    if multiprocessing is None or multiprocessing.parent_process() is None:
        return None
    return multiprocessing.current_process()


def _role_of_process(process):
    target = getattr(process, '_target', None)
    target = getattr(target, 'func', target)
    module = getattr(type(process) if target is None else target, '__module__', None)
    if type(module) is not str:
        module = type(target).__module__
    serves = module.partition('.')[0] in _SERVERS and not module.startswith(_BESIDE)
    return 'serves' if serves else 'helper'


def _forked():
    """In a forked child. Descendants of a helper are helpers."""
    global _role, _pid, _forked_from
    _forked_from, _pid = _pid, os.getpid()
    if _role != 'helper':
        try:
            _role = _role_of_fork(sys._getframe(1))
        except Exception:
            _role = None


def _role_of_fork(frame):
    for _ in range(_FRAMES):
        if frame is None:
            break
        module, function = frame.f_globals.get('__name__'), frame.f_code.co_name
        if module in ('multiprocessing.popen_fork', 'billiard.popen_fork'):
            return _role_of_process(frame.f_locals['process_obj'])
        if module == 'multiprocessing.forkserver':
            return _UNKNOWN
        if (module, function) in _FORKS:
            return _FORKS[module, function]
        frame = frame.f_back
    return None


os.register_at_fork(after_in_child=_forked)
