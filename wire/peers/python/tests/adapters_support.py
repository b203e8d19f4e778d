"""What the tests of adapters share: every look that may show a value, and a watch over what it runs."""

import gc
import json
import sys
import tracemalloc
import types
import unittest

from imago import looking
from imago.exceptions import report
from imago.handles import Handles
from imago.looking.rendering import preview_of
from tests.daemon import LONG
from tests.looking_samples import values
from tests.looking_support import FIRED, guard


class Adapters(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        gc.collect()  # What earlier tests have left may be asked for its hash when it goes.
        FIRED.clear()

    def text(self, value):
        """What stands for a value where one line fits."""
        return looking.static_text(value, 500)

    def seen(self, value):
        """The sections of a static look, in which none may have failed."""
        self.handles = Handles("abcd1234")
        looked = looking.inspect_static({"x": value}, "x", self.handles)["value"]
        json.dumps(looked, allow_nan=False)
        for section in looked.values():
            self.assertFalse(type(section) is dict and "error" in section, section)
        return looked

    def card(self, value):
        return self.seen(value)["repr"]["text"].split("\n")

    def sample(self, value):
        return self.seen(value)["sample"]["items"]

    def assert_quiet(self, what=""):
        fired, FIRED[:] = list(FIRED), []
        self.assertEqual([], fired, what)

    def look_everywhere(self, value):
        """Every look that shows values without running their code; none may fire a trap. Returns all they said."""
        texts = []
        for nest in (value, [value], {"a": value}, types.SimpleNamespace(field=value), ValueError(value), [[value]]):
            looked = self.seen(nest)
            texts.append(json.dumps(looked))
            for handle in (looked.get("handle"), looked.get("sample", {}).get("handle")):
                if handle is not None:
                    texts.append(json.dumps(looking.more(self.handles, {"handle": handle, "from": 0, "count": 50})))
            for kind in ("keep_repr", "keep_items"):
                handle = getattr(self.handles, kind)(nest)
                texts.append(json.dumps(looking.more(self.handles, {"handle": handle, "from": 0, "count": 50})))
            texts.append(looking.static_text(nest, 300))
            texts.append(str(preview_of(nest)))
            self.assert_quiet(type(value))
        json.dumps(looking.globals_page({"x": value}, {"limit": 5, "modules": True}))
        texts.append(json.dumps(in_a_frame(value)))
        self.assert_quiet(type(value))
        return "\n".join(texts)

    def look_at_all(self, hold, shown="", every=1):
        """Looks at what `hold(value)` makes of every value that must not be disturbed: one thing, or several.

        With `every`, of every so many of them, but of each in the long run.
        """
        for name, value in [*values().items()][:: 1 if LONG else every]:
            made = hold(value)
            FIRED.clear()
            for one in made if type(made) is list else [made]:
                self.assertIn(shown, self.look_everywhere(one))
                self.assert_quiet(name)

    def cost(self, look):
        """`(calls, bytes)`: how many functions a look calls, and how much memory it takes at most."""
        calls = 0

        def count(_frame, event, _arg):
            nonlocal calls
            calls += event in ("call", "c_call")

        look()
        tracemalloc.start()
        look()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        sys.setprofile(count)
        try:
            look()
        finally:
            sys.setprofile(None)
        return calls, peak

    def assert_bounded(self, small, huge):
        """Looking at the huge one costs about what the small one costs."""
        few, _ = self.cost(lambda: self.all_looks(small))
        many, memory = self.cost(lambda: self.all_looks(huge))
        self.assertLess(many, 3 * few + 5000, type(huge))
        self.assertLess(memory, 3_000_000, type(huge))

    def all_looks(self, value):
        self.seen(value)
        looking.static_text(value, 200)
        preview_of(value)


def in_a_frame(value):
    """The locals of a frame that holds a value, as they are taken down with an exception."""

    def fail(held):
        raise KeyError("no such key")

    try:
        fail(value)
    except KeyError as error:
        return [frame["locals"] for frame in report(error, guard)["frames"]]
