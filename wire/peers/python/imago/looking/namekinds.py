"""What kind of thing a name stands for, in the contract's words, and the line that says what it is."""

import functools
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)

from imago.looking.attributes import TupleField
from imago.looking.fields import (
    ABSENT,
    clean,
    exactly,
    inherits,
    instance_dict,
    is_class,
    is_dunder,
    plain,
    stored,
    type_name,
)
from imago.looking.sections import dedented, stored_doc
from imago.looking.unwrapping import is_wrapper, unwrapped

_PROPERTIES = (property, functools.cached_property, GetSetDescriptorType, MemberDescriptorType, TupleField)
_METHODS = (
    MethodType,
    MethodDescriptorType,
    ClassMethodDescriptorType,
    WrapperDescriptorType,
    MethodWrapperType,
    staticmethod,
    classmethod,
    functools.partialmethod,
    functools.singledispatchmethod,
)
_SUMMARY = 200


def kind_of_name(value, name, in_class):
    """One of the contract's kinds of names; `in_class` says that a class stores it."""
    if is_class(value):
        return "class"
    if inherits(value, ModuleType):
        return "module"
    if exactly(value, _PROPERTIES):
        return "property"
    if exactly(value, _METHODS):
        return "method"
    if type(value) is FunctionType:
        return _kind_of_function(value, in_class)
    if type(value) is BuiltinFunctionType:
        owner = value.__self__
        return "function" if owner is None or inherits(owner, ModuleType) else "method"
    if is_wrapper(value) or _passes_for_a_function(value):
        return "method" if in_class else "function"
    return "constant" if is_constant_name(name, value) else "variable"


def is_constant_name(name, value):
    """Whether a name is written as one that nobody means to change, or is a constant of the language."""
    if value is None or value is NotImplemented or value is ...:
        return name in ("None", "NotImplemented", "Ellipsis")
    if type(name) is not str:
        return False
    return (name.isupper() and not is_dunder(name)) or name in ("True", "False", "__debug__")


def _kind_of_function(function, in_class):
    own = instance_dict(function)
    if own is not None and stored(own, "registry") is not ABSENT and stored(own, "dispatch") is not ABSENT:
        return "method" if in_class else "generic_function"
    if in_class:
        return "method"
    outer = (plain(function.__qualname__) or "").rpartition(".")[0]
    return "method" if outer and not outer.endswith("<locals>") else "function"


def _passes_for_a_function(value):
    own = instance_dict(value) if callable(value) else None
    if own is None or stored(own, "__wrapped__") is ABSENT:
        return False
    return exactly(unwrapped(value)[0], (FunctionType, BuiltinFunctionType))


def summary(value):
    """The first line of the documentation that is stored for one thing itself, or None."""
    doc = stored_doc(value)
    if doc is None:
        inside = unwrapped(value)[0]
        doc = None if inside is value else stored_doc(inside)
    return None if doc is None else first_line(doc)


def first_line(doc):
    return clean(dedented(doc[:2000])).strip().partition("\n")[0].strip()[:_SUMMARY] or None


def named_thing(name, value, plain_name, in_class=False):
    """The contract's `NamedThing`; `plain_name` is the last part of `name`."""
    kind = kind_of_name(value, plain_name, in_class)
    return {"name": clean(name), "kind": kind, "type_name": type_name(value), "doc": summary_for(kind, value)}


def summary_for(kind, value):
    """The summary of what has documentation of its own; that of a variable would be its class's."""
    return None if kind in ("variable", "constant") else summary(value)


def is_callable(value):
    """Whether calling it is what a stored thing is for. `callable` asks the type alone, never the object."""
    return callable(value) or (is_wrapper(value) and not exactly(value, (property, functools.cached_property)))
