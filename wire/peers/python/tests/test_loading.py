"""Running files and modules again: where, what of them, what it tells of the old, and what is left of a failure."""

import itertools
import os
import sys
import types
import unittest

from imago import loading
from tests.daemon import KernelCase
from tests.looking_program import Program

ORDERS = """
class Order:
    def __init__(self, price):
        self.price = price
    def total(self):
        return self.price

def total(order):
    return order.total()

def obsolete():
    pass

RATE = 1
registry = {}
"""

FUNCTION = {"kind": "function", "instances": None}


class Loading(Program):
    def run_file(self, file, names=None):
        return loading.load(self.evaluator, file, names)

    def test_a_file_of_no_module_is_run_at_the_top_level(self):
        file = self.write("script", "import os\nhere = __file__\ndef f(): return 1\n")
        loaded = self.run_file(file)
        self.assertEqual((None, file, ["os", "here", "f"]), (loaded["module"], loaded["file"], loaded["added"]))
        self.assertEqual((file, 1), (self.namespace["here"], self.namespace["f"]()))
        self.assertNotIn("__file__", self.namespace)

    def test_the_file_of_a_loaded_module_is_run_in_it(self):
        orders = self.load("orders", ORDERS)
        registry = orders.registry
        text = ORDERS.replace("self.price\n\n", "self.price * 2\n\n").replace("def obsolete", "def new")
        file = self.write("orders", text)
        loaded = self.run_file(file)
        self.assertEqual(("shop.orders", ["new"], ["obsolete"]), (loaded["module"], loaded["added"], loaded["kept"]))
        self.assertEqual(["Order", "total", "registry"], loaded["replaced"])
        self.assertEqual(6, orders.Order(3).total())
        self.assertIsNot(registry, orders.registry)
        self.assertNotIn("Order", self.namespace)

    def test_the_file_of_a_script_whose_main_thread_has_ended_is_run_in_it(self):
        orders = self.load("orders", ORDERS)
        # So much of its file is left in `__main__` once the end of the script was reached.
        file = orders.__dict__.pop("__file__")
        loaded = self.run_file(file, ["total"])
        self.assertEqual(("shop.orders", ["total"]), (loaded["module"], loaded["replaced"]))
        self.assertNotIn("__file__", orders.__dict__)

    def test_names_run_only_the_statements_that_bind_them_in_their_order(self):
        orders = self.load("orders", ORDERS)
        registry, order = orders.registry, orders.Order
        file = self.write("orders", ORDERS + "\nRATE = 2\ndef total(o): return -1\n")
        loaded = self.run_file(file, ["total", "RATE"])
        self.assertEqual((["total", "RATE"], [], []), (loaded["replaced"], loaded["added"], loaded["kept"]))
        self.assertEqual((-1, 2), (orders.total(None), orders.RATE))
        self.assertIs(registry, orders.registry)
        self.assertIs(order, orders.Order)

    def test_what_a_file_declares_of_itself_holds_for_a_part_of_it(self):
        text = "from __future__ import annotations\ndef f(x: nowhere): pass\n"
        self.run_file(self.write("script", text), ["f"])
        self.assertEqual("nowhere", self.namespace["f"].__annotations__["x"])
        # So does the encoding that it declares.
        file = self.write("script", "")
        with open(file, "wb") as raw:
            raw.write(b"# -*- coding: latin-1 -*-\nx = '\xe9'\n")
        self.run_file(file)
        self.assertEqual("\xe9", self.namespace["x"])

    def test_a_name_that_the_file_does_not_define_runs_nothing_and_is_told_with_its_like(self):
        file = self.write("script", "x = 1\ndef total(): pass\nif x:\n    def inner(): pass\n")
        with self.assertRaises(NameError) as raised:
            self.run_file(file, ["x", "totl"])
        self.assertIn("it has total", str(raised.exception))
        with self.assertRaises(NameError) as raised:
            self.run_file(file, ["inner"])
        self.assertIn("lines 3 to 4", str(raised.exception))
        self.assertNotIn("x", self.namespace)

    def test_the_guard_of_the_running_program_is_skipped_and_said(self):
        file = self.write("app", "def f(): return 1\nif __name__ == '__main__':\n    raise SystemExit\n")
        main = sys.modules["__main__"]
        sys.modules["__main__"] = program = types.ModuleType("__main__")
        program.__file__ = file
        self.addCleanup(sys.modules.__setitem__, "__main__", main)
        self.evaluator.namespace = program.__dict__
        loaded = self.run_file(file)
        self.assertEqual((None, ["f"]), (loaded["module"], loaded["added"]))
        self.assertEqual(["Lines 2 to 3, the `if __name__ == '__main__'` of the running program."], loaded["skipped"])

    def test_a_link_to_the_file_of_a_module_is_that_file(self):
        orders = self.load("orders", "x = 1\n")
        self.write("orders", "x = 2\n")
        link = os.path.join(self.folder, "orders.py")
        os.symlink(self.path("orders"), link)
        self.assertEqual("shop.orders", self.run_file(link)["module"])
        self.assertEqual(2, orders.x)

    def test_a_file_that_raises_stays_as_far_as_it_came_and_says_how_far(self):
        file = self.write("script", "a = 1\ndef f():\n    1/0\nf()\nb = 1\n")
        with self.assertRaises(ZeroDivisionError) as raised:
            self.run_file(file)
        note = "The file was left at line 4. What ran before that stays done: added a, f."
        self.assertEqual([note], raised.exception.__notes__)
        self.assertIn("a", self.namespace)
        self.assertNotIn("b", self.namespace)

    def test_what_is_no_source_file_is_refused_as_python_names_it(self):
        for file, kind in (
            (self.folder, IsADirectoryError),
            (os.path.join(self.folder, "nowhere.py"), FileNotFoundError),
            (os.devnull, OSError),
            (self.write("bad", "def f(:\n"), SyntaxError),
            (self.write("null", "x = '\0'\n"), SyntaxError),
            (loading.__file__, ImportError),
        ):
            with self.assertRaises(kind):
                self.run_file(file)


class Reloading(Program):
    def reload(self, name):
        return loading.reload(self.evaluator, name)

    def test_a_module_is_run_again_in_place_though_its_file_changed_in_the_same_second(self):
        orders = self.load("orders", "x = 1\n")
        for number in range(2, 6):
            self.write("orders", f"x = {number}\n")
            loaded = self.reload("shop.orders")
            self.assertEqual((number, ["x"]), (orders.x, loaded["replaced"]))
        self.assertEqual(("shop.orders", self.path("orders")), (loaded["module"], loaded["file"]))
        self.assertTrue(loaded["complete"])

    def test_names_that_the_source_has_lost_are_kept_and_told(self):
        orders = self.load("orders", "import os\na = 1\nb = 2\n")
        self.write("orders", "import os\nif True:\n    b = 3\n")
        self.assertEqual(["a"], self.reload("shop.orders")["kept"])
        self.assertEqual((1, 3), (orders.a, orders.b))

    def test_old_objects_that_live_on_are_told_with_who_holds_them(self):
        self.load("orders", ORDERS)
        web = self.load(
            "web",
            """
            from shop.orders import Order, total
            handlers = {'total': total}
            orders = [Order(1), Order(2)]
            class Special(Order): pass
            def default(how=total): pass
            class Keeper: pass
            keeper = Keeper()
            keeper.how = total
            """,
        )
        self.write("orders", ORDERS)
        survivors = {row["name"]: row for row in self.reload("shop.orders")["survivors"]}
        self.assertEqual({"Order", "total"}, set(survivors))
        self.assertEqual(("class", 2), (survivors["Order"]["kind"], survivors["Order"]["instances"]))
        holders = ["shop.web.Order", "shop.web.Special, which inherits from it"]
        self.assertEqual(holders, sorted(survivors["Order"]["held_by"]))
        self.assertEqual(
            [
                "an instance of shop.web.Keeper (its how)",
                "shop.web.handlers (a dict)",
                "shop.web.total",
                "the function shop.web.default",
            ],
            sorted(survivors["total"]["held_by"]),
        )
        del web

    def test_modules_that_imported_what_was_replaced_are_named_with_the_line_that_rebinds_it(self):
        self.load("orders", ORDERS)
        web = self.load("web", "from shop.orders import Order, total as sum_up\nkept = [sum_up]\n")
        self.load("late", "import shop.orders\nfrom shop.orders import *\n")
        self.write("orders", ORDERS)
        loaded = self.reload("shop.orders")
        told = [(row["module"], row["name"], row["old"]) for row in loaded["imports"]]
        self.assertEqual(
            [
                ("shop.late", "Order", "Order"),
                ("shop.late", "obsolete", "obsolete"),
                ("shop.late", "total", "total"),
                ("shop.web", "Order", "Order"),
                ("shop.web", "sum_up", "total"),
            ],
            sorted(told),
        )
        for row in loaded["imports"]:
            exec(row["rebind"], {})
        self.assertIs(web.sum_up, sys.modules["shop.orders"].total)

    def test_a_module_that_nobody_imports_from_has_no_old_imports(self):
        self.load("orders", ORDERS)
        self.load("web", "import shop.orders\n")
        self.write("orders", ORDERS)
        self.assertNotIn("imports", self.reload("shop.orders"))

    def test_what_an_earlier_load_has_replaced_is_told_as_long_as_it_lives(self):
        self.load("orders", ORDERS)
        web = self.load("web", "from shop.orders import Order, total\norders = [Order(1)]\n")
        self.write("orders", ORDERS)
        self.reload("shop.orders")
        web.later = sys.modules["shop.orders"].total
        rows = self.reload("shop.orders")["survivors"]
        told = {(row["name"], row.get("loads_ago", 0)): row for row in rows}
        self.assertEqual({("total", 0), ("Order", 1), ("total", 1)}, set(told))
        self.assertEqual((1, ["shop.web.Order"]), (told["Order", 1]["instances"], told["Order", 1]["held_by"]))
        self.assertEqual(["shop.web.later"], told["total", 0]["held_by"])
        web.__dict__.update(Order=None, total=None, orders=None)
        rows = self.reload("shop.orders")["survivors"]
        self.assertEqual([{"name": "total", "held_by": ["shop.web.later"], **FUNCTION, "loads_ago": 1}], rows)
        sys.modules["shop.orders"].total = web.later
        self.assertEqual([0], [row.get("loads_ago", 0) for row in self.reload("shop.orders")["survivors"]])

    def test_what_nothing_holds_any_more_is_no_survivor(self):
        self.load("orders", ORDERS + "\nimport enum\nclass Color(enum.Enum):\n    RED = 1\n")
        self.assertEqual([], self.reload("shop.orders")["survivors"])

    def test_a_module_that_fails_is_put_back_exactly(self):
        orders = self.load("orders", ORDERS)
        before = dict(orders.__dict__)
        for text, kind in (("RATE = 9\nnew = 1\ndel registry\n1/0\n", ZeroDivisionError), ("def f(:\n", SyntaxError)):
            self.write("orders", text)
            with self.assertRaises(kind) as raised:
                self.reload("shop.orders")
            self.assertIn("shop.orders was put back", raised.exception.__notes__[-1])
            self.assertEqual(before, orders.__dict__)
            self.assertTrue(all(orders.__dict__[name] is value for name, value in before.items()))
            self.assertIs(orders, sys.modules["shop.orders"])

    def test_a_deleted_source_is_told_and_changes_nothing(self):
        orders = self.load("orders", "x = 1\n")
        spec = orders.__spec__
        os.remove(self.path("orders"))
        with self.assertRaises(ModuleNotFoundError) as raised:
            self.reload("shop.orders")
        self.assertIn("is gone", raised.exception.__notes__[-1])
        self.assertIs(spec, orders.__spec__)

    def test_a_module_that_puts_another_object_in_its_place_leaves_the_old_one_told(self):
        first = self.load("lazy", "x = 1\n")
        self.load("web", "import shop.lazy as lazy\n")
        self.write("lazy", "import sys, types\nx = 2\nsys.modules[__name__] = types.ModuleType(__name__)\n")
        row = self.reload("shop.lazy")["survivors"][0]
        self.assertEqual(("shop.lazy", "object"), (row["name"], row["kind"]))
        self.assertIn("shop.web.lazy", row["held_by"])
        self.assertEqual(2, first.x)

    def test_packages_are_reloaded_and_their_submodules_left(self):
        self.load("orders", "x = 1\n")
        self.write("__init__", "y = 1\n")
        loaded = self.reload("shop")
        self.assertEqual((["y"], []), (loaded["added"], loaded["kept"]))
        os.mkdir(os.path.join(self.folder, "shop", "space"))
        self.load("space.inner", "x = 1\n")
        self.assertEqual([], self.reload("shop.space")["replaced"])

    def test_what_cannot_be_run_again_is_refused_with_the_reason(self):
        sys.modules["shop.odd"] = types.SimpleNamespace()
        for name, kind, word in (
            ("__main__", ImportError, "load_file"),
            ("sys", ImportError, "compiled"),
            ("_socket", ImportError, "compiled"),
            ("imago.link", ImportError, "Imago"),
            ("shop.odd", TypeError, "SimpleNamespace"),
            ("shop.nowhere", ModuleNotFoundError, "nothing to reload"),
        ):
            with self.assertRaises(kind) as raised:
                self.reload(name)
            self.assertIn(word, str(raised.exception))


class InAKernel(KernelCase):
    numbers = itertools.count(1)

    def load(self, text, **work):
        file = os.path.join(self.kernel.folder, "loaded.py")
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
        name = "load-%d" % next(self.numbers)
        return file, self.link.call("evaluate", call=name, who="a test", load=file, **work).answer()

    def test_loaded_code_keeps_its_place_in_the_file(self):
        file, outcome = self.load("def broken():\n    return 1 / 0\n")
        self.assertEqual(("done", ["broken"]), (outcome["type"], outcome["loaded"]["added"]))
        frames = self.raised("broken()")["frames"]
        self.assertEqual((file, 2, "return 1 / 0"), tuple(frames[-1][key] for key in ("file", "line", "source")))

    def test_a_file_that_is_no_python_is_reported_as_python_shows_it(self):
        file, outcome = self.load("x = 1\ndef f(:\n")
        self.assertEqual(("raised", "SyntaxError"), (outcome["type"], outcome["exception"]["type"]["name"]))
        self.assertTrue(outcome["exception"]["traceback"].startswith(f'  File "{file}", line 2\n'))
        self.assertEqual(["Nothing of the file was run."], outcome["exception"]["notes"])
        file, outcome = self.load("\x7fELF\0\0\n")
        exception = outcome["exception"]
        self.assertEqual(f"{file} holds null bytes; it is no Python source", exception["message"])
        self.assertEqual(1, exception["traceback"].count(file), exception["traceback"])

    def test_what_a_file_prints_and_an_interrupt_of_it_are_those_of_the_call(self):
        file = os.path.join(self.kernel.folder, "endless.py")
        with open(file, "w", encoding="utf-8") as stream:
            stream.write("done = 1\nprint('on')\nwhile True: pass\n")
        call = self.link.call("evaluate", call="endless", who="a test", load=file)
        call.until_printed("on")
        call.cancel()
        outcome = call.answer()
        self.assertEqual("interrupted", outcome["type"])
        self.assertIn("left at line 3", outcome["exception"]["notes"][0])

    def test_a_module_is_reloaded_by_name(self):
        outcome = self.link.call("evaluate", call="again", who="a test", reload="json.decoder").answer()
        self.assertEqual(("done", "json.decoder"), (outcome["type"], outcome["loaded"]["module"]))
