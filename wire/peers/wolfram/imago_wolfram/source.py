"""What the looks ask an engine about its definitions. To answer evaluates nothing, and makes no symbol."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from imago_wolfram.expressions import Budget, Expression, NotAnExpression, from_json

RuleKind = Literal["default", "own", "down", "up", "sub", "n", "format"]
CodeKind = Literal["own", "down", "up", "sub", "print"]
RULE_KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
CODE_KINDS: tuple[CodeKind, ...] = get_args(CodeKind)


@dataclass(frozen=True, slots=True)
class Rule:
    """One of the values of a symbol. `form` is the output form that a `Format` is for; left out where it is for all."""

    kind: RuleKind
    pattern: Expression
    value: Expression
    form: Expression | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """What is stored of a symbol. `rules` stand in the order in which they have to be given to come out the same."""

    attributes: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = ()
    options: tuple[tuple[Expression, Expression], ...] = ()
    messages: Mapping[str, str] = field(default_factory=dict)
    code: frozenset[CodeKind] = frozenset()
    """The kinds of values that the engine computes by code of its own."""
    left_out: int = 0
    """Rules that were too many to be taken over."""


class Source(Protocol):
    """The definitions of an engine. Names are full names: ``Global`f``. Any thread may ask."""

    def context(self) -> str:
        """`$Context`."""

    def context_path(self) -> tuple[str, ...]:
        """`$ContextPath`."""

    def exists(self, name: str) -> bool: ...

    def names(self) -> Iterable[str]:
        """All symbols there are, in no order."""

    def is_builtin(self, name: str) -> bool:
        """Whether the engine has brought the symbol, and nobody has added to it."""

    def learn(self, names: Iterable[str]) -> None:
        """These will be asked for, each by `exists`."""

    def defined(self, names: Iterable[str]) -> set[str]:
        """Those of them that are more than mentioned: they have values, options, attributes or code."""

    def definition(self, name: str, budget: Budget | None = None) -> Definition | None:
        """None where there is no such symbol."""


def definition_from_json(value: object, budget: Budget | None = None) -> Definition:
    """
    A definition as a kernel on a link sends it: `{"attributes": [short name...], "rules": [[kind, pattern, value]...],
    "options": [[name, value]...], "messages": {tag: text}, "code": [kind...]}`, with expressions as `from_json` reads
    them. Each part may be left out.
    """
    budget = budget or Budget()
    rules: list[Rule] = []
    left_out = 0
    match value:
        case {**given}:
            for one in _list(given.get("rules")):
                match one:
                    case [kind, pattern, right, *form] if kind in RULE_KINDS and len(form) < 2:
                        if budget.left <= 0:
                            left_out += 1
                            continue
                        sides = from_json(pattern, budget), from_json(right, budget)
                        rules.append(Rule(kind, *sides, from_json(form[0]) if form else None))
                    case _:
                        raise NotAnExpression(repr(one)[:200])
            return Definition(
                attributes=frozenset(_texts(given.get("attributes"))),
                rules=tuple(rules),
                options=tuple(
                    (from_json(name, budget), from_json(one, budget)) for name, one in _pairs(given.get("options"))
                ),
                messages=_messages(given.get("messages")),
                code=frozenset(kind for kind in CODE_KINDS if kind in _texts(given.get("code"))),
                left_out=left_out,
            )
    raise NotAnExpression(repr(value)[:200])


def _messages(value: object) -> dict[str, str]:
    found = value if isinstance(value, dict) else {}
    return {tag: text for tag, text in found.items() if isinstance(tag, str) and isinstance(text, str)}


def _list(value: object) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise NotAnExpression(repr(value)[:200])
    return value


def _texts(value: object) -> list[str]:
    return [one for one in _list(value) if isinstance(one, str)]


def _pairs(value: object) -> list[tuple[object, object]]:
    pairs = [tuple(one) for one in _list(value) if isinstance(one, list)]
    if not all(len(pair) == 2 for pair in pairs):
        raise NotAnExpression(repr(value)[:200])
    return pairs  # type: ignore[return-value]
