"""Definitions: the source of a name, where it stands, and whether it is what runs."""

import unittest

from imago import looking
from imago.looking.definitions import definition
from tests.looking_image import ImageCase

SHOP = '''
    """A shop."""

    import functools
    from collections import namedtuple

    LIMIT = 3
    limits = [1,
              2]


    class Order:
        """An order."""

        currency = "EUR"

        def __init__(self, items):
            self.items = items
            self.paid = False

        # Of the items.
        def total(self):
            return sum(self.items)

        @property
        def size(self):
            return len(self.items)

        @size.setter
        def size(self, value):
            self.items = [0] * value

        @staticmethod
        def load(path):
            return path

        @classmethod
        def empty(cls):
            return cls([])

        class Line:
            def cost(self):
                return 1


    def checkout(order):
        def pay(amount):
            return amount

        return pay


    Point = namedtuple("Point", "x y")
    double = lambda x: (
        x * 2
    )
'''


class Places(ImageCase):
    def setUp(self):
        super().setUp()
        self.shop = self.load("shop", SHOP)
        self.namespace["shop"] = self.shop

    def place(self, name):
        value = self.define(name)
        self.assertEqual((self.shop.__file__, "file", None), (value["file"], value["origin"], value["because"]), value)
        self.assertEqual([], value["wrappers"] if value["kind"] != "property" else [])
        return value["kind"], value["qualified"], value["line"], value["end_line"]

    def test_functions_methods_and_classes_have_lines(self):
        self.assertEqual(("function", "shop.checkout", 46, 50), self.place("shop.checkout"))
        self.assertEqual(("method", "shop.Order.total", 22, 23), self.place("shop.Order.total"))
        self.assertEqual(("class", "shop.Order", 12, 43), self.place("shop.Order"))
        self.assertEqual(("method", "shop.Order.Line.cost", 42, 43), self.place("shop.Order.Line.cost"))
        self.assertEqual(("class", "shop.Order.Line", 41, 43), self.place("shop.Order.Line"))
        self.assertTrue(self.source("shop.Order.total").startswith("    def total(self):"))

    def test_a_name_of_a_loaded_module_needs_no_import(self):
        del self.namespace["shop"]
        self.assertEqual(("method", "shop.Order.total", 22, 23), self.place("shop.Order.total"))
        self.assertEqual(("module", "shop", 1, 56), self.place("shop"))

    def test_a_method_is_found_from_an_instance_from_itself_and_from_a_handle(self):
        self.namespace["order"] = self.shop.Order([1])
        self.namespace["bound"] = self.namespace["order"].total
        handle = self.image.handles.keep_value(self.namespace["bound"])
        for name in ("order.total", "bound", handle):
            self.assertEqual(("method", "shop.Order.total", 22, 23), self.place(name))

    def test_nested_functions_and_lambdas(self):
        self.namespace["pay"] = self.shop.checkout(None)
        self.assertEqual(("function", "shop.checkout.<locals>.pay", 47, 48), self.place("pay"))
        kind, qualified, line, end = self.place("shop.double")
        self.assertEqual(("function", "shop.<lambda>", 54, 56), (kind, qualified, line, end))
        self.assertEqual("double = lambda x: (\n    x * 2\n)", self.source("shop.double"))

    def test_variables_and_constants_have_their_assignment(self):
        self.assertEqual(("constant", "shop.LIMIT", 7, 7), self.place("shop.LIMIT"))
        self.assertEqual(("variable", "shop.limits", 8, 9), self.place("shop.limits"))
        self.assertEqual("LIMIT = 3", self.source("shop.LIMIT"))
        self.assertIn("It holds an instance of int.", self.define("shop.LIMIT")["notes"])
        self.assertEqual(("variable", "shop.Order.currency", 15, 15), self.place("shop.Order.currency"))

    def test_an_attribute_of_an_instance_is_found_where_a_method_assigns_it(self):
        self.namespace["order"] = self.shop.Order([1])
        self.assertEqual(("variable", "shop.Order.paid", 19, 19), self.place("order.paid"))
        self.assertIn("It is also assigned on line 31.", self.define("order.items")["notes"])

    def test_a_property_shows_its_getter_and_says_where_the_setter_stands(self):
        for name in ("shop.Order.size", "order.size"):
            self.namespace["order"] = self.shop.Order([1])
            self.assertEqual(("property", "shop.Order.size", 25, 27), self.place(name))
        value = self.define("shop.Order.size")
        self.assertEqual([{"name": "property", "file": None, "line": None}], value["wrappers"])
        self.assertEqual([f"It has a setter, on line 29 of {self.shop.__file__}."], value["notes"])

    def test_static_and_class_methods_say_so(self):
        for name, line in (("load", 33), ("empty", 37)):
            value = self.define(f"shop.Order.{name}")
            self.assertEqual(("method", line), (value["kind"], value["line"]))
            self.assertEqual(1, len(value["wrappers"]))

    def test_a_class_that_a_call_made_stands_where_it_is_assigned(self):
        value = self.define("shop.Point")
        self.assertEqual('Point = namedtuple("Point", "x y")', value["source"]["text"])
        self.assertIn("It was made by a call, not by a class statement.", value["notes"])

    def test_a_long_source_is_cut_and_can_be_read_on(self):
        value = self.define("shop.Order", max_length=20)
        source = value["source"]
        self.assertEqual((20, True), (len(source["text"]), source["truncated"]))
        piece = looking.more(self.image.handles, {"handle": source["handle"], "from": 20, "count": 10_000})
        self.assertEqual(self.source("shop.Order"), source["text"] + piece["value"]["text"])
        self.assertEqual(source["original_len"], len(self.source("shop.Order")))

    def test_contexts_tell_whose_names_a_definition_uses(self):
        module = self.load("uses", "import os.path\nimport shop\nfrom shop import checkout\n\n\n"
                           "def run():\n    return os.getcwd(), checkout(shop.Order), len(LIMIT)\n\n\nLIMIT = []\n")
        self.namespace["uses"] = module
        contexts = self.define("uses.run", contexts=True)["contexts"]
        expected = {"builtins": ["len"], "os": ["getcwd"], "shop": ["Order", "checkout"], "uses": ["LIMIT"]}
        self.assertEqual(expected, contexts)
        self.assertNotIn("contexts", self.define("uses.run"))

    def test_an_imported_name_is_followed_to_where_it_is_assigned(self):
        self.load("imports", "from shop import LIMIT as MOST\n")
        value = self.define("imports.MOST")
        self.assertEqual(("shop.LIMIT", self.shop.__file__, 7), (value["qualified"], value["file"], value["line"]))
        self.assertIn("imports.MOST is imported, on line 1", value["notes"][0])

    def test_names_may_be_of_any_letters(self):
        self.load("größe", "def maß(ä):\n    return ä\n\n\nÄRA = '…'\n", file="groesse.py")
        self.assertEqual("def maß(ä):\n    return ä", self.source("größe.maß"))
        self.assertEqual("constant", self.define("größe.ÄRA")["kind"])


class Nearest(ImageCase):
    def test_a_name_that_is_not_found_brings_the_dotted_names_that_are_like_it(self):
        self.load("shop", SHOP)
        self.assertEqual("shop.Order", self.nearest("Ordr")[0])
        self.assertEqual("shop.Order", self.nearest("Order")[0])
        self.assertEqual("shop.checkout", self.nearest("shop.chekout")[0])
        self.assertEqual("shop.Order.total", self.nearest("shop.Order.totl")[0])
        self.assertIn("shop", self.nearest("shpo"))

    def test_no_name_is_one_of_imago_s_own_and_the_program_s_come_before_those_of_libraries(self):
        for name in ("prise", "nope", "StaleHandel", "imago_handles", "resolv"):
            self.assertEqual([], [near for near in self.nearest(name) if near.startswith("imago")], name)
        self.load("shop", SHOP + "    def dumpr(): pass\n")
        self.assertEqual("shop.dumpr", self.nearest("dumpz")[0])

    def nearest(self, name):
        looked = self.ask(definition, name=name, max_length=100)
        self.assertEqual("not_found", looked["type"])
        return looked["nearest"]

    def test_what_is_no_name_is_told_apart(self):
        self.assertEqual("malformed", self.ask(definition, name="for", max_length=9)["type"])
        self.assertEqual("malformed", self.ask(definition, name="a b", max_length=9)["type"])
        self.assertEqual("needs_evaluation", self.ask(definition, name="len()", max_length=9)["type"])
        self.assertEqual("stale_handle", self.ask(definition, name="@abcd.9", max_length=9)["type"])


if __name__ == "__main__":
    unittest.main()
