"""Definitions: the source of a name, where it stands, whether it is what runs, and what is seen through on the way."""

import sys
import unittest

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

WRAPPING = '''
    import contextlib
    import functools


    def logged(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)
        return inner


    def copied(function):
        def inner(*args):
            return function(*args)
        inner.__name__ = function.__name__
        inner.__qualname__ = function.__qualname__
        return inner


    def replaced(function):
        def instead():
            return 1
        return instead


    class Counted:
        def __init__(self, function):
            functools.update_wrapper(self, function)

        def __call__(self):
            return 1


    @logged
    @functools.lru_cache(maxsize=None)
    def cached(x):
        return x


    @contextlib.contextmanager
    def opened(x):
        yield x


    @copied
    def quiet(x):
        return x


    @replaced
    def gone(x):
        return x


    @Counted
    def counted():
        return 2


    def add(a, b, c=3):
        return a + b


    three = functools.partial(add, 1, c=4)


    class Holder:
        @functools.cached_property
        def slow(self):
            return 1

        half = functools.partialmethod(add, 2)

        @property
        def plain(self):
            return 1

        @staticmethod
        def load(path):
            return path


    @functools.singledispatch
    def show(x):
        return x
'''

MADE = '''
    import dataclasses
    import enum
    import typing
    from collections import namedtuple


    @dataclasses.dataclass
    class Item:
        name: str
        price: int = 1


    class Pair(namedtuple("Pair", "a b")):
        pass


    class Colour(enum.Enum):
        RED = 1
        BLUE = 2


    @typing.overload
    def size(x: int) -> int: ...
    @typing.overload
    def size(x: str) -> str: ...
    def size(x):
        return x


    space = {}
    exec("def hidden(): pass", space)
    hidden = space["hidden"]
'''


class Places(ImageCase):
    def setUp(self):
        super().setUp()
        self.shop = self.load("shop", SHOP)
        self.namespace["order"] = self.shop.Order([1])
        self.namespace["bound"] = self.namespace["order"].total
        self.namespace["pay"] = self.shop.checkout(None)

    def test_each_sort_of_name_has_its_place(self):
        handle = self.handles.keep_value(self.namespace["bound"])
        for name, place in {
            "shop": ("module", "shop", 1, 56),
            "shop.checkout": ("function", "shop.checkout", 46, 50),
            "shop.Order.total": ("method", "shop.Order.total", 22, 23),
            "shop.Order": ("class", "shop.Order", 12, 43),
            "shop.Order.Line.cost": ("method", "shop.Order.Line.cost", 42, 43),
            "shop.Order.Line": ("class", "shop.Order.Line", 41, 43),
            "shop.Order.load": ("method", "shop.Order.load", 33, 35),
            "shop.Order.empty": ("method", "shop.Order.empty", 37, 39),
            "order.total": ("method", "shop.Order.total", 22, 23),
            "bound": ("method", "shop.Order.total", 22, 23),
            handle: ("method", "shop.Order.total", 22, 23),
            "pay": ("function", "shop.checkout.<locals>.pay", 47, 48),
            "shop.double": ("function", "shop.<lambda>", 54, 56),
            "shop.LIMIT": ("constant", "shop.LIMIT", 7, 7),
            "shop.limits": ("variable", "shop.limits", 8, 9),
            "shop.Order.currency": ("variable", "shop.Order.currency", 15, 15),
            "order.paid": ("variable", "shop.Order.paid", 19, 19),
            "shop.Order.size": ("property", "shop.Order.size", 25, 27),
            "order.size": ("property", "shop.Order.size", 25, 27),
        }.items():
            with self.subTest(name):
                value = self.define(name)
                self.assertEqual(place, (value["kind"], value["qualified"], value["line"], value["end_line"]))
                self.assertEqual((self.shop.__file__, "file", None), (value["file"], value["origin"], value["because"]))

    def test_the_source_of_a_name_is_that_of_its_statement(self):
        self.assertTrue(self.source("shop.Order.total").startswith("    def total(self):"))
        for name, source in {
            "shop.LIMIT": "LIMIT = 3",
            "shop.double": "double = lambda x: (\n    x * 2\n)",
            "shop.Point": 'Point = namedtuple("Point", "x y")',
        }.items():
            self.assertEqual(source, self.source(name))

    def test_what_else_there_is_to_know_stands_in_the_notes(self):
        for name, note in {
            "shop.LIMIT": "It holds an instance of int.",
            "order.items": "It is also assigned on line 31.",
            "shop.Order.size": f"It has a setter, on line 29 of {self.shop.__file__}.",
            "shop.Point": "It was made by a call, not by a class statement.",
        }.items():
            self.assertIn(note, self.define(name)["notes"])

    def test_a_long_source_is_cut_and_can_be_read_on(self):
        source = self.define("shop.Order", max_length=20)["source"]
        self.assertEqual((20, True), (len(source["text"]), source["truncated"]))
        piece = self.more(source["handle"], 20, 10_000)
        self.assertEqual(self.source("shop.Order"), source["text"] + piece["text"])
        self.assertEqual(source["original_len"], len(self.source("shop.Order")))

    def test_contexts_tell_whose_names_a_definition_uses(self):
        source = "import os.path\nimport shop\nfrom shop import checkout\n\n\ndef run():\n"
        self.load("uses", source + "    return os.getcwd(), checkout(shop.Order), len(LIMIT)\n\n\nLIMIT = []\n")
        expected = {"builtins": ["len"], "os": ["getcwd"], "shop": ["Order", "checkout"], "uses": ["LIMIT"]}
        self.assertEqual(expected, self.define("uses.run", contexts=True)["contexts"])
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


class Wrappers(ImageCase):
    def setUp(self):
        super().setUp()
        self.module = self.load("wrapping", WRAPPING)

    def names(self, name):
        return [wrapper["name"] for wrapper in self.define(name)["wrappers"]]

    def test_wrappers_are_seen_through_outermost_first_and_said(self):
        for name, wrappers in {
            "cached": ["wrapping.logged", "functools.lru_cache"],
            "opened": ["contextlib.contextmanager"],
            "quiet": ["wrapping.copied"],
            "counted": ["wrapping.Counted"],
            "three": ["functools.partial"],
            "Holder.slow": ["functools.cached_property"],
            "Holder.half": ["functools.partialmethod"],
            "Holder.plain": ["property"],
            "Holder.load": ["staticmethod"],
            "show": ["functools.singledispatch"],
        }.items():
            self.assertEqual(wrappers, self.names(f"wrapping.{name}"), name)
            value = self.define(f"wrapping.{name}")
            self.assertIn("def", value["source"]["text"])
            self.assertEqual(self.module.__file__, value["file"])
        value = self.define("wrapping.cached")
        self.assertTrue(value["source"]["text"].startswith("@logged\n@functools.lru_cache(maxsize=None)\ndef cached"))
        place = (value["wrappers"][0]["file"], value["wrappers"][0]["line"], value["kind"])
        self.assertEqual((self.module.__file__, 7, "function"), place)

    def test_a_partial_application_says_what_it_gives(self):
        value = self.define("wrapping.three")
        self.assertEqual(("wrapping.add", "function"), (value["qualified"], value["kind"]))
        self.assertIn("The partial application gives it (1, c=4).", value["notes"])

    def test_a_function_that_was_put_in_the_place_of_another_says_so(self):
        value = self.define("wrapping.gone")
        self.assertEqual("wrapping.replaced.<locals>.instead", value["qualified"])
        self.assertIn("defines `gone` under replaced", value["notes"][0])

    def test_a_circle_of_wrappers_ends(self):
        self.evaluate("def one(): pass\ndef two(): pass\none.__wrapped__, two.__wrapped__ = two, one\n")
        self.assertEqual(1, len(self.names("one")))


class Generated(ImageCase):
    def setUp(self):
        super().setUp()
        self.load("made", MADE)

    def test_a_generated_method_shows_its_class_and_says_so(self):
        value = self.define("made.Item.__init__")
        self.assertTrue(value["source"]["text"].startswith("@dataclasses.dataclass\nclass Item:"))
        self.assertIn("`__init__` has no text of its own: dataclasses generated it", value["notes"][0])

    def test_fields_and_members_have_their_lines(self):
        self.namespace["item"] = sys.modules["made"].Item("a")
        self.assertEqual("    name: str", self.source("item.name"))
        value = self.define("made.Colour.BLUE")
        self.assertEqual(("constant", "    BLUE = 2"), (value["kind"], value["source"]["text"]))

    def test_an_overloaded_function_shows_what_runs_and_where_the_declarations_are(self):
        value = self.define("made.size")
        self.assertEqual("def size(x):\n    return x", value["source"]["text"])
        self.assertIn("It is overloaded: the declarations stand on lines 23, 25.", value["notes"])

    def test_code_whose_text_nobody_kept_says_why_there_is_no_source(self):
        value = self.define("made.hidden")
        self.assertEqual((None, "unknown", None), (value["source"], value["origin"], value["current"]))
        self.assertIn("<string>", value["because"])

    def test_what_is_compiled_is_built_in(self):
        for name in ("len", "list.append", "dict", "sys", "int.real", "object.__repr__", "None", "functools.partial"):
            value = self.define(name)
            self.assertEqual((None, "built_in"), (value["source"], value["origin"]), name)
            self.assertTrue(value["because"], name)

    def test_what_a_library_generates_in_the_line_cache_is_shown(self):
        source = "def __init__(self):\n    self.x = 1\n"
        self.keep_lines("<made generated init>", source)
        value = self.define("__init__")
        self.assertEqual((source.rstrip(), "unknown"), (value["source"]["text"], value["origin"]))


class Nearest(ImageCase):
    def nearest(self, name):
        looked = self.ask("definition", name=name, max_length=100)
        self.assertEqual("not_found", looked["type"])
        return looked["nearest"]

    def test_a_name_that_is_not_found_brings_the_dotted_names_that_are_like_it(self):
        self.load("shop", SHOP + "    def dumpr(): pass\n")
        for name, near in {
            "Ordr": "shop.Order",
            "Order": "shop.Order",
            "shop.chekout": "shop.checkout",
            "shop.Order.totl": "shop.Order.total",
            # The program's names come before those of libraries.
            "dumpz": "shop.dumpr",
        }.items():
            self.assertEqual(near, self.nearest(name)[0])
        self.assertIn("shop", self.nearest("shpo"))

    def test_no_name_is_one_of_imago_s_own(self):
        for name in ("prise", "nope", "StaleHandel", "imago_handles", "resolv"):
            self.assertEqual([], [near for near in self.nearest(name) if near.startswith("imago")], name)

    def test_what_is_no_name_is_told_apart(self):
        for name, told in {
            "for": "malformed",
            "a b": "malformed",
            "len()": "needs_evaluation",
            "@abcd.9": "stale_handle",
        }.items():
            self.assertEqual(told, self.ask("definition", name=name, max_length=9)["type"])


if __name__ == "__main__":
    unittest.main()
