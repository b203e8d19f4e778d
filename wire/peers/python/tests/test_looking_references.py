"""Who uses a name, and who holds what it stands for."""

import gc
import sys
import unittest

from tests.looking_image import ImageCase
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


class References(ImageCase):
    def setUp(self):
        super().setUp()
        gc.collect()
        self.load("shop", "", file="shop/__init__.py")
        self.load("shop.orders", ORDERS)
        self.web = self.load("shop.web", WEB)

    def look(self, name, limit=100):
        return self.found("references", name=name, limit=limit)

    def froms(self, name, kind):
        return sorted(row["from"] for row in self.look(name)["references"] if row["kind"] == kind)

    def test_code_that_leads_to_a_thing_and_what_holds_it_are_told_by_name(self):
        ways = ("alias", "coroutine", "import", "module", "nested.<locals>.deep", "path")
        orders, web = "shop.orders.", "shop.web."
        for name, uses, holds in (
            (
                "total",
                [*(f"{web}by_{way}" for way in ways), orders + "inside"],
                [
                    "a dict in shop.web.handlers",
                    "a list in an instance of shop.web.Registry (its how)",
                    "shop.web.count",
                    "the function shop.web.default",
                ],
            ),
            (
                "Order",
                [orders + "Order.made", web + "by_relative_import"],
                ["shop.orders.Special, which inherits from it", "shop.web.Order"],
            ),
            ("Order.total", [orders + "Order.twice", orders + "Special.mine"], []),
            # That others hold the same number says nothing.
            ("RATE", [orders + "raise_it", orders + "rate", web + "by_module"], []),
        ):
            with self.subTest(name):
                self.assertEqual(sorted(uses), self.froms(orders + name, "uses"))
                self.assertEqual(holds, self.froms(orders + name, "holds"))
        handle = self.handles.keep_value(self.web.handlers)
        self.assertIn("shop.web.handlers", self.froms(handle, "holds"))

    def test_a_use_has_the_file_and_line_where_it_is(self):
        rows = {row["from"]: row for row in self.look("shop.orders.total")["references"]}
        place = rows["shop.web.by_import"]
        line = WEB.split("\n").index("    from shop.orders import total") + 1
        self.assertEqual((self.web.__file__, line), (place["file"], place["line"]))

    def test_imago_holds_nothing_that_is_told(self):
        listening = sys.modules["imago"]
        listening.held = self.namespace["held"] = {}
        self.addCleanup(listening.__dict__.pop, "held")
        self.assertEqual([], [row for row in self.look("held")["references"] if row["from"].startswith("imago")])

    def test_what_could_not_be_searched_is_said_and_a_limit_is_kept(self):
        for name, hidden in (
            ("total", "getattr"),
            ("total", "class bodies"),
            ("Order.total", "shop.web.unknown"),
        ):
            seen = self.look(f"shop.orders.{name}")
            self.assertTrue(seen["complete"])
            self.assertTrue([line for line in seen["searched"] if hidden in line], hidden)
        seen = self.look("shop.orders.total", limit=3)
        self.assertEqual((3, 11), (len(seen["references"]), seen["total"]))
        self.assert_not_found("references", name="shop.orders.totl", limit=5)

    def test_living_instances_of_a_class_are_counted_in_words_that_fit_their_number(self):
        orders = sys.modules["shop.orders"]
        self.namespace["kept"] = [orders.Order()]
        self.assertIn("It has 1 living instance, not listed.", self.look("shop.orders.Order")["searched"])
        self.namespace["kept"].append(orders.Order())
        self.assertIn("It has 2 living instances, not listed.", self.look("shop.orders.Order")["searched"])

    def test_no_hook_of_what_is_looked_for_or_met_is_run(self):
        value = []
        self.namespace.update({"x": value, "trap": make(), "keyed": {Keyed(): value}, "list": make(list)})
        list.append(self.namespace["list"], value)
        self.namespace["holder"] = object.__new__(Meta("Holder", (), {}))
        FIRED.clear()
        for name in ("x", "trap", "list", "holder"):
            self.look(name)
        self.assertEqual([], FIRED)


if __name__ == "__main__":
    unittest.main()
