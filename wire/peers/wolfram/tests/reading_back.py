"""Texts read back by Mathics' own parser, as neutral expressions. Nothing is evaluated."""

from fractions import Fraction

from mathics.core.parser import MathicsSingleLineFeeder, parse
from mathics_scanner.location import ContainerKind

from imago_wolfram.expressions import (
    Budget,
    Complex,
    Expression,
    Integer,
    Normal,
    Rational,
    Symbol,
    system_name,
)
from imago_wolfram.mathics_source import converted

IMAGINARY = Symbol("System`I")


class Names:
    """What a parser asks for the full name of a short one."""

    def __init__(self, *names):
        self._full = {name.rpartition("`")[2]: name for name in names}

    def lookup_name(self, name):
        return name if "`" in name else self._full.get(name, "Global`" + name)


def read_back(text, names):
    """The expressions in a text, one after the other."""
    return converted(parse(names, MathicsSingleLineFeeder(text, text, ContainerKind.STRING)), Budget())


def folded(expression: Expression) -> Expression:
    """With numbers in place of what only writes one: `1/2` reads as a product, and is the same number."""
    if not isinstance(expression, Normal):
        return Complex(Integer(0), Integer(1)) if expression == IMAGINARY else expression
    head = folded(expression.head)
    arguments = tuple(folded(one) for one in expression.arguments)
    values = [_value(one) for one in arguments]
    if all(value is not None for value in values) and len(values) > 1:
        match system_name(head):
            case "Plus":
                return _number(sum(real for real, _ in values), sum(imaginary for _, imaginary in values))
            case "Times":
                real, imaginary = Fraction(1), Fraction(0)
                for other, turned in values:
                    real, imaginary = real * other - imaginary * turned, real * turned + imaginary * other
                return _number(real, imaginary)
            case "Power" if arguments[1] == Integer(-1) and values[0][1] == 0 != values[0][0]:
                return _number(1 / values[0][0], Fraction(0))
    return Normal(head, arguments)


def _value(expression):
    match expression:
        case Integer(value):
            return Fraction(value), Fraction(0)
        case Rational(over, under):
            return Fraction(over, under), Fraction(0)
        case Complex(real, imaginary) if _value(real) and _value(imaginary):
            return _value(real)[0], _value(imaginary)[0]
    return None


def _number(real, imaginary):
    if imaginary:
        return Complex(_number(real, 0), _number(imaginary, 0))
    real = Fraction(real)
    return Integer(real.numerator) if real.denominator == 1 else Rational(real.numerator, real.denominator)
