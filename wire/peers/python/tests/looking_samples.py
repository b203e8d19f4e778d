"""Values of every sort that would do something if they were asked, for the tripwires."""

import collections
import datetime
import decimal
import enum
import fractions
import functools
import linecache
import threading
import types
import typing
import warnings
import weakref

from tests.looking_support import FIRED, TRAPS, Keyed, Quiet, hook, hooks, make


Descriptor = type("Descriptor", (), hooks("__get__", "__set__"))
Lazy = type("Lazy", (), hooks("__get__"))
Zone = type("Zone", (datetime.tzinfo,), hooks("utcoffset", "tzname", "dst", "__repr__", result=datetime.timedelta))
Delta = type("Delta", (datetime.timedelta,), hooks("__repr__", "__str__", result=lambda: "lie"))


class Pair(tuple):
    """A tuple whose class computes attributes, as that of a named tuple does."""

    insisting = property(hook("property"))
    lazy = Descriptor()
    __slots__ = ()


class Holder:
    """Descriptors of every sort, next to fields that are stored."""

    insisting = property(hook("property"))
    cached = functools.cached_property(hook("cached_property"))
    lazy = Lazy()
    __slots__ = ("slot", "__dict__")

    def __init__(self):
        self.slot = make()
        self.field = make()


Holder.descriptor = Descriptor()


class Hidden:
    """Has a dict of its own, behind a property."""

    __dict__ = property(hook("__dict__", lambda: {}))

    def __init__(self):
        self.field = 1


class Unhidden(Holder):
    """A property in front of a dict that a base class made."""

    __dict__ = property(hook("__dict__", lambda: {}))


class Local(threading.local):
    def __init__(self):
        FIRED.append("Local.__init__")


class Colour(enum.Enum):
    RED = 1
    value = property(hook("value"))
    name = property(hook("name"))
    __repr__ = hook("__repr__", lambda: "lie")


class Level(enum.IntEnum):
    LOW = 1
    __str__ = hook("__str__", lambda: "lie")


# Subclasses of built-in classes in which every method tells that it ran, and what else a program can put anywhere.

_MADE_BY_THE_INTERPRETER = (
    "__new__ __init__ __class__ __doc__ __dict__ __getattribute__ __hash__ __init_subclass__ __subclasshook__".split()
)


def _armed(base, result=None, **more):
    body = hooks(*(name for name in dir(base) if name not in _MADE_BY_THE_INTERPRETER), result=result)
    return type(f"Armed_{base.__name__}", (base,), {**body, "__hash__": hook("__hash__", lambda: hash("key")), **more})


_OF_ROWS = {"__len__": hook("__len__", lambda: 0), "__iter__": hook("__iter__", lambda: iter(()))}
Text = _armed(
    str,
    __getattribute__=hook("str.__getattribute__", lambda: lambda *_: ""),
    __eq__=hook("str.__eq__", lambda: True),
    __repr__=hook("str.__repr__", lambda: "lie"),
    __str__=hook("str.__str__", lambda: "lie"),
)
Whole = _armed(int, lambda: 1, __repr__=hook("int.__repr__", lambda: "lie"), __eq__=hook("int.__eq__", lambda: True))
Row = _armed(tuple, **_OF_ROWS)
Paths = _armed(list, **_OF_ROWS)
Mapping = _armed(dict)
Odd = type(
    "Odd",
    (collections.UserDict,),
    {**hooks("__getitem__"), **_OF_ROWS, "__repr__": hook("__repr__", lambda: "lie")},
)


def table(**pairs):
    made = Mapping()
    dict.update(made, pairs)
    return made


def key_like(text):
    """A key that is no text, of the hash of one, and equal to everything: any lookup of that text would ask it."""
    return type("Key", (), {"__hash__": hook("__hash__", lambda: hash(text)), "__eq__": hook("__eq__", lambda: True)})()


def recoded(function, **changes):
    """A function like another one, whose code object differs from its own in what is named."""
    made = types.FunctionType(function.__code__, function.__globals__, "recoded", None, function.__closure__)
    made.__code__ = function.__code__.replace(**changes)
    return made


# The values of the tripwires.


def loaded():
    FIRED.append("loader")
    return ""


def generate():
    FIRED.append("advanced")
    yield 1


def plain_function(a, b=1):
    """Documented."""


def values():
    """Name -> a value that must not be disturbed. Built anew for each test, before the traps are armed."""
    made = {base.__name__: make(base) for base in TRAPS if base not in (list, tuple, dict, set, frozenset)}
    made["list"] = _filled(list, [make(), 1])
    made["tuple"] = tuple.__new__(TRAPS[tuple], (make(), 1))
    made["dict"] = dict.__new__(TRAPS[dict])
    dict.update(made["dict"], {"key": make()})
    made["set"] = set.__new__(TRAPS[set])
    set.update(made["set"], {1, Keyed()})
    made["frozenset"] = frozenset.__new__(TRAPS[frozenset], (1, 2))
    made["text"] = str.__new__(TRAPS[str], "key")
    made["error"] = Exception.__new__(TRAPS[Exception], make(), Text("a"))
    made["os_error"] = OSError.__new__(TRAPS[OSError], Whole(1), Text("a"), make())
    made["trap_class"] = TRAPS[object]
    made["trap_list_class"] = TRAPS[list]
    quiet = object.__new__(Quiet)
    object.__setattr__(quiet, "field", make())
    made["quiet"] = quiet
    made["holder"] = Holder()
    made["holder_class"] = Holder
    made["hidden"] = Hidden()
    made["unhidden"] = Unhidden()
    made["local"] = Local()
    made["moment"] = datetime.datetime(2020, 1, 1, tzinfo=Zone())
    made["hour"] = datetime.time(1, tzinfo=Zone())
    made["offset_moment"] = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(Delta(hours=1)))
    made["zone"] = Zone()
    made["timezone"] = datetime.timezone(Delta(hours=1), Text("a"))
    made["delta"] = Delta(1)
    made["range"] = range(Whole(3))
    made["range_part"] = range(0, 10, Whole(2))
    made["slice"] = slice(make(), Whole(1), Text("a"))
    made["colour"] = Colour.RED
    made["colours"] = Colour
    made["level"] = Level.LOW
    made["user_dict"] = Odd()
    made["mapping"] = table(key=make())
    made["proxy_of_trap"] = types.MappingProxyType(table(key=1))
    made["proxy_of_user"] = types.MappingProxyType(Odd())
    made["weak"] = weakref.proxy(quiet)
    made["kept_alive"] = quiet
    made["ordered"] = _ordered()
    made["defaults"] = collections.defaultdict(make, key=make())
    made["deque"] = collections.deque([make(), Keyed()])
    made["views"] = [{"a": make()}.items(), {"a": make()}.values(), {Keyed(): 1}.keys()]
    made["generator"] = generate()
    made["iterators"] = [
        map(hook("mapped"), [1]),
        filter(hook("filtered"), [1]),
        zip(generate()),
        enumerate(generate()),
    ]
    made["partial"] = functools.partial(make(), make(), key=make())
    made["cached_function"] = functools.lru_cache(plain_function)
    made["method"] = types.MethodType(make(), make())
    made["bound"] = types.MethodType(plain_function, make())
    made["list_method"] = list.append.__get__(_filled(list, []))
    made["function"] = _function()
    made["module"] = _module()
    made["namespace"] = types.SimpleNamespace(a=make(), key=Keyed())
    made["alias"] = list[TRAPS[object]]
    made["typing_alias"] = typing.Optional[typing.List[int]]
    made["cached_function"].__wrapped__ = make()
    made["fraction"] = fractions.Fraction(1, 3)
    made["decimal"] = decimal.Decimal("1.5")
    made["classmethods"] = [classmethod(make()), staticmethod(make()), property(make(), make(), None, Text("a"))]
    made["cell"] = (lambda cell=make(): lambda: cell)().__closure__
    made["super"] = super(Unhidden, made["unhidden"])
    made["array"] = _fake_array()
    made["meta"] = type(TRAPS[object])
    made["named"] = _named_class()
    made["pair"] = Pair((make(), 1))
    made["raised"] = _raised()
    made["bytes_view"] = memoryview(bytes.__new__(TRAPS[bytes], b"abc"))
    return made


def _filled(base, items):
    trap = base.__new__(TRAPS[base])
    base.extend(trap, items)
    return trap


def _ordered():
    ordered = collections.OrderedDict()
    ordered[Keyed()] = make()
    ordered["other"] = make()
    return ordered


def _function():
    def function(a: make() = make(), *args: Text("x"), key: TRAPS[object] = make(), **rest) -> list[TRAPS[object]]:
        return a

    function.__doc__ = Text("doc")
    function.__module__ = Text("m")
    function.__qualname__ = Text("q")
    function.__name__ = Text("n")
    function.__signature__ = make()
    function.__wrapped__ = make()
    function.__kwdefaults__ = table(key=make())
    function.__annotations__ = table(a=make(), key=TRAPS[object])
    function.__defaults__ = tuple.__new__(TRAPS[tuple], (1,))
    code = function.__code__.replace(co_filename="lazily_loaded.py")
    linecache.cache["lazily_loaded.py"] = (loaded,)
    function.__code__ = code
    return function


def _module():
    module = types.ModuleType("quiet")
    module.__dict__.update(__getattr__=hook("__getattr__"), __name__=Text("n"), __doc__=make(), __loader__=make())
    module.__dict__.update(__spec__=make(), __dir__=hook("__dir__"), value=make())
    module.__dict__[Keyed()] = 1
    return module


def _fake_array():
    cls = type("ndarray", (), {"__module__": "numpy", "shape": property(hook("shape"))})
    return cls()


def _named_class():
    cls = type(Text("Named"), (), {"__qualname__": Text("Named"), "__module__": Text("m"), "__doc__": Text("d")})
    Keyed.__eq__, saved = object.__eq__, Keyed.__eq__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = type("WithKey", (), {Keyed(): 1, "key": 2, "__doc__": make(), "__module__": make()})
    Keyed.__eq__ = saved
    return [cls(), cls, named, named()]


def _raised():
    try:
        try:
            raise TRAPS[Exception].__new__(TRAPS[Exception], make())
        except BaseException as inner:
            raise KeyError(make()) from inner
    except KeyError as error:
        return error
