"""Who uses a name, and who holds what it stands for."""

import json
import sys
import types
import unittest

from imago.handles import Handles
from imago.looking.references import references
from tests.looking_program import Program
from tests.looking_support import FIRED, Keyed, Meta, make

ORDERS = """
class Order:
    def total(self): return 1
    def twice(self): return self.total() * 2
    @staticmethod
    def made(): return Order()

class Special(Order):
    def mine(self): return self.total()

def total(order): return order.total()
def inside(order): return total(order)

RATE = 3
def rate(): return RATE
def raise_it():
    global RATE
    RATE = 4
"""

WEB = """
import shop.orders as orders
import shop
from shop.orders import total as count, Order

def by_alias(order): return count(order)
def by_module(order): return orders.total(order) + orders.RATE
def by_path(order): return shop.orders.total(order)
def by_import(order):
    from shop.orders import total
    return total(order)
def by_relative_import():
    from .orders import Order
    return Order()
def by_nested():
    def deep(): return count(1)
    return deep
async def by_coroutine(): return orders.total(1)
def by_text(): return getattr(orders, 'total')
def unknown(order): return order.total()

handlers = {'total': count}
class Registry:
    pass
registry = Registry()
registry.how = [count]
def default(how=count): pass
"""


class References(Program):
    def setUp(self):
        super().setUp()
        self.load("orders", ORDERS)
        self.load("web", WEB)

    def look(self, name, limit=100):
        looked = references(self.image, {"name": name, "limit": limit})
        json.dumps(looked, ensure_ascii=False, allow_nan=False).encode("utf-8")
        self.assertEqual("found", looked["type"], looked)
        return looked["value"]

    def froms(self, name, kind):
        return sorted(row["from"] for row in self.look(name)["references"] if row["kind"] == kind)

    def test_code_that_leads_to_a_function_is_found_however_it_names_it(self):
        ways = ("alias", "coroutine", "import", "module", "nested.<locals>.deep", "path")
        expected = [*(f"shop.web.by_{way}" for way in ways), "shop.orders.inside"]
        self.assertEqual(sorted(expected), self.froms("shop.orders.total", "uses"))

    def test_a_use_has_the_file_and_line_where_it_is(self):
        rows = {row["from"]: row for row in self.look("shop.orders.total")["references"]}
        place = rows["shop.web.by_import"]
        line = WEB.split("\n").index("    from shop.orders import total") + 1
        self.assertEqual((self.path("web"), line), (place["file"], place["line"]))

    def test_who_holds_a_function_is_told_by_name(self):
        self.assertEqual(
            [
                "a dict in shop.web.handlers",
                "a list in an instance of shop.web.Registry (its how)",
                "shop.web.count",
                "the function shop.web.default",
            ],
            self.froms("shop.orders.total", "holds"),
        )

    def test_imago_holds_nothing_that_is_told(self):
        listening = sys.modules["imago"]
        listening.held = self.namespace["held"] = {}
        try:
            held = self.look("held")["references"]
        finally:
            del listening.held
        self.assertEqual([], [row for row in held if row["from"].startswith("imago")])

    def test_a_class_is_found_where_it_is_called_inherited_and_held(self):
        uses = ["shop.orders.Order.made", "shop.web.by_relative_import"]
        self.assertEqual(uses, self.froms("shop.orders.Order", "uses"))
        holds = self.froms("shop.orders.Order", "holds")
        self.assertEqual(["shop.orders.Special, which inherits from it", "shop.web.Order"], holds)

    def test_a_method_is_found_on_its_own_class_and_below_and_others_that_may_mean_it_are_said(self):
        seen = self.look("shop.orders.Order.total")
        uses = ["shop.orders.Order.twice", "shop.orders.Special.mine"]
        self.assertEqual(uses, self.froms("shop.orders.Order.total", "uses"))
        self.assertTrue([line for line in seen["searched"] if "shop.web.unknown" in line])

    def test_a_number_is_only_its_variable(self):
        uses = ["shop.orders.raise_it", "shop.orders.rate", "shop.web.by_module"]
        self.assertEqual(uses, self.froms("shop.orders.RATE", "uses"))
        self.assertEqual([], self.froms("shop.orders.RATE", "holds"))

    def test_a_value_behind_a_handle_has_holders(self):
        handle = self.image.handles.keep_value(sys.modules["shop.web"].handlers)
        self.assertIn("shop.web.handlers", self.froms(handle, "holds"))

    def test_what_could_not_be_searched_is_said(self):
        seen = self.look("shop.orders.total")
        self.assertTrue(seen["complete"])
        self.assertTrue([line for line in seen["searched"] if "getattr" in line])
        self.assertTrue([line for line in seen["searched"] if "class bodies" in line])

    def test_a_limit_is_kept_and_the_total_told(self):
        seen = self.look("shop.orders.total", limit=3)
        self.assertEqual((3, 11), (len(seen["references"]), seen["total"]))

    def test_a_name_that_is_nothing_is_not_found(self):
        self.assertEqual("not_found", references(self.image, {"name": "shop.orders.totl", "limit": 5})["type"])


class Quiet(unittest.TestCase):
    def test_no_hook_of_what_is_looked_for_or_met_is_run(self):
        class Holder(metaclass=Meta):
            pass

        value = []
        names = {"x": value, "trap": make(), "keyed": {Keyed(): value}, "list": make(list)}
        list.append(names["list"], value)
        names["holder"] = object.__new__(Holder)
        image = types.SimpleNamespace(namespace=names, handles=Handles("abcd1234"))
        FIRED.clear()
        for name in ("x", "trap", "list", "holder"):
            references(image, {"name": name, "limit": 50})
        self.assertEqual([], FIRED)


if __name__ == "__main__":
    unittest.main()
