"""Mathics3 at the other end of a link, as a kernel: it runs the package that a licensed one gets."""

import json
import sys
from collections import deque

from mathics.core.atoms import Integer, String
from mathics.core.attributes import A_HOLD_ALL_COMPLETE, A_HOLD_FIRST, A_NO_ATTRIBUTES
from mathics.core.builtin import Builtin
from mathics.core.convert.python import from_python
from mathics.core.convert.expression import to_mathics_list
from mathics.core.definitions import Definitions
from mathics.core.expression import Expression
from mathics.core.interrupt import AbortInterrupt, WLThrowInterrupt
from mathics.core.parser import MathicsMultiLineFeeder
from mathics.core.parser.convert import convert
from mathics.core.parser.util import parser
from mathics.core.symbols import Symbol, SymbolFalse, SymbolNull, SymbolTrue
from mathics.core.systemsymbols import SymbolAborted
from mathics_scanner.errors import SyntaxError as NoSyntax

from imago_wolfram.link import LinkLost, Name, Packet
from imago_wolfram.mathics_session import Session, define_input
from imago_wolfram.mathics_source import _code, in_order_of_definition
from tests.session import loaded

HOLD = Symbol("System`HoldComplete")

# What stands in for functions that Mathics lacks, or has otherwise. All of them are here.

STAND_INS = {
    "System`ToExpression": "evaluates what it wraps in HoldComplete",
    "System`SyntaxQ": "is there; this one goes with the next",
    "System`SyntaxLength": "is not there",
    "System`ImportString": "has no RawJSON",
    "System`NameQ": "is not there",
    "System`BinarySerialize": "is not there: only a symbol in HoldComplete",
    "System`Catch": "does not take three arguments",
    "Internal`InheritedBlock": "is not there",
    "System`Private`HasDownCodeQ": "is not there, nor are the other four",
    "System`DownValues": "takes no name, nor do the others; and lists rules from the newest on",
    "System`DefaultValues": "goes with these, and has no options",
    "System`Names": "leaves out all contexts",
    "Expression._build_elements_properties": "asserts that a list of values is one where its parts are lists",
}


def read(text, definitions):
    """The expressions of a text. None of its symbols is made."""
    feeder, found = MathicsMultiLineFeeder(text, ""), []
    while not feeder.empty():
        tree = parser.parse(feeder)
        feeder.messages.clear()
        if tree is not None:
            found.append(convert(tree, definitions))
    return found


class ToExpression(Builtin):
    "reads a text"

    summary_text = "read a text"

    def eval_held(self, text, evaluation):
        "ToExpression[text_String, InputForm, HoldComplete]"
        try:
            return Expression(HOLD, *read(text.value, evaluation.definitions))
        except NoSyntax:
            return Symbol("System`$Failed")

    def eval(self, text, evaluation):
        "ToExpression[text_String]"
        value = SymbolNull
        for one in read(text.value, evaluation.definitions):
            value = one.evaluate(evaluation)
        return value


class SyntaxQ(Builtin):
    "whether a text is one expression"

    summary_text = "whether a text is an expression"

    def eval(self, text, evaluation):
        "SyntaxQ[text_String]"
        return SymbolTrue if _syntax(text.value) is None else SymbolFalse


class SyntaxLength(Builtin):
    "how much of a text is an expression"

    summary_text = "how much of a text is an expression"

    def eval(self, text, evaluation):
        "SyntaxLength[text_String]"
        wrong = _syntax(text.value)
        return Integer(len(text.value) if wrong is None else wrong)


def _syntax(text):
    """None where it is an expression; else the place of the error, past the end where more is needed."""
    feeder = MathicsMultiLineFeeder(text, "")
    try:
        if parser.parse(feeder) is None:
            return len(text) + 1
    except NoSyntax:
        tags = [message[1] for message in feeder.messages]
        return len(text) + 1 if any(tag in ("sntxi", "sntup", "sntue") for tag in tags) or not tags else _at(feeder, text)
    return None


def _at(feeder, text):
    """The place of an error: Mathics tells its line, and the text before it there."""
    return min(len(text), sum(map(len, text.splitlines(True)[: max(0, feeder.lineno - 1)])))


class ImportString(Builtin):
    "reads JSON"

    summary_text = "read JSON"

    def eval(self, text, evaluation):
        'ImportString[text_String, "RawJSON"]'
        return _from_json(json.loads(text.value))


def _from_json(value):
    if isinstance(value, dict):
        rules = (Expression(Symbol("System`Rule"), String(key), _from_json(one)) for key, one in value.items())
        return Expression(Symbol("System`Association"), *rules)
    if isinstance(value, list):
        return to_mathics_list(*map(_from_json, value))
    if value is None:
        return SymbolNull
    return from_python(value) if not isinstance(value, str) else String(value)


class NameQ(Builtin):
    "whether there is such a symbol"

    summary_text = "whether there is such a symbol"

    def eval(self, name, evaluation):
        "NameQ[name_String]"
        of = evaluation.definitions
        return SymbolTrue if any(name.value in where for where in (of.user, of.builtin, of.pymathics)) else SymbolFalse


class Names(Builtin):
    "names that a pattern fits, with the contexts that are not on the path"

    summary_text = "names that a pattern fits"

    def eval(self, pattern, evaluation):
        "Names[pattern_String]"
        of = evaluation.definitions
        path = (of.get_current_context(), *of.get_context_path())
        found = sorted(of.get_matching_names(pattern.value))
        return to_mathics_list(*(one[one.rindex("`") + 1 :] if one[: one.rindex("`") + 1] in path else one for one in found))


class BinarySerialize(Builtin):
    "the bytes of a symbol"

    summary_text = "the bytes of a symbol"

    def eval(self, held, evaluation):
        "BinarySerialize[held_HoldComplete]"
        found = b"8:f" + bytes([len(held.elements)]) + b"s\x0cHoldComplete"
        for one in held.elements:
            name = one.get_name().removeprefix("System`").encode()
            count = [len(name)] if len(name) < 128 else [len(name) % 128 + 128, len(name) // 128]
            found += b"s" + bytes(count) + name
        return to_mathics_list(*found)


class Catch(Builtin):
    "ends a throw"

    attributes = A_HOLD_FIRST
    summary_text = "end a throw"

    def eval(self, body, evaluation):
        "Catch[body_]"
        try:
            return body.evaluate(evaluation)
        except WLThrowInterrupt as thrown:
            if thrown.tag is not None:
                raise
            return thrown.value

    def eval_tagged(self, body, form, then, evaluation):
        "Catch[body_, form_, then_]"
        try:
            return body.evaluate(evaluation)
        except WLThrowInterrupt as thrown:
            if thrown.tag is None:
                raise
            return Expression(then, thrown.value, thrown.tag).evaluate(evaluation)


class InheritedBlock(Builtin):
    "lets changes of a symbol go"

    attributes = A_HOLD_ALL_COMPLETE
    context = "Internal`"
    summary_text = "let changes of a symbol go"

    def eval(self, symbols, body, evaluation):
        "Internal`InheritedBlock[{symbols___}, body_]"
        from copy import deepcopy

        of = evaluation.definitions
        names = [one.get_name() for one in symbols.get_sequence()]
        before = {name: deepcopy(of.user.get(name)) for name in names}
        try:
            return body.evaluate(evaluation)
        finally:
            for name, was in before.items():
                of.user.pop(name, None)
                if was is not None:
                    of.user[name] = was
            of.clear_cache()


def _has_code(kind):
    def eval(self, symbol, evaluation):
        of = evaluation.definitions
        engine = of.builtin.get(symbol.get_name())
        return SymbolTrue if engine is not None and kind.lower() in _code(engine) else SymbolFalse

    name = f"Has{kind}CodeQ"
    eval.__doc__ = f"System`Private`{name}[symbol_]"
    attributes = A_NO_ATTRIBUTES if kind == "Own" else A_HOLD_ALL_COMPLETE
    given = {"eval": eval, "context": "System`Private`", "attributes": attributes, "summary_text": "whether it is code"}
    return type(name, (Builtin,), {"__doc__": "whether it is code", **given})


_VALUES = {
    "OwnValues": "own", "DownValues": "down", "UpValues": "up", "SubValues": "sub", "NValues": "n",
    "DefaultValues": "default", "FormatValues": "format", "Messages": "messages",
}  # fmt: skip


def _by_name(builtin, values):
    """A function of Mathics that takes a name, too."""

    def eval_name(self, name, evaluation):
        return values(evaluation.definitions, name.value)

    named = type(builtin).__name__
    eval_name.__doc__ = f"{named}[name_String]"
    return type(named, (type(builtin),), {"__doc__": type(builtin).__doc__ or "values", "eval_name": eval_name})


def _rules(kind):
    def values(definitions, name):
        found = []
        for where in (definitions.user, definitions.builtin):
            of = where.get(name)
            if of is None or where is definitions.builtin and kind != "default" and _code(of):
                continue
            if kind == "messages":
                stored = of.messages
            elif kind == "format":
                stored = [] if of.builtin is not None else of.formatvalues.get("System`OutputForm", [])
            else:
                stored = getattr(of, kind + "values")
            found += in_order_of_definition([rule for rule in list(stored) if hasattr(rule, "replace")])
        pairs = [(one.pattern.expr, one.replace) for one in found]
        if kind == "default" and name in definitions.user and definitions.user[name].options:
            pairs.append((Expression(Symbol("System`Options"), Symbol(name)), _options(definitions, name)))
        hold, rule_of = Symbol("System`HoldPattern"), Symbol("System`RuleDelayed")
        return to_mathics_list(*(Expression(rule_of, Expression(hold, left), right) for left, right in pairs))

    return values


def _options(definitions, name):
    rules = []
    for key, value in sorted(definitions.user[name].options.items()):
        there = any(key in where for where in (definitions.user, definitions.builtin))
        named = Symbol(key) if there or not key.startswith("System`") else String(key[7:])
        rules.append(Expression(Symbol("System`Rule"), named, value))
    return to_mathics_list(*rules)


_measure = Expression._build_elements_properties


def _measured(self):
    try:
        _measure(self)
    except AssertionError:
        self._is_literal = False


def kernel_definitions():
    """Definitions of Mathics with what stands in."""
    from mathics.core.load_builtin import import_and_load_builtins

    loaded(import_and_load_builtins)
    definitions = loaded(lambda: Definitions(add_builtin=True))
    kinds = [ToExpression, SyntaxQ, SyntaxLength, ImportString, NameQ, Names, BinarySerialize, Catch, InheritedBlock]
    kinds += [_has_code(kind) for kind in ("Own", "Down", "Up", "Sub", "Print")]
    kinds += [_by_name(definitions.builtin["System`" + name].builtin, _rules(kind)) for name, kind in _VALUES.items()]
    for kind in kinds:
        kind(expression=False).contribute(definitions)
    definitions.set_ownvalue("System`$Line", Integer(0))
    # The package goes a hundred levels deep into values, and Mathics a dozen of Python's for each.
    sys.setrecursionlimit(30_000)
    Expression._build_elements_properties = _measured
    return definitions


class _Deep(Session):
    """A session whose recursion has no limit of its own: Mathics does not let $RecursionLimit grow."""

    def inc_recursion_depth(self):
        self.check_stopped()


class MathicsLink:
    """`Link`: what is sent is evaluated at once, and what comes of it lies ready."""

    launches = True

    def __init__(self, definitions):
        self.definitions = definitions
        self.packets = deque()
        self.sent = []
        self.session = _Deep(definitions, self)
        define_input(self.session)

    def open(self):
        pass

    def close(self):
        pass

    def abort(self):
        pass

    def answer(self, text):
        raise AssertionError(text)

    def printed(self, text):
        self.packets.append(Packet("TextPacket", (text,)))

    def message(self, name, text):
        symbol, _, tag = name.partition("::")
        self.packets.append(Packet("MessagePacket", (Name(symbol), tag)))
        self.packets.append(Packet("TextPacket", (f"{name}: {text}\n",)))

    def ask(self, prompt):
        raise EOFError("nobody")

    def evaluate(self, function, text):
        self.sent.append((function, text))
        name = function if "`" in function else "System`" + function
        self.session.begin()
        try:
            value = Expression(Symbol(name), String(text)).evaluate(self.session)
        except AbortInterrupt:
            value = SymbolAborted
        except SystemExit:
            self.packets.append(None)
            return
        finally:
            self.session.end()
        part = value.value if isinstance(value, String) else Name(value.get_name()) if isinstance(value, Symbol) else None
        self.packets.append(Packet("ReturnPacket", (part,)))

    def receive(self):
        packet = self.packets.popleft()
        if packet is None:
            raise LinkLost("it ended")
        return packet
