"""What stands inside of what a decorator has put around it, as far as that is stored.

Seen through are the wrappers of `functools` and of the language itself, functions and objects that keep what they
wrap as `__wrapped__` in their own dict, and functions that pass for another one which they hold in a closure.
"""

import functools
import gc
from types import BuiltinFunctionType, FunctionType, MethodType

from imago.looking.fields import (
    ABSENT,
    class_entry,
    class_lookup,
    class_qualified,
    clean,
    exactly,
    inherits,
    is_class,
    own_field,
    plain,
    read_member,
    stored,
)
from imago.looking.loaded import module_dict
from imago.looking.source import exact, name_of, qualified_of, shown_file, written_for
from imago.looking.statements import outline

_MOST = 32
_CACHED = type(functools.lru_cache(lambda: None))

# Exact type -> the slot that holds what is inside, and what to call the wrapper.
_BY_SLOT = (
    (staticmethod, staticmethod.__dict__["__func__"], "staticmethod"),
    (classmethod, classmethod.__dict__["__func__"], "classmethod"),
    (property, property.__dict__["fget"], "property"),
    (functools.partial, functools.partial.__dict__["func"], "functools.partial"),
    (MethodType, MethodType.__dict__["__func__"], None),
)
_BY_FIELD = (
    (functools.cached_property, "func", "functools.cached_property"),
    (functools.partialmethod, "func", "functools.partialmethod"),
    (functools.singledispatchmethod, "func", "functools.singledispatchmethod"),
    (_CACHED, "__wrapped__", "functools.lru_cache"),
)
_WRAPPERS = tuple(kind for kind, *_ in _BY_SLOT + _BY_FIELD)


def is_wrapper(value):
    """Whether a value is one of Python's own wrappers, as classes store them."""
    return exactly(value, _WRAPPERS)


def unwrapped(value):
    """`(inside, wrappers)`: the innermost thing, and `{name, file, line}` of each wrapper, outermost first."""
    wrappers = []
    for _, inside, wrapper in _steps(value):
        if wrapper is not None:
            wrappers.append(wrapper)
        value = inside
    return value, wrappers


def wrapping_functions(value):
    """The functions of a text that run in the place of the innermost one, outermost first."""
    found = []
    for outer, _, _ in _steps(value):
        if not is_wrapper(outer) and type(outer) is not FunctionType:
            outer = (class_lookup(type(outer), "__call__") or (None, None))[1]
        if type(outer) is FunctionType:
            found.append(outer)
    return found


def _steps(value):
    """`(outer, inside, wrapper)` of each step inwards."""
    seen = [value]
    while len(seen) < _MOST:
        found = _inside(value)
        if found is None:
            break
        inside, wrapper = found
        if any(inside is one for one in seen) or not _leads_on(inside):
            break
        yield value, inside, wrapper
        seen.append(inside)
        value = inside


def inside_of(value):
    """What is right inside of a wrapper, or `ABSENT`."""
    found = _inside(value)
    return found[0] if found is not None and _leads_on(found[0]) else ABSENT


def code_label(code, namespace):
    """`module.outer.<locals>.inner` as the text has it that the code is from, as far as that is known."""
    name = _code_qualified(code, namespace) or name_of(code)
    module = plain(stored(namespace, "__name__")) if inherits(namespace, dict) else None
    return clean(name if module is None else f"{module}.{name}")


def _code_qualified(code, namespace):
    known = qualified_of(code)
    if known is not None:
        return known
    for written in written_for(code, namespace):
        found = outline(written.text).at(code.co_firstlineno - written.first + 1, name_of(code))
        if found:
            return found[0].qualified
    return None


def _inside(value):
    """`(inside, wrapper)` one step further in, or None; the wrapper is None where it is none to speak of."""
    kind = type(value)
    for known, slot, name in _BY_SLOT:
        if kind is known:
            return read_member(slot, value), None if name is None else _wrapper(name)
    for known, field, name in _BY_FIELD:
        if kind is known:
            return own_field(value, field), _wrapper(name)
    if is_class(value) or not callable(value):
        return None
    task = _in_task(value)
    if task is not ABSENT:
        return task, _wrapper("celery.local.Proxy" if type(task) is not FunctionType else "a task of celery")
    inside = own_field(value, "__wrapped__")
    if kind is FunctionType:
        inside = _enclosed(value) if inside is ABSENT else inside
        return None if inside is ABSENT else (inside, _function_wrapper(value))
    if inside is ABSENT:
        return None
    return inside, _wrapper(class_qualified(kind))


def _in_task(value):
    """The function of a task of Celery, or the task that stands behind a proxy, by what these store; or `ABSENT`."""
    local = module_dict("celery.local")
    app = None if local is None else module_dict("celery.app.task")
    if app is None:
        return ABSENT
    proxy, task = stored(local, "Proxy"), stored(app, "Task")
    kind = type(value)
    if kind is proxy or kind is stored(local, "PromiseProxy"):
        # It keeps what its instances store to itself, but not from the collector.
        for one in gc.get_referents(value):
            if is_class(task) and inherits(one, task):
                return one
        made_by, given = (
            ABSENT if entry is ABSENT else read_member(entry, value)
            for entry in (class_entry(proxy, "_Proxy__local"), class_entry(proxy, "_Proxy__args"))
        )
        # `app.task` gives it the function, and `shared_task` a function that has it in its closure.
        held = [*(given if type(given) is tuple else ()), closed_over(made_by).get("fun")]
        return next((one for one in held if type(one) is FunctionType), ABSENT)
    if is_class(task) and inherits(value, task):
        run = class_entry(kind, "run")
        return read_member(staticmethod.__dict__["__func__"], run) if type(run) is staticmethod else run
    return ABSENT


def as_function(value):
    """The function of a task of Celery, which may stand behind a proxy; of anything else the value itself."""
    inside = value
    for _ in range(_MOST):
        inside = ABSENT if is_class(inside) else _in_task(inside)
        if inside is ABSENT or type(inside) is FunctionType:
            break
    return inside if type(inside) is FunctionType else value


def closed_over(function):
    """Name -> value of what a function of a text closes over, as far as there is something; empty for anything else."""
    held = {}
    if type(function) is not FunctionType:
        return held
    for name, cell in zip(exact(function.__code__.co_freevars), function.__closure__ or ()):
        try:
            held[name] = cell.cell_contents
        except ValueError:
            continue
    return held


def _leads_on(value):
    """Whether something is a thing that has a definition, or is wrapped around one."""
    if exactly(value, (FunctionType, BuiltinFunctionType)) or is_wrapper(value) or is_class(value):
        return True
    return value is not ABSENT and _inside(value) is not None


def _enclosed(function):
    """What a function holds in its closure under its own qualified name, or `ABSENT`.

    A decorator that copies names without `functools.wraps` leaves no other trace.
    """
    name = plain(function.__qualname__)
    if name is None or name.rpartition(".")[2] == name_of(function.__code__):
        return ABSENT
    for held in closed_over(function).values():
        if type(held) is FunctionType and held is not function and plain(held.__qualname__) == name:
            return held
    return ABSENT


def _function_wrapper(function):
    """The decorator that made `function`: the outermost function around its code."""
    code = function.__code__
    namespace = function.__globals__
    label = code_label(code, namespace).partition(".<locals>")[0]
    return {"name": label, "file": shown_file(code), "line": code.co_firstlineno}


def _wrapper(name):
    return {"name": name, "file": None, "line": None}


def partial_parts(partial):
    """`(function, arguments, keywords)` of an exact `functools.partial`."""
    members = functools.partial.__dict__
    arguments, keywords = (read_member(members[name], partial) for name in ("args", "keywords"))
    return (
        read_member(members["func"], partial),
        arguments if type(arguments) is tuple else (),
        keywords if inherits(keywords, dict) else {},
    )
