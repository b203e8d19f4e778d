"""What a call gives to a function: its parameters, from its code object, its defaults and its annotations."""

import ast
import functools
import re
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)

from imago.looking.annotations import annotations_of
from imago.looking.codes import exact
from imago.looking.fields import (
    ABSENT,
    class_lookup,
    class_module,
    class_name,
    cut,
    exactly,
    inherits,
    is_class,
    plain,
    read_member,
    stored,
)
from imago.looking.limits import NAME_MAX_CHARS, SIGNATURE_MAX_CHARS
from imago.looking.parsing import parsed
from imago.looking.statictext import static_text
from imago.looking.unwrapping import inside_of, is_wrapper, partial_parts

_VAR_POSITIONAL = 0x04
_VAR_KEYWORD = 0x08
_DEFAULT_ROOM = 60
_DEEPEST = 16
_UNBOUND = (MethodDescriptorType, WrapperDescriptorType)
COMPILED = (BuiltinFunctionType, MethodWrapperType, ClassMethodDescriptorType, *_UNBOUND)


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
    kind = type(value)
    if depth > _DEEPEST:
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


def _of_class(cls, depth):
    for name in ("__init__", "__new__"):
        found = class_lookup(cls, name)
        if found is None or found[0] is object:
            continue
        function = found[1]
        if type(function) is staticmethod:
            function = read_member(staticmethod.__dict__["__func__"], function)
        if type(function) is FunctionType:
            return called_with(function, 1, depth + 1)
        return _of_text(_class_text(cls) or _class_text(found[0]))
    return Parameters([])


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


def _of_text(text):
    """The parameters that a signature spells, of a compiled function; none where it is not valid Python."""
    if text is None:
        return None
    readable = re.sub(r"<[^<>()]*>", "...", text)
    tree = parsed(f"def f{readable}: ...")
    found = []
    if tree and tree.body:
        given = tree.body[0].args
        plain_ones = given.posonlyargs + given.args
        first = len(plain_ones) - len(given.defaults)
        for at, one in enumerate(plain_ones):
            kind = "positional" if at < len(given.posonlyargs) else "positional_or_keyword"
            found.append(Parameter(one.arg, kind, _spelled(given.defaults[at - first]) if at >= first else None))
        if given.vararg:
            found.append(Parameter(given.vararg.arg, "rest"))
        for one, default in zip(given.kwonlyargs, given.kw_defaults):
            found.append(Parameter(one.arg, "keyword", None if default is None else _spelled(default)))
        if given.kwarg:
            found.append(Parameter(given.kwarg.arg, "keyword_rest"))
    return Parameters(found, None, text)


def _spelled(node):
    return cut(ast.unparse(node), _DEFAULT_ROOM)


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
