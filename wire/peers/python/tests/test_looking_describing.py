"""What one name is, in a few facts."""

import abc
import collections
import dataclasses
import enum
import functools
import sys
import unittest

from imago import looking
from imago.looking.description import describe
from tests.looking_image import ImageCase


class Shape(abc.ABC):
    """A base."""

    @abc.abstractmethod
    def run(self):
        """Runs."""

    @property
    def size(self):
        """How large."""

    @property
    def width(self):
        return 1

    @width.setter
    def width(self, value):
        pass


class Derived(Shape):
    def run(self):
        return 1


@dataclasses.dataclass
class Item:
    name: str


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Pair = collections.namedtuple("Pair", "a b")


async def wait(seconds: float, *, loud=False) -> int:
    """Waits.

    For long.
    """


def each(items):
    yield from items


def outer(x):
    def inner():
        return x

    return inner


@functools.lru_cache(maxsize=None)
def cached(x):
    """Keeps."""


LIMIT = 3
alias = wait


class Describing(ImageCase):
    def setUp(self):
        super().setUp()
        self.namespace["here"] = sys.modules[__name__]

    def facts(self, name):
        return self.describe(name)["facts"]

    def describe(self, name):
        return self.found(describe, name=name)

    def test_a_function_has_its_signature_its_documentation_and_its_place(self):
        value = self.describe("here.wait")
        self.assertEqual(("function", __name__), (value["kind"], value["module"]))
        self.assertEqual(f"{__name__}.wait", value["qualified"])
        self.assertEqual("(seconds: float, *, loud=False) -> int", value["signature"])
        self.assertEqual("Waits.\n\nFor long.", value["doc"]["text"])
        self.assertEqual((__file__, wait.__code__.co_firstlineno), (value["file"], value["line"]))
        self.assertEqual(("function", ["async"]), (value["type"]["name"], value["facts"]))
        self.assertNotIn("value", value)

    def test_other_names_of_the_same_thing_are_told(self):
        self.namespace["mine"] = wait
        self.assertEqual(["mine", f"{__name__}.alias"], self.describe("here.wait")["also"])

    def test_facts_of_functions(self):
        self.namespace["inner"] = outer(1)
        self.assertEqual(["generator"], self.facts("here.each"))
        self.assertEqual(["closes over x"], self.facts("inner"))
        self.assertEqual(["wrapped by functools.lru_cache"], self.facts("here.cached"))
        self.assertEqual("Keeps.", self.describe("here.cached")["doc"]["text"])
        self.assertEqual(["compiled", "signature not known"], self.facts("max"))

    def test_facts_of_classes(self):
        facts = self.facts("here.Shape")
        for fact in ("inherits from abc.ABC", "metaclass abc.ABCMeta", "abstract: run", "1 direct subclass"):
            self.assertIn(fact, facts)
        self.assertIn("dataclass", self.facts("here.Item"))
        self.assertIn("enum of RED, BLUE", self.facts("here.Colour"))
        self.assertIn("named tuple of a, b", self.facts("here.Pair"))
        self.assertEqual("A base.", self.describe("here.Shape")["doc"]["text"])

    def test_facts_of_properties(self):
        self.namespace["item"] = Derived()
        self.assertEqual("property", self.describe("item.size")["kind"])
        self.assertEqual("How large.", self.describe("item.size")["doc"]["text"])
        self.assertEqual(["cannot be set", "cannot be deleted"], self.facts("item.size")[:2])
        self.assertIn("can be set", self.facts("here.Shape.width"))

    def test_a_variable_has_its_value_and_a_handle(self):
        self.namespace["items"] = [1, 2, 3]
        value = self.describe("items")
        self.assertEqual(("variable", "[1, 2, 3]"), (value["kind"], value["value"]["text"]))
        self.assertEqual("found", looking.inspect_static({}, value["handle"], self.image.handles)["type"])
        self.assertEqual(["len 3"], value["facts"])
        self.assertIsNone(value["doc"])
        self.assertEqual("constant", self.describe("here.LIMIT")["kind"])
        self.assertEqual("3", self.describe("here.LIMIT")["value"]["text"])
        self.assertEqual("constant", self.describe("here.Colour.RED")["kind"])

    def test_modules_and_packages(self):
        value = self.describe("json")
        self.assertEqual(("module", "json", None), (value["kind"], value["qualified"], value["module"]))
        self.assertTrue(any(fact.startswith("package, ") for fact in value["facts"]), value["facts"])
        self.assertTrue(value["doc"]["text"].startswith("JSON"))
        self.assertEqual("json", self.describe("json.decoder")["module"])

    def test_what_was_typed_says_so(self):
        self.evaluate("def typed(): pass")
        self.assertEqual(["defined at a prompt"], self.facts("typed"))

    def test_a_method_of_an_instance_is_described_as_it_is_called(self):
        self.namespace["item"] = Derived()
        value = self.describe("item.run")
        self.assertEqual(("method", "()", __name__), (value["kind"], value["signature"], value["module"]))
        self.assertEqual("(self)", self.describe("here.Derived.run")["signature"])

    def test_a_long_document_is_cut_and_can_be_read_on(self):
        wait.__doc__, before = "x" * 9000, wait.__doc__
        self.addCleanup(setattr, wait, "__doc__", before)
        doc = self.describe("here.wait")["doc"]
        self.assertEqual((4096, True), (len(doc["text"]), doc["truncated"]))
        piece = looking.more(self.image.handles, {"handle": doc["handle"], "from": 4096, "count": 9000})
        self.assertEqual(9000 - 4096, len(piece["value"]["text"]))

    def test_what_is_not_there_is_not_found(self):
        self.assertEqual("not_found", self.ask(describe, name="here.nothing")["type"])
        self.assertEqual("malformed", self.ask(describe, name="lambda")["type"])


if __name__ == "__main__":
    unittest.main()
