"""The source of a piece of code: what it was compiled from, where that was an evaluation, or else what the line cache
or the file that the code names holds.

The line cache is read, never filled: filling it may call a loader that the program brought. Only regular files are
opened.
"""

import inspect
import linecache
import re
import tokenize
from io import TextIOWrapper, open_code
from itertools import islice
from os import stat
from stat import S_ISREG

from imago import sources
from imago.looking.fields import ABSENT, clean, plain, stored
from imago.looking.limits import SOURCE_PREVIEW_MAX_CHARS

_FILE_MAX_BYTES = 8 * 1024 * 1024
_BLOCK_MAX_LINES = 200
_DECLARED = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_LATIN = (b"latin-1", b"latin1", b"iso-8859-1", b"iso8859-1", b"l1")


def code_place(code):
    """`(file, line)` of a code object; the line counts from 1."""
    file = plain(code.co_filename)
    return (None if file is None else clean(file)), code.co_firstlineno


def source_line(code, number):
    """One line, stripped, or None."""
    lines = _lines(code, number, 1)
    return clean(lines[0].strip()) or None if lines else None


def preview_of_code(code):
    """`(text, truncated)` of the block that begins where `code` does; `(None, False)` where there is no source."""
    return preview_at(code, code.co_firstlineno)


def preview_at(code, first):
    """`(text, truncated)` of the block that begins on line `first` of the source that `code` is a part of."""
    lines = _lines(code, first, _BLOCK_MAX_LINES)
    if not lines:
        return None, False
    text = clean("".join(_block(_as_many_as_fit(lines))).rstrip("\n"))
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


def _block(lines):
    try:
        return inspect.getblock(lines)
    except (SyntaxError, tokenize.TokenError, ValueError):
        return lines  # The block, or a text within it, goes on past the lines that fit.


def _lines(code, first, count):
    """At most `count` lines from line `first` on, or None."""
    ours = sources.lines_of(code, first, first + count - 1)
    if ours is not None:
        return ours or None
    file = plain(code.co_filename)
    if file is None or first < 1:
        return None
    cached = stored(linecache.cache, file)
    if type(cached) is tuple and len(cached) == 4 and type(cached[2]) is list:
        lines = cached[2][first - 1 : first - 1 + count]
        return lines if all(type(line) is str for line in lines) else None
    if cached is not ABSENT or file.startswith("<"):
        return None
    try:
        facts = stat(file)
        if not S_ISREG(facts.st_mode) or facts.st_size > _FILE_MAX_BYTES:
            return None
        with open_code(file) as stream:
            head = stream.read(1000)
            stream.seek(0)
            with TextIOWrapper(stream, _encoding(head), errors="replace") as text:
                return list(islice(text, first - 1, first - 1 + count))
    except (OSError, ValueError):
        return None


def _encoding(head):
    """Any other encoding would be asked of the codecs that the program may have registered."""
    declared = _DECLARED.match(head)
    return "latin-1" if declared is not None and declared.group(1).lower() in _LATIN else "utf-8-sig"
