"""The package of a licensed kernel, read and run by Mathics3 as far as that goes, with the engine that asks it."""

import contextlib
import json
import random
import re
import sys
import unittest
from functools import cache
from os.path import abspath, dirname, join
from types import SimpleNamespace

sys.path.append(join(dirname(dirname(dirname(abspath(__file__)))), "python"))

from tests import session  # noqa: E402, F401
from tests.mathics_kernel import STAND_INS, MathicsLink, kernel_definitions, read  # noqa: E402
from tests.page import symbol_definition  # noqa: E402

from imago_wolfram.engine import Aborted, Failed, Misread, Quit  # noqa: E402
from imago_wolfram.expressions import Integer, Normal, Omitted, String, Symbol  # noqa: E402
from imago_wolfram.forms import input_form  # noqa: E402
from imago_wolfram.mathics_source import MathicsSource  # noqa: E402
from imago_wolfram.wstp_engine import PACKAGE, WstpEngine, without_comments  # noqa: E402
from tests.test_definitions import Tripwires  # noqa: E402


class Heard:
    """What an evaluation says."""

    shield = contextlib.nullcontext()

    def __init__(self):
        self.said = []

    def printed(self, text):
        self.said.append(text)

    def message(self, name, text):
        self.said.append((name, text))

    def ask(self, prompt):
        raise EOFError("nobody")


@cache
def kernel():
    """A kernel that has the package, and the engine over it."""
    heard = Heard()
    engine = WstpEngine(MathicsLink(kernel_definitions()))
    engine.load(heard)
    return SimpleNamespace(engine=engine, heard=heard, link=engine._link, definitions=engine._link.definitions)


class KernelTest(unittest.TestCase):
    def setUp(self):
        self.kernel = kernel()
        self.engine = self.kernel.engine
        self.source = self.engine.source
        self.kernel.heard.said.clear()
        before = dict(self.kernel.definitions.user)

        def forget():
            user = self.kernel.definitions.user
            for name in set(user) - set(before):
                if name.startswith(("Global`", "one`", "two`")):
                    del user[name]
            self.kernel.definitions.clear_cache()
            self.source.forget()

        self.addCleanup(forget)

    def run_in(self, *texts):
        value = None
        for text in texts:
            for piece in self.engine.pieces(text):
                value = self.engine.evaluate(piece)
        return value

    def value(self, text):
        value = self.run_in(text)
        return None if value is None else input_form(self.engine, value).text


class Package(KernelTest):
    def test_each_paragraph_is_one_expression_in_the_subset_that_mathics_reads(self):
        with open(PACKAGE, encoding="ascii") as file:
            paragraphs = [one for one in file.read().split("\n\n") if without_comments(one).strip()]
        self.assertGreater(len(paragraphs), 80)
        for paragraph in paragraphs:
            self.assertEqual(len(read(paragraph, self.kernel.definitions)), 1, paragraph)

    def test_it_leaves_the_contexts_as_they_were(self):
        self.assertEqual(self.engine.place(), ("Global`", ("System`", "Global`")))
        self.assertEqual([name for name in self.kernel.definitions.user if name.startswith("Global`")], [])

    def test_the_kernel_is_known_again_by_its_mark(self):
        again = WstpEngine(self.kernel.link)
        sent = len(self.kernel.link.sent)
        again.load(Heard())
        self.assertEqual(again.identity, self.engine.identity)
        self.assertEqual(len(self.kernel.link.sent) - sent, 2)

    def test_what_stands_in_is_listed(self):
        self.assertTrue(all(reason for reason in STAND_INS.values()))


class Evaluating(KernelTest):
    def test_values(self):
        for text, value in (
            ("1+2", "3"),
            ("{1, -2/3, 1.5, 2 + I}", "{1, -2/3, 1.5, 2 + I}"),
            (r'"a\"b\\c"', r'"a\"b\\c"'),
            ('"\\[Alpha]\\[Rule]"', '"\u03b1\u2192"'),
            ("1.5`30", "1.5`30."),
            ("-7", "-7"),
            ("Hold[1 + 1, f]", "Hold[1 + 1, f]"),
            ("Sequence[1, 2]", "Sequence[1, 2]"),
            ("$Aborted", "$Aborted"),
            ("Return[3]", "3"),
            ("x = 5;", None),
            ("x", "5"),
        ):
            self.assertEqual(self.value(text), value, text)

    def test_print_and_messages_come_in_order(self):
        self.run_in('Print["a"]; 1/0; Print["b"]')
        self.assertEqual([one if isinstance(one, str) else one[0] for one in self.kernel.heard.said], ["a\n", "Power::infy", "b\n"])
        self.assertFalse(self.kernel.heard.said[1][1].startswith("Power"))

    def test_an_abort_and_a_throw_are_told_from_values(self):
        with self.assertRaises(Aborted):
            self.run_in("Abort[]")
        for text, said in (("Throw[1 + 1]", "Throw[2]"), ("Throw[3, tag]", "Throw[3, tag]")):
            with self.assertRaises(Failed) as failed:
                self.run_in(text)
            self.assertEqual(failed.exception.name, "Throw::nocatch")
            self.assertIn(said, failed.exception.message)
        with self.assertRaises(Quit):
            self.run_in("Quit[]")

    def test_lines_are_kept_as_a_session_has_them(self):
        self.run_in("4 + 5;")
        self.assertEqual(self.value("%"), "9")
        line = int(self.value("$Line"))
        self.assertEqual(self.value(f"Out[{line}]"), str(line))
        self.assertIn("Protected", self.value("Attributes[Out]"))

    def test_what_people_put_around_each_line(self):
        self.run_in("$Post = post")
        self.assertEqual(self.value("1"), "post[1]")
        self.run_in("$Post =.", "$PrePrint = shown")
        self.assertEqual(self.value("1"), "shown[1]")
        self.run_in("$PrePrint =.")

    def test_a_text_is_read_line_by_line(self):
        pieces = self.engine.pieces("Range[3]\n4+4\n\n(* c\n *) f[\n x]\n(* last *)\n")
        self.assertEqual([(one.text, one.line) for one in pieces], [("Range[3]", 1), ("4+4", 2), ("(* c\n *) f[\n x]", 4)])

    def test_what_is_no_expression_is_refused_with_its_line(self):
        for text, name, line in (("1\n2 +", "Syntax::sntxi", 2), ("1\nf[)", "Syntax::sntxf", 2)):
            with self.assertRaises(Misread) as misread:
                self.engine.pieces(text)
            self.assertEqual((misread.exception.name, misread.exception.line), (name, line))

    def test_large_values_are_cut_before_they_are_formatted(self):
        value = self.run_in("Range[9000]")
        self.assertEqual((len(self.engine.items(value)), value.whole, value.output), (9000, False, None))
        self.assertIsInstance(value.data.arguments[-1], Omitted)
        some = self.engine.items(value)[8000:8003]
        self.assertEqual([one.data for one in some], [Integer(8001), Integer(8002), Integer(8003)])
        self.assertIn("<<deeper>>", self.value("Nest[List, 0, 300]"))
        self.assertEqual(self.value("10^5000"), "<<about 5001 digits>>")

    def test_the_engines_own_form(self):
        self.run_in('Format[fmt[x_]] := "F"')
        self.assertEqual(self.run_in("fmt[1]").output, "F")

    def test_a_look_evaluates_nothing_and_makes_no_symbol(self):
        self.run_in("trips = 0; own := trips++")
        before = set(self.kernel.definitions.user)
        self.assertEqual(self.engine.parsed("never[own]").data, Normal(Symbol("Global`never"), (Symbol("Global`own"),)))
        stored = self.engine.stored("Global`own")
        self.assertEqual(self.engine.head(stored), Symbol("System`Increment"))
        self.assertIsNone(self.engine.stored("Global`none"))
        self.assertEqual(set(self.kernel.definitions.user), before)
        self.assertEqual(self.value("trips"), "0")


class Definitions(KernelTest):
    def shown(self, symbols, *given, **named):
        self.source.forget()
        return symbol_definition(self.source, symbols, *given, **named)

    def test_they_are_those_of_the_specification_and_of_the_reader_of_mathics(self):
        self.run_in(
            "f[x_] := x^2; f[x_, y_ : 3] = {x, y}; f::usage = \"It is f.\"; SetAttributes[f, HoldFirst]",
            "v = <|1 -> 2|>; s[a_][b_] := a; up /: g[up] := 1; Options[f] = {a -> 1}; Default[f] = 0",
            'SetAttributes[rp, ReadProtected]; rp[x_] := own; SetAttributes[{l}, {Locked, ReadProtected}]',
        )
        theirs = MathicsSource(self.kernel.definitions)
        for name in ("f", "v", "s", "up", "rp", "l", "Plus", "Map", "nosuch", "bad!name", "NoSuch`Name", "Sin, Composition"):
            self.assertEqual(self.shown(name, True), symbol_definition(theirs, name, True), name)
        self.assertIn("ReadProtected", self.value("Attributes[rp]"))

    def test_reading_evaluates_nothing(self):
        defined = [text for text in Tripwires.DEFINED if not text.startswith("up")]
        self.run_in(*defined, "up /: _[___, up, ___] := (trips++; 0)", "trips = 0")
        before = {name for name in self.kernel.definitions.user if name.startswith("Global`")}
        text = self.shown(Tripwires.NAMES.replace("nosuch, ", ""), True, include=("usage", "options", "dependencies"))
        self.assertIn('own := (trips++; "fired")', text)
        self.assertEqual({name for name in self.kernel.definitions.user if name.startswith("Global`")}, before)
        self.source.forget()
        self.assertEqual(self.engine.stored("Global`trips").data, Integer(0))

    def test_names(self):
        self.run_in("one`q = 1")
        self.source.forget()
        self.assertTrue({"one`q", "System`Plus"} <= set(self.source.names()))
        self.assertTrue(self.source.exists("one`q") and not self.source.exists("one`*"))
        self.assertTrue(self.source.is_own("System`Plus") and not self.source.is_own("one`q"))


class Hostile(KernelTest):
    def test_ten_thousand_texts_are_one_call_with_that_text(self):
        lot = random.Random(1)
        pieces = [*map(chr, range(0x180)), "\u202e", "\ud800", "\ufeff", "\uf8ff", "\U0001d538", '"]', "\\[Alpha]", "Quit[]"]
        pieces += ["(*", "*)", "\\", "\\\\", '\\"', "`", "$Line", "\r\n", "<*1*>", "\\!\\(", "\\u0041", "x" * 300]
        for _ in range(10_000):
            given = "".join(lot.choices(pieces, k=lot.randrange(0, 9)))
            sent = json.dumps({"id": 1, "call": "parse", "text": given})
            self.assertTrue(sent.isascii())
            written = 'Imago`call["%s"]' % sent.replace("\\", "\\\\").replace('"', '\\"')
            (call,) = read(written, self.kernel.definitions)
            self.assertEqual((call.head.get_name(), len(call.elements)), ("Imago`call", 1))
            self.assertEqual(json.loads(call.elements[0].value)["text"], given)

    def test_texts_come_back_as_they_were(self):
        lot = random.Random(2)
        for _ in range(100):
            given = "".join(chr(lot.choice((*range(0x20, 0x180), 0x2028, 0xF8FF, 0x1D538))) for _ in range(8))
            quoted = '"%s"' % re.sub(r'(["\\])', r"\\\1", given)
            value = self.engine.evaluate(SimpleNamespace(text=quoted, line=1))
            self.assertEqual(value.data, String(given))


if __name__ == "__main__":
    unittest.main()
