"""A look stays in bounds, whatever it looks at, and says where it stopped."""

import collections
import json
import tracemalloc
import types
import unittest

from imago import looking
from imago.handles import Handles


class Stack(list):
    """A list with a name."""

    def __init__(self, name, items):
        super().__init__(items)
        self.name = name

    def push(self, item):
        self.append(item)


def generator():
    yield 1


class Bounds(unittest.TestCase):
    def look(self, value):
        self.handles = Handles("abcd1234")
        looked = looking.inspect_static({"x": value}, "x", self.handles)
        self.assertEqual("found", looked["type"])
        json.dumps(looked, allow_nan=False)
        self.assertEqual(looked, looking.inspect_static({"x": value}, "x", self.handles), "looking twice differs")
        return looked["value"]

    def text(self, value):
        return self.look(value)["repr"]["text"]

    def test_containers_that_hold_themselves_are_shown_without_end(self):
        circle = [1]
        circle.append(circle)
        self.assertEqual("[1, [...]]", self.text(circle))
        ring = {"a": 1}
        ring["self"] = ring
        self.assertEqual("{'a': 1, 'self': {...}}", self.text(ring))
        pair = ([],)
        pair[0].append(pair)
        self.assertEqual("([(...)],)", self.text(pair))
        stack = Stack("s", [])
        stack.append(stack)
        self.assertIn("...", self.text(stack))
        nested = []
        for _ in range(10_000):
            nested = [nested]
        self.assertEqual("[[[[[[…1]]]]]]", self.text(nested))

    def test_an_object_of_very_many_fields_shows_the_first(self):
        value = types.SimpleNamespace(**{f"field_{number}": number for number in range(100)})
        self.assertTrue(self.text(value).endswith("field_23=23, …>"))

    def test_iterators_are_never_advanced(self):
        numbers, produced = iter([1, 2]), generator()
        self.look(numbers)
        self.look(produced)
        self.assertEqual(([1, 2], [1]), (list(numbers), list(produced)))

    def test_a_huge_value_is_not_copied_sorted_or_printed_whole(self):
        size = 10**6
        for value in (
            list(range(size)),
            tuple(range(size)),
            dict.fromkeys(range(size)),
            set(range(size)),
            frozenset(range(size)),
            "x" * 10**7,
            b"x" * 10**7,
            bytearray(10**7),
            range(10**30),
            collections.deque(range(size)),
            10**100_000,
            memoryview(bytes(10**7)),
            dict.fromkeys(range(size)).keys(),
            types.MappingProxyType(dict.fromkeys(range(size))),
            [[0] * size] * size,
            {"a": "x" * 10**7},
        ):
            handles = Handles("abcd1234")
            looking.inspect_static({"x": value}, "x", handles)
            tracemalloc.start()
            looked = looking.inspect_static({"x": value}, "x", handles)["value"]
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            self.assertLess(peak, 200_000, type(value))
            self.assertTrue(looked["repr"]["truncated"] or type(value) in (range, memoryview, int), type(value))
            self.assertLessEqual(len(looked["repr"]["text"]), 4096)

    def test_text_that_cannot_be_sent_is_escaped(self):
        name = type("X", (), {"__module__": "\udc80", "\udc81": 1})
        value = name()
        value.__dict__["\udc82"] = "\udc83"
        for thing in ("\udc80", ["\udc80"], {"\udc80": "\udc80"}, value, name, ValueError("\udc80"), "\udc80" * 9000):
            json.dumps(self.look(thing), ensure_ascii=False).encode("utf-8")

    def test_members_are_sorted_grouped_and_counted(self):
        value = types.SimpleNamespace(**{f"field_{number:02}": number for number in range(30)}, run=len)
        members = self.look(value)["members"]
        self.assertEqual([f"field_{number:02}" for number in range(24)], members["data"])
        self.assertEqual(["run"], members["callables"])
        self.assertEqual((24, True), (members["shown_per_group"], members["truncated"]))
        self.assertGreater(members["dunder_count"], 10)

    def test_a_long_doc_is_cut(self):
        value = type("X", (), {"__doc__": "x" * 5000})
        doc = self.look(value)["doc"]
        self.assertEqual((4096, True, 5000), (len(doc["text"]), doc["truncated"], doc["original_len"]))
        piece = looking.more(self.handles, {"handle": doc["handle"], "from": 4096, "count": 5000})["value"]
        self.assertEqual(("x" * 904, 5000, None), (piece["text"], piece["total"], piece["next"]))

    def test_a_section_that_fails_leaves_the_others(self):
        from imago.looking import inspection

        def broken(*_):
            raise ValueError("broken")

        original, inspection.members_section = inspection.members_section, broken
        try:
            seen = looking.inspect_static({"x": [1]}, "x", Handles("abcd1234"))["value"]
        finally:
            inspection.members_section = original
        self.assertEqual({"error": "ValueError: broken"}, seen["members"])
        self.assertEqual({"len": 1}, seen["size"])

    def test_a_long_text_is_read_on_by_its_handle(self):
        text = "ab\n" * 5000
        seen = self.look(text)
        printed = seen["repr"]
        self.assertEqual((4096, True, None), (len(printed["text"]), printed["truncated"], printed["original_len"]))
        read, start = "", 0
        while start is not None:
            piece = looking.more(self.handles, {"handle": printed["handle"], "from": start, "count": 7000})["value"]
            read, start = read + piece["text"], piece["next"]
        self.assertEqual(repr(text), read)
        piece = looking.more(self.handles, {"handle": seen["handle"], "from": 3, "count": 4})["value"]
        self.assertEqual({"type": "text", "text": "ab\na", "from": 3, "total": 15000, "next": 7}, piece)


if __name__ == "__main__":
    unittest.main()
