"""The sections of an inspected value, each on its own."""

from functools import cached_property
from heapq import nsmallest
from itertools import chain
from types import BuiltinFunctionType, FunctionType, MethodType

from imago.looking.adapters.registry import seen
from imago.looking.contents import countable, exactly_built_in
from imago.looking.display import is_worth_a_handle, kind_of
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
    instance_dict,
    instance_fields,
    is_class,
    is_dunder,
    made_by_statement,
    mro,
    own_field,
    plain,
    stored,
    type_facts,
    type_name,
)
from imago.looking.frames import describe_error, exception_section
from imago.looking.leads import Leads
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
    STATIC_LIMITS,
)
from imago.looking.loaded import home_of
from imago.looking.parameters import COMPILED, compiled_signature, function_parameters, made_by
from imago.looking.running import is_proved, running
from imago.looking.source import class_line, code_place, file_of, preview_at, preview_of_code
from imago.looking.rendering import function_label, items_of, measure_of, shown_text, static_card, static_text
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


_WRITTEN_BY_A_PROGRAM = ("<string>", "<attrs generated")
_METHODS_DEEP = 32
_SUMMARY = 200
_SCALARS = ("none", "bool", "number", "string", "bytes")
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, *METHOD_DESCRIPTORS)
_METHODS = (FunctionType, staticmethod, classmethod, property, cached_property)
# Besides what nobody wrote into it: `abc` and `dataclasses` leave these in a class.
_MADE_BY_A_STATEMENT = ("_abc_impl",)
_DOCUMENTED = (BuiltinFunctionType, property, *METHOD_DESCRIPTORS, *FIELD_DESCRIPTORS)
_NOWHERE = (None, None, None, False)


class Sections:
    """What a look says of one value, from stored fields: each section is read alone, and fails alone.

    `expr` has led to the value; `remark` says where it is stored if that is not where it was looked for.
    """

    def __init__(self, value, remark, handles, expr):
        self._value = value
        self._remark = remark
        self._handles = handles
        self._kind = kind_of(value)
        self._adapted = seen(value)
        self._leads = Leads(expr, value, self._adapted, handles)

    def told(self):
        """Every section that makes sense for the value."""
        answer = {"type": type_facts(self._value), "kind": self._kind}
        sections = {
            "repr": lambda: repr_section(self._value, self._adapted, self._remark, self._handles),
            "size": lambda: measure_of(self._value, self._adapted),
            "sample": self._sample,
            "fields": self._fields,
            "methods": self._methods,
            "members": self._members,
            "doc": self._doc,
            "callable": self._callable,
        }
        if self._kind == "exception" or (self._kind == "class" and issubclass(self._value, BaseException)):
            sections["exception"] = lambda: exception_section(self._value)
        for name, read in sections.items():
            try:
                section = read()
            except Exception as error:
                section = {"error": describe_error(error)}
            if section is not None:
                answer[name] = section
        if self._leads.names:
            answer["exprs"] = self._leads.names
        answer["limits"] = dict(STATIC_LIMITS)
        if is_worth_a_handle(self._value):
            answer["handle"] = self._handles.keep_value(self._value)
        return answer

    def _sample(self):
        """The first items of a container, and what leads to each; None for what is none."""
        storage = items_of(self._value, self._adapted)
        if storage is None:
            return None
        total = storage.length(self._value)
        items = storage.take(self._value, 0, SAMPLE_MAX_ITEMS)

        def keyed(taken):
            return taken if storage.shape == "mapping" else list(enumerate(taken))

        section = {
            "items": _item_texts(items, storage),
            "exprs": self._leads.items(keyed(items), lambda: keyed(storage.take(self._value, 0, SAMPLE_MAX_ITEMS))),
            "shown": len(items),
            "total": countable(total),
            "truncated": total > len(items),
        }
        if section["truncated"]:
            section["handle"] = self._handles.keep_items(self._value)
        return section

    def _fields(self):
        """The contract's `Fields`: what one instance stores, or what a class holds itself; None for all else.

        Names that begin with an underscore come last.
        """
        pairs = _class_data(self._value) if self._kind == "class" else self._stored_fields()
        if not pairs:
            return None
        pairs.sort(key=lambda pair: pair[0][:1] == "_")
        for name, held in pairs[:FIELDS_MAX]:
            self._leads.attribute(name, held)
        rows = [
            {
                "name": cut(name, MEMBER_NAME_MAX_CHARS),
                "type_name": type_name(held),
                "value": static_text(held, SAMPLE_ITEM_MAX_CHARS),
            }
            for name, held in pairs[:FIELDS_MAX]
        ]
        return {"rows": rows, "total": len(pairs)}

    def _stored_fields(self):
        if not self._is_told_by_fields() or exactly(self._value, _FUNCTIONS):
            return []
        if self._adapted is not None:
            return list(self._adapted.fields if self._adapted.own is None else self._adapted.own)
        held = {}
        for name, one in instance_fields(self._value):
            held.setdefault(name, one)
        return list(held.items())

    def _is_told_by_fields(self):
        """Whether its fields say what it is; what an adapter says of a library's own stands in its text already."""
        if self._kind in _SCALARS or self._kind == "module":
            return False
        told = self._adapted
        return told is None or told.own is not None or (told.text is None and not told.head and told.storage is None)

    def _methods(self):
        """The contract's `Methods`: those that the class of the value, or a class, has itself, in the order written."""
        cls = self._value if self._kind == "class" else type(self._value)
        if not made_by_statement(cls) or not (self._kind == "class" or self._is_told_by_fields()):
            return None
        able = [(name, held) for name, held in class_entries(cls) if type(name) is str and _is_method(held)]
        public = [pair for pair in able if pair[0][:1] != "_"]
        if not public:
            return None
        for name, _ in public[:METHODS_MAX]:
            self._leads.attribute(name)
        return {
            "of": class_label(cls),
            "rows": [_method(name, held) for name, held in public[:METHODS_MAX]],
            "total": len(public),
        }

    def _members(self):
        """Names of all that is stored in the value and in its classes, in two groups; properties are data, unread."""
        if self._kind in _SCALARS:
            return None
        first = {}
        for name, item in self._found_first():
            first.setdefault(name, item)
        public = {name: _is_callable(item) for name, item in first.items() if not is_dunder(name)}
        data = [name for name, can in public.items() if not can]
        able = [name for name, can in public.items() if can]
        section = group_members(data, able, len(first) - len(public))
        # The methods of a container of Python's own lead nowhere.
        for name in section["data"] + ([] if exactly_built_in(self._value) else section["callables"]):
            self._leads.attribute(name)
        return section

    def _found_first(self):
        """`(name, stored)` of instance and classes, what Python finds first coming first."""
        if self._kind == "module":
            pairs = entries(instance_dict(self._value) or {})
        elif self._kind == "class":
            pairs = _entries_in_order(self._value)
        else:
            pairs = chain(instance_fields(self._value), _entries_in_order(type(self._value)))
        return [(name, item) for name, item in pairs if type(name) is str]

    def _doc(self):
        """The stored documentation of the value, or that of its class where somebody wrote one for it."""
        owner = as_function(self._value)
        text = stored_doc(owner)
        if text is None and self._kind not in (*_SCALARS, "class") and made_by_statement(type(owner)):
            owner = type(owner)
            text = stored_doc(owner)
        return None if text is None else shown_doc(owner, text, self._handles)

    def _callable(self):
        """How to call the value, and where it is from; None for what is not called, or whose library comes first."""
        if not callable(self._value) or (self._adapted is not None and self._adapted.own is not None):
            return None
        value = as_function(self._value)
        function = value.__func__ if type(value) is MethodType else value
        told = {}
        if self._kind == "class":
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


def repr_section(value, adapted, remark, handles):
    """The static text, followed by where the value is stored if that is not where it was looked for."""
    text, truncated = static_card(value, adapted, REPR_MAX_CHARS)
    section = shown_text(text if remark is None else cut(f"{text} {remark}", REPR_MAX_CHARS + 400), truncated)
    if remark is None and truncated and len(text) >= REPR_MAX_CHARS:
        section["handle"] = handles.keep_repr(value)
    return section


def item_texts(value, storage, start, count):
    """The texts of at most `count` items from `start` on; `key: value` for a mapping."""
    return _item_texts(storage.take(value, start, count), storage)


def _item_texts(taken, storage):
    if storage.shape != "mapping":
        return [static_text(item, SAMPLE_ITEM_MAX_CHARS) for item in taken]
    half = SAMPLE_ITEM_MAX_CHARS // 2
    return [f"{static_text(key, half - 1)}: {static_text(item, half - 1)}" for key, item in taken]


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


def _entries_in_order(cls):
    return [pair for owner in mro(cls) for pair in class_entries(owner)]


def _is_callable(item):
    """Whether calling it is what a stored thing is for. `callable` asks the type alone, never the object."""
    return callable(item) or type(item) is staticmethod or type(item) is classmethod


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
