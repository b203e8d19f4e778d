"""What is printed of a definition is the definition; and reading it changes and evaluates nothing."""

import json
import threading
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from mathics.core.atoms import Integer as MathicsInteger
from mathics.core.convert.expression import to_mathics_list

from imago_wolfram import names, uses
from imago_wolfram.definition import Scope, Settings, read, statement, structured
from imago_wolfram.expressions import SYSTEM, Budget, Symbol, parts, system
from imago_wolfram.loading import SourcePlaces, targets
from imago_wolfram.mathics_source import MathicsSource, converted
from imago_wolfram.name_looks import definition_of
from imago_wolfram.printing import Printer
from imago_wolfram.source import Definition, Rule
from tests.reading_back import Names, folded, read_back
from tests.session import MathicsTest
from tests.test_wstp_engine import PIECES, hostile

DEFINED = (
    "q[x_] := (a; b)",
    "q[x_, y_: 3] := x^2 y + 1/x",
    "q[x_?IntegerQ] /; x > 0 := x!",
    "q[x_] := y /; x > 0",
    "q[x__, OptionsPattern[]] := {x} /. {a_ -> b_, c :> d}",
    "q[x_] := Module[{y = x}, y++; --y; y;]",
    "q[a_ | b_] := #1 + #2 & @@ {a, b}",
    "q[x_] := -x - (y - z) - 2",
    "q[x_] := a && (b || !c)",
    "q[x_] := x[[1, 2]]; q[x_, y_] := x[[1 ;; -1]]",
    "q := (n++; 5)",
    'q[x_] := "s\\"\\\\\\n\\t"',
    "q[a_][b_] := a /@ b",
    "q[x: {__Integer}] := Total[x]",
    "q[x_] := (x^2)^3 + x^-1 + 2^x^y",
    "q[x_] := (a -> b) -> c; q[x_, y_] := a -> b -> c",
    "q[x_] := (# &)[x]",
    "q[x_] := a = b = x",
    'q[x_] := If[x > 0, Message[q::neg, x], <|"a" -> 1|>]',
    "q[x_.] := x; q[x_, _.] := 2",
    "q = 1 + 2 I; q[1] = 3/4; q[2] = -0.1; q[3] = 1.5`20; q[4] = 0.1 + 0.2; q[5] = 10.^30",
    "q[1] = 1; q[2] = 2; q[3] = 3; q[x_] := x; q[_] /; t := u; q[_Integer] := i",
    "q[x_] := Function[{y}, y + x] /@ Range[10] // Total",
    "f[q] ^= 3; q /: g[q[x_], y_] := x; q /: h[q, q] := 2",
    'q[x_String] := x <> "a" ~~ __; q[x_Real] := x . y ** z',
    "q[HoldPattern[a + b]] := Hold[1 + 1]; q[Verbatim[_]] := v; q[Except[1, _Integer]] := e",
    "q[x_] := x //. a_ :> b; q[x_, y_] := x =.",
    "q[] := Null; q[x___] := Sequence[]; q[x_] := f[,1]",
    "q[x_] := SlotSequence[2] & @@ {##, #3, #key} &",
    "q[x_] := Catch[Do[If[i > x, Throw[i]], {i, 100}]]; q[x_, y_] := x != y == z < 1 <= 2",
    "q = {1, {2, {3, {}}}, <||>, {{}}}; q[1] = Hold[q]",
    "q[größe_, λ_] := größe^λ; q[$a_] := $a",
    'Attributes[q] = {Flat, HoldAll}; q[x_] := x; Default[q] = 0; Options[q] = {a1 -> 2, "b" :> 3}',
    "N[q] = 3.5; N[q[1]] = 2.5",
    "Format[q[x_]] := {x}; Format[q[x_, y_], OutputForm] := x",
)

OF_PACKAGES = Path(__file__).with_name("packages.wl").read_text(encoding="utf-8").strip().split("\n\n")[1:]


class ReadingBack(MathicsTest):
    def stored(self, name):
        found = self.source.definition(name)
        return (
            found.attributes,
            found.options,
            [(rule.kind, folded(rule.pattern), folded(rule.value), rule.form) for rule in found.rules],
        )

    def test_what_is_shown_defines_the_same(self):
        self.assertGreater(len(OF_PACKAGES), 40)
        for text in (*DEFINED, *OF_PACKAGES):
            with self.subTest(text):
                self._forget()
                self.run_in(text)
                body, stored = self.body("q"), self.stored("Global`q")
                self.assertTrue(stored[2], text)
                self.run_in("ClearAll[q]", *body.split("\n\n"))
                again = self.stored("Global`q")
                self.assertEqual(again, stored, body)
                self.assertEqual(self.body("q"), body)

    def formats(self, name):
        """As the session keeps them: the form, the left side and the right."""
        stored = self.definitions.user[name].formatvalues
        return sorted((form, str(rule.pattern.expr), str(rule.replace)) for form in stored for rule in stored[form])

    def test_each_format_is_shown_with_its_forms_whatever_its_right_side(self):
        for text in (
            "Format[q[1]] := a; Format[q[2]] := a",
            "Format[q[1]] := 5; Format[q[2]] := 5; Format[q[3]] := 5",
            "Format[q[x_], OutputForm] := a; Format[q[y_, z_], TeXForm] := a",
            "Format[q[x_]] := a; Format[q[x_], TeXForm] := b",
        ):
            with self.subTest(text):
                self._forget()
                self.run_in(text)
                stored, body = self.formats("Global`q"), self.body("q")
                self.run_in("ClearAll[q]", *body.split("\n\n"))
                self.assertEqual(self.formats("Global`q"), stored, body)
        self.run_in("ClearAll[q]", "Format[q[x_], OutputForm] := a; Format[q[y_, z_], TeXForm] := a")
        self.assertEqual(self.body("q"), "Format[q[x_], OutputForm] := a\n\nFormat[q[y_, z_], TeXForm] := a")

    def test_a_rule_of_the_engine_is_left_out_where_one_of_the_same_pattern_comes_before_it(self):
        self.assertEqual(self.body("$Context").count(":="), 1)
        self.run_in('Begin["mine`"]')
        self.assertEqual(self.body("$Context"), 'Attributes[$Context] = {Protected}\n\n$Context := "mine`"')
        self.run_in("End[]", "q[x_] := 1 /; x > 1; q[x_] := 2 /; x < 0; q[x_] := 3")
        self.assertEqual(self.body("q").count(":="), 3)

    def test_every_rule_of_every_builtin_reads_back(self):
        read_count = 0
        for name in sorted(self.definitions.builtin):
            for kind in ("own", "down", "sub", "up", "n", "default"):
                for rule in getattr(self.definitions.builtin[name], f"{kind}values"):
                    if not hasattr(rule, "replace"):
                        continue
                    one = Rule(kind, converted(rule.pattern.expr, Budget()), converted(rule.replace, Budget()))
                    self.check_rule(name, one)
                    read_count += 1
        self.assertGreater(read_count, 700)

    def check_rule(self, name, rule):
        scope = Scope(self.source, name, Definition(rules=(rule,)))
        text = statement(scope, rule, Printer(scope.shown), 120)
        self.assertLessEqual(max(map(len, text.split("\n"))), 120, text)
        symbols = {one for side in (rule.pattern, rule.value) for one in parts(side) if isinstance(one, Symbol)}
        names = Names("System`I", name, *(one.name for one in symbols if scope.shown(one) == one.short))
        sides = (rule.pattern, rule.value)
        expected = system("TagSetDelayed", scope.symbol, *sides) if rule.kind == "up" else system("SetDelayed", *sides)
        self.assertEqual(folded(read_back(text, names)), folded(expected), text)

    def test_numbers_that_are_not_exact_come_out_the_same(self):
        for number in ("1.5 + 2. I", "-2.5 I", "1.5`30 + I", "10.^50", "2.^-1074", "0``5"):
            self.run_in("Clear[q]", f"q = {number}")
            value = self.value("q")
            self.run_in("Clear[q]", self.body("q"))
            self.assertEqual(self.value("q"), value)


class LeftSides(MathicsTest):
    def test_a_definition_is_of_the_symbol_that_is_called_whatever_stands_around_the_call(self):
        names = Names(*(SYSTEM + name for name in ("HoldPattern", "Attributes", "Format")))
        for text, defined in {
            "f[x_] := x": ["f"],
            "f[x_][y_] /; x > y := x": ["f"],
            "e: HoldPattern[f[___]] := 1": ["f"],
            "Format[e: f[_]] := 1": ["f"],
            "Attributes[f] = g": ["f"],
            "{f, g[1]} = 1": ["f", "g"],
            "f::usage = 1": [],
            "g /: f[g] := 1; h = 2": ["g", "h"],
        }.items():
            with self.subTest(text):
                self.assertEqual(targets(read_back(text, names)), ["Global`" + name for name in defined])


class Qualifying(MathicsTest):
    def test_only_a_name_that_another_hides_is_qualified(self):
        self.run_in("q[p`x_, r`x_] := {p`x, r`x, hidden`Head, Head, deep`er`y, Rest}")
        self.assertEqual(self.body("q"), "q[p`x_, x_] := {p`x, x, hidden`Head, Head, y, Rest}")

    def test_a_namesake_of_the_symbol_or_of_a_builtin_is_told_from_it_on_any_path(self):
        for name, text in {
            "Shop`total": "Shop`total[order_] := Shop`Private`total[order[1]]",
            "Global`foo": "foo[y_] := AA`foo + foo[2]",
            "Global`bar": "bar[y_] := Private`Total[y] + Total[y]",
        }.items():
            with self.subTest(name):
                self._forget()
                self.run_in(text)
                self.definitions.set_context_path(("Shop`", "System`", "Global`"))
                body, before = self.body(name), self.source.definition(name).rules
                self.run_in(f"Clear[{name}]", body)
                self.assertEqual(self.source.definition(name).rules, before, body)

    def test_reading_it_back_where_those_contexts_are_on_the_path(self):
        self.run_in("p`x; r`x; hidden`Head; deep`er`y", "q[p`x_, r`x_] := {p`x, r`x, hidden`Head, Head, deep`er`y}")
        before = self.source.definition("Global`q").rules
        scope = Scope(self.source, "Global`q", self.source.definition("Global`q"))
        body = self.body("q")
        self.definitions.set_context_path(scope.path)
        self.run_in("Clear[q]", body)
        self.assertEqual(self.source.definition("Global`q").rules, before)

    def test_contexts_are_those_of_what_is_written_and_not_bound(self):
        self.run_in("q[x_, y_] := With[{z = h`f[x]}, Function[{v}, v + z + Map[a, y]]]")
        contexts = read(self.source, "q").contexts
        self.assertEqual(contexts, {"Global`": ["a", "q"], "System`": ["Function", "With"], "h`": ["f"]})

    def test_a_longer_name_stands_before_one_that_it_begins_with(self):
        self.run_in("q[x_] := {Hold[x, x], HoldComplete[x, x], ab, aB, abc, Zed, alpha}")
        contexts = read(self.source, "q").contexts
        self.assertEqual(contexts["System`"], ["HoldComplete", "Hold"])
        self.assertEqual(contexts["Global`"], ["abc", "aB", "ab", "alpha", "q", "Zed"])

    def test_contexts_are_in_order(self):
        self.run_in("q[] := {Hold, a`b`c, a`d, zed`e, Alpha`f}")
        contexts = read(self.source, "q").contexts
        self.assertEqual(list(contexts), ["a`b`", "a`", "Alpha`", "Global`", "System`", "zed`"])

    def test_names_are_found_as_the_engine_finds_them(self):
        self.run_in("one`q = 1", "two`q = 2")
        self.assertIn('Symbol "q" does not exist', self.shown("q"))
        self.definitions.set_context_path(("two`", "one`", "System`", "Global`"))
        self.assertEqual(self.body("q"), "q := 2")
        self.assertEqual(self.body("one`q"), "q := 1")
        self.assertIn('Symbol "other`q" does not exist', self.shown("other`q"))


class Tripwires(MathicsTest):
    """Definitions that would change a counter if anything were evaluated."""

    DEFINED = (
        "trips = 0",
        'own := (trips++; "fired")',
        "down[___] := (trips++; 0)",
        "up /: _[___, up, ___] := (trips++; 0)",
        "holder := up",
        "sub[_][_] := trips++",
        'Format[fmt[x_]] := (trips++; "F")',
        "fmt[1]",
        "MakeBoxes[boxed[x_], form_] := (trips++; x)",
        "N[numeric] := (trips++; 1.)",
        "value = {1, Hold[own], fmt[1], boxed[2], HoldForm[up]}",
        "Options[opt] = {a -> 1}; Options[opt2] := (trips++; {})",
        "rule[x_ /; (trips++; True)] := x",
        "tested[x_?((trips++; True) &)] := x",
        "SetAttributes[rp, ReadProtected]; rp[x_] := own",
        "SetAttributes[locked, Locked]; trips = 0",
    )
    MADE = "own, down, up, holder, sub, fmt, boxed, numeric, value, opt, opt2, rule, tested, rp, locked, trips"
    NAMES = (
        f"{MADE}, NoSuch`Name, nosuch, $Version, $Context, $ContextPath, $Line, $Path, Format, MakeBoxes, Out, In, "
        "Quit, Exit, Abort, Sin, x!"
    )

    def setUp(self):
        super().setUp()
        self.run_in(*self.DEFINED)

    def state(self):
        return {
            name: (one.attributes, one.changed, list(map(id, one.ownvalues)), list(map(id, one.downvalues)))
            for name, one in self.definitions.user.items()
        }

    def test_reading_evaluates_nothing_and_makes_no_symbol(self):
        before = self.state()
        for _ in range(2):
            text = self.shown(self.NAMES, True, include=("usage", "options", "attributes", "dependencies"))
            for name in self.NAMES.split(","):
                structured(read(self.source, name))
        self.assertEqual(self.state(), before)
        self.assertEqual(self.value("trips"), "0")
        self.assertIn('own := (trips++; "fired")', text)

    def test_read_protection_is_read_through_and_stays(self):
        self.assertEqual(self.body("rp"), "Attributes[rp] = {ReadProtected}\n\nrp[x_] := own")
        self.assertEqual(self.value("Attributes[rp]"), "{System`ReadProtected}")

    def test_the_lookup_of_the_engine_is_not_touched(self):
        of = self.definitions
        of.clear_cache()
        self.shown(self.NAMES, True)
        self.assertEqual((of.lookup_cache, of.definitions_cache), ({}, {}))

    def test_it_is_read_while_another_thread_evaluates(self):
        done = threading.Event()
        problems = []

        def look():
            while not done.is_set():
                try:
                    self.shown("grown, own, down", True)
                except Exception as problem:
                    problems.append(problem)
                    return

        looking = threading.Thread(target=look)
        looking.start()
        self.run_in('Do[grown[i] = i; Evaluate[Symbol["s" <> ToString[i]]] = i, {i, 100}]')
        done.set()
        looking.join()
        self.assertEqual(problems, [])


class KernelCode(MathicsTest):
    def test_the_placeholders_of_all_five_kinds(self):
        for name, placeholder in (
            ("Sin", "Sin[___]"),
            ("$CommandLine", "$CommandLine"),
            ("Composition", "Composition[___][___]"),
            ("Quantity", "_[___, Quantity, ___]"),
            ("Grid", "Format[Grid, _]"),
        ):
            self.assertIn(f"\n\n{placeholder} := <kernel function>", self.body(name))

    def test_their_order(self):
        forms = [line for line in self.body("Quantity").split("\n\n") if "<kernel" in line]
        self.assertEqual([form.split(" ")[0] for form in forms], ["Quantity[___]", "_[___,", "Format[Quantity,"])

    def test_what_people_add_is_shown_beside(self):
        self.run_in("Unprotect[Sin]; Sin[mine] = 5")
        self.assertIn("Sin[mine] := 5\n\nSin[___] := <kernel function>", self.body("Sin"))


class Limits(MathicsTest):
    def test_a_slow_formatter_makes_room_for_input_form(self):
        self.run_in("q[x_] := Module[{y = x}, f[g[y]]; h @ y]")
        hour = count(step=3600)
        slow = Settings(clock=lambda: next(hour))
        self.assertEqual(self.body("q", settings=slow), "q[x_] := Module[{y = x}, f[g[y]]; h[y]]")
        self.assertTrue(read(self.source, "q", settings=slow).plain)
        patient = Settings(formatter_seconds=1e9, clock=lambda: next(hour))
        self.assertIn("\n    Module[", self.body("q", settings=patient))

    def test_input_form_is_given_before_the_time_for_the_look_is_over(self):
        self.run_in("q[x_] := Module[{y = x}, f[g[y]]; h @ y]")
        engine = SimpleNamespace(source=self.source)
        for deadline_ms, form in ((5_000, "input"), (30_000, "readable")):
            clock = count(step=4)
            settings = Settings(clock=lambda clock=clock: next(clock))
            image = SimpleNamespace(engine=engine, settings=settings, source_places=SourcePlaces())
            query = {"name": "q", "max_length": 1000, "include": ["json"], "deadline_ms": deadline_ms}
            self.assertEqual(definition_of(image, query)["value"]["data"]["form"], form)

    def define(self, name, value):
        self.definitions.set_ownvalue(name, value)

    def test_a_deep_value(self):
        value = MathicsInteger(0)
        for _ in range(100_000):
            value = to_mathics_list(value)
        self.define("Global`deep", value)
        self.assertIn("<<deeper>>", self.body("deep", max_length=1_000_000))

    def test_a_huge_list(self):
        self.define("Global`huge", to_mathics_list(*range(100_000)))
        body = self.body("huge", max_length=10_000_000)
        self.assertRegex(body, r"<<5\d{4}>>\n    \}$")
        self.define("Global`large", to_mathics_list(*range(1_000)))
        self.assertIn("[truncated, showing 50/", self.body("large", max_length=50))

    def test_a_huge_number_and_a_huge_text(self):
        self.define("Global`number", MathicsInteger(1 << 1_000_000))
        self.run_in('text = "\\[Alpha]"')
        self.assertEqual(self.body("number"), "number := <<about 301030 digits>>")
        self.definitions.set_ownvalue("Global`text", self.session.evaluate('StringJoin[Table["abcde", {10}]]'))
        self.assertEqual(self.body("text"), 'text := "' + "abcde" * 10 + '"')

    def test_many_rules(self):
        self.run_in("Do[memo[i] = i, {i, 300}]")
        found = self.source.definition("Global`memo", Budget(100))
        self.assertEqual(len(found.rules) + found.left_out, 300)
        self.assertGreater(found.left_out, 200)


class Options(MathicsTest):
    def test_sections_that_are_asked_for(self):
        self.run_in('q::usage = "q[x] is x."', "Options[q] = {a -> 1}", "q[x_] := r[x]; r[x_] := x")
        text = self.shown("q", include=("usage", "options", "attributes", "dependencies"))
        for section in (
            "## Usage\n\n```text\nq[x] is x.\n```",
            "## Options\n\n```wl\n{a -> 1}\n```",
            "## Attributes\n\n```wl\n{}\n```",
            '## Dependencies\n\n```json\n["Global`r"]\n```',
        ):
            self.assertIn(section, text)
        self.assertNotIn("## Usage", self.shown("q"))

    def test_what_it_uses_and_nobody_has_defined_is_a_dependency_too_and_said(self):
        self.run_in("r[x_] := x", "q[x_] := r[x] + h[x] + k`m + Sum[i, {i, x}] + Module[{y = x}, y]")
        expected = '```json\n["Global`h", "Global`r", "k`m"]\n```\n\nNot defined: Global`h, k`m'
        self.assertTrue(self.shown("q", include=("dependencies",)).endswith(expected))
        self.assertEqual(structured(read(self.source, "q"))["undefined"], ["Global`h", "k`m"])

    def test_the_usage_of_a_builtin_is_what_its_question_mark_prints(self):
        for name, usage in {
            "Sin": "Sin[z] returns the sine of z.",
            "Plus": "Plus[a, b, ...] or a + b + ... represents the sum of the terms a, b, ...",
            "$Line": "$Line holds the current input line number.",
            "Map": "Map[f, expr] or f /@ expr applies f to each part on the first level of expr.\n"
            "Map[f, expr, levelspec] applies f to each level specified by levelspec of expr.",
        }.items():
            with self.subTest(name):
                self.assertIn(f"## Usage\n\n```text\n{usage}\n```", self.shown(name, include=("usage",)))
        self.run_in('Unprotect[Sin]; Sin::usage = "Sin of mine."; Protect[Sin]')
        self.assertIn("```text\nSin of mine.\n```", self.shown("Sin", include=("usage",)))

    def test_a_text_cannot_close_its_fence(self):
        self.run_in('q::usage = "```\n# Heading"; q = "```"')
        text = self.shown("q", include=("usage",))
        self.assertIn("````text\n```\n# Heading\n````", text)
        self.assertIn('````wl\nq := "```"\n````', text)

    def test_as_data(self):
        self.run_in("q[x_] := r[x]; r = 1")
        found, missing = (structured(read(self.source, name)) for name in ("q", "nosuch"))
        self.assertEqual(found["definition"], "q[x_] := r @ x")
        self.assertEqual(found["dependencies"], ["Global`r"])
        self.assertEqual((missing["status"], missing["nearest"]), ("missing", []))
        page = self.shown("q, nosuch", include=("json", "usage"))
        self.assertEqual(page.split("\n")[:4], ["# q", "", "```json", "{"])
        shown = [json.loads(one.partition("\n```")[0]) for one in page.split("```json\n")[1:]]
        self.assertEqual(shown, json.loads(json.dumps([found, missing])))


class Secrets(MathicsTest):
    def test_what_looks_like_a_key_is_redacted_and_said(self):
        self.run_in(
            'q[] := URLFetch["https://me:hunter2@x.org", "Headers" -> {"Authorization" -> "Bearer abcdef0123456xyz"}]',
            '$apiKey = "0123456789abcdef"',
            'password["me"] = "hunter22"; password::usage = "as in https://me:hunter22@x.org"',
            'r[] := {dbPassword = "correct horse", tokens -> "a word", "sk-abcdefghijklmnopqrstuv0123"}',
            'clean[] := {"a text", "key" -> "value", sk -> "sk-short"}',
        )
        for name, count_, secrets in (
            ("q", 2, ("hunter2", "abcdef0123456xyz")),
            ("$apiKey", 1, ("0123456789abcdef",)),
            ("password", 1, ("hunter22",)),
            ("r", 2, ("correct horse", "abcdefghijklmnop")),
        ):
            text = self.shown(name, include=("usage", "options"))
            for secret in secrets:
                self.assertNotIn(secret, text)
            said = "1 text that looks like a secret is" if count_ == 1 else f"{count_} texts that look like secrets are"
            self.assertIn(f"{said} redacted.", text)
        self.assertNotIn("redacted", self.shown("clean"))

    def test_what_stands_under_a_key_that_names_a_secret_is_redacted_in_lists_and_defaults_too(self):
        self.run_in(
            'config["apiKey"] = "0123456789abcdef"; config["password"] := "hunter22"',
            'creds["a"]["token"] = "hunter22"; $password = {"hunter22x"}',
            'conn[password_: "hunter22"] := 1; held[] := (config["password"] = "hunter22")',
            'nested = <|"password" -> {"hunter22"}|>; at["count"] = "hunter22"; asks[password_] := "hunter22"',
        )
        for name, count_ in dict(config=2, creds=1, conn=1, held=1, nested=1, at=0, asks=0, **{"$password": 1}).items():
            with self.subTest(name):
                found = read(self.source, name)
                self.assertEqual(found.redacted, count_)
                self.assertEqual("hunter22" in found.text, not count_)

    def test_what_looks_like_a_key_in_a_usage_is_redacted_wherever_the_usage_is_shown_and_counted(self):
        self.run_in('q::usage = "as in https://me:hunter22@x.org"; q[x_] := x')
        text = self.shown("q", include=("usage",))
        self.assertIn("\n\n1 text that looks like a secret is redacted.", text)
        self.assertNotIn("redacted", self.shown("q"))
        self.assertEqual(structured(read(self.source, "q"))["redacted"], 1)
        self.assertNotIn("hunter22", text + names.about(self.source, "Global`q").usage)

    def test_left_sides_are_redacted_where_they_tell_how_a_symbol_is_called_and_who_uses_it(self):
        self.run_in('auth["sk-abcdefghijklmnopqrstuv0123"] := other')
        shown = [*(call.text for call in uses.calls(self.source, "Global`auth"))]
        shown += [use.rule for use in uses.uses(self.source, "Global`other").found]
        self.assertEqual(shown, ['auth["[redacted: api key, 29 characters]"]'] * 2)


class AskedFor(MathicsTest):
    def test_the_kind_of_a_name_is_the_same_in_its_definition_and_elsewhere(self):
        self.run_in("f[x_] := x; v = 1")
        image = SimpleNamespace(
            engine=SimpleNamespace(source=self.source), settings=Settings(), source_places=SourcePlaces()
        )
        for name, kind in {"Pi": "constant", "Sin": "function", "f": "function", "v": "variable"}.items():
            query = {"name": name, "max_length": 1000, "deadline_ms": 5_000}
            self.assertEqual(definition_of(image, query)["value"]["kind"], kind)
            self.assertEqual(names.about(self.source, names.resolved(self.source, name)).kind, kind)

    def test_a_name_is_trimmed(self):
        self.assertEqual(self.shown(" Map "), self.shown("Map"))

    def test_a_name_that_may_have_been_meant(self):
        self.run_in("my`Private`hidden = 1")
        self.assertTrue(self.shown("plsu").endswith("Did you mean Plus?"))
        self.assertTrue(self.shown("Pluss").endswith('Symbol "Pluss" does not exist\n\nDid you mean Plus?'))
        self.assertIn("Did you mean my`Private`hidden?", self.shown("hidden"))
        self.assertIn("Did you mean my`Private`hidden?", self.shown("your`hidden"))
        self.assertNotIn("Did you mean", self.shown("price`x"))
        self.run_in("shop`prices`count; mentioned`total")
        self.assertIn("Did you mean shop`prices`count?", self.shown("shop`price`count"))
        self.assertNotIn("Did you mean", self.shown("price`total"))
        self.run_in("shop`Area[x_] := x; shop`Draw[x_] := x; shop`Are")
        self.assertTrue(self.shown("shop`area").endswith("Did you mean shop`Area?"))
        self.assertTrue(self.shown("shop`Ara").endswith("Did you mean shop`Area?"))
        self.assertTrue(self.shown("sin").endswith("Did you mean Sin?"))
        # Mathics has this one in its rules.
        self.assertTrue(self.source.exists("internals`elements`p"))
        self.assertNotIn("Did you mean", self.shown("p"))

    def test_what_is_no_name_cannot_write_markdown(self):
        text = self.shown("a\n# b\n\nError: fine")
        self.assertEqual(text, '# a\\n# b\\n\\nError: fine\n\nError: Invalid symbol name "a\\n# b\\n\\nError: fine"')

    def test_ten_thousand_hostile_names(self):
        # Each that is not there is compared with all that are, which takes its time where there are many.
        few = ["System`Plus", "System`Power", "Global`x", "my`Private`hidden"]
        self.enterContext(mock.patch.object(MathicsSource, "names", return_value=few))
        before = set(self.definitions.user)
        names = [name.replace(",", "") for name in hostile(10_000, [*PIECES, "[", "]", "`", "`", "Plus", ":=", "```", "<|"])]
        for name in names:
            if not name.strip():
                continue
            text = self.shown(name)
            lines = text.split("\n")
            self.assertEqual(sum(line.startswith("# ") for line in lines), 1, repr(name))
            self.assertRegex(lines[2], r"^(Error: |## Definition$|No definitions)", repr(name))
            self.assertTrue(all(line.isprintable() for line in lines), repr(name))
        self.assertEqual(set(self.definitions.user), before)
