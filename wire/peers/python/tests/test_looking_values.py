"""The sections of a look at one value, from stored fields alone."""

import abc
import collections
import datetime
import decimal
import enum
import fractions
import json
import pathlib
import types
import unittest
import uuid

from imago import looking
from imago.handles import Handles


def documented(a, /, b: int = 3, *rest, c="x", **more) -> "str":
    """Says something.

    In several lines.
    """
    return a


class Stack(list):
    """A list with a name."""

    def __init__(self, name, items):
        super().__init__(items)
        self.name = name

    def push(self, item):
        self.append(item)


class Noisy:
    """Raises, sleeps or lies when it is asked anything."""

    def __init__(self):
        self.id = 7
        self.items = ["a", "b", "c"]
        self.empty = []
        self._inner = Stack("s", [])

    def __repr__(self):
        raise ValueError("no")

    def __dir__(self):
        raise ValueError("no")

    @property
    def slow(self):
        raise AssertionError("was read")


Point = collections.namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1


async def coroutine():
    pass


async def async_generator():
    yield 1


def generator():
    yield 1


class Values(unittest.TestCase):
    def look(self, value):
        self.handles = Handles("abcd1234")
        looked = looking.inspect_static({"x": value}, "x", self.handles)
        self.assertEqual("found", looked["type"])
        json.dumps(looked, allow_nan=False)
        self.assertEqual(looked, looking.inspect_static({"x": value}, "x", self.handles), "looking twice differs")
        return looked["value"]

    def text(self, value):
        return self.look(value)["repr"]["text"]

    def test_a_number_is_a_number(self):
        seen = self.look(42)
        self.assertEqual("number", seen["kind"])
        self.assertEqual({"name": "int", "module": "builtins", "qualified": "builtins.int"}, seen["type"])
        self.assertEqual({"text": "42", "truncated": False, "original_len": 2}, seen["repr"])
        self.assertEqual("static", seen["read"])
        self.assertEqual({"type", "kind", "read", "repr", "limits"}, set(seen))
        self.assertEqual(4096, seen["limits"]["repr_max_chars"])
        self.assertEqual(4096, seen["limits"]["doc_max_chars"])
        self.assertEqual(16, seen["limits"]["sample_max_items"])
        self.assertEqual(24, seen["limits"]["member_max_per_group"])
        self.assertEqual(1200, seen["limits"]["source_preview_max_chars"])

    def test_a_list_has_a_size_and_a_sample_that_says_what_it_left_out(self):
        seen = self.look(list(range(20)))
        self.assertEqual("sequence", seen["kind"])
        self.assertEqual({"len": 20}, seen["size"])
        sample = seen["sample"]
        self.assertEqual([str(number) for number in range(16)], sample["items"])
        self.assertEqual((16, 20, True), (sample["shown"], sample["total"], sample["truncated"]))
        piece = looking.more(self.handles, {"handle": sample["handle"], "from": 16, "count": 10})["value"]
        self.assertEqual(
            {"type": "items", "items": ["16", "17", "18", "19"], "from": 16, "total": 20, "next": None}, piece
        )
        self.assertIn("append", seen["members"]["callables"])
        whole = self.look([1, 2])["sample"]
        self.assertEqual({"items": ["1", "2"], "shown": 2, "total": 2, "truncated": False}, whole)

    def test_none_is_none(self):
        seen = self.look(None)
        self.assertEqual(("none", "None"), (seen["kind"], seen["repr"]["text"]))
        self.assertNotIn("handle", seen)

    def test_an_object_that_cannot_be_asked_is_shown_from_its_fields(self):
        seen = self.look(Noisy())
        name = "tests.test_looking_values"
        self.assertEqual(
            f"<{name}.Noisy id=7, items=[…3], empty=[], _inner=<{name}.Stack …>>",
            seen["repr"]["text"],
        )
        self.assertEqual(["_inner", "empty", "id", "items", "slow"], seen["members"]["data"])
        self.assertEqual("object", seen["kind"])
        self.assertEqual("Raises, sleeps or lies when it is asked anything.", seen["doc"]["text"])

    def test_subclasses_of_built_in_classes_show_what_they_hold_and_their_fields(self):
        name = "tests.test_looking_values"
        self.assertEqual(f"<{name}.Stack [1, 2] name='s'>", self.text(Stack("s", [1, 2])))
        self.assertEqual(f"<{name}.Point x=1, y=2>", self.text(Point(1, 2)))
        self.assertEqual("<collections.Counter {'a': 2}>", self.text(collections.Counter("aa")))
        self.assertEqual(
            "<collections.defaultdict {'a': 1} default_factory=<class 'list'>>",
            self.text(collections.defaultdict(list, a=1)),
        )
        self.assertEqual(f"<{name}.Colour.RED: 1>", self.text(Colour.RED))
        text = type("Name", (str,), {"__module__": "m"})("abc")
        self.assertEqual(("<m.Name 'abc'>", "string"), (self.text(text), self.look(text)["kind"]))

    def test_built_in_values_read_as_python_prints_them(self):
        for value in (
            0,
            -5,
            1.5,
            float("nan"),
            float("inf"),
            1j,
            True,
            None,
            ...,
            "",
            "a'b\"",
            "\n\t\0",
            "é☃𝄞",
            b"",
            b"a\0",
            bytearray(b"x"),
            [],
            [1],
            (),
            (1,),
            (1, 2),
            {},
            {"a": [1, {2: 3}]},
            set(),
            {1},
            frozenset(),
            frozenset({1}),
            range(3),
            range(1, 9, 2),
            range(10**30),
            collections.deque([1, 2]),
            {}.keys(),
            {"a": 1}.keys(),
            {"a": 1}.values(),
            {"a": 1}.items(),
            types.MappingProxyType({"a": 1}),
            datetime.date(2020, 1, 2),
            datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
            datetime.timedelta(1),
            datetime.time(1, 2),
            decimal.Decimal("1.50"),
            datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
            int,
            NotImplemented,
        ):
            self.assertEqual(repr(value), self.text(value))

    def test_familiar_values_of_the_standard_library_read_as_what_they_are(self):
        for value in (
            fractions.Fraction(-1, 3),
            uuid.UUID(int=5),
            pathlib.PurePosixPath("/tmp/a b"),
            pathlib.PurePosixPath("a/b"),
            pathlib.PurePosixPath("/"),
            pathlib.PurePosixPath(),
        ):
            self.assertEqual(repr(value), self.text(value))
        self.assertIn(
            "path=PurePosixPath('/tmp')", self.text(types.SimpleNamespace(path=pathlib.PurePosixPath("/tmp")))
        )

    def test_every_kind_is_told_from_the_class_alone(self):
        made = coroutine()
        self.addCleanup(made.close)
        for kind, samples in {
            "none": (None,),
            "bool": (True,),
            "number": (1, 1.0, 1j, decimal.Decimal(1), fractions.Fraction(1, 2)),
            "string": ("a", type("S", (str,), {})()),
            "bytes": (b"", bytearray(), memoryview(b"")),
            "mapping": ({}, collections.OrderedDict(), types.MappingProxyType({}), collections.UserDict()),
            "sequence": ([], (), range(1), collections.deque(), collections.UserList(), Point(1, 2)),
            "set": (set(), frozenset(), {}.keys()),
            "iterator": (iter([]), map(str, []), zip(), enumerate([])),
            "generator": (generator(),),
            "coroutine": (made,),
            "async_generator": (async_generator(),),
            "callable": (len, documented, [].append, lambda: 1),
            "class": (int, Noisy, abc.ABC, type),
            "module": (json,),
            "exception": (ValueError(), KeyboardInterrupt()),
            "object": (Noisy(),),
            "other": (object(), slice(1), documented.__code__),
        }.items():
            for sample in samples:
                self.assertEqual(kind, self.look(sample)["kind"], repr(type(sample)))

    def test_a_module_shows_its_members_and_doc(self):
        seen = self.look(json)
        self.assertEqual("<module 'json'>", seen["repr"]["text"])
        self.assertIn("dumps", seen["members"]["callables"])
        self.assertTrue(seen["doc"]["text"].startswith("JSON (JavaScript Object Notation)"))

    def test_a_class_that_lies_about_its_instances_is_not_believed(self):
        class Liar:
            __class__ = property(lambda self: int)
            __len__ = lambda self: 5  # noqa: E731

        seen = self.look(Liar())
        self.assertEqual(("object", "Liar"), (seen["kind"], seen["type"]["name"]))
        self.assertNotIn("size", seen)


if __name__ == "__main__":
    unittest.main()
