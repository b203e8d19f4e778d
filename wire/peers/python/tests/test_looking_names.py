"""Lists of names, the search for them, and handles to read on by."""

import json
import sys
import threading
import types
import unittest
from unittest import mock

from imago.handles import CAPACITY, Handles, StaleHandle
from imago.looking import fields
from tests.looking_image import ImageCase


def names_of(rows):
    return [one["name"] for one in rows]


class Listing(ImageCase):
    def page(self, **query):
        return self.found("globals", **{"limit": 100, "modules": False, **query})

    def names(self, **query):
        return names_of(self.page(**query)["globals"])

    def test_names_are_sorted_and_typed(self):
        self.assertEqual([[], 0], [self.page()[key] for key in ("globals", "total")])
        self.namespace.update({"b": 1, "a": "x", "C": None, "_d": []})
        typed = [("C", "NoneType"), ("_d", "list"), ("a", "str"), ("b", "int")]
        rows = [{"name": name, "type_name": type_name} for name, type_name in typed]
        self.assertEqual([rows, 4], [self.page()[key] for key in ("globals", "total")])

    def test_a_top_level_of_few_names_is_followed_by_the_modules_of_the_program(self):
        self.load("main_of_test", "count = 1\n")
        self.namespace["main"] = print
        page = self.page()
        self.assertIn("main_of_test", page["elsewhere"])
        self.assertFalse({"os", "json", "imago"} & set(page["elsewhere"]))
        self.assertNotIn("elsewhere", self.page(filter="main"))
        self.namespace.update((f"n{number}", number) for number in range(20))
        self.assertNotIn("elsewhere", self.page())

    def test_what_is_a_name_is_listed_and_modules_only_when_asked_for(self):
        lazy = type("Lazy", (types.ModuleType,), {})("lazy")
        self.namespace.update({"json": json, "lazy": lazy, "x": 1, "CONFIG": 1, "reconfigure": 2, "__version__": "1"})
        self.namespace.update({1: 1, None: 2, ("a",): 3, type("S", (str,), {})("s"): 4, "x\ud800": 5, "\udfff": 6})
        self.assertEqual(["CONFIG", "reconfigure", "x"], self.names())
        self.assertEqual(["CONFIG", "json", "lazy", "reconfigure", "x"], self.names(modules=True))
        self.assertEqual(["CONFIG", "reconfigure"], self.names(filter="Config"))

    def test_no_look_goes_over_very_many_names_for_one_that_is_not_there(self):
        self.namespace.update({"__name__": "__main__", "__loader__": None, "first": 1})
        self.namespace.update((f"n{number}", number) for number in range(50_000))
        gone_over = []

        def counted(name, pairs, under=fields._under):
            return under(name, (gone_over.append(name) or pair for pair in pairs))

        with mock.patch.dict(sys.modules), mock.patch.object(fields, "_under", counted):
            sys.modules.pop("IPython", None)
            self.assertEqual(50_001, self.page()["total"])
            self.found("inspect", expr="first")
        self.assertLess(len(gone_over), 50_000)

    def test_pages_follow_each_other_without_gaps(self):
        names = [f"n{number:03}" for number in range(250)]
        self.namespace.update(dict.fromkeys(names, 1))
        listed, after = [], {}
        while True:
            page = self.page(**after)
            self.assertEqual(250, page["total"])
            listed += names_of(page["globals"])
            if "next" not in page:
                break
            after = {"after": page["next"]}
        self.assertEqual(names, listed)
        self.assertNotIn("next", self.page(limit=250))
        self.assertEqual("n248", self.page(limit=249)["next"])

class Keeping(unittest.TestCase):
    def test_one_thing_keeps_one_handle(self):
        handles = Handles("abcd1234")
        thing = []
        self.assertEqual("@abcd.1", handles.keep_value(thing))
        self.assertEqual("@abcd.1", handles.keep_value(thing))
        self.assertEqual("@abcd.2", handles.keep_items(thing))
        self.assertEqual("@abcd.3", handles.keep_value([]))
        self.assertIs(thing, handles.find("@abcd.1").value)
        self.assertEqual(("items", thing), (handles.find("@abcd.2").kind, handles.find("@abcd.2").value))

    def test_the_least_recently_used_makes_room(self):
        handles = Handles("abcd1234")
        kept = [[number] for number in range(CAPACITY)]
        for thing in kept:
            handles.keep_value(thing)
        handles.find("@abcd.1")
        handles.keep_value(kept[1])
        handles.keep_text("one more")
        self.assertEqual(CAPACITY, len(handles))
        for number in (1, 2, CAPACITY + 1):
            handles.find(f"@abcd.{number}")
        with self.assertRaises(StaleHandle) as raised:
            handles.find("@abcd.3")
        self.assertIn("made room", raised.exception.because)

    def test_a_handle_that_was_evicted_is_not_given_to_another(self):
        handles = Handles("abcd1234")
        for number in range(CAPACITY * 2):
            handles.keep_value([number])
        self.assertEqual(f"@abcd.{CAPACITY * 2 + 1}", handles.keep_value([]))

    def test_each_way_of_being_stale_says_which(self):
        handles = Handles("abcd1234")
        for handle, because in (
            ("@ffff.1", "another life"),
            ("@abcd.7", "never"),
            ("@abcd.0", "never"),
            ("nonsense", "not a handle"),
            ("@abcd." + "9" * 100, "not a handle"),
        ):
            with self.assertRaises(StaleHandle) as raised:
                handles.find(handle)
            self.assertIn(because, raised.exception.because)

    def test_many_threads_may_keep_and_find(self):
        handles = Handles("abcd1234")
        failures = []

        def work():
            for number in range(2000):
                thing = [number]
                try:
                    if handles.find(handles.keep_value(thing)).value is not thing:
                        failures.append(number)
                except StaleHandle:
                    pass  # The other threads kept 512 things in between.

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(([], CAPACITY), (failures, len(handles)))


class Reading(ImageCase):
    def test_items_of_every_container_can_be_read_on(self):
        for container in (list(range(50)), tuple(range(50)), set(range(50)), dict.fromkeys(range(50)), range(50)):
            piece = self.more(self.handles.keep_items(container), 40, 5)
            self.assertEqual((5, 50, 45), (len(piece["items"]), piece["total"], piece["next"]))
            self.assertTrue(piece["items"][0].startswith("40"))
        piece = self.more(self.handles.keep_items([1]), 9, 5)
        self.assertEqual(([], None), (piece["items"], piece["next"]))

    def test_one_piece_is_bounded_whatever_is_asked_for(self):
        piece = self.more(self.handles.keep_items(["x" * 1000] * 5000), 0, 100_000)
        self.assertLess(len(json.dumps(piece)), 100_000)
        self.assertEqual(len(piece["items"]), piece["next"])
        piece = self.more(self.handles.keep_text("x" * 200_000), 0, 10**9)
        self.assertEqual((64 * 1024, 64 * 1024), (len(piece["text"]), piece["next"]))

    def test_strings_are_read_as_the_characters_they_hold_and_objects_as_their_static_text(self):
        plain = types.SimpleNamespace(a=1)
        for value, text in (("a\nb\ud800c", "a\nb\\ud800c"), (plain, "<types.SimpleNamespace a=1>")):
            self.assertEqual(text, self.more(self.handles.keep_value(value), 0, 100)["text"])
        self.assertEqual("stale_handle", self.more("@abcd.5", 0, 1)["type"])


# Names in the whole image that contain a text, and the names of one module.

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
        return names_of(self.search(pattern, **query)["matches"])

    def search(self, pattern, **query):
        return self.found("apropos", pattern=pattern, **{"limit": 100, **query})

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
            looked = self.ask("apropos", pattern="x", module=name, limit=5)
            self.assertEqual([], [near for near in looked["nearest"] if near.startswith("imago")], name)

    def test_what_was_imported_is_told_where_it_is_from(self):
        self.assertEqual(["bakery.oven.preheat"], self.names("preheat"))
        of_bakery = [name for name in self.names("oven") if name.startswith("bakery")]
        self.assertEqual(["bakery.OVEN_LIMIT", "bakery.oven", "bakery.oven.Oven"], of_bakery)

    def test_a_dot_in_the_pattern_is_looked_for_in_whole_names(self):
        self.assertEqual(["bakery.Loaf.slice_loaf"], self.names("loaf.slice"))
        self.assertEqual(["bakery.oven.Oven", "bakery.oven.preheat"], self.names("bakery.oven."))

    def test_a_module_narrows_the_search_to_what_is_below_it(self):
        self.assertEqual(["bakery.oven.Oven"], self.names("oven", module="bakery.oven")[1:])
        self.assertEqual(2, self.search("e", module="bakery")["searched"])
        self.assert_not_found("apropos", "bakery", pattern="x", module="bakry", limit=5)

    def test_pages_follow_each_other_without_gaps(self):
        self.namespace.update({f"loaf_{number}": number for number in range(5)})
        whole = self.names("o")[:40]
        listed, query = [], {"limit": 7}
        while len(listed) < 40:
            page = self.search("o", **query)
            listed += names_of(page["matches"])
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
        self.assertEqual([], self.names("init", module="bakery.oven"))
        self.assertIn("json.decoder.JSONDecoder.__init__", self.names("__init", module="json"))

class Symbols(Bakery):
    def page(self, module="bakery", **query):
        return self.found("symbols", module=module, **{"internal": False, "limit": 100, **query})

    def listed(self, **query):
        return names_of(self.page(**query)["symbols"])

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
        self.assert_not_found("symbols", "bakery", module="bakry", internal=False, limit=5)
        self.assert_not_found("symbols", module="bakery.Loaf", internal=False, limit=5)


class Globals(Bakery):
    def names(self, module, **query):
        query = {"modules": False, "limit": 100, **query}
        return names_of(self.found("globals", module=module, **query)["globals"])

    def test_the_names_of_a_loaded_module_are_listed_private_and_imported_ones_too(self):
        names = self.names("bakery")
        self.assertLessEqual({"Loaf", "_secret_loaf", "bake_loaf", "dumps"}, set(names))
        self.assertNotIn("json", names)
        self.assertNotIn("__name__", names)
        self.assertIn("json", self.names("bakery", modules=True))
        self.assertEqual(["OVEN_LIMIT", "Oven"], self.names("bakery", filter="OVEN"))

    def test_pages_of_a_module_follow_each_other(self):
        whole = self.names("bakery")
        first = self.found("globals", module="bakery", modules=False, limit=2)
        self.assertEqual((whole[:2], len(whole)), (names_of(first["globals"]), first["total"]))
        self.assertEqual(whole[2:4], self.names("bakery", after=first["next"], limit=2))

    def test_a_name_at_the_top_level_may_stand_for_the_module(self):
        self.namespace["b"] = self.bakery
        self.assertEqual(self.names("bakery"), self.names("b"))

    def test_what_is_not_loaded_is_not_found_and_not_imported(self):
        self.assert_not_found("globals", "bakery", module="bakry", modules=False, limit=5)
        self.assert_not_found("globals", module="this", modules=False, limit=5)
        for hostile in ["", "a b", "bakery.Loaf", "__import__('this')", "bakery;this", "@abcd.9"]:
            looked = self.ask("globals", module=hostile, modules=False, limit=5)
            self.assertIn(looked["type"], ["not_found", "malformed", "needs_evaluation", "stale_handle"])
        self.assertNotIn("this", sys.modules)


if __name__ == "__main__":
    unittest.main()
