"""What expressions lead to when nothing may be run."""

import collections
import enum
import functools
import json
import threading
import types
import unittest

from imago import looking
from tests.daemon import LONG
from tests.looking_image import ImageCase

ORDER = f"{__name__}.Order"


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

#: Expressions and the text of what they lead to.
FOUND = {
    "[1, {'a': (2, {3})}]": "[1, {'a': (2, {3})}]",
    "'a' 'b'": "'ab'",
    "text": "'hello'",
    " len ": "<built-in function len>",
    "order.id": "7",
    "orders[0].customer.name": "'Ada'",
    'orders[-1].__dict__["customer"].name': "'Ada'",
    "order.kind": f"'order' as stored in {ORDER}",
    "order.__class__": f"<class '{ORDER}'>",
    "Order.__name__": "'Order'",
    "point.y": "4",
    "Colour.RED.value": "1",
    "error.args": "('k',)",
    "(5).real": "5",
    "order.pay": f"<function {ORDER}.pay> as stored in {ORDER}",
    "order.load": f"<function {ORDER}.load> the staticmethod as stored in {ORDER}",
    "Order.make": f"<function {ORDER}.make> the classmethod as stored in {ORDER}",
    "Order.total": f"<property fget=<function {ORDER}.total>, fset=None, fdel=None> as stored in {ORDER}",
    "json.dumps": "<function json.dumps>",
    "numbers[-1]": "9",
    "numbers[2:6:2]": "[2, 4]",
    "text[1]": "'e'",
    "d[True]": "'one'",
    "d[1.0]": "'one'",
    "[1, 2, 3][2]": "3",
    "keys[99999]": "None",
    "zeros[5000000:5000002]": "b'\\x00\\x00'",
    "@abcd.1.customer.name": "'Ada'",
    " @abcd.1.items[1] ": "2",
}

#: Expressions that only running them could answer, and the code that is named.
RUNS = {
    "order.total": f"property of {ORDER}",
    "order.cached": "cached_property",
    "dynamic.anything": "__getattr__",
    "strict.anything": "__getattribute__",
    "module.anything": "module",
    "local.anything": "local",
    "keys[199999]": "100000",
    "zeros[1:]": "copy",
    "counter['a']": "__getitem__",
    "counter[1:2]": "__getitem__",
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
    "@abcd.1.pay()": "a call",
    "@abcd.1 + 1": "an operator",
}

MALFORMED = ("", "   ", "x = 1", "import os", "a b", "'a", "x\0y", "\ud800", "'\udc80'", "@", "@zz", "#", "é…")

DEEP = (
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
)


class Resolving(ImageCase):
    def setUp(self):
        super().setUp()
        module = types.ModuleType("m")
        module.__dict__["__getattr__"] = lambda name: 1
        self.namespace.update(
            order=Order(),
            Order=Order,
            orders=[Order()],
            dynamic=Dynamic(),
            strict=Strict(),
            Colour=Colour,
            point=Point(3, 4),
            d={"a": 1, 1: "one", (1, "x"): "t", b"a": "b", None: "n", 2.5: "f", -3: "m"},
            numbers=list(range(10)),
            text="hello",
            json=json,
            error=KeyError("k"),
            counter=collections.Counter("a"),
            keys=dict.fromkeys(range(200_000)),
            zeros=bytes(10**7),
            module=module,
            local=threading.local(),
        )
        self.handles.keep_value(self.namespace["order"])

    def look(self, expr):
        return self.ask("inspect", expr=expr)

    def shown(self, expr):
        return self.found("inspect", expr=expr)["repr"]["text"]

    def test_what_is_stored_is_found(self):
        for expr, text in FOUND.items():
            with self.subTest(expr):
                self.assertEqual(text, self.shown(expr))

    def test_literals_and_keys_are_values(self):
        for source in ("42", "-1.5", "+3", "1+2j", "-1-2j", "'a'", "b'a'", "None", "True", "...", "()", "(1, -2)"):
            self.assertEqual(repr(eval(source)), self.shown(source))
        for key in ("'a'", "1", '(1, "x")', "b'a'", "None", "2.5", "-3"):
            self.assertEqual(repr(eval(f"d[{key}]", dict(self.namespace))), self.shown(f"d[{key}]"))
        self.namespace["len"] = 3
        self.assertEqual("3", self.shown("len"))

    def test_anything_that_would_run_needs_evaluation_and_is_named(self):
        for expr, named in RUNS.items():
            with self.subTest(expr):
                looked = self.look(expr)
                self.assertEqual("needs_evaluation", looked["type"])
                self.assertIn(named, looked["because"])

    def test_what_an_instance_stores_behind_a_descriptor_is_shown_and_said_to_be_the_stored_one(self):
        class Stored:
            @property
            def total(self):
                raise AssertionError("was read")

        self.namespace["stored"] = stored = Stored()
        stored.__dict__["total"] = [3, Customer("Ada")]
        found = self.found("inspect", expr="stored.total")
        self.assertEqual(2, found["size"]["len"])
        self.assertRegex(found["note"], r"^`stored.total` is shown as the instance stores it; .* a property of .*Stored")
        inner = self.found("inspect", expr="stored.total[1].name")
        self.assertEqual(("'Ada'", found["note"]), (inner["repr"]["text"], inner["note"]))
        self.assertEqual("property", self.found("describe", name="stored.total")["kind"])

    def test_a_text_is_found_among_a_million_keys_and_no_other_key_is_asked(self):
        self.namespace["many"] = many = dict.fromkeys(map(str, range(10**6)), 0)
        many["last"] = 1
        self.assertEqual("1", self.shown("many['last']"))
        self.assertIn("more than 100000 entries", self.look("many['none']")["because"])

    def test_what_is_not_there_is_not_found_and_near_names_are_offered(self):
        self.namespace["config"] = {"colour": 1, "size": 2}
        for expr, nearest in {
            "order.note": [],
            "order.custmer": ["customer"],
            "numbers[10]": [],
            'numbers["a"]': [],
            "d[[]]": [],
            "numbers[::0]": [],
            "d[9]": [],
            "config['color']": ["colour"],
            "zzzzzzzzz": [],
            "@abcd.1.nope": ["note"],
        }.items():
            looked = self.look(expr)
            self.assertEqual("not_found", looked["type"], expr)
            self.assertEqual(nearest, looked["nearest"], expr)
        looked = self.look("ordr")
        self.assertEqual(("`ordr`", ["order", "Order"]), (looked["what"], looked["nearest"][:2]))
        self.assertLessEqual(len(looked["nearest"]), 5)

    def test_what_is_called_so_in_a_module_of_the_program_is_nearer_than_what_is_spelled_like_it(self):
        self.load("shop_of_test", "RATES_OF_TEST = [1]\ndef rate_of_test(): pass\n")
        self.load("sales_of_test", "from shop_of_test import rate_of_test\n")
        self.namespace["RATE_OF_TESTS"] = 1
        for name in ("RATES_OF_TEST", "rate_of_test"):
            found = self.assert_not_found("inspect", expr=name + "[0]", nearest=f"shop_of_test.{name}")["nearest"]
            self.assertEqual([f"shop_of_test.{name}", "RATE_OF_TESTS"], found[:2])

    def test_a_loaded_module_is_found_by_its_name_though_nothing_at_the_top_level_is_called_so(self):
        self.load("seq_of_test", "def _skip(n):\n    return n\n")
        self.load("shop_of_test", "", file="shop_of_test/__init__.py")
        self.load("shop_of_test.models", "class Order:\n    rate = 2\n")
        self.assertEqual("<function seq_of_test._skip>", self.shown("seq_of_test._skip"))
        self.assertEqual("<class 'shop_of_test.models.Order'>", self.shown("shop_of_test.models.Order"))
        self.assertEqual("2 as stored in shop_of_test.models.Order", self.shown("shop_of_test.models.Order.rate"))
        self.assertEqual("<module 'seq_of_test'>", self.shown("seq_of_test"))
        self.assert_not_found("inspect", expr="seq_of_test._skop", nearest="_skip")

    def test_a_name_at_the_top_level_comes_before_a_module_of_that_name(self):
        self.load("order_of_test", "kind = 'module'\n")
        self.namespace["order_of_test"] = types.SimpleNamespace(kind="mine")
        self.assertEqual("'mine'", self.shown("order_of_test.kind"))

    def test_a_path_that_fails_from_the_top_level_goes_on_to_the_loaded_module(self):
        # As under `uvicorn main:app`, whose own script has a function called so.
        self.load("main_of_test", "seen = [1]\ndef total(items):\n    return len(items)\n")
        self.namespace["main_of_test"] = lambda: None
        found = self.found("inspect", expr="main_of_test.seen[0]")
        self.assertEqual("1", found["repr"]["text"])
        self.assertEqual(
            "`main_of_test` is the loaded module; at the top level, `main_of_test` is something else", found["note"]
        )
        self.assertEqual("callable", self.found("inspect", expr="main_of_test")["kind"])
        self.assertIn("return len(items)", self.source("main_of_test.total"))
        offered = self.found("complete", text="main_of_test.to", cursor=15)["completions"]
        self.assertEqual(["total"], [one["text"] for one in offered])

    def test_a_module_is_not_asked_for_what_it_does_not_store(self):
        self.load("lazy_of_test", "def __getattr__(name):\n    raise AssertionError('was asked')\n")
        self.assertEqual("needs_evaluation", self.look("lazy_of_test.anything")["type"])
        self.assertEqual("needs_evaluation", self.look("lazy_of_test.deep.er")["type"])

    def test_what_is_no_expression_is_malformed_with_its_place(self):
        looked = self.look("(1 +\n *)")
        self.assertEqual(("malformed", 2), (looked["type"], looked["line"]))
        self.assertIn(looked["column"], (2, 3))
        for source in (*MALFORMED, "@abcd.1 x", "@abcd.1.5"):
            self.assertEqual("malformed", self.look(source)["type"], repr(source))

    def test_deep_and_huge_sources_are_malformed_and_no_crash(self):
        outcomes = []
        # The looking threads have the ordinary stack of a thread, which may be smaller than the main one's.
        thread = threading.Thread(target=lambda: outcomes.extend(self.look(source) for source in DEEP))
        thread.start()
        thread.join()
        self.assertEqual(len(DEEP), len(outcomes))
        self.assertLess(max(len(json.dumps(outcome)) for outcome in outcomes), 20_000)

    def test_handles_that_lead_nowhere_say_why(self):
        for handle, because in (("@ffff.1", "another life"), ("@abcd.9", "never"), ("@out.3", "")):
            looked = self.look(handle)
            self.assertEqual(("stale_handle", handle), (looked["type"], looked["handle"]))
            self.assertIn(because, looked["because"])

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
            for _ in range(20 if LONG else 5):
                self.assertEqual("1999", self.shown("name_1999"))
                self.assert_not_found("inspect", expr="no_such_name_at_all")
                page = looking.globals_page(self.namespace, {"limit": 3, "modules": False, "filter": "NAME_19"})
                names = [one["name"] for one in page["value"]["globals"]]
                self.assertEqual(["name_19", "name_190", "name_1900"], names)
        finally:
            stop.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
