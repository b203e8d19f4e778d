"""What classes declare and where they stand among others."""

import abc
import collections
import ctypes
import dataclasses
import enum
import functools
import typing
import unittest

from tests.looking_image import ImageCase
from tests.looking_support import FIRED, hooks

try:
    import attrs
    import pydantic
except ImportError:
    attrs = pydantic = None


class Classes(ImageCase):
    def look(self, look, value, limit=100):
        self.namespace["x"] = value
        return self.found(look, name="x", limit=limit)

    def rows(self, value):
        """`kind name: annotation = default` of each slot, with the bare name of the class it is from."""
        lines = []
        for row in self.look("slots", value)["slots"]:
            note = "" if row["annotation"] is None else f": {row['annotation']}"
            default = "" if row["default"] is None else f" = {row['default']}"
            lines.append(f"{row['kind']} {row['name']}{note}{default} ({row['from'].rpartition('.')[2]})")
        return lines


class Slots(Classes):
    def test_fields_of_a_dataclass_are_told_with_those_it_inherits(self):
        @dataclasses.dataclass
        class Order:
            number: int
            items: list = dataclasses.field(default_factory=list)
            rate: typing.ClassVar[int] = 3
            once: dataclasses.InitVar[int] = 0

            def __post_init__(self, once):
                self.total = once

        @dataclasses.dataclass
        class Special(Order):
            note: typing.Optional[str] = None

        self.assertEqual(
            [
                "field note: str | None = None (Special)",
                "field number: int (Order)",
                "field items: list = list() (Order)",
                "class rate: ClassVar[int] = 3 (Order)",
                "class once: InitVar[int] = 0 (Order)",
                "slot total (Order)",
            ],
            self.rows(Special),
        )

    def test_what_methods_set_is_held_without_a_declaration(self):
        class Plain:
            shared = [1]
            declared: int

            def __init__(self, other):
                self.first = self.second = 1
                other.not_mine = 2

            def later(self):
                self.third = self.declared = 3

        rows = ["field declared: int (Plain)", "class shared = [1] (Plain)"]
        rows += [f"slot {name} (Plain)" for name in ("first", "second", "third")]
        self.assertEqual(rows, self.rows(Plain))

    def test_a_value_tells_also_what_it_alone_holds(self):
        class Plain:
            def __init__(self):
                self.usual = 1

        one = Plain()
        one.odd = 2
        self.assertEqual(["slot usual (Plain)", "slot odd (this instance)"], self.rows(one))

    def test_slots_properties_and_descriptors_are_told_apart(self):
        class Slotted:
            __slots__ = ("bare", "noted")
            noted: int
            described = type("Described", (), hooks("__get__"))()

            @property
            def computed(self) -> str:
                FIRED.append("computed")

            @functools.cached_property
            def cached(self):
                FIRED.append("cached")

            def method(self):
                pass

        FIRED.clear()
        rows = self.rows(Slotted)
        self.assertEqual(
            {
                "slot bare (Slotted)",
                "field noted: int (Slotted)",
                "property computed: str (Slotted)",
                "property cached (Slotted)",
            },
            {row for row in rows if "described" not in row},
        )
        self.assertTrue([row for row in rows if row.startswith("property described: ")])
        self.assertEqual([], FIRED)

    def test_named_tuples_typed_dicts_enums_and_structures_have_their_fields(self):
        class Point(typing.NamedTuple):
            x: int
            y: int = 2

        class Options(typing.TypedDict):
            name: str

        class Color(enum.Enum):
            RED = 1
            BLUE = "b"

        class Packed(ctypes.Structure):
            _fields_ = [("size", ctypes.c_int), ("flags", ctypes.c_uint, 3)]

        self.assertEqual(["field x: int (Point)", "field y: int = 2 (Point)"], self.rows(Point))
        self.assertEqual(["field a (Pair)", "field b (Pair)"], self.rows(collections.namedtuple("Pair", "a b")))
        self.assertEqual(["field name: str (Options)"], self.rows(Options))
        self.assertEqual(["class RED = 1 (Color)", "class BLUE = 'b' (Color)"], self.rows(Color))
        packed = ["field size: ctypes.c_int (Packed)", "field flags: ctypes.c_uint, 3 bits (Packed)"]
        self.assertEqual(packed, self.rows(Packed))

    def test_an_exception_has_the_fields_of_its_built_in_bases(self):
        class Failure(OSError):
            code = 3

            def __init__(self):
                self.detail = 1

        rows = self.rows(Failure)
        self.assertEqual(["class code = 3 (Failure)", "slot detail (Failure)"], rows[:2])
        self.assertIn("slot errno (OSError)", rows)
        self.assertIn("slot args (BaseException)", rows)

    @unittest.skipIf(attrs is None, "attrs and pydantic are not installed")
    def test_fields_of_attrs_and_pydantic_are_told_as_stored(self):
        @attrs.define
        class Made:
            number: int = 3
            items: list = attrs.field(factory=list)

        @attrs.define
        class More(Made):
            text: str = attrs.field(default="q")

        class Model(pydantic.BaseModel):
            number: int
            items: list = pydantic.Field(default_factory=list)

        class Larger(Model):
            rate: float = 1.5

        self.assertEqual(
            ["field text: str = 'q' (More)", "field number: int = 3 (Made)", "field items: list = list() (Made)"],
            self.rows(More),
        )
        self.assertEqual(
            ["field rate: float = 1.5 (Larger)", "field number: int (Model)", "field items: list = list() (Model)"],
            self.rows(Larger)[:3],
        )

    def test_a_limit_is_kept_and_the_total_told(self):
        many = type("Many", (), {f"a{number:03}": number for number in range(300)})
        seen = self.look("slots", many, limit=10)
        self.assertEqual((10, 300), (len(seen["slots"]), seen["total"]))


class Standing(Classes):
    def test_a_class_tells_its_bases_ancestors_metaclass_and_subclasses(self):
        class Top(abc.ABC):
            pass

        class Left(Top):
            pass

        class Right(Top):
            pass

        class Both(Left, Right):
            pass

        seen = self.look("hierarchy", Top)
        self.assertEqual("ABCMeta", seen["metaclass"]["name"])
        below = [(row["type"]["name"], row["depth"]) for row in seen["subclasses"]]
        self.assertEqual([("Left", 1), ("Both", 2), ("Right", 1)], below)
        self.assertEqual(3, seen["total"])
        self.assertEqual((__file__, True), (seen["file"], type(seen["line"]) is int))
        seen = self.look("hierarchy", Both())
        self.assertEqual(["Left", "Right"], [base["name"] for base in seen["bases"]])
        self.assertEqual(["Left", "Right", "Top", "ABC", "object"], [one["name"] for one in seen["ancestors"]])

    def test_the_root_of_all_classes_is_counted_and_cut(self):
        below = self.look("hierarchy", Exception, limit=1000)["subclasses"]
        self.assertEqual([], [row for row in below if (row["type"]["module"] or "").startswith("imago")])
        seen = self.look("hierarchy", object, limit=5)
        self.assertEqual((None, [], []), (seen["metaclass"], seen["bases"], seen["ancestors"]))
        self.assertEqual(5, len(seen["subclasses"]))
        self.assertGreater(seen["total"], 300)
        self.assertIn("ABCMeta", [row["type"]["name"] for row in self.look("hierarchy", type)["subclasses"]])


    def test_a_class_of_a_loaded_module_is_found_by_its_dotted_name(self):
        module = self.load("orders", "class Order:\n    size: int = 1\n")
        place = self.found("hierarchy", name="orders.Order", limit=5)
        self.assertEqual((module.__file__, 1), (place["file"], place["line"]))
        row = self.found("slots", name="orders.Order", limit=5)["slots"][0]
        self.assertEqual(("class", "size", "orders.Order"), (row["kind"], row["name"], row["from"]))
        self.assert_not_found("slots", name="orders.Ordr", limit=5)


if __name__ == "__main__":
    unittest.main()
