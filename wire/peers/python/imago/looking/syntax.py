"""Tokens and syntax trees of a text, without a warning and without running anything."""

import ast
import builtins
import re
import sys
import unicodedata


# The words of a Python text, which may be unfinished or wrong.
#
# Python's own tokenizer gives up at the first mistake, and since 3.12 it may warn, which is somebody's code. This one
# never fails and never warns: it goes over the text once and says what every piece of it is. Pieces of f-strings come
# one by one, so that the code inside of them is seen as code.

NAME = "name"
NUMBER = "number"
STRING = "string"
OPERATOR = "operator"
OPEN = "open"
CLOSE = "close"
NEWLINE = "newline"
COMMENT = "comment"
HANDLE = "handle"
UNFINISHED = "unfinished"
"""A string that goes on to the end of its line, or of the text."""

FORMAT_START = "format start"
FORMAT_TEXT = "format text"
FORMAT_RAW = "format raw text"
FORMAT_END = "format end"

_NUMBER = (
    r"0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+"
    r"|(?:[0-9](?:_?[0-9])*\.?(?:[0-9](?:_?[0-9])*)?|\.[0-9](?:_?[0-9])*)(?:[eE][-+]?[0-9](?:_?[0-9])*)?[jJ]?"
)
_TOKEN = re.compile(
    r"(?P<space>[ \t\f]+|\\\r?\n)"
    r"|(?P<newline>\r?\n|\r)"
    r"|(?P<quote>[a-zA-Z]{0,2}(?:\"\"\"|'''|\"|'))"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])"
    r"|(?P<comment>\#[^\r\n]*)"
    r"|(?P<handle>@[0-9a-z]{4}\.[0-9]+(?![0-9A-Za-z_]))"
    rf"|(?P<number>{_NUMBER})"
    r"|(?P<operator>\*\*=|//=|>>=|<<=|\.\.\.|->|:=|[-+*/%&|^@=!<>]=|\*\*|//|<<|>>|[\s\S])"
)
_KINDS = {"name": NAME, "open": OPEN, "close": CLOSE, "comment": COMMENT, "handle": HANDLE, "number": NUMBER}
_KINDS.update(operator=OPERATOR, newline=NEWLINE)

_ENDS = {
    "'": re.compile(r"[^'\\\r\n]*(?:\\(?:\r\n|[\s\S])[^'\\\r\n]*)*"),
    '"': re.compile(r"[^\"\\\r\n]*(?:\\(?:\r\n|[\s\S])[^\"\\\r\n]*)*"),
    "'''": re.compile(r"[^'\\]*(?:(?:\\[\s\S]|'(?!''))[^'\\]*)*"),
    '"""': re.compile(r"[^\"\\]*(?:(?:\\[\s\S]|\"(?!\"\"))[^\"\\]*)*"),
}


def _between(quote, raw):
    """What stands between the fields of an f-string. A backslash in front of a brace escapes nothing."""
    ending = quote if len(quote) == 3 else quote + r"\r\n"
    parts = [rf"[^{{}}\\{ending}]+", r"\\(?:\r\n|[^{}])", r"\\(?=[{}])", r"\{\{", r"\}\}"]
    if not raw:
        parts.insert(0, r"\\N\{[^{}'\"\r\n]*\}")
    if len(quote) == 3:
        parts.append(rf"{quote[0]}(?!{quote[:2]})")
    return re.compile(f"(?:{'|'.join(parts)})*")


_FIELDS = {quote: (_between(quote, False), _between(quote, True)) for quote in _ENDS}
_NESTED = sys.version_info >= (3, 12)
_DEEPEST = 8


class _Format:
    """An f-string that is being read. `fields` has the depth of brackets in each open field; None in its spec."""

    __slots__ = ("fields", "quote", "raw")

    def __init__(self, quote, raw):
        self.quote = quote
        self.raw = raw
        self.fields = []


def tokens(text, start=0):
    """`(kind, start, end)` of each word of `text` from `start` on; blanks and joined lines are left out."""
    match = _TOKEN.match
    kinds = _KINDS
    length = len(text)
    formats = []
    at = start
    while at < length:
        if formats and (not formats[-1].fields or formats[-1].fields[-1] is None):
            at = yield from _format_text(text, at, formats)
            continue
        found = match(text, at)
        group, end = found.lastgroup, found.end()
        if group == "space":
            at = end
        elif group == "quote":
            at = yield from _string(text, at, end, formats)
        else:
            if formats:
                group = _in_field(text, at, group, formats)
                end = at + 1 if group == "spec" else end
            yield kinds.get(group, OPERATOR), at, end
            at = end


def _string(text, at, end, formats):
    """Yields a string that begins at `at` and whose quotes end at `end`; returns where reading goes on."""
    opening = text[at:end]
    quote = opening.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    prefix = opening[: len(opening) - len(quote)]
    if "f" in prefix.lower() and len(formats) < _DEEPEST:
        formats.append(_Format(quote, "r" in prefix.lower()))
        yield FORMAT_START, at, end
        return end
    end = _ENDS[quote].match(text, end).end()
    if text.startswith(quote, end):
        yield STRING, at, end + len(quote)
        return end + len(quote)
    yield UNFINISHED, at, end
    return end


def _format_text(text, at, formats):
    """Yields what stands in an f-string before its next field or its end; returns where reading goes on."""
    here = formats[-1]
    end = _FIELDS[here.quote][here.raw].match(text, at).end()
    if here.fields:
        # Braces are not doubled in a spec: the first one ends this piece of it.
        end = min([end] + [found for found in (text.find("{", at, end), text.find("}", at, end)) if found >= 0])
    if end > at:
        yield (FORMAT_RAW if here.raw else FORMAT_TEXT), at, end
    if text.startswith(here.quote, end):
        formats.pop()
        yield FORMAT_END, end, end + len(here.quote)
        return end + len(here.quote)
    brace = text[end : end + 1]
    if brace == "{":
        here.fields.append(0)
        yield OPEN, end, end + 1
        return end + 1
    if brace == "}":
        if here.fields:
            here.fields.pop()
        yield CLOSE, end, end + 1
        return end + 1
    formats.pop()  # The line or the text is over, and the string with it.
    return end


def _in_field(text, at, group, formats):
    """Follows one word of the code in a field; returns its group, `spec` for the colon that begins a spec."""
    fields = formats[-1].fields
    if group == "open":
        fields[-1] += 1
    elif group == "close":
        fields[-1] -= 1
        if fields[-1] < 0:
            fields.pop()
    elif group == "operator" and fields[-1] == 0 and text[at] == ":":
        fields[-1] = None
        return "spec"
    elif group == "newline" and len(formats[-1].quote) == 1 and not _NESTED:
        formats.clear()
    return group


# Parsing and compiling a text without a warning: one is printed by whatever the program has put there, and is code.
#
# What the parser would warn of is spelled in the way that it means anyway, on the same lines. What the compiler would
# warn of is not compiled. Nothing that is compiled here is ever run.

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
