"""Names in the whole image that contain a text, and the names of one module."""

import sys
import types
import unittest

from imago.looking.names import apropos, globals_of, symbols
from tests.looking_image import ImageCase

BAKERY = '''
"""Bread.

And cake.
"""

import json
from json import dumps
from bakery.oven import Oven, preheat

OVEN_LIMIT = 3


class Loaf:
    """A loaf."""

    crust = 1

    def slice_loaf(self):
        """Slices."""


def bake_loaf():
    """Bakes."""


def _secret_loaf():
    pass
'''


class Bakery(ImageCase):
    def setUp(self):
        super().setUp()
        self.load("bakery", "", file="bakery/__init__.py")
        self.load("bakery.oven", "class Oven:\n    pass\n\n\ndef preheat():\n    pass\n")
        del sys.modules["bakery"]
        self.bakery = self.load("bakery", BAKERY, file="bakery/__init__.py")
        self.bakery.oven = sys.modules["bakery.oven"]


class Searching(Bakery):
    def names(self, pattern, **query):
        return [one["name"] for one in self.search(pattern, **query)["matches"]]

    def search(self, pattern, **query):
        return self.found(apropos, pattern=pattern, **{"limit": 100, **query})

    def test_names_of_modules_classes_and_the_top_level_are_found_whatever_the_case(self):
        self.namespace["my_loaf"] = 1
        expected = ["my_loaf", "bakery.Loaf", "bakery.Loaf.slice_loaf", "bakery._secret_loaf", "bakery.bake_loaf"]
        self.assertEqual(expected, self.names("LOAF"))
        kinds = {one["name"]: (one["kind"], one["type_name"], one["doc"]) for one in self.search("loaf")["matches"]}
        self.assertEqual(("variable", "int", None), kinds["my_loaf"])
        self.assertEqual(("class", "type", "A loaf."), kinds["bakery.Loaf"])
        self.assertEqual(("method", "function", "Slices."), kinds["bakery.Loaf.slice_loaf"])

    def test_modules_of_imago_are_neither_found_nor_proposed(self):
        self.assertEqual([], [name for name in self.names("stalehandle") if name.startswith("imago")])
        for name in ("imago.handels", "handels", "imgo"):
            looked = self.ask(apropos, pattern="x", module=name, limit=5)
            self.assertEqual([], [near for near in looked["nearest"] if near.startswith("imago")], name)

    def test_what_was_imported_is_told_where_it_is_from(self):
        self.assertEqual(["bakery.oven.preheat"], self.names("preheat"))
        self.assertEqual(["bakery.OVEN_LIMIT", "bakery.oven", "bakery.oven.Oven"], self.names("oven"))

    def test_a_dot_in_the_pattern_is_looked_for_in_whole_names(self):
        self.assertEqual(["bakery.Loaf.slice_loaf"], self.names("loaf.slice"))
        self.assertEqual(["bakery.oven.Oven", "bakery.oven.preheat"], self.names("bakery.oven."))

    def test_a_module_narrows_the_search_to_what_is_below_it(self):
        self.assertEqual(["bakery.oven.Oven"], self.names("oven", module="bakery.oven")[1:])
        self.assertEqual(2, self.search("e", module="bakery")["searched"])
        looked = self.ask(apropos, pattern="x", module="bakry", limit=5)
        self.assertEqual(("not_found", "bakery"), (looked["type"], looked["nearest"][0]))

    def test_pages_follow_each_other_without_gaps(self):
        self.namespace.update({f"loaf_{number}": number for number in range(5)})
        whole = self.names("o")[:40]
        listed, query = [], {"limit": 7}
        while len(listed) < 40:
            page = self.search("o", **query)
            listed += [one["name"] for one in page["matches"]]
            if "next" not in page:
                break
            query["after"] = page["next"]
        self.assertEqual(whole, listed[:40])
        self.assertEqual(len(set(listed)), len(listed))

    def test_the_program_comes_before_its_libraries(self):
        names = self.names("dumps")
        self.assertIn("json.dumps", names)
        self.bakery.dumps_all = lambda: 1
        self.bakery.dumps_all.__module__ = "bakery"
        self.assertEqual("bakery.dumps_all", self.names("dumps")[0])

    def test_names_with_underscores_around_are_left_out_unless_asked_for(self):
        self.assertEqual([], [name for name in self.names("init", module="bakery") if "__init__" in name])
        self.assertIn("json.decoder.JSONDecoder.__init__", self.names("__init", module="json"))

    def test_nothing_found_is_an_empty_list(self):
        value = self.search("nothing_has_this_name")
        self.assertEqual(([], 0), (value["matches"], value["total"]))

    def test_very_many_modules_are_searched_in_bounds(self):
        for number in range(10_000):
            module = types.ModuleType(f"many_{number}")
            module.__dict__.update({f"thing_{number}_{name}": name for name in range(10)})
            sys.modules[module.__name__] = module
            self.addCleanup(sys.modules.pop, module.__name__, None)
        value = self.search("thing_9_", limit=5)
        self.assertLessEqual(len(value["matches"]), 5)
        self.assertIn(type(value["total"]), (int, type(None)))


class Symbols(Bakery):
    def page(self, module="bakery", **query):
        return self.found(symbols, module=module, **{"internal": False, "limit": 100, **query})

    def listed(self, **query):
        return [one["name"] for one in self.page(**query)["symbols"]]

    def test_a_module_offers_its_own_public_names(self):
        value = self.page()
        self.assertEqual(["Loaf", "OVEN_LIMIT", "Oven", "bake_loaf", "oven", "preheat"], self.listed())
        self.assertEqual(("bakery", self.bakery.__file__, 6), (value["module"], value["file"], value["total"]))
        self.assertEqual("Bread.\n\nAnd cake.", value["doc"])
        kinds = {one["name"]: (one["kind"], one["doc"]) for one in value["symbols"]}
        self.assertEqual((("constant", None), ("function", "Bakes.")), (kinds["OVEN_LIMIT"], kinds["bake_loaf"]))

    def test_private_and_imported_names_are_internal(self):
        value = self.page(internal=True)
        exported = {one["name"]: one["exported"] for one in value["symbols"]}
        self.assertEqual((False, False, False), (exported["_secret_loaf"], exported["json"], exported["dumps"]))
        self.assertTrue(exported["Loaf"])
        self.assertNotIn("__name__", exported)

    def test_all_decides_where_it_is_there(self):
        self.bakery.__all__ = ["_secret_loaf", "dumps", "missing"]
        self.assertEqual(["_secret_loaf", "dumps"], self.listed())

    def test_a_filter_and_pages(self):
        self.assertEqual(["Oven", "oven"], [name for name in self.listed(filter="OVEN") if name != "OVEN_LIMIT"])
        first = self.page(limit=2)
        self.assertEqual((6, "OVEN_LIMIT"), (first["total"], first["next"]))
        self.assertEqual(["Oven", "bake_loaf"], self.listed(after=first["next"], limit=2))
        self.assertNotIn("next", self.page(limit=6))

    def test_a_name_at_the_top_level_may_stand_for_the_module(self):
        self.namespace["b"] = self.bakery
        self.assertEqual("bakery", self.page(module="b")["module"])
        self.namespace["x"] = 1
        self.assertEqual(["x"], [name for name in self.listed(module="__main__") if name == "x"])

    def test_what_is_no_loaded_module_is_not_found(self):
        looked = self.ask(symbols, module="bakry", internal=False, limit=5)
        self.assertEqual(("not_found", "bakery"), (looked["type"], looked["nearest"][0]))
        looked = self.ask(symbols, module="bakery.Loaf", internal=False, limit=5)
        self.assertEqual("not_found", looked["type"])


class Globals(Bakery):
    def names(self, module, **query):
        query = {"modules": False, "limit": 100, **query}
        return [one["name"] for one in self.found(globals_of, module=module, **query)["globals"]]

    def test_the_names_of_a_loaded_module_are_listed_private_and_imported_ones_too(self):
        names = self.names("bakery")
        self.assertLessEqual({"Loaf", "_secret_loaf", "bake_loaf", "dumps"}, set(names))
        self.assertNotIn("json", names)
        self.assertNotIn("__name__", names)
        self.assertIn("json", self.names("bakery", modules=True))
        self.assertEqual(["OVEN_LIMIT", "Oven"], self.names("bakery", filter="OVEN"))

    def test_pages_of_a_module_follow_each_other(self):
        whole = self.names("bakery")
        first = self.found(globals_of, module="bakery", modules=False, limit=2)
        self.assertEqual((whole[:2], len(whole)), ([one["name"] for one in first["globals"]], first["total"]))
        self.assertEqual(whole[2:4], self.names("bakery", after=first["next"], limit=2))

    def test_without_a_module_the_names_are_those_of_the_top_level(self):
        self.namespace["x"] = 1
        self.assertEqual(["x"], [one["name"] for one in self.ask_top()["globals"]])
        self.namespace["b"] = self.bakery
        self.assertEqual(self.names("bakery"), self.names("b"))

    def ask_top(self):
        return self.found(globals_of, modules=False, limit=5)

    def test_what_is_not_loaded_is_not_found_and_not_imported(self):
        looked = self.ask(globals_of, module="bakry", modules=False, limit=5)
        self.assertEqual(("not_found", "bakery"), (looked["type"], looked["nearest"][0]))
        self.assertNotIn("this", sys.modules)
        looked = self.ask(globals_of, module="this", modules=False, limit=5)
        self.assertEqual("not_found", looked["type"])
        self.assertNotIn("this", sys.modules)
        for hostile in ["", "a b", "bakery.Loaf", "__import__('this')", "bakery;this", "@abcd.9"]:
            looked = self.ask(globals_of, module=hostile, modules=False, limit=5)
            self.assertIn(looked["type"], ["not_found", "malformed", "needs_evaluation", "stale_handle"])
        self.assertNotIn("this", sys.modules)


if __name__ == "__main__":
    unittest.main()
