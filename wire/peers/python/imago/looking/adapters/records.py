"""Classes of the user's that declare their fields: dataclasses, attrs classes, pydantic models.

The declaration is read from where the library has stored it in the class, and the values from the instance: no
property and no printer runs. A field that is declared with `repr=False` is named, and its value is not shown.
"""

from imago.looking.adapters.adapter import Said, Seen, field
from imago.looking.fields import ABSENT, class_label, class_lookup, entries, inherits, instance_fields, plain

_HELD_BACK = Said("…")
_DECLARATIONS = ("__dataclass_fields__", "__attrs_attrs__")
_MOST_FIELDS = 200


def seen_as_record(value):
    """What to say of an instance of a dataclass or an attrs class; None for any other object."""
    for name in _DECLARATIONS:
        place = class_lookup(type(value), name)
        declared = None if place is None else _declared(place[1])
        if declared:
            return Seen(class_label(type(value)), fields=_ordered(value, declared))
    return None


def see_model(value):
    """An instance of a class that is built on `pydantic.BaseModel`."""
    place = class_lookup(type(value), "__pydantic_fields__") or class_lookup(type(value), "__fields__")
    declared = (place and _declared(place[1])) or []
    fields = _ordered(value, declared)
    extra = _flag(value, "__pydantic_extra__")
    if inherits(extra, dict):
        fields += [(name, held) for name, held in entries(extra) if type(name) is str]
    return Seen(class_label(type(value)), fields=fields)


def _declared(found):
    """`(name, is shown)` of declared fields: of a dict by name, or of a tuple of what knows its name."""
    if inherits(found, dict):
        pairs = [(plain(name), one) for name, one in entries(found)]
    elif inherits(found, tuple):
        pairs = [(plain(_flag(one, "name")), one) for one in tuple.__iter__(found)]
    else:
        return []
    return [(name, _flag(one, "repr") is not False) for name, one in pairs if name is not None]


def _ordered(value, declared):
    """The stored fields, those that are declared first; a field without a value is left out."""
    held = {}
    for name, one in instance_fields(value, _MOST_FIELDS):
        held.setdefault(plain(name), one)
    fields = []
    for name, is_shown in declared:
        one = held.pop(name, ABSENT)
        if one is not ABSENT:
            fields.append((name, one if is_shown else _HELD_BACK))
    return fields + list(held.items())


def _flag(one, name):
    """A field of what describes a field, or `ABSENT`."""
    try:
        return field(one, name)
    except Exception:
        return ABSENT


FAMILIES = (("pydantic.main", "BaseModel", see_model),)
