"""The examples of the specification of `SymbolDefinition`, byte for byte, and what it says without an example."""

from tests.session import MathicsTest

PLUS = """\
# Plus

## Definition

```wl
Attributes[Plus] = {Flat, Listable, NumericFunction, OneIdentity, Orderless, Protected}

Default[Plus] := 0

Plus[___] := <kernel function>
```"""

MAP = """\
# Map

## Definition

```wl
Attributes[Map] = {Protected}

Map[___] := <kernel function>
```"""

SUBTRACT = """\
# Subtract

## Definition

```wl
Attributes[Subtract] = {Listable, NumericFunction, Protected}

Subtract[x_, y_] := x + (-1) * y
```"""

CREATE_SERVER = """\
# CreateMCPServer

## Definition

```wl
CreateMCPServer[name_String] :=
    catchMine @ createMCPServer[name]

e$: HoldPattern[CreateMCPServer[___]] :=
    throwInternalFailure[e$, "UnhandledDownValues", HoldForm @ CreateMCPServer]
```"""

CATCH_MINE = """\
# catchMine

## Definition

```wl
catchMine /: SetDelayed[lhs_, catchMine @ rhs_] :=
    Module[{eh$ = HoldComplete @ lhs},
        SetDelayed @@ Hold[lhs, catchTop[rhs, topLevelFailure[eh$, #] &]]
    ]
```

## Contexts

```json
{
  "System`": ["HoldComplete", "Hold", "Module", "SetDelayed"],
  "Wolfram`MCPServer`Common`Private`": ["catchMine", "catchTop", "topLevelFailure"]
}
```"""

MISSING = """\
# Symbol

Error: Symbol "NonExistent`Symbol" does not exist"""

DEFINE_SERVER = (
    'BeginPackage["Wolfram`MCPServer`"]',
    'CreateMCPServer; Begin["`Private`"]',
    "CreateMCPServer[name_String] := catchMine @ createMCPServer[name]",
    "e$: HoldPattern[CreateMCPServer[___]] := "
    'throwInternalFailure[e$, "UnhandledDownValues", HoldForm @ CreateMCPServer]',
    "End[]",
    "EndPackage[]",
)

DEFINE_CATCH_MINE = (
    'Begin["Wolfram`MCPServer`Common`Private`"]',
    "catchMine /: SetDelayed[lhs_, catchMine @ rhs_] := Module[{eh$ = HoldComplete @ lhs}, "
    "SetDelayed @@ Hold[lhs, catchTop[rhs, topLevelFailure[eh$, #] &]]]",
    "End[]",
)


class Examples(MathicsTest):
    def test_a_kernel_function_with_a_default(self):
        self.assertEqual(self.shown("Plus"), PLUS)

    def test_an_unqualified_name(self):
        self.assertEqual(self.shown("Map"), MAP)

    def test_a_qualified_name(self):
        self.run_in(*DEFINE_SERVER)
        self.assertEqual(self.shown("Wolfram`MCPServer`CreateMCPServer"), CREATE_SERVER)

    def test_context_details(self):
        self.run_in(*DEFINE_CATCH_MINE)
        self.assertEqual(self.shown("Wolfram`MCPServer`Common`Private`catchMine", True), CATCH_MINE)

    def test_several_names(self):
        # But for the attributes of Subtract: the specification has them with the other two, and leaves them out there.
        self.assertEqual(self.shown("Plus, Subtract, NonExistent`Symbol"), f"{PLUS}\n\n{SUBTRACT}\n\n{MISSING}")

    def test_a_locked_symbol(self):
        self.run_in("System`SomeLockedSymbol[x_] := x", "SetAttributes[SomeLockedSymbol, {Locked, ReadProtected}]")
        expected = "# SomeLockedSymbol\n\nError: SomeLockedSymbol is `Locked` and `ReadProtected`"
        self.assertEqual(self.shown("System`SomeLockedSymbol"), expected)
        self.assertEqual(self.shown("SomeLockedSymbol"), expected)

    def test_an_undefined_symbol(self):
        self.run_in("mentioned")
        self.assertEqual(self.shown("mentioned"), "# mentioned\n\nNo definitions found")

    def test_an_invalid_name(self):
        self.assertEqual(self.shown("bad!name"), '# bad!name\n\nError: Invalid symbol name "bad!name"')

    def test_the_three_answers_of_one_call(self):
        self.assertEqual(
            self.shown("Plus, NoSuch`Name, bad!name"),
            f'{PLUS}\n\n# Name\n\nError: Symbol "NoSuch`Name" does not exist'
            '\n\n# bad!name\n\nError: Invalid symbol name "bad!name"',
        )


class Truncation(MathicsTest):
    def test_what_is_cut_says_how_much_is_shown(self):
        self.run_in("large[x_] := {" + ", ".join(f"f{at}[x]" for at in range(900)) + "}")
        whole = self.body("large", max_length=100_000)
        for length in (1, 20, 50, 1000):
            line = f"... [truncated, showing {length}/{len(whole)} characters]"
            self.assertEqual(self.body("large", max_length=length), f"{whole[:length]}\n{line}")

    def test_it_is_for_each_symbol(self):
        self.run_in("one = 1", 'long = "' + "x" * 100 + '"')
        self.assertIn("one := 1\n```", self.shown("one, long", max_length=20))
        self.assertIn("[truncated, showing 20/", self.shown("one, long", max_length=20))

    def test_what_just_fits_is_whole(self):
        self.run_in("one = 1")
        self.assertEqual(self.body("one", max_length=8), "one := 1")
        self.assertIn("showing 7/8 characters", self.body("one", max_length=7))

    def test_less_than_one_character_is_refused(self):
        with self.assertRaises(ValueError):
            self.shown("Plus", max_length=0)
