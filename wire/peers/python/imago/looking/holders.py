"""Who holds an object: found with the garbage collector, and followed outwards to something that has a name.

What holds an object directly is often a dict, a cell or a tuple that says nothing; these are followed until a variable
of a module, a class, a function or an instance is met. All types are exact ones of the interpreter, and each object is
told by its stored fields, so nothing of the program runs. One step goes through the whole heap: it takes some ten
milliseconds for a million objects, during which the program stands still.
"""

import gc
import weakref
from collections import deque
from functools import partial
from types import (
    AsyncGeneratorType,
    BuiltinMethodType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodType,
    ModuleType,
    TracebackType,
)

from imago.looking.fields import (
    FIELD_DESCRIPTORS,
    METHOD_DESCRIPTORS,
    class_entries,
    class_label,
    class_module,
    cut,
    entries,
    exactly,
    instance_dict,
    instance_fields,
    is_class,
    made_by_statement,
    mro,
    type_name,
)
from imago.looking.frames import function_name, is_ours
from imago.looking.loaded import is_imago, modules
from imago.looking.source import code_place
from imago.looking.rendering import function_label, module_name, own_name
from imago.native import monotonic

#: Steps outwards at most, and objects that are followed from one step to the next.
STEPS = 4
FOLLOWED = 2_000
# How many objects the collector is asked about in one go: for each reference in the heap it compares all of them.
_AT_ONCE = 16
_KEYS = 100_000
_FROZEN_BY_PYTHON = 1_000
_LABEL = 300

# What is followed to its own holder, and what it is called.
_CONTAINERS = (
    (dict, "dict"),
    (list, "list"),
    (tuple, "tuple"),
    (set, "set"),
    (frozenset, "frozenset"),
    (deque, "deque"),
    (partial, "partial"),
    (MethodType, "bound method"),
    (BuiltinMethodType, "bound method"),
    (staticmethod, None),
    (classmethod, None),
    (property, None),
    (CellType, None),
    (MappingProxyType, None),
)
_OF_CLASSES = (*METHOD_DESCRIPTORS, *FIELD_DESCRIPTORS, TracebackType, weakref.ref)
_RUNNING = (
    (FrameType, "f_code", "a running call of"),
    (CoroutineType, "cr_code", "a coroutine of"),
    (GeneratorType, "gi_code", "a generator of"),
    (AsyncGeneratorType, "ag_code", "an async generator of"),
)


def is_partly_frozen():
    """Whether the program has taken objects out of the collector's sight. 3.12 does so with a few of its own."""
    return gc.get_freeze_count() > _FROZEN_BY_PYTHON


class Holder:
    """`name` is what holds it, such as `shop.web.handlers`; `container` what of it, such as `a dict`, or None."""

    __slots__ = ("container", "file", "line", "name")

    def __init__(self, name, container=None, place=(None, None)):
        self.name = cut(name, _LABEL)
        self.container = container and f"{'an' if container[:1].lower() in 'aeiou' else 'a'} {container}"
        self.file, self.line = place


class Search:
    """Looks for the holders of several objects at once. `complete` is false where time or room ended it early.

    `holders[at]` are the `Holder`s of `targets[at]`, without repetition, and `instances[at]` the number of instances
    of it that the collector knows, where it is a class.
    """

    def __init__(self, targets, namespaces, seconds, ignored=()):
        self.holders = [[] for _ in targets]
        self.instances = [0 for _ in targets]
        self.complete = not is_partly_frozen()
        self._targets = targets
        self._spaces = namespaces
        self._until = monotonic() + seconds
        self._known = [set() for _ in targets]
        self._within = [_functions_of(target) if is_class(target) else () for target in targets]
        self._ours = {id(targets), *(id(one) for one in ignored)}
        self._lists = []  # Kept until the end: what is ours is told by its id.

    def run(self):
        frontier = [_Held(target, at) for at, target in enumerate(self._targets)]
        seen = {id(target) for target in self._targets}
        for step in range(STEPS):
            if not frontier:
                return self
            if monotonic() > self._until:
                self.complete = False
                return self
            frontier = self._step(frontier, step, seen)
        return self

    def _step(self, frontier, step, seen):
        """Meets all that holds something in `frontier`; returns what of that is to be followed further."""
        further = []
        self._ours |= {id(frontier), id(seen), id(further)} | {id(held) for held in frontier}
        for at in range(0, len(frontier), _AT_ONCE):
            if not self._meet_all(frontier[at : at + _AT_ONCE], step, seen, further):
                self.complete = False
                break
        seen.update(id(held.value) for held in further)
        return further

    def _meet_all(self, some, step, seen, further):
        """Meets all that holds one of `some`, and adds to `further`; false where time ended it early."""
        by_id = {}
        for held in some:
            by_id.setdefault(id(held.value), []).append(held)
        values = [held.value for held in some]
        self._lists += some, by_id, values
        self._ours |= {id(some), id(by_id), id(values), id(self._lists), *map(id, by_id.values())}
        for referrer in gc.get_referrers(*values):
            if monotonic() > self._until:
                return False
            if id(referrer) in self._ours or self._is_ours(referrer):
                continue
            for child in _distinct(gc.get_referents(referrer)):
                for held in by_id.get(id(child), ()):
                    outer = self._meet(referrer, held, step)
                    if outer is None or id(referrer) in seen:
                        continue
                    if len(further) >= FOLLOWED:
                        self.complete = False
                    else:
                        further.append(outer)
        return monotonic() <= self._until

    def _meet(self, referrer, held, step):
        """Notes a holder that has a name; returns what has none as `_Held`, to be followed."""
        kind = type(referrer)
        if step == 0 and kind is held.value:
            self.instances[held.at] += 1
        elif is_class(referrer):
            self._meet_class(referrer, held)
        elif kind is dict and id(referrer) in self._spaces:
            space = self._spaces[id(referrer)]
            for key in () if is_imago(space) else _keys_of(referrer, held.value):
                self._note(held.at, f"{space}.{key}", held.container)
        elif kind is FunctionType:
            self._meet_function(referrer, held)
        elif kind is ModuleType:
            if held.key is not None:
                self._note(held.at, f"{module_name(referrer)}.{held.key} (of a module that was replaced)", held.before)
        elif not self._meet_running(referrer, held):
            return self._meet_container(referrer, held)
        return None

    def _meet_class(self, cls, held):
        target = self._targets[held.at]
        if is_class(target) and (cls is target or any(target is one for one in mro(cls))):
            if cls is not target:
                self._note(held.at, f"{class_label(cls)}, which inherits from it")
        elif held.key is not None:
            self._note(held.at, f"{class_label(cls)}.{held.key}", held.before)
        elif type(held.value) is not tuple:
            self._note(held.at, class_label(cls), held.container)

    def _meet_function(self, function, held):
        if function.__globals__ is held.value or any(function is one for one in self._within[held.at]):
            return
        own = (function.__defaults__, function.__kwdefaults__, function.__closure__)
        container = held.before if any(held.value is one for one in own) else held.container
        self._note(held.at, f"the function {function_label(function)}", container, code_place(function.__code__))

    def _meet_running(self, referrer, held):
        """Frames and what is suspended in one: true if it is such a thing."""
        for kind, code_field, words in _RUNNING:
            if type(referrer) is kind:
                code = getattr(referrer, code_field)
                self._note(held.at, f"{words} {function_name(code)}", held.container, code_place(code))
                return True
        return False

    def _meet_container(self, referrer, held):
        for kind, word in _CONTAINERS:
            if type(referrer) is kind:
                return held.within(referrer, word)
        if exactly(referrer, _OF_CLASSES):
            return None
        if not made_by_statement(type(referrer)):
            return held.within(referrer, type_name(referrer))
        label = class_label(type(referrer))
        if instance_dict(referrer) is held.value and held.key is not None:
            self._note(held.at, f"an instance of {label} (its {held.key})", held.before)
            return None
        names = [name for name, value in instance_fields(referrer) if value is held.value]
        self._note(held.at, f"an instance of {label}" + (f" (its {names[0]})" if names else ""), held.container)
        return None

    def _note(self, at, name, container=None, place=(None, None)):
        key = (name, container)
        if key not in self._known[at]:
            self._known[at].add(key)
            self.holders[at].append(Holder(name, container, place))

    def _is_ours(self, referrer):
        if type(referrer) is FrameType:
            return is_ours(referrer.f_code)
        if type(referrer) is FunctionType:
            return is_ours(referrer.__code__)
        for kind, code_field, _ in _RUNNING[1:]:
            if type(referrer) is kind:
                return is_ours(getattr(referrer, code_field))
        module = class_module(referrer if is_class(referrer) else type(referrer))
        return is_imago(module)


class _Held:
    """Something that leads to a target: `key` is the name under which it holds it, `container` what the target is in.

    `before` is what `container` was without this one: the dict of a class or an instance is none.
    """

    __slots__ = ("at", "before", "container", "key", "value")

    def __init__(self, value, at, container=None, key=None, before=None):
        self.value = value
        self.at = at
        self.container = container
        self.key = key
        self.before = before

    def within(self, referrer, word):
        key = self.key if word is None else None
        if type(referrer) is dict:
            key = next(iter(_keys_of(referrer, self.value)), None)
        return _Held(referrer, self.at, self.container or word, key, self.container)


def namespaces(top_level):
    """The names of modules by the id of their namespaces; the top level has its own, or else `__main__`."""
    found = {id(top_level): own_name(top_level)}
    for name, _, own in modules():
        found.setdefault(id(own), name)
    return found


def _keys_of(mapping, value):
    """The names under which a dict holds a value."""
    if dict.__len__(mapping) > _KEYS:
        return []
    return [key for key, item in entries(mapping) if item is value and type(key) is str]


def _functions_of(cls):
    """The functions that a class itself stores, and which refer back to it where they call `super`."""
    functions = []
    for _, value in class_entries(cls):
        if type(value) is staticmethod or type(value) is classmethod:
            value = type(value).__dict__["__func__"].__get__(value)
        for function in (value.fget, value.fset, value.fdel) if type(value) is property else (value,):
            if type(function) is FunctionType:
                functions.append(function)
    return functions


def _distinct(objects):
    return {id(one): one for one in objects}.values()
