"""The tasks of asyncio, of every loop, with the frames that each is suspended in.

A task is read through the slots of the class that asyncio made for it, an instance of a subclass as well; its
coroutine is followed from one awaited thing to the next through exact types of the interpreter. asyncio is taken as
it is loaded, and never loaded for this.
"""

import gc
import sys
import weakref
from itertools import islice
from types import AsyncGeneratorType, CoroutineType, GeneratorType

from imago.looking.fields import (
    ABSENT,
    class_lookup,
    exactly,
    inherits,
    instance_dict,
    own_field,
    plain,
    steadily,
    stored,
    type_name,
)
from imago.looking.loaded import module_dict

#: Awaited things that are followed from one task on; what is awaited deeper is not shown.
DEEPEST = 2000
#: Tasks that are looked at.
MOST = 50_000
# Compiled iterators between a coroutine and what it awaits; they hold nothing else that could be followed.
_BETWEEN = ("coroutine_wrapper", "async_generator_asend", "async_generator_athrow", "anext_awaitable", "FutureIter")
_NEXT = (
    (CoroutineType, lambda one: (one.cr_frame, one.cr_await)),
    (GeneratorType, lambda one: (one.gi_frame, one.gi_yieldfrom)),
    (AsyncGeneratorType, lambda one: (one.ag_frame, one.ag_await)),
)


class Task:
    """One task: `frames` from its coroutine inwards, and the future that it waits for, or None."""

    __slots__ = ("frames", "name", "running", "waiter")

    def __init__(self, name, frames, running, waiter):
        self.name = name
        self.frames = frames
        self.running = running
        self.waiter = waiter


class Asyncio:
    """The classes of asyncio as they are loaded. `Asyncio.loaded()` is None where they are not."""

    def __init__(self, module):
        compiled, futures = module_dict("_asyncio") or {}, module_dict("asyncio.futures") or {}
        self._module = module
        # Each with whether it is compiled, and so has slots instead of fields.
        self._tasks = _classes((compiled, "Task", True), (module, "_PyTask", False))
        self._futures = _classes((compiled, "Future", True), (futures, "_PyFuture", False))
        self._gathering = stored(module, "_GatheringFuture")
        self._fields = {}

    @classmethod
    def loaded(cls):
        module = module_dict("asyncio.tasks")
        return None if module is None else cls(module)

    def tasks(self):
        """`Task` objects of those that have not ended, in no order; of very many, of the first."""
        for task in islice(self._objects(), MOST):
            read = self._reader(task, self._tasks)
            if read is None or not _is_pending(read("_state")):
                continue
            coroutine, waiter = read("_coro"), read("_fut_waiter")
            running = type(coroutine) is CoroutineType and coroutine.cr_running
            yield Task(self.name_of(task), _chain(coroutine), running, None if waiter is ABSENT else waiter)

    def name_of(self, task):
        """The name of a task; None for what is none."""
        read = self._reader(task, self._tasks)
        if read is None:
            return None
        name = read("_name")
        return plain(read("get_name") if name is ABSENT else name) or "?"

    def children_of(self, future):
        """What a `gather` waits for, in a list; None for any other future."""
        if type(future) is not self._gathering:
            return None
        # The compiled class keeps the dict of its instances to itself, but not from the collector. Since 3.14 there may
        # be none, and the collector is given the values; the other lists hold no futures.
        for own in (instance_dict(future), *gc.get_referents(future)):
            children = stored(own, "_children") if type(own) is dict else own
            if type(children) is list and all(self.pending(child) is not None for child in children):
                return children
        return None

    def pending(self, future):
        """Whether a future is one of asyncio's and has no result yet; None if it is none of asyncio's."""
        read = self._reader(future, self._futures)
        return None if read is None else _is_pending(read("_state"))

    def _reader(self, obj, kinds):
        """A function that reads a stored field of `obj`, an instance of one of `kinds`; None for anything else."""
        for kind, compiled in kinds:
            if inherits(obj, kind):
                if compiled:
                    return lambda name: self._compiled(kind, name)(obj)
                return lambda name: _stored_field(kind, obj, name)
        return None

    def _compiled(self, kind, name):
        """The function that reads a field of the compiled class `kind`, or calls a method of it, on an instance."""
        key = (id(kind), name)
        if key not in self._fields:
            found = class_lookup(kind, name)
            if found is None:
                self._fields[key] = lambda _obj: ABSENT
            elif name.startswith("_"):
                self._fields[key] = found[1].__get__
            else:
                self._fields[key] = found[1]
        return self._fields[key]

    def count(self):
        """How many tasks asyncio knows, those that have just ended among them."""
        return len(self._objects())

    def _objects(self):
        found = {}
        for name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks"):
            for task in _members(stored(self._module, name)):
                found[id(task)] = task
        if sys.version_info >= (3, 14):
            # There the tasks are on lists of the interpreter's own.
            kinds = {}
            for task in gc.get_objects():
                kind = type(task)
                if id(kind) not in kinds:
                    kinds[id(kind)] = any(issubclass(kind, known) for known, _ in self._tasks)
                if kinds[id(kind)]:
                    found[id(task)] = task
        return found.values()


def _is_pending(state):
    return type(state) is str and state == "PENDING"


def _members(collection):
    """The members of a weak set or of a set, in a list."""
    if type(collection) is set:
        return steadily(lambda: list(collection))
    if type(collection) is not weakref.WeakSet:
        return []
    data = own_field(collection, "data")
    if type(data) is not set:
        return []
    members = [one() for one in steadily(lambda: list(data)) if type(one) is weakref.ref]
    return [one for one in members if one is not None]


def _chain(awaited):
    """The frames from a coroutine inwards."""
    frames = []
    for _ in range(DEEPEST):
        for kind, read in _NEXT:
            if type(awaited) is kind:
                frame, awaited = read(awaited)
                break
        else:
            frame, awaited = None, _behind(awaited)
        if frame is not None:
            frames.append(frame)
        if awaited is None:
            break
    return frames


def _behind(awaited):
    """What a compiled iterator stands for, where that has frames; else None."""
    if type_name(awaited) not in _BETWEEN:
        return None
    for other in gc.get_referents(awaited):
        if any(type(other) is kind for kind, _ in _NEXT):
            return other
    return None


def _stored_field(kind, obj, name):
    """A field of a class that is written in Python; one that was never set has its default in the class."""
    value = own_field(obj, name)
    default = class_lookup(kind, name) if value is ABSENT else None
    return default[1] if default is not None and exactly(default[1], (str, type(None))) else value


def _classes(*wanted):
    """`(class, compiled)` of those that are there, as asyncio itself made them."""
    found = [(stored(namespace, name), compiled) for namespace, name, compiled in wanted]
    return [(cls, compiled) for cls, compiled in found if type(cls) is type]
