"""Expressions that can be followed without running anything: a root, and a path of attributes and indexes from it.

Parsing is Python's own, behind a check that keeps out what would make the parser warn: a warning is printed by
whatever the program has put in its place, and that would be code.
"""

import ast
import re

from imago.looking.limits import EXPRESSION_MAX_CHARS, EXPRESSION_MAX_DEPTH
from imago.looking.outcomes import Malformed, NeedsEvaluation, Unresolved
from imago.looking.syntax import is_too_deep, parsed_expression

_HANDLE = re.compile(r"\s*(@[0-9A-Za-z]+\.[0-9]+)(?![0-9A-Za-z_@])")
_STAND_IN = "_"

# The parser warns of a backslash that escapes nothing, of octal escapes over 0o377, and of a number that runs into
# a word. Both patterns may also hit harmless texts, which then need evaluation.
_ESCAPES = re.compile(r'\\(?:[\n\\\'"abfnrtvxNuU]|[0-3]?[0-7]{1,2}(?![0-7]))')
_NUMBER_INTO_WORD = re.compile(r"(?<![\w])[0-9][0-9a-fA-FxXoObB_.]*[eE]?[jJ]?(?:and|else|for|if|in|is|or|not)")

_CODE = {
    ast.Call: "a call",
    ast.BinOp: "an operator",
    ast.UnaryOp: "an operator",
    ast.BoolOp: "an operator",
    ast.Compare: "a comparison",
    ast.Lambda: "a lambda",
    ast.IfExp: "a conditional",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "an assignment",
    ast.Starred: "an unpacking",
    ast.Await: "an await",
    ast.Yield: "a yield",
    ast.YieldFrom: "a yield",
}


class Path:
    """`root` is `('name', text)`, `('handle', text)` or `('literal', value)`.

    Each of `steps` is `('attribute', name)`, `('item', key)` or `('slice', slice)`, with constants for keys.
    """

    __slots__ = ("root", "steps")

    def __init__(self, root, steps):
        self.root = root
        self.steps = steps


def parse(source):
    """The path that `source` spells. Raises `Unresolved`: malformed, or something only running it could answer."""
    handle, rest = _split_handle(source)
    text = rest if handle is None else _STAND_IN + rest
    moved = 0 if handle is None else len(handle) - len(_STAND_IN)
    node = _parse(text, moved)
    nodes = []
    while type(node) is ast.Attribute or type(node) is ast.Subscript:
        nodes.append(node)
        node = node.value
    nodes.reverse()
    root = _root(node, handle)
    steps = [_step(node) for node in nodes]
    return Path(root, steps)


def _split_handle(source):
    """`(handle, rest)`; the handle is None where the source does not begin with one."""
    if type(source) is not str:
        raise Malformed("An expression is a text.")
    match = _HANDLE.match(source)
    if match is None:
        return None, source.strip()
    return match.group(1), source[match.end() :].rstrip()


def _parse(text, moved):
    if not text:
        raise Malformed("The expression is empty.")
    if len(text) > EXPRESSION_MAX_CHARS:
        raise Malformed(f"The expression is longer than {EXPRESSION_MAX_CHARS} characters.")
    if "\0" in text:
        raise Malformed("The expression holds a NUL character.", 1, text.index("\0") + 1 + moved)
    _refuse_depth(text)
    if is_too_deep(text):
        raise Malformed("The expression is nested too deeply.")
    if "\\" in _ESCAPES.sub("", text):
        raise NeedsEvaluation("The expression holds a backslash that may escape nothing.")
    if _NUMBER_INTO_WORD.search(text):
        raise NeedsEvaluation("The expression holds a number that runs into a word.")
    try:
        return parsed_expression(text).body
    except SyntaxError as error:
        column = None if error.offset is None else error.offset + (moved if error.lineno == 1 else 0)
        raise Malformed(f"This is no expression: {error.msg}.", error.lineno, column) from None
    except UnicodeError:
        raise Malformed("The expression holds half of a surrogate pair.") from None
    except (ValueError, OverflowError) as error:
        raise Malformed(f"This is no expression: {error}.") from None
    except (RecursionError, MemoryError):
        raise Malformed("The expression is nested too deeply.") from None


def _refuse_depth(text):
    """Keeps from the parser what could exhaust its stack: brackets and prefix operators, however they are mixed."""
    depth = 0
    for character in text:
        if character in "([{":
            depth += 1
            if depth > EXPRESSION_MAX_DEPTH:
                raise Malformed("The expression is nested too deeply.")
        elif character in ")]}":
            depth -= 1


def _root(node, handle):
    if type(node) is ast.Name:
        return ("handle", handle) if handle is not None else ("name", node.id)
    if handle is not None:
        raise NeedsEvaluation(f"{_named(node)} follows the handle, and only running it could tell.")
    try:
        return "literal", _literal(node)
    except TypeError as error:
        raise NeedsEvaluation(f"Building this literal raises TypeError: {error}.") from None


def _step(node):
    if type(node) is ast.Attribute:
        return "attribute", node.attr
    index = node.slice
    try:
        if type(index) is ast.Slice:
            bounds = [None if part is None else _literal(part) for part in (index.lower, index.upper, index.step)]
            if all(bound is None or type(bound) in (int, bool) for bound in bounds):
                return "slice", slice(*bounds)
            raise NeedsEvaluation("A slice has bounds that are no whole numbers.")
        return "item", _literal(index)
    except (Unresolved, TypeError):
        because = "An index is no constant, and only running the expression could tell its value."
        raise NeedsEvaluation(because) from None


def _literal(node):
    """The value of a literal. Raises `Unresolved` for anything that is none."""
    kind = type(node)
    if kind is ast.Constant:
        return node.value
    if kind is ast.UnaryOp and type(node.op) in (ast.USub, ast.UAdd):
        number = node.operand
        if type(number) is ast.Constant and type(number.value) in (int, float, complex):
            return -number.value if type(node.op) is ast.USub else +number.value
    if kind is ast.BinOp and type(node.op) in (ast.Add, ast.Sub):
        real, imaginary = node.left, node.right
        if type(imaginary) is ast.Constant and type(imaginary.value) is complex and _is_real(real):
            left = _literal(real)
            return left + imaginary.value if type(node.op) is ast.Add else left - imaginary.value
    if kind is ast.Tuple:
        return tuple(_literal(item) for item in node.elts)
    if kind is ast.List:
        return [_literal(item) for item in node.elts]
    if kind is ast.Set:
        return {_literal(item) for item in node.elts}
    if kind is ast.Dict:
        if None in node.keys:
            raise NeedsEvaluation("The expression holds an unpacking, and only running it could tell.")
        return {_literal(key): _literal(value) for key, value in zip(node.keys, node.values)}
    raise NeedsEvaluation(f"The expression holds {_named(node)}, and only running it could tell.")


def _is_real(node):
    if type(node) is ast.UnaryOp:
        node = node.operand
    return type(node) is ast.Constant and type(node.value) in (int, float)


def _named(node):
    return _CODE.get(type(node), "a part that is no literal")
