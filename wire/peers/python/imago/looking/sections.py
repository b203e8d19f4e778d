"""The sections of an inspected value, each on its own."""

from heapq import nsmallest
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)

from imago.looking.contents import countable
from imago.looking.fields import (
    ABSENT,
    class_entries,
    class_entry,
    class_lookup,
    class_module,
    class_name,
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
    plain,
    stored,
)
from imago.looking.limits import (
    DOC_MAX_CHARS,
    KEPT_MAX_CHARS,
    MEMBER_MAX_PER_GROUP,
    MEMBER_NAME_MAX_CHARS,
    REPR_MAX_CHARS,
    SAMPLE_ITEM_MAX_CHARS,
    SAMPLE_MAX_ITEMS,
)
from imago.looking.parameters import COMPILED, compiled_signature, function_parameters
from imago.looking.source import class_line, code_place, file_of, preview_at, preview_of_code
from imago.looking.rendering import items_of, static_card, static_text

# Signatures as one text, from what a function stores; no wrapper is seen through.


def signature_of(value):
    """`(a, /, b: int = 3, *, c) -> str`, or None where no signature is stored."""
    kind = type(value)
    if kind is FunctionType:
        return function_signature(value)
    if kind is MethodType:
        function = value.__func__
        return function_signature(function, bound=1) if type(function) is FunctionType else None
    if exactly(value, COMPILED):
        return compiled_signature(value)
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
    return function_parameters(function, bound).text


# The sections of a look that are read from stored fields. Each is computed alone, and fails alone.

_qualname_of = type.__dict__["__qualname__"].__get__
_WRITTEN_BY_A_PROGRAM = ("<string>", "<attrs generated")
_METHODS_DEEP = 32
_SCALARS = ("none", "bool", "number", "string", "bytes")
_BUILT_IN_FUNCTIONS = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)
_DOCUMENTED = (*_BUILT_IN_FUNCTIONS, ClassMethodDescriptorType, GetSetDescriptorType, MemberDescriptorType, property)


def repr_section(value, remark, handles):
    """The static text, followed by where the value is stored if that is not where it was looked for."""
    text, truncated = static_card(value, REPR_MAX_CHARS)
    section = {"text": text, "truncated": truncated, "original_len": None if truncated else len(text)}
    if remark is not None:
        section["text"] = cut(f"{text} {remark}", REPR_MAX_CHARS + 400)
        section["original_len"] = None if truncated else len(section["text"])
    elif truncated and len(text) >= REPR_MAX_CHARS:
        section["handle"] = handles.keep_repr(value)
    return section


def sample_section(value, handles):
    """The first items of a container; None for what is none."""
    storage = items_of(value)
    if storage is None:
        return None
    total = storage.length(value)
    items = item_texts(value, storage, 0, SAMPLE_MAX_ITEMS)
    section = {
        "items": items,
        "shown": len(items),
        "total": countable(total),
        "truncated": total > len(items),
    }
    if section["truncated"]:
        section["handle"] = handles.keep_items(value)
    return section


def item_texts(value, storage, start, count):
    """The texts of at most `count` items from `start` on; `key: value` for a mapping."""
    taken = storage.take(value, start, count)
    if storage.shape != "mapping":
        return [static_text(item, SAMPLE_ITEM_MAX_CHARS) for item in taken]
    half = SAMPLE_ITEM_MAX_CHARS // 2
    return [f"{static_text(key, half - 1)}: {static_text(item, half - 1)}" for key, item in taken]


def members_section(value):
    """Names of all that is stored in the value and in its classes, in two groups; properties are data, unread."""
    callables = {}
    dunders = 0
    for name, item in _members(value):
        if name not in callables:
            callables[name] = _is_callable(item)
            dunders += is_dunder(name)
    data = [name for name, can in callables.items() if not can and not is_dunder(name)]
    able = [name for name, can in callables.items() if can and not is_dunder(name)]
    return group_members(data, able, dunders)


def callable_names(value):
    """The names under which something is stored that can be called."""
    return {name for name, item in reversed(_members(value)) if _is_callable(item)}


def group_members(data, able, dunders):
    """The contract's `Members` of names that may be too many to show."""
    shown = MEMBER_MAX_PER_GROUP
    return {
        "data": [cut(name, MEMBER_NAME_MAX_CHARS) for name in nsmallest(shown, data)],
        "callables": [cut(name, MEMBER_NAME_MAX_CHARS) for name in nsmallest(shown, able)],
        "dunder_count": dunders,
        "shown_per_group": shown,
        "truncated": len(data) > shown or len(able) > shown,
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
    owner, text = value, stored_doc(value)
    if text is None and kind not in _SCALARS and not is_class(value) and made_by_statement(type(value)):
        owner, text = type(value), stored_doc(type(value))
    if text is None:
        return None
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
    own = instance_dict(value)
    return None if own is None else plain(stored(own, "__doc__"))


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


def dedented(text):
    lines = text.expandtabs().splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    return "\n".join(line.strip() if not at else line[margin:].rstrip() for at, line in enumerate(lines)).strip("\n")


def callable_section(value):
    """How to call a value, and where it comes from; None for what is not called."""
    if not callable(value):
        return None
    function = value.__func__ if type(value) is MethodType else value
    if is_class(value):
        place = _class_place(value)
    elif type(function) is FunctionType:
        place = _code_place(function.__code__)
    else:
        called = called_function(value)
        place = (None, None, None, False) if called is None else _code_place(called.__code__)
    file, line, preview, truncated = place
    doc = stored_doc(function)
    summary = None if doc is None else clean(dedented(doc[:2000])).partition("\n")[0][:200]
    return {
        "module": _module_of(function),
        "signature": signature_of(value),
        "doc": summary or None,
        "source_preview": preview,
        "source_truncated": truncated,
        "file": file,
        "line": line,
    }


def _module_of(value):
    if is_class(value):
        return class_module(value)
    if type(value) is FunctionType or type(value) is BuiltinFunctionType:
        module = plain(value.__module__)
        return None if module is None else clean(module)
    if exactly(value, _BUILT_IN_FUNCTIONS):
        return class_module(value.__objclass__) if type(value) is not BuiltinFunctionType else None
    return class_module(type(value))


def _code_place(code):
    file, line = code_place(code)
    preview, truncated = preview_of_code(code)
    return file, line, preview, truncated


def _class_place(cls):
    """Where a class statement stands, told by the functions in its body: `(file, line, preview, truncated)`."""
    if not made_by_statement(cls):
        return None, None, None, False
    prefix = (plain(_qualname_of(cls)) or class_name(cls)) + "."
    codes = [
        item.__code__
        for _, item in class_entries(cls)
        if type(item) is FunctionType
        and (plain(item.__qualname__) or "").startswith(prefix)
        and _is_of_module(item, class_module(cls))
    ]
    if not codes:
        return None, None, None, False
    code = min(codes, key=lambda one: one.co_firstlineno)
    file = plain(code.co_filename)
    line = class_line(code, class_name(cls))
    if line is None:
        return (None if file is None else clean(file)), None, None, False
    preview, truncated = preview_at(code, line)
    return clean(file), line, preview, truncated


def _is_of_module(function, module):
    """Whether a function may stand in a class statement of that module, rather than being made by a decorator."""
    if file_of(function.__code__).startswith(_WRITTEN_BY_A_PROGRAM):
        return False
    name = stored(function.__globals__, "__name__")
    return name is ABSENT or module is None or plain(name) == module
