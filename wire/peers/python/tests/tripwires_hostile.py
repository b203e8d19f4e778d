"""Things that a program can put almost anywhere: texts, tuples, keys and code objects that tell when they are asked."""

import types

from tests.looking_support import hook

_MADE_BY_THE_INTERPRETER = (
    "__new__ __init__ __class__ __doc__ __dict__ __getattribute__ __hash__ __init_subclass__ __subclasshook__".split()
)


def _armed(base, **more):
    """A subclass of a built-in class in which every method tells that it ran."""
    body = {name: hook(f"{base.__name__}.{name}") for name in dir(base) if name not in _MADE_BY_THE_INTERPRETER}
    body["__hash__"] = hook(f"{base.__name__}.__hash__", lambda: 1)
    return type(f"Armed_{base.__name__}", (base,), {**body, **more})


Text = _armed(str, __getattribute__=hook("str.__getattribute__", lambda: lambda *_: ""))
Row = _armed(tuple, __len__=hook("tuple.__len__", lambda: 0), __iter__=hook("tuple.__iter__", lambda: iter(())))
Paths = _armed(list, __len__=hook("list.__len__", lambda: 0), __iter__=hook("list.__iter__", lambda: iter(())))
Table = _armed(dict)


def key_like(text):
    """A key that is no text, of the hash of one, and equal to everything: any lookup of that text would ask it."""

    class Key:
        __hash__ = hook("key.__hash__", lambda: hash(text))
        __eq__ = hook("key.__eq__", lambda: True)

    return Key()


def table(**pairs):
    made = Table()
    dict.update(made, pairs)
    return made


def recoded(function, **changes):
    """A function like another one, whose code object differs from its own in what is named."""
    made = types.FunctionType(function.__code__, function.__globals__, "recoded", None, function.__closure__)
    made.__code__ = function.__code__.replace(**changes)
    return made
