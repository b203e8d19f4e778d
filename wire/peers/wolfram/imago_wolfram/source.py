"""What the looks ask an engine about its definitions. To answer evaluates nothing, and makes no symbol."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from imago_wolfram.expressions import Budget, Expression

RuleKind = Literal["default", "own", "down", "up", "sub", "n", "format"]
CodeKind = Literal["own", "down", "up", "sub", "print"]


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

    def is_own(self, name: str) -> bool:
        """Whether the engine has brought the symbol, and nobody has added to it."""

    def definition(self, name: str, budget: Budget | None = None) -> Definition | None:
        """None where there is no such symbol."""
