"""The text of a value, made without running any of its code."""

import datetime
import decimal
from enum import EnumMeta
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    TracebackType,
    WrapperDescriptorType,
)

from imago.looking.adapters.moments import zone_text
from imago.looking.adapters.registry import seen
from imago.looking.contents import countable, exactly_built_in, length_of, range_parts, storage_of
from imago.looking.fields import (
    ABSENT,
    class_label,
    class_lookup,
    class_module,
    class_name,
    clean,
    cut,
    exactly,
    inherits,
    instance_fields,
    is_class,
    own_field,
    plain,
    stored,
    type_name,
)
from imago.looking.limits import NAME_MAX_CHARS, PREVIEW_MAX_CHARS, REPR_MAX_ITEMS
from imago.native import own_class

# Static text of values that hold no others: numbers, texts, dates, and what functions and classes are called.
#
# No text holds an address, so that looking twice at the same thing reads the same.

_PRINTED_AS_WHOLE = 8192
"""Bits of the largest int that is written out in decimal: that costs the square of its length."""


def leaf_text(value, room):
    """The text of a value that holds no others, at most a little over `room` characters; None for any other value."""
    write = _EXACT.get(id(type(value)))
    if write is not None:
        return write(value, room)
    if is_class(value):
        return f"<class '{class_label(value)}'>"
    if type(type(value)) is EnumMeta:
        return _enum_text(value)
    if inherits(value, ModuleType):
        return f"<module '{module_name(value)}'>"
    return None


def scalar_text(value, room):
    """The text of the number or string that an instance of a subclass stores, or None if it is no such thing."""
    kind = type(value)
    if issubclass(kind, str):
        return string_text(value, room)
    if issubclass(kind, int):
        return int_text(int.__index__(value), room)
    if issubclass(kind, float):
        return float.__repr__(value)
    if issubclass(kind, complex):
        return complex.__repr__(value)
    if issubclass(kind, bytes):
        return bytes_text(value, room)
    if issubclass(kind, bytearray):
        return _bytearray_text(value, room)
    return None


def int_text(value, _room):
    bits = int.bit_length(value)
    if bits <= _PRINTED_AS_WHOLE:
        try:
            return int.__repr__(value)
        except ValueError:
            pass  # The program has set a lower limit on digits.
    return f"<int of {bits} bits>" if value >= 0 else f"<negative int of {bits} bits>"


def string_text(value, room):
    length = str.__len__(value)
    head = repr(str.__getitem__(value, slice(0, room)))
    return head if length <= room else f"{head}… +{length - room}"


def bytes_text(value, room):
    length = bytes.__len__(value)
    head = repr(bytes.__getitem__(value, slice(0, room)))
    return head if length <= room else f"{head}… +{length - room}"


def own_name(namespace):
    """What the module of a namespace calls itself; `__main__` for a namespace that is no module's."""
    return plain(stored(namespace, "__name__")) or "__main__"


def module_name(module):
    return cut(plain(own_field(module, "__name__")) or "?", NAME_MAX_CHARS)


def function_label(function):
    """`module.Outer.name` of a Python function, or as much of it as is stored in readable form."""
    module = plain(function.__module__)
    name = plain(function.__qualname__) or "?"
    return cut(name if module is None or module == "builtins" else f"{module}.{name}", 2 * NAME_MAX_CHARS)


def builtin_label(function):
    """The name of a function that is compiled in, with what it is bound to where that is a module."""
    owner = function.__self__
    name = cut(plain(function.__name__) or "?", NAME_MAX_CHARS)
    if inherits(owner, ModuleType):
        module = module_name(owner)
        return name if module == "builtins" else f"{module}.{name}"
    if owner is None:
        return name
    return f"{class_label(owner if is_class(owner) else type(owner))}.{name}"


def _bytearray_text(value, room):
    return f"bytearray({bytes_text(bytes(bytearray.__getitem__(value, slice(0, room + 1))), room)})"


def _memory_text(value, _room):
    try:
        return f"<memoryview of {value.nbytes} bytes, format {value.format!r}>"
    except ValueError:
        return "<memoryview, released>"


def _range_text(value, room):
    parts = range_parts(value)
    if parts is None:
        return "<range>"
    start, stop, step = (int_text(part, room) for part in parts)
    return f"range({start}, {stop})" if step == "1" else f"range({start}, {stop}, {step})"


def _enum_text(value):
    name, number = own_field(value, "_name_"), own_field(value, "_value_")
    label = class_label(type(value))
    if type(name) is str:
        label = f"{label}.{cut(name, NAME_MAX_CHARS)}"
    if number is ABSENT:
        return f"<{label}>"
    inner = leaf_text(number, NAME_MAX_CHARS) if exactly(number, (int, str, float, bool, bytes)) else None
    return f"<{label}>" if inner is None else f"<{label}: {cut(inner, NAME_MAX_CHARS)}>"


def _moment_text(value, room):
    """A date with a time or a time alone; its zone may be anybody's code, and is only named."""
    zone = value.tzinfo
    bare = repr(value.replace(tzinfo=None))
    if zone is None:
        return bare
    if zone is datetime.timezone.utc:
        return f"{bare[:-1]}, tzinfo=datetime.timezone.utc)"
    text = zone_text(zone)
    named = text if text.startswith("<") else f"<{class_label(type(zone))} {text}>"
    return f"{bare[:-1]}, tzinfo={named})"


def _code_text(code, _room):
    return f"<code {cut(plain(code.co_name) or '?', NAME_MAX_CHARS)}>"


def _frame_text(frame, room):
    return f"<frame of {_code_text(frame.f_code, room)[6:-1]}>"


def _method_text(method, _room):
    function, owner = method.__func__, method.__self__
    called = function_label(function) if type(function) is FunctionType else class_label(type(function))
    return f"<bound method {called} of <{class_label(owner if is_class(owner) else type(owner))}>>"


def _descriptor_text(descriptor, _room):
    name = cut(plain(descriptor.__name__) or "?", NAME_MAX_CHARS)
    return f"<{type_name(descriptor)} {class_label(descriptor.__objclass__)}.{name}>"


def _wrapper_text(wrapper, _room):
    name = cut(plain(wrapper.__name__) or "?", NAME_MAX_CHARS)
    return f"<method-wrapper {name} of <{class_label(type(wrapper.__self__))}>>"


def _running_text(word):
    def text(value, _room):
        return f"<{word} {cut(plain(value.__qualname__) or '?', NAME_MAX_CHARS)}>"

    return text


def _own_repr(value, _room):
    return clean(repr(value))


_EXACT = {
    id(kind): write
    for kind, write in (
        (type(None), _own_repr),
        (type(...), _own_repr),
        (type(NotImplemented), _own_repr),
        (bool, _own_repr),
        (float, _own_repr),
        (complex, _own_repr),
        (int, int_text),
        (str, string_text),
        (bytes, bytes_text),
        (bytearray, _bytearray_text),
        (memoryview, _memory_text),
        (range, _range_text),
        (own_class(datetime.date), _own_repr),
        (datetime.timedelta, _own_repr),
        (own_class(datetime.datetime), _moment_text),
        (datetime.time, _moment_text),
        (decimal.Decimal, _own_repr),
        (FunctionType, lambda value, _: f"<function {function_label(value)}>"),
        (BuiltinFunctionType, lambda value, _: f"<built-in function {builtin_label(value)}>"),
        (MethodType, _method_text),
        (MethodWrapperType, _wrapper_text),
        (MethodDescriptorType, _descriptor_text),
        (WrapperDescriptorType, _descriptor_text),
        (GetSetDescriptorType, _descriptor_text),
        (MemberDescriptorType, _descriptor_text),
        (GeneratorType, _running_text("generator")),
        (CoroutineType, _running_text("coroutine")),
        (AsyncGeneratorType, _running_text("async_generator")),
        (CodeType, _code_text),
        (FrameType, _frame_text),
        (TracebackType, lambda value, _: "<traceback>"),
    )
}


# Texts of a few classes of the standard library that are written in Python and store their value in odd places.
#
# They are told by their name and read from their stored fields like any other object: a class that only pretends to be
# one of them can make its own instances look odd, and runs nothing.

_PATHS = ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")


def familiar_text(value, room):
    """`PosixPath('/tmp')`, `Fraction(1, 3)` or `UUID('…')`; None for anything else."""
    module, name = class_module(type(value)), class_name(type(value))
    if module == "pathlib" or module == "pathlib._local":
        return _path_text(name, value, room)
    if module == "fractions" and name == "Fraction":
        fields = dict(instance_fields(value))
        parts = [fields.get("_numerator"), fields.get("_denominator")]
        if all(type(part) is int and part.bit_length() < 2000 for part in parts):
            return f"Fraction({parts[0]}, {parts[1]})"
    if module == "uuid" and name == "UUID":
        number = dict(instance_fields(value)).get("int")
        if type(number) is int and 0 <= number < 2**128:
            digits = f"{number:032x}"
            return f"UUID('{'-'.join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))}')"
    return None


def _path_text(name, value, room):
    if name not in _PATHS:
        return None
    fields = dict(instance_fields(value))
    parts = fields.get("_parts", fields.get("_raw_paths"))
    if type(parts) is not list:
        return None
    texts = storage_of(parts).take(parts, 0, 100)
    if not all(exactly(text, (str,)) for text in texts):
        return None
    anchor = "".join(text for text in (fields.get("_drv"), fields.get("_root")) if type(text) is str)
    if "_parts" in fields and anchor and texts:
        return f"{name}({string_text(anchor + '/'.join(texts[1:]), room)})"
    return f"{name}({string_text('/'.join(texts) or '.', room)})"


# Values as text, from stored fields alone.
#
# Built-in values look as Python prints them. Anything else is shown by its type and what it stores, such as
# `<app.Order id=7, items=[…3]>`: never by its own printer, which is code.

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


def shown_text(text, truncated):
    """The contract's `Text` of what is shown."""
    return {"text": text, "truncated": truncated, "original_len": None if truncated else len(text)}


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


# What adapters add to a look at one value: its measure, its items, a line about it, and a card with its facts.
# `adapted` is what `seen` says of it, asked once for the whole look.

_CELL_MAX_CHARS = 24
_FIRST_LINE_MAX_CHARS = 600


def items_of(value, adapted):
    """How to read the items of a value: of a built-in container, or of what its adapter knows; None for neither."""
    return storage_of(value) if adapted is None or adapted.sample is None else adapted.sample


def measure_of(value, adapted):
    """`{shape}` or `{len}` of what can be measured without asking it; None for anything else."""
    if adapted is not None and adapted.shape is not None:
        shape = [countable(extent) for extent in adapted.shape]
        return None if None in shape else {"shape": shape}
    items = items_of(value, adapted)
    length = countable(length_of(value) if items is None else items.length(value))
    return None if length is None else {"len": length}


def preview_of(value):
    """`list, len 10000000`, or `numpy.ndarray, shape (3, 2), dtype int64`; None for what has no size."""
    adapted = seen(value)
    if adapted is not None and adapted.shape is not None:
        return cut(f"{adapted.label}, {adapted.head}", PREVIEW_MAX_CHARS)
    measure = measure_of(value, adapted)
    return None if measure is None else f"{class_label(type(value))}, len {measure['len']}"


def static_card(value, adapted, limit):
    """`(text, truncated)`: the static text, or less of it and under that what an adapter tells in a closer look."""
    if adapted is None or adapted.card is None:
        return static_repr(value, limit)
    try:
        card = adapted.card()
        lines = _lines(card)
    except Exception:
        return static_repr(value, limit)  # The facts cannot be had; what the value is can still be said.
    if adapted.own is not None or (card.rows and adapted.storage is not None):
        # The card has its parts, or its items.
        text, truncated = f"<{adapted.label} {adapted.head}>", False
    else:
        text, truncated = static_repr(value, _FIRST_LINE_MAX_CHARS)
    whole = clean("\n".join([text + ("…" if truncated else ""), *lines]))
    return whole[:limit], truncated or len(whole) > limit


def _lines(card):
    """The facts, and the table with its columns in line. A column label that is a text stands there without quotes."""
    header = [label[:_CELL_MAX_CHARS] if type(label) is str else _cell(label) for label in card.header]
    rows = [[_cell(cell) for cell in row] for row in card.rows]
    table = [header, *rows] if rows else []
    widths = [max(map(len, column)) for column in zip(*table)]
    return card.facts + ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table]


def _cell(value):
    return static_text(value, _CELL_MAX_CHARS).replace("\n", " ")
