"""The package of a licensed kernel, read and run by Mathics3 as far as that goes, with the engine that asks it."""

import json
import os
import random
import re
import unittest
from functools import cache
from types import SimpleNamespace
from unittest import mock

from tests.session import session
from mathics.core.atoms import Integer as MathicsInteger
from mathics.core.symbols import SymbolFalse, SymbolTrue

from tests.doubles import RecordingListener
from tests.mathics_kernel import MathicsLink, kernel_definitions, read
from tests.page import symbol_definition

from imago_wolfram.engine import Aborted, Failed, Misread, Piece, Quit
from imago_wolfram.expressions import Integer, Normal, Omitted, String, Symbol
from imago_wolfram.forms import input_form
from imago_wolfram.mathics_source import MathicsSource
from imago_wolfram.names import defined
from imago_wolfram.wstp_engine import UNBROKEN, Package, WstpEngine
from tests import test_definitions, test_specification
from tests.test_wstp_engine import PIECES, hostile


@cache
def kernel():
    """A kernel that has the package, and the engine over it. To load Mathics takes seconds, so all tests share it."""
    session()
    heard = RecordingListener()
    engine = WstpEngine(MathicsLink(kernel_definitions()))
    engine.load(heard)
    return SimpleNamespace(engine=engine, heard=heard, link=engine._link, definitions=engine._link.definitions)


#: Whether it is the long run.
LONG = os.environ.get("IMAGO_TEST_LONG") == "1"

#: Contexts of symbols that are not of people.
_OF_ENGINE = "System`", "Internal`", "Imago`"


class KernelTest(unittest.TestCase):
    def setUp(self):
        self.kernel = kernel()
        self.engine = self.kernel.engine
        self.source = self.engine.source
        self.kernel.heard.said.clear()
        self.addCleanup(self.forget, set(self.kernel.definitions.user))

    def forget(self, before):
        of = self.kernel.definitions
        for name in set(of.user) - before:
            if not name.startswith(_OF_ENGINE) or name == "System`SomeLockedSymbol":
                del of.user[name]
        of.set_current_context("Global`")
        of.set_context_path(("System`", "Global`"))
        of.clear_cache()
        self.source.namespace = "Global`", ("System`", "Global`")
        self.source.forget()

    def run_in(self, *texts):
        """Evaluates each text, which is one expression. A request takes Mathics 0.1 s."""
        value = None
        for text in texts:
            value = self.engine.evaluate(Piece(text, text, 1))
        return value

    def setting(self, name, value, otherwise):
        """Gives a variable of the package another value for this test."""
        of = self.kernel.definitions
        of.set_ownvalue(f"Imago`Private`{name}", value)
        self.addCleanup(of.set_ownvalue, f"Imago`Private`{name}", otherwise)

    def names(self):
        """The symbols of people."""
        return {name for name in self.kernel.definitions.user if not name.startswith(_OF_ENGINE)}

    def value(self, text):
        value = self.run_in(text)
        return None if value is None else input_form(self.engine, value).text


class Loading(KernelTest):
    def test_each_paragraph_is_one_expression_in_the_subset_that_mathics_reads(self):
        paragraphs = Package.read().paragraphs
        self.assertGreater(len(paragraphs), 80)
        for paragraph in paragraphs:
            self.assertEqual(len(read(paragraph, self.kernel.definitions)), 1, paragraph)

    def test_it_leaves_the_contexts_as_they_were(self):
        self.assertEqual(self.engine.namespace(), ("Global`", ("System`", "Global`")))
        self.assertEqual(self.names(), set())

    def test_the_kernel_is_known_again_by_its_mark(self):
        again = WstpEngine(self.kernel.link)
        sent = len(self.kernel.link.sent)
        again.load(RecordingListener())
        self.assertEqual(again.mark, self.engine.mark)
        self.assertEqual(len(self.kernel.link.sent) - sent, 2)

    def test_another_version_of_the_package_takes_the_place_of_an_older_one_and_keeps_the_mark(self):
        self.addCleanup(WstpEngine(self.kernel.link).load, RecordingListener())
        newer = WstpEngine(self.kernel.link)
        newer._package = Package(newer._package.paragraphs, "newer")
        self.run_in("Imago`Private`answer[\"old\", _] := 1; Imago`Private`read[_, _] := 2")
        newer.load(RecordingListener())
        self.assertEqual(newer.mark, self.engine.mark)
        self.assertEqual(newer.source._brought, self.source._brought)
        self.assertEqual(newer._ask("old"), {"unknown": True})
        sent = len(self.kernel.link.sent)
        newer.load(RecordingListener())
        self.assertEqual(len(self.kernel.link.sent) - sent, 2)

    def test_lines_that_are_printed_are_not_broken_in_a_kernel_that_is_ours(self):
        self.addCleanup(WstpEngine(self.kernel.link).load, RecordingListener())
        for launches in (True, False):
            with mock.patch.object(self.kernel.link, "launches", launches):
                engine = WstpEngine(self.kernel.link)
                engine._package = Package((), str(launches))
                sent = len(self.kernel.link.sent)
                with self.assertRaises(Failed):
                    engine.load(RecordingListener())
                texts = [text for _, text in self.kernel.link.sent[sent:]]
                self.assertEqual(UNBROKEN in texts, launches)


class Evaluating(KernelTest):
    def test_values(self):
        # Left out: \\[Rule], which Mathics has at another code point.
        whole = '{1, -2/3, 1.5, 2 + I, "a\\"b\\\\c", 1.5`30., -7, Hold[1 + 1, f]}'
        self.assertEqual(self.value(whole), whole)
        for text, value in (
            ('"\\[Alpha]\\[Infinity]"', '"\u03b1\u221e"'),
            ("Sequence[1, 2]", "Sequence[1, 2]"),
            ("$Aborted", "$Aborted"),
            ("Return[3]", "3"),
            ('Throw[0, System`TerminatedEvaluation["RecursionLimit", 50]]', 'TerminatedEvaluation["RecursionLimit"]'),
            ("x = 5;", None),
            ("x", "5"),
        ):
            self.assertEqual(self.value(text), value, text)

    def test_print_and_messages_come_in_order(self):
        self.run_in('Print["a"]; 1/0; Print["b"]')
        self.assertEqual(self.kernel.heard.order, ["a\n", "Power::infy", "b\n"])
        self.assertFalse(self.kernel.heard.said[1][1].startswith("Power"))

    def test_an_abort_and_a_throw_are_told_from_values(self):
        with self.assertRaises(Aborted):
            self.run_in("Abort[]")
        for text, said in (("Throw[1 + 1]", "Throw[2]"), ("Throw[3, tag]", "Throw[3, tag]")):
            with self.assertRaises(Failed) as failed:
                self.run_in(text)
            self.assertEqual(failed.exception.name, "Throw::nocatch")
            self.assertIn(said, failed.exception.message)

    def test_quit_ends_it_in_order(self):
        with self.assertRaises(Quit):
            self.run_in("Quit[]")
        self.engine.is_lost = False

    def test_lines_are_kept_as_a_session_has_them(self):
        self.run_in("4 + 5;")
        self.assertEqual(self.value("%"), "9")
        line = int(self.value("$Line"))
        self.assertEqual(self.value(f"Out[{line}]"), str(line))
        self.assertIn("Protected", self.value("Attributes[Out]"))

    def test_only_so_many_lines_are_kept(self):
        self.run_in("$HistoryLength = 2", "6", "7")
        self.assertEqual(self.value("{Length[DownValues[In]], Length[DownValues[Out]], %, %%}"), "{3, 2, 7, 6}")
        self.run_in("$HistoryLength = 0")
        self.assertEqual(self.value("DownValues[Out]"), "{}")
        self.run_in("$HistoryLength = 100")

    def test_what_people_put_around_each_line(self):
        self.run_in("$Post = post")
        self.assertEqual(self.value("1"), "post[1]")
        self.run_in("$Post =.", "$PrePrint = shown")
        self.assertEqual(self.value("1"), "shown[1]")
        self.run_in("$PrePrint =.")
        self.assertEqual(self.value("2"), "2")
        self.assertEqual(self.value("%"), "2")

    def test_a_text_is_read_line_by_line(self):
        pieces = self.engine.pieces("Range[3]\n4+4\n\n(* c\n *) f[\n x]\n(* last *)\n")
        found = [(one.text, one.line) for one in pieces]
        self.assertEqual(found, [("Range[3]", 1), ("4+4", 2), ("(* c\n *) f[\n x]", 4)])

    def test_an_expression_of_many_lines_is_read_in_one_go(self):
        text = "f[{" + ",\n".join(["1"] * 500) + "}]"
        tried = []
        with mock.patch("tests.mathics_kernel._syntax", side_effect=lambda text: tried.append(text)):
            [piece] = self.engine.pieces(text)
        self.assertEqual((piece.text, tried), (text, [text]))

    def test_what_is_no_expression_is_refused_with_its_line(self):
        for text, name, line in (
            ("1\n2 +\n\n", "Syntax::sntxi", 2),
            ("1\n\nq[x_ := (* ] *) 2\nr = 3", "Syntax::sntxi", 3),
            ("1\nf[)", "Syntax::sntxf", 2),
        ):
            with self.assertRaises(Misread) as misread:
                self.engine.pieces(text)
            self.assertEqual((misread.exception.name, misread.exception.line), (name, line))

    def test_large_values_are_cut_before_they_are_formatted(self):
        with mock.patch("imago_wolfram.wstp_engine.LEAVES", 100):
            value = self.run_in("Range[500]")
        self.assertEqual((len(self.engine.items(value)), value.whole, value.output), (500, False, None))
        self.assertIsInstance(value.data.arguments[-1], Omitted)
        some = self.engine.items(value)[400:403]
        self.assertEqual([one.data for one in some], [Integer(401), Integer(402), Integer(403)])
        # A level takes Mathics 50 ms; there are 100 of them.
        self.setting("levels", MathicsInteger(10), MathicsInteger(100))
        self.assertIn("<<deeper>>", self.value("Nest[List, 0, 12]"))
        self.assertEqual(self.value("10^5000"), "<<about 5001 digits>>")

    def test_an_atom_without_a_text_is_told_by_its_head(self):
        self.assertEqual(self.value("Compile[{x}, x]"), "CompiledFunction[{x}, x, <<CompiledCode>>]")

    def test_the_engines_own_form(self):
        self.assertEqual(self.run_in('Format[fmt[x_]] := "F"; fmt[1]').output, "F")

    def test_a_look_evaluates_nothing_and_makes_no_symbol(self):
        self.run_in("trips = 0; own := trips++")
        before = self.names()
        parsed = self.engine.parsed("never[own]").data
        self.assertEqual(parsed, Normal(Symbol("Global`never"), (Symbol("Global`own"),)))
        self.assertEqual(self.engine.head(self.engine.stored("Global`own")), Symbol("System`Increment"))
        self.assertIsNone(self.engine.stored("Global`none"))
        self.assertEqual(self.names(), before)
        self.assertEqual(self.engine.stored("Global`trips").data, Integer(0))


class Definitions(KernelTest):
    def shown(self, symbols, *given, **named):
        self.source.forget()
        # Left out: names that may have been meant. To list all names as JSON takes Mathics 5 s.
        self.source._names = []
        return symbol_definition(self.source, symbols, *given, **named)

    if LONG:
        # That they do in Mathics itself, and that both read the same, is tested in each run.
        def test_the_examples_of_the_specification_come_out_byte_for_byte(self):
            of = test_specification
            self.run_in(*of.DEFINE_SERVER, *of.DEFINE_CATCH_MINE)
            self.run_in("System`SomeLockedSymbol[x_] := x; mentioned")
            self.run_in("SetAttributes[System`SomeLockedSymbol, {Locked, ReadProtected}]")
            self.assertEqual(self.shown("Map"), of.MAP)
            self.assertEqual(self.shown("Wolfram`MCPServer`CreateMCPServer"), of.CREATE_SERVER)
            self.assertEqual(self.shown("Wolfram`MCPServer`Common`Private`catchMine", True), of.CATCH_MINE)
            several = f"{of.PLUS}\n\n{of.SUBTRACT}\n\n{of.MISSING}"
            self.assertEqual(self.shown("Plus, Subtract, NonExistent`Symbol"), several)
            locked = "# SomeLockedSymbol\n\nError: SomeLockedSymbol is `Locked` and `ReadProtected`"
            self.assertEqual(self.shown("System`SomeLockedSymbol"), locked)
            self.assertEqual(self.shown("mentioned"), "# mentioned\n\nNo definitions found")
            self.assertEqual(self.shown("bad!name"), '# bad!name\n\nError: Invalid symbol name "bad!name"')

    DEFINED = (
        'f[x_] := x^2; f[x_, y_ : 3] = {x, y}; f::usage = "It is f."; SetAttributes[f, HoldFirst]; Default[f] = 0;'
        'v = <|1 -> 2|>; s[a_][b_] := a; up /: g[up] := 1; Options[f] = {a -> 1, "b" :> c}; n[1] := 2; N[n] = 3.;'
        "SetAttributes[rp, ReadProtected]; rp[x_] := own;"
    )

    def test_they_are_those_that_the_reader_of_mathics_finds(self):
        self.run_in(self.DEFINED)
        names, sections = "f, v, s, up, n, rp", ("usage", "options", "attributes")
        theirs = symbol_definition(MathicsSource(self.kernel.definitions), names, True, include=sections)
        self.assertEqual(self.shown(names, True, include=sections), theirs)
        self.assertIn("## Options\n\n```wl\n{a -> 1", theirs)

    def test_they_are_the_same_where_functions_take_no_names(self):
        self.run_in(self.DEFINED)
        names = "v, up, rp"
        theirs = self.shown(names, True)
        self.setting("byName", SymbolFalse, SymbolTrue)
        self.assertEqual(self.shown(names, True), theirs)

    def test_reading_evaluates_nothing_and_makes_no_symbol(self):
        of = test_definitions.Tripwires
        late = "Options[late] = {a -> loose}; loose := (trips++; 0)"
        fires = "up /: _[___, up, ___] := (trips++; 0)"
        self.run_in(f"({'); ('.join(one for one in (*of.DEFINED, late) if one != fires)}); {fires}; trips = 0")
        theirs = MathicsSource(self.kernel.definitions)
        # As a symbol of which an engine reads the definition when it is first used.
        stub = "System`stub"
        self.run_in(f"{stub} := (trips++; 0)")
        self.addCleanup(self.kernel.definitions.user.pop, stub)
        before = {name: theirs.definition(name) for name in self.names()}
        names = f"{of.MADE}, late, loose, {stub}, NoSuch`Name, $Version, Format, Quit, Sin"
        text = self.shown(names, True, include=("usage", "options", "attributes", "dependencies"))
        self.assertEqual({name: theirs.definition(name) for name in self.names()}, before)
        self.assertEqual(theirs.definition("Global`trips").rules[0].value, Integer(0))
        for shown in ('own := (trips++; "fired")', "up /: _[___, up, ___] := ", "{a -> loose}", "rp[x_] := own"):
            self.assertIn(shown, text)
        self.assertEqual(before["Global`rp"].attributes, {"ReadProtected"})

    def test_a_definition_takes_as_many_requests_however_many_names_and_contexts_it_has(self):
        self.run_in("q[x_] := {a`f1, a`f2, b`f3, c`f4, d`e`f5}; a`f1 = 1; d`e`f5 := 2")
        sent = len(self.kernel.link.sent)
        text = self.shown("q", True, include=("dependencies",))
        asked = [json.loads(text)["call"] for _, text in self.kernel.link.sent[sent:]]
        self.assertEqual(asked, ["exist", "definition", "exist", "defined"])
        self.assertIn('["a`f1", "a`f2", "b`f3", "c`f4", "d`e`f5"]\n```\n\nNot defined: a`f2, b`f3, c`f4', text)

    def test_who_has_definitions_is_one_request(self):
        self.run_in("one`q = 1; one`r[x_] := 1; mentioned; SetAttributes[one`s, Flat]")
        self.run_in("Options[one`t] = {a -> 1}; N[one`n] = 1.")
        names = {f"one`{short}" for short in "qrstn"}
        self.source.forget()
        self.source._names = [*names, "Global`mentioned", "System`Plus", "PacletManager`Private`late", "Developer`x"]
        sent = len(self.kernel.link.sent)
        self.assertEqual(defined(self.source), sorted(names))
        self.assertEqual(len(self.kernel.link.sent) - sent, 1)

    def test_names(self):
        self.run_in("one`q = 1")
        # Of all of them, to write which as JSON takes Mathics 5 s, it has to do with three.
        some = ["one`q", "System`Plus", "Imago`call"]
        with mock.patch.object(self.kernel.definitions, "get_matching_names", return_value=some):
            self.assertEqual(set(self.source.names()), set(some))
        self.assertTrue(self.source.exists("one`q") and not self.source.exists("one`*"))
        self.assertTrue(self.source.is_builtin("System`Plus") and not self.source.is_builtin("one`q"))


class Hostile(KernelTest):
    def test_a_request_with_any_text_reads_as_one_call_with_that_text(self):
        """That the engine sends such requests, of 10,000 texts in every parameter, is in ``test_wstp_engine``."""
        for given in hostile(300):
            sent = json.dumps({"id": 1, "call": "parse", "text": given})
            written = 'Imago`call["%s"]' % sent.replace("\\", "\\\\").replace('"', '\\"')
            (call,) = read(written, self.kernel.definitions)
            self.assertEqual((call.head.get_name(), len(call.elements)), ("Imago`call", 1))
            self.assertEqual(json.loads(call.elements[0].value)["text"], given)

    def test_texts_come_back_as_they_were(self):
        lot = random.Random(2)
        # Left out: lone surrogates, of which Mathics makes no text, and line ends, which its reader changes.
        pieces = [one for one in PIECES if not set(one) & set("\ud800\r")]
        given = ["".join(lot.choices(pieces, k=3)) for _ in range(50)]
        quoted = ", ".join('"%s"' % re.sub(r'(["\\])', r"\\\1", one) for one in given)
        parsed = self.engine.parsed("{" + quoted + "}")
        self.assertEqual(parsed.data.arguments, tuple(map(String, given)))


if __name__ == "__main__":
    unittest.main()
