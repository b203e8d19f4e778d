"""What one name is, in a few facts, and how it is called: told from what is stored."""

import abc
import collections
import dataclasses
import enum
import functools
import inspect
import sys
import typing
import unittest

from tests.looking_image import ImageCase

HERE = __name__
#: Since 3.14 an annotation is told as it was written.
LIST = "typing.List[int]" if sys.version_info >= (3, 14) else "List[int]"


def plain(a, /, b: int = 3, *rest: str, c, d="x", **more: object) -> typing.List[int]:
    """Says something.

    More of it.
    """


def passing(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


def changing(function):
    @functools.wraps(function)
    def inner(own):
        return function(own)

    return inner


class Stack:
    def __init__(self, name, size=2):
        pass

    def push(self, item):
        pass

    @classmethod
    def make(cls, name):
        pass

    @staticmethod
    def load(path):
        pass

    @passing
    def pop(self, count=1):
        pass

    half = functools.partialmethod(push, 1)


class Called:
    def __call__(self, x):
        pass


class Meta(type):
    def __call__(cls, wide, tall):
        pass


class Made(metaclass=Meta):
    pass


class Number(int):
    pass


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
    tags: list = dataclasses.field(default_factory=list)


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


@passing
@passing
def twice(a, b=1):
    pass


@changing
def changed(a, b):
    pass


def wide(**options):
    pass


with_one = functools.partial(plain, 1, c=5)
LIMIT = 3
alias = wait


class Names(ImageCase):
    def setUp(self):
        super().setUp()
        self.namespace.update(here=sys.modules[HERE], stack=Stack("a"), item=Derived(), called=Called())
        self.namespace.update(items=[1, 2, 3], bound=self.namespace["stack"].push, inner=outer(1))

    def describe(self, name):
        return self.found("describe", name=name)

    def arglist(self, name):
        return self.found("arglist", name=name)


class Describing(Names):
    def test_a_function_has_its_signature_its_documentation_and_its_place(self):
        self.namespace["mine"] = wait
        value = self.describe("here.wait")
        self.assertEqual(("function", HERE, f"{HERE}.wait"), (value["kind"], value["module"], value["qualified"]))
        self.assertEqual("(seconds: float, *, loud=False) -> int", value["signature"])
        self.assertEqual("Waits.\n\nFor long.", value["doc"]["text"])
        self.assertEqual((__file__, wait.__code__.co_firstlineno), (value["file"], value["line"]))
        self.assertEqual(["mine", f"{HERE}.alias"], value["also"])
        self.assertNotIn("value", value)

    def test_the_facts_of_each_sort_of_thing(self):
        self.evaluate("def typed(): pass")
        for name, facts in {
            "here.wait": ["async"],
            "here.each": ["generator"],
            "inner": ["closes over x"],
            "here.cached": ["wrapped by functools.lru_cache"],
            "max": ["compiled", "signature not known"],
            "items": ["len 3"],
            "typed": ["defined at a prompt"],
        }.items():
            self.assertEqual(facts, self.describe(name)["facts"], name)
        for name, fact in (
            *(("here.Shape", fact) for fact in ("inherits from abc.ABC", "metaclass abc.ABCMeta", "abstract: run")),
            ("here.Shape", "1 direct subclass"),
            ("here.Item", "dataclass"),
            ("here.Colour", "enum of RED, BLUE"),
            ("here.Pair", "named tuple of a, b"),
            ("item.size", "cannot be set"),
            ("item.size", "cannot be deleted"),
            ("here.Shape.width", "can be set"),
        ):
            self.assertIn(fact, self.describe(name)["facts"], name)

    def test_documentation_is_that_of_the_thing_itself(self):
        for name, doc in {"here.cached": "Keeps.", "here.Shape": "A base.", "item.size": "How large."}.items():
            self.assertEqual(doc, self.describe(name)["doc"]["text"])
        self.assertIsNone(self.describe("items")["doc"])
        wait.__doc__, before = "x" * 9000, wait.__doc__
        self.addCleanup(setattr, wait, "__doc__", before)
        doc = self.describe("here.wait")["doc"]
        self.assertEqual((4096, True), (len(doc["text"]), doc["truncated"]))
        self.assertEqual(9000 - 4096, len(self.more(doc["handle"], 4096, 9000)["text"]))

    def test_a_variable_has_its_value_and_a_handle(self):
        for name, kind, text in (("items", "variable", "[1, 2, 3]"), ("here.LIMIT", "constant", "3")):
            value = self.describe(name)
            self.assertEqual((kind, text), (value["kind"], value["value"]["text"]))
        self.assertEqual("constant", self.describe("here.Colour.RED")["kind"])
        self.found("inspect", expr=self.describe("items")["handle"])

    def test_modules_properties_and_methods(self):
        value = self.describe("json")
        self.assertEqual(("module", "json", None), (value["kind"], value["qualified"], value["module"]))
        self.assertTrue(any(fact.startswith("package, ") for fact in value["facts"]), value["facts"])
        self.assertTrue(value["doc"]["text"].startswith("JSON"))
        self.assertEqual("json", self.describe("json.decoder")["module"])
        self.assertEqual("property", self.describe("item.size")["kind"])
        value = self.describe("item.run")
        self.assertEqual(("method", "()", HERE), (value["kind"], value["signature"], value["module"]))
        self.assertEqual("(self)", self.describe("here.Derived.run")["signature"])

    def test_what_is_not_there_is_not_found(self):
        self.assert_not_found("describe", name="here.nothing")
        self.assertEqual("malformed", self.ask("describe", name="lambda")["type"])


class Arglists(Names):
    def test_each_parameter_has_its_kind_default_and_annotation(self):
        value = self.arglist("here.plain")
        self.assertEqual(
            [
                ("a", "positional", None, None),
                ("b", "positional_or_keyword", "3", "int"),
                ("rest", "rest", None, "str"),
                ("c", "keyword", None, None),
                ("d", "keyword", "'x'", None),
                ("more", "keyword_rest", None, "object"),
            ],
            [tuple(one[key] for key in ("name", "kind", "default", "annotation")) for one in value["parameters"]],
        )
        self.assertEqual((LIST, None), (value["returns"], value["because"]))
        self.assertEqual(("Says something.", __file__), (value["doc"], value["file"]))

    def test_the_signature_of_each_sort_of_thing(self):
        rest = f"b: int = 3, *rest: str, c{{}}, d='x', **more: object) -> {LIST}"
        for name, signature in {
            "here.plain": f"(a, /, {rest.format('')}",
            "here.with_one": f"({rest.format('=5')}",
            "stack.push": "(item)",
            "bound": "(item)",
            "here.Stack.push": "(self, item)",
            "here.Stack.make": "(name)",
            "stack.make": "(name)",
            "stack.load": "(path)",
            "here.Stack.load": "(path)",
            "stack.pop": "(count=1)",
            "here.Stack": "(name, size=2)",
            "here.twice": "(a, b=1)",
            "here.changed": "(own)",
            "here.wide": "(**options)",
            "called": "(x)",
            "here.Called": "()",
            "here.Made": "(wide, tall)",
        }.items():
            self.assertEqual(signature, self.arglist(name)["signature"], name)
        made = self.arglist("here.Item")["signature"]
        self.assertEqual("(name: str, tags: list = <factory>)", made.partition(" ->")[0])

    def test_compiled_functions_tell_what_their_text_says(self):
        for name in ("len", "sorted", "str.join", "list.append", "dict.get"):
            expected = [*inspect.signature(eval(name)).parameters]
            self.assertEqual(expected, [one["name"] for one in self.arglist(name)["parameters"]], name)
        self.assertEqual(["object"], [one["name"] for one in self.arglist("items.append")["parameters"]])

    def test_where_no_signature_is_stored_it_is_said_why(self):
        for name, because in {
            "max": "no signature",
            "here": "module",
            "here.Number": "compiled",
            "here.__name__": "not called",
        }.items():
            value = self.arglist(name)
            self.assertEqual((None, []), (value["signature"], value["parameters"]), name)
            self.assertIn(because, value["because"], name)

    def test_a_function_with_very_many_parameters_is_bounded(self):
        exec(f"def many({', '.join(f'a{number}' for number in range(1000))}): pass", self.namespace)
        value = self.arglist("many")
        self.assertEqual(300, len(value["parameters"]))
        self.assertLessEqual(len(value["signature"]), 1200)


if __name__ == "__main__":
    unittest.main()
