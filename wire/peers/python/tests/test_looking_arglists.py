"""How functions, methods and classes are called, told from what they store."""

import dataclasses
import functools
import inspect
import sys
import typing
import unittest

from imago.looking.description import arglist
from tests.looking_image import ImageCase


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


class Bare:
    pass


class Meta(type):
    def __call__(cls, wide, tall):
        pass


class Made(metaclass=Meta):
    pass


class Number(int):
    pass


@dataclasses.dataclass
class Item:
    name: str
    tags: list = dataclasses.field(default_factory=list)


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


class Arglists(ImageCase):
    def setUp(self):
        super().setUp()
        self.namespace["here"] = sys.modules[__name__]
        self.namespace["stack"] = Stack("a")

    def look(self, name):
        return self.found(arglist, name=name)

    def signature(self, name):
        return self.look(name)["signature"]

    def test_each_parameter_has_its_kind_default_and_annotation(self):
        value = self.look("here.plain")
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
        signature = "(a, /, b: int = 3, *rest: str, c, d='x', **more: object) -> List[int]"
        self.assertEqual((signature, "List[int]", None), (value["signature"], value["returns"], value["because"]))
        self.assertEqual(("Says something.", __file__), (value["doc"], value["file"]))

    def test_what_is_bound_is_no_parameter(self):
        for name, signature in {
            "stack.push": "(item)",
            "here.Stack.push": "(self, item)",
            "here.Stack.make": "(name)",
            "stack.make": "(name)",
            "stack.load": "(path)",
            "here.Stack.load": "(path)",
            "stack.pop": "(count=1)",
            "here.Stack": "(name, size=2)",
        }.items():
            self.assertEqual(signature, self.signature(name), name)
        self.namespace["bound"] = self.namespace["stack"].push
        self.assertEqual("(item)", self.signature("bound"))

    def test_what_a_wrapper_passes_on_is_told_of_what_is_inside(self):
        self.assertEqual("(a, b=1)", self.signature("here.twice"))
        self.assertEqual("(own)", self.signature("here.changed"))
        self.assertEqual("(**options)", self.signature("here.wide"))

    def test_a_partial_application_leaves_what_is_not_given(self):
        expected = "(b: int = 3, *rest: str, c=5, d='x', **more: object) -> List[int]"
        self.assertEqual(expected, self.signature("here.with_one"))

    def test_classes_and_instances_that_can_be_called(self):
        self.namespace["called"] = Called()
        self.assertEqual("(x)", self.signature("called"))
        self.assertEqual("()", self.signature("here.Bare"))
        self.assertEqual("(wide, tall)", self.signature("here.Made"))
        self.assertEqual("(name: str, tags: list = <factory>)", self.signature("here.Item").partition(" ->")[0])

    def test_compiled_functions_tell_what_their_text_says(self):
        for name in ("len", "sorted", "str.join", "list.append", "dict.get"):
            expected = [*inspect.signature(eval(name)).parameters.values()]
            value = self.look(name)
            self.assertEqual([one.name for one in expected], [one["name"] for one in value["parameters"]], name)
        self.namespace["items"] = []
        self.assertEqual(["object"], [one["name"] for one in self.look("items.append")["parameters"]])

    def test_where_no_signature_is_stored_it_is_said_why(self):
        for name, because in {
            "max": "no signature",
            "here": "module",
            "here.Number": "compiled",
            "here.__name__": "not called",
        }.items():
            value = self.look(name)
            self.assertEqual((None, []), (value["signature"], value["parameters"]), name)
            self.assertIn(because, value["because"], name)

    def test_a_function_with_very_many_parameters_is_bounded(self):
        exec(f"def many({', '.join(f'a{number}' for number in range(1000))}): pass", self.namespace)
        value = self.look("many")
        self.assertEqual(300, len(value["parameters"]))
        self.assertLessEqual(len(value["signature"]), 1200)


if __name__ == "__main__":
    unittest.main()
