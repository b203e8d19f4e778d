"""Which adapter a value has: chosen by its real type, which has to be the class that a loaded module holds."""

from types import ModuleType

from imago.looking.adapters import (
    arrays,
    connections,
    frames,
    moments,
    polars_frames,
    records,
    running,
    scalars,
    standard,
    tensors,
)
from imago.looking.adapters.adapter import Part, Said, Seen, held_at
from imago.looking.fields import class_name, inherits, is_class, is_compiled, made_by_statement, mro

_SUBJECTS = (arrays, connections, frames, moments, polars_frames, running, scalars, standard, tensors)

_BY_NAME = {}
for _subject in _SUBJECTS:
    for _module, _name, _see, _kind in _subject.TYPES:
        _place = (_module, _name) if type(_module) is str else _module
        _BY_NAME.setdefault(_name, []).append((_place, _see, _kind))

# Classes whose own methods and getters are called. A program may have put a class of its own in the place of one.
_WRITTEN_IN_PYTHON = ("matrix", "recarray", "record", "memmap")
_OF_COMPILED_MODULES = ("_asyncio", "_io", "_queue", "_socket", "_thread", "array", "datetime", "re", "sqlite3")
_COMPILED = {
    place
    for name, held in _BY_NAME.items()
    for place, _, _ in held
    if place[0] in _OF_COMPILED_MODULES
    or (place[0] == "numpy" and name not in _WRITTEN_IN_PYTHON)
    or name == "defaultdict"
}

_FAMILIES = {}
for _subject in (records, running, tensors):
    for _module, _name, _see in _subject.FAMILIES:
        _FAMILIES.setdefault(_name, []).append(((_module, _name), _see))

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
    return None if entry is None else entry[2]


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
    return records.seen_as_record(value)


def _family(base):
    known = _known_bases.get(id(base))
    if known is not None:
        return known[1]
    for place, see in _FAMILIES.get(class_name(base), ()):
        if held_at(*place) is base:
            _known_bases[id(base)] = (base, see)
            return see
    return None
