"""Which adapter a value has: chosen by its real type, which has to be the class that a loaded module holds.

What is built on no such class, and declares its fields, is shown by these.
"""

from types import MemberDescriptorType, ModuleType

from imago.looking.adapters import (
    arrays,
    connections,
    frames,
    moments,
    polars_frames,
    running,
    scalars,
    standard,
    tensors,
    torch_modules,
)
from imago.looking.adapters.adapter import Part, Said, Seen, held_at
from imago.looking.fields import (
    ABSENT,
    class_label,
    class_lookup,
    class_name,
    entries,
    inherits,
    instance_fields,
    is_class,
    is_compiled,
    made_by_statement,
    mro,
    own_field,
    plain,
    read_member,
)

_SUBJECTS = (arrays, connections, frames, moments, polars_frames, running, scalars, standard, tensors)

_BY_NAME = {}
for _subject in _SUBJECTS:
    for _module, _name, _see, _kind in _subject.TYPES:
        _place = (_module, _name) if type(_module) is str else _module
        _BY_NAME.setdefault(_name, []).append((_place, _see, _kind))

# Classes whose own methods and getters are called. A program may have put a class of its own in the place of one.
_WRITTEN_IN_PYTHON = ("matrix", "recarray", "record", "memmap")
_OF_COMPILED_MODULES = ("_asyncio", "_io", "_queue", "_socket", "_thread", "array", "datetime", "re", "sqlite3", "types")
_COMPILED = {
    place
    for name, held in _BY_NAME.items()
    for place, _, _ in held
    if place[0] in _OF_COMPILED_MODULES
    or (place[0] == "numpy" and name not in _WRITTEN_IN_PYTHON)
    or name == "defaultdict"
}

# By the id of a class, which is kept alive with it: library classes that were found in their modules.
_known = {
    id(Said): (Said, lambda cell: Seen(text=cell.text), None),
    id(Part): (Part, lambda part: part.seen, None),
}
_known_bases = {}

_SHOWN_BY_WHAT_THEY_ARE = (
    BaseException,
    ModuleType,
    list,
    tuple,
    dict,
    set,
    frozenset,
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
)


def seen(value):
    """What the adapter of a value says of it, as a `Seen`; None for a value that has none, or is laid out oddly."""
    try:
        entry = _entry(type(value))
        if entry is not None:
            return entry[1](value)
        return _seen_in_family(value)
    except Exception:
        return None  # Of another version than the adapter knows, or half made: shown like any other object.


def kind_by_adapter(value):
    """The contract's kind that an adapter knows better than the bases of its type, or None."""
    entry = _entry(type(value))
    if entry is not None:
        return entry[2]
    return "object" if _is_called_by_a_library(value) else None


def _is_called_by_a_library(value):
    """Whether what a call of an object runs first is code of a library, which comes to a method of its class later."""
    if is_class(value) or not callable(value):
        return False
    known = seen(value)
    return known is not None and known.own is not None


def _entry(cls):
    """`(class, see, kind)` of a class that a loaded module holds under a name of the tables; else None."""
    known = _known.get(id(cls))
    if known is not None:
        return known if known[1] is not None else None
    candidates = _BY_NAME.get(class_name(cls), ())
    for place, see, kind in candidates:
        if held_at(*place) is cls and (place not in _COMPILED or is_compiled(cls)):
            known = _known[id(cls)] = (cls, see, kind)
            return known
    if made_by_statement(cls) or candidates:
        return None
    # Compiled, so it stays: one of numpy's dtypes, or a class that no adapter is for.
    is_dtype = scalars.is_dtype(cls)
    _known[id(cls)] = (cls, scalars.see_dtype if is_dtype else None, None)
    return _known[id(cls)] if is_dtype else None


def _seen_in_family(value):
    """Instances of user classes that are built on something well known, which keeps its facts in known places."""
    cls = type(value)
    if not made_by_statement(cls) or is_class(value) or inherits(value, _SHOWN_BY_WHAT_THEY_ARE):
        return None
    for base in mro(cls):
        see = _family(base)
        if see is not None:
            return see(value)
    return _seen_as_record(value)


def _family(base):
    known = _known_bases.get(id(base))
    if known is not None:
        return known[1]
    for place, see in _FAMILIES.get(class_name(base), ()):
        if held_at(*place) is base:
            _known_bases[id(base)] = (base, see)
            return see
    return None


# Classes of the user's that declare their fields: dataclasses, attrs classes, pydantic models.
#
# The declaration is read from where the library has stored it in the class, and the values from the instance: no
# property and no printer runs. A field that is declared with `repr=False` is named, and its value is not shown.

_HELD_BACK = Said("…")
_DECLARATIONS = ("__dataclass_fields__", "__attrs_attrs__")
_MOST_FIELDS = 200


def _seen_as_record(value):
    """What to say of an instance of a dataclass or an attrs class; None for any other object."""
    for name in _DECLARATIONS:
        place = class_lookup(type(value), name)
        declared = None if place is None else _declared(place[1])
        if declared:
            return Seen(class_label(type(value)), fields=_ordered(value, declared))
    return None


def _see_model(value):
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
    """A field of what describes a field, or `ABSENT`. Anything may describe one, so no compiled getter is asked."""
    place = class_lookup(type(one), name)
    if place is not None and type(place[1]) is MemberDescriptorType and place[1].__objclass__ is place[0]:
        return read_member(place[1], one)
    return own_field(one, name)


_FAMILIES = {}
for _module, _name, _see in (*running.FAMILIES, *torch_modules.FAMILIES, ("pydantic.main", "BaseModel", _see_model)):
    _FAMILIES.setdefault(_name, []).append(((_module, _name), _see))
