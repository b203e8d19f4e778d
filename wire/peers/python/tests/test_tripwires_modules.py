"""Modules and classes that lie: in `sys.modules`, on the path, in metaclasses and in what declares their fields."""

import builtins
import collections
import dataclasses
import enum
import importlib.util
import os
import sys
import time
import types
import unittest
import warnings

from imago.looking.adapters.registry import _SUBJECTS
from tests.looking_support import FIRED, TRAPS, asked, hook, hooks, make, trap_body
from tests.looking_samples import Paths, Row, Text, key_like, table
from tests.tripwires_support import TripwireCase

_OWN_DICT = types.ModuleType.__dict__["__dict__"].__get__


class Modules(TripwireCase):
    def module(self, name, module=None, **fields):
        self.namespace[name] = super().module(name, module, **fields)
        return self.namespace[name]

    def test_modules_that_lie_are_listed_and_searched_quietly(self):
        body = hooks("__getattribute__", "__getattr__", "__dir__", "__repr__")
        body.update(asked("__dict__", "__class__", "__name__", "__file__", "__path__", "__all__"))
        odd = type("Odd", (types.ModuleType,), body)("trapped")
        folder = self.folder()
        facts = {name: make() for name in ("__spec__", "__loader__", "__doc__")}
        self.module("trapped", odd, __path__=[Text("a"), make(), folder], __all__=[Text("a"), "key"], **facts)
        _OWN_DICT(odd).update(key=make(), cls=TRAPS[object], __name__=Text("trapped"), __package__=Text("p"))
        _OWN_DICT(odd)[key_like("key")] = 1
        self.module("listed", __path__=Paths([folder]), __all__=Paths(["a"]), __getattr__=hook("__getattr__"))
        spaced = types.SimpleNamespace(_path=[Text("a"), folder, "a\0b", "\udc80"])
        self.module("spaced", __path__=spaced, __all__=Row(("a",)), __name__=None, __dir__=hook("__dir__"))
        others = {"trapped.sub": make(), "trapped.none": None, "trapped.text": "x", key_like("trapped.x"): 1}
        for name, other in others.items():
            dict.__setitem__(sys.modules, name, other)
            self.addCleanup(lambda name=name: [sys.modules.pop(one) for one in list(sys.modules) if one is name])
        before, sys.path[:] = list(sys.path), [*sys.path, make(), Text("x"), "a\0", "\udc80", 3, "/dev/null"]
        self.addCleanup(sys.path.__setitem__, slice(None), before)
        FIRED.clear()
        self.look_everywhere(["trapped", "listed", "spaced", "trapped.key", "trapped.cls", "listed.missing"])
        for name in ("trapped", "listed", "spaced", "trapped.sub", "trapped.none", "trapped.text", "__main__"):
            self.look("symbols", module=name, internal=True, limit=500)
            self.look("apropos", pattern="", module=name, limit=500)
            for code in ("import {}.", "from {} import ", "from {}.a import ", "import {}.a.b."):
                self.complete(code.format(name))
        self.complete("import ")
        self.complete("from . import ")

    def test_a_module_that_is_loaded_late_stays_unloaded(self):
        found = importlib.util.find_spec("this")
        late = importlib.util.module_from_spec(found)
        importlib.util.LazyLoader(found.loader).exec_module(late)
        self.module("late", late)
        kind = type(late)
        for name in ("late", "late.s", "late.missing"):
            self.look_at(name)
        self.look("symbols", module="late", internal=True, limit=50)
        self.look_around()
        self.assertIs(kind, type(late))
        self.assertNotIn("this", sys.modules)

    def test_metaclasses_are_not_asked_what_their_classes_are(self):
        body = asked("__mro__", "__name__", "__bases__", "__doc__", "__module__", "__annotations__")
        body.update(asked("__text_signature__"))
        body.update(hooks("__subclasses__", "__call__", "__dir__", result=list))
        meta = type("Meta", (type,), body)
        above = meta("Above", (), {"__init__": lambda self, a: None})
        bare = type("Bare", (type,), {"mro": lambda cls: [cls]})("Bare", (), {})
        self.namespace.update(above=above, below=meta("Below", (above,), {}), bare=bare, value=object.__new__(above))
        FIRED.clear()
        self.look_everywhere(paths=("", ".__init__", ".missing"))

    def test_declarations_of_fields_may_be_anything(self):
        declared = dataclasses.make_dataclass("Declared", [("b", int), ("a", int, dataclasses.field(default=5))])
        field = declared.__dataclass_fields__["a"]
        field.type, field.default, field.name, field._field_type, field.repr = make(), make(), Text("a"), make(), make()
        names = collections.namedtuple("Names", "a b")
        names._fields, names._field_defaults = ("a", Text("b")), table(a=make())
        colours = enum.Enum("Colours", "RED BLUE")
        colours.RED.__dict__.update(_value_=make(), _name_=Text("RED"))
        dict.__setitem__(colours._member_map_, "OTHER", make())
        lies = {
            "__annotations__": table(a=make(), b=Text("x")),
            "__dataclass_fields__": table(a=make()),
            "__attrs_attrs__": Row((make(),)),
            "__pydantic_fields__": table(a=make()),
            "_fields": ("a", Text("b")),
            "_member_map_": table(a=make()),
            "__abstractmethods__": frozenset([Text("a")]),
            "__firstlineno__": make(int),
            "__static_attributes__": (Text("a"), make()),
        }
        odd = type("Odd", (), {**lies, "__slots__": ("a", "b")})
        self.namespace.update(declared=declared, names=names, colours=colours, odd=odd, one=odd())
        self.namespace.update(pair=tuple.__new__(names, (make(), make())), red=colours.__members__["RED"])
        FIRED.clear()
        self.look_everywhere(paths=("", ".a", ".RED"))

    def test_a_class_that_took_the_place_of_a_library_s_runs_nothing(self):
        for subject in _SUBJECTS:
            for place, name, *_ in subject.TYPES:
                module, name = (place, name) if type(place) is str else place
                held = sys.modules.get(module)
                if held is None:
                    held = sys.modules[module] = types.ModuleType(module)
                    self.addCleanup(sys.modules.pop, module, None)
                self._replaced(held, module, name)

    def _replaced(self, held, module, name):
        real = held.__dict__.get(name)
        body = trap_body(object, lying_dict=False)
        for left in ("__class_getitem__", "__getattribute__", "__module__", "__name__", "__doc__"):
            body.pop(left)
        names = "locked span flags pattern typecode tolist ndim str fileno tell get_name total_changes item"
        body.update(asked(*names.split()))
        try:
            held.__dict__[name] = cls = type(name, (), {**body, "__module__": module})
            self.namespace["fake"] = cls()
            FIRED.clear()
            self.look("inspect", expr="fake")
            self.look("describe", name="fake")
        finally:
            if real is None:
                del held.__dict__[name]
            else:
                held.__dict__[name] = real

    def test_functions_that_a_program_put_in_place_of_python_s_own_do_not_run(self):
        def watched(name, real):
            def run(*args, **options):
                if f"{os.sep}imago{os.sep}" in sys._getframe(1).f_code.co_filename:
                    FIRED.append(name)
                return real(*args, **options)

            return run

        for owner, names in (
            (builtins, ("open", "print", "__import__", "compile", "exec")),
            (os, ("stat", "scandir", "listdir", "open")),
            (time, ("time", "monotonic", "sleep")),
        ):
            for name in names:
                real = getattr(owner, name)
                setattr(owner, name, watched(name, real))
                self.addCleanup(setattr, owner, name, real)
        self.namespace.update(case=Modules, function=os.path.join)
        self.look_everywhere(["case", "function", "json.dumps", "missing_name", "unittest"])
        self.complete("import ")

    def test_nothing_is_warned_of_and_nothing_imported(self):
        text = (
            'def a():\n    return ~True, "\\d", 1if 2else 3, x is 5, (1)(2), [1][1,2], b"\\q", f"\\w{1}", "\\777"\n'
            'def b(x=~False):\n    assert (x, "a")\n'
            "X = ~True\nclass K:\n    y = ~True\n    def m(self):\n        return {1:2}(3)\n"
        )
        path = os.path.join(self.folder(), "warned.py")
        with open(path, "w") as stream:
            stream.write(text)
        module = self.module("warned", __file__=path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, path, "exec"), module.__dict__)
        before = set(sys.modules)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for name in ("warned", "warned.a", "warned.b", "warned.X", "warned.K", "warned.K.m", "warned.K.y"):
                self.look_at(name)
            for code in (r"'\d'.", "f(~True, ", "d[~True", "1if 2else x.", "0x1for x.", "(1)(", "'\\N{SPACE}'."):
                self.complete(code)
                self.look("inspect", expr=code[:-1])
        self.assertEqual([], [str(one.message) for one in seen])
        self.assertEqual(set(), set(sys.modules) - before)


if __name__ == "__main__":
    unittest.main()
