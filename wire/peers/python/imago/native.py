"""Threads, locks, queues and sockets as the operating system has them.

A program may put others in their place: gevent and eventlet replace, in the modules themselves, a thread by
something that only runs when the program's own code waits. What is ours must work while that code does not wait, so
nothing of ours is taken from ``threading``, ``queue``, ``socket``, ``select`` or ``time.sleep``. What is here is
looked up once and kept: replacing it later does not reach it. A program that freezes its clocks (freezegun) replaces
them in all modules that hold them, so ours are those of a ``time`` that nobody else has.

Threads are started without ``threading``: a program that joins or counts all its threads does not find ours.
"""

import _queue
import _socket
import _thread
import collections
import importlib.machinery
import importlib.util
import signal
import sys
import traceback
import types

#: A queue of the interpreter itself, and what its ``get`` raises when time is over.
SimpleQueue = _queue.SimpleQueue
Empty = _queue.Empty
#: A socket without the layer that gevent and eventlet replace. ``connection.py`` says how it is used.
Socket = _socket.socket

#: Signals that say what the thread itself has just done. All others are the program's.
_OF_A_THREAD = ('SIGSEGV', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGSYS')

_names = {}


def _original(name):
    """What ``_thread`` had under a name before anybody replaced it."""
    found = getattr(_thread, name)
    if isinstance(found, (types.BuiltinFunctionType, type)) and found.__module__ == '_thread':
        return found
    gevent = sys.modules.get('gevent.monkey')
    if gevent is not None and gevent.is_object_patched('_thread', name):
        return gevent.get_original('_thread', name)
    if name == 'start_new_thread' and hasattr(_thread, '_original_start_new_thread'):
        # A debugger made of pydevd (VS Code, PyCharm) would trace our threads, and stop them at its breakpoints.
        return _thread._original_start_new_thread
    eventlet = sys.modules.get('eventlet.patcher')
    if eventlet is not None and eventlet.is_monkey_patched('thread'):
        return getattr(eventlet.original('_thread'), name)
    return found


def _own_time():
    """A module ``time`` besides the one that programs import, with functions of its own."""
    spec = importlib.machinery.BuiltinImporter.find_spec('time')
    if spec is None:
        return sys.modules['time']
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    return own


time = _own_time()
monotonic = time.monotonic


def own_class(cls):
    """A class of ``datetime``, where a program that has frozen time has a subclass in its place."""
    return next(base for base in cls.__mro__ if base.__module__ == 'datetime')


Lock = _original('allocate_lock')
RLock = _original('RLock')
get_ident = _original('get_ident')
stack_size = _original('stack_size')
_start_new_thread = _original('start_new_thread')
#: Bytes of stack that a thread of ours has at least.
_STACK_LEAST = 1024 * 1024


def report_fault(where):
    """Writes the exception at hand to the process's own standard error: a fault of ours, not of user code."""
    try:
        sys.__stderr__.write('imago: fault in %s\n%s' % (where, traceback.format_exc()))
        sys.__stderr__.flush()
    except Exception:
        pass


class Event:
    """Set once or many times by any thread, waited for by any.

    It holds no lock: a finalizer may set it in the midst of another ``set``, and so may a forked child.
    """

    __slots__ = ('_set', '_waiting')

    def __init__(self):
        self._set = False
        self._waiting = collections.deque()

    def is_set(self):
        return self._set

    def set(self):
        self._set = True
        while self._waiting:
            try:
                self._waiting.pop().release()
            except IndexError:
                return

    def clear(self):
        self._set = False

    def wait(self, seconds=None):
        """Returns whether it is set, once it is or so many seconds are over."""
        bell = Lock()
        bell.acquire()
        self._waiting.append(bell)
        # Only now: whoever sets it from here on finds the bell.
        if self._set or not bell.acquire(True, -1 if seconds is None else max(0, seconds)):
            try:
                self._waiting.remove(bell)
            except ValueError:
                pass
            return self._set
        return True


def sleep(seconds):
    """Holds up this thread, and nothing else of the program."""
    bell = Lock()
    bell.acquire()
    bell.acquire(True, seconds)


def start(work, name):
    """Runs ``work()`` on a new thread of ours, which ends with the process and takes no signal of the program's.

    No code of the program may run there: children that it started would begin with those signals blocked.
    """

    def run():
        if hasattr(signal, 'pthread_sigmask'):
            signal.pthread_sigmask(signal.SIG_BLOCK, _signals())
        work()

    start_for_program(run, name)


def start_for_program(work, name, mask=None):
    """Runs ``work()`` on a new thread on which code of the program may run.

    ``mask`` holds the signals that are blocked on it; without it they are those of the thread that starts it.
    """

    def run():
        ident = get_ident()
        _names[ident] = name
        try:
            if mask is not None and hasattr(signal, 'pthread_sigmask'):
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            work()
        except BaseException:
            if not sys.is_finalizing():
                report_fault('the thread %s' % name)
        finally:
            _names.pop(ident, None)

    # Without an argument it would set the default. Where the program has made the stacks of its threads small, ours
    # gets a larger one: one that overflows ends the whole process.
    before = stack_size(_STACK_LEAST)
    try:
        if not 0 < before < _STACK_LEAST:
            stack_size(before)
        _start_new_thread(run, ())
    finally:
        stack_size(before)


def forget_dummy():
    """Takes back what ``threading`` has noted of this thread, if it is one of ours, because evaluated code asked it.

    A program that joins all threads that it finds would fail at that one, which cannot be joined.
    """
    threading = sys.modules.get('threading')
    if threading is not None and get_ident() in _names:
        ident = threading.get_ident()
        if type(threading._active.get(ident)) is threading._DummyThread:
            threading._active.pop(ident, None)


def blocked_signals():
    """The signals that are blocked on this thread, for ``start_for_program``; ``None`` where there are no such."""
    return signal.pthread_sigmask(signal.SIG_BLOCK, []) if hasattr(signal, 'pthread_sigmask') else None


def names():
    """The names of the threads started here, by their numbers in ``sys._current_frames``."""
    return dict(_names)


def is_ours():
    """Whether this thread was started here."""
    return get_ident() in _names


def _signals():
    return signal.valid_signals() - {getattr(signal, name, None) for name in _OF_A_THREAD}
