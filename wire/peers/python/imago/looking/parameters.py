"""The parameters of callables and the annotations of classes."""

import functools
import re
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

from imago.looking.annotations import held_by, written_annotations
from imago.looking.fields import (
    ABSENT,
    METHOD_DESCRIPTORS,
    class_entry,
    class_label,
    class_lookup,
    class_module,
    class_name,
    cut,
    entries,
    exactly,
    inherits,
    instance_dict,
    is_class,
    plain,
    slot_fields,
    stored,
)
from imago.looking.limits import NAME_MAX_CHARS, SIGNATURE_MAX_CHARS
from imago.looking.source import exact
from imago.looking.rendering import static_text
from imago.looking.syntax import CLOSE, OPEN, tokens
from imago.looking.unwrapping import inside_of, is_wrapper, partial_parts

# Annotations as text, much as they were written, as far as stored fields tell.

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


# What a call gives to a function: its parameters, from its code object, its defaults and its annotations.

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
