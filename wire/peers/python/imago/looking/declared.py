"""What one class declares that its instances hold, as dataclasses, attrs, pydantic, ctypes and annotations store it."""

from types import FunctionType

from imago.looking.annotations import annotation_text
from imago.looking.fields import (
    ABSENT,
    class_entry,
    class_label,
    class_module,
    entries,
    inherits,
    is_class,
    mro,
    slot_fields,
    stored,
    type_name,
)
from imago.looking.leaves import function_label
from imago.looking.statictext import static_text

DEFAULT_CHARS = 100
_FIELDS = 10_000
_UNSET = ("_MISSING_TYPE", "PydanticUndefinedType", "_Nothing")


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
    """Name -> what stands behind it in one class's own annotations, where they are stored: 3.14 computes them late."""
    for name in ("__annotations__", "__annotations_cache__"):
        own = class_entry(cls, name)
        if inherits(own, dict):
            return {key: note for key, note in entries(own) if type(key) is str}
    return {}


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
    if factory in own and made is not None and type_name(made) not in _UNSET:
        return f"{_callable_text(made)}()"
    value = own.get("default", ABSENT)
    return None if value is ABSENT or type_name(value) in _UNSET else value_text(value)


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
