"""What a call gives to a function: its parameters, from its code object, its defaults and its annotations."""

import functools
import re
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)

from imago.looking.annotations import annotations_of
from imago.looking.fields import (
    ABSENT,
    METHOD_DESCRIPTORS,
    class_lookup,
    class_module,
    class_name,
    cut,
    exactly,
    inherits,
    is_class,
    plain,
    stored,
)
from imago.looking.limits import NAME_MAX_CHARS, SIGNATURE_MAX_CHARS
from imago.looking.rendering import static_text
from imago.looking.source import exact
from imago.looking.syntax import CLOSE, OPEN, tokens
from imago.looking.unwrapping import as_function, inside_of, is_wrapper, partial_parts

_VAR_POSITIONAL = 0x04
_VAR_KEYWORD = 0x08
_DEFAULT_ROOM = 60
_DEEPEST_CALL = 16
_UNBOUND = (MethodDescriptorType, WrapperDescriptorType)
COMPILED = (BuiltinFunctionType, MethodWrapperType, *METHOD_DESCRIPTORS)


class Parameter:
    """`kind` is as the contract has it; `default` and `annotation` are texts, or None."""

    __slots__ = ("annotation", "default", "kind", "name")

    def __init__(self, name, kind, default=None, annotation=None):
        self.name = name
        self.kind = kind
        self.default = default
        self.annotation = annotation


class Parameters:
    """What can be given to a call. `text` is the signature, as the language writes it."""

    __slots__ = ("parameters", "returns", "text")

    def __init__(self, parameters, returns=None, text=None):
        self.parameters = parameters
        self.returns = returns
        self.text = _written(parameters, returns) if text is None else text


def called_with(value, bound=0, depth=0):
    """The `Parameters` of a call of `value`, or None where they are not stored.

    Wrappers that pass on whatever they are given are seen through. `bound` counts the leading parameters that are
    given already: 1 for a method that is read from an instance.
    """
    value = as_function(value)
    kind = type(value)
    if depth > _DEEPEST_CALL:
        return None
    if kind is FunctionType:
        return _of_function(value, bound, depth)
    if kind is MethodType:
        return called_with(value.__func__, bound + 1, depth + 1)
    if kind is functools.partial:
        inside, arguments, keywords = partial_parts(value)
        return _partly_given(called_with(inside, 0, depth + 1), len(arguments), keywords)
    if kind is classmethod:
        return called_with(inside_of(value), 1, depth + 1)
    if kind is staticmethod:
        return called_with(inside_of(value), 0, depth + 1)
    if is_wrapper(value):
        return None if kind is property else called_with(inside_of(value), bound, depth + 1)
    if exactly(value, COMPILED):
        known = _of_text(compiled_signature(value))
        if known is None or not bound or not exactly(value, _UNBOUND) or not known.parameters:
            return known
        return Parameters(known.parameters[bound:])
    if is_class(value) and class_lookup(type(value), "__call__")[0] is type:
        return _of_class(value, depth)
    found = class_lookup(kind, "__call__")
    return None if found is None or type(found[1]) is not FunctionType else called_with(found[1], 1, depth + 1)


def function_parameters(function, bound=0):
    """The `Parameters` of a Python function itself; the first `bound` positional ones are given already."""
    code = function.__code__
    names = [cut(plain(name) or "?", NAME_MAX_CHARS) for name in exact(code.co_varnames)]
    positional, keyword = code.co_argcount, code.co_kwonlyargcount
    notes = annotations_of(function)
    defaults = _default_texts(function.__defaults__, positional)
    found = []
    for index in range(positional):
        kind = "positional" if index < code.co_posonlyargcount else "positional_or_keyword"
        found.append(Parameter(names[index], kind, defaults.get(index), notes.get(names[index])))
    rest = positional + keyword
    if code.co_flags & _VAR_POSITIONAL:
        found.append(Parameter(names[rest], "rest", None, notes.get(names[rest])))
        rest += 1
    named = function.__kwdefaults__
    for name in names[positional : positional + keyword]:
        default = stored(named, name) if inherits(named, dict) else ABSENT
        text = None if default is ABSENT else default_text(default)
        found.append(Parameter(name, "keyword", text, notes.get(name)))
    if code.co_flags & _VAR_KEYWORD:
        found.append(Parameter(names[rest], "keyword_rest", None, notes.get(names[rest])))
    return Parameters(found[min(bound, positional) :], notes.get("return"))


def default_text(value):
    if class_name(type(value)) == "_HAS_DEFAULT_FACTORY_CLASS" and class_module(type(value)) == "dataclasses":
        return "<factory>"
    return static_text(value, _DEFAULT_ROOM)


def compiled_signature(value):
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


def _of_function(function, bound, depth):
    own = function_parameters(function, bound)
    if [one.kind for one in own.parameters] == ["rest", "keyword_rest"]:
        inside = inside_of(function)
        passed = None if inside is ABSENT else called_with(inside, bound, depth + 1)
        if passed is not None:
            return passed
    return own


def made_by(cls):
    """`(owner, function)` of the `__init__` or `__new__` that a call of a class ends in; None if it has neither."""
    for name in ("__init__", "__new__"):
        found = class_lookup(cls, name)
        if found is not None and found[0] is not object:
            owner, function = found
            return owner, inside_of(function) if type(function) is staticmethod else function
    return None


def _of_class(cls, depth):
    found = made_by(cls)
    if found is None:
        return Parameters([])
    owner, function = found
    if type(function) is FunctionType:
        return called_with(function, 1, depth + 1)
    return _of_text(_class_text(cls) or _class_text(owner))


def _class_text(cls):
    """The signature of a class that is compiled, as the head of its documentation has it for itself alone."""
    try:
        text = plain(type.__dict__["__text_signature__"].__get__(cls))
    except (AttributeError, TypeError):
        return None
    return None if text is None else cut(text, SIGNATURE_MAX_CHARS)


def _partly_given(parameters, count, keywords):
    """What is left of parameters after `count` arguments and some keywords are given, which may be given anew."""
    if parameters is None:
        return None
    left = []
    named = {name: value for name, value in dict.items(keywords) if type(name) is str}
    only_keywords = False
    for one in parameters.parameters:
        if count and one.kind in ("positional", "positional_or_keyword"):
            count -= 1
            continue
        kind, default = one.kind, one.default
        if one.name in named and kind in ("positional_or_keyword", "keyword"):
            default, only_keywords = default_text(named[one.name]), True
        if only_keywords and kind == "positional_or_keyword":
            kind = "keyword"
        if not (only_keywords and kind == "rest"):
            left.append(Parameter(one.name, kind, default, one.annotation))
    return Parameters(left, parameters.returns)


_SPELLED = re.compile(r"(\*{0,2})([^\W\d]\w*)\s*(?::[^=]*)?(?:=\s*([\s\S]+))?")


def _of_text(text):
    """The parameters that a signature spells, of a compiled function; none where it is not valid Python."""
    if text is None:
        return None
    found, kind = [], "positional_or_keyword"
    for piece in _pieces(re.sub(r"<[^<>()]*>", "...", text)):
        spelled = _SPELLED.fullmatch(piece)
        if piece == "/":
            found = [Parameter(one.name, "positional", one.default) for one in found]
        elif piece == "*":
            kind = "keyword"
        elif spelled is None:
            found = []
            break
        elif spelled[1]:
            found.append(Parameter(spelled[2], "rest" if spelled[1] == "*" else "keyword_rest"))
            kind = "keyword"
        else:
            default = spelled[3]
            found.append(Parameter(spelled[2], kind, None if default is None else cut(default, _DEFAULT_ROOM)))
    return Parameters(found, None, text)


def _pieces(text):
    """What stands between the commas of a signature; nothing where its brackets do not close."""
    pieces, begins, depth = [], 0, 0
    for kind, start, end in tokens(text):
        depth += (kind == OPEN) - (kind == CLOSE)
        if depth == 1 and kind == OPEN:
            begins = end
        elif (depth == 1 and text[start] == ",") or (depth == 0 and kind == CLOSE):
            pieces.append(text[begins:start].strip())
            begins = end
            if depth == 0:
                return [piece for piece in pieces if piece]
    return []


def _default_texts(defaults, positional):
    """Index of the parameter -> text of its default."""
    if type(defaults) is not tuple:
        return {}
    first = positional - len(defaults)
    return {first + index: default_text(value) for index, value in enumerate(defaults)}


def _written(parameters, returns):
    """`(a, /, b: int = 3, *, c) -> str`."""
    parts, before = [], None
    for one in parameters:
        if before == "positional" and one.kind != "positional":
            parts.append("/")
        if one.kind == "keyword" and before not in ("keyword", "rest"):
            parts.append("*")
        parts.append(_parameter(one))
        before = one.kind
    if before == "positional":
        parts.append("/")
    end = "" if returns is None else f" -> {returns}"
    return cut(f"({', '.join(parts)}){end}", SIGNATURE_MAX_CHARS)


def _parameter(one):
    name = {"rest": "*", "keyword_rest": "**"}.get(one.kind, "") + one.name
    if one.annotation is None:
        return name if one.default is None else f"{name}={one.default}"
    return f"{name}: {one.annotation}" if one.default is None else f"{name}: {one.annotation} = {one.default}"
