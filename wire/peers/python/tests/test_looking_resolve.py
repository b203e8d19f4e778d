"""What expressions lead to when nothing may be run."""

import collections
import enum
import functools
import json
import threading
import types
import unittest

from imago import looking
from imago.handles import Handles


class Customer:
    def __init__(self, name):
        self.name = name


class Order:
    kind = "order"
    __slots__ = ("id", "note", "__dict__")

    def __init__(self):
        self.id = 7
        self.customer = Customer("Ada")
        self.items = [1, 2, 3]

    @property
    def total(self):
        raise AssertionError("was read")

    @functools.cached_property
    def cached(self):
        raise AssertionError("was read")

    @staticmethod
    def load(path):
        return path

    @classmethod
    def make(cls):
        return cls()

    def pay(self, by):
        return by


class Dynamic:
    def __getattr__(self, name):
        raise AssertionError("was asked")


class Strict:
    def __getattribute__(self, name):
        raise AssertionError("was asked")


class Colour(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


class Resolving(unittest.TestCase):
    def setUp(self):
        self.handles = Handles("abcd1234")
        self.namespace = {
            "order": Order(),
            "Order": Order,
            "orders": [Order()],
            "dynamic": Dynamic(),
            "strict": Strict(),
            "Colour": Colour,
            "point": Point(3, 4),
            "d": {"a": 1, 1: "one", (1, "x"): "t", b"a": "b", None: "n", 2.5: "f", -3: "m"},
            "numbers": list(range(10)),
            "text": "hello",
            "json": json,
            "error": KeyError("k"),
        }

    def look(self, expr):
        return looking.inspect_static(self.namespace, expr, self.handles)

    def text(self, expr):
        looked = self.look(expr)
        self.assertEqual("found", looked["type"], (expr, looked))
        return looked["value"]["repr"]["text"]

    def because(self, expr):
        looked = self.look(expr)
        self.assertEqual("needs_evaluation", looked["type"], (expr, looked))
        return looked["because"]

    def test_literals_are_values(self):
        for source in ("42", "-1.5", "+3", "1+2j", "-1-2j", "'a'", "b'a'", "None", "True", "...", "()", "(1, -2)"):
            self.assertEqual(repr(eval(source)), self.text(source))
        self.assertEqual("[1, {'a': (2, {3})}]", self.text("[1, {'a': (2, {3})}]"))
        self.assertEqual("'ab'", self.text("'a' 'b'"))

    def test_names_are_looked_up_at_the_top_and_then_among_the_builtins(self):
        self.assertEqual("'hello'", self.text("text"))
        self.assertEqual("<built-in function len>", self.text(" len "))
        self.namespace["len"] = 3
        self.assertEqual("3", self.text("len"))

    def test_stored_attributes_are_followed(self):
        self.assertEqual("7", self.text("order.id"))
        self.assertEqual("'Ada'", self.text("orders[0].customer.name"))
        self.assertEqual("'Ada'", self.text('orders[-1].__dict__["customer"].name'))
        self.assertEqual("'order' as stored in tests.test_looking_resolve.Order", self.text("order.kind"))
        self.assertEqual("<class 'tests.test_looking_resolve.Order'>", self.text("order.__class__"))
        self.assertEqual("'Order'", self.text("Order.__name__"))
        self.assertEqual("4", self.text("point.y"))
        self.assertEqual("1", self.text("Colour.RED.value"))
        self.assertEqual("('k',)", self.text("error.args"))
        self.assertEqual("5", self.text("(5).real"))

    def test_what_stands_in_a_class_is_shown_as_stored(self):
        place = "as stored in tests.test_looking_resolve.Order"
        name = "tests.test_looking_resolve.Order"
        self.assertEqual(f"<function {name}.pay> {place}", self.text("order.pay"))
        self.assertEqual(f"<function {name}.load> the staticmethod {place}", self.text("order.load"))
        self.assertEqual(f"<function {name}.make> the classmethod {place}", self.text("Order.make"))
        self.assertIn("<property", self.text("Order.total"))
        self.assertEqual("<function json.dumps>", self.text("json.dumps"))

    def test_attributes_that_run_code_need_evaluation_and_the_code_is_named(self):
        self.assertIn("property of tests.test_looking_resolve.Order", self.because("order.total"))
        self.assertIn("cached_property", self.because("order.cached"))
        self.assertIn("__getattr__", self.because("dynamic.anything"))
        self.assertIn("__getattribute__", self.because("strict.anything"))
        module = types.ModuleType("m")
        module.__dict__["__getattr__"] = lambda name: 1
        self.namespace["m"] = module
        self.assertIn("module", self.because("m.anything"))
        self.namespace["local"] = threading.local()
        self.because("local.anything")

    def test_an_empty_slot_and_a_missing_attribute_are_not_found(self):
        self.assertEqual("not_found", self.look("order.note")["type"])
        looked = self.look("order.custmer")
        self.assertEqual(("not_found", ["customer"]), (looked["type"], looked["nearest"]))

    def test_indexes_keys_and_slices_of_built_in_containers_are_followed(self):
        self.assertEqual("9", self.text("numbers[-1]"))
        self.assertEqual("[2, 4]", self.text("numbers[2:6:2]"))
        self.assertEqual("'e'", self.text("text[1]"))
        for key in ("'a'", "1", '(1, "x")', "b'a'", "None", "2.5", "-3"):
            self.assertEqual(repr(eval(f"d[{key}]", dict(self.namespace))), self.text(f"d[{key}]"))
        self.assertEqual("'one'", self.text("d[True]"))
        self.assertEqual("'one'", self.text("d[1.0]"))
        self.assertEqual("3", self.text("[1, 2, 3][2]"))

    def test_indexes_out_of_range_and_unknown_keys_are_not_found(self):
        for expr in ("numbers[10]", 'numbers["a"]', "d['b']", "d[[]]", "numbers[::0]", "d[9]"):
            self.assertEqual("not_found", self.look(expr)["type"], expr)
        self.namespace["config"] = {"colour": 1, "size": 2}
        self.assertEqual(["colour"], self.look("config['color']")["nearest"])

    def test_a_dict_of_more_entries_than_may_be_compared_needs_evaluation(self):
        self.namespace["big"] = dict.fromkeys(range(200_000))
        self.assertEqual("None", self.text("big[99999]"))
        self.assertIn("100000", self.because("big[199999]"))

    def test_a_slice_that_would_copy_much_needs_evaluation(self):
        self.namespace["big"] = bytes(10**7)
        self.assertIn("copy", self.because("big[1:]"))
        self.assertEqual("b'\\x00\\x00'", self.text("big[5000000:5000002]"))

    def test_an_index_into_anything_else_needs_evaluation(self):
        self.namespace["counter"] = collections.Counter("a")
        self.assertIn("__getitem__", self.because("counter['a']"))
        self.assertIn("__getitem__", self.because("counter[1:2]"))

    def test_anything_that_would_run_needs_evaluation_and_is_named(self):
        for expr, named in {
            "f()": "a call",
            "1 + 1": "an operator",
            "not text": "an operator",
            "a and b": "an operator",
            "1 < 2": "a comparison",
            "lambda: 1": "a lambda",
            "1 if text else 2": "a conditional",
            "[x for x in d]": "a comprehension",
            "{x: 1 for x in d}": "a comprehension",
            "(x for x in d)": "a generator expression",
            "f'{text}'": "an f-string",
            "(y := 1)": "an assignment",
            "[*d]": "an unpacking",
            "{**d}": "an unpacking",
            "f().a.b": "a call",
            "numbers[text]": "index",
            "d[f()]": "index",
            "[text]": "no literal",
            "{[]: 1}": "TypeError",
        }.items():
            self.assertIn(named, self.because(expr), expr)

    def test_an_unknown_name_is_not_found_and_near_ones_are_offered(self):
        looked = self.look("ordr")
        self.assertEqual(("not_found", "`ordr`"), (looked["type"], looked["what"]))
        self.assertEqual(["order", "Order"], looked["nearest"][:2])
        self.assertLessEqual(len(looked["nearest"]), 5)
        self.assertEqual([], self.look("zzzzzzzzz")["nearest"])

    def test_what_is_no_expression_is_malformed_with_its_place(self):
        looked = self.look("(1 +\n *)")
        self.assertEqual(("malformed", 2), (looked["type"], looked["line"]))
        self.assertIn(looked["column"], (2, 3))
        for source in (
            "",
            "   ",
            "x = 1",
            "import os",
            "a b",
            "'a",
            "x\0y",
            "\ud800",
            "'\udc80'",
            "@",
            "@zz",
            "#",
            "é…",
        ):
            self.assertEqual("malformed", self.look(source)["type"], repr(source))

    def test_deep_and_huge_sources_are_malformed_and_no_crash(self):
        for source in (
            "(" * 60 + "1" + ")" * 60,
            "[" * 5000,
            "-" * 8000 + "1",
            "~" * 8000,
            "not " * 2000 + "1",
            "a" + ".a" * 4000,
            "a" + "[0]" * 2600,
            "a" + "()" * 4000,
            "1" + "+1" * 4000,
            "2" + "**2" * 2700,
            "lambda:" * 1100 + "1",
            "1 if 1 else " * 600 + "1",
            "1 and " * 1300 + "1",
            "await " * 1300 + "a",
            "1" * 8000,
            "'" + "a" * 10**6 + "'",
            "a, " * 2700,
            "{1:" * 60 + "1" + "}" * 60,
            "\\" * 8000,
            "\\\n" * 4000 + "1",
            "f'{" * 60,
        ):
            outcomes = []
            # The looking threads have the ordinary stack of a thread, which may be smaller than the main one's.
            thread = threading.Thread(target=lambda: outcomes.append(self.look(source)))
            thread.start()
            thread.join()
            self.assertEqual(1, len(outcomes), source[:40])
            self.assertLess(len(json.dumps(outcomes)), 20_000)

    def test_a_handle_is_a_root_of_its_own(self):
        handle = self.handles.keep_value(self.namespace["order"])
        self.assertEqual("@abcd.1", handle)
        self.assertEqual("'Ada'", self.text("@abcd.1.customer.name"))
        self.assertEqual("2", self.text(" @abcd.1.items[1] "))
        self.assertIn("a call", self.because("@abcd.1.pay()"))
        self.assertIn("an operator", self.because("@abcd.1 + 1"))
        self.assertEqual("`@abcd.1.nope`", self.look("@abcd.1.nope")["what"])
        self.assertEqual("malformed", self.look("@abcd.1 x")["type"])
        self.assertEqual("malformed", self.look("@abcd.1.5")["type"])

    def test_handles_that_lead_nowhere_say_why(self):
        self.assertIn("another life", self.look("@ffff.1")["because"])
        self.assertIn("never", self.look("@abcd.9")["because"])
        self.assertEqual(("stale_handle", "@out.3"), tuple(self.look("@out.3")[key] for key in ("type", "handle")))

    def test_a_namespace_that_changes_meanwhile_is_read_all_the_same(self):
        self.namespace.update((f"name_{number}", number) for number in range(2000))
        stop = threading.Event()

        def churn():
            number = 0
            while not stop.is_set():
                number += 1
                self.namespace[f"new_{number % 5000}"] = number
                self.namespace.pop(f"new_{(number * 7) % 5000}", None)

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            for _ in range(100):
                self.assertEqual("1999", self.text("name_1999"))
                self.assertEqual("not_found", self.look("no_such_name_at_all")["type"])
                page = looking.globals_page(self.namespace, {"limit": 3, "modules": False, "filter": "NAME_19"})
                self.assertEqual(
                    ["name_19", "name_190", "name_1900"], [one["name"] for one in page["value"]["globals"]]
                )
        finally:
            stop.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
