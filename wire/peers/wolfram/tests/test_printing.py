"""What is printed reads back as the same expression, by Mathics' own parser."""

import os
import random
import unittest

from imago_wolfram.expressions import (
    SYSTEM,
    Complex,
    Expression,
    Integer,
    Normal,
    Rational,
    String,
    Symbol,
    machine_real,
    parts,
    system,
)
from imago_wolfram.layout import BREAK, concat, nest, render
from imago_wolfram.printing import INFIX, Printer, ValuePrinter, is_name, quoted, visible
from mathics.core.parser.parser import special_symbols
from mathics_scanner.characters import NAMED_CHARACTERS
from mathics_scanner.tokeniser import is_symbol_name
from tests import session  # noqa: F401  Loads Mathics with its settings.
from tests.reading_back import Names, folded, read_back

SYSTEM_NAMES = (
    *INFIX,
    *"List Association CompoundExpression Part Not Function Factorial Increment Decrement PreIncrement".split(),
    *"PreDecrement Span TagSet TagSetDelayed Blank BlankSequence BlankNullSequence Pattern Optional".split(),
    *"Repeated RepeatedNull Slot SlotSequence MessageName HoldPattern Verbatim Module Block With If".split(),
    *"Hold Null All True I".split(),
)
GLOBAL = tuple(Symbol("Global`" + name) for name in ("a", "x", "f", "$g", "größe", "λ1"))
NAMES = Names(*(SYSTEM + name for name in SYSTEM_NAMES))
SEEDS = range(40 if os.environ.get("IMAGO_TEST_LONG") == "1" else 4)


def shown(expression: Expression, width: int | None = 120, plain: bool = False) -> str:
    return render(Printer(lambda symbol: symbol.short, plain=plain).text(expression), width)


class Drawn:
    """Expressions drawn by lot."""

    def __init__(self, seed: int):
        self._lot = random.Random(seed)

    def expression(self, depth: int) -> Expression:
        lot = self._lot
        if depth == 0 or lot.random() < 0.15:
            return self.atom()
        match lot.randrange(8):
            case 0:
                head = self.expression(depth - 1) if lot.random() < 0.4 else lot.choice(GLOBAL)
                return Normal(head, self.some(depth, lot.randrange(4)))
            case 1:
                return self.pattern(depth)
            case 2:
                scope = lot.choice(("Module", "Block", "With"))
                names = tuple(lot.choice((one, system("Set", one, self.expression(depth - 2)))) for one in GLOBAL[:2])
                return system(scope, system("List", *names), self.expression(depth - 1))
            case 3 | 4:
                return system(lot.choice(SYSTEM_NAMES[:-5]), *self.some(depth, lot.randrange(4)))
        return system(self.operator(), *self.some(depth, 2 if lot.random() < 0.8 else 3))

    def operator(self) -> str:
        return self._lot.choice(tuple(INFIX))

    def some(self, depth: int, count: int) -> tuple[Expression, ...]:
        return tuple(self.expression(max(0, depth - 1)) for _ in range(count))

    def pattern(self, depth: int) -> Expression:
        lot = self._lot
        blank = system(
            lot.choice(("Blank", "BlankSequence", "BlankNullSequence")), *lot.choice(((), (Symbol("System`List"),)))
        )
        named = system("Pattern", lot.choice(GLOBAL), lot.choice((blank, self.expression(depth - 1))))
        return lot.choice(
            (
                blank,
                named,
                system("Optional", named),
                system("Optional", named, self.expression(depth - 1)),
                system("Optional", blank, self.expression(depth - 1)),
                system("PatternTest", named, self.expression(depth - 1)),
                system("Repeated", named),
                system("Slot", lot.choice((Integer(1), Integer(2), String("key"), String("no key"), Integer(-1)))),
                system("MessageName", lot.choice(GLOBAL), lot.choice((String("usage"), String("two words")))),
            )
        )

    def atom(self) -> Expression:
        lot = self._lot
        return lot.choice(
            (
                *GLOBAL,
                Integer(lot.randrange(-5, 20)),
                Rational(lot.choice((1, -1, 7)), 3),
                Complex(Integer(lot.randrange(-2, 3)), lot.choice((Integer(1), Integer(-2), Rational(1, 2)))),
                machine_real(lot.choice((1.5, -2.0, 1e-10, 0.1 + 0.2, -1e300, 123456789.125, 1 / 3, -1 / 3))),
                String(self.string()),
                Symbol("System`Null"),
                Symbol("System`All"),
            )
        )

    def string(self) -> str:
        pieces = ('"', "\\", "\n", "\t", "é", "α", " ", "a", "`", "(*", "\\[Alpha]", "\\(", "\u200b", "\x00", "𝔸")
        return "".join(self._lot.choices(pieces, k=self._lot.randrange(6)))


class ReadingBack(unittest.TestCase):
    def check(self, expression: Expression):
        texts = (shown(expression, width, plain) for width, plain in ((120, False), (20, False), (None, True)))
        for text in set(texts):
            try:
                found = read_back(text, NAMES)
            except Exception as problem:
                self.fail(f"{text!r}: {problem!r}")
            self.assertEqual(folded(found), folded(expression), text)

    def test_expressions_drawn_by_lot(self):
        for seed in SEEDS:
            drawn = Drawn(seed)
            for _ in range(50):
                self.check(drawn.expression(4))

    def test_values_that_are_held_read_back_as_they_stand(self):
        for seed in SEEDS:
            drawn = Drawn(seed)
            for _ in range(50):
                held = system("Hold", drawn.expression(4))
                text = render(ValuePrinter(lambda symbol: symbol.short).text(held), 120)
                self.assertEqual(folded(read_back(text, NAMES)), folded(held), text)

    def test_definitions_drawn_by_lot(self):
        tag = GLOBAL[3]
        for seed in SEEDS:
            drawn = Drawn(seed)
            for at in range(20):
                pattern = Normal(tag, drawn.some(3, at % 4))
                if at % 5 == 1:
                    pattern = Normal(pattern, drawn.some(2, 1))
                if at % 5 == 2:
                    pattern = system("Condition", system("HoldPattern", pattern), drawn.expression(3))
                if at % 5 == 3:
                    pattern = system(drawn.operator(), pattern, drawn.expression(2))
                value = drawn.expression(4)
                for upvalue in (False, True):
                    printer = Printer(lambda symbol: symbol.short)
                    left, right = printer.statement(tag if upvalue else None, pattern, value)
                    text = render(concat(left, " :=", nest(BREAK, right)), 120)
                    head, first = ("TagSetDelayed", (tag,)) if upvalue else ("SetDelayed", ())
                    expected = system(head, *first, pattern, value)
                    self.assertEqual(folded(read_back(text, NAMES)), folded(expected), text)

    def test_values_have_the_input_form_of_the_language(self):
        a, x = GLOBAL[:2]
        power, times, plus = (lambda *of, name=name: system(name, *of) for name in ("Power", "Times", "Plus"))
        half, below = Rational(1, 2), power(x, Integer(-1))
        for value, text in (
            (plus(a, times(Integer(-1), x)), "a - x"),
            (plus(times(Integer(-2), a), Integer(-3)), "-2*a - 3"),
            (Complex(Integer(2), Integer(-3)), "2 - 3*I"),
            (Complex(Integer(0), Rational(-3, 2)), "-(3*I)/2"),
            (power(x, half), "Sqrt[x]"),
            (power(x, Rational(-1, 2)), "1/Sqrt[x]"),
            (times(a, below), "a/x"),
            (times(Rational(2, 3), a, below), "(2*a)/(3*x)"),
            (times(Rational(-1, 2), x), "-x/2"),
            (machine_real(3.141592653589793), "3.141592653589793"),
            (machine_real(1 / 3), "0.3333333333333333"),
            (machine_real(0.30000000000000004), "0.30000000000000004`"),
            (machine_real(-0.30000000000000004), "-0.30000000000000004`"),
            # Mathics reads as many characters, with the sign, as more than machine precision.
            (plus(a, machine_real(-1 / 3)), "a - 0.3333333333333333`"),
            (system("Hold", times(a, below, x)), "Hold[a*x^(-1)*x]"),
        ):
            with self.subTest(text):
                self.assertEqual(render(ValuePrinter(lambda symbol: symbol.short).text(value), 120), text)

    def test_every_operator_in_every_other(self):
        a, b, c = GLOBAL[:3]
        of_one = ("Not", "Function", "Factorial", "Increment", "PreDecrement", "Repeated", "If")
        inners = [system(name, a, b) for name in (*INFIX, "Part", "Span", "CompoundExpression", "If")]
        inners += [system(name, a) for name in of_one]
        for inner in inners:
            self.check(Normal(inner, (c,)))
            for name in of_one:
                self.check(system(name, inner))
            for name in (*INFIX, "Part", "Span", "CompoundExpression"):
                self.check(system(name, inner, c))
                self.check(system(name, c, inner))
                self.check(system(name, c, inner, a))

    def test_every_character_in_a_text(self):
        points = [*range(0x3000), *range(0xD7F0, 0xE010), *range(0xF6A0, 0xFB00), 0xFFFE, 0xFFFF, 0x1D538, 0x10FFFF]
        for at in range(0, len(points), 100):
            text = "".join(map(chr, points[at : at + 100]))
            self.assertEqual(read_back(quoted(text), NAMES), String(text))

    def test_every_pair_of_marks_in_a_text(self):
        marks = ' "\\`()[]{}<>|*!@#%^&/_+-=:;,.?~$nrtbf0:\n\t'
        for one in marks:
            for other in marks:
                text = f"{one}{other}"
                self.assertEqual(read_back(quoted(text), NAMES), String(text), repr(text))

    def test_every_named_character(self):
        special = set(special_symbols)
        for name, character in NAMED_CHARACTERS.items():
            self.check(String(f"a{character}\\[{name}]"))
            for short in (character, f"a{character}", f"{character}1$"):
                if is_name(short) and is_symbol_name(short) and not special & set(short):
                    self.check(Symbol(f"Global`{short}"))

    def test_a_negative_fraction_or_number_stands_in_no_more_parentheses_than_it_needs(self):
        a, x = GLOBAL[:2]
        half = system("Times", Integer(-1), system("Power", Integer(2), Integer(-1)))
        for expression, text in (
            (system("Power", x, half), "x^(-1/2)"),
            (system("Power", half, x), "(-1/2)^x"),
            (system("Plus", Integer(-1), a), "-1 + a"),
            (system("Part", x, system("Span", Integer(2), Integer(-1))), "x[[2 ;; -1]]"),
            (system("Span", system("Times", Integer(-1), a), x), "-a ;; x"),
            (system("Plus", x, system("Times", Integer(-1), a)), "x + (-1) * a"),
        ):
            self.assertEqual(shown(expression), text)
            self.check(expression)

    def test_numbers(self):
        for value in (0.1, 1.0, 1e16, 1e17, 5e-324, 1.7976931348623157e308, 1 / 3, 2 / 3, 100.0, 123456.789e-7, 1 / 30):
            self.check(machine_real(value))
            self.check(machine_real(-value))


class NamesOfSymbols(unittest.TestCase):
    def test_names(self):
        for name in ("a", "$", "$x1", "größe", "Ω`λ", "a`b`c", "x2", "日本`語", "★x", "жук"):
            self.assertTrue(is_name(name), name)
        for name in (
            "",
            "1a",
            "a b",
            "a`",
            "`a",
            "a``b",
            "a_b",
            "a\n",
            "\\[Alpha]",
            "a`1b",
            "a-b",
            "a\u200b",
            "😀",
            "x²",
            "½",
        ):
            self.assertFalse(is_name(name), name)

    def test_what_no_parser_takes_for_a_name_is_written_as_a_text(self):
        self.assertEqual(shown(Symbol('Global`a"]; Quit[]; ["')), 'Symbol["a\\"]; Quit[]; [\\""]')

    def test_nothing_invisible_is_shown(self):
        self.assertEqual(visible("a\n# b\u202e\x1b[31m"), "a\\n# b\\:202e\\:001b[31m")
        self.assertEqual(visible("x" * 300), "x" * 200 + "…")


class Layout(unittest.TestCase):
    def test_a_span_stays_on_one_line_where_what_is_around_it_does_not(self):
        items = system("List", *(system("f", Integer(at), GLOBAL[0]) for at in range(20)))
        span = system("Span", Integer(1), Symbol("System`All"))
        self.assertIn("\n    1 ;; All,\n", shown(system("Take", span, items)))

    def test_a_test_of_switch_or_which_has_its_value_behind_it_or_below(self):
        a, x, f = GLOBAL[:3]
        scope = system("With", system("List", system("Set", a, x)), a)
        self.assertEqual(
            shown(system("Which", system("Greater", x, a), scope, Symbol("System`True"), f)),
            "Which[\n    x > a,\n        With[{a = x},\n            a\n        ],\n    True, f\n]",
        )
        self.assertEqual(
            shown(system("Switch", x, Integer(1), f, a, scope, f)),
            "Switch[\n    x,\n    1, f,\n    a,\n        With[{a = x},\n            a\n        ],\n    f\n]",
        )
        self.assertEqual(shown(system("Which", x, f)), "Which[x, f]")

    def test_no_line_is_wider_than_asked_for(self):
        for seed in SEEDS:
            expression = Drawn(seed).expression(6)
            text = shown(expression, 120)
            longest = max(len(shown(one, None)) for one in parts(expression) if not isinstance(one, Normal))
            widest = max(map(len, text.split("\n")))
            self.assertLessEqual(widest, 120 + longest + 20, text)
            self.assertFalse(any(line.endswith(" ") for line in text.split("\n")), text)
