"""The sections of a look at one value, from stored fields alone: in bounds, whatever the value is made of."""

import abc
import collections
import datetime
import decimal
import enum
import fractions
import inspect
import json
import pathlib
import random
import sys
import tracemalloc
import types
import unittest
import uuid
import warnings

from imago import looking
from imago.handles import Handles
from imago.looking import sections
from imago.looking.adapters import registry
from tests.daemon import LONG, VERSIONED, once
from tests.looking_image import ImageCase
from tests.looking_support import FIRED, Keyed, guard, make

HERE = __name__
#: Since 3.14 an annotation is told as it was written, a text with its quotes.
LATE = sys.version_info >= (3, 14)


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

    __dir__ = __repr__

    @property
    def slow(self):
        raise AssertionError("was read")


class Abstract(abc.ABC):
    def run(self, times: int = 1):
        """Runs."""


class Slotted:
    __slots__ = ("a", "b", "__weakref__")


class Colour(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


async def coroutine():
    pass


async def async_generator():
    yield 1


def generator():
    yield 1


def circle():
    made = [1]
    made.append(made)
    return made


def ring():
    made = {"a": 1}
    made["self"] = made
    return made


def pair():
    made = ([],)
    made[0].append(made)
    return made


def nested(depth=10_000):
    made = []
    for _ in range(depth):
        made = [made]
    return made


#: Values whose text is what Python itself prints.
AS_PRINTED = (
    *(0, -5, 1.5, float("nan"), float("inf"), 1j, True, None, ..., NotImplemented, int, range(3), range(1, 9, 2)),
    *("", "a'b\"", "\n\t\0", "é☃𝄞", b"", b"a\0", bytearray(b"x"), range(10**30)),
    *([], [1], (), (1,), (1, 2), {}, {"a": [1, {2: 3}]}, set(), {1}, frozenset(), frozenset({1})),
    *({}.keys(), {"a": 1}.keys(), {"a": 1}.values(), {"a": 1}.items(), types.MappingProxyType({"a": 1})),
    *(collections.deque([1, 2]), decimal.Decimal("1.50"), fractions.Fraction(-1, 3), uuid.UUID(int=5)),
    *(datetime.date(2020, 1, 2), datetime.time(1, 2), datetime.timedelta(1), datetime.datetime(2020, 1, 2, 3, 4, 5, 6)),
    datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
    *(pathlib.PurePosixPath(path) for path in ("/tmp/a b", "a/b", "/", ".")),
)

TEXTS = (
    (circle(), "[1, [...]]"),
    (ring(), "{'a': 1, 'self': {...}}"),
    (pair(), "([(...)],)"),
    (nested(), "[[[[[[…1]]]]]]"),
    (Noisy(), f"<{HERE}.Noisy id=7, items=[…3], empty=[], _inner=<{HERE}.Stack …>>"),
    (Stack("s", [1, 2]), f"<{HERE}.Stack [1, 2] name='s'>"),
    (Point(1, 2), f"<{HERE}.Point x=1, y=2>"),
    (Colour.RED, f"<{HERE}.Colour.RED: 1>"),
    (Stack, f"<class '{HERE}.Stack'>"),
    (json, "<module 'json'>"),
    (collections.Counter("aa"), "<collections.Counter {'a': 2}>"),
    (type("Name", (str,), {"__module__": "m"})("abc"), "<m.Name 'abc'>"),
    (
        types.SimpleNamespace(path=pathlib.PurePosixPath("/tmp")),
        "<types.SimpleNamespace path=PurePosixPath('/tmp')>",
    ),
)

KINDS = {
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
    "async_generator": (async_generator(),),
    "callable": (len, documented, [].append, lambda: 1),
    "class": (int, Noisy, abc.ABC, type, ValueError),
    "module": (json,),
    "exception": (ValueError(), KeyboardInterrupt()),
    "object": (Noisy(),),
    "other": (object(), slice(1), documented.__code__),
}


class Values(ImageCase):
    def test_a_number_has_its_text_and_the_limits_of_the_look(self):
        seen = self.seen(42)
        self.assertEqual({"name": "int", "module": "builtins", "qualified": "builtins.int"}, seen["type"])
        self.assertEqual({"text": "42", "truncated": False, "original_len": 2}, seen["repr"])
        self.assertEqual({"type", "kind", "repr", "limits"}, set(seen))
        limits = ("repr_max_chars", "doc_max_chars", "sample_max_items", "member_max_per_group")
        self.assertEqual([4096, 4096, 16, 24], [seen["limits"][name] for name in limits])
        self.assertEqual(1200, seen["limits"]["source_preview_max_chars"])

    def test_each_value_has_its_text(self):
        for value in AS_PRINTED:
            self.assertEqual(repr(value), self.text(value))
        for value, text in TEXTS:
            self.assertEqual(text, self.text(value))
        self.namespace["stack"] = stack = Stack("s", [])
        stack.append(stack)
        self.assertIn("...", self.text(stack))

    def test_each_kind_is_told_from_the_class_alone(self):
        made = coroutine()
        self.addCleanup(made.close)
        for kind, samples in {**KINDS, "coroutine": (made,)}.items():
            for sample in samples:
                self.assertEqual(kind, self.seen(sample)["kind"], repr(type(sample)))

    def test_a_class_that_lies_about_its_instances_is_not_believed(self):
        body = {"__class__": property(lambda self: int), "__len__": lambda self: 5}
        seen = self.seen(type("Liar", (), body)())
        self.assertEqual(("object", "Liar"), (seen["kind"], seen["type"]["name"]))
        self.assertNotIn("size", seen)

    def test_a_list_has_a_size_and_a_sample_that_says_what_it_left_out(self):
        seen = self.seen(list(range(20)))
        self.assertEqual({"len": 20}, seen["size"])
        sample = seen["sample"]
        self.assertEqual([str(number) for number in range(16)], sample["items"])
        self.assertEqual((16, 20, True), (sample["shown"], sample["total"], sample["truncated"]))
        rest = {"type": "items", "items": ["16", "17", "18", "19"], "from": 16, "total": 20, "next": None}
        self.assertEqual(rest, self.more(sample["handle"], 16, 10))
        whole = self.seen([1, 2])["sample"]
        self.assertEqual({"items": ["1", "2"], "exprs": ["x[0]", "x[1]"], "shown": 2, "total": 2, "truncated": False}, whole)

    def test_members_are_sorted_public_ones_first_grouped_and_counted(self):
        value = types.SimpleNamespace(**{f"field_{number:02}": number for number in range(30)}, run=len)
        members = self.seen(value)["members"]
        self.assertEqual([f"field_{number:02}" for number in range(24)], members["data"])
        self.assertEqual(["run"], members["callables"])
        self.assertEqual((24, True), (members["shown_per_group"], members["truncated"]))
        self.assertGreater(members["dunder_count"], 10)
        self.assertTrue(self.text(value).endswith("field_23=23, …>"))
        self.assertEqual(["empty", "id", "items", "slow", "_inner"], self.seen(Noisy())["members"]["data"])
        for owner, name in (([], "append"), (json, "dumps"), (Stack, "push")):
            self.assertIn(name, self.seen(owner)["members"]["callables"])

    def test_an_instance_has_its_fields_with_values_and_what_begins_with_an_underscore_last(self):
        fields = self.seen(Noisy())["fields"]
        self.assertEqual(["id", "items", "empty", "_inner"], [row["name"] for row in fields["rows"]])
        self.assertEqual(["7", "['a', 'b', 'c']", "[]"], [row["value"] for row in fields["rows"]][:3])
        self.assertEqual((4, "int"), (fields["total"], fields["rows"][0]["type_name"]))
        state = types.SimpleNamespace(_state=1, name="Ann")
        self.assertEqual(["name", "_state"], [row["name"] for row in self.seen(state)["fields"]["rows"]])

    def test_many_and_long_fields_are_bounded_and_counted(self):
        value = types.SimpleNamespace(**{f"name_{number}": "x" * 10_000 for number in range(200)})
        fields = self.seen(value)["fields"]
        self.assertEqual((40, 200), (len(fields["rows"]), fields["total"]))
        self.assertLessEqual(max(len(row["value"]) for row in fields["rows"]), 200)

    def test_the_methods_of_its_own_class_are_told_in_their_order_with_a_line_each(self):
        class Document:
            def inherited(self):
                return 1

        class Order(Document):
            def total(self, rate=1):
                """The sum of its lines.

                At a rate.
                """
                return rate

            def _check(self):
                return True

            @property
            def paid(self):
                """Whether it is paid."""
                raise AssertionError("was read")

            @classmethod
            def load(cls, path):
                return path

            @staticmethod
            def parse(text):
                return text

        rows = [
            {"name": "total", "kind": "method", "signature": "(rate=1)", "doc": "The sum of its lines."},
            {"name": "paid", "kind": "property", "signature": None, "doc": "Whether it is paid."},
            {"name": "load", "kind": "method", "signature": "(path)", "doc": None},
            {"name": "parse", "kind": "method", "signature": "(text)", "doc": None},
        ]
        for value in (Order(), Order):
            methods = self.seen(value)["methods"]
            self.assertEqual((rows, 4), (methods["rows"], methods["total"]))
            self.assertTrue(methods["of"].endswith("Order"))

    def test_a_class_has_what_it_holds_itself_and_nothing_of_its_bases(self):
        class Document:
            shared = 1

        class Order(Document):
            rate = 0.2
            kinds = ["a"]

        rows = self.seen(Order)["fields"]["rows"]
        self.assertEqual([("rate", "0.2"), ("kinds", "['a']")], [(row["name"], row["value"]) for row in rows])

    def test_what_a_class_of_a_library_holds_is_left_to_its_text(self):
        for value in (7, "text", [1], {}, len, documented, json):
            seen = self.seen(value)
            self.assertNotIn("fields", seen, repr(value))
            self.assertNotIn("methods", seen, repr(value))

    def test_documentation_is_cut_and_read_on(self):
        doc = self.seen(type("X", (), {"__doc__": "x" * 5000}))["doc"]
        self.assertEqual((4096, True, 5000), (len(doc["text"]), doc["truncated"], doc["original_len"]))
        piece = self.more(doc["handle"], 4096, 5000)
        self.assertEqual(("x" * 904, 5000, None), (piece["text"], piece["total"], piece["next"]))
        self.assertEqual("Raises, sleeps or lies when it is asked anything.", self.seen(Noisy())["doc"]["text"])
        self.assertTrue(self.seen(json)["doc"]["text"].startswith("JSON (JavaScript Object Notation)"))

    def test_a_long_text_is_read_on_by_its_handle(self):
        text = "ab\n" * 5000
        seen = self.seen(text)
        printed = seen["repr"]
        self.assertEqual((4096, True, None), (len(printed["text"]), printed["truncated"], printed["original_len"]))
        read, start = "", 0
        while start is not None:
            piece = self.more(printed["handle"], start, 7000)
            read, start = read + piece["text"], piece["next"]
        self.assertEqual(repr(text), read)
        piece = {"type": "text", "text": "ab\na", "from": 3, "total": 15000, "next": 7}
        self.assertEqual(piece, self.more(seen["handle"], 3, 4))

    def test_a_section_that_fails_leaves_the_others(self):
        def broken(*_):
            raise ValueError("broken")

        self.addCleanup(setattr, sections, "group_members", sections.group_members)
        sections.group_members = broken
        seen = looking.inspect_static({"x": [1]}, "x", self.handles)["value"]
        self.assertEqual({"error": "ValueError: broken"}, seen["members"])
        self.assertEqual({"len": 1}, seen["size"])

    def test_the_adapters_are_asked_once_by_the_look_at_an_instance_and_once_by_its_text(self):
        asked = []

        def count(frame, event, _):
            if event == "call" and frame.f_code is registry.seen.__code__:
                asked.append(frame.f_locals["value"])

        value = Slotted()
        value.a, value.b = 1, "two"
        sys.setprofile(count)
        try:
            looking.inspect_static({"x": value}, "x", self.handles)
        finally:
            sys.setprofile(None)
        self.assertEqual([True, True], [one is value for one in asked])

    def test_iterators_are_never_advanced(self):
        numbers, produced = iter([1, 2]), generator()
        self.seen(numbers)
        self.seen(produced)
        self.assertEqual(([1, 2], [1]), (list(numbers), list(produced)))

    def test_text_that_cannot_be_sent_is_escaped(self):
        name = type("X", (), {"__module__": "\udc80", "\udc81": 1})
        value = name()
        value.__dict__["\udc82"] = "\udc83"
        for thing in ("\udc80", ["\udc80"], {"\udc80": "\udc80"}, value, name, ValueError("\udc80"), "\udc80" * 9000):
            self.seen(thing)

    @once
    def test_a_huge_value_is_not_copied_sorted_or_printed_whole(self):
        size = 10**6
        numbers = dict.fromkeys(range(size))
        containers = [kind(range(size)) for kind in (list, tuple, set, frozenset, collections.deque)]
        texts = ["x" * 10**7, b"x" * 10**7, bytearray(10**7), memoryview(bytes(10**7)), {"a": "x" * 10**7}]
        others = [numbers, numbers.keys(), types.MappingProxyType(numbers), [[0] * size] * size]
        for value in (*containers, *texts, *others, range(10**30), 10**100_000):
            self.handles = Handles("abcd1234")
            looking.inspect_static({"x": value}, "x", self.handles)
            tracemalloc.start()
            looked = looking.inspect_static({"x": value}, "x", self.handles)["value"]
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            self.assertLess(peak, 200_000, type(value))
            self.assertTrue(looked["repr"]["truncated"] or type(value) in (range, memoryview, int), type(value))
            self.assertLessEqual(len(looked["repr"]["text"]), 4096)


class Callables(ImageCase):
    def called(self, value):
        return self.seen(value)["callable"]

    def test_a_function_has_a_signature_a_place_and_source(self):
        called = self.called(documented)
        self.assertEqual("(a, /, b: int = 3, *rest, c='x', **more) -> " + ("'str'" if LATE else "str"), called["signature"])
        self.assertEqual((HERE, "Says something."), (called["module"], called["doc"]))
        self.assertTrue(called["source_preview"].startswith("def documented(a, /, b: int = 3"))
        self.assertTrue(called["source_preview"].endswith("return a"))
        self.assertFalse(called["source_truncated"])
        self.assertEqual((__file__, documented.__code__.co_firstlineno), (called["file"], called["line"]))
        self.assertEqual("Says something.\n\nIn several lines.", self.seen(documented)["doc"]["text"])
        self.assertTrue(self.called(Stack.push)["source_preview"].startswith("    def push(self, item):\n"))

    def test_signatures_read_as_python_writes_them(self):
        sources = ["()", "(a)", "(a, /)", "(a, b=1, /, c=2)", "(*, a)", "(*args, a=1, **rest)", "(a: 'x' = None)"]
        sources.append("(a: int, *args: str, b: list[int] = [1], **rest: dict) -> None")
        for source in sources:
            exec(f"def f{source}: pass", self.namespace)
            expected = source.replace("'x'", "x") if not LATE else source
            self.assertEqual(expected, self.called(self.namespace["f"])["signature"])

    def test_compiled_functions_have_no_source_and_maybe_a_signature(self):
        for value in (len, [].append, str.join, dict, max, type, object().__repr__, list.__add__):
            called = self.called(value)
            self.assertEqual((None, False), (called["source_preview"], called["source_truncated"]))
        for method in (list.append, str.upper, dict.get, list.__add__, object.__repr__, list.__init__):
            self.assertEqual(str(inspect.signature(method)), self.called(method)["signature"])
        for method, signature in (
            (len, "(obj, /)"),
            (max, None),
            ([].append, "(object, /)"),
            ("".upper, "()"),
            ([].__add__, "(value, /)"),
            (dict.fromkeys, "(iterable, value=None, /)"),
        ):
            self.assertEqual(signature, self.called(method)["signature"])

    def test_a_class_shows_how_it_is_made(self):
        called = self.called(Stack)
        self.assertEqual("(name, items)", called["signature"])
        self.assertTrue(called["source_preview"].startswith("class Stack(list):"))
        self.assertEqual("(times: int = 1)", self.called(Abstract().run)["signature"])

    def test_a_function_that_was_typed_in_shows_its_source(self):
        self.keep_lines("<imago-7>", "def next(x):\n    x + 1\n\n\nother = 1\n")
        called = self.called(self.namespace["next"])
        self.assertEqual("def next(x):\n    x + 1", called["source_preview"])
        self.assertEqual(("<imago-7>", 1, "__main__"), (called["file"], called["line"], called["module"]))
        self.keep_lines("<imago-8>", "def f():\n" + "".join(f"    name_{number} = {number}\n" for number in range(200)))
        called = self.called(self.namespace["f"])
        self.assertEqual((1200, True), (len(called["source_preview"]), called["source_truncated"]))

    def test_source_that_cannot_be_had_is_null(self):
        for file in ("<nowhere>", "/dev/zero", "/no/such/file.py", "/", "x\0y"):
            function = types.FunctionType(documented.__code__.replace(co_filename=file), {})
            self.assertIsNone(self.called(function)["source_preview"], file)

    def test_source_in_another_encoding_is_read(self):
        for encoding, named in (("utf-8", "utf-8"), ("latin-1", "latin-1"), ("utf-8-sig", "utf-8")):
            file = f"{self.folder}/{encoding}.py"
            with open(file, "w", encoding=encoding) as stream:
                stream.write(f'# -*- coding: {named} -*-\ndef f():\n    return "é"\n')
            code = documented.__code__.replace(co_filename=file, co_firstlineno=2)
            preview = self.called(types.FunctionType(code, {}))["source_preview"]
            self.assertEqual('def f():\n    return "é"', preview)


class Exceptions(ImageCase):
    def raised(self, function, *args):
        try:
            function(*args)
        except Exception as error:
            return self.seen(error)["exception"]

    def test_an_exception_has_its_message_and_where_it_was_raised(self):
        facts = self.raised(lambda: {}["gone"])
        self.assertEqual(("builtins.KeyError", "'gone'"), (facts["exc_type"], facts["message"]))
        self.assertIn("in <lambda>\n    facts = self.raised(", facts["traceback"])
        self.assertTrue(facts["traceback"].endswith("KeyError: 'gone'"))
        self.assertIn("No such file", self.raised(open, "/no/such/file")["message"])
        facts = self.seen(ValueError("x"))["exception"]
        self.assertEqual(("x", None), (facts["message"], facts["traceback"]))
        self.assertEqual("builtins.ValueError", self.seen(ValueError)["exception"]["exc_type"])

    def test_a_deep_traceback_is_cut_in_front(self):
        def deeper(depth):
            return deeper(depth - 1) if depth else 1 / 0

        traceback = self.raised(deeper, 100)["traceback"]
        self.assertIn("outer frames", traceback)
        self.assertEqual(12, traceback.count("  File "))


# Whatever a value is made of, looking at it answers in bounds, can be sent, and raises nothing.

WORDS = ("", "a", "é", "\ud800", "\udcff", "\0", "☃" * 300, "'\"", "\n", "@abcd.1", "x" * 5000, "𝄞")
LEAVES = (
    *(None, True, 0, -1, 2**70, -(2**5000), 1.5, float("nan"), float("inf"), -0.0, 1j, b"", b"\xff" * 300, ...),
    *(int, len, json, datetime.datetime(1, 1, 1), NotImplemented, object, range(-5, 10**25, 3), Noisy, make, type),
)


def grown(chance, depth):
    """A random value, nested up to `depth`, that may hold itself."""
    if depth == 0 or chance.random() < 0.3:
        return chance.choice(LEAVES) if chance.random() < 0.5 else chance.choice(WORDS)
    parts = [grown(chance, depth - 1) for _ in range(chance.choice((0, 1, 2, 3, 20)))]
    by_text = dict(zip((chance.choice(WORDS) for _ in parts), parts))
    slotted = Slotted()
    slotted.a = parts
    value = chance.choice(
        (
            lambda: parts,
            lambda: tuple(parts),
            lambda: by_text,
            lambda: set(by_text),
            lambda: types.SimpleNamespace(**by_text),
            lambda: slotted,
            lambda: ValueError(*parts),
            lambda: collections.deque(parts),
            lambda: types.MappingProxyType(by_text),
            lambda: make(),
            lambda: {Keyed(): parts, 5: parts},
            lambda: collections.OrderedDict(by_text),
        )
    )()
    if chance.random() < 0.2:
        parts.append(value)
    return value


class Random(ImageCase):
    def assert_sendable(self, answer, what):
        text = json.dumps(answer, allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
        self.assertLess(len(text), 40_000, what)

    def test_looking_and_showing_never_raise_and_are_always_bounded(self):
        for seed in range(400 if LONG else 20 if VERSIONED else 60):
            chance, handles = random.Random(seed), Handles("abcd1234")
            value = grown(chance, 5)
            FIRED.clear()
            looked = looking.inspect_static({"x": value}, "x", handles)
            self.assert_sendable(looked, seed)
            for name, section in looked["value"].items():
                if isinstance(section, dict):
                    self.assertNotIn("error", section, (seed, name))
            limit = chance.choice((1, 2, 10, 200))
            self.assertLessEqual(len(looking.static_text(value, limit)), limit, seed)
            for number in range(1, 4):
                query = {"handle": f"@abcd.{number}", "from": chance.randrange(9), "count": 50}
                self.assert_sendable(looking.more(handles, query), seed)
            self.assertEqual([], FIRED, seed)
            if seed % 2:
                self.assert_sendable(looking.show(value, handles, guard), seed)

    def test_any_text_for_an_expression_gets_an_answer(self):
        alphabet = "ab.[]()'\"\\0123 -+*:@{}\n\t,=#é\ud800\0~!%^&|<>?;`$_fifnotinlambda"
        words = ("1", "0x1f", "1.", ".5e5", "1j", "if", "and", "or", "x", "\\x41", "\\q", "'", "b", "_")
        namespace = {"a": {"b": [1, 2, {"a": "b"}]}, "b": Noisy()}
        for seed in range(3000 if LONG else 200 if VERSIONED else 600):
            chance = random.Random(seed)
            letters = words if seed % 3 == 0 else alphabet
            source = "".join(chance.choice(letters) for _ in range(chance.randrange(1, 12)))
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                looked = looking.inspect_static(namespace, source, Handles("abcd1234"))
            self.assertEqual([], warned, source)
            self.assert_sendable(looked, source)


if __name__ == "__main__":
    unittest.main()
