"""Proxies of wrapt: whatever one is asked goes to what it stands for, and a lazy one makes that first. Nothing asks."""

import types
import unittest

from tests.adapters_support import Adapters
from tests.daemon import WAIT, Kernel
from tests.looking_support import FIRED, hook
from tests.tripwires_support import TripwireCase

try:
    import wrapt
except ImportError:
    wrapt = None

#: A program with a lazy proxy in a frame of a thread, in a list and among its globals. Making it would be told of.
LAZY = """
import threading, wrapt

made, stop = [], threading.Event()

def factory():
    made.append(1)
    return {"number": 7}

class Order(wrapt.ObjectProxy):
    pass

lazy = wrapt.LazyObjectProxy(factory)
held = [lazy, Order({"number": 8})]

def wait(order, rows):
    stop.wait()

def fail(order):
    rows = [order]
    1 / 0

threading.Thread(target=wait, args=(lazy, held), daemon=True).start()
"""


def lazy():
    """A proxy that records when what it stands for is made."""
    return wrapt.LazyObjectProxy(lambda: FIRED.append("factory") or {"key": 1})


@unittest.skipIf(wrapt is None, "wrapt is not installed")
class Proxies(TripwireCase):
    def proxies(self):
        class Fields:
            pass

        class Proxy(wrapt.ObjectProxy):
            pass

        class WithFields(Fields, wrapt.ObjectProxy):
            pass

        class Told(dict):
            pass

        for name, body in (("__repr__", "lie"), ("__len__", 3), ("__iter__", iter(())), ("__getattribute__", 1)):
            setattr(Told, name, hook(name, lambda body=body: body))
        return {
            "lazy": lazy(),
            "proxy": Proxy(Told()),
            "plain": wrapt.ObjectProxy(Told()),
            "fields": WithFields(Told()),
            "function": wrapt.FunctionWrapper(lambda: None, hook("wrapper")),
            "Proxy": Proxy,
        }

    def test_no_look_at_one_asks_it(self):
        for name, value in self.proxies().items():
            self.namespace[name] = value
            self.namespace[f"list_{name}"] = [value]
        FIRED.clear()
        self.look_everywhere(paths=("", ".__dict__", ".key", ".__wrapped__", ".__class__"))

    def test_the_traps_do_go_off(self):
        getter = wrapt.LazyObjectProxy.__mro__[-2].__dict__["__dict__"]
        self.assertIs(types.GetSetDescriptorType, type(getter))
        with self.assertRaises(AttributeError):
            getter.__get__(lazy())
        self.assertEqual(["factory"], FIRED)
        FIRED.clear()


@unittest.skipIf(wrapt is None, "wrapt is not installed")
class Nested(Adapters):
    def test_one_inside_of_anything_is_not_asked(self):
        self.look_everywhere(lazy())


@unittest.skipIf(wrapt is None, "wrapt is not installed")
class Kernels(unittest.TestCase):
    def look_around(self, link):
        def look(which, **query):
            answer = link.call(which, deadline_ms=int(WAIT * 1000), **query).answer()
            self.assertEqual("found", answer["type"], answer)
            return answer["value"]

        for name in ("lazy", "held", "held[1]"):
            look("inspect", expr=name)
        for name in ("lazy", "Order"):
            look("slots", name=name, limit=50)
        look("complete", text="held[1].", cursor=8, limit=50)
        look("complete", text="lazy.", cursor=5, limit=50)
        threads = look("threads", limit=50, frames=50, locals=True)["threads"]
        self.assertIn("wait", [frame["function"] for thread in threads for frame in thread["frames"]])
        outcome = link.evaluate("fail(lazy)", suspend={})
        self.assertEqual("suspended", outcome["type"], outcome)
        name = outcome["suspension"]["id"]
        state = look("suspension", suspension=name, **{"from": 0, "count": 50})
        for frame in state["frames"]:
            look("frame", suspension=name, frame=frame["number"])
        self.assertEqual("[]", link.value("made"))
        self.assertEqual("7", link.value("lazy['number']"))
        self.assertEqual("[1]", link.value("made"))

    def test_a_started_kernel_makes_none(self):
        with Kernel() as kernel:
            kernel.link.evaluate(LAZY)
            self.look_around(kernel.link)

if __name__ == "__main__":
    unittest.main()
