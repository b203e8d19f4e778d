"""What the tests of looking share: a guard that interrupts, values that tell when they are asked, and the contract."""

import contextlib
import json
import os
import signal
import time
import types

from imago.looking.limits import DeadlineExceeded

FIRED = []
"""The name of every hook of a trap that ran, in order."""


@contextlib.contextmanager
def guard(seconds):
    """Raises `DeadlineExceeded` in the main thread after `seconds`. Guards nest; the nearest deadline counts."""

    def expire(_signal, _frame):
        raise DeadlineExceeded

    before = signal.signal(signal.SIGALRM, expire)
    began = time.monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, outer - (time.monotonic() - began)))


# Traps: everything that one may be asked records that it was.


def hook(name, result=None):
    """A method that records that it ran."""

    def method(self, *args, **kwargs):
        FIRED.append(name)
        return result() if callable(result) else result

    return method


def hooks(*names, result=None):
    """A body of a class with hooks of some names."""
    return {name: hook(name, result) for name in names}


def asked(*names, result=None):
    """A body of a class with properties of some names."""
    return {name: property(hook(name, result)) for name in names}


def _by_name(*groups):
    return {name: result for names, result in groups for name in names.split()}


HOOKS = _by_name(
    ("__repr__ __str__ __format__ __fspath__ __reduce__ __reduce_ex__ _repr_html_", lambda: "lie"),
    ("__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __contains__", lambda: True),
    ("__instancecheck__ __subclasscheck__", lambda: True),
    ("__getitem__ __missing__ __getattr__ __get__ __call__ __next__ __enter__ __anext__ __aiter__", lambda: 1),
    ("__int__ __index__ __trunc__ __round__ __neg__ __abs__ __sizeof__ __copy__ __deepcopy__", lambda: 1),
    ("__add__ __radd__ __mul__ __rmul__ __sub__ __or__ __ror__ __array__ __class_getitem__ total", lambda: 1),
    ("__len__ __length_hint__", lambda: 3),
    ("__iter__ __reversed__ __await__ __rich_repr__", lambda: iter(())),
    ("__set__ __delete__ __exit__ _repr_pretty_", lambda: None),
    ("__bytes__", lambda: b"lie"),
    ("__dir__", lambda: []),
    ("__float__", lambda: 1.0),
    ("__complex__", lambda: 1j),
    ("__getstate__", lambda: {}),
    ("__buffer__", lambda: memoryview(b"")),
)

ATTRIBUTES = _by_name(
    ("__class__", int),
    ("__dict__", {"lie": 1}),
    ("__doc__ __module__ __name__ __file__ _name_", "lie"),
    ("__signature__ __text_signature__ __wrapped__ __code__ __self__ __func__ __origin__ __objclass__", None),
    ("__traceback__ __cause__ __context__ __spec__ __loader__", None),
    ("__annotations__", {}),
    ("__mro__ __bases__ __args__ __notes__ __all__ __path__ args", ()),
    ("__abstractmethods__", frozenset()),
    ("_fields", ("lie",)),
    ("_value_ value dtype", 1),
    ("shape", (1,)),
)


def trap_body(base, *, lying_dict=True):
    """A class body in which everything records that it was asked, as far as `base` lets it be defined."""
    body = {name: hook(name, result) for name, result in HOOKS.items()}
    body["__hash__"] = hook("__hash__", lambda: hash("key"))
    body["__getattribute__"] = hook("__getattribute__", lambda: 1)
    for name, result in ATTRIBUTES.items():
        body[name] = property(hook(name, lambda result=result: result))
    if issubclass(base, (type, BaseException, types.ModuleType)):
        for name in ("__mro__", "__bases__", "__abstractmethods__", "__text_signature__"):
            body.pop(name, None)
    if not lying_dict:
        del body["__dict__"]
    return body


def _meta_body():
    body = {name: hook(f"metaclass {name}", result) for name, result in HOOKS.items() if name != "__class_getitem__"}
    body["__hash__"] = hook("metaclass __hash__", lambda: 7)
    body["__getattribute__"] = hook("metaclass __getattribute__", lambda: "lie")
    for name, result in ATTRIBUTES.items():
        body[name] = property(hook(f"metaclass {name}", lambda result=result: result))
    return body


Meta = type("Meta", (type,), _meta_body())
"""The metaclass of the traps, which is a trap itself."""

_BASES = (object, list, tuple, dict, set, frozenset, str, int, float, complex, bytes, bytearray, Exception, OSError)

TRAPS = {base: Meta(f"Trap_{base.__name__}", (base,), trap_body(base)) for base in _BASES}
"""Built-in base -> a trap that derives from it."""

Quiet = Meta("TrapWithFields", (object,), trap_body(object, lying_dict=False))
"""A trap whose instances have a dict that can be read, full of more traps."""


class Keyed:
    """Equal to everything, with the hash of the text `key`: any lookup of that text would ask it."""

    __hash__ = hook("__hash__", lambda: hash("key"))
    __eq__ = hook("__eq__", lambda: True)


def make(base=object, *args):
    """An instance of the trap that derives from `base`, made without asking it."""
    return base.__new__(TRAPS[base], *args)


# The contract: what a look may answer.

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_TYPES = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
with open(os.path.join(_FOLDER, "../../../../docs/wire-schema.json"), encoding="utf-8") as _stream:
    _SHAPES = json.load(_stream)["$defs"]


def fault_of(look, answer):
    """What is wrong with an answer of a look, by the contract's shape of it; None if nothing is."""
    return _fault(_SHAPES[f"{look}.result"], answer, look)


def _fault(shape, value, place):
    if "$ref" in shape:
        return _fault(_SHAPES[shape["$ref"].rpartition("/")[2]], value, place)
    for either in ("anyOf", "oneOf"):
        if either in shape:
            faults = [_fault(one, value, place) for one in shape[either]]
            return None if None in faults else " or ".join(faults)
    kinds = shape.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if kinds and not any(type(value) is kind for name in kinds for kind in _TYPES[name]):
        return f"{place} is {type(value).__name__}"
    if value not in shape.get("enum", (value,)) or value != shape.get("const", value):
        return f"{place} is {value!r}"
    if type(value) in (list, tuple):
        faults = (_fault(shape.get("items", {}), one, f"{place}[]") for one in value)
    elif type(value) is dict:
        faults = _faults_of_fields(shape, value, place)
    else:
        return None
    return next((fault for fault in faults if fault is not None), None)


def _faults_of_fields(shape, value, place):
    fields, others = shape.get("properties", {}), shape.get("additionalProperties")
    yield from (f"{place}.{name} is missing" for name in shape.get("required", ()) if name not in value)
    for name, one in value.items():
        if name in fields:
            yield _fault(fields[name], one, f"{place}.{name}")
        elif isinstance(others, dict):
            yield _fault(others, one, f"{place}.{name}")
        elif fields:
            yield f"{place}.{name} is not of the contract"
