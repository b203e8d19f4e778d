"""Calls as the interpreter itself tells of them: ``sys.monitoring`` (PEP 669), which there is from 3.12 on.

One of the tool ids that nobody has claimed is ours while anything is watched, and free again after. Events of the
begin and the end of a call are switched on for the code of that function alone. That an error leaves a function can
only be told of all functions: so it is, meanwhile.
"""

import sys

from imago.tracing_calls import argument_names

BY = 'sys.monitoring'

#: Ids of tools that PEP 669 gives to nobody, and the one of optimizers.
TOOLS = (3, 4, 5)


def claimed_tool():
    """The id of a tool, which is ours from now on; ``None`` where none is free."""
    for tool in TOOLS:
        try:
            sys.monitoring.use_tool_id(tool, 'imago')
            return tool
        except ValueError:
            continue
    return None


class Monitoring:
    """The tool of one kernel. ``recorder`` is told of the calls that hooks are there for."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._hooks = {}  # The id of a code object, which its hook keeps -> the hook.
        self._tool = None

    def hook(self, function):
        """A hook for the code of that function, the one that is there already or a new one; ``None`` where no tool id
        is free.
        """
        known = self._hooks.get(id(function.__code__))
        if known is not None:
            return known
        return Watched(self, function.__code__) if self._begin() else None

    def watch(self, hook):
        self._hooks[id(hook.code)] = hook
        events = sys.monitoring.events
        sys.monitoring.set_local_events(self._tool, hook.code, events.PY_START | events.PY_RETURN)

    def unwatch(self, hook):
        self._hooks.pop(id(hook.code), None)
        sys.monitoring.set_local_events(self._tool, hook.code, 0)
        self._recorder.forget(hook)
        if not self._hooks:
            self._give_back()

    def _begin(self):
        if self._tool is not None:
            return True
        tool = self._tool = claimed_tool() if hasattr(sys, 'monitoring') else None
        if tool is None:
            return False
        for event, callback in self._callbacks():
            sys.monitoring.register_callback(tool, event, callback)
        sys.monitoring.set_events(tool, sys.monitoring.events.PY_UNWIND)
        return True

    def _give_back(self):
        monitoring, tool = sys.monitoring, self._tool
        self._tool = None
        monitoring.set_events(tool, 0)
        for event, _ in self._callbacks():
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)

    def _callbacks(self):
        events = sys.monitoring.events
        return ((events.PY_START, self._start), (events.PY_RETURN, self._return), (events.PY_UNWIND, self._unwind))

    def _start(self, code, _offset):
        hook = self._hooks.get(id(code))
        if hook is not None:
            self._recorder.begin(hook, sys._getframe(1))

    def _return(self, code, _offset, value):
        if id(code) in self._hooks:
            self._recorder.end(id(sys._getframe(1)), value)

    def _unwind(self, code, _offset, error):
        if id(code) in self._hooks:
            self._recorder.end(id(sys._getframe(1)), error=error)


class Watched:
    """A code object that is watched for its ``points``."""

    by = BY

    def __init__(self, monitoring, code):
        self._monitoring = monitoring
        self.code = code
        self.names = argument_names(code)
        self.points = ()

    @property
    def notes(self):
        if '<locals>' in self.code.co_qualname:
            return ['The calls of all functions that this definition has made are seen.']
        return []

    def install(self):
        self._monitoring.watch(self)

    def remove(self):
        self._monitoring.unwatch(self)
