"""What an object stores, read without asking the object.

Almost everything one does to a Python object can be answered by code of its class: `isinstance` by a `__class__`
property, `type(x).__name__` by a metaclass, a dict lookup by the `__eq__` of some other key. Nothing in this module
is. It reads types through the slots of `type`, instances through the descriptors that the interpreter made for
them, and dicts by walking them, so that it is safe on values that lie, raise, print or never return.

Two habits keep it so, here and in all of `imago.looking`: a class is compared with `is` or `issubclass(type(x),
SomeBuiltin)` (whose answer comes from the real method resolution order as long as `SomeBuiltin` has no metaclass
of its own), and a class never becomes a key, because its metaclass may define `__hash__`.
"""

import _ast
import _collections
import _functools
import _io
import sys
from _thread import _local as ThreadLocal
from itertools import islice
from types import (
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)

ABSENT = object()
"""Stands for "not stored" where None could be stored."""

_name_of = type.__dict__["__name__"].__get__
_qualname_of = type.__dict__["__qualname__"].__get__
_bases_of = type.__dict__["__bases__"].__get__
_subclasses_of = type.__dict__["__subclasses__"]
_module_of = type.__dict__["__module__"].__get__
_mro_of = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__
_flags_of = type.__dict__["__flags__"].__get__
_base_of = type.__dict__["__base__"].__get__
_size_of = type.__dict__["__basicsize__"].__get__
_dict_offset_of = type.__dict__["__dictoffset__"].__get__
_weakref_offset_of = type.__dict__["__weakrefoffset__"].__get__
_WORD = tuple.__itemsize__

_MADE_BY_A_CLASS_STATEMENT = 1 << 9
_IMMUTABLE = 1 << 8
_HAS_IMMUTABLE = sys.version_info >= (3, 10)
# Since 3.11 the interpreter may keep the dict in front of the object, outside of its size.
_MANAGED_DICT = 1 << 4 if sys.version_info >= (3, 11) else 0
# Classes compiled into the interpreter whose `__dict__` only reads the field.
_BUILT_IN_GETTERS = tuple(
    cls.__dict__["__dict__"]
    for cls in (
        BaseException,
        FunctionType,
        staticmethod,
        classmethod,
        _collections.OrderedDict,
        _functools.partial,
        _functools._lru_cache_wrapper,
        _io._IOBase,
        _ast.AST,
    )
    if "__dict__" in cls.__dict__
)

#: What a compiled class stores for its methods, and for the fields of its instances.
METHOD_DESCRIPTORS = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
FIELD_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)

_ATTEMPTS = 8
_GETTER = type("_Made", (), {}).__dict__["__dict__"]
_GETTER_DOC = _GETTER.__doc__
# Since 3.15 all classes share one getter, which belongs to `object`.
SHARED_GETTER = _GETTER if _GETTER.__objclass__ is object else None
# Of what is read in one go, and only disturbed where the collector of garbage steps in.
_ATTEMPTS_AT_ONCE = 64


def inherits(obj, kinds):
    """Whether the real type of `obj` derives from one of `kinds`: built-in classes whose metaclass is `type`."""
    return issubclass(type(obj), kinds)


def exactly(obj, kinds):
    """Whether the real type of `obj` is one of `kinds`."""
    cls = type(obj)
    for kind in kinds:
        if cls is kind:
            return True
    return False


def is_class(obj):
    return issubclass(type(obj), type)


def plain(text):
    """The characters of a string or of an instance of a subclass, as an exact `str`; else None."""
    if type(text) is str:
        return text
    return str.__getitem__(text, slice(None)) if inherits(text, str) else None


def clean(text):
    """An exact `str` without lone surrogates, which UTF-8 cannot carry: they become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def cut(text, limit):
    """`text`, cleaned, in at most `limit` characters; an ellipsis takes the place of the last one if it was longer."""
    text = clean(text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"


def steadily(read, attempts=_ATTEMPTS):
    """`read()`, again if another thread changed what was being walked. Gives up with the RuntimeError in the end."""
    for _ in range(attempts - 1):
        try:
            return read()
        except RuntimeError:
            continue
    return read()


def entries(mapping):
    """The pairs of a dict, or of an instance of a subclass as the dict underneath stores them."""
    return steadily(lambda: list(dict.items(mapping)), _ATTEMPTS_AT_ONCE)


def stored(mapping, name, first=None):
    """What a dict stores under an exact `str`, found by walking it: a lookup could ask a hostile key. Or `ABSENT`.

    `first`: among that many of its entries, the oldest.
    """
    try:
        return steadily(lambda: _under(name, islice(dict.items(mapping), first)))
    except RuntimeError:
        # Changed too often to be walked. Taking all of it at once is dear, but nothing comes between.
        return _under(name, entries(mapping)[:first])


def _under(name, pairs):
    for key, value in pairs:
        if type(key) is str and key == name:
            return value
    return ABSENT


class Lookups:
    """Many lookups of texts in dicts whose other keys may be hostile: each dict is gone over once.

    For the length of one look; what a dict has come to store meanwhile is not seen.
    """

    def __init__(self):
        self._read = {}

    def stored(self, mapping, name):
        """The same as `stored`."""
        known = self._read.get(id(mapping))
        if known is None:
            names = {key: value for key, value in entries(mapping) if type(key) is str}
            known = self._read[id(mapping)] = (mapping, names)
        return known[1].get(name, ABSENT)


# Classes


def mro(cls):
    """The real method resolution order; a class that is still being made has none yet."""
    return _mro_of(cls) or (cls,)


def class_entries(cls):
    """The pairs that one class stores itself, those of its bases left out; none of a compiled one that is not ready."""
    own = _dict_of(cls)
    if own is None:
        return []
    try:
        return list(own.items())
    except RuntimeError:
        return steadily(lambda: list(own.items()))


def class_entry(cls, name):
    """What one class stores itself under `name`, as stored, or `ABSENT`."""
    return _under(name, class_entries(cls))


def class_lookup(cls, name):
    """`(owner, value)` of the first class in the order that stores `name`, or None. No descriptor is asked."""
    for owner in mro(cls):
        value = class_entry(owner, name)
        if value is not ABSENT:
            return owner, value
    return None


def made_by_statement(cls):
    """Whether the class was made while the program ran, rather than compiled into the interpreter."""
    return bool(_flags_of(cls) & _MADE_BY_A_CLASS_STATEMENT)


def is_compiled(cls):
    """Whether a class is compiled for sure: since 3.10 such a class may be made at run time, but cannot be changed."""
    flags = _flags_of(cls)
    return not flags & _MADE_BY_A_CLASS_STATEMENT or bool(flags & _IMMUTABLE)


def class_name(cls):
    return cut(plain(_name_of(cls)) or "?", 200)


def class_module(cls):
    """The module that the class says it is from; None where what it stores is no string."""
    found = class_entry(cls, "__module__") if made_by_statement(cls) else _module_of(cls)
    text = plain(found)
    return None if text is None else cut(text, 200)


def class_qualified(cls):
    """`module.Outer.Inner`; the module is left out where it is unknown."""
    module = class_module(cls)
    name = cut(class_path(cls), 400)
    return name if module is None else f"{module}.{name}"


def class_path(cls):
    """`Outer.Inner`: what the class is called within its module."""
    return plain(_qualname_of(cls)) or class_name(cls)


def class_facts(cls):
    """`{name, module, qualified}` of a class, as the contract spells it."""
    return {"name": class_name(cls), "module": class_module(cls), "qualified": class_qualified(cls)}


def class_bases(cls):
    """The classes that it derives from directly."""
    return _bases_of(cls)


def subclasses_of(cls):
    """The direct subclasses that are alive, whatever the metaclass would say."""
    return _subclasses_of(cls)


def class_label(cls):
    """The shortest name that still says which class: built-in ones without their module."""
    qualified = class_qualified(cls)
    return qualified[9:] if qualified.startswith("builtins.") else qualified


def type_name(obj):
    """The bare name of the real type of `obj`."""
    return class_name(type(obj))


def type_facts(obj):
    """`{name, module, qualified}` of the real type of `obj`."""
    return class_facts(type(obj))


# Instances


def instance_dict(obj):
    """The dict behind `vars(obj)`, or None if there is none or reading it might run code.

    It is reached through the first `__dict__` in the order that is proved to be the interpreter's own; a property or
    a compiled getter in front of it is passed by.
    """
    if inherits(obj, (ThreadLocal, type)):
        return None  # A thread-local has one dict per thread, and getting this thread's may run `__init__`.
    for cls in mro(type(obj)):
        own = class_entries(cls)
        entry = _under("__dict__", own)
        kind = type(entry)
        if kind is GetSetDescriptorType:
            if _is_made_by_type(cls, entry, own):
                safe = cls is type(obj) or not _asks_a_static_class(type(obj))
            else:
                safe = _is_built_in(entry)
        else:
            # Of a struct's member only the offset is known, so that the interpreter itself reads it.
            safe = kind is MemberDescriptorType and entry.__objclass__ is cls and entry.__name__ == "__dict__"
        if safe:
            found = read_member(entry, obj)
            return found if inherits(found, dict) else None
    return None


def own_field(obj, name):
    """What one instance stores in its dict under a name, or `ABSENT`."""
    own = instance_dict(obj)
    return ABSENT if own is None else stored(own, name)


def _is_built_in(getter):
    return any(getter is one for one in _BUILT_IN_GETTERS)


def _is_made_by_type(cls, getter, own):
    """Whether `getter`, the `__dict__` among the `own` entries of `cls`, was made by `type.__new__`.

    A class statement has it made so. But any compiled class may have a getter of that name, and what that one runs
    cannot be seen. So the proof goes by what is fixed in C: the class is the first of its bases with a dict; its
    instances hold no memory but its named slots, that dict and the list of weak references; it has no compiled method
    or getter of its own besides; and the getter has the documentation that the interpreter gives to its own. What
    fails is not read.
    """
    flags, base = _flags_of(cls), _base_of(cls)
    if not flags & _MADE_BY_A_CLASS_STATEMENT or (_HAS_IMMUTABLE and flags & _IMMUTABLE):
        return False
    is_own = getter is SHARED_GETTER or getter.__objclass__ is cls
    if not is_own or getter.__doc__ != _GETTER_DOC:
        return False
    if _dict_offset_of(base) or not _dict_offset_of(cls):
        return False
    words = 0 if flags & _MANAGED_DICT else 1
    if _weakref_offset_of(cls) > 0 and not _weakref_offset_of(base):
        words += 1
    for _, entry in own:
        kind = type(entry)
        if kind is FunctionType:
            continue
        if kind is MemberDescriptorType:
            words += entry.__objclass__ is cls
        elif (
            kind is GetSetDescriptorType
            or kind is MethodDescriptorType
            or kind is WrapperDescriptorType
            or kind is ClassMethodDescriptorType
        ):
            if entry.__objclass__ is cls and entry.__name__ not in ("__dict__", "__weakref__"):
                return False
    return _size_of(cls) == _size_of(base) + words * _WORD


def _asks_a_static_class(cls):
    """Whether the interpreter's own getter would hand on to the getter of a compiled class: it does, to static ones."""
    while cls is not None:
        if _dict_offset_of(cls) and not _flags_of(cls) & _MADE_BY_A_CLASS_STATEMENT:
            place = class_lookup(cls, "__dict__")
            return place is None or not _is_built_in(place[1])
        cls = _base_of(cls)
    return False


def read_member(descriptor, obj):
    """What a member or getset descriptor of the interpreter's own reads from `obj`, or `ABSENT` for an empty slot."""
    try:
        return descriptor.__get__(obj, type(obj))
    except (AttributeError, TypeError):
        return ABSENT


def slot_fields(obj):
    """`(name, value)` of the filled slots that the classes of `obj` declare, those of the outermost base first."""
    for cls in reversed(mro(type(obj))):
        for name, entry in class_entries(cls):
            if type(entry) is not MemberDescriptorType or type(name) is not str or entry.__objclass__ is not cls:
                continue
            if is_dunder(name):
                continue
            value = read_member(entry, obj)
            if value is not ABSENT:
                yield name, value


def instance_fields(obj, most=None):
    """`(name, value)` of what one instance stores: slots, then `most` of its dict in the order of assignment."""
    yield from slot_fields(obj)
    own = instance_dict(obj)
    if own is not None:
        for name, value in steadily(lambda: list(islice(dict.items(own), most))):
            if type(name) is str:
                yield name, value


def is_dunder(name):
    return len(name) > 4 and name.startswith("__") and name.endswith("__")
