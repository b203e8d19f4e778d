"""Annotations as text, much as they were written, as far as stored fields tell."""

import sys
from types import GenericAlias

from imago.looking.codes import exact
from imago.looking.fields import (
    ABSENT,
    class_label,
    cut,
    inherits,
    instance_dict,
    is_class,
    slot_fields,
    stored,
    type_facts,
)
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.statictext import static_text

_ROOM = 60
_DEEPEST = 4
# Parts that are written within one of them, and in all: with more there is no room left.
_EACH = 16
_PARTS = 100


def annotations_of(function):
    """Name -> text. Since 3.14 annotations are computed when asked for, by code, so none are read there."""
    if sys.version_info >= (3, 14):
        return {}
    found = function.__annotations__
    if not inherits(found, dict):
        return {}
    names = [*exact(function.__code__.co_varnames)[:64], "return"]
    texts = ((name, stored(found, name)) for name in names if type(name) is str)
    return {name: annotation_text(note) for name, note in texts if note is not ABSENT}


def annotation_text(note):
    """An annotation much as it was written, as far as stored fields tell."""
    return cut(_Note().text(note, 0), NAME_MAX_CHARS)


class _Note:
    """One annotation that is being written, of so many parts at most: what is within it may stand there many times."""

    def __init__(self):
        self._left = _PARTS

    def text(self, note, depth):
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            return "…"
        return _text(note, depth, self)


def _text(note, depth, whole):
    if type(note) is str:
        return cut(note, NAME_MAX_CHARS)
    if note is None or note is type(None):
        return "None"
    if note is ...:
        return "..."
    if type(note) is GenericAlias:
        members = GenericAlias.__dict__
        return _subscripted(members["__origin__"].__get__(note), members["__args__"].__get__(note), depth, whole)
    if is_class(note):
        return class_label(note)
    if type_facts(note)["module"] == "typing":
        return _typing_text(note, depth, whole)
    if type(note) is type(_UNION) and _UNION is not None:
        return _union_text(type(note).__dict__["__args__"].__get__(note), depth, whole)
    return static_text(note, _ROOM)


_UNION = eval("int | str") if sys.version_info >= (3, 10) else None


def _typing_text(note, depth, whole):
    """Forms of `typing`: instances that store their name, their origin and their arguments."""
    own = instance_dict(note)
    if own is None:
        own = dict(slot_fields(note))
    name, origin, args = (stored(own, key) for key in ("_name", "__origin__", "__args__"))
    if type(args) is tuple:
        if type(name) is str and name != "Optional":
            return _subscripted_text(name, args, depth, whole)
        if type_facts(note)["name"] == "_UnionGenericAlias":
            return _union_text(args, depth, whole)
        return _subscripted(origin, args, depth, whole)
    if type(name) is str:
        return cut(name, NAME_MAX_CHARS)
    name = stored(own, "__name__")
    return cut(name, NAME_MAX_CHARS) if type(name) is str else static_text(note, _ROOM)


def _subscripted(origin, args, depth, whole):
    return _subscripted_text(whole.text(origin, depth + 1), args, depth, whole)


def _subscripted_text(name, args, depth, whole):
    return cut(f"{name}[{', '.join(_parts(args, depth, whole))}]", NAME_MAX_CHARS)


def _union_text(args, depth, whole):
    return cut(" | ".join(_parts(args, depth, whole)), NAME_MAX_CHARS)


def _parts(args, depth, whole):
    args = args if type(args) is tuple else ()
    return [whole.text(part, depth + 1) for part in args[:_EACH]]
