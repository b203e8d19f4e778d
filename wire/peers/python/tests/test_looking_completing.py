"""How code might go on at a cursor: from stored names alone, in code that may be unfinished or wrong."""

import collections
import enum
import functools
import os
import sys
import types
import unittest

import imago
from tests.looking_image import ImageCase


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Order:
    __slots__ = ("number", "__dict__")
    currency = "EUR"

    def __init__(self, number, *, note=None):
        self.number = number
        self._hidden = 1
        self.items = []

    def add(self, item, count=1):
        """Adds."""

    @property
    def total(self):
        raise AssertionError("was read")

    def _check(self):
        pass


def fired(*_):
    raise AssertionError("was run")


Dynamic = type("Dynamic", (), {"__getattr__": fired})
Hostile = type(
    "Hostile",
    (),
    {
        **dict.fromkeys(("__getitem__", "__add__", "__call__", "__eq__", "__neg__", "__bool__", "__len__"), fired),
        "__hash__": lambda _: hash("key"),
        "field": 1,
    },
)


class Completing(ImageCase):
    def setUp(self):
        super().setUp()
        self.namespace.update(
            order=Order(7),
            Order=Order,
            Colour=Colour,
            orders={"first": Order(1), "it's": 2, 'a "b"': 3, 5: 4, b"raw": 5, ("a",): 6},
            os=os,
            number=1,
            part=functools.partial(Order.add, None),
            h=Hostile(),
            dynamic=Dynamic(),
            keyed={Hostile(): 1},
            sub=type("Sub", (dict,), {"__getitem__": fired, "__iter__": fired})(key=1),
            named=collections.namedtuple("Named", "left right")(1, "a"),
            counts=collections.Counter("aab"),
            default=collections.defaultdict(fired, here=[1]),
            nested={"outer": collections.OrderedDict(inner=1)},
            other=types.SimpleNamespace(a=1),
        )

    def look(self, text, limit=200):
        """The answer at the `|` in the text, or at its end."""
        at = text.find("|")
        code = text if at < 0 else text[:at] + text[at + 1 :]
        return self.found("complete", text=code, cursor=len(text) if at < 0 else at, limit=limit)

    def words(self, text, limit=200):
        return [one["text"] for one in self.look(text, limit)["completions"]]

    def kinds(self, text):
        return {one["text"]: (one["kind"], one["type_name"]) for one in self.look(text)["completions"]}

    def one(self, text):
        """The only way to go on, with the text that it makes of the code."""
        value = self.look(text)
        self.assertEqual(1, len(value["completions"]), value)
        code = text.replace("|", "")
        return code[: value["from"]] + value["completions"][0]["text"] + code[value["to"] :]

    def assert_words(self, table):
        for code, words in table.items():
            with self.subTest(code):
                self.assertEqual(words, self.words(code))


class Names(Completing):
    def test_a_name_goes_on_as_one_of_the_top_level_of_python_or_of_its_grammar(self):
        self.assert_words(
            {
                "x = order": ["order", "orders"],
                "prin": ["print"],
                "whil": ["while"],
                # Letters of another size are a second choice.
                "Ord": ["Order"],
                "Os": ["os", "OSError"],
                "f'{numb|": ["number"],
            }
        )
        kinds = self.kinds("")
        for name, kind in {
            "order": ("variable", "Order"),
            "Order": ("class", "type"),
            "os": ("module", "module"),
            "lambda": ("keyword", None),
            "None": ("constant", None),
        }.items():
            self.assertEqual(kind, kinds[name])

    def test_what_is_replaced_is_the_word_before_the_cursor_counted_in_code_points(self):
        value = self.look("f(ord|er)")
        self.assertEqual((2, 5), (value["from"], value["to"]))
        self.assertEqual("abs(number)", self.one("abs(numb|)"))
        self.assertEqual("'𝒳é' + number", self.one("'𝒳é' + numb|"))

    def test_names_that_the_code_itself_binds_are_offered(self):
        code = "import zebra as zeta\ndef zoom(zip_code, *zargs):\n    zone = 1\n    for zed in x: pass\n    return z|"
        kinds = self.kinds(code)
        self.assertLess({"zeta", "zoom", "zip_code", "zargs", "zone", "zed"}, set(kinds))
        self.assertEqual(("function", "parameter"), (kinds["zoom"][0], kinds["zip_code"][0]))

    def test_nothing_is_offered_in_texts_comments_numbers_and_new_names(self):
        for code in ("'ord", "# ord", "x = 1  # ord", "1ord", "12", "def ord", "class Ord", '"""\nord', "f'ord"):
            value = self.look(code)
            self.assertEqual(([], 0, None), (value["completions"], value["total"], value["because"]), code)

    def test_broken_and_unfinished_code_is_no_hindrance(self):
        for before in ("x = (1,\nimport os\n", "if x\n  ", "for x in (", "a = 'b\n", ")]}\n", "x = = "):
            self.assertEqual(["number"], self.words(before + "numb"), before)

    def test_a_very_large_namespace_is_answered_the_same_and_the_total_counts_what_is_left_out(self):
        self.namespace.update({f"name_{number:06}": number for number in range(50_000)})
        value = self.look("name_", limit=2)
        self.assertEqual(["name_000000", "name_000001"], [one["text"] for one in value["completions"]])
        self.assertEqual(50_000, value["total"])
        self.assert_words({"name_012345": ["name_012345"], "Name_012345": ["name_012345"]})
        self.namespace["name_newest"] = 1
        del self.namespace["name_012345"]
        self.assert_words({"name_n": ["name_newest"], "name_012345": []})


class Attributes(Completing):
    def test_attributes_are_those_of_the_instance_and_of_its_classes(self):
        words = self.words("order.")
        self.assertEqual(["add", "currency", "items", "number", "total", "_check", "_hidden"], words[:7])
        self.assertTrue(words[7].startswith("__"))
        kinds = self.kinds("order.")
        expected = [("method", "function"), ("property", None), ("variable", "list")]
        self.assertEqual(expected, [kinds[name] for name in ("add", "total", "items")])

    def test_paths_go_through_attributes_indexes_literals_and_modules(self):
        handle = self.handles.keep_value(self.namespace["order"])
        self.assert_words(
            {
                "order.items.app": ["append"],
                "orders['first'].num": ["number"],
                "os.path.joi": ["join"],
                "'abc'.upp": ["upper"],
                "(\n  'abc'\n  # a comment\n  .upp": ["upper"],
                "Colour.R": ["RED"],
                f"{handle}.num": ["number"],
                "f'{order.it|}'": ["items"],
                "nothing.x": [],
                "named.right.upp": ["upper"],
                "named.lef": ["left"],
                "counts.most": ["most_common"],
                "h.fie": ["field"],
                "1 .rea": ["real"],
                "{}.key": ["keys"],
                "[1, 2].app": ["append"],
                "{1}.add": ["add"],
            }
        )

    def test_what_would_have_to_run_says_so_and_offers_nothing(self):
        nested = "number[" + "(" * 100 + "1" + ")" * 100 + "]"
        runs = ("order.add()", "orders.get('first')", "f()", "(1 + 2)", "[x for x in y]", "order.total", "f'{x}'")
        of_user_types = ("h['x']", "(h + 1)", "h()", "(-h)", "(h == 1)", "(not h)", "(h if h else 1)", "len(h)")
        reasons = {
            "number" + ".real" * 3000: "longer than",
            nested: "nested too deeply",
            "@zzzz.99": "leads nowhere any more",
            "dynamic": "Dynamic",
            **dict.fromkeys((*runs, *of_user_types), "run"),
        }
        for owner, because in reasons.items():
            value = self.look(f"{owner}.x")
            self.assertEqual([], value["completions"], owner)
            self.assertIn(because, value["because"], owner)
        self.assertIsNone(self.look("nothing.x")["because"])
        self.assertIn("SimpleNamespace", self.look("other['|")["because"])

    def test_keys_of_a_dict_are_offered_as_they_are_written(self):
        for code, whole in {
            "orders['fi|": "orders['first']",
            "orders['fi|']": "orders['first']",
            "orders['fi|]": "orders['first']",
            'orders["it|': 'orders["it\'s"]',
            "orders['it|": "orders['it\\'s']",
            "orders['a|": "orders['a \"b\"']",
            "orders[b'|": "orders[b'raw']",
            "nested['outer']['|": "nested['outer']['inner']",
            "default['he|": "default['here']",
            "sub['|": "sub['key']",
        }.items():
            self.assertEqual(whole, self.one(code))
        self.assertEqual(["'first']", '"it\'s"]', "'a \"b\"']", "5]", "b'raw']"], self.words("orders[")[:5])

    def test_keys_that_decide_themselves_are_passed_by_and_none_is_made(self):
        self.assertEqual([], self.words("keyed['|"))
        self.look("default['missing'].")
        self.assertEqual(["here"], list(self.namespace["default"]))


class Calls(Completing):
    def call(self, code):
        value = self.look(code)["call"]
        return None if value is None else (value["name"], value["signature"], value["parameter"])

    def test_the_call_around_the_cursor_is_told_with_its_parameter(self):
        for code, parameter in {
            "order.add(": 0,
            "order.add(1, ": 1,
            "order.add(1, count=": 1,
            "order.add(count=2, ": None,
            "order.add(*x, ": None,
            "order.add([1, (2, 3), {4: 5}], ": 1,
            "order.add(lambda a, b: a, ": 1,
            "order.add(1, 2, 3": None,
            "print(order.add(": 0,
            "order.add(\n    1,\n    # one more\n    nu": 1,
            "order.add(orders[": 0,
        }.items():
            self.assertEqual(("order.add", "(item, count=1)", parameter), self.call(code), code)

    def test_classes_and_partial_applications_are_called_too(self):
        self.assertEqual(("Order", "(number, *, note=None)", 0), self.call("Order("))
        self.assertEqual(("part", "(item, count=1)", 0), self.call("part("))

    def test_what_is_no_call_has_none(self):
        codes = ("(", "order.add(1)", "def f(", "class A(", "if (", "f()(", "nothing(", "order.add(\nimport x", "x = (")
        for code in codes:
            self.assertIsNone(self.call(code), code)

    def test_parameters_that_are_not_given_yet_come_first(self):
        self.assertEqual(["item=", "count="], self.words("order.add(")[:2])
        self.assertEqual(["count="], [word for word in self.words("order.add(1, ") if "=" in word])
        self.assertEqual(["note="], self.words("Order(1, no")[:1])
        self.assertEqual([], [word for word in self.words("Order(1, note=2, ") if "=" in word])
        self.assertEqual([], [word for word in self.words("Order(number + ") if "=" in word])
        self.assertEqual([], [word for word in self.words("Order(note=") if "=" in word])


class Imports(Completing):
    def test_each_word_of_an_import_goes_on_as_the_statement_may(self):
        for code, word in {
            "import js": "json",
            "import thi": "this",
            "import imag": "imago",
            "from os.path import jo": "join",
            "from os.path import (split,\n    jo": "join",
            "from json import ": "decoder",
        }.items():
            self.assertIn(word, self.words(code))
        self.assert_words(
            {
                "import os.pa": ["path"],
                "import json, os.pa": ["path"],
                "from json.dec": ["decoder"],
                "from json ": ["import"],
                "import json ": ["as"],
                "from json import loads ": ["as"],
                "import json as ": [],
                "import imago.": [],
            }
        )
        self.assertNotIn("this", sys.modules)

    def test_folders_are_listed_and_nothing_is_imported(self):
        self.write("shelf/__init__.py", "raise AssertionError('was imported')\n")
        self.write("shelf/book.py", "raise AssertionError('was imported')\n")
        self.write("shelf/not-a-name.py", "")
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        self.assertEqual(["shelf"], self.words("import shelf"))
        self.assertEqual(["book"], self.words("import shelf."))
        self.assertEqual(["book"], self.words("from shelf import "))
        self.assertIn("not loaded", self.look("from shelf.book import x")["because"])
        self.write("shelf/page.py", "")
        os.utime(os.path.join(self.folder, "shelf"), ns=(1, 1))
        self.assertEqual(["book", "page"], self.words("from shelf import "))
        self.assertNotIn("shelf", sys.modules)

    def test_relative_imports_begin_at_the_package_of_the_image(self):
        self.load("box", "", file="box/__init__.py")
        self.write("box/lid.py", "")
        self.namespace["__package__"] = "box"
        self.assertEqual(["lid"], [word for word in self.words("from . import ") if not word.startswith("_")])
        self.assertEqual(["lid"], self.words("from .l"))
        self.assertEqual([], self.words("from ... import "))

    def test_of_imago_only_its_own_name_and_what_it_is_for_is_offered(self):
        self.namespace["imago"] = imago
        for code in ("from imago import ", "imago."):
            self.assertIn("listen", self.words(code))
            self.assertNotIn("looking", self.words(code))


if __name__ == "__main__":
    unittest.main()
