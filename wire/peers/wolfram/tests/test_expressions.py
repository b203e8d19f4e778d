"""Expressions as a kernel sends them, and what is made of them."""

import unittest

from tests.page import symbol_definition
from tests.test_specification import PLUS

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
from imago_wolfram.source import definition_from_json


class Kernel:
    """A source over what a kernel on a link has sent."""

    def __init__(self, **sent):
        self._sent = {f"System`{name}": definition_from_json(value) for name, value in sent.items()}

    def context(self):
        return "Global`"

    def context_path(self):
        return "System`", "Global`"

    def exists(self, name):
        return name in self._sent

    def names(self):
        return list(self._sent)

    def is_builtin(self, name):
        return True

    def learn(self, names):
        pass

    def defined(self, names):
        return set(names) & set(self._sent)

    def definition(self, name, budget=None):
        return self._sent.get(name)


class OfAKernel(unittest.TestCase):
    """Definitions of an engine that is not Mathics come out of the same printer."""

    def test_a_kernel_function(self):
        attributes = ["Orderless", "Flat", "Listable", "NumericFunction", "OneIdentity", "Protected"]
        default = ["default", ["n", "System`Default", "System`Plus"], 0]
        kernel = Kernel(Plus={"attributes": attributes, "rules": [default], "code": ["down"]})
        self.assertEqual(symbol_definition(kernel, "Plus"), PLUS)

    def test_the_placeholders_of_all_five_kinds_in_their_order(self):
        text = symbol_definition(Kernel(f={"code": ["print", "up", "sub", "own", "down"]}), "f")
        forms = ("f[___]", "f", "f[___][___]", "_[___, f, ___]", "Format[f, _]")
        self.assertIn("\n\n".join(f"{form} := <kernel function>" for form in forms), text)

    def test_rules_options_and_usage(self):
        x = ["n", "System`Pattern", "Global`x", ["n", "System`Blank"]]
        sent = {
            "rules": [
                ["down", ["n", "System`f", x], ["n", "System`Plus", "Global`x", ["s", "a"]]],
                ["format", ["n", "System`f", x], ["s", "F"], "System`TeXForm"],
            ],
            "options": [["System`Method", ["r", "1.5"]]],
            "messages": {"usage": "f[x] is x."},
        }
        text = symbol_definition(Kernel(f=sent), "f", include=("usage",))
        self.assertIn(
            'f[x_] := x + "a"\n\nFormat[f[x_], TeXForm] := "F"\n\nOptions[f] = {Method -> 1.5}\n```'
            "\n\n## Usage\n\n```text\nf[x] is x.",
            text,
        )

    def test_what_is_no_definition(self):
        for value in (
            None,
            [],
            {"rules": 1},
            {"rules": [["magic", 1, 2]]},
            {"rules": [["own", "a"]]},
            {"options": [[1]]},
        ):
            with self.assertRaises(NotAnExpression, msg=repr(value)):
                definition_from_json(value)


class FromJson(unittest.TestCase):
    def test_each_kind(self):
        for value, expected in (
            ("System`Plus", Symbol("System`Plus")),
            (3, Integer(3)),
            (["i", "123"], Integer(123)),
            (["s", "a\nb"], String("a\nb")),
            (["q", "1", "-2"], Rational(1, -2)),
            (["r", "1.5`20."], Real("1.5`20.")),
            (["r", "0.3333333333333333"], Real("0.3333333333333333")),
            (["r", "0.30000000000000004*^-7"], Real("0.30000000000000004`*^-7")),
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
