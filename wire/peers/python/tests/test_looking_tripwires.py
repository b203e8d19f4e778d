"""Looking runs no user code: whatever a value, its class or its metaclass would do when asked, it is not asked."""

import collections
import inspect
import json
import linecache
import reprlib
import sys
import threading
import types
import unittest
import warnings

from imago import looking
from imago.handles import Handles
from tests.daemon import LONG, VERSIONED, once
from tests.looking_samples import Local, Text, values
from tests.looking_support import FIRED, Keyed, hook, make
from tests.tripwires_support import TripwireCase

PATHS = (
    *(f".{name}" for name in "field slot insisting cached lazy descriptor value key missing args start real".split()),
    *(f".__{name}__" for name in "class dict doc name module qualname mro wrapped code func self annotations".split()),
    *(".tzinfo", ".RED", "[0]", "[0:1]", "['key']", "[1.0]", "[('key', 1)]"),
)
ENDINGS = (".", "['", "(", "[", ".missing", " + f(", ".k")
WARNING = (r"'\d'", r"d['\z']", "1if 2else 3", r"'\777'", "0x1for", "b'\\q'", "1or 2", "[0x1for]")
UNFINISHED = (r"'\d'.", r"d['\z", "1if 2else order.", r"f'\{x}'.", "0x1for x.", r"f('\d', ")


class OfValues(TripwireCase):
    def setUp(self):
        super().setUp()
        self.values = values()
        self.namespace.update({name: value for name, value in self.values.items() if name != "key"})
        FIRED.clear()

    def test_the_traps_catch_what_an_ordinary_look_does(self):
        trap, keyed = self.values["object"], {Keyed(): 1}
        looks = {
            "isinstance": lambda: isinstance(trap, list),
            "type name": lambda: type(trap).__name__,
            "dict lookup": lambda: keyed.get("key"),
            "walking an OrderedDict": lambda: list(self.values["ordered"].items()),
            "signature": lambda: inspect.signature(trap),
            "getdoc": lambda: inspect.getdoc(trap),
            "dir": lambda: dir(trap),
            "object.__getattribute__": lambda: object.__getattribute__(trap, "__dict__"),
            "len of a subclass": lambda: len(self.values["list"]),
            "reprlib": lambda: reprlib.repr([trap]),
            "enum value": lambda: self.values["colour"].value,
            "moment": lambda: repr(self.values["moment"]),
            "vars of a thread-local": lambda: Local().__dict__,
            "hash of a class": lambda: {type(trap)},
            "exception text": lambda: str(self.values["error"]),
            "line cache": lambda: linecache.getlines("lazily_loaded.py"),
            "range": lambda: repr(self.values["range_part" if sys.version_info < (3, 10) else "slice"]),
        }
        for what, look in looks.items():
            FIRED.clear()
            try:
                look()
            except Exception:
                pass
            self.assertNotEqual([], FIRED, what)
        FIRED.clear()

    def test_no_look_at_any_value_asks_it(self):
        for name, value in self.values.items():
            if name != "key":
                self.look_at(name, ENDINGS[:1] if VERSIONED else ENDINGS)
                # Behind a handle is the same value: a name alone tells what depends on the version.
                if not VERSIONED:
                    self.look_at(self.image.handles.keep_value(value), ENDINGS[:3])

    @once
    def test_no_look_along_any_path_into_a_value_asks_it(self):
        # In the long run each path into each value; in a short one each path, and each value, by turns.
        share = 1 if LONG else 3
        for at, name in enumerate(self.values):
            if name != "key":
                for path in PATHS[at % share :: share]:
                    self.look_at(name + path, ENDINGS[:2], ("definition", "arglist"))

    @once
    def test_looking_from_another_thread_asks_nothing_either(self):
        def look():
            for value in self.values.values():
                for path in ("", *PATHS):
                    looking.inspect_static({"x": value}, "x" + path, Handles("abcd1234"))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        self.quiet("another thread")

    @once
    def test_values_inside_of_others_and_behind_handles_are_not_asked(self):
        for name, value in self.values.items():
            handles, holder = Handles("abcd1234"), types.SimpleNamespace(field=value)
            nests = ([value], (value,), {"a": value}, collections.deque([value]), holder, ValueError(value), [[[value]]])
            for nest in nests:
                looking.inspect_static({"x": nest}, "x", handles)
                looking.static_text(nest, 500)
                self.quiet(name)
            for keep in (handles.keep_value, handles.keep_items, handles.keep_repr):
                handle = keep(value)
                json.dumps(looking.more(handles, {"handle": handle, "from": 0, "count": 10}))
                looking.inspect_static({}, handle, handles)
                self.quiet(name)

    def test_names_of_types_are_read_without_the_metaclass(self):
        for name, value in self.values.items():
            facts = looking.type_facts(value)
            self.assertNotIn("lie", facts.values(), name)
            self.assertEqual(facts["name"], looking.type_name(value))
            self.quiet(name)

    @once
    def test_a_module_full_of_traps_is_searched_and_listed_quietly(self):
        # The dict of a module may hold keys that are no texts, and its own facts may be anything.
        facts = ("__all__", "__path__", "__doc__", "__loader__", "__spec__", "__package__")
        module = self.module("trapped", **{**self.namespace, **{fact: make() for fact in facts}})
        module.__dict__.update(__name__=Text("trapped"), __file__=Text("x"), __getattr__=hook("__getattr__"))
        module.__dict__[Keyed()] = 1
        FIRED.clear()
        for query in ({"pattern": "a"}, {"pattern": "trapped."}, {"pattern": "__", "module": "trapped"}):
            self.look("apropos", **query, limit=500)
        self.look("symbols", module="trapped", internal=True, limit=500)
        for last in ("", ".holder", ".missing", ".function", "s", ".holder_class.cached"):
            self.look_at("trapped" + last)
        for code in ("import trapped.", "from trapped import ", "from trapped.x import y", "from . import ", "import "):
            self.complete(code)

    @once
    def test_listing_names_beside_hostile_keys(self):
        for key in (Keyed(), make(), Text("key"), 5, None):
            self.namespace[key] = 1
            FIRED.clear()
            self.look_around()


class OfNames(TripwireCase):
    def test_a_hostile_key_of_the_same_hash_is_passed_by(self):
        for key in (Keyed(), Text("key")):
            self.namespace.clear()
            self.namespace[key] = 1
            self.namespace.update(d={key: 1, "other": 1}, **{f"name_{number}": number for number in range(5000)})
            FIRED.clear()
            for expr, answer in {
                "key": "not_found",
                "name_7": "found",
                "d['key']": "needs_evaluation",
                "d['other']": "found",
            }.items():
                self.assertEqual(answer, self.look("inspect", expr=expr)["type"], expr)
            for look, query in (("definition", {"max_length": 9}), ("describe", {})):
                self.assertEqual("not_found", self.look(look, name="key", **query)["type"])
            for code in ("ke", "key", "key.", "key(", "", "name_12"):
                self.complete(code)

    def test_a_decorated_function_whose_parts_are_traps(self):
        def inner():
            pass

        for attribute in ("__wrapped__", "__signature__", "__doc__", "registry", "dispatch"):
            inner.__dict__[attribute] = make()
        inner.__dict__[Keyed()] = make()
        self.namespace["inner"] = inner
        FIRED.clear()
        self.look_at("inner")

    def test_sources_that_warn_are_looked_at_without_a_warning(self):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for source in WARNING:
                self.look("inspect", expr=source)
            for code in UNFINISHED:
                self.complete(code)
        self.assertEqual([], seen)

    def test_nothing_is_imported_by_any_look(self):
        before = set(sys.modules)
        self.look("definition", name="this.s", max_length=9)
        self.look("describe", name="antigravity")
        self.look("symbols", module="this", internal=True, limit=5)
        self.look("apropos", pattern="s", module="this", limit=5)
        self.complete("from this import ")
        self.assertEqual(set(), set(sys.modules) - before)

    def test_evicting_a_value_runs_no_finalizer(self):
        class Finalized:
            def __del__(self):
                FIRED.append("__del__")

        handles = Handles("abcd1234")
        handles.keep_value(Finalized())
        for number in range(600):
            looking.inspect_static({"x": [number]}, "x", handles)
        self.quiet("eviction")
        handles.let_go()
        self.assertEqual(["__del__"], FIRED)


if __name__ == "__main__":
    unittest.main()
