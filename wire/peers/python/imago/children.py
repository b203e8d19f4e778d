"""Processes that user code started: forks of this one that must end as a program of its own would, and children of
one call, which an interrupt of that call may have to reach.

A child is only taken for one of a call if it was started on the call's thread after the call had announced its first
(by an audit event), and no other thread that started any has ended since, whose children the system may have handed
on. What has made a session of its own was meant to stay. In doubt a process is nobody's, and left alone.
"""

import os
import signal
import sys
import threading

from imago.native import time

#: Other threads whose starts are remembered while a call has children.
OTHERS = 64


class Children:
    """Those of the call that runs. Needs ``/proc``; elsewhere there never are any."""

    def __init__(self):
        self._call = None
        self._thread = None
        self._before = frozenset()
        self._others = []
        self._signalled = {}

    def starts(self, call):
        """This thread is about to start a process: for ``call``, or for no call at all."""
        if call is None:
            if self._call is not None and len(self._others) < OTHERS:
                self._others.append((threading.get_native_id(), _ticks()))
        elif self._call is not call:
            self._before = _children(os.getpid())
            self._thread = threading.get_native_id()
            self._others = []
            self._signalled = {}
            self._call = call

    def forget(self, call):
        if self._call is call:
            self._call = None

    def alive(self, call):
        """The processes of this call that are not over, with all that they have started in turn."""
        if self._call is not call or self._before is None or len(self._others) == OTHERS:
            return []
        gone = [since for thread, since in self._others if not os.path.exists('/proc/self/task/%d' % thread)]
        waiting = [pid for pid in _children(os.getpid(), self._thread) or () if pid not in self._before]
        found = []
        while waiting:
            child = Child.of(waiting.pop())
            if child is not None and not any(since <= child.started for since in gone):
                found.append(child)
                waiting.extend(_children(child.pid) or ())
        return found

    def stop(self, call):
        """Sends those that are alive SIGINT, and the next time SIGTERM. Returns how many there were."""
        found = self.alive(call)
        for child in found:
            known = child.pid, child.started
            child.signal(signal.SIGTERM if known in self._signalled else signal.SIGINT)
            self._signalled[known] = True
        return len(found)


class Child:
    """A process by its number and by when it started, in the system's ticks."""

    __slots__ = ('pid', 'name', 'started')

    def __init__(self, pid, name, started):
        self.pid = pid
        self.name = name
        self.started = started

    @classmethod
    def of(cls, pid):
        """The process, or ``None`` if it is over, or is in another session than this one."""
        try:
            with open('/proc/%d/stat' % pid, encoding='utf-8', errors='replace') as file:
                head, _, rest = file.read().rpartition(')')
        except OSError:
            return None
        fields = rest.split()
        if fields[0] in 'ZX' or int(fields[3]) != os.getsid(0):
            return None
        return cls(pid, head.partition('(')[2], int(fields[19]))

    def signal(self, number):
        """Signals this process, and none that has got its number since."""
        try:
            handle = os.pidfd_open(self.pid) if hasattr(os, 'pidfd_open') else None
        except OSError:
            handle = None
        try:
            now = Child.of(self.pid)
            if now is None or now.started != self.started:
                return
            if handle is not None and hasattr(signal, 'pidfd_send_signal'):
                signal.pidfd_send_signal(handle, number)
            else:
                os.kill(self.pid, number)
        except OSError:
            pass
        finally:
            if handle is not None:
                os.close(handle)


def _children(pid, thread=None):
    """The numbers of the children of a process, or of one thread of it; ``None`` where that cannot be known."""
    found = set()
    try:
        for task in os.listdir('/proc/%d/task' % pid) if thread is None else [thread]:
            with open('/proc/%d/task/%s/children' % (pid, task), encoding='ascii') as file:
                found.update(map(int, file.read().split()))
    except OSError:
        return None
    return found


def _ticks():
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf('SC_CLK_TCK'))


def end_child(error, report):
    """Ends a forked child that has come to the end of the code it was forked in, as a program of its own would end.

    ``error`` is what that code raised, or ``None``; ``report(error)`` is its text.
    """
    status = 0
    if isinstance(error, SystemExit):
        status = _status(error.code)
    elif error is not None:
        status = 1
        sys.stderr.write(report(error))
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            stream.flush()
    os._exit(status)


def _status(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write('%s\n' % (code,))
    return 1
