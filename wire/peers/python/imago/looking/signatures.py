"""Signatures, from what a function stores: its code object, its defaults and its annotations."""

import sys
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)

from imago.looking.fields import (
    ABSENT,
    class_label,
    class_lookup,
    cut,
    inherits,
    instance_dict,
    is_class,
    plain,
    stored,
    type_facts,
)
from imago.looking.limits import NAME_MAX_CHARS, SIGNATURE_MAX_CHARS
from imago.looking.statictext import static_text

_VAR_POSITIONAL = 0x04
_VAR_KEYWORD = 0x08
_DEFAULT_ROOM = 60
_DEEPEST = 4
_UNBOUND = (MethodDescriptorType, WrapperDescriptorType)
_COMPILED = (BuiltinFunctionType, MethodWrapperType, *_UNBOUND)


def signature_of(value):
    """`(a, /, b: int = 3, *, c) -> str`, or None where no signature is stored."""
    kind = type(value)
    if kind is FunctionType:
        return function_signature(value)
    if kind is MethodType:
        function = value.__func__
        return function_signature(function, bound=1) if type(function) is FunctionType else None
    if any(kind is one for one in _COMPILED):
        return _compiled_signature(value)
    function = called_function(value)
    return None if function is None else function_signature(function, bound=1)


def called_function(value):
    """The Python function that a call of a class or of an instance ends in, as stored, or None."""
    if is_class(value):
        if class_lookup(type(value), "__call__")[0] is not type:
            return None
        for name in ("__init__", "__new__"):
            found = class_lookup(value, name)
            if found is not None and found[0] is not object:
                function = found[1]
                if type(function) is staticmethod:
                    function = staticmethod.__dict__["__func__"].__get__(function)
                return function if type(function) is FunctionType else None
        return None
    found = class_lookup(type(value), "__call__")
    return found[1] if found is not None and type(found[1]) is FunctionType else None


def function_signature(function, bound=0):
    """The signature of a Python function; the first `bound` positional parameters are taken already."""
    code = function.__code__
    names = [cut(plain(name) or "?", NAME_MAX_CHARS) for name in code.co_varnames]
    positional, keyword = code.co_argcount, code.co_kwonlyargcount
    notes = _annotations(function)
    defaults = _default_texts(function.__defaults__, positional)
    parts = []
    for index in range(bound, positional):
        parts.append(_parameter(names[index], notes, defaults.get(index)))
        if index == code.co_posonlyargcount - 1:
            parts.append("/")
    rest = positional + keyword
    if code.co_flags & _VAR_POSITIONAL:
        parts.append(_parameter("*" + names[rest], notes, None))
        rest += 1
    elif keyword:
        parts.append("*")
    named = function.__kwdefaults__
    for name in names[positional : positional + keyword]:
        default = stored(named, name) if inherits(named, dict) else ABSENT
        parts.append(_parameter(name, notes, None if default is ABSENT else static_text(default, _DEFAULT_ROOM)))
    if code.co_flags & _VAR_KEYWORD:
        parts.append(_parameter("**" + names[rest], notes, None))
    returned = f" -> {notes['return']}" if "return" in notes else ""
    return cut(f"({', '.join(parts)}){returned}", SIGNATURE_MAX_CHARS)


def _default_texts(defaults, positional):
    """Index of the parameter -> text of its default."""
    if type(defaults) is not tuple:
        return {}
    first = positional - len(defaults)
    return {first + index: static_text(value, _DEFAULT_ROOM) for index, value in enumerate(defaults)}


def _parameter(name, notes, default):
    note = notes.get(name.lstrip("*"))
    if note is None:
        return name if default is None else f"{name}={default}"
    return f"{name}: {note}" if default is None else f"{name}: {note} = {default}"


def _annotations(function):
    """Name -> text. Since 3.14 annotations are computed when asked for, by code, so none are read there."""
    if sys.version_info >= (3, 14):
        return {}
    found = function.__annotations__
    if not inherits(found, dict):
        return {}
    names = [*function.__code__.co_varnames[:64], "return"]
    texts = ((name, stored(found, name)) for name in names if type(name) is str)
    return {name: annotation_text(note) for name, note in texts if note is not ABSENT}


def annotation_text(note, depth=0):
    """An annotation much as it was written, as far as stored fields tell."""
    if type(note) is str:
        return cut(note, NAME_MAX_CHARS)
    if note is None or note is type(None):
        return "None"
    if note is ...:
        return "..."
    if depth > _DEEPEST:
        return "…"
    if type(note) is GenericAlias:
        members = GenericAlias.__dict__
        return _subscripted(members["__origin__"].__get__(note), members["__args__"].__get__(note), depth)
    if is_class(note):
        return class_label(note)
    if type_facts(note)["module"] == "typing":
        return _typing_text(note, depth)
    if type(note) is type(_UNION) and _UNION is not None:
        return " | ".join(annotation_text(part, depth + 1) for part in type(note).__dict__["__args__"].__get__(note))
    return static_text(note, _DEFAULT_ROOM)


_UNION = eval("int | str") if sys.version_info >= (3, 10) else None


def _typing_text(note, depth):
    """Forms of `typing`: instances that store their name, their origin and their arguments."""
    own = instance_dict(note)
    if own is None:
        return static_text(note, _DEFAULT_ROOM)
    name, origin, args = (stored(own, key) for key in ("_name", "__origin__", "__args__"))
    if type(args) is tuple:
        if type(name) is str and name != "Optional":
            return _subscripted_text(name, args, depth)
        if type_facts(note)["name"] == "_UnionGenericAlias":
            return " | ".join(annotation_text(part, depth + 1) for part in args)
        return _subscripted(origin, args, depth)
    if type(name) is str:
        return cut(name, NAME_MAX_CHARS)
    name = stored(own, "__name__")
    return cut(name, NAME_MAX_CHARS) if type(name) is str else static_text(note, _DEFAULT_ROOM)


def _subscripted(origin, args, depth):
    return _subscripted_text(annotation_text(origin, depth + 1), args, depth)


def _subscripted_text(name, args, depth):
    args = args if type(args) is tuple else ()
    return cut(f"{name}[{', '.join(annotation_text(part, depth + 1) for part in args[:16])}]", NAME_MAX_CHARS)


def _compiled_signature(value):
    """The signature that a compiled function carries as text. What it is bound to already is no parameter of it."""
    text = plain(value.__text_signature__)
    if text is None:
        return None
    if text.startswith("($"):
        end = min(at for at in (text.find(","), text.find(")")) if at > 0)
        first, rest = text[2:end], text[end:]
        if any(type(value) is one for one in _UNBOUND):
            # It can only be given by position, which the text says no more than once.
            text = f"({first}{rest if '/' in rest else ', /' + rest}"
        else:
            rest = rest[3:] if rest.startswith(", /") else rest
            text = "(" + rest.lstrip(", ")
    return cut(text, SIGNATURE_MAX_CHARS)
