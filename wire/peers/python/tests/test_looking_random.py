"""Whatever a value is made of, looking at it answers in bounds, can be sent, and raises nothing."""

import collections
import datetime
import json
import random
import types
import unittest
import warnings

from imago import looking
from imago.handles import Handles
from tests.daemon import LONG
from tests.looking_support import FIRED, Keyed, guard, make


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


if __name__ == "__main__":
    unittest.main()
