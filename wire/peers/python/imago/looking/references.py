"""What refers to a name or a value."""

import builtins
import gc
import sys
from types import CodeType, FunctionType, ModuleType

from imago.looking.classes import subclasses_of
from imago.looking.contents import exactly_built_in
from imago.looking.fields import (
    ABSENT,
    Lookups,
    class_entries,
    class_lookup,
    class_qualified,
    clean,
    cut,
    entries,
    exactly,
    inherits,
    instance_dict,
    is_class,
    plain,
)
from imago.looking.frames import function_name, is_ours, library_file
from imago.looking.holders import Search, is_partly_frozen, namespaces
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.loaded import modules
from imago.looking.name_lookup import named
from imago.looking.outcomes import found, look
from imago.looking.source import code_place, constants, exact, instructions, name_of, names_in
from imago.looking.rendering import function_label
from imago.looking.unwrapping import unwrapped
from imago.native import monotonic

# Code that leads to one thing: loads of names in functions that are alive, followed through modules and classes.

_SUBCLASSES = 5_000
_CHECK = 256
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_FIRST = ("LOAD_FAST", "STORE_FAST_LOAD_FAST")
_PASSED = ("CACHE", "EXTENDED_ARG", "PUSH_NULL", "PRECALL", "NOP", "COPY", "RESUME")


class Target:
    """What is looked for: a value, and where its name is stored. Of a `shared` value only the name counts."""

    __slots__ = ("cls", "key", "shared", "space", "value")

    def __init__(self, name, value, shared, top_level):
        self.value = value
        self.shared = shared
        self.key = name.name
        self.cls = name.holder if name.held == "class" else None
        self.space = {"top": top_level, "class": name.holder, "built_in": builtins.__dict__}.get(name.held)
        if name.held == "module":
            self.space = instance_dict(name.holder)

    def is_at(self, space, key, value):
        """Whether a lookup of `key` in a namespace or a class, which found `value`, is one of it."""
        if not self.shared and value is not ABSENT and (value is self.value or unwrapped(value)[0] is self.value):
            return True
        return key == self.key and self.space is not None and space is self.space


class Uses:
    """`found` are `(label, file, line)` of the code that leads to a target; `unsure` names functions that may."""

    def __init__(self, target, spaces, seconds):
        self.found = []
        self.unsure = []
        self.functions = 0
        self.complete = True
        self.target = target
        self._until = monotonic() + seconds
        self._names = self._known_as(spaces)
        self._methods = self._own_methods() if target.cls is not None else {}
        self._seen = {}
        self.lookups = Lookups()

    def run(self):
        if not self._names:
            return self
        for function in [one for one in gc.get_objects() if type(one) is FunctionType]:
            code = function.__code__
            if is_ours(code) or library_file(code) is not None:
                continue
            self.functions += 1
            if self.functions % _CHECK == 0 and monotonic() > self._until:
                self.complete = False
                break
            self._scan_all(code, function)
        self.found.sort(key=lambda use: (use[1] or "", use[2] or 0))
        return self

    def _known_as(self, spaces):
        """The names under which code may load it: where it is stored now, and its own."""
        target = self.target
        names = {target.key} if target.key is not None else set()
        if not target.shared:
            for _, _, own in modules():
                names.update(key for key, value in entries(own) if value is target.value and type(key) is str)
        return names

    def _own_methods(self):
        """By the id of its code, the class that each method is stored in, of the target's class and those below."""
        methods, waiting = {}, [self.target.cls]
        while waiting and len(methods) < _SUBCLASSES:
            cls = waiting.pop()
            for _, value in class_entries(cls):
                inside = unwrapped(value)[0]
                if type(inside) is FunctionType:
                    methods.setdefault(id(inside.__code__), cls)
            waiting.extend(subclasses_of(cls))
        return methods

    def _scan_all(self, code, function):
        """Scans the code of a function and of those defined in it."""
        waiting = [(code, code)]
        while waiting:
            code, outer = waiting.pop()
            key = (id(code), id(function.__globals__))
            if key in self._seen:
                continue
            self._seen[key] = code
            if not self._names.isdisjoint(names_in(code)):
                self._scan(code, function, outer)
            waiting.extend((one, outer) for one in constants(code) if type(one) is CodeType)

    def _scan(self, code, function, outer):
        lines, unsure = [], False
        for line, here in _Reading(code, function.__globals__, self._methods.get(id(code)), self):
            if here is None:
                unsure = True
            elif line not in lines:
                lines.append(line)
        if not lines and unsure:
            self.unsure.append(_label(code, function, outer))
        file = code_place(code)[0]
        self.found += [(_label(code, function, outer), file, line) for line in lines]


def _label(code, function, outer):
    module = plain(function.__module__)
    name = plain(function.__qualname__) or "?"
    if code is not outer:
        name = function_name(code) if hasattr(code, "co_qualname") else f"{name}.<locals>.{name_of(code)}"
    return cut(clean(name if module is None else f"{module}.{name}"), 2 * NAME_MAX_CHARS)


class _Reading:
    """The loads of one code object that end in the target, as `(line, True)`; `(line, None)` of those that may."""

    def __init__(self, code, namespace, own_class, uses):
        self._code = code
        self._namespace = namespace
        self._class = own_class
        self._target = uses.target
        self._stored = uses.lookups.stored

    def __iter__(self):
        here, line = None, self._code.co_firstlineno
        first = exact(self._code.co_varnames)[0] if self._code.co_argcount else None
        for one in instructions(self._code):
            line = _line(one) or line
            name = one.opname
            if name in _PASSED:
                continue
            key = one.argval
            if name in _GLOBALS:
                here, hit = self._global(key)
            elif name in _ATTRIBUTES and here is not None:
                here, hit = self._attribute(here[0], key)
            elif name in ("IMPORT_NAME", "IMPORT_FROM"):
                here, hit = self._imported(name, key, here)
            elif name == "STORE_GLOBAL":
                here, hit = None, self._target.is_at(self._namespace, key, ABSENT)
            else:
                if name in _ATTRIBUTES and self._target.cls is not None and key == self._target.key:
                    yield line, None
                loaded = key[-1] if type(key) is tuple and key else key
                own = name.startswith(_FIRST) and self._class is not None and loaded == first
                here, hit = ((_OfClass(self._class),) if own else None), False
            if hit:
                yield line, True

    def _global(self, key):
        for space in (self._namespace, builtins.__dict__):
            value = self._stored(space, key) if inherits(space, dict) else ABSENT
            if value is not ABSENT:
                return (value,), self._target.is_at(space, key, value)
        return None, False

    def _attribute(self, value, key):
        if type(value) is _OfClass:
            found = class_lookup(value.cls, key)
            hit = found is not None and self._target.is_at(found[0], key, found[1])
            return None, hit
        if inherits(value, ModuleType):
            own = instance_dict(value)
            inner = ABSENT if own is None else self._stored(own, key)
            return (None if inner is ABSENT else (inner,)), self._target.is_at(own, key, inner)
        if is_class(value):
            found = class_lookup(value, key)
            if found is None:
                return None, False
            return (found[1],), self._target.is_at(found[0], key, found[1])
        return None, False

    def _imported(self, name, key, here):
        if name == "IMPORT_FROM":
            if here is None:
                return None, False
            _, hit = self._attribute(here[0], key)
            # The module stays on the stack, for the next name.
            return here, hit
        module = self._stored(sys.modules, key)
        if module is ABSENT:
            package = plain(self._stored(self._namespace, "__package__")) or ""
            module = self._stored(sys.modules, f"{package}.{key}" if key else package)
        return (None if module is ABSENT else (module,)), module is not ABSENT and module is self._target.value


class _OfClass:
    """Stands for some instance of a class."""

    __slots__ = ("cls",)

    def __init__(self, cls):
        self.cls = cls


def _line(one):
    number = getattr(one, "line_number", None)
    if number is not None:
        return number
    start = one.starts_line
    return start if type(start) is int else None


# Who uses one name: code of loaded functions that leads to it, and what the collector knows to hold it.

_MOST = 1000
_SECONDS = 1.5
_UNSURE = 6
# Texts and numbers are shared by chance: that two variables hold the same one says nothing.
_BY_CHANCE = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))


@look
def references(image, query):
    """`Looked<References>`; `query` has `name` and `limit` of the contract."""
    name = named(image.namespace, query["name"], image.handles)
    limit = max(1, min(query["limit"], _MOST))
    value = unwrapped(name.value)[0]
    shared = exactly(value, _BY_CHANCE) or (exactly_built_in(value) and not gc.is_tracked(value))
    spaces = namespaces(image.namespace)
    uses = Uses(Target(name, value, shared, image.namespace), spaces, _SECONDS).run()
    rows = [_use(*use) for use in uses.found]
    search = None
    if not shared:
        # With a wrapper that the name stands for, which does not count as a holder of what is in it.
        targets = [value] if value is name.value else [value, name.value]
        search = Search(targets, spaces, _SECONDS, ignored=targets[1:]).run()
        holders = [holder for found_here in search.holders for holder in found_here]
        own = _own_places(name, spaces, image.namespace)
        rows += [_hold(holder) for holder in holders if holder.name not in own]
    return found(
        {
            "qualified": clean(_qualified(name, value)),
            "references": rows[:limit],
            "total": len(rows),
            "searched": _searched(uses, search),
            "complete": uses.complete and not is_partly_frozen() and (search is None or search.complete),
        }
    )


def _own_places(name, spaces, top_level):
    """What the very variable that was asked for is called among the holders."""
    space = {"top": top_level, "module": instance_dict(name.holder) if name.held == "module" else None}.get(name.held)
    return (name.qualified, f"{spaces.get(id(space))}.{name.name}")


def _use(label, file, line):
    return {"kind": "uses", "from": label, "file": file, "line": line}


def _hold(holder):
    text = holder.name if holder.container is None else f"{holder.container} in {holder.name}"
    return {"kind": "holds", "from": text, "file": holder.file, "line": holder.line}


def _qualified(name, value):
    if is_class(value):
        return class_qualified(value)
    return function_label(value) if type(value) is FunctionType else name.qualified


def _searched(uses, search):
    """What was looked through, and what a reference could hide in that was not."""
    told = [
        f"The code of {uses.functions} functions and methods that are alive, those of the standard library left out.",
        "Not in the image any more, and so not searched: the code of modules, class bodies and scripts that has run.",
        "Never seen: names that are looked up by text (getattr, globals), and C code.",
    ]
    if uses.unsure:
        names = ", ".join(uses.unsure[:_UNSURE]) + (", …" if len(uses.unsure) > _UNSURE else "")
        told.append(
            f"Not counted: {len(uses.unsure)} functions that read an attribute of this name of something "
            f"that only running them could tell: {names}."
        )
    if search is None:
        told.append("A text or a number may be shared by chance: only its variable was looked for, not who holds it.")
    else:
        told.append("For who holds it: all objects that the garbage collector knows, and these are not all.")
        if search.instances[0]:
            count = search.instances[0]
            told.append(f"It has {count} living instance{'' if count == 1 else 's'}, not listed.")
    if is_partly_frozen():
        told.append("The program has frozen objects (gc.freeze), which nobody can look through.")
    return told
