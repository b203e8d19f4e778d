"""The sections of an inspected value, each on its own."""

from functools import cached_property
from heapq import nsmallest
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from imago.looking.contents import countable, exactly_built_in
from imago.looking.fields import (
    ABSENT,
    FIELD_DESCRIPTORS,
    METHOD_DESCRIPTORS,
    class_entries,
    class_entry,
    class_label,
    class_lookup,
    class_module,
    class_name,
    class_path,
    clean,
    cut,
    entries,
    exactly,
    inherits,
    instance_dict,
    instance_fields,
    is_class,
    is_dunder,
    made_by_statement,
    mro,
    own_field,
    plain,
    stored,
    type_name,
)
from imago.looking.limits import (
    DOC_MAX_CHARS,
    FIELDS_MAX,
    KEPT_MAX_CHARS,
    MEMBER_MAX_PER_GROUP,
    MEMBER_NAME_MAX_CHARS,
    METHOD_SIGNATURE_MAX_CHARS,
    METHODS_MAX,
    NAME_MAX_CHARS,
    REPR_MAX_CHARS,
    SAMPLE_ITEM_MAX_CHARS,
    SAMPLE_MAX_ITEMS,
)
from imago.looking.loaded import home_of
from imago.looking.parameters import COMPILED, compiled_signature, function_parameters, made_by
from imago.looking.running import is_proved, running
from imago.looking.source import class_line, code_place, file_of, preview_at, preview_of_code
from imago.looking.rendering import function_label, items_of, shown_text, static_card, static_text
from imago.looking.unwrapping import as_function, unwrapped

# Signatures as one text, from what a function stores; no wrapper is seen through.


def signature_of(value):
    """`(a, /, b: int = 3, *, c) -> str`, or None where no signature is stored."""
    kind = type(value)
    if kind is FunctionType:
        return function_parameters(value).text
    if exactly(value, COMPILED):
        return compiled_signature(value)
    function = value.__func__ if kind is MethodType else called_function(value)
    return function_parameters(function, bound=1).text if type(function) is FunctionType else None


def called_function(value):
    """The Python function that a call of a class or of an instance ends in, as stored, or None."""
    found = class_lookup(type(value), "__call__")
    if is_class(value):
        found = made_by(value) if found[0] is type else None
    return found[1] if found is not None and type(found[1]) is FunctionType else None


# The sections of a look that are read from stored fields. Each is computed alone, and fails alone.

_WRITTEN_BY_A_PROGRAM = ("<string>", "<attrs generated")
_METHODS_DEEP = 32
_SUMMARY = 200
_SCALARS = ("none", "bool", "number", "string", "bytes")
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, *METHOD_DESCRIPTORS)
_METHODS = (FunctionType, staticmethod, classmethod, property, cached_property)
# Besides what nobody wrote into it: `abc` and `dataclasses` leave these in a class.
_MADE_BY_A_STATEMENT = ("_abc_impl",)
_DOCUMENTED = (BuiltinFunctionType, property, *METHOD_DESCRIPTORS, *FIELD_DESCRIPTORS)


def repr_section(value, adapted, remark, handles):
    """The static text, followed by where the value is stored if that is not where it was looked for."""
    text, truncated = static_card(value, adapted, REPR_MAX_CHARS)
    section = shown_text(text if remark is None else cut(f"{text} {remark}", REPR_MAX_CHARS + 400), truncated)
    if remark is None and truncated and len(text) >= REPR_MAX_CHARS:
        section["handle"] = handles.keep_repr(value)
    return section


def sample_section(value, adapted, handles, leads):
    """The first items of a container, and what leads to each; None for what is none."""
    storage = items_of(value, adapted)
    if storage is None:
        return None
    total = storage.length(value)
    items = storage.take(value, 0, SAMPLE_MAX_ITEMS)

    def keyed(taken):
        return taken if storage.shape == "mapping" else list(enumerate(taken))

    section = {
        "items": _item_texts(items, storage),
        "exprs": leads.items(keyed(items), lambda: keyed(storage.take(value, 0, SAMPLE_MAX_ITEMS))),
        "shown": len(items),
        "total": countable(total),
        "truncated": total > len(items),
    }
    if section["truncated"]:
        section["handle"] = handles.keep_items(value)
    return section


def item_texts(value, storage, start, count):
    """The texts of at most `count` items from `start` on; `key: value` for a mapping."""
    return _item_texts(storage.take(value, start, count), storage)


def _item_texts(taken, storage):
    if storage.shape != "mapping":
        return [static_text(item, SAMPLE_ITEM_MAX_CHARS) for item in taken]
    half = SAMPLE_ITEM_MAX_CHARS // 2
    return [f"{static_text(key, half - 1)}: {static_text(item, half - 1)}" for key, item in taken]


def members_section(value, leads):
    """Names of all that is stored in the value and in its classes, in two groups; properties are data, unread."""
    first = {}
    for name, item in _members(value):
        first.setdefault(name, item)
    public = {name: _is_callable(item) for name, item in first.items() if not is_dunder(name)}
    data = [name for name, can in public.items() if not can]
    able = [name for name, can in public.items() if can]
    section = group_members(data, able, len(first) - len(public))
    # The methods of a container of Python's own lead nowhere.
    for name in section["data"] + ([] if exactly_built_in(value) else section["callables"]):
        leads.attribute(name)
    return section


def group_members(data, able, dunders):
    """The contract's `Members` of names that may be too many to show."""
    shown = MEMBER_MAX_PER_GROUP
    return {
        "data": [cut(name, MEMBER_NAME_MAX_CHARS) for name in nsmallest(shown, data, _public_first)],
        "callables": [cut(name, MEMBER_NAME_MAX_CHARS) for name in nsmallest(shown, able, _public_first)],
        "dunder_count": dunders,
        "shown_per_group": shown,
        "truncated": len(data) > shown or len(able) > shown,
    }


def _public_first(name):
    return name[:1] == "_", name


def fields_section(value, kind, adapted, leads):
    """The contract's `Fields`: what one instance stores, or what a class holds itself; None for all else.

    Names that begin with an underscore come last.
    """
    pairs = _class_data(value) if kind == "class" else _stored_fields(value, kind, adapted)
    if not pairs:
        return None
    pairs.sort(key=lambda pair: pair[0][:1] == "_")
    for name, held in pairs[:FIELDS_MAX]:
        leads.attribute(name, held)
    rows = [
        {
            "name": cut(name, MEMBER_NAME_MAX_CHARS),
            "type_name": type_name(held),
            "value": static_text(held, SAMPLE_ITEM_MAX_CHARS),
        }
        for name, held in pairs[:FIELDS_MAX]
    ]
    return {"rows": rows, "total": len(pairs)}


def _stored_fields(value, kind, adapted):
    if kind in _SCALARS or kind == "module" or exactly(value, _FUNCTIONS) or not _is_told_by_fields(adapted):
        return []
    if adapted is not None:
        return list(adapted.fields if adapted.own is None else adapted.own)
    held = {}
    for name, one in instance_fields(value):
        held.setdefault(name, one)
    return list(held.items())


def _is_told_by_fields(adapted):
    """Whether its fields say what a value is; what an adapter says of a library's own stands in its text already."""
    if adapted is None or adapted.own is not None:
        return True
    return adapted.text is None and not adapted.head and adapted.storage is None


def _class_data(cls):
    """What a class holds that is neither a method nor the place of a field."""
    return [
        (name, held)
        for name, held in class_entries(cls)
        if type(name) is str
        and not is_dunder(name)
        and not _is_method(held)
        and not exactly(held, FIELD_DESCRIPTORS)
        and name not in _MADE_BY_A_STATEMENT
    ]


def methods_section(value, kind, adapted, leads):
    """The contract's `Methods`: those that the class of a value, or a class, has itself, in the order of its text."""
    cls = value if kind == "class" else type(value)
    if kind in _SCALARS or kind == "module" or not made_by_statement(cls):
        return None
    if kind != "class" and not _is_told_by_fields(adapted):
        return None
    able = [(name, held) for name, held in class_entries(cls) if type(name) is str and _is_method(held)]
    public = [pair for pair in able if pair[0][:1] != "_"]
    if not public:
        return None
    for name, _ in public[:METHODS_MAX]:
        leads.attribute(name)
    return {
        "of": class_label(cls),
        "rows": [_method(name, held) for name, held in public[:METHODS_MAX]],
        "total": len(public),
    }


def _is_method(held):
    """Whether it is a method, a property, or something that is called in the place of one."""
    wraps = _is_callable(held) and not is_class(held) and own_field(held, "__wrapped__") is not ABSENT
    return wraps or exactly(held, _METHODS)


def _method(name, held):
    kind = type(held)
    function = kind.__dict__["__func__"].__get__(held) if kind is staticmethod or kind is classmethod else held
    if kind is property:
        function = held.fget
    elif kind is cached_property:
        function = own_field(held, "func")
    doc = stored_doc(held) if kind is property else stored_doc(function)
    signature = None
    if type(function) is FunctionType and kind is not property and kind is not cached_property:
        signature = cut(function_parameters(function, bound=kind is not staticmethod).text, METHOD_SIGNATURE_MAX_CHARS)
    return {
        "name": cut(name, MEMBER_NAME_MAX_CHARS),
        "kind": "property" if kind is property or kind is cached_property else "method",
        "signature": signature,
        "doc": None if doc is None else first_line(doc),
    }


def _members(value):
    """`(name, stored)` of instance and classes, what Python finds first coming first."""
    if inherits(value, ModuleType):
        pairs = list(entries(instance_dict(value) or {}))
    elif is_class(value):
        pairs = [pair for owner in mro(value) for pair in class_entries(owner)]
    else:
        pairs = list(instance_fields(value))
        pairs += [pair for owner in mro(type(value)) for pair in class_entries(owner)]
    return [(name, item) for name, item in pairs if type(name) is str]


def _is_callable(item):
    """Whether calling it is what a stored thing is for. `callable` asks the type alone, never the object."""
    return callable(item) or type(item) is staticmethod or type(item) is classmethod


def doc_section(value, kind, handles):
    """The stored documentation of a value, or that of its class where somebody wrote one for it."""
    value = as_function(value)
    owner, text = value, stored_doc(value)
    if text is None and kind not in _SCALARS and not is_class(value) and made_by_statement(type(value)):
        owner, text = type(value), stored_doc(type(value))
    if text is None:
        return None
    return shown_doc(owner, text, handles)


def shown_doc(owner, text, handles):
    """The contract's `Text` of the doc string of `owner`, with a handle for what was cut."""
    section = doc_text(text)
    if section["truncated"]:
        section["handle"] = handles.keep_doc(owner)
    return section


def stored_doc(value):
    """The doc string that is stored for one value itself, or None."""
    for _ in range(_METHODS_DEEP):
        if type(value) is not MethodType:
            break
        value = value.__func__
    if is_class(value):
        if made_by_statement(value):
            return plain(class_entry(value, "__doc__"))
        return plain(type.__dict__["__doc__"].__get__(value))
    if type(value) is FunctionType or exactly(value, _DOCUMENTED):
        return plain(value.__doc__)
    return plain(own_field(value, "__doc__"))


def whole_doc(value):
    """The stored doc string of a value for reading on, its indentation taken off, as far as is kept of a text."""
    return clean(dedented((stored_doc(value) or "")[:KEPT_MAX_CHARS]))


def doc_text(text):
    """A doc string as the contract's `Text`, with its indentation taken off."""
    whole = text[: 4 * DOC_MAX_CHARS]
    shown = clean(dedented(whole))
    truncated = len(shown) > DOC_MAX_CHARS or len(whole) < len(text)
    return {
        "text": shown[:DOC_MAX_CHARS],
        "truncated": truncated,
        "original_len": len(shown) if len(whole) == len(text) else None,
    }


def first_line(doc):
    """What a doc string says first, or None."""
    return clean(dedented(doc[:2000])).strip().partition("\n")[0].strip()[:_SUMMARY] or None


def dedented(text):
    lines = text.expandtabs().splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    return "\n".join(line.strip() if not at else line[margin:].rstrip() for at, line in enumerate(lines)).strip("\n")


_NOWHERE = (None, None, None, False)


def callable_section(value, adapted):
    """How to call a value, and where it comes from; None for what is not called, or whose library comes first."""
    if not callable(value) or (adapted is not None and adapted.own is not None):
        return None
    value = as_function(value)
    function = value.__func__ if type(value) is MethodType else value
    told = {}
    if is_class(value):
        place, functions = _class_place(value)
        if functions and not is_proved(functions[0].__code__):
            told["running"] = running("class", functions, functions[0].__globals__, place[0])
    else:
        called = function if type(function) is FunctionType else called_function(value)
        place = _NOWHERE if called is None else _code_place(called.__code__)
        if called is not None and not is_proved(called.__code__):
            told["running"] = running("function", [called], called.__globals__)
    inside = unwrapped(value)[0]
    if inside is not function and type(inside) is FunctionType:
        file, line = code_place(inside.__code__)
        told["wraps"] = {"name": cut(function_label(inside), NAME_MAX_CHARS), "file": file, "line": line}
    file, line, preview, truncated = place
    doc = stored_doc(function)
    return {
        **told,
        "module": _module_of(function),
        "signature": signature_of(value),
        "doc": None if doc is None else first_line(doc),
        "source_preview": preview,
        "source_truncated": truncated,
        "file": file,
        "line": line,
    }


def _module_of(value):
    if is_class(value) or exactly(value, (FunctionType, BuiltinFunctionType)):
        module = home_of(value)
        return None if module is None else clean(module)
    return class_module(value.__objclass__ if exactly(value, METHOD_DESCRIPTORS) else type(value))


def _code_place(code):
    file, line = code_place(code)
    preview, truncated = preview_of_code(code)
    return file, line, preview, truncated


def _class_place(cls):
    """`((file, line, preview, truncated), functions)` of a class statement, told by the functions in its body."""
    if not made_by_statement(cls):
        return _NOWHERE, []
    prefix = class_path(cls) + "."
    functions = [
        item
        for _, item in class_entries(cls)
        if type(item) is FunctionType
        and (plain(item.__qualname__) or "").startswith(prefix)
        and _is_of_module(item, class_module(cls))
    ]
    if not functions:
        return _NOWHERE, []
    code = min((one.__code__ for one in functions), key=lambda one: one.co_firstlineno)
    file = plain(code.co_filename)
    line = class_line(code, class_name(cls))
    if line is None:
        return ((None if file is None else clean(file)), None, None, False), functions
    preview, truncated = preview_at(code, line)
    return (clean(file), line, preview, truncated), functions


def _is_of_module(function, module):
    """Whether a function may stand in a class statement of that module, rather than being made by a decorator."""
    if file_of(function.__code__).startswith(_WRITTEN_BY_A_PROGRAM):
        return False
    name = stored(function.__globals__, "__name__")
    return name is ABSENT or module is None or plain(name) == module
