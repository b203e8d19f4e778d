"""The first lines of a piece of code, for a preview, and single lines for tracebacks."""

import re
from itertools import islice

from imago import sources
from imago.looking.codes import shown_file
from imago.looking.fields import clean, cut, plain
from imago.looking.lexing import CLOSE, COMMENT, NAME, NEWLINE, OPEN, tokens
from imago.looking.limits import SOURCE_PREVIEW_MAX_CHARS
from imago.looking.texts import cached_lines, file_lines

_BLOCK_MAX_LINES = 200
_LINE_MAX_CHARS = 400


def code_place(code):
    """`(file, line)` of a code object; the line counts from 1."""
    return shown_file(code), code.co_firstlineno


def source_line(code, number):
    """One line, stripped, or None."""
    lines = _lines(code, number, 1)
    return clean(lines[0].strip()) or None if lines else None


def lines_around(code, number, before, after):
    """`{first_line, lines}`: the lines around one of a piece of code, as they can be sent; or None."""
    placed = sources.placed_text(code)
    first = max(1 if placed is None else placed[1], number - before)
    lines = _lines(code, first, number - first + 1 + after) if number else None
    if not lines:
        return None
    return {"first_line": first, "lines": [cut(line.rstrip("\r\n"), _LINE_MAX_CHARS) for line in lines]}


def preview_of_code(code):
    """`(text, truncated)` of the block that begins where `code` does; `(None, False)` where there is no source."""
    return preview_at(code, code.co_firstlineno)


def preview_at(code, first):
    """`(text, truncated)` of the block that begins on line `first` of the source that `code` is a part of."""
    lines = _lines(code, first, _BLOCK_MAX_LINES)
    if not lines:
        return None, False
    text = clean(block(_as_many_as_fit(lines)).rstrip("\n"))
    return text[:SOURCE_PREVIEW_MAX_CHARS], len(text) > SOURCE_PREVIEW_MAX_CHARS


def class_line(code, name):
    """The line on which the class statement of `name` begins, searched upwards from `code`, the first in its body."""
    before = code.co_firstlineno
    lines = _lines(code, max(1, before - 2000), min(before, 2000))
    pattern = re.compile(rf"\s*class\s+{re.escape(name)}\b")
    for back, line in enumerate(reversed(lines or [])):
        if pattern.match(line):
            return before - back if before <= 2000 else before - back - 1
    return None


def _as_many_as_fit(lines):
    """The lines from the front, just enough of them to tell whether the block is longer than a preview."""
    room, taken = SOURCE_PREVIEW_MAX_CHARS + 200, []
    for line in lines:
        taken.append(line[: room + 1])
        room -= len(line)
        if room < 0:
            break
    return taken


def block(lines):
    """The text of the definition that begins with the first of `lines`; all of it if it goes on past their end."""
    text = "".join(lines)
    fresh, headed, depth, margin, end = True, False, 0, 0, len(text)
    for kind, start, stop in tokens(text):
        if kind == NEWLINE:
            if depth == 0 and not fresh:
                fresh = True
                if headed == "alone":
                    break
            continue
        if fresh and depth == 0:
            column = start - (text.rfind("\n", 0, start) + 1)
            if headed and column <= margin:
                break
            if kind == COMMENT:
                end = stop
                continue
            fresh = False
            if not headed:
                word = text[start:stop]
                margin = column
                if word != "@":
                    headed = "block" if kind == NAME and word in ("def", "class", "async") else "alone"
        if kind == OPEN:
            depth += 1
        elif kind == CLOSE and depth:
            depth -= 1
        end = stop
    ended = text.find("\n", end)
    return text if ended < 0 else text[: ended + 1]


def _lines(code, first, count):
    """At most `count` lines from line `first` on, or None."""
    ours = sources.lines_of(code, first, first + count - 1)
    if ours is not None:
        return ours or None
    file = plain(code.co_filename)
    if file is None or first < 1:
        return None
    cached = cached_lines(file)
    if cached is not None:
        return cached[1][first - 1 : first - 1 + count]
    return file_lines(file, lambda text: list(islice(text, first - 1, first - 1 + count)))
