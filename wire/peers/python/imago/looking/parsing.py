"""Parsing and compiling a text without a warning: one is printed by whatever the program has put there, and is code.

What the parser would warn of is spelled in the way that it means anyway, on the same lines. What the compiler would
warn of is not compiled. Nothing that is compiled here is ever run.
"""

import ast
import builtins
import re
import sys
import unicodedata
from collections import deque

from imago.looking.lexing import CLOSE, FORMAT_TEXT, NAME, NEWLINE, NUMBER, OPEN, OPERATOR, STRING, tokens

#: Characters that are parsed at once: the interpreter is held meanwhile.
PARSED_MAX_CHARS = 400_000
#: How deep a text may nest. Before 3.11 what is parsed becomes objects by a recursion that nothing but the stack ends.
DEEPEST = 1000
_COUNTS = sys.version_info >= (3, 11)
_NESTING = frozenset(["and", "await", "elif", "if", "in", "is", "lambda", "not", "or", "yield"])

# As it is now: the program may put a function of its own in its place.
_compile = compile
# The parser needs the module behind `\N{…}`, and would import it in the midst of a look; so may `ast.unparse`.
rb"\N{SPACE}".decode("unicode-escape")
ast.unparse(ast.Constant(0))


def _imported(name, *_):
    """The only module that the parser asks for: it compares names that are not ASCII by it."""
    if name == "unicodedata":
        return unicodedata
    raise ImportError(f"a look imports nothing, and not {name}")


# What the interpreter imports by itself it imports by the `__import__` of the module that runs. The one in `builtins`
# may be the program's.
__builtins__ = {**builtins.__dict__, "__import__": _imported}

_SUSPECT = re.compile(r"\\|[0-9][0-9a-fA-FxXoObB_.]*[jJ]?(?:and|else|for|if|in|is|or|not)")
_ESCAPE = re.compile(r"\\(\r\n|[0-7]{1,3}|[\s\S]|$)")
_MEANT = frozenset("\n\r\\'\"abfnrtvx01234567")
_MEANT_IN_TEXT = _MEANT | frozenset("NuU")
_FAULTS = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)


def parsed(text):
    """The `ast.Module` of a text, or None if it is not valid, too long or too deep."""
    if len(text) > PARSED_MAX_CHARS or "\0" in text or (not _COUNTS and is_too_deep(text)):
        return None
    try:
        return _compile(quiet(text), "<looking>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    except _FAULTS:
        return None


def parsed_expression(text):
    """The `ast.Expression` of a text; raises what the parser raises."""
    return _compile(text, "<expression>", "eval", ast.PyCF_ONLY_AST, True)


def compiled(statements):
    """The code object of some statements of a text, or None where compiling them fails or might warn."""
    try:
        if any(_would_warn(node) for statement in statements for node in walk(statement)):
            return None
        module = ast.Module(body=list(statements), type_ignores=[])
        return _compile(module, "<looking>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    except _FAULTS:
        return None


def walk(node):
    """Every node of a tree, as `ast.walk` yields them, which imports something at each call."""
    waiting = deque([node])
    while waiting:
        node = waiting.popleft()
        waiting.extend(ast.iter_child_nodes(node))
        yield node


def docstring(node):
    """The documentation that a class or function statement begins with, as it is written there; or None."""
    first = node.body[0] if node.body else None
    if type(first) is ast.Expr and type(first.value) is ast.Constant and type(first.value.value) is str:
        return first.value.value
    return None


def is_too_deep(text):
    """Whether what the parser makes of a text may nest deeper than `DEEPEST`, judged by its words.

    Each operator may stand within the one before it, until a comma or the end of the line ends what they belong to.
    """
    if len(text) <= DEEPEST:
        return False
    levels, nested, branches = [0], 0, 0
    for kind, start, end in tokens(text):
        if kind == OPEN:
            levels.append(0)
            nested += 1
        elif kind == CLOSE:
            if len(levels) > 1:
                nested -= levels.pop() + 1
            # What follows may call, index or name a part of what stands in the brackets.
            levels[-1] += 1
            nested += 1
        elif (kind == NEWLINE and len(levels) == 1) or (kind == OPERATOR and text[start] in ",;"):
            nested -= levels[-1]
            levels[-1] = 0
        elif kind == OPERATOR or (kind == NAME and text[start:end] in _NESTING):
            levels[-1] += 1
            nested += 1
            branches += text.startswith("elif", start)
        if nested > DEEPEST or branches > DEEPEST:
            return True
    return False


def quiet(text):
    """`text` with what the parser would warn of in other letters: `'\\d'` as `'\\\\d'`, `1if` as `1 if`."""
    if _SUSPECT.search(text) is None:
        return text
    parts, done = [], 0
    number = -1
    for kind, start, end in tokens(text):
        if kind == NAME and start == number:
            parts += text[done:start], " "
            done = start
        elif (kind == STRING or kind == FORMAT_TEXT) and text.find("\\", start, end) >= 0:
            piece = text[start:end]
            meant = _spelled(piece, kind)
            if meant != piece:
                parts += text[done:start], meant
                done = end
        number = end if kind == NUMBER else -1
    if not parts:
        return text
    parts.append(text[done:])
    return "".join(parts)


def _spelled(piece, kind):
    prefix = "" if kind == FORMAT_TEXT else re.match("[a-zA-Z]*", piece).group().lower()
    if "r" in prefix:
        return piece
    binary = "b" in prefix
    meant = _MEANT if binary else _MEANT_IN_TEXT

    def spell(escape):
        what = escape.group(1)
        if what[:1] in meant and what:
            if what[0] in "4567" and len(what) == 3 and what.isdigit():
                return f"\\x{int(what, 8) & 0xFF:02x}" if binary else f"\\u{int(what, 8):04x}"
            return escape.group()
        return "\\" + escape.group()

    return _ESCAPE.sub(spell, piece)


_DISPLAYS = (
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.JoinedStr,
    ast.Lambda,
)


def _would_warn(node):
    """Whether the compiler might say a word to this: an odd call, index, comparison or assertion."""
    kind = type(node)
    if kind is ast.Call:
        return isinstance(node.func, _DISPLAYS) and type(node.func) is not ast.Lambda
    if kind is ast.Subscript:
        return isinstance(node.value, _DISPLAYS)
    if kind is ast.Compare:
        if not any(type(operator) in (ast.Is, ast.IsNot) for operator in node.ops):
            return False
        return any(_is_odd(operand) for operand in (node.left, *node.comparators))
    if kind is ast.Assert:
        return type(node.test) is ast.Tuple
    return kind is ast.Try and sys.version_info >= (3, 14) and bool(node.finalbody)


def _is_odd(operand):
    if type(operand) is ast.Constant:
        return not any(operand.value is one for one in (None, True, False, ...))
    return isinstance(operand, _DISPLAYS)
