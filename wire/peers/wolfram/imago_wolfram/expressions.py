"""Expressions as data, the same whichever engine they came from: nothing here can be evaluated."""

from collections.abc import Iterator
from dataclasses import dataclass

SYSTEM = "System`"

# A definition of more than this is not written by a person; what is beyond is counted, and shown as `<<n>>`.
MOST_NODES = 50_000
MOST_DEPTH = 100
MOST_CHARACTERS = 1_000_000
MOST_DIGITS = 4_000
_MACHINE_LENGTH = 18
"""Characters, its sign and point included, up to which Mathics reads a number as one of machine precision."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """By its full name: ``System`Plus``."""

    name: str

    @property
    def context(self) -> str:
        """With its backtick at the end."""
        return self.name[: self.name.rfind("`") + 1]

    @property
    def short(self) -> str:
        return self.name[self.name.rfind("`") + 1 :]


@dataclass(frozen=True, slots=True)
class String:
    value: str


@dataclass(frozen=True, slots=True)
class Integer:
    value: int


@dataclass(frozen=True, slots=True)
class Rational:
    numerator: int
    denominator: int


@dataclass(frozen=True, slots=True)
class Real:
    """As it is typed: `1.5`, `-2.*^-7`, ``1.5`20``."""

    text: str


@dataclass(frozen=True, slots=True)
class Complex:
    real: "Integer | Rational | Real"
    imaginary: "Integer | Rational | Real"


@dataclass(frozen=True, slots=True)
class Omitted:
    """What has no text that reads back, or is too much: `<<9000>>`, `<<Image>>`."""

    what: str


@dataclass(frozen=True, slots=True)
class Normal:
    """A head with its arguments."""

    head: "Expression"
    arguments: "tuple[Expression, ...]"


Expression = Symbol | String | Integer | Rational | Real | Complex | Omitted | Normal


@dataclass(slots=True)
class Budget:
    """How many nodes of a definition may still be taken over."""

    left: int = MOST_NODES


def system_name(expression: Expression) -> str:
    """The short name of a symbol of ``System` ``; else an empty text."""
    if isinstance(expression, Symbol) and expression.context == SYSTEM:
        return expression.short
    return ""


def head_name(expression: Expression) -> str:
    """The short name of a head that is a symbol of ``System` ``; else an empty text."""
    return system_name(expression.head) if isinstance(expression, Normal) else ""


def system(name: str, *arguments: Expression) -> Normal:
    """An expression whose head is a symbol of ``System` ``."""
    return Normal(Symbol(SYSTEM + name), arguments)


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and all that is in it, heads included, outermost first and left to right."""
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, Normal):
            waiting.extend(reversed(one.arguments))
            waiting.append(one.head)


def integer(value: int) -> Integer | Omitted:
    """A whole number; of one that fills pages only its size."""
    if value.bit_length() > MOST_DIGITS * 3:
        return Omitted(f"about {value.bit_length() * 30103 // 100000} digits")
    return Integer(value)


def string(value: str) -> Expression:
    """A text; of one that fills a book its beginning, and how much follows."""
    if len(value) <= MOST_CHARACTERS:
        return String(value)
    rest = Omitted(f"{len(value) - MOST_CHARACTERS} characters")
    return system("StringJoin", String(value[:MOST_CHARACTERS]), rest)


def machine_real(value: float) -> Real:
    """A number of machine precision: its shortest text that reads back, marked where its digits say otherwise."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    text = f"{whole}.{'' if fraction == '0' else fraction}"
    return _marked(text, f"*^{int(exponent)}" if exponent else "")


def bounded(expression: Expression, budget: Budget, depth: int = 0) -> Expression:
    """As much of an expression as the budget and a depth go."""
    budget.left -= 1
    if not isinstance(expression, Normal):
        return expression
    if depth >= MOST_DEPTH:
        return Omitted("deeper")
    head = bounded(expression.head, budget, depth + 1)
    found: list[Expression] = []
    for at, argument in enumerate(expression.arguments):
        if budget.left <= 0:
            found.append(Omitted(str(_count(expression.arguments[at:]))))
            break
        found.append(bounded(argument, budget, depth + 1))
    return Normal(head, tuple(found))


def _count(arguments: tuple[Expression, ...]) -> int:
    """How many there are; those that were left out before are counted among them."""
    last = arguments[-1]
    if isinstance(last, Omitted) and last.what.isdecimal():
        return len(arguments) - 1 + int(last.what)
    return len(arguments)


class NotAnExpression(ValueError):
    """What an engine sent as an expression is none."""


def from_json(value: object, budget: Budget | None = None) -> Expression:
    """
    An expression as a kernel on a link sends it: a text is a symbol's full name, a number an integer, and a list says
    by its first item what it is: `["s", text]`, `["i", digits]`, `["q", digits, digits]`, `["r", text]`,
    `["c", real, imaginary]`, `["o", what]`, or `["n", head, argument...]`.
    """
    return _from_json(value, budget or Budget(), 0)


def _from_json(value: object, budget: Budget, depth: int) -> Expression:
    budget.left -= 1
    match value:
        case str():
            return Symbol(value)
        case bool():
            raise NotAnExpression(repr(value))
        case int():
            return integer(value)
        case ["s", str(text)]:
            return string(text)
        case ["i", str(digits)]:
            return _whole(digits)
        case ["q", str(over), str(under)]:
            match _whole(over), _whole(under):
                case Integer(numerator), Integer(denominator):
                    return Rational(numerator, denominator)
            return Omitted("Rational")
        case ["r", str(text)]:
            return _real(text)
        case ["c", real, imaginary]:
            match _from_json(real, budget, depth), _from_json(imaginary, budget, depth):
                case (Integer() | Rational() | Real()) as one, (Integer() | Rational() | Real()) as other:
                    return Complex(one, other)
            return Omitted("Complex")
        case ["o", str(what)]:
            return Omitted(what)
        case ["n", head, *arguments]:
            if depth >= MOST_DEPTH:
                return Omitted("deeper")
            made = _from_json(head, budget, depth + 1)
            found: list[Expression] = []
            for at, argument in enumerate(arguments):
                if budget.left <= 0:
                    found.append(Omitted(str(len(arguments) - at)))
                    break
                found.append(_from_json(argument, budget, depth + 1))
            return Normal(made, tuple(found))
    raise NotAnExpression(repr(value)[:200])


def _real(text: str) -> Real:
    """A real without a mark has machine precision. One with many digits gets a mark, so that it reads back so."""
    mantissa, times, exponent = text.partition("*^")
    return Real(text) if "`" in mantissa else _marked(mantissa, times + exponent)


def _marked(mantissa: str, power: str) -> Real:
    return Real(f"{mantissa}{'`' if len(mantissa) > _MACHINE_LENGTH else ''}{power}")


def _whole(digits: str) -> Expression:
    if len(digits) > MOST_DIGITS:
        return Omitted(f"{len(digits)} digits")
    try:
        return Integer(int(digits))
    except ValueError:
        raise NotAnExpression(digits[:200]) from None
