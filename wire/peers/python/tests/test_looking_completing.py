"""How code might go on at a cursor: from stored names alone, in code that may be unfinished or wrong."""

import collections
import enum
import functools
import os
import sys
import types
import unittest

import imago
from imago.looking.completion import complete
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
        )

    def look(self, text, limit=200):
        """The answer at the `|` in the text, or at its end."""
        at = text.find("|")
        code = text if at < 0 else text[:at] + text[at + 1 :]
        return self.found(complete, text=code, cursor=len(text) if at < 0 else at, limit=limit)

    def words(self, text, limit=200):
        return [one["text"] for one in self.look(text, limit)["completions"]]

    def one(self, text):
        """The only way to go on, with the text that it makes of the code."""
        value = self.look(text)
        self.assertEqual(1, len(value["completions"]), value)
        code = text.replace("|", "")
        return code[: value["from"]] + value["completions"][0]["text"] + code[value["to"] :]


class Names(Completing):
    def test_a_name_goes_on_as_one_of_the_top_level_of_python_or_of_its_grammar(self):
        self.assertEqual(["order", "orders"], self.words("x = order"))
        self.assertEqual(["print"], self.words("prin"))
        self.assertEqual(["while"], self.words("whil"))
        kinds = {one["text"]: (one["kind"], one["type_name"]) for one in self.look("")["completions"]}
        self.assertEqual(("variable", "Order"), kinds["order"])
        self.assertEqual(("class", "type"), kinds["Order"])
        self.assertEqual(("module", "module"), kinds["os"])
        self.assertEqual(("keyword", None), kinds["lambda"])
        self.assertEqual(("constant", None), kinds["None"])

    def test_what_is_replaced_is_the_word_before_the_cursor(self):
        value = self.look("f(ord|er)")
        self.assertEqual((2, 5), (value["from"], value["to"]))
        self.assertEqual("abs(number)", self.one("abs(numb|)"))

    def test_the_cursor_counts_code_points(self):
        self.assertEqual("'𝒳é' + number", self.one("'𝒳é' + numb|"))

    def test_letters_of_another_size_are_a_second_choice(self):
        self.assertEqual(["Order"], self.words("Ord"))
        self.assertEqual(["os", "OSError"], self.words("Os"))

    def test_names_that_the_code_itself_binds_are_offered(self):
        code = "import zebra as zeta\ndef zoom(zip_code, *zargs):\n    zone = 1\n    for zed in x: pass\n    return z|"
        self.assertLess({"zeta", "zoom", "zip_code", "zargs", "zone", "zed"}, set(self.words(code)))
        kinds = {one["text"]: one["kind"] for one in self.look(code)["completions"]}
        self.assertEqual(("function", "parameter"), (kinds["zoom"], kinds["zip_code"]))

    def test_nothing_is_offered_in_texts_comments_numbers_and_new_names(self):
        for code in ("'ord", "# ord", "x = 1  # ord", "1ord", "12", "def ord", "class Ord", '"""\nord', "f'ord"):
            value = self.look(code)
            self.assertEqual(([], 0, None), (value["completions"], value["total"], value["because"]), code)

    def test_code_inside_of_an_f_string_is_code(self):
        self.assertEqual(["number"], self.words("f'{numb|"))
        self.assertIn("items", self.words("f'{order.it|}'"))

    def test_broken_and_unfinished_code_is_no_hindrance(self):
        for before in ("x = (1,\nimport os\n", "if x\n  ", "for x in (", "a = 'b\n", ")]}\n", "x = = "):
            self.assertEqual(["number"], self.words(before + "numb"), before)

    def test_the_total_counts_what_the_limit_leaves_out(self):
        value = self.look("", limit=3)
        self.assertEqual(3, len(value["completions"]))
        self.assertGreater(value["total"], 100)

    def test_a_very_large_namespace_is_answered_the_same(self):
        self.namespace.update({f"name_{number:06}": number for number in range(50_000)})
        self.assertEqual(["name_000000", "name_000001"], self.words("name_", limit=2))
        self.assertEqual(50_000, self.look("name_", limit=2)["total"])
        self.assertEqual(["name_012345"], self.words("name_012345"))
        self.assertEqual(["name_012345"], self.words("Name_012345"))
        self.namespace["name_newest"] = 1
        self.assertEqual(["name_newest"], self.words("name_n"))
        del self.namespace["name_012345"]
        self.assertEqual([], self.words("name_012345"))
        self.assertEqual("str", self.look("name_n")["completions"][0]["type_name"].replace("int", "str"))


class Attributes(Completing):
    def test_a_path_that_is_too_long_or_too_deep_is_said_to_be_so(self):
        nested = "number[" + "(" * 100 + "1" + ")" * 100 + "]."
        for code, why in (("number" + ".real" * 3000 + ".", "longer than"), (nested, "nested too deeply")):
            value = self.look(code)
            self.assertEqual([], value["completions"])
            self.assertIn(why, value["because"])

    def test_a_handle_that_leads_nowhere_is_said_to_do_so(self):
        self.assertIn("leads nowhere any more", self.look("@zzzz.99.")["because"])

    def test_attributes_are_those_of_the_instance_and_of_its_classes(self):
        words = self.words("order.")
        self.assertEqual(["add", "currency", "items", "number", "total", "_check", "_hidden"], words[:7])
        self.assertTrue(words[7].startswith("__"))
        kinds = {one["text"]: (one["kind"], one["type_name"]) for one in self.look("order.")["completions"]}
        self.assertEqual(("method", "function"), kinds["add"])
        self.assertEqual(("property", None), kinds["total"])
        self.assertEqual(("variable", "list"), kinds["items"])

    def test_paths_go_through_attributes_indexes_literals_and_modules(self):
        self.assertEqual(["append"], self.words("order.items.app"))
        self.assertEqual(["number"], self.words("orders['first'].num"))
        self.assertEqual(["join"], self.words("os.path.joi"))
        self.assertEqual(["upper"], self.words("'abc'.upp"))
        self.assertEqual(["upper"], self.words("(\n  'abc'\n  # a comment\n  .upp"))
        self.assertEqual(["RED"], self.words("Colour.R"))
        handle = self.image.handles.keep_value(self.namespace["order"])
        self.assertEqual(["number"], self.words(f"{handle}.num"))

    def test_what_would_have_to_run_says_so_and_offers_nothing(self):
        owners = ("order.add()", "orders.get('first')", "f()", "(1 + 2)", "[x for x in y]", "order.total", "f'{x}'")
        for code in (f"{owner}.x" for owner in owners):
            value = self.look(code)
            self.assertEqual([], value["completions"], code)
            self.assertTrue(value["because"], code)

    def test_nothing_is_known_of_a_name_that_is_not_there(self):
        value = self.look("nothing.x")
        self.assertEqual(([], None), (value["completions"], value["because"]))

    def test_attributes_that_code_makes_up_are_said_to_be(self):
        class Dynamic:
            def __getattr__(self, name):
                raise AssertionError("was asked")

        self.namespace["dynamic"] = Dynamic()
        self.assertIn("Dynamic", self.look("dynamic.x")["because"])

    def test_keys_of_a_dict_are_offered_as_they_are_written(self):
        self.assertEqual("orders['first']", self.one("orders['fi|"))
        self.assertEqual("orders['first']", self.one("orders['fi|']"))
        self.assertEqual("orders['first']", self.one("orders['fi|]"))
        self.assertEqual('orders["it\'s"]', self.one('orders["it|'))
        self.assertEqual("orders['it\\'s']", self.one("orders['it|"))
        self.assertEqual("orders['a \"b\"']", self.one("orders['a|"))
        self.assertEqual("orders[b'raw']", self.one("orders[b'|"))
        self.assertEqual(["'first']", '"it\'s"]', "'a \"b\"']", "5]", "b'raw']"], self.words("orders[")[:5])

    def test_keys_are_read_through_paths_and_of_no_other_mappings(self):
        self.namespace["nested"] = {"outer": collections.OrderedDict(inner=1)}
        self.assertEqual("nested['outer']['inner']", self.one("nested['outer']['|"))
        self.namespace["other"] = types.SimpleNamespace(a=1)
        self.assertIn("SimpleNamespace", self.look("other['|")["because"])


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
    def test_modules_that_are_loaded_or_lie_on_the_path(self):
        self.assertIn("json", self.words("import js"))
        self.assertEqual(["path"], self.words("import os.pa"))
        self.assertEqual(["path"], self.words("import json, os.pa"))
        self.assertEqual(["decoder"], self.words("from json.dec"))
        self.assertIn("this", self.words("import thi"))
        self.assertNotIn("this", sys.modules)

    def test_names_of_a_loaded_module_and_modules_below_it(self):
        self.assertIn("join", self.words("from os.path import jo"))
        self.assertIn("join", self.words("from os.path import (split,\n    jo"))
        self.assertIn("decoder", self.words("from json import "))

    def test_the_words_of_the_statement_itself(self):
        self.assertEqual(["import"], self.words("from json "))
        self.assertEqual(["as"], self.words("import json "))
        self.assertEqual(["as"], self.words("from json import loads "))
        self.assertEqual([], self.words("import json as "))

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
        self.assertIn("imago", self.words("import imag"))
        self.assertEqual([], self.words("import imago."))
        for code in ("from imago import ", "imago."):
            self.assertIn("listen", self.words(code))
            self.assertNotIn("looking", self.words(code))


class Guarded(Completing):
    """What other completers evaluate under guard: calls, operators, comparisons and items of user types are not run."""

    def setUp(self):
        super().setUp()

        def fired(*_):
            raise AssertionError("was run")

        hooks = dict.fromkeys(("__getitem__", "__add__", "__call__", "__eq__", "__neg__", "__bool__", "__len__"), fired)
        self.hostile = type("Hostile", (), {**hooks, "__hash__": lambda _: hash("key"), "field": 1})
        self.namespace.update(
            h=self.hostile(),
            keyed={self.hostile(): 1},
            sub=type("Sub", (dict,), {"__getitem__": fired, "__iter__": fired})(key=1),
            named=collections.namedtuple("Named", "left right")(1, "a"),
            counts=collections.Counter("aab"),
            default=collections.defaultdict(fired, here=[1]),
        )

    def test_operators_calls_and_items_of_user_types_are_not_run(self):
        for owner in ("h['x']", "(h + 1)", "h()", "(-h)", "(h == 1)", "(not h)", "(h if h else 1)", "h[0:1]", "len(h)"):
            code = f"{owner}.x"
            value = self.look(code)
            self.assertEqual([], value["completions"], code)
            self.assertTrue(value["because"], code)

    def test_a_missing_key_of_a_default_dict_makes_none(self):
        self.assertEqual("default['here']", self.one("default['he|"))
        self.look("default['missing'].")
        self.assertEqual(["here"], list(self.namespace["default"]))

    def test_keys_that_decide_themselves_are_passed_by(self):
        self.assertEqual([], self.words("keyed['|"))
        self.assertEqual("sub['key']", self.one("sub['|"))

    def test_fields_of_built_in_types_are_followed(self):
        self.assertIn("upper", self.words("named.right."))
        self.assertIn("left", self.words("named."))
        self.assertIn("most_common", self.words("counts."))
        self.assertIn("field", self.words("h."))
        self.assertIn("real", self.words("1 .re"))
        self.assertIn("keys", self.words("{}.ke"))
        self.assertIn("append", self.words("[1, 2].app"))
        self.assertIn("add", self.words("{1}.ad"))


if __name__ == "__main__":
    unittest.main()
