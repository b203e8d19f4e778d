"""How a symbol is called, as its patterns say, and whose definitions name it. Nothing here evaluates."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from imago_wolfram.definition import Scope, without_secrets
from imago_wolfram.expressions import Expression, Normal, Symbol, head_name, parts, system_name
from imago_wolfram.keys import Redactor, redacted
from imago_wolfram.layout import render
from imago_wolfram.printing import Printer, called
from imago_wolfram.source import Definition, Rule, Source

# How it is called.

ParameterKind = Literal["positional", "rest", "optional", "keyword_rest"]
_SEQUENCES = ("BlankSequence", "BlankNullSequence")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a call. `pattern` is as it is written."""

    name: str
    kind: ParameterKind
    pattern: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A way to call a symbol: its whole left side, and its arguments."""

    text: str
    parameters: tuple[Parameter, ...]


def calls(source: Source, name: str) -> list[Call]:
    """
    The ways to call a symbol by its full name, in the order in which they were defined. Of what the engine computes
    only its usage tells.
    """
    definition = source.definition(name)
    if definition is None:
        return []
    definition = without_secrets(definition, Redactor())
    scope = Scope(source, name, definition)
    found = [_call(scope, rule) for rule in definition.rules if rule.kind in ("down", "sub")]
    shown = scope.shown(scope.symbol)
    if "down" in definition.code:
        told = _told(redacted(definition.messages.get("usage", "")), scope.symbol.short) or ["[___]"]
        found += [Call(shown + arguments, ()) for arguments in told]
    if "sub" in definition.code:
        found.append(Call(f"{shown}[___][___]", ()))
    return found


def _call(scope: Scope, rule: Rule) -> Call:
    printer = Printer(scope.shown)
    left, _ = printer.statement(None, rule.pattern, Symbol("System`Null"))
    call = called(rule.pattern)
    arguments = call.arguments if isinstance(call, Normal) else ()
    return Call(render(left, None), tuple(_parameter(printer, one) for one in arguments))


def _told(usage: str, short: str) -> list[str]:
    """The arguments of each line of a usage that begins with a call: `[x]` of `f[x] is x.`."""
    found: dict[str, None] = {}
    for line in usage.splitlines():
        depth = 0
        for at, one in enumerate(line[len(short) :] if line.startswith(short + "[") else ""):
            depth += (one == "[") - (one == "]")
            if depth == 0:
                found[line[len(short) :][: at + 1]] = None
                break
    return list(found)


def _parameter(printer: Printer, argument: Expression) -> Parameter:
    text = render(printer.text(argument), None)
    name, kind, default = "", "positional", None
    for part in parts(argument):
        match part:
            case Normal(head, (Symbol() as bound, _)) if system_name(head) == "Pattern":
                name = name or bound.short
    names = {head_name(part) for part in parts(argument)}
    if "OptionsPattern" in names:
        kind = "keyword_rest"
    elif head_name(argument) == "Optional":
        kind = "optional"
        given = argument.arguments if isinstance(argument, Normal) else ()
        default = render(printer.text(given[1]), None) if len(given) == 2 else None
    elif names & {*_SEQUENCES}:
        kind = "rest"
    return Parameter(name, kind, text, default)  # type: ignore[arg-type]


# Who names it.

Relation = Literal["calls", "references", "sets"]
_SETTING = frozenset(
    "Set SetDelayed UpSet UpSetDelayed AddTo SubtractFrom TimesBy DivideBy Increment Decrement".split()
)
SECONDS = 2.0
"""As long as the search for uses may take."""


@dataclass(frozen=True, slots=True)
class Use:
    """A definition that names a symbol: whose, which of its rules, by its left side and as it is stored, and how."""

    user: str
    rule: str
    relation: Relation
    stored: Rule


@dataclass(frozen=True, slots=True)
class Uses:
    found: list[Use]
    searched: int
    """How many definitions were looked through."""
    complete: bool


def uses(source: Source, name: str) -> Uses:
    """The rules that people have given in which a symbol, by its full name, occurs."""
    until = time.monotonic() + SECONDS
    found: list[Use] = []
    searched = 0
    for user in sorted(one for one in source.names() if not source.is_builtin(one)):
        if time.monotonic() > until:
            return Uses(found, searched, False)
        definition = source.definition(user)
        if definition is None:
            continue
        searched += 1
        found += _uses_in(source, user, definition, name)
    return Uses(found, searched, True)


def _uses_in(source: Source, user: str, definition: Definition, name: str) -> Iterable[Use]:
    scope = None
    for rule in definition.rules:
        relation = _relation(rule, name, is_self=user == name)
        if relation is not None:
            scope = scope or Scope(source, user, definition)
            yield Use(user, left_side(scope, rule), relation, rule)


def left_side(scope: Scope, rule: Rule, full: str = "") -> str:
    """The left side of a rule, without secrets; the name `full` is written in full."""

    def shown(symbol: Symbol) -> str:
        return full if symbol.name == full else scope.shown(symbol)

    left, _ = Printer(shown).statement(None, Redactor().expression(rule.pattern), Symbol("System`Null"))
    return render(left, None)


_FIRST = (
    "Map MapAll MapAt MapIndexed MapThread Scan Apply MapApply Fold FoldList FoldWhile FoldPair FoldPairList Nest NestList "
    "NestWhile NestWhileList FixedPoint FixedPointList Array Outer Inner KeyMap KeyValueMap AssociationMap ParallelMap"
)
_SECOND = (
    "Select SelectFirst SortBy Sort GroupBy GatherBy Gather SplitBy Split MaximalBy MinimalBy DeleteDuplicates "
    "DeleteDuplicatesBy CountsBy AllTrue AnyTrue NoneTrue TakeWhile LengthWhile KeySelect KeySortBy Merge PatternTest"
)
_APPLYING = {name: 0 for name in _FIRST.split()} | {name: 1 for name in _SECOND.split()}
"""By the name of a function, which of its arguments it calls."""
_COMPOSING = frozenset(("Composition", "RightComposition"))


def _applied(head: Expression, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The arguments that a call calls in its turn; of its operator form, as `Select[f]`, the only one."""
    name = system_name(head)
    if name in _COMPOSING:
        return arguments
    at = _APPLYING.get(name)
    if at is None or not arguments:
        return ()
    return arguments[:1] if len(arguments) == 1 else arguments[at : at + 1]


def _relation(rule: Rule, name: str, is_self: bool) -> Relation | None:
    """The strongest relation of a rule to a symbol. `is_self`: the rule is its own, and the left side does not count."""
    relation: Relation | None = None
    for side in (rule.value,) if is_self else (rule.pattern, rule.value):
        for part in parts(side):
            match part:
                case Normal(head, (target, *_)) if system_name(head) in _SETTING and _target(target) == name:
                    return "sets"
                case Normal(Symbol(called), _) if called == name:
                    relation = "calls"
                case Normal(head, arguments) if Symbol(name) in _applied(head, arguments):
                    relation = "calls"
                case Symbol(named) if named == name:
                    relation = relation or "references"
    return relation


def _target(expression: Expression) -> str:
    """What an assignment gives a value to."""
    while isinstance(expression, Normal):
        expression = expression.head
    return expression.name if isinstance(expression, Symbol) else ""
