"""What the tests of looking share: a guard that really interrupts, and values that tell when they are asked."""

import contextlib
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


def hook(name, result=None):
    """A method that records that it ran."""

    def method(self, *args, **kwargs):
        FIRED.append(name)
        return result() if callable(result) else result

    return method


HOOKS = {
    "__repr__": lambda: "lie",
    "__str__": lambda: "lie",
    "__format__": lambda: "lie",
    "__bytes__": lambda: b"lie",
    "__len__": lambda: 3,
    "__length_hint__": lambda: 3,
    "__iter__": lambda: iter(()),
    "__next__": lambda: 1,
    "__reversed__": lambda: iter(()),
    "__contains__": lambda: True,
    "__getitem__": lambda: 1,
    "__missing__": lambda: 1,
    "__getattr__": lambda: 1,
    "__eq__": lambda: True,
    "__ne__": lambda: True,
    "__lt__": lambda: True,
    "__le__": lambda: True,
    "__gt__": lambda: True,
    "__ge__": lambda: True,
    "__bool__": lambda: True,
    "__dir__": lambda: [],
    "__call__": lambda: 1,
    "__int__": lambda: 1,
    "__index__": lambda: 1,
    "__float__": lambda: 1.0,
    "__complex__": lambda: 1j,
    "__trunc__": lambda: 1,
    "__round__": lambda: 1,
    "__neg__": lambda: 1,
    "__abs__": lambda: 1,
    "__add__": lambda: 1,
    "__radd__": lambda: 1,
    "__mul__": lambda: 1,
    "__rmul__": lambda: 1,
    "__sub__": lambda: 1,
    "__or__": lambda: 1,
    "__ror__": lambda: 1,
    "__get__": lambda: 1,
    "__set__": lambda: None,
    "__delete__": lambda: None,
    "__enter__": lambda: 1,
    "__exit__": lambda: None,
    "__await__": lambda: iter(()),
    "__aiter__": lambda: 1,
    "__anext__": lambda: 1,
    "__copy__": lambda: 1,
    "__deepcopy__": lambda: 1,
    "__reduce__": lambda: "lie",
    "__reduce_ex__": lambda: "lie",
    "__getstate__": lambda: {},
    "__sizeof__": lambda: 1,
    "__fspath__": lambda: "lie",
    "__instancecheck__": lambda: True,
    "__subclasscheck__": lambda: True,
    "__class_getitem__": lambda: 1,
    "__buffer__": lambda: memoryview(b""),
    "__array__": lambda: 1,
    "__rich_repr__": lambda: (),
    "_repr_html_": lambda: "lie",
    "_repr_pretty_": lambda: None,
    "total": lambda: 1,
}

ATTRIBUTES = {
    "__class__": int,
    "__dict__": {"lie": 1},
    "__doc__": "lie",
    "__module__": "lie",
    "__name__": "lie",
    "__signature__": None,
    "__text_signature__": None,
    "__wrapped__": None,
    "__annotations__": {},
    "__mro__": (),
    "__bases__": (),
    "__code__": None,
    "__self__": None,
    "__func__": None,
    "__origin__": None,
    "__args__": (),
    "__abstractmethods__": frozenset(),
    "__objclass__": None,
    "__traceback__": None,
    "__cause__": None,
    "__context__": None,
    "__notes__": (),
    "__all__": (),
    "__path__": (),
    "__spec__": None,
    "__loader__": None,
    "__file__": "lie",
    "_fields": ("lie",),
    "_name_": "lie",
    "_value_": 1,
    "args": (),
    "value": 1,
    "shape": (1,),
    "dtype": 1,
}


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


def _class_hook(name, result):
    return hook(f"metaclass {name}", result)


def _meta_body():
    body = {name: _class_hook(name, result) for name, result in HOOKS.items() if name != "__class_getitem__"}
    body["__hash__"] = _class_hook("__hash__", lambda: 7)
    body["__getattribute__"] = _class_hook("__getattribute__", lambda: "lie")
    for name, result in ATTRIBUTES.items():
        body[name] = property(_class_hook(name, lambda result=result: result))
    return body


Meta = type("Meta", (type,), _meta_body())
"""The metaclass of the traps, which is a trap itself."""

TRAPS = {}
for _base in (
    object,
    list,
    tuple,
    dict,
    set,
    frozenset,
    str,
    int,
    float,
    complex,
    bytes,
    bytearray,
    Exception,
    OSError,
):
    TRAPS[_base] = Meta(f"Trap_{_base.__name__}", (_base,), trap_body(_base))
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
