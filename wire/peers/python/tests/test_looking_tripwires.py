"""Looking runs no user code."""

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
from imago.looking.completion import complete
from imago.looking.definitions import definition
from imago.looking.description import arglist, describe
from imago.looking.names import apropos, symbols
from tests.looking_image import ImageCase
from tests.looking_samples import Local, Text, values
from tests.looking_support import FIRED, Keyed, hook, make


# Looking runs no user code: whatever a value, its class or its metaclass would do when asked, it is not asked.

PATHS = (
    "",
    ".field",
    ".slot",
    ".insisting",
    ".cached",
    ".lazy",
    ".descriptor",
    ".value",
    ".key",
    ".missing",
    ".__class__",
    ".__dict__",
    ".__doc__",
    ".__name__",
    ".__module__",
    ".__qualname__",
    ".__mro__",
    ".__wrapped__",
    ".__code__",
    ".__func__",
    ".__self__",
    ".__annotations__",
    ".args",
    ".start",
    ".tzinfo",
    ".real",
    ".RED",
    "[0]",
    "[0:1]",
    "['key']",
    "[1.0]",
    "[('key', 1)]",
)


class Tripwires(unittest.TestCase):
    def setUp(self):
        self.values = values()
        FIRED.clear()

    def assert_quiet(self, what):
        fired, FIRED[:] = list(FIRED), []
        self.assertEqual([], fired, what)

    def test_the_traps_catch_what_an_ordinary_look_does(self):
        trap, keyed = self.values["object"], {Keyed(): 1}
        for what, look in {
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
            "range": lambda: (
                repr(self.values["range_part"]) if sys.version_info < (3, 10) else repr(self.values["slice"])
            ),
        }.items():
            FIRED.clear()
            try:
                look()
            except Exception:
                pass
            self.assertNotEqual([], FIRED, what)
        FIRED.clear()

    def test_every_path_into_every_value_runs_nothing(self):
        for name, value in self.values.items():
            handles = Handles("abcd1234")
            for path in PATHS:
                looked = looking.inspect_static({"x": value}, "x" + path, handles)
                self.assert_quiet(f"{name}: x{path}")
                json.dumps(looked)
                for section in looked.get("value", {}).values():
                    if type(section) is dict:
                        self.assertNotIn("error", section, f"{name}: x{path}")

    def test_looking_from_another_thread_runs_nothing_either(self):
        def look():
            for value in self.values.values():
                for path in PATHS:
                    looking.inspect_static({"x": value}, "x" + path, Handles("abcd1234"))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        self.assert_quiet("another thread")

    def test_values_inside_of_containers_and_fields_are_not_disturbed(self):
        for name, value in self.values.items():
            handles = Handles("abcd1234")
            holder = types.SimpleNamespace(field=value)
            error = ValueError(value)
            for nest in ([value], (value,), {"a": value}, collections.deque([value]), holder, error, [[[value]]]):
                looking.inspect_static({"x": nest}, "x", handles)
                looking.static_text(nest, 500)
                self.assert_quiet(name)

    def test_more_and_handles_run_nothing(self):
        for name, value in self.values.items():
            handles = Handles("abcd1234")
            for keep in (handles.keep_value, handles.keep_items, handles.keep_repr):
                handle = keep(value)
                json.dumps(looking.more(handles, {"handle": handle, "from": 0, "count": 10}))
                looking.inspect_static({}, handle, handles)
                self.assert_quiet(name)

    def test_names_of_types_are_read_without_the_metaclass(self):
        for name, value in self.values.items():
            facts = looking.type_facts(value)
            self.assertNotIn("lie", facts.values(), name)
            self.assertEqual(facts["name"], looking.type_name(value))
            self.assert_quiet(name)

    def test_listing_runs_nothing(self):
        for key in (Keyed(), make(), Text("key"), 5, None):
            namespace = {key: 1, **{name: value for name, value in self.values.items() if name != "key"}}
            FIRED.clear()
            for query in (
                {"limit": 5, "modules": True},
                {"limit": 99, "modules": False, "filter": "K", "after": "c"},
            ):
                json.dumps(looking.globals_page(namespace, query))
                self.assert_quiet("globals")

    def test_a_hostile_key_of_the_same_hash_is_passed_by(self):
        for namespace in ({Keyed(): 1, "other": 1}, {Text("key"): 1, "other": 1}):
            FIRED.clear()
            handles = Handles("abcd1234")
            self.assertEqual("not_found", looking.inspect_static(namespace, "key", handles)["type"])
            self.assertEqual("found", looking.inspect_static(namespace, "other", handles)["type"])
            looked = looking.inspect_static({"d": namespace}, "d['key']", handles)
            self.assertEqual("needs_evaluation", looked["type"])
            looked = looking.inspect_static({"d": namespace}, "d['other']", handles)
            self.assertEqual("found", looked["type"])
            self.assert_quiet("keys")

    def test_sources_that_warn_are_not_parsed(self):
        for source in (r"'\d'", r"d['\z']", "1if 2else 3", r"'\777'", "0x1for", "b'\\q'", "1or 2", "[0x1for]"):
            with self.subTest(source):
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    looking.inspect_static({"d": {}}, source, Handles("abcd1234"))
                self.assertEqual([], seen)

    def test_evicting_a_value_runs_no_finalizer(self):
        class Finalized:
            def __del__(self):
                FIRED.append("__del__")

        handles = Handles("abcd1234")
        handles.keep_value(Finalized())
        for number in range(600):
            looking.inspect_static({"x": [number]}, "x", handles)
        self.assert_quiet("eviction")
        handles.let_go()
        self.assertEqual(["__del__"], FIRED)


# The looks about names run no user code: whatever a value, its class or its metaclass would do, it is not asked.

class Quiet(ImageCase):
    def setUp(self):
        super().setUp()
        self.values = values()
        self.namespace.update({name: value for name, value in self.values.items() if name != "key"})
        FIRED.clear()

    def assert_quiet(self, what):
        fired, FIRED[:] = list(FIRED), []
        self.assertEqual([], fired, what)

    def names(self):
        for name, value in self.values.items():
            for path in PATHS:
                yield name + path
            yield self.image.handles.keep_value(value)

    def test_definition_describe_and_arglist_ask_nothing_of_any_value(self):
        for name in self.names():
            for look, query in ((definition, {"max_length": 500, "contexts": True}), (describe, {}), (arglist, {})):
                self.ask(look, name=name, **query)
                self.assert_quiet(f"{look.__name__} of {name}")

    def test_complete_asks_nothing_of_any_value(self):
        for name in self.names():
            all_ways = (".", "['", "(", "[", ".missing", " + f(", ".k")
            for after in all_ways if name in self.values else all_ways[:3]:
                code = name + after
                self.ask(complete, text=code, cursor=len(code), limit=50)
                self.assert_quiet(code)

    def test_a_module_full_of_traps_is_searched_and_listed_quietly(self):
        module = types.ModuleType("trapped")
        # The dict of a module may hold keys that are no texts, and its own facts may be anything.
        module.__dict__.update(self.namespace)
        for fact in ("__all__", "__path__", "__doc__", "__loader__", "__spec__", "__package__"):
            module.__dict__[fact] = make()
        module.__dict__.update(__name__=Text("trapped"), __file__=Text("x"), __getattr__=hook("__getattr__"))
        module.__dict__[Keyed()] = 1
        sys.modules["trapped"] = module
        self.addCleanup(sys.modules.pop, "trapped", None)
        FIRED.clear()
        for query in ({"pattern": "a"}, {"pattern": "trapped."}, {"pattern": "__", "module": "trapped"}):
            self.ask(apropos, **query, limit=500)
            self.assert_quiet(f"apropos {query}")
        self.ask(symbols, module="trapped", internal=True, limit=500)
        self.assert_quiet("symbols")
        for last in ("", ".holder", ".missing", ".function", "s", ".holder_class.cached"):
            name = "trapped" + last
            self.ask(definition, name=name, max_length=100)
            self.ask(describe, name=name)
            self.assert_quiet(name)
        for code in ("import trapped.", "from trapped import ", "from trapped.x import y", "from . import ", "import "):
            self.ask(complete, text=code, cursor=len(code), limit=50)
            self.assert_quiet(code)

    def test_a_namespace_with_hostile_keys_is_passed_by(self):
        self.namespace[Keyed()] = 1
        self.namespace.update({f"name_{number}": number for number in range(5000)})
        FIRED.clear()
        for code in ("ke", "key", "key.", "key(", "", "name_12"):
            self.ask(complete, text=code, cursor=len(code), limit=50)
            self.assert_quiet(code)
        for look, query in ((definition, {"name": "key", "max_length": 9}), (describe, {"name": "key"})):
            self.assertEqual("not_found", self.ask(look, **query)["type"])
            self.assert_quiet(look.__name__)

    def test_a_decorated_function_whose_parts_are_traps(self):
        def inner():
            pass

        for attribute in ("__wrapped__", "__signature__", "__doc__", "registry", "dispatch"):
            inner.__dict__[attribute] = make()
        inner.__dict__[Keyed()] = make()
        self.namespace["inner"] = inner
        FIRED.clear()
        for look, query in ((definition, {"max_length": 500}), (describe, {}), (arglist, {})):
            self.found(look, name="inner", **query)
            self.assert_quiet(look.__name__)

    def test_sources_that_warn_are_completed_and_defined_without_a_warning(self):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for code in (r"'\d'.", r"d['\z", "1if 2else order.", r"f'\{x}'.", "0x1for x.", r"f('\d', "):
                self.ask(complete, text=code, cursor=len(code), limit=5)
        self.assertEqual([], seen)

    def test_nothing_is_imported_by_any_look(self):
        before = set(sys.modules)
        for look, query in (
            (definition, {"name": "this.s", "max_length": 9}),
            (describe, {"name": "antigravity"}),
            (symbols, {"module": "this", "internal": True, "limit": 5}),
            (apropos, {"pattern": "s", "module": "this", "limit": 5}),
            (complete, {"text": "from this import ", "cursor": 17, "limit": 5}),
        ):
            self.ask(look, **query)
        self.assertEqual(set(), set(sys.modules) - before)
