"""Names: what there is, how it is called, who uses it."""

import time
from unittest.mock import patch

from imago_wolfram import names, uses
from tests.session import MathicsTest


class Lists(MathicsTest):
    def setUp(self):
        super().setUp()
        self.run_in(
            'area[r_] := Pi r^2; area::usage = "area[r] is the area of a circle.\\nMore."',
            "limit = 5; mentioned",
            'BeginPackage["Shop`"]',
            "Bill; Sums",
            'Begin["`Private`"]',
            "Bill[x_] := hidden[x]; hidden[x_] := x; Sums[x__] := Global`area @@ {x}",
            "End[]",
            "EndPackage[]",
        )

    def test_what_people_have_defined(self):
        defined = [name for name in names.defined(self.source) if not name.startswith(tuple(names.SESSION))]
        self.assertEqual(defined, ["Global`area", "Global`limit", "Shop`Bill", "Shop`Private`hidden", "Shop`Sums"])

    def test_contexts_and_what_is_in_one(self):
        counts = names.contexts(self.source)
        self.assertEqual(list(counts), sorted(counts))
        self.assertEqual(counts["Shop`"], 2)
        self.assertEqual(names.in_context(self.source, "Shop"), ["Shop`Bill", "Shop`Sums"])
        self.assertIn("Shop`Private`hidden", names.in_context(self.source, "Shop`", inner=True))

    def test_one_line_about_a_name(self):
        self.assertEqual(
            names.about(self.source, "Global`area"),
            names.Summary("function", "area[r] is the area of a circle."),
        )
        self.assertEqual(names.about(self.source, "Global`limit").kind, "variable")
        self.assertEqual(names.about(self.source, "System`Sin").kind, "function")
        self.assertEqual(names.about(self.source, "System`Pi").kind, "constant")
        self.assertIsNone(names.about(self.source, "Global`none"))

    def test_apropos_finds_parts_whatever_the_case_and_peoples_names_first(self):
        found = names.apropos(self.source, "BILL")
        self.assertEqual(found[0], "Shop`Bill")
        self.run_in("myOrder = 1")
        found = names.apropos(self.source, "order")
        self.assertEqual(found[0], "Global`myOrder")
        self.assertIn("System`OrderedQ", found)
        self.assertEqual(names.apropos(self.source, "b*ll", "Shop`"), ["Shop`Bill"])
        self.assertEqual(names.apropos(self.source, "Shop`*", "Shop`")[:2], ["Shop`Bill", "Shop`Private`hidden"])
        self.assertEqual(names.apropos(self.source, "[.(\\"), [])

    def test_a_pattern_of_many_stars_is_looked_for_in_the_time_of_one(self):
        self.run_in("a" * 3000 + " = 1")
        # The time of this process alone, which others on the machine do not make longer.
        begun = time.process_time()
        self.assertEqual(names.apropos(self.source, "*a" * 300 + "*z"), [])
        self.assertLess(time.process_time() - begun, 2)
        self.assertEqual(len(names.apropos(self.source, "*a" * 300, "Global`")), 1)
        self.run_in("abXcd = 1")
        for pattern, fits in {"ab*cd": 1, "abx*xcd": 0, "a**d": 1, "a*b*c*d": 1, "*bx*": 1, "ab*c": 0}.items():
            with self.subTest(pattern):
                self.assertEqual(len(names.apropos(self.source, pattern, "Global`")), fits)

    def test_completion(self):
        found = names.completions(self.source, "f[1] + are")
        self.assertEqual((found.begin, found.names), (7, ["area"]))
        self.assertEqual(names.completions(self.source, "x + Shop`B").names, ["Shop`Bill"])
        self.assertEqual(names.completions(self.source, "OrderedQ").names, ["OrderedQ"])
        self.assertEqual(names.completions(self.source, "2are").begin, 1)
        self.assertNotIn("Plus", names.completions(self.source, "f[").names)

    def test_a_name_begins_with_its_escapes(self):
        for text, begin in {"x + \\[Alpha]be": 4, "f[\\:03b1": 2, "[Alpha]be": 7, "x\\.e9": 0, "": 0, "f[": 2}.items():
            self.assertEqual(names.begin_of_name(text), begin, text)

    def test_where_no_name_can_stand(self):
        for text, inside in {
            '"Pl': "a string",
            'f["a", "b\\" Pl': "a string",
            '"\\': "a string",
            "(* Pl": "a comment",
            "(* a (* b *) Pl": "a comment",
            '(* " *) "(*" Pl': None,
            "*) Pl": None,
            "\\[Al": "the name of a character",
            "a\\[": "the name of a character",
            "\\:03b": "the name of a character",
            "\\[Alpha]be": None,
            "f[Al": None,
            "": None,
        }.items():
            self.assertEqual(names.inside(text), inside, text)
        self.assertEqual(names.inside('"' + "a\\n" * 200_000), "a string")

    def test_symbols_that_module_makes_are_completed_once_a_dollar_is_typed(self):
        self.run_in("quantity = 1; Do[Module[{quantity = i}, kept = Hold[quantity]], {i, 3}]; own$name = 2; $1 = 3")
        self.assertEqual(names.completions(self.source, "quan").names, ["quantity"])
        self.assertGreater(len(names.completions(self.source, "quantity$").names), 1)
        self.assertEqual(names.completions(self.source, "own").names, ["own$name"])
        self.assertIn("$1", names.completions(self.source, "").names)


class Calls(MathicsTest):
    def test_arguments_by_their_patterns(self):
        self.run_in("f[x_Integer, y_: 3, rest__, OptionsPattern[]] /; x > 0 := 1; f[a_][b_] := 2; f[{p_, q_}, _.] := 3")
        found = uses.calls(self.source, "Global`f")
        texts = {
            call.text: [(one.name, one.kind, one.pattern, one.default) for one in call.parameters] for call in found
        }
        self.assertEqual(
            texts["f[x_Integer, y_: 3, rest__, OptionsPattern[]] /; x > 0"],
            [
                ("x", "positional", "x_Integer", None),
                ("y", "optional", "y_: 3", "3"),
                ("rest", "rest", "rest__", None),
                ("", "keyword_rest", "OptionsPattern[]", None),
            ],
        )
        self.assertEqual(texts["f[a_][b_]"], [("b", "positional", "b_", None)])
        self.assertIn(("", "optional", "_.", None), texts["f[{p_, q_}, _.]"])

    def test_what_the_engine_computes_is_called_as_its_usage_says(self):
        def calls(name):
            return [call.text for call in uses.calls(self.source, name)]

        self.assertEqual(calls("System`Map"), ["Map[f, expr]", "Map[f, expr, levelspec]"])
        self.assertEqual(calls("System`Plus"), ["Plus[a, b, ...]"])
        self.assertEqual(calls("System`Symbol"), ["Symbol[___]"])
        self.assertEqual(calls("Global`none"), [])
        self.run_in("Unprotect[Map]; Map[own] := 1; Protect[Map]")
        self.assertEqual(calls("System`Map")[0], "Map[own]")
        self.run_in('Unprotect[Sin]; Sin::usage = "Sin[\\"https://me:hunter22@x.org\\"] is mine."; Protect[Sin]')
        self.assertNotIn("hunter22", calls("System`Sin")[0])


class WhoUses(MathicsTest):
    def test_definitions_that_name_a_symbol(self):
        self.run_in(
            "f[x_] := x; g[x_] := f[x] + 1; h = Hold[f]; s[] := (f[1] = 2); p[f] := 1; no[x_] := x",
            "f[0] := f[1]",
        )
        found = uses.uses(self.source, "Global`f")
        self.assertTrue(found.complete)
        self.assertEqual(
            [(one.user, one.rule, one.relation) for one in found.found],
            [
                ("Global`f", "f[0]", "calls"),
                ("Global`g", "g[x_]", "calls"),
                ("Global`h", "h", "references"),
                ("Global`p", "p[f]", "references"),
                ("Global`s", "s[]", "sets"),
            ],
        )

    def test_a_function_that_is_given_to_another_which_calls_it_is_called(self):
        calling = (
            "f /@ x",
            "f @@ x",
            "f @@@ x",
            "Map[f]",
            "Select[x, f]",
            "Select[f][x]",
            "SortBy[x, f]",
            "Fold[f, 0, x]",
            "NestList[f, x, 3]",
            "Array[f, 3]",
            "MapIndexed[f, x]",
            "x /. y_?f :> 1",
            "Composition[g, f][x]",
            "f /* g",
            "x // f",
        )
        for text in calling:
            with self.subTest(text):
                self._forget()
                self.run_in("f[x_] := x", f"user[x_] := {text}")
                (use,) = uses.uses(self.source, "Global`f").found
                self.assertEqual((use.rule, use.relation), ("user[x_]", "calls"))
        for text in ("Map[g, f]", "Fold[g, f, x]", "Select[f, g]", "{f}", "Hold[f]", "Map[g, {f}]", "x -> f"):
            with self.subTest(text):
                self._forget()
                self.run_in("f[x_] := x", f"user[x_] := {text}")
                (use,) = uses.uses(self.source, "Global`f").found
                self.assertEqual(use.relation, "references")

    def test_it_ends_in_time(self):
        self.run_in("f[x_] := x")
        with patch("imago_wolfram.uses.SECONDS", -1):
            self.assertFalse(uses.uses(self.source, "Global`f").complete)
