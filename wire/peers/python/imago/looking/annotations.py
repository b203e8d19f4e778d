"""Annotations as text, much as they were written: from what is stored, or from the code that would compute them."""

import opcode
import sys
from dis import stack_effect
from types import FunctionType, GenericAlias

from imago.looking.fields import (
    ABSENT,
    class_entry,
    class_label,
    class_module,
    class_name,
    cut,
    entries,
    inherits,
    instance_dict,
    is_class,
    slot_fields,
    stored,
)
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.rendering import static_text
from imago.looking.source import exact, instructions, name_of
from imago.looking.unwrapping import closed_over

_ROOM = 60
_DEEPEST = 4
# Parts that are written within one of them, and in all: with more there is no room left.
_EACH = 16
_PARTS = 100


def annotations_of(function):
    """Name -> text. Since 3.14 code may compute them when they are asked for; that is read, and not run."""
    annotate = function.__annotate__ if sys.version_info >= (3, 14) else None
    if annotate is not None:
        cls = held_by(annotate, "dataclasses").get("__class__")
        fields = class_entry(cls, "__dataclass_fields__") if is_class(cls) else None
        if not inherits(fields, dict):
            return written_annotations(annotate)
        kinds = [(name, dict(slot_fields(field)).get("type")) for name, field in entries(fields) if type(name) is str]
        return {"return": "None", **{name: annotation_text(kind) for name, kind in kinds}}
    found = function.__annotations__
    if not inherits(found, dict):
        return {}
    names = [*exact(function.__code__.co_varnames)[:64], "return"]
    texts = ((name, stored(found, name)) for name in names if type(name) is str)
    return {name: annotation_text(note) for name, note in texts if note is not ABSENT}


def annotation_text(note):
    """An annotation much as it was written, as far as stored fields tell."""
    return cut(_Note().text(note, 0), NAME_MAX_CHARS)


_UNION = type(eval("int | str")) if sys.version_info >= (3, 10) else None


class _Note:
    """One annotation that is being written, of so many parts at most: what is within it may stand there many times."""

    def __init__(self):
        self._left = _PARTS

    def text(self, note, depth):
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            return "…"
        if type(note) is str:
            return cut(note, NAME_MAX_CHARS)
        if note is None or note is type(None):
            return "None"
        if note is ...:
            return "..."
        if type(note) is GenericAlias:
            origin, args = (GenericAlias.__dict__[name].__get__(note) for name in ("__origin__", "__args__"))
            return self._subscripted(self.text(origin, depth + 1), args, depth)
        if is_class(note):
            return class_label(note)
        # Since 3.14 it is a class of typing.
        if _UNION is not None and type(note) is _UNION:
            return self._union(_UNION.__dict__["__args__"].__get__(note), depth)
        if class_module(type(note)) == "typing":
            return self._of_typing(note, depth)
        return static_text(note, _ROOM)

    def _of_typing(self, note, depth):
        """Forms of `typing`: instances that store their name, their origin and their arguments."""
        own = instance_dict(note)
        if own is None:
            own = dict(slot_fields(note))
        name, origin, args = (stored(own, key) for key in ("_name", "__origin__", "__args__"))
        if type(args) is tuple:
            if class_name(type(note)) == "_LiteralGenericAlias":
                return cut(f"Literal[{', '.join(static_text(part, _ROOM) for part in args[:_EACH])}]", NAME_MAX_CHARS)
            if type(name) is str and name != "Optional":
                return self._subscripted(name, args, depth)
            if class_name(type(note)) == "_UnionGenericAlias":
                return self._union(args, depth)
            return self._subscripted(self.text(origin, depth + 1), args, depth)
        name = name if type(name) is str else stored(own, "__name__")
        return cut(name, NAME_MAX_CHARS) if type(name) is str else static_text(note, _ROOM)

    def _subscripted(self, name, args, depth):
        return cut(f"{name}[{', '.join(self._parts(args, depth))}]", NAME_MAX_CHARS)

    def _union(self, args, depth):
        return cut(" | ".join(self._parts(args, depth)), NAME_MAX_CHARS)

    def _parts(self, args, depth):
        return [self.text(part, depth + 1) for part in (args[:_EACH] if type(args) is tuple else ())]


# Since 3.14 code computes them (PEP 649). It is read and never run: the compiler writes it in one form, of names, of
# constants and of what is made of them.

_LONGEST = 20_000
# Of functions of typing, which call the one that the compiler made for the class.
_INSIDE = ("original_annotate", "own_annotate")
_SIGNS = [sign for _, sign in getattr(opcode, "_nb_ops", ())]
_COMMON = {"LOAD_SMALL_INT": range(256), "LOAD_COMMON_CONSTANT": getattr(opcode, "_common_constants", ())}
_SKIPPED = ("NOT_TAKEN", "CACHE", "EXTENDED_ARG")
# Words of steps that do not make one value of those on top of the stack.
_OTHER = ("POP", "STORE", "JUMP", "SWAP", "RAISE", "FOR", "SEND", "YIELD")


def written_annotations(annotate):
    """Name -> text, from what `__annotate__` is; empty where that is no function of the compiler's form."""
    for name, inside in held_by(annotate, "typing").items():
        annotate = inside if name in _INSIDE else annotate
    code = annotate.__code__ if type(annotate) is FunctionType else None
    if code is None or name_of(code) != "__annotate__" or len(exact(code.co_code)) > _LONGEST:
        return {}
    try:
        steps = [one for one in instructions(code) if one.opname not in _SKIPPED]
        # Before that, it refuses formats that it does not know.
        first = next(at for at, one in enumerate(steps) if one.opname == "RAISE_VARARGS") + 1
        notes = _notes(steps[first:], exact(code.co_consts))
    except (IndexError, StopIteration, ValueError):
        return {}
    return {name: cut(note, NAME_MAX_CHARS) for name, note in notes if type(name) is str}


def held_by(function, module):
    """Name -> value of what a function that `module` has made holds on to; empty for any other."""
    is_its = type(function) is FunctionType and stored(function.__globals__, "__name__") == module
    return closed_over(function) if is_its else {}


class _Text(str):
    """What lies on the stack and is no constant."""


def _notes(steps, constants):
    """`(name, text)` of each annotation. Raises an IndexError or a ValueError where a step is not of the form."""
    stack, notes = [], []
    for one in steps:
        name, arg, size = one.opname, one.arg, len(stack) + stack_effect(one.opcode, one.arg)
        if name == "RETURN_VALUE":
            return notes
        if name == "STORE_SUBSCR":
            notes.append((stack[-1], _text(stack[-3])))
            del stack[size:]
            continue
        if any(word in name for word in _OTHER):
            raise ValueError(name)
        if name == "LOAD_CONST" or name in _COMMON:
            made = _COMMON.get(name, constants)[arg]
        elif name == "COPY":
            made = stack[-arg]
        elif name == "LOAD_ATTR":
            made = _Text(f"{_text(stack.pop())}.{one.argval}")
        elif name.startswith(("LOAD_", "PUSH_")):
            made = _Text(one.argval)
        else:
            parts = stack[size - 1 :]
            made = tuple(parts) if name == "BUILD_TUPLE" else _Text(_made(name, arg, parts))
            notes += zip(parts[::2], map(_text, parts[1::2])) if name == "BUILD_MAP" else ()
        stack[size - 1 :] = [made]
        # Beside what is called lies nothing, or what it is bound to.
        stack += [_Text()] * (size - len(stack))
    return []


def _made(name, arg, parts):
    """The text of what a step makes: in full as far as types are written so."""
    texts = [_text(part) for part in parts]
    sign = _SIGNS[arg] if name == "BINARY_OP" else None
    if name == "BUILD_LIST":
        return f"[{', '.join(texts)}]"
    if sign == "[]":
        return f"{texts[0]}[{texts[1][1:-1].rstrip(',') if type(parts[1]) is tuple and parts[1] else texts[1]}]"
    return " | ".join(texts) if sign == "|" else "…"


def _text(item):
    if type(item) is tuple:
        return f"({', '.join(map(_text, item))}{',' * (len(item) == 1)})"
    return str(item) if type(item) is _Text else "..." if item is ... else static_text(item, 60)
