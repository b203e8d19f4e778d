"""Expressions as text in input form, as people write it: with operators, and parentheses where they are needed."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from imago_wolfram.expressions import (
    Complex,
    Expression,
    Integer,
    Normal,
    Omitted,
    Rational,
    Real,
    String,
    Symbol,
    head_name,
    parts,
    system,
    system_name,
)
from imago_wolfram.layout import (
    BREAK,
    BREAK_OR_NOTHING,
    NOTHING,
    SPACE,
    Document,
    between,
    concat,
    group,
    nest,
)

# Names and texts.

# Marks that Wolfram Language takes for letters, and its letters in the private use area. U+0323 below is the dot of
# Mathics' formal letters.
_LETTER_LIKE = (
    "$¡£¥§®¶•…′‵‶℘™℧↵∠⎕■▪▮▲▼◀●◼★☹☺♠♡♪♭♮♯✶"
    "\uf6b2-\uf6b5\uf6b7\uf6b9-\uf6bc\uf6be\uf6bf\uf6c1-\uf700\uf730\uf731\uf770\uf772\uf773\uf776\uf779\uf77a"
    "\uf77d-\uf780\uf782-\uf78b\uf78d-\uf790\uf793-\uf79a\uf79c-\uf7a2\uf7a4-\uf7bd\uf800-\uf833"
)
_LETTER = rf"(?:[^\W\d_]|[{_LETTER_LIKE}])"
_DIGIT_OR_LETTER = rf"(?:[^\W\d_]|[0-9\u0323{_LETTER_LIKE}])"
_PLAIN_NAME = re.compile(rf"{_LETTER}{_DIGIT_OR_LETTER}*")
_NAME = re.compile(rf"(?:{_PLAIN_NAME.pattern}`)*{_PLAIN_NAME.pattern}")
NAME_PART: Final = re.compile(rf"{_DIGIT_OR_LETTER}|`")
"""A character of a name, with its context."""
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_PRINTS: Final = re.compile(r"[ !#-\[\]-~]*")


def is_name(text: str) -> bool:
    """Whether a text may be the name of a symbol, with its context or without."""
    if _NAME.fullmatch(text) is None:
        return False
    # What a regular expression takes for a letter may be a fraction or a superscript.
    return text.isascii() or not any(one.isnumeric() and not one.isalpha() for one in text if not one.isascii())


def quoted(text: str) -> str:
    """A text in quotes, as one line. What cannot be seen is written by its code."""
    if _PRINTS.fullmatch(text):
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def visible(text: str, limit: int = 200) -> str:
    """A text as it is, on one line, without what cannot be seen; an ellipsis stands for what is beyond the limit."""
    shown = "".join(one if one.isprintable() else _escaped(one) for one in text[:limit])
    return shown if len(text) <= limit else shown + "…"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\:{code:04x}" if code < 0x10000 else f"\\|{code:06x}"


# Operators, by the head that they stand for. The numbers are those of `Precedence`.

Grouping = Literal["flat", "left", "right", "none"]


@dataclass(frozen=True, slots=True)
class Infix:
    """`flat` takes any number of operands; `left` and `right` say which operand may be the same operator."""

    sign: str
    precedence: int
    grouping: Grouping = "flat"
    tight: bool = False

    def takes(self, operands: int) -> bool:
        return operands == 2 or (self.grouping == "flat" and operands > 2)

    def of_operand(self, at: int, count: int) -> int:
        """The precedence from which the operand needs no parentheses."""
        same = (self.grouping == "left" and at == 0) or (self.grouping == "right" and at == count - 1)
        return self.precedence if same else self.precedence + 1


_SEQUENCE = 10
_SET = 40
_FUNCTION = 90
_LOGICAL = 200
_NOT = 230
_SPAN = 305
_MINUS = 307
_PLUS = 310
_TIMES = 400
_DIVIDE = 470
_PREFIX = 640
_INCREMENT = 660
_CALL = 670
_PATTERN_TEST = 680
_BLANK = 730
_ATOM = 1000

INFIX: Final[dict[str, Infix]] = {
    "Set": Infix("=", _SET, "right"),
    "SetDelayed": Infix(":=", _SET, "right"),
    "UpSet": Infix("^=", _SET, "right"),
    "UpSetDelayed": Infix("^:=", _SET, "right"),
    "AddTo": Infix("+=", 100, "right"),
    "SubtractFrom": Infix("-=", 100, "right"),
    "TimesBy": Infix("*=", 100, "right"),
    "DivideBy": Infix("/=", 100, "right"),
    "ReplaceAll": Infix("/.", 110, "left"),
    "ReplaceRepeated": Infix("//.", 110, "left"),
    "Rule": Infix("->", 120, "right"),
    "RuleDelayed": Infix(":>", 120, "right"),
    "Condition": Infix("/;", 130, "left"),
    "StringExpression": Infix("~~", 135),
    "Alternatives": Infix("|", 160),
    "Or": Infix("||", 215),
    "And": Infix("&&", 225),
    "SameQ": Infix("===", 290),
    "UnsameQ": Infix("=!=", 290),
    "Equal": Infix("==", 290),
    "Unequal": Infix("!=", 290),
    "Less": Infix("<", 290),
    "Greater": Infix(">", 290),
    "LessEqual": Infix("<=", 290),
    "GreaterEqual": Infix(">=", 290),
    "Plus": Infix("+", _PLUS),
    "Times": Infix("*", _TIMES),
    "Dot": Infix(".", 490),
    "NonCommutativeMultiply": Infix("**", 510),
    "Power": Infix("^", 590, "right", tight=True),
    "StringJoin": Infix("<>", 600),
    "Map": Infix("/@", 620, "right"),
    "MapAll": Infix("//@", 620, "right"),
    "Apply": Infix("@@", 620, "right"),
    "PatternTest": Infix("?", _PATTERN_TEST, "none", tight=True),
}
_ASSIGNING: Final = frozenset(name for name, infix in INFIX.items() if infix.precedence <= _SET)
_POSTFIX: Final = {"Increment": "++", "Decrement": "--"}
_PRE: Final = {"PreIncrement": "++", "PreDecrement": "--"}
_BLANKS: Final = {"Blank": "_", "BlankSequence": "__", "BlankNullSequence": "___"}
_REPEATED: Final = {"Repeated": "..", "RepeatedNull": "..."}
_SCOPES: Final = frozenset({"Module", "Block", "With"})
"""They always stand on lines of their own."""
_ITERATING: Final = frozenset(
    "Do Table Sum Product ParallelDo ParallelTable ParallelSum ParallelProduct NSum NProduct Integrate NIntegrate Plot"
    " Plot3D ParametricPlot ParametricPlot3D PolarPlot LogPlot LogLinearPlot LogLogPlot ContourPlot DensityPlot".split()
)
"""Calls whose lists behind the first argument begin with a variable of theirs: `{i, 1, n}`."""
_PAIRED: Final = {"Switch": 1, "Which": 0}
"""Calls whose arguments are tests with their values, and how many stand before those."""
_BRACKETED: Final = frozenset(
    ("HoldPattern", "Verbatim", "Except", "Longest", "Shortest", "Optional", "Pattern", *_BLANKS, *_REPEATED)
    + ("CompoundExpression", *INFIX)
)
"""Heads that never take `@`: patterns read better in brackets, and a flat head would vanish."""


def variables(expressions: Iterable[Expression]) -> frozenset[str]:
    """The full names that patterns, scoping constructs, iterators and functions bind."""
    found: set[str] = set()
    for expression in expressions:
        for part in parts(expression):
            match part:
                case Normal(head, (Symbol(name), _, *_)) if system_name(head) in ("Pattern", "Function"):
                    found.add(name)
                case Normal(head, (Normal(list_head, listed), _, *_)) if (
                    system_name(head) in _SCOPES or system_name(head) == "Function"
                ) and system_name(list_head) == "List":
                    found.update(filter(None, map(_variable, listed)))
                case Normal(head, (_, *iterators)) if system_name(head) in _ITERATING:
                    firsts = (one.arguments[0] for one in iterators if head_name(one) == "List" and one.arguments)
                    found.update(one.name for one in firsts if isinstance(one, Symbol))
    return frozenset(found)


def _variable(part: Expression) -> str:
    match part:
        case Symbol(name):
            return name
        case Normal(head, (Symbol(name), _)) if system_name(head) in ("Set", "SetDelayed"):
            return name
    return ""


def called(pattern: Expression) -> Expression:
    """The call that a left side is a pattern for: without its conditions and its name."""
    while True:
        match pattern:
            case Normal(head, (inner,)) if system_name(head) == "HoldPattern":
                pattern = inner
            case Normal(head, (inner, _)) if system_name(head) == "Condition":
                pattern = inner
            case Normal(head, (_, inner)) if system_name(head) == "Pattern":
                pattern = inner
            case _:
                return pattern


class Printer:
    """
    Prints the expressions of one definition. `shown` gives the text of a symbol's name; `tick` is called for each part,
    and may raise. `plain` leaves out what only serves the eye.
    """

    def __init__(self, shown: Callable[[Symbol], str], tick: Callable[[], None] = lambda: None, plain: bool = False):
        self._shown = shown
        self._tick = tick
        self._plain = plain
        self._defined: set[int] = set()

    def statement(self, tag: Symbol | None, pattern: Expression, value: Expression) -> tuple[Document, Document]:
        """The two sides of a definition; `tag` is the symbol to which an upvalue belongs."""
        self._defined.clear()
        self._mark_defined(pattern)
        left = self.text(pattern, _SET + 1)
        if tag is None:
            return left, self.text(value, _SET)
        return concat(self._shown(tag), " /: ", left), self.text(value, _SET + 1)

    def _mark_defined(self, pattern: Expression) -> None:
        """The call that is defined has brackets, and its heads too."""
        pattern = called(pattern)
        while isinstance(pattern, Normal) and head_name(pattern) in ("Format", "N") and pattern.arguments:
            self._defined.add(id(pattern))
            pattern = called(pattern.arguments[0])
        while isinstance(pattern, Normal):
            self._defined.add(id(pattern))
            pattern = pattern.head

    def text(self, expression: Expression, around: int = 0) -> Document:
        """In parentheses where it binds less tightly than `around`."""
        document, precedence = self._with_precedence(expression, around)
        return concat("(", document, ")") if precedence < around else document

    def _with_precedence(self, expression: Expression, around: int) -> tuple[Document, int]:
        self._tick()
        match expression:
            case Symbol():
                return self._symbol(expression), _ATOM
            case String(value):
                return quoted(value), _ATOM
            case Integer(value):
                return str(value), _ATOM if value >= 0 else _MINUS
            case Real(text):
                return text, _ATOM if not text.startswith("-") else _MINUS
            case Rational(numerator, denominator):
                return f"{numerator}/{denominator}", _TIMES if numerator >= 0 else _MINUS
            case Complex(real, imaginary):
                return self._complex(real, imaginary)
            case Omitted(what):
                return f"<<{what}>>", _ATOM
            case Normal():
                return self._normal(expression, around)

    def _symbol(self, symbol: Symbol) -> str:
        name = self._shown(symbol)
        return name if is_name(name) else f"Symbol[{quoted(name)}]"

    def _complex(self, real: Expression, imaginary: Expression) -> tuple[Document, int]:
        unit = self._symbol(Symbol("System`I"))
        times = unit if imaginary == Integer(1) else concat(self.text(imaginary, _TIMES + 1), " * ", unit)
        if real == Integer(0):
            return times, _ATOM if times == unit else _TIMES
        return concat(self.text(real, _PLUS + 1), " + ", times), _PLUS

    def _normal(self, expression: Normal, around: int) -> tuple[Document, int]:
        name = system_name(expression.head)
        if name and not (name in _ASSIGNING and id(expression) in self._defined):
            found = self._special(name, expression.arguments)
            if found is not None:
                return found
        return self._call(expression, name, around)

    def _call(self, expression: Normal, name: str, around: int) -> tuple[Document, int]:
        head, arguments = expression.head, expression.arguments
        if len(arguments) == 1 and self._may_prefix(expression, name, around):
            argument, precedence = self._with_precedence(arguments[0], _PREFIX)
            if precedence >= _PREFIX:
                return concat(self._head(head), " @ ", argument), _PREFIX
            return group(self._head(head), bracketed("[", [argument], "]")), _CALL
        inside = [self.text(argument) for argument in arguments]
        if name in _PAIRED:
            inside = _in_pairs(inside, _PAIRED[name])
        if name in _SCOPES and len(inside) == 2:
            body = nest(BREAK, inside[1])
            return concat(self._head(head), "[", inside[0], ",", body, BREAK_OR_NOTHING, "]"), _CALL
        return group(self._head(head), bracketed("[", inside, "]")), _CALL

    def _may_prefix(self, expression: Normal, name: str, around: int) -> bool:
        if self._plain or around > _LOGICAL or id(expression) in self._defined:
            return False
        return isinstance(expression.head, Symbol) and name not in _BRACKETED

    def _head(self, head: Expression) -> Document:
        document, precedence = self._with_precedence(head, _CALL)
        return concat("(", document, ")") if precedence < _CALL or precedence == _PATTERN_TEST else document

    def _special(self, name: str, arguments: tuple[Expression, ...]) -> tuple[Document, int] | None:
        """What has a form of its own; None where these arguments do not fit it."""
        match name, arguments:
            case "List", _:
                return self._list("{", arguments, "}"), _ATOM
            case "Association", _ if all(head_name(one) in ("Rule", "RuleDelayed") for one in arguments):
                return self._list("<|", arguments, "|>"), _ATOM
            case "CompoundExpression", (_, _, *_):
                return self._sequence(arguments), _SEQUENCE
            case "Times", (over, Normal(head, (under, Integer(-1)))) if system_name(head) == "Power":
                under = concat("/", self.text(under, _DIVIDE + 1))
                if over == Integer(-1):
                    return concat("-1", under), _MINUS
                return concat(self.text(over, _DIVIDE + 1), under), _TIMES
            case "Times", (Integer(-1), other) if not _is_number(other):
                return concat("-", self.text(other, _DIVIDE + 1)), _MINUS
            case "Part", (whole, _, *_):
                inside = [self.text(index) for index in arguments[1:]]
                return group(self._head(whole), bracketed("[[", inside, "]]")), _CALL
            case "Not", (one,):
                return concat("!", self.text(one, _NOT + 1)), _NOT
            case "Function", (body,):
                return concat(self.text(body, _FUNCTION + 1), " &"), _FUNCTION
            case "Factorial", (one,):
                return concat(self.text(one, _PREFIX), "!"), 610
            case (("Increment" | "Decrement"), (one,)):
                return concat(self.text(one, _INCREMENT + 1), _POSTFIX[name]), _INCREMENT
            case (("PreIncrement" | "PreDecrement"), (one,)):
                return concat(_PRE[name], self.text(one, _INCREMENT + 1)), _INCREMENT
            case "Span", (_, _) | (_, _, _):
                return group(between(" ;;", [self.text(one, _SPAN + 1) for one in arguments])), _SPAN
            case (("TagSet" | "TagSetDelayed"), (Symbol(), pattern, value)):
                left, right = self.text(pattern, _SET + 1), self.text(value, _SET + 1)
                sign = "=" if name == "TagSet" else ":="
                return concat(self.text(arguments[0]), " /: ", left, f" {sign} ", right), _SET
            case _:
                return self._of_patterns(name, arguments) or self._infix(name, arguments)

    def _of_patterns(self, name: str, arguments: tuple[Expression, ...]) -> tuple[Document, int] | None:
        match name, arguments:
            case (("Blank" | "BlankSequence" | "BlankNullSequence"), () | (Symbol(),)):
                return self._blank("", name, arguments)
            case "Pattern", (Symbol() as bound, Normal(_, () | (Symbol(),)) as pattern) if (
                head_name(pattern) in _BLANKS
            ):
                return self._blank(self._shown(bound), head_name(pattern), pattern.arguments)
            case "Pattern", (Symbol() as bound, pattern) if is_name(self._shown(bound)):
                return concat(self._symbol(bound), ": ", self.text(pattern, 151)), 150
            case "Optional", (Normal(_, ()) as blank,) if head_name(blank) == "Blank":
                return "_.", _BLANK
            case "Optional", (Normal(_, (Symbol() as bound, Normal(_, ()) as blank)) as named,) if (
                head_name(named) == "Pattern" and head_name(blank) == "Blank" and is_name(self._shown(bound))
            ):
                return self._shown(bound) + "_.", _BLANK
            case "Optional", (pattern, value) if head_name(pattern) == "Pattern" or head_name(pattern) in _BLANKS:
                return concat(self.text(pattern, 151), ": ", self.text(value, 141)), 140
            case (("Repeated" | "RepeatedNull"), (one,)):
                return concat(self.text(one, 171), " ", _REPEATED[name]), 170
            case "Slot", (Integer(at),) if at >= 0:
                return "#" if at == 1 else f"#{at}", _ATOM
            case "Slot", (String(key),) if _PLAIN_NAME.fullmatch(key):
                return f"#{key}", _ATOM
            case "SlotSequence", (Integer(at),) if at >= 1:
                return "##" if at == 1 else f"##{at}", _ATOM
            case "MessageName", (Symbol() as symbol, String(tag)) if _PLAIN_NAME.fullmatch(tag):
                return f"{self._symbol(symbol)}::{tag}", 750
            case _:
                return None

    def _blank(self, name: str, kind: str, heads: tuple[Expression, ...]) -> tuple[Document, int] | None:
        """`x_Integer`; None where a name is not one that may stand there."""
        head = self._shown(heads[0]) if heads and isinstance(heads[0], Symbol) else ""
        if not all(is_name(one) for one in (name, head) if one):
            return None
        return name + _BLANKS[kind] + head, _BLANK

    def _infix(self, name: str, arguments: tuple[Expression, ...]) -> tuple[Document, int] | None:
        infix = INFIX.get(name)
        count = len(arguments)
        if infix is None or not infix.takes(count):
            return None
        operands = [
            self._operand(name, at, operand, infix.of_operand(at, count)) for at, operand in enumerate(arguments)
        ]
        (_, first), *others = operands
        if infix.tight:
            return concat(first, infix.sign, others[0][1]), infix.precedence
        # The operator ends its line: at the start of the next it would begin a new input.
        rest = [part for sign, operand in others for part in (f" {sign or infix.sign}", SPACE, operand)]
        return group(first, nest(*rest)), infix.precedence

    def _operand(self, name: str, at: int, operand: Expression, around: int) -> tuple[str, Document]:
        """The sign that stands before it, where that is not the operator's, and its text."""
        if name == "Plus":
            match operand:
                case Normal(head, (Integer(-1), other)) if system_name(head) == "Times":
                    return "", concat("(-1) * ", self.text(other, _TIMES + 1))
                case Integer(value) if value < 0 and at > 0:
                    return "-", str(-value)
                case Integer() | Real() | Rational() if at == 0:
                    return "", self.text(operand, _MINUS)
        return "", self.text(operand, around)

    def _sequence(self, arguments: tuple[Expression, ...]) -> Document:
        """Statements; one that is nothing at the end is not written."""
        *statements, last = [self.text(one, _SEQUENCE + 1) for one in arguments]
        if system_name(arguments[-1]) == "Null":
            return group(between(";", statements), ";")
        return group(between(";", [*statements, last]))

    def _list(self, opening: str, items: tuple[Expression, ...], closing: str) -> Document:
        filled = len(items) > 8 and not any(isinstance(one, Normal) for one in items)
        return group(bracketed(opening, [self.text(one) for one in items], closing, filled))


def bracketed(opening: str, items: list[Document], closing: str, filled: bool = False) -> Document:
    """Items between brackets: all on one line, or on lines of their own."""
    if not items:
        return opening + closing
    return concat(opening, nest(NOTHING, between(",", items, filled)), NOTHING, closing)


def _in_pairs(items: list[Document], first: int) -> list[Document]:
    """Each test with its value behind it, or below it."""
    tests, values = items[first::2], items[first + 1 :: 2]
    pairs = [group(test, ",", nest(SPACE, value)) for test, value in zip(tests, values, strict=False)]
    return items[:first] + pairs + tests[len(values) :]


def _is_number(expression: Expression) -> bool:
    return isinstance(expression, Integer | Rational | Real | Complex)


# Values in the input form of the language: `a - b`, `(2*x)/3`, `Sqrt[x]`. A definition shows what is stored.

_HOLDING: Final = frozenset(
    "Hold HoldForm HoldComplete HoldPattern Unevaluated Function RuleDelayed Set SetDelayed UpSet UpSetDelayed TagSet"
    " TagSetDelayed Condition Module Block With Table Do If Which Switch".split()
)
"""What leaves its arguments as they are. Within it, a form is used only where it reads as just what stands there."""


class ValuePrinter(Printer):
    """Prints what reads back, once it is evaluated, as the same value."""

    def __init__(self, shown: Callable[[Symbol], str]):
        super().__init__(shown, plain=True)
        self._holding = 0

    def _normal(self, expression: Normal, around: int) -> tuple[Document, int]:
        is_holding = head_name(expression) in _HOLDING
        self._holding += is_holding
        try:
            return super()._normal(expression, around)
        finally:
            self._holding -= is_holding

    def _special(self, name: str, arguments: tuple[Expression, ...]) -> tuple[Document, int] | None:
        match name, arguments:
            case "Power", (base, Rational(1, 2)) if not self._holding:
                return self._root(base), _CALL
            case "Power", (base, Rational(-1, 2)) if not self._holding:
                return concat("1/", self._root(base)), _TIMES
            case "Times", (_, _, *_) if not self._holding:
                return self._quotient(arguments)
            case "Times", (_, _, *_) if not _is_sign_or_quotient(arguments):
                return self._product(arguments), _TIMES
        return super()._special(name, arguments)

    def _root(self, base: Expression) -> Document:
        return concat(self._symbol(Symbol("System`Sqrt")), "[", self.text(base), "]")

    def _product(self, factors: list[Expression] | tuple[Expression, ...]) -> Document:
        first, *others = [self.text(one, _TIMES + 1) for one in factors]
        return group(first, nest(*(part for one in others for part in ("*", NOTHING, one))))

    def _quotient(self, factors: tuple[Expression, ...]) -> tuple[Document, int]:
        """A product, with its minus sign first, and what has a negative power below the line."""
        first, *others = factors
        sign = ""
        if _is_negative(first):
            sign, first = "-", _negated(first)
        over: list[Expression] = []
        under: list[Expression] = []
        for one in others:
            match one:
                case Normal(_, (base, Integer() | Rational() as power)) if (
                    head_name(one) == "Power" and _is_negative(power)
                ):
                    power = _negated(power)
                    under.append(base if power == Integer(1) else system("Power", base, power))
                case _:
                    over.append(one)
        # A number before a sum would go into the sum.
        if isinstance(first, Rational) and not any(head_name(one) == "Plus" for one in under):
            over, under = [Integer(first.numerator), *over], [Integer(first.denominator), *under]
        else:
            over = [first, *over]
        if Integer(1) in over and (sign or under):
            over.remove(Integer(1))
        if not under:
            text = self._product(over) if len(over) > 1 else self.text(over[0], _TIMES + 1)
            return concat(sign, text), _SPAN if sign else _TIMES
        text = concat(self._side(over or [Integer(1)]), "/", self._side(under))
        return concat(sign, text), _SPAN if sign else _TIMES

    def _side(self, factors: list[Expression]) -> Document:
        if len(factors) == 1:
            return self.text(factors[0], _DIVIDE + 1)
        return concat("(", self._product(factors), ")")

    def _operand(self, name: str, at: int, operand: Expression, around: int) -> tuple[str, Document]:
        if name != "Plus":
            return super()._operand(name, at, operand, around)
        match operand:
            case Normal(_, (Integer(-1), other)) if head_name(operand) == "Times" and self._holding:
                if at and head_name(other) != "Times" and not _is_number(other):
                    return "-", self.text(other, _TIMES + 1)
                return "", concat("(-1)*", self.text(other, _TIMES + 1))
            case Normal(_, (number, *others)) if (
                head_name(operand) == "Times" and others and _is_negative(number) and not self._holding
            ):
                if at:
                    positive = _negated(number)
                    factors = others if positive == Integer(1) else [positive, *others]
                    return "-", self.text(factors[0] if len(factors) == 1 else system("Times", *factors), _TIMES)
                return "", self.text(operand)
            case Complex(Integer(0), imaginary) if at and _is_negative(imaginary):
                return "-", self.text(Complex(Integer(0), _negated(imaginary)), around)
            case Complex(Integer(0), imaginary) if _is_negative(imaginary):
                return "", self.text(operand)
            case Rational() | Real() if at and _is_negative(operand):
                return "-", self.text(_negated(operand), around)
            case Integer() | Rational() | Real() if not at and _is_negative(operand):
                return "", self.text(operand)
        return super()._operand(name, at, operand, around)

    def _complex(self, real: Expression, imaginary: Expression) -> tuple[Document, int]:
        sign = "-" if _is_negative(imaginary) else ""
        size = _negated(imaginary) if sign else imaginary
        unit = self._symbol(Symbol("System`I"))
        match size:
            case Integer(1):
                times: Document = unit
            case Rational(over, under):
                times = f"{unit if over == 1 else f'({over}*{unit})'}/{under}"
            case _:
                times = concat(self.text(size, _TIMES + 1), "*", unit)
        if real == Integer(0):
            return concat(sign, times), _SPAN if sign else _ATOM if times == unit else _TIMES
        return concat(self.text(real), f" {sign or '+'} ", times), _PLUS


def _is_sign_or_quotient(factors: tuple[Expression, ...]) -> bool:
    """Whether they read as they stand from `-x` or `x/y`."""
    match factors:
        case Integer(-1), other:
            return not _is_number(other)
        case _, Normal(_, (_, Integer(-1))) as power:
            return head_name(power) == "Power"
    return False


def _is_negative(number: Expression) -> bool:
    match number:
        case Integer(value) | Rational(value, _):
            return value < 0
        case Real(text):
            return text.startswith("-")
    return False


def _negated(number: Expression) -> Expression:
    match number:
        case Integer(value):
            return Integer(-value)
        case Rational(over, under):
            return Rational(-over, under)
        case Real(text):
            return Real(text[1:])
    return number
