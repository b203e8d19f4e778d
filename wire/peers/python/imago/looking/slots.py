"""What the instances of a class hold and what the class declares, class by class, nearest first."""

import dis
import sys
from enum import EnumMeta
from functools import cached_property, partial
from itertools import islice
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)

from imago.looking.codes import exact, instructions, name_of
from imago.looking.declared import Declared, annotations_of, declared_fields, note_text, value_text
from imago.looking.fields import (
    ABSENT,
    class_entries,
    class_entry,
    class_label,
    class_lookup,
    class_module,
    clean,
    cut,
    entries,
    exactly,
    inherits,
    instance_dict,
    is_dunder,
    made_by_statement,
    mro,
    stored,
)
from imago.looking.hierarchy import class_facts, class_named
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.outcomes import Unresolved, found

_MOST = 1000
_METHODS = 500
_CODE_MAX_BYTES = 500_000
_HELD = 10_000
_STORE = dis.opmap["STORE_ATTR"]
_CALLED = (
    FunctionType,
    BuiltinFunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
    ClassMethodDescriptorType,
    staticmethod,
    classmethod,
)
_COMPILED = (MemberDescriptorType, GetSetDescriptorType)


def slots(image, query):
    """`Looked<Slots>`; `query` has `name` and `limit` of the contract. A value tells also what it alone holds."""
    try:
        cls, instance = class_named(image, query["name"])
    except Unresolved as unresolved:
        return unresolved.looked
    limit = max(1, min(query["limit"], _MOST))
    held = _declared([owner for owner in mro(cls) if owner is not object and class_module(owner) != "_ctypes"])
    if instance is not ABSENT:
        held += [(one, "this instance") for one in _held_besides(instance, {one.name for one, _ in held})]
    return found(
        {"class": class_facts(cls), "slots": [_row(*pair) for pair in held[:limit]], "total": len(held)}
    )


def _declared(owners):
    """`(Declared, label of the class)`, nearest class first. What a method sets is told where no class declares it."""
    declared = [_declared_by(owner) for owner in owners]
    known = {name for by_name in declared for name in by_name}
    found_so_far, seen, methods = [], set(), _Methods()
    for owner, by_name in zip(owners, declared):
        label = class_label(owner)
        for name in methods.set_by(owner):
            if name not in known:
                by_name[name] = Declared(name, "slot")
        found_so_far += [(one, label) for name, one in by_name.items() if name not in seen]
        seen.update(by_name)
    return found_so_far


def _row(declared, label):
    default = declared.default() if type(declared.default) is partial else declared.default
    return {
        "name": cut(declared.name, NAME_MAX_CHARS),
        "kind": declared.kind,
        "from": label,
        "annotation": None if declared.annotation is None else clean(declared.annotation),
        "default": None if default is None else clean(default),
    }


def _declared_by(cls):
    """What one class declares, by name: its fields, its slots, its properties, and the values that it shares."""
    if type(cls) is EnumMeta:
        members = class_entry(cls, "_member_map_")
        if inherits(members, dict):
            own = [(name, member) for name, member in entries(members) if type(name) is str]
            return {name: Declared(name, "class", None, partial(_member_text, member)) for name, member in own}
    declared = {one.name: one for one in declared_fields(cls)}
    notes = annotations_of(cls)
    shared = dict(_shared(cls, notes))
    for name, note in notes.items():
        if name not in declared and name not in shared and not is_dunder(name):
            text = note_text(note)
            declared[name] = Declared(name, "class" if _is_shared(text) else "field", text)
    for name, one in shared.items():
        declared.setdefault(name, one)
    return declared


def _shared(cls, notes):
    """`(name, Declared)` of what is stored in one class: slots, properties and values, functions left out."""
    for name, value in class_entries(cls):
        if type(name) is not str or is_dunder(name) or exactly(value, _CALLED) or _is_machinery(name):
            continue
        note = note_text(notes[name]) if name in notes else None
        if exactly(value, _COMPILED):
            yield name, Declared(name, "field" if note is not None else "slot", note)
        elif type(value) is property or type(value) is cached_property:
            yield name, Declared(name, "property", _returned(value))
        elif class_lookup(type(value), "__get__") is not None:
            yield name, Declared(name, "property", note or class_label(type(value)))
        else:
            yield name, Declared(name, "class", note, partial(value_text, value))


def _is_machinery(name):
    """Names that ABCs, dataclasses, enums and pydantic keep for themselves in a class."""
    return name.startswith(("_abc_", "__pydantic_", "__attrs_")) or name in (
        "_fields_",
        "_fields",
        "_field_defaults",
        "_is_protocol",
        "_is_runtime_protocol",
        "model_config",
        "model_fields",
    )


def _is_shared(note):
    return note.startswith(("ClassVar", "typing.ClassVar"))


def _returned(prop):
    """What a property's function says that it returns, where it stores that."""
    function = prop.fget if type(prop) is property else stored(instance_dict(prop) or {}, "func")
    if type(function) is not FunctionType:
        return None
    # Since 3.14 annotations are computed by code when they are asked for.
    own = function.__annotations__ if sys.version_info < (3, 14) else None
    note = stored(own, "return") if inherits(own, dict) else ABSENT
    return None if note is ABSENT else note_text(note)


def _member_text(member):
    own = instance_dict(member)
    value = ABSENT if own is None else stored(own, "_value_")
    return value_text(member if value is ABSENT else value)


class _Methods:
    """The methods of several classes, of which so much code is read as there is time for."""

    def __init__(self):
        self._left = _CODE_MAX_BYTES

    def set_by(self, cls):
        """The names that methods of one class set on their first argument, those of `__init__` first."""
        told = class_entry(cls, "__static_attributes__")
        functions = [value for _, value in class_entries(cls) if type(value) is FunctionType][:_METHODS]
        functions.sort(key=lambda function: name_of(function.__code__) != "__init__")
        names = {}
        for function in functions:
            if made_by_statement(cls) and function.__code__.co_argcount > 0:
                names.update(dict.fromkeys(self._set_on_first(function.__code__)))
        if type(told) is tuple:
            # The compiler's own list, which has no order.
            names.update(dict.fromkeys(sorted(name for name in told if type(name) is str)))
        return [name for name in names if not is_dunder(name)]

    def _set_on_first(self, code):
        written = exact(code.co_code)
        if _STORE not in written[::2] or self._left < 0:
            return
        self._left -= len(written)
        first, before = exact(code.co_varnames)[0], None
        for one in instructions(code):
            if one.opcode == _STORE and before is not None and before.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
                loaded = before.argval
                if (loaded[-1] if type(loaded) is tuple else loaded) == first:
                    yield one.argval
            if one.opname not in ("CACHE", "EXTENDED_ARG"):
                before = one


def _held_besides(instance, declared):
    """What one instance stores in its dict without a declaration."""
    own = instance_dict(instance)
    if own is None:
        return []
    names = list(islice(dict.keys(own), _HELD))
    return [Declared(name, "slot") for name in names if type(name) is str and name not in declared]
