"""Values as they are shown, in bounds, whatever they are made of."""

import abc
import collections
import datetime
import decimal
import enum
import fractions
import json
import pathlib
import random
import types
import unittest
import uuid
import warnings

from imago import looking
from imago.handles import Handles
from tests.daemon import LONG
from tests.looking_support import FIRED, Keyed, guard, make


# The sections of a look at one value, from stored fields alone.

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


# Whatever a value is made of, looking at it answers in bounds, can be sent, and raises nothing.

class Loose:
    pass


class Slotted:
    __slots__ = ("a", "b", "__weakref__")


TEXTS = ("", "a", "é", "\ud800", "\udcff", "\0", "☃" * 300, "'\"", "\n", "@abcd.1", "x" * 5000, "𝄞")
LEAVES = (
    None,
    True,
    0,
    -1,
    2**70,
    -(2**5000),
    1.5,
    float("nan"),
    float("inf"),
    -0.0,
    1j,
    b"",
    b"\xff" * 300,
    ...,
    int,
    len,
    json,
    datetime.datetime(1, 1, 1),
    NotImplemented,
    object,
    range(-5, 10**25, 3),
    Loose,
    make,
    type,
    ValueError,
)


def grown(chance, depth):
    """A random value, nested up to `depth`, that may hold itself."""
    if depth == 0 or chance.random() < 0.3:
        return chance.choice(LEAVES) if chance.random() < 0.5 else chance.choice(TEXTS)
    parts = [grown(chance, depth - 1) for _ in range(chance.choice((0, 1, 2, 3, 20)))]
    texts = [chance.choice(TEXTS) for _ in parts]
    shape = chance.randrange(12)
    if shape == 0:
        value = parts
        if chance.random() < 0.2:
            value.append(value)
    elif shape == 1:
        value = tuple(parts)
    elif shape == 2:
        value = dict(zip(texts, parts))
    elif shape == 3:
        value = set(texts)
    elif shape == 4:
        value = Loose()
        for text, part in zip(texts, parts):
            value.__dict__[text] = part
        if chance.random() < 0.2:
            value.me = value
    elif shape == 5:
        value = Slotted()
        if parts:
            value.a = parts
    elif shape == 6:
        value = ValueError(*parts)
    elif shape == 7:
        value = collections.deque(parts)
    elif shape == 8:
        value = types.MappingProxyType(dict(zip(texts, parts)))
    elif shape == 9:
        value = make()
    elif shape == 10:
        value = {Keyed(): parts, 5: parts}
    else:
        value = collections.OrderedDict(zip(texts, parts))
    return value


class Random(unittest.TestCase):
    def test_looking_never_raises_and_is_always_bounded(self):
        for seed in range(400 if LONG else 60):
            chance = random.Random(seed)
            value = grown(chance, 5)
            handles = Handles("abcd1234")
            FIRED.clear()
            looked = looking.inspect_static({"x": value}, "x", handles)
            self.assertEqual([], FIRED, seed)
            self.assert_sendable(looked, 40_000, seed)
            for name, section in looked["value"].items():
                if isinstance(section, dict):
                    self.assertNotIn("error", section, (seed, name))
            limit = chance.choice((1, 2, 10, 200))
            text = looking.static_text(value, limit)
            self.assertLessEqual(len(text), limit, seed)
            for number in range(1, 4):
                piece = looking.more(handles, {"handle": f"@abcd.{number}", "from": chance.randrange(9), "count": 50})
                self.assert_sendable(piece, 40_000, seed)
            self.assertEqual([], FIRED, seed)

    def test_showing_never_raises_and_is_always_bounded(self):
        for seed in range(200 if LONG else 30):
            value = grown(random.Random(seed), 5)
            self.assert_sendable(looking.show(value, Handles("abcd1234"), guard), 40_000, seed)

    def test_any_text_for_an_expression_gets_an_answer(self):
        alphabet = "ab.[]()'\"\\0123 -+*:@{}\n\t,=#é\ud800\0~!%^&|<>?;`$_fifnotinlambda"
        words = ("1", "0x1f", "1.", ".5e5", "1j", "if", "and", "or", "x", "\\x41", "\\q", "'", "b", "_")
        namespace = {"a": {"b": [1, 2, {"a": "b"}]}, "b": Loose()}
        for seed in range(3000 if LONG else 600):
            chance = random.Random(seed)
            letters = words if seed % 3 == 0 else alphabet
            source = "".join(chance.choice(letters) for _ in range(chance.randrange(1, 12)))
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                looked = looking.inspect_static(namespace, source, Handles("abcd1234"))
            self.assertEqual([], warned, source)
            self.assert_sendable(looked, 40_000, source)

    def assert_sendable(self, answer, limit, what):
        text = json.dumps(answer, allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
        self.assertLess(len(text), limit, what)
