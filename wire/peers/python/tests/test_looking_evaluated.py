"""Showing what an evaluation came to, by its own printer."""

import json
import sys
import time
import unittest

from imago import looking
from imago.looking import display
from imago.handles import Handles
from tests.looking_support import guard


def of_printer(name, printer, **more):
    """A class of this module whose instances print themselves so."""
    return type(name, (), {"__module__": __name__, "__repr__": printer, **more})


def refuses(word):
    def refuse(_):
        raise ValueError(f"no {word}")

    return refuse


def hang(_):
    while True:
        pass


class Broken:
    """Raises whatever it is asked."""

    def __init__(self):
        self.id = 7

    __repr__, __len__, __dir__ = refuses("repr"), refuses("len"), refuses("dir")
    __signature__ = property(lambda self: {}["signature"])
    __doc__ = property(lambda self: 1 / 0)

    def __call__(self, x):
        return x


Slow = of_printer("Slow", lambda _: time.sleep(60), __len__=hang, __doc__="Never comes back.")
Exits = of_printer("Exits", lambda _: sys.exit(3))
NoText = of_printer("NoText", lambda _: 7)
Endless = of_printer("Endless", lambda self: f"<{self!r}>")
Surrogate = of_printer("Surrogate", lambda _: "half \ud800")


class Polite:
    """Has much to say."""

    def __repr__(self):
        return "Polite()"

    def __len__(self):
        return 5

    def __dir__(self):
        return ["beta", "alpha", "__x__"]


class Guarded(unittest.TestCase):
    def setUp(self):
        self.handles = Handles("abcd1234")

    def hurry(self, module, *names):
        """The same steps, in less time."""
        for name in names:
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, 0.2)


class Shown(Guarded):
    def show(self, value):
        shown = looking.show(value, self.handles, guard)
        json.dumps(shown, allow_nan=False, ensure_ascii=False).encode("utf-8")
        return shown

    def test_small_scalars_have_text_and_no_handle(self):
        for value in (None, True, 42, 1.5, "short", b"", 10**50, [], {}, ()):
            shown = self.show(value)
            self.assertEqual(
                {"text": repr(value), "truncated": False, "original_len": len(repr(value))}, shown["repr"]
            )
            self.assertEqual({"repr", "type"}, set(shown) - {"preview"}, repr(value))

    def test_built_in_containers_read_as_python_prints_them(self):
        circle = [1]
        circle.append(circle)
        containers = [[1, "a", None], (1,), (1, 2), {"a": {2}}, {1}, frozenset({1}), set(), frozenset(), {"a": [()]}]
        views = [circle, range(3), {}.keys(), {"a": 1}.items(), [Polite(), {Polite: Polite()}], [float("nan")]]
        for value in (*containers, *views, bytearray(b"a"), "x" * 2000, b"x" * 2000, 2**2000, "☃" * 1500):
            shown = self.show(value)
            self.assertEqual(repr(value), shown["repr"]["text"])
            self.assertNotIn("error", shown["repr"])

    def test_values_worth_it_have_a_handle_and_a_preview(self):
        shown = self.show(list(range(10**6)))
        self.assertEqual("list, len 1000000", shown["preview"])
        self.assertIs(list, type(self.handles.find(shown["handle"]).value))
        self.assertNotIn("preview", self.show(object()))
        for value in (Polite(), "x" * 5000):
            self.assertIn("handle", self.show(value))

    def test_a_long_text_is_cut_and_kept_for_more(self):
        shown = self.show(list(range(5000)))["repr"]
        whole = repr(list(range(5000)))
        self.assertEqual((whole[:4096], True, len(whole)), (shown["text"], shown["truncated"], shown["original_len"]))
        piece = looking.more(self.handles, {"handle": shown["handle"], "from": 4096, "count": 100})["value"]
        self.assertEqual((whole[4096:4196], len(whole), 4196), (piece["text"], piece["total"], piece["next"]))

    def test_no_more_is_printed_than_is_kept(self):
        for value in (list(range(10**5)), "x" * 10**6, dict.fromkeys(range(10**5)), b"\0" * 10**5):
            shown = self.show(value)["repr"]
            self.assertIsNone(shown["original_len"])
            kept = self.handles.find(shown["handle"]).value
            self.assertEqual(256 * 1024, len(kept))
            self.assertEqual(repr(value)[: len(kept)], kept)

    def test_a_result_is_never_lost_to_its_printer(self):
        self.hurry(display, "SHOWN_SECONDS")
        name = "tests.test_looking_evaluated"
        for value, text, error in (
            (Broken(), f"<{name}.Broken id=7>", "ValueError: no repr"),
            (Slow(), f"<{name}.Slow>", "longer than"),
            (Exits(), f"<{name}.Exits>", "SystemExit"),
            (NoText(), f"<{name}.NoText>", "TypeError"),
            (Endless(), f"<{name}.Endless>", "RecursionError"),
        ):
            shown = self.show(value)["repr"]
            self.assertEqual(text, shown["text"])
            self.assertIn(error, shown["error"])
        self.assertEqual("half \\ud800", self.show(Surrogate())["repr"]["text"])

    def test_one_broken_element_costs_only_its_own_text(self):
        shown = self.show([1, Broken(), "a"])["repr"]
        self.assertEqual("[1, <tests.test_looking_evaluated.Broken id=7>, 'a']", shown["text"])
        self.assertIn("no repr", shown["error"])

    def test_a_number_of_very_many_digits_is_not_written_out(self):
        self.assertEqual("<int of 33219281 bits>", self.show(1 << 33_219_280)["repr"]["text"])

    def test_nesting_without_end_is_shown_as_far_as_it_goes(self):
        nested = []
        for _ in range(100_000):
            nested = [nested]
        shown = self.show(nested)["repr"]
        self.assertTrue(shown["truncated"])
        self.assertTrue(shown["text"].startswith("[[[["))

    def test_an_interrupt_while_printing_goes_on_to_the_caller(self):
        def interrupt(_):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.show(of_printer("Interrupted", interrupt)())


if __name__ == "__main__":
    unittest.main()
