"""Expressions as a kernel sends them, and what is made of them."""

import unittest

from imago_wolfram.expressions import (
    MOST_CHARACTERS,
    Budget,
    Complex,
    Integer,
    Normal,
    NotAnExpression,
    Omitted,
    Rational,
    Real,
    String,
    Symbol,
    from_json,
    string,
    system,
)


class FromJson(unittest.TestCase):
    def test_each_kind(self):
        for value, expected in (
            ("System`Plus", Symbol("System`Plus")),
            (3, Integer(3)),
            (["i", "123"], Integer(123)),
            (["s", "a\nb"], String("a\nb")),
            (["q", "1", "-2"], Rational(1, -2)),
            (["r", "1.5`20."], Real("1.5`20.")),
            (["c", 1, ["r", "2."]], Complex(Integer(1), Real("2."))),
            (["o", "Image"], Omitted("Image")),
            (["n", "System`List", 1, ["n", "g`f"]], system("List", Integer(1), Normal(Symbol("g`f"), ()))),
        ):
            self.assertEqual(from_json(value), expected)

    def test_what_is_none(self):
        for value in (None, True, 1.5, [], ["n"], ["x", 1], {}, ["s", 1], ["i", "1; Quit[]"], ["n", "f", None]):
            with self.assertRaises(NotAnExpression, msg=repr(value)):
                from_json(value)

    def test_too_much_is_counted(self):
        wide = from_json(["n", "System`List", *range(1000)], Budget(11))
        self.assertEqual(wide.arguments[-1], Omitted("991"))
        deep = "System`x"
        for _ in range(500):
            deep = ["n", "System`List", deep]
        self.assertIn("deeper", repr(from_json(deep)))
        self.assertEqual(from_json(["i", "1" * 100_000]), Omitted("100000 digits"))

    def test_a_long_text_is_cut_with_its_length(self):
        cut = string("x" * (MOST_CHARACTERS + 9))
        self.assertEqual(cut.arguments[1], Omitted("9 characters"))
