"""Attributes that are stored, found where Python would find them, without asking a descriptor or a class.

`read_attribute` follows the order of Python's own lookup: what the class insists on, what the instance stores, what
the class stores. Where code would decide, it names that code and goes no further.
"""

import datetime
import sys
import types
from collections import deque, namedtuple
from enum import Enum, EnumMeta
from types import (
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
    WrapperDescriptorType,
)

from imago.looking.adapters.torch_modules import stored_part
from imago.looking.fields import (
    ABSENT,
    FIELD_DESCRIPTORS,
    METHOD_DESCRIPTORS,
    SHARED_GETTER,
    ThreadLocal,
    class_entries,
    class_entry,
    class_label,
    class_lookup,
    class_module,
    exactly,
    inherits,
    instance_dict,
    instance_fields,
    is_class,
    made_by_statement,
    mro,
    own_field,
    read_member,
    stored,
)
from imago.looking.outcomes import NeedsEvaluation, NotFound, nearest
from imago.native import own_class

TupleField = type(namedtuple("Example", "field").field)


class Attribute:
    """A stored value. `remark` is None, or says where it is stored when that is not the object itself.

    `note` is None, or a sentence on why code that reads the same path may be given something else.
    """

    __slots__ = ("note", "remark", "value")

    def __init__(self, value, remark=None, note=None):
        self.value = value
        self.remark = remark
        self.note = note


def read_attribute(obj, name, text):
    """The `Attribute` that `obj.name` stands for; `text` spells that, for messages. Raises `Unresolved`."""
    if is_class(obj):
        return _of_class(obj, name, text)
    return _of_instance(obj, name, text)


def _of_instance(obj, name, text):
    cls = type(obj)
    if cls is MethodType and name in ("__func__", "__self__"):
        return Attribute(read_member(class_entry(cls, name), obj))
    _refuse_own_lookup(cls, text)
    in_class = class_lookup(cls, name)
    if in_class is not None and _insists(in_class[1]):
        return _behind(obj, in_class, name, text)
    own = instance_dict(obj)
    if own is None:
        _refuse_hidden_fields(cls, text)
    value = ABSENT if own is None else stored(own, name)
    if value is not ABSENT:
        return Attribute(value)
    if in_class is not None:
        return _from_class(in_class, text)
    value = stored_part(obj, name)
    if value is not ABSENT:
        return Attribute(value)
    _refuse_hook(cls, own if inherits(obj, ModuleType) else None, text)
    fields = [field for field, _ in instance_fields(obj)]
    raise NotFound(f"`{text}`", nearest(name, fields + _class_names(cls)))


def _of_class(cls, name, text):
    meta = type(cls)
    _refuse_own_lookup(meta, text)
    in_meta = class_lookup(meta, name)
    if in_meta is not None and in_meta[0] is type and name in _TYPE_SLOTS:
        return Attribute(type.__dict__[name].__get__(cls))
    if in_meta is not None and in_meta[0] is type and name in ("__doc__", "__module__", "__annotations__"):
        return Attribute(_own_entry(cls, name, text))
    if name == "__class__" and in_meta is not None and in_meta[0] is object:
        return Attribute(meta)
    if in_meta is not None and _insists(in_meta[1]):
        raise _would_run(text, in_meta)
    if meta is EnumMeta:
        members = class_entry(cls, "_member_map_")
        member = stored(members, name) if inherits(members, dict) else ABSENT
        if member is not ABSENT:
            return Attribute(member)
    in_class = class_lookup(cls, name)
    if in_class is not None:
        if exactly(in_class[1], _SAME_ON_A_CLASS):
            return Attribute(in_class[1], f"as stored in {class_label(in_class[0])}")
        return _from_class(in_class, text)
    if in_meta is not None:
        return _from_class(in_meta, text)
    _refuse_hook(meta, None, text)
    raise NotFound(f"`{text}`", nearest(name, _class_names(cls)))


def _own_entry(cls, name, text):
    """What `type` computes from the class's own dict, for classes that were made by a statement."""
    if not made_by_statement(cls) and name != "__annotations__":
        return type.__dict__[name].__get__(cls)
    value = class_entry(cls, name)
    if value is ABSENT or class_lookup(type(value), "__get__") is not None:
        raise NeedsEvaluation(f"Python itself computes `{text}`.")
    return value


def _behind(obj, in_class, name, text):
    """What a descriptor reads without code; else what the instance stores under the same name, with a note on that."""
    try:
        return Attribute(_read_descriptor(obj, in_class, name, text))
    except NeedsEvaluation:
        own = instance_dict(obj)
        value = ABSENT if own is None else stored(own, name)
        if value is ABSENT:
            raise
    note = f"`{text}` is shown as the instance stores it; code is given what {_descriptor_label(in_class)} returns"
    return Attribute(value, None, note)


def _read_descriptor(obj, in_class, name, text):
    """What a descriptor that goes before the instance stands for, if it only reads a field."""
    owner, descriptor = in_class
    kind = type(descriptor)
    value = ABSENT
    if kind is MemberDescriptorType:
        value = read_member(descriptor, obj)
        if value is ABSENT:
            raise NotFound(f"`{text}`, whose slot is empty")
    elif kind is TupleField and inherits(obj, tuple):
        value = read_member(descriptor, obj)
    elif owner is Enum and name in ("name", "value"):
        value = own_field(obj, f"_{name}_")
    elif kind is GetSetDescriptorType and (descriptor.__objclass__ is owner or descriptor is SHARED_GETTER):
        if name == "__dict__":
            own = instance_dict(obj)
            value = ABSENT if own is None else own
        elif name == "__class__" and owner is object:
            value = type(obj)
        elif _reads_a_field(owner, name):
            value = read_member(descriptor, obj)
    if value is ABSENT:
        raise _would_run(text, in_class)
    return value


def _from_class(in_class, text):
    """What stands in a class and leaves the instance the first word: shown as stored, not bound to anything."""
    owner, value = in_class
    remark = f"as stored in {class_label(owner)}"
    kind = type(value)
    if kind is staticmethod or kind is classmethod:
        return Attribute(kind.__dict__["__func__"].__get__(value), f"the {kind.__name__} {remark}")
    if exactly(value, _SHOWN_AS_STORED) or class_lookup(kind, "__get__") is None:
        return Attribute(value, remark)
    raise _would_run(text, in_class)


def _insists(value):
    """Whether a value in a class is a descriptor that goes before what an instance stores."""
    kind = type(value)
    return class_lookup(kind, "__set__") is not None or class_lookup(kind, "__delete__") is not None


def _would_run(text, in_class):
    return NeedsEvaluation(f"`{text}` is {_descriptor_label(in_class)}, and reading it would run code.")


def _descriptor_label(in_class):
    owner, descriptor = in_class
    kind = "property" if type(descriptor) is property else class_label(type(descriptor))
    return f"a {kind} of {class_label(owner)}"


def _refuse_own_lookup(cls, text):
    """Raises `Unresolved` if attributes of the instances of `cls` are found by code of its own."""
    place = class_lookup(cls, "__getattribute__")
    if place is not None:
        owner, hook = place
        if owner is object or owner is type or owner is ModuleType:
            return
        compiled = type(hook) is WrapperDescriptorType and hook.__objclass__ is owner
        if compiled and class_module(owner) in _PLAIN_MODULES and not any(owner is one for one in _OWN_LOOKUP):
            return
    label = class_label(cls if place is None else place[0])
    raise NeedsEvaluation(f"{label} looks attributes up itself (`__getattribute__`), so `{text}` would run code.")


def _refuse_hook(cls, module_dict, text):
    """Raises `Unresolved` if a missing attribute would be computed by a `__getattr__`."""
    place = class_lookup(cls, "__getattr__")
    if place is not None:
        label = class_label(place[0])
        raise NeedsEvaluation(f"`{text}` is not stored, and {label} has a `__getattr__` that may compute it.")
    if module_dict is not None and stored(module_dict, "__getattr__") is not ABSENT:
        raise NeedsEvaluation(f"`{text}` is not stored, and the module has a `__getattr__` for it.")


def _refuse_hidden_fields(cls, text):
    place = class_lookup(cls, "__dict__")
    if place is not None:
        label = class_label(place[0])
        raise NeedsEvaluation(f"{label} hides the fields of its instances, so `{text}` runs code.")


def _reads_a_field(owner, name):
    for known, names in _FIELD_GETSETS:
        if owner is known:
            return names is None or name in names
    return False


def _class_names(cls):
    return [name for owner in mro(cls) for name, _ in class_entries(owner)]


_TYPE_SLOTS = ("__name__", "__qualname__", "__mro__", "__bases__", "__base__", "__dict__")

_SHOWN_AS_STORED = (FunctionType, MethodType, *METHOD_DESCRIPTORS)

# Descriptors that answer a class with themselves.
_SAME_ON_A_CLASS = (property, TupleField, *FIELD_DESCRIPTORS)

# Modules whose compiled classes look attributes up in the usual way, and the exceptions to that.
_PLAIN_MODULES = ("builtins", "types", "collections", "datetime", "decimal", "functools", "array", "itertools", "re")
_OWN_LOOKUP = (super, ThreadLocal, MethodType, type(list[int]), getattr(types, "LazyImportType", super))

# Computed attributes of built-in classes that only read a field. None stands for all of them.
_FUNCTION_FIELDS = ("__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__")
_FIELD_GETSETS = (
    (int, None),
    (float, None),
    (complex, None),
    (BaseException, ("args", "__traceback__", "__cause__", "__context__", "__suppress_context__")),
    (FunctionType, _FUNCTION_FIELDS + (("__annotations__",) if sys.version_info < (3, 14) else ())),
    (BuiltinFunctionType, ("__name__", "__doc__", "__self__", "__text_signature__")),
    (CodeType, None),
    (TracebackType, None),
    (FrameType, ("f_back", "f_code", "f_lineno", "f_globals", "f_builtins")),
    (GeneratorType, None),
    (CoroutineType, None),
    (property, ("__doc__",)),
    (deque, ("maxlen",)),
    (memoryview, ("format", "itemsize", "nbytes", "ndim", "readonly", "shape", "strides")),
    (own_class(datetime.date), None),
    (datetime.time, None),
    (own_class(datetime.datetime), None),
    (datetime.timedelta, None),
)
