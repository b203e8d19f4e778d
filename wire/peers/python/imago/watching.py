"""Telling of each exception when it is raised, and in each frame that it goes through, while somebody wants to know."""

import sys

from imago.looking.frames import is_ours
from imago.suspending import trace_of

#: Ids of tools for ``sys.monitoring`` that PEP 669 gives to nobody, and the one of optimizers.
_TOOLS = (4, 3, 5)


def watch_for(raised):
    """A watch that calls ``raised(frame, error, trace)`` on the thread of the exception. What that raises replaces it.

    ``trace`` is the traceback so far, from that frame inwards.
    """
    return Monitor(raised) if hasattr(sys, 'monitoring') else Tracer(raised)


class Monitor:
    """By ``sys.monitoring``, on all threads."""

    def __init__(self, raised):
        self._told = raised
        self._tool = None

    def is_free(self):
        return self._tool is not None or any(sys.monitoring.get_tool(tool) is None for tool in _TOOLS)

    def turn(self, on):
        if on == (self._tool is not None):
            return
        monitoring = sys.monitoring
        if on:
            for tool in _TOOLS:
                if monitoring.get_tool(tool) is None:
                    monitoring.use_tool_id(tool, 'imago')
                    monitoring.register_callback(tool, monitoring.events.RAISE, self._raised)
                    monitoring.set_events(tool, monitoring.events.RAISE)
                    self._tool = tool
                    return
            return
        tool, self._tool = self._tool, None
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, monitoring.events.RAISE, None)
        monitoring.free_tool_id(tool)

    def _raised(self, code, offset, error):
        self._told(sys._getframe(1), error, trace_of(error))


class Tracer:
    """By a trace function of this thread, where the program has none."""

    def __init__(self, raised):
        self._told = raised
        self._ours = self._call
        self._on = False

    def is_free(self):
        return sys.gettrace() is None or self._on

    def turn(self, on):
        if on and sys.gettrace() is None:
            sys.settrace(self._ours)
        elif not on and sys.gettrace() is self._ours:
            sys.settrace(None)
        self._on = on

    def _call(self, frame, event, arg):
        if event != 'call' or is_ours(frame.f_code):
            return None
        frame.f_trace_lines = False
        return self._local

    def _local(self, frame, event, arg):
        if event == 'exception':
            self._told(frame, arg[1], arg[2])
        return self._local
