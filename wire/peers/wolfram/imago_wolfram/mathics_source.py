"""The definitions of a Mathics3 session, read from the objects that it keeps them in: it evaluates nothing for this."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mathics.core.atoms import ByteArray, MachineReal, PrecisionReal
from mathics.core.atoms import Complex as MathicsComplex
from mathics.core.atoms import Integer as MathicsInteger
from mathics.core.atoms import Rational as MathicsRational
from mathics.core.atoms import String as MathicsString
from mathics.core.attributes import attributes_bitset_to_list
from mathics.core.builtin import Operator
from mathics.core.expression import Expression as MathicsExpression
from mathics.core.rules import FunctionApplyRule
from mathics.core.rules import Rule as MathicsRule
from mathics.core.symbols import Symbol as MathicsSymbol
from mathics.doc.doc_entries import DocumentationEntry
from mpmath.libmp import prec_to_dps, repr_dps, to_str

from imago_wolfram.expressions import (
    MOST_DEPTH,
    SYSTEM,
    Budget,
    Complex,
    Expression,
    Normal,
    Omitted,
    Rational,
    Real,
    String,
    Symbol,
    head_name,
    integer,
    machine_real,
    string,
    system,
)
from imago_wolfram.source import CodeKind, Definition, Rule, RuleKind

if TYPE_CHECKING:
    from mathics.core.definitions import Definition as MathicsDefinition
    from mathics.core.definitions import Definitions

_CODE_KINDS: tuple[CodeKind, ...] = ("own", "down", "sub", "up")
_KINDS: tuple[RuleKind, ...] = ("own", "down", "sub", "up", "n")
_ALL_FORMS = frozenset(
    SYSTEM + form for form in ("StandardForm", "TraditionalForm", "OutputForm", "TeXForm", "MathMLForm")
)
"""Those that a `Format` without a form stands under."""
_BOXES = "_MakeBoxes"
"""What Mathics keeps a `MakeBoxes` of a symbol under, among its formats."""


class MathicsSource:
    """A `Source` over the definitions of a session."""

    def __init__(self, definitions: "Definitions"):
        self._definitions = definitions

    def context(self) -> str:
        return self._definitions.current_context

    def context_path(self) -> tuple[str, ...]:
        return tuple(self._definitions.context_path)

    def exists(self, name: str) -> bool:
        of = self._definitions
        return name in of.user or name in of.builtin or name in of.pymathics

    def names(self) -> Iterable[str]:
        of = self._definitions
        return {*list(of.builtin), *list(of.pymathics), *list(of.user)}

    def is_builtin(self, name: str) -> bool:
        return name not in self._definitions.user

    def learn(self, names: Iterable[str]) -> None:
        """To ask for one costs nothing."""

    def defined(self, names: Iterable[str]) -> set[str]:
        return {name for name in names if self._is_defined(name)}

    def _is_defined(self, name: str) -> bool:
        found = self.definition(name, Budget(0))
        return found is not None and bool(
            found.rules or found.left_out or found.options or found.code or found.attributes
        )

    def definition(self, name: str, budget: Budget | None = None) -> Definition | None:
        of = self._definitions
        user, engine = of.user.get(name), of.pymathics.get(name) or of.builtin.get(name)
        stored = [one for one in (user, engine) if one is not None]
        if not stored:
            return None
        reading = _Reading(budget or Budget())
        if user is not None:
            reading.take(user, hidden=False)
        if engine is not None:
            code = _code(engine)
            reading.code |= code
            peoples = len(reading.rules)
            # Rules that stand beside code of the engine are a part of what that code does.
            reading.take(engine, hidden=bool(code))
            reading.rules[peoples:] = _reached(reading.rules[peoples:], reading.rules[:peoples])
        return Definition(
            attributes=frozenset(Symbol(one).short for one in attributes_bitset_to_list(stored[0].attributes)),
            rules=tuple(reading.rules),
            options=tuple(self._options(stored)),
            messages=_messages(stored),
            code=frozenset(reading.code),
            left_out=reading.left_out,
        )

    def _options(self, stored: "list[MathicsDefinition]") -> Iterable[tuple[Expression, Expression]]:
        merged: dict[str, Any] = {}
        for one in reversed(stored):
            merged.update(one.options)
        for name, value in sorted(merged.items()):
            # A text as the name of an option is kept as a symbol of System that does not exist.
            is_text = name.startswith(SYSTEM) and not self.exists(name)
            yield String(Symbol(name).short) if is_text else Symbol(name), converted(value, Budget(10_000))


class _Reading:
    """The rules of a symbol, taken over as far as the budget goes."""

    def __init__(self, budget: Budget):
        self._budget = budget
        self.rules: list[Rule] = []
        self.code: set[CodeKind] = set()
        self.left_out = 0

    def take(self, of: "MathicsDefinition", hidden: bool) -> None:
        self._add("default", of.defaultvalues)
        if hidden:
            return
        for kind in _KINDS:
            self._add(kind, of.get_values_list(f"{kind}values"))
        if of.builtin is None:
            self._add_formats(of)

    def _add(self, kind: RuleKind, stored: Iterable[Any]) -> None:
        for rule in self._within_budget(stored):
            if self._budget.left <= 0:
                self.left_out += 1
                continue
            pattern, value = converted(rule.pattern.expr, self._budget), converted(rule.replace, self._budget)
            self.rules.append(Rule(kind, pattern, value))

    def _within_budget(self, stored: Iterable[Any]) -> list[Any]:
        """The rules that are data, in the order of their definition. Of thousands only the first: ordering takes time."""
        rules = [one for one in list(stored) if isinstance(one, MathicsRule)]
        taken = rules[: max(0, self._budget.left)]
        self.left_out += len(rules) - len(taken)
        return in_order_of_definition(taken)

    def _add_formats(self, of: "MathicsDefinition") -> None:
        forms: dict[int, set[str]] = {}
        found: dict[int, Any] = {}
        for form, stored in list(of.formatvalues.items()):
            for rule in self._within_budget(stored):
                # One Format for all forms is one rule, stored under each of them.
                forms.setdefault(id(rule), set()).add(form)
                found[id(rule)] = rule
        for key, rule in found.items():
            pattern, value = converted(rule.pattern.expr, self._budget), converted(rule.replace, self._budget)
            if _BOXES in forms[key]:
                self.rules.append(Rule("up", pattern, value))
                continue
            everywhere = forms[key] >= _ALL_FORMS or "" in forms[key]
            for form in [""] if everywhere else sorted(forms[key]):
                self.rules.append(Rule("format", pattern, value, Symbol(form) if form else None))


def _reached(rules: list[Rule], before: list[Rule]) -> list[Rule]:
    """Those of the rules whose pattern no rule before them takes for good, as the engine's own `$Context` is once set."""
    taken = {(one.kind, one.pattern, one.form) for one in before if head_name(one.value) != "Condition"}
    found = []
    for rule in rules:
        key = rule.kind, rule.pattern, rule.form
        if key not in taken:
            found.append(rule)
            if head_name(rule.value) != "Condition":
                taken.add(key)
    return found


def _code(of: "MathicsDefinition") -> set[CodeKind]:
    """The kinds of values that a builtin computes in Python. What only complains of arguments computes nothing."""
    found: set[CodeKind] = set()
    for kind in _CODE_KINDS:
        if any(_computes(rule) for rule in of.get_values_list(f"{kind}values")):
            found.add(kind)
    # How an operator is typeset belongs to the syntax.
    if not isinstance(of.builtin, Operator):
        if any(_computes(rule) for rules in of.formatvalues.values() for rule in rules):
            found.add("print")
    return found


def _computes(rule: Any) -> bool:
    named = getattr(getattr(rule, "function", None), "__name__", "")
    return isinstance(rule, FunctionApplyRule) and named != "generic_argument_error"


def _messages(stored: "list[MathicsDefinition]") -> dict[str, str]:
    found: dict[str, str] = {}
    for one in reversed(stored):
        for rule in list(one.messages):
            pattern, value = rule.pattern.expr, getattr(rule, "replace", None)
            if isinstance(pattern, MathicsExpression) and len(pattern.elements) == 2:
                tag = pattern.elements[1]
                if isinstance(tag, MathicsString) and isinstance(value, MathicsString):
                    found[tag.value] = value.value
        usage = _documented(one)
        if usage:
            found["usage"] = usage
    return found


def _documented(of: "MathicsDefinition") -> str:
    """What Mathics' `Information` prints of a builtin, a line for each way to call it. Its message says much less."""
    text = "" if of.builtin is None else type(of.builtin).__doc__ or ""
    begin, end = text.find("<dl>"), text.find("</dl>")
    if not 0 <= begin < end:
        return ""
    lines: list[str] = []
    forms: list[str] = []
    for line in DocumentationEntry(text[begin:end], type(of.builtin).__name__).text().split("\n"):
        words = " ".join(line.split())
        # A form is indented by two, and what is said of it by four.
        if not words:
            continue
        if line.startswith("    "):
            lines.append(f"{' or '.join(forms)} {words}" if forms else words)
            forms = []
        elif line.startswith("  "):
            forms.append(words)
        elif lines:
            lines[-1] += f" {words}"
    return "\n".join([*lines, *([" or ".join(forms)] if forms else [])])


def in_order_of_definition(rules: list[Any]) -> list[Any]:
    """Mathics puts the newer first among rules of the same precedence, so they are given from the last to the first."""
    ordered: list[Any] = []
    same: list[Any] = []
    for rule in rules:
        if same and same[-1].pattern_precedence != rule.pattern_precedence:
            ordered += reversed(same)
            same = []
        same.append(rule)
    return ordered + same[::-1]


def converted(expression: Any, budget: Budget, depth: int = 0) -> Expression:
    """A neutral expression of one of Mathics, as far as the budget and a depth go."""
    budget.left -= 1
    if isinstance(expression, MathicsExpression):
        if depth >= MOST_DEPTH:
            return Omitted("deeper")
        head = converted(expression.head, budget, depth + 1)
        found: list[Expression] = []
        for at, element in enumerate(expression.elements):
            if budget.left <= 0:
                found.append(Omitted(str(len(expression.elements) - at)))
                break
            found.append(converted(element, budget, depth + 1))
        return Normal(head, tuple(found))
    return _atom(expression)


def _atom(atom: Any) -> Expression:
    if isinstance(atom, MathicsSymbol):
        return Symbol(atom.name)
    if isinstance(atom, MathicsString):
        return string(atom.value)
    if isinstance(atom, MathicsInteger):
        return integer(atom.value)
    if isinstance(atom, MathicsRational):
        over, under = integer(int(atom.value.p)), integer(int(atom.value.q))
        if isinstance(over, Omitted) or isinstance(under, Omitted):
            return Omitted("Rational")
        return Rational(over.value, under.value)
    if isinstance(atom, MachineReal) and type(atom.value) is float:
        return machine_real(atom.value)
    if isinstance(atom, PrecisionReal):
        return _precise(atom.value)
    if isinstance(atom, MathicsComplex):
        match _atom(atom.real), _atom(atom.imag):
            case Omitted(), _:
                return Omitted("Complex")
            case _, Omitted():
                return Omitted("Complex")
            case real, imaginary:
                return Complex(real, imaginary)  # type: ignore[arg-type]
    if isinstance(atom, ByteArray):
        return system("ByteArray", system("List", *map(integer, bytes(atom.value[:10_000]))))
    return Omitted(type(atom).__name__)


def _precise(value: Any) -> Real:
    """A number of given precision, with as many digits as it takes to read it back."""
    bits = value._prec
    mantissa, _, exponent = to_str(value._mpf_, repr_dps(bits)).partition("e")
    text = f"{mantissa.removesuffix('.0') + '.' if mantissa.endswith('.0') else mantissa}`{prec_to_dps(bits)}."
    return Real(f"{text}*^{int(exponent)}" if exponent else text)
