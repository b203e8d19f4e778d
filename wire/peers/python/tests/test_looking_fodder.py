"""CPython's own inspection fixtures, looked at: the source that `inspect` would give, without asking for it."""

import importlib
import inspect
import unittest

from imago.looking.description import arglist, describe
from tests.looking_image import ImageCase


def fixture(name):
    """A fixture of CPython's test suite, wherever this version keeps it; None where `test` is not installed."""
    for package in ("test.test_inspect", "test"):
        try:
            return importlib.import_module(f"{package}.{name}")
        except ImportError:
            continue
    return None


class Fodder(ImageCase):
    NAMES = ("inspect_fodder", "inspect_fodder2")

    def setUp(self):
        super().setUp()
        self.fixtures = [module for module in map(fixture, self.NAMES) if module is not None]
        # Debian, for one, leaves `test` out of its interpreter; the standard library is always there.
        self.fixtures += [importlib.import_module(name) for name in ("textwrap", "contextlib", "argparse")]

    def things(self):
        for module in self.fixtures:
            for name, value in vars(module).items():
                if getattr(value, "__module__", None) == module.__name__:
                    yield f"{module.__name__}.{name}", value

    def test_functions_and_classes_have_the_source_that_inspect_finds(self):
        compared = 0
        for name, value in self.things():
            if not inspect.isfunction(value) and not inspect.isclass(value):
                continue
            try:
                expected, line = inspect.getsourcelines(inspect.unwrap(value) if callable(value) else value)
            except (OSError, TypeError):
                continue
            found = self.define(name)
            if _is_lambda(value) or found["source"] is None:
                continue
            self.assertEqual("".join(expected).rstrip(), found["source"]["text"], name)
            self.assertEqual(line, found["line"], name)
            self.assertNotEqual(False, found["current"], name)
            compared += 1
        self.assertGreater(compared, 40)

    def test_methods_have_the_source_that_inspect_finds(self):
        compared = 0
        for owner, cls in self.things():
            if not inspect.isclass(cls):
                continue
            for name, value in vars(cls).items():
                if not inspect.isfunction(value) or value.__qualname__ != f"{cls.__qualname__}.{name}":
                    continue
                try:
                    expected, line = inspect.getsourcelines(value)
                except OSError:
                    continue
                found = self.define(f"{owner}.{name}")
                self.assertEqual(("".join(expected).rstrip(), line), (found["source"]["text"], found["line"]))
                compared += 1
        self.assertGreater(compared, 40)

    def test_every_name_of_the_fixtures_can_be_described_and_has_an_arglist(self):
        for name, value in self.things():
            described = self.found(describe, name=name)
            listed = self.found(arglist, name=name)
            if inspect.isfunction(value) and not hasattr(value, "__wrapped__"):
                self.assertEqual([*inspect.signature(value).parameters], [one["name"] for one in listed["parameters"]])
                self.assertEqual(described["signature"], listed["signature"])

    def test_lambdas_are_shown_with_their_statement(self):
        module = fixture("inspect_fodder2")
        if module is None:
            source = "oll = lambda m: m\n\n# A comment.\ntll = lambda g: g and \\\ng and \\\ng\n"
            module = self.load("fodder_stand_in", source)
        self.assertEqual("oll = lambda m: m", self.source(f"{module.__name__}.oll"))
        self.assertEqual("tll = lambda g: g and \\\ng and \\\ng", self.source(f"{module.__name__}.tll"))

    def test_what_a_decorator_replaced_is_what_runs(self):
        module = fixture("inspect_fodder2")
        if module is None:
            source = "def replace(func):\n    def insteadfunc():\n        pass\n    return insteadfunc\n\n"
            module = self.load("fodder_stand_in", source + "@replace\ndef gone():\n    pass\n")
        found = self.define(f"{module.__name__}.gone")
        self.assertEqual(f"{module.__name__}.replace.<locals>.insteadfunc", found["qualified"])
        self.assertIn("defines `gone` under replace", found["notes"][0])


def _is_lambda(value):
    return inspect.isfunction(value) and value.__code__.co_name == "<lambda>"


if __name__ == "__main__":
    unittest.main()
