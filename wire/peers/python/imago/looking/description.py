"""What a name stands for in a few lines, and how it is called."""

import inspect
from types import FunctionType, ModuleType

from imago.looking.adapters.registry import seen
from imago.looking.assignments import place_of
from imago.looking.display import is_worth_a_handle
from imago.looking.fields import (
    ABSENT,
    class_bases,
    class_entries,
    class_entry,
    class_label,
    class_lookup,
    clean,
    cut,
    entries,
    inherits,
    instance_dict,
    is_class,
    plain,
    read_member,
    stored,
    subclasses_of,
    type_facts,
)
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.loaded import home_of, modules, programs_first
from imago.looking.name_lookup import is_callable, kind_of_name, named, summary
from imago.looking.outcomes import found, look
from imago.looking.parameters import called_with
from imago.looking.sections import repr_section, shown_doc, stored_doc
from imago.looking.source import exact
from imago.looking.rendering import measure_of
from imago.looking.unwrapping import unwrapped
from imago.native import monotonic

# The look `arglist`: how one function, method or class is called.

_MOST = 300


@look
def arglist(image, query):
    """A `Looked<Arglist>`. What wrappers only pass on is told of what is inside of them."""
    name = named(image.namespace, query["name"], image.handles)
    inside, _ = unwrapped(name.value)
    place, qualified = place_of(image.namespace, name, inside)
    parameters = called_with(name.value, 1 if name.bound else 0)
    return found(
        {
            "name": clean(name.asked),
            "qualified": clean(qualified),
            "signature": None if parameters is None else clean(parameters.text),
            "because": because_unknown(name) if parameters is None else None,
            "parameters": [] if parameters is None else [_shown(one) for one in parameters.parameters[:_MOST]],
            "returns": None if parameters is None else parameters.returns,
            "doc": summary(name.value) if is_callable(name.value) else None,
            "file": place.file,
            "line": place.first,
        }
    )


def because_unknown(name):
    """Why no signature is known of a `Named`, in a sentence."""
    value = name.value
    if inherits(value, ModuleType):
        return "It is a module, which is not called."
    if kind_of_name(value, name.name, name.held == "class") == "property":
        return "It is a property: it is read, not called."
    if not is_callable(value):
        return f"It is an instance of {class_label(type(value))}, which is not called."
    if is_class(value):
        return f"{class_label(value)} is made by compiled code that carries no signature."
    return "It is compiled, or called through code of its own, and carries no signature."


def _shown(one):
    return {"name": one.name, "kind": one.kind, "default": one.default, "annotation": one.annotation}


# The look `describe`: what one name is, in a few facts.

_ALSO_SECONDS = 0.15
_ALSO_MOST = 8
_MEMBERS_SHOWN = 6
_FACT_MAX_CHARS = 1000


@look
def describe(image, query):
    """A `Looked<Description>`. Runs no user code."""
    name = named(image.namespace, query["name"], image.handles)
    value = name.value
    inside, wrappers = unwrapped(value)
    place, qualified = place_of(image.namespace, name, inside)
    kind = kind_of_name(value, name.name, name.held == "class")
    parameters = called_with(value, 1 if name.bound else 0) if is_callable(value) else None
    answer = {
        "name": clean(name.asked),
        "qualified": clean(qualified),
        "kind": kind,
        "type": type_facts(value),
        "doc": _doc(value, inside, kind, image.handles),
        "signature": None if parameters is None else clean(parameters.text),
        "module": _module(name, inside, qualified),
        "also": _other_names(image.namespace, name, inside, qualified),
        "facts": [cut(fact, _FACT_MAX_CHARS) for fact in _facts(name, inside, wrappers, place, kind)],
        "file": place.file,
        "line": place.first,
    }
    if kind in ("variable", "constant"):
        answer["value"] = repr_section(value, seen(value), None, image.handles)
    if kind in ("variable", "constant") and is_worth_a_handle(value):
        answer["handle"] = image.handles.keep_value(value)
    return found(answer)


def _doc(value, inside, kind, handles):
    owner = value if stored_doc(value) is not None else inside
    if kind in ("variable", "constant") and type(value) is not FunctionType:
        owner = value if instance_dict(value) is not None else None
    doc = None if owner is None else stored_doc(owner)
    return None if doc is None else shown_doc(owner, doc, handles)


def _module(name, inside, qualified):
    home = home_of(inside)
    if home is not None:
        return clean(home)
    if inherits(inside, ModuleType):
        return qualified.rpartition(".")[0] or None
    if name.held in ("module", "top"):
        return qualified.rpartition(".")[0] or None
    if name.held == "class" and is_class(name.holder):
        return home_of(name.holder)
    return None


def _other_names(namespace, name, inside, qualified):
    """Names elsewhere of the same function, class or module: at the top level, and in loaded modules."""
    value = name.value
    if not (type(inside) is FunctionType or is_class(inside) or inherits(inside, ModuleType)):
        return []
    until, names = monotonic() + _ALSO_SECONDS, []
    home, last = home_of(inside) or "", qualified.rpartition(".")[2]
    spaces = [("", namespace)]
    spaces += [(f"{module}.", own) for module, _, own in programs_first(modules()) if own is not namespace]
    for prefix, own in spaces:
        if monotonic() > until or len(names) > _ALSO_MOST:
            break
        # That others have imported it under its own name says nothing; that its package offers it does.
        offers = prefix == "" or home.startswith(prefix)
        for other, held in entries(own):
            if held is value and type(other) is str and (offers or other != last):
                names.append(other if prefix == "builtins." else prefix + other)
    said = (name.asked, name.qualified, qualified, last if home == "builtins" else None)
    return [clean(other) for other in dict.fromkeys(names) if other not in said][:_ALSO_MOST]


def _facts(name, inside, wrappers, place, kind):
    if name.note is not None:
        yield name.note
    if inherits(inside, ModuleType):
        yield from _module_facts(inside)
    elif is_class(inside):
        yield from _class_facts(inside)
    elif type(inside) is FunctionType:
        yield from _function_facts(inside)
    elif kind in ("variable", "constant"):
        yield from _value_facts(inside)
    if type(name.value) is property:
        for word, slot in (("set", "fset"), ("deleted", "fdel")):
            has = read_member(property.__dict__[slot], name.value) is not None
            yield f"can be {word}" if has else f"cannot be {word}"
    for wrapper in wrappers:
        yield f"wrapped by {wrapper['name']}"
    if place.origin == "typed":
        yield "defined at a prompt"
    elif place.origin == "built_in" and kind not in ("variable", "constant"):
        yield "compiled"
    if place.current is False:
        yield "its file has changed since it was loaded"
    if is_callable(name.value) and called_with(name.value) is None:
        yield "signature not known"


def _function_facts(function):
    flags = function.__code__.co_flags
    if flags & inspect.CO_ASYNC_GENERATOR:
        yield "async generator"
    elif flags & inspect.CO_COROUTINE:
        yield "async"
    elif flags & inspect.CO_GENERATOR:
        yield "generator"
    held = exact(function.__code__.co_freevars)
    if held:
        yield f"closes over {_listed(held)}"


def _class_facts(cls):
    bases = [class_label(base) for base in class_bases(cls) if base is not object]
    if bases:
        yield f"inherits from {_listed(bases)}"
    meta = type(cls)
    if meta is not type:
        yield f"metaclass {class_label(meta)}"
    if class_entry(cls, "__dataclass_fields__") is not ABSENT:
        yield "dataclass"
    names = class_entry(cls, "_fields")
    if issubclass(cls, tuple) and type(names) is tuple:
        yield f"named tuple of {_listed([name for name in names if type(name) is str])}"
    members = class_entry(cls, "_member_map_")
    if inherits(members, dict):
        listed = [key for key, _ in entries(members) if type(key) is str]
        yield f"enum of {_listed(listed)}"
    abstract = class_entry(cls, "__abstractmethods__")
    if type(abstract) is frozenset and abstract:
        yield f"abstract: {_listed(sorted(one for one in abstract if type(one) is str))}"
    methods = sum(1 for _, entry in class_entries(cls) if is_callable(entry) and not is_class(entry))
    if methods:
        yield f"{methods} method{'s' if methods > 1 else ''}"
    below = subclasses_of(cls) if meta is type or class_lookup(meta, "__subclasses__")[0] is type else []
    if below:
        yield f"{len(below)} direct subclass{'es' if len(below) > 1 else ''}"


def _module_facts(module):
    own = instance_dict(module)
    if own is None:
        return
    yield f"{len(own)} names"
    if stored(own, "__path__") is not ABSENT:
        prefix = (plain(stored(own, "__name__")) or "?") + "."
        inner = sum(1 for name, _, _ in modules() if name.startswith(prefix))
        yield f"package, {inner} of its modules loaded"


def _value_facts(value):
    measure = measure_of(value, seen(value)) or {}
    if "shape" in measure:
        yield f"shape {tuple(measure['shape'])}"
    elif "len" in measure:
        yield f"len {measure['len']}"
    if is_callable(value):
        yield "can be called"


def _listed(names):
    shown = ", ".join(cut(name, NAME_MAX_CHARS) for name in names[:_MEMBERS_SHOWN])
    return shown if len(names) <= _MEMBERS_SHOWN else f"{shown} and {len(names) - _MEMBERS_SHOWN} more"
