"""Classes: what they declare, what they derive from, and what their instances hold."""

import builtins
import dis
from enum import EnumMeta
from functools import cached_property, partial
from itertools import islice
from types import BuiltinFunctionType, FunctionType

from imago.looking import annotations
from imago.looking.annotations import annotation_text, written_annotations
from imago.looking.definition_places import is_from_text, locate_class
from imago.looking.fields import (
    ABSENT,
    FIELD_DESCRIPTORS,
    METHOD_DESCRIPTORS,
    class_bases,
    class_entries,
    class_entry,
    class_facts,
    class_label,
    class_lookup,
    class_module,
    clean,
    cut,
    entries,
    exactly,
    inherits,
    instance_dict,
    is_class,
    is_dunder,
    made_by_statement,
    mro,
    own_field,
    plain,
    slot_fields,
    stored,
    subclasses_of,
    type_name,
)
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.loaded import is_imago
from imago.looking.name_lookup import named
from imago.looking.outcomes import found, look
from imago.looking.source import exact, instructions, name_of
from imago.looking.rendering import function_label, static_text

# What one class declares that its instances hold, as dataclasses, attrs, pydantic, ctypes and annotations store it.

DEFAULT_CHARS = 100
_FIELDS = 10_000
_UNSET = ("_MISSING_TYPE", "PydanticUndefinedType", "_Nothing")
_SENTINEL = getattr(builtins, "sentinel", None)


class Declared:
    """A name with what is declared of it: `kind` of the contract, and texts or None.

    `default` may also be a `partial` that makes the text: of very many, few are shown.
    """

    __slots__ = ("annotation", "default", "kind", "name")

    def __init__(self, name, kind, annotation=None, default=None):
        self.name = name
        self.kind = kind
        self.annotation = annotation
        self.default = default


def declared_fields(cls):
    """`Declared` of the fields that one class adds or declares anew, in their order; those of its bases left out."""
    notes = annotations_of(cls)
    for read in (_of_dataclass, _of_attrs, _of_pydantic, _of_named_tuple, _of_ctypes):
        fields = read(cls, notes)
        if fields is not None:
            return fields
    return []


def annotations_of(cls):
    """Name -> the text behind it in one class's own annotations; what 3.14 has not computed yet as written."""
    for name in ("__annotations__", "__annotations_cache__"):
        own = class_entry(cls, name)
        if inherits(own, dict):
            return {key: note for key, note in entries(own) if type(key) is str}
    return written_annotations(class_entry(cls, "__annotate_func__"))


def note_text(note):
    """An annotation much as it was written."""
    if class_module(type(note)) == "dataclasses" and type_name(note) == "InitVar":
        return f"InitVar[{annotation_text(dict(slot_fields(note)).get('type'))}]"
    return annotation_text(note)


def value_text(value):
    return static_text(value, DEFAULT_CHARS)


def _of_dataclass(cls, notes):
    fields = class_entry(cls, "__dataclass_fields__")
    if not inherits(fields, dict):
        return None
    inherited = {id(field) for base in mro(cls)[1:] for field in _values(class_entry(base, "__dataclass_fields__"))}
    declared = []
    for name, field in entries(fields):
        if type(name) is not str or id(field) in inherited or class_module(type(field)) != "dataclasses":
            continue
        own = dict(slot_fields(field))
        how = static_text(own.get("_field_type"), 60)
        if "INITVAR" in how:
            continue
        kind = "class" if "CLASSVAR" in how else "field"
        declared.append(Declared(name, kind, note_text(own.get("type")), _default(own, "default_factory")))
    return declared


def _of_attrs(cls, notes):
    attributes = class_entry(cls, "__attrs_attrs__")
    if not inherits(attributes, tuple):
        return None
    declared = []
    for attribute in list(tuple.__iter__(attributes))[:_FIELDS]:
        own = dict(slot_fields(attribute))
        name = own.get("name")
        if type(name) is not str or own.get("inherited") is True:
            continue
        declared.append(Declared(name, "field", _note(own.get("type")), _default(own, "")))
    return declared


def _of_pydantic(cls, notes):
    fields = class_entry(cls, "__pydantic_fields__")
    if not inherits(fields, dict):
        return None
    above = {name for base in mro(cls)[1:] for name in _keys(class_entry(base, "__pydantic_fields__"))}
    declared = []
    for name, field in entries(fields):
        if type(name) is not str or (name in above and name not in notes):
            continue
        own = dict(slot_fields(field))
        declared.append(Declared(name, "field", _note(own.get("annotation")), _default(own, "default_factory")))
    return declared


def _of_named_tuple(cls, notes):
    names = class_entry(cls, "_fields")
    if not issubclass(cls, tuple) or type(names) is not tuple:
        return None
    defaults = class_entry(cls, "_field_defaults")
    declared = []
    for name in names[:_FIELDS]:
        if type(name) is str:
            default = stored(defaults, name) if inherits(defaults, dict) else ABSENT
            text = None if default is ABSENT else value_text(default)
            declared.append(Declared(name, "field", _note(notes.get(name)), text))
    return declared


def _of_ctypes(cls, notes):
    if not any(class_module(base) == "_ctypes" for base in mro(cls)):
        return None
    fields = class_entry(cls, "_fields_")
    if type(fields) is not list and type(fields) is not tuple:
        return None
    declared = []
    for field in fields[:_FIELDS]:
        if type(field) is tuple and len(field) > 1 and type(field[0]) is str:
            bits = f", {field[2]} bits" if len(field) > 2 and type(field[2]) is int else ""
            label = class_label(field[1]) if is_class(field[1]) else static_text(field[1], 60)
            declared.append(Declared(field[0], "field", label + bits))
    return declared


def _default(own, factory):
    """The text of what a field begins with: a value, or the call of what makes it. None where it has to be given."""
    made = own.get(factory, own.get("default"))
    if type_name(made) == "Factory":
        made = dict(slot_fields(made)).get("factory")
        return f"{_callable_text(made)}()"
    if factory in own and made is not None and not _is_unset(made):
        return f"{_callable_text(made)}()"
    value = own.get("default", ABSENT)
    return None if value is ABSENT or _is_unset(value) else value_text(value)


def _is_unset(value):
    kind = type_name(value)
    # Since 3.15 dataclasses mark it by a `sentinel`, of which programs have their own.
    return kind in _UNSET or (type(value) is _SENTINEL and plain(value.__module__) == "dataclasses")


def _callable_text(value):
    if is_class(value):
        return class_label(value)
    return function_label(value) if type(value) is FunctionType else value_text(value)


def _note(note):
    return None if note is None else note_text(note)


def _values(mapping):
    return [value for _, value in entries(mapping)] if inherits(mapping, dict) else []


def _keys(mapping):
    return [key for key, _ in entries(mapping) if type(key) is str] if inherits(mapping, dict) else []


# Where a class stands among others: what it inherits from, and what inherits from it.

_MOST = 1000
#: Subclasses that are counted at most.
_COUNTED = 50_000


@look
def hierarchy(image, query):
    """`Looked<Hierarchy>`; `query` has `name` and `limit` of the contract.

    Classes that an abstract one has been told to count as its own are not among the subclasses: they inherit nothing.
    """
    cls, _ = class_named(image, query["name"])
    limit = max(1, min(query["limit"], _MOST))
    shown, total = _below(cls, limit)
    place = locate_class(cls) if is_from_text(cls) else None
    return found(
        {
            "class": class_facts(cls),
            "metaclass": None if type(cls) is type else class_facts(type(cls)),
            "bases": [class_facts(one) for one in class_bases(cls)[:_MOST]],
            "ancestors": [class_facts(one) for one in mro(cls)[: _MOST + 1] if one is not cls],
            "subclasses": [{"type": class_facts(one), "depth": depth} for one, depth in shown],
            "total": total,
            "file": None if place is None else place.file,
            "line": None if place is None else place.first,
        }
    )


def class_named(image, name):
    """`(class, instance)`: the class that `name` stands for, or that of the value, which is then the instance.

    Raises `Unresolved`.
    """
    value = named(image.namespace, name, image.handles).value
    return (value, ABSENT) if is_class(value) else (type(value), value)


def _below(cls, limit):
    """`(shown, total)`: the first subclasses over all levels, depth first, each with its distance.

    One with several bases is told where it is met first. Imago's own are passed over.
    """
    shown, seen, ours = [], {id(cls)}, 0
    waiting = [(one, 1) for one in reversed(subclasses_of(cls))]
    while waiting and len(seen) <= _COUNTED:
        one, depth = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if is_imago(class_module(one)):
            ours += 1
        elif len(shown) < limit:
            shown.append((one, depth))
        waiting.extend((below, depth + 1) for below in reversed(subclasses_of(one)))
    return shown, len(seen) - 1 - ours


# What the instances of a class hold and what the class declares, class by class, nearest first.

_MOST_SLOTS = 1000
_METHODS = 500
_CODE_MAX_BYTES = 500_000
_HELD = 10_000
_STORE = dis.opmap["STORE_ATTR"]
_CALLED = (FunctionType, BuiltinFunctionType, staticmethod, classmethod, *METHOD_DESCRIPTORS)


@look
def slots(image, query):
    """`Looked<Slots>`; `query` has `name` and `limit` of the contract. A value tells also what it alone holds."""
    cls, instance = class_named(image, query["name"])
    limit = max(1, min(query["limit"], _MOST_SLOTS))
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
        if exactly(value, FIELD_DESCRIPTORS):
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
    function = prop.fget if type(prop) is property else own_field(prop, "func")
    if type(function) is not FunctionType:
        return None
    return annotations.annotations_of(function).get("return")


def _member_text(member):
    value = own_field(member, "_value_")
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
