"""Values as text, from stored fields alone.

Built-in values look as Python prints them. Anything else is shown by its type and what it stores, such as
`<app.Order id=7, items=[…3]>`: never by its own printer, which is code.
"""

from imago.looking.adapters import seen
from imago.looking.contents import exactly_built_in, storage_of
from imago.looking.familiar import familiar_text
from imago.looking.fields import (
    class_label,
    class_lookup,
    clean,
    cut,
    inherits,
    instance_fields,
)
from imago.looking.leaves import leaf_text, scalar_text
from imago.looking.limits import NAME_MAX_CHARS, REPR_MAX_ITEMS

_DEEPEST = 5
_FIELDS = 24
_FIELD_ROOM = 100


def static_text(value, limit):
    """`value` in at most `limit` characters, for a place where only one text fits. Runs no user code."""
    text, truncated = static_repr(value, limit)
    return text[: limit - 1] + "…" if truncated and len(text) >= limit else text


def static_repr(value, limit):
    """`(text, truncated)`: at most `limit` characters, and whether anything that belongs there was left out."""
    page = _Page(limit)
    try:
        page.value(value, 0)
    except _Full:
        pass
    return "".join(page.parts), page.truncated


class _Full(Exception):
    """The page has no room left."""


class _Page:
    """A bounded text that is being written, front to back."""

    def __init__(self, room):
        self.room = room
        self.parts = []
        self.truncated = False
        self.path = []  # ids of the containers that the place being written is inside of

    def write(self, text):
        text = clean(text)
        if len(text) > self.room:
            self.parts.append(text[: self.room])
            self.room = 0
            self.truncated = True
            raise _Full
        self.parts.append(text)
        self.room -= len(text)

    def value(self, value, depth):
        leaf = leaf_text(value, self.room) or familiar_text(value, self.room)
        if leaf is not None:
            self.write(leaf)
            return
        storage = storage_of(value)
        if storage is not None and exactly_built_in(value):
            self.container(value, storage, depth)
            return
        adapted = seen(value)
        if adapted is not None:
            self.adapted(value, adapted, depth)
        else:
            self.instance(value, storage, depth)

    def container(self, value, storage, depth):
        if id(value) in self.path:
            self.write(f"{storage.opening}...{storage.closing}")
            return
        length = storage.length(value)
        if depth >= _DEEPEST and length:
            self.elided(storage, length)
            return
        if length == 0 and storage.empty is not None:
            self.write(storage.empty)
            return
        self.write(storage.opening)
        self.path.append(id(value))
        items = storage.take(value, 0, REPR_MAX_ITEMS)
        for index, item in enumerate(items):
            if index:
                self.write(", ")
            if storage.shape == "mapping":
                self.value(item[0], depth + 1)
                self.write(": ")
                item = item[1]
            self.value(item, depth + 1)
        self.path.pop()
        if length > len(items):
            self.truncated = True
            self.write(f", … +{length - len(items)}")
        self.write(",)" if storage.closing == ")" and len(items) == 1 else storage.closing)

    def elided(self, storage, length):
        self.truncated = True
        self.write(f"{storage.opening}…{length}{storage.closing}")

    def adapted(self, value, seen, depth):
        """`<numpy.ndarray shape (3,), dtype int64 [1, 2, 3]>`: what an adapter says, then items, then fields."""
        if seen.text is not None:
            self.write(seen.text)
            return
        if seen.label is None:
            self.container(value, seen.storage, depth)
            return
        self.write(f"<{seen.label}")
        if id(value) in self.path:
            self.write(" ...>")
            return
        self.write(f" {seen.head}" if seen.head else "")
        if depth >= _DEEPEST:
            self.truncated = True
            self.write(" …>")
            return
        if seen.storage is not None:
            self.write(" ")
            self.container(value, seen.storage, depth)
        self.path.append(id(value))
        self.fields(seen.fields)
        self.path.pop()
        self.write(">")

    def instance(self, value, storage, depth):
        """`<app.Order id=7, items=[…3]>`; what a subclass of a built-in class holds comes before its fields."""
        self.write(f"<{class_label(type(value))}")
        if id(value) in self.path:
            self.write(" ...>")
            return
        if depth >= _DEEPEST:
            self.truncated = True
            self.write(" …>")
            return
        self.path.append(id(value))
        names = _tuple_fields(value)
        if names is not None:
            self.fields(zip(names, tuple.__iter__(value)))
        else:
            scalar = scalar_text(value, self.room)
            if scalar is not None:
                self.write(f" {scalar}")
            elif storage is not None:
                self.write(" ")
                self.container_of(value, storage, depth)
            elif inherits(value, BaseException):
                self.arguments(value)
            self.fields(instance_fields(value, _FIELDS + 1))
        self.path.pop()
        self.write(">")

    def container_of(self, value, storage, depth):
        """The items of `value` alone; it is on the path already, as the instance that it is."""
        self.path.pop()
        self.container(value, storage, depth)
        self.path.append(id(value))

    def arguments(self, error):
        self.write(" ")
        self.container(_args_of(error), storage_of(()), _DEEPEST - 1)

    def fields(self, pairs):
        for index, (name, value) in enumerate(pairs):
            if index == _FIELDS:
                self.truncated = True
                self.write(", …")
                return
            self.write(f"{', ' if index else ' '}{cut(name, NAME_MAX_CHARS)}=")
            self.field(value)

    def field(self, value):
        """One field of an instance: short if it is a leaf, otherwise only what it is and how many it holds."""
        leaf = leaf_text(value, _FIELD_ROOM) or familiar_text(value, _FIELD_ROOM)
        if leaf is not None:
            self.write(cut(leaf, 2 * _FIELD_ROOM))
            return
        storage = storage_of(value)
        if storage is not None and exactly_built_in(value):
            length = storage.length(value)
            if length:
                self.elided(storage, length)
            else:
                self.container(value, storage, _DEEPEST)
            return
        adapted = seen(value)
        if adapted is not None:
            self.adapted_field(adapted)
            return
        self.truncated = True
        self.write(f"<{class_label(type(value))} …>")

    def adapted_field(self, seen):
        if seen.text is not None:
            self.write(cut(seen.text, 2 * _FIELD_ROOM))
            return
        self.truncated = True
        self.write(cut(f"<{seen.label} {seen.head or '…'}", 2 * _FIELD_ROOM) + ">")


def _args_of(error):
    args = BaseException.__dict__["args"].__get__(error)
    return args if type(args) is tuple else ()


def _tuple_fields(value):
    """The field names of a named tuple, as its class stores them, or None."""
    if not inherits(value, tuple):
        return None
    found = class_lookup(type(value), "_fields")
    names = None if found is None else found[1]
    if type(names) is not tuple or len(names) != tuple.__len__(value):
        return None
    return names if all(type(name) is str for name in names) else None
