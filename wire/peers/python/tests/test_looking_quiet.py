"""The looks about names run no user code: whatever a value, its class or its metaclass would do, it is not asked."""

import sys
import types
import unittest
import warnings

from imago.looking.completion import complete
from imago.looking.definitions import definition
from imago.looking.description import arglist, describe
from imago.looking.names import apropos, symbols
from tests.looking_image import ImageCase
from tests.looking_samples import Text, values
from tests.looking_support import FIRED, Keyed, hook, make
from tests.test_looking_tripwires import PATHS


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


if __name__ == "__main__":
    unittest.main()
