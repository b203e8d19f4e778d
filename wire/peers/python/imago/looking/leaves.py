"""Static text of values that hold no others: numbers, texts, dates, and what functions and classes are called.

No text holds an address, so that looking twice at the same thing reads the same.
"""

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
from imago.looking.contents import range_parts
from imago.looking.fields import (
    ABSENT,
    class_label,
    clean,
    cut,
    exactly,
    inherits,
    instance_dict,
    is_class,
    plain,
    stored,
    type_name,
)
from imago.looking.limits import NAME_MAX_CHARS

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
    if inherits(value, str):
        return string_text(value, room)
    if inherits(value, int):
        return int_text(int.__index__(value), room)
    if inherits(value, float):
        return float.__repr__(value)
    if inherits(value, complex):
        return complex.__repr__(value)
    if inherits(value, bytes):
        return bytes_text(value, room)
    if inherits(value, bytearray):
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
    own = instance_dict(module)
    name = ABSENT if own is None else stored(own, "__name__")
    return cut(plain(name) or "?", NAME_MAX_CHARS)


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
    own = instance_dict(value)
    name = ABSENT if own is None else stored(own, "_name_")
    number = ABSENT if own is None else stored(own, "_value_")
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
        (datetime.date, _own_repr),
        (datetime.timedelta, _own_repr),
        (datetime.datetime, _moment_text),
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
