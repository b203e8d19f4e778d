"""The source of code: texts, code objects, whether one is what the other was compiled from, and previews."""

import codecs
import dis
import linecache
import os
import re
import sys
import zipimport
from _io import open as open_file
from io import BytesIO, TextIOWrapper
from itertools import islice
from os import stat
from os.path import dirname
from stat import S_ISREG
from types import CodeType
from weakref import ref

from imago import sources
from imago.looking.fields import (
    ABSENT,
    class_module,
    class_qualified,
    clean,
    cut,
    inherits,
    is_class,
    plain,
    stored,
)
from imago.looking.limits import SOURCE_PREVIEW_MAX_CHARS
from imago.looking.syntax import CLOSE, COMMENT, NAME, NEWLINE, OPEN, tokens
from imago.native import time


# The texts that code was compiled from, or that stand now where it was: evaluated, in the line cache, in a file, in
# an archive.
#
# The line cache is read, never filled: filling it may call a loader that the program brought. Only regular files are
# opened, and by the interpreter itself: a program may have put functions of its own in the place of `open`, of parts of
# `os` and `time`, of `compile`, or of the import that some of the interpreter's own functions go through.

try:
    import zlib
except ImportError:
    zlib = None


FILE_MAX_BYTES = 8 * 1024 * 1024
_TYPED = re.compile(r"<(?:imago-|ipython-input|python-input|stdin|console|input)|.*[/\\]ipykernel_[0-9]+[/\\]")
_DECLARED = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_LATIN = (b"latin-1", b"latin1", b"iso-8859-1", b"iso8859-1", b"l1")
_OWN_LOADERS = ("_frozen_importlib_external", "_frozen_importlib", "importlib._bootstrap_external", "zipimport")
_ARCHIVE_DEEPEST = 12
# Found now: a codec that is first asked for in a look is imported.
for _name in ("utf-8", "utf-8-sig", "latin-1"):
    codecs.lookup(_name)
_STANDARD_LIBRARY = dirname(linecache.__file__)
_zip_files = zipimport._zip_directory_cache


class Written:
    """Lines, the first of which is number `first` of `file`.

    `origin` is as the contract has it. `sure` says that no file of that name can have changed since; `ours`, that it is
    what was evaluated here, and so what runs.
    """

    __slots__ = ("file", "first", "lines", "origin", "ours", "sure")

    def __init__(self, file, first, lines, origin, sure, ours=False):
        self.file = file
        self.first = first
        self.lines = lines
        self.origin = origin
        self.sure = sure
        self.ours = ours

    @property
    def text(self):
        return "".join(self.lines)

    def between(self, first, last):
        """The lines numbered `first` to `last`, as one text."""
        return "".join(self.lines[max(0, first - self.first) : max(0, last - self.first + 1)])


def written_for(code, namespace=None):
    """The texts that may hold the source of `code`, the surest first; none where there is no text to be had.

    `namespace` is that of the module it belongs to, which knows the file of code that is frozen.
    """
    placed = sources.placed_text(code)
    if placed is not None:
        return [Written(clean(placed[0]), placed[1], placed[2], "file", True, True)]
    file = plain(code.co_filename)
    if file is None:
        return []
    if file.startswith("<frozen "):
        known = plain(stored(namespace, "__file__")) if inherits(namespace, dict) else None
        file = known or f"{_STANDARD_LIBRARY}/{file[8:-1].replace('.', '/')}.py"
    return written_in(file)


def is_generated(code):
    """Whether code was compiled from a text that a program made up: what nobody typed, and no file has."""
    file = plain(code.co_filename) or "<"
    if not file.startswith("<") or file.startswith("<frozen ") or sources.placed_text(code) is not None:
        return False
    return _TYPED.match(file) is None


def written_in(file):
    """The texts that are known under the name of a file: the file's own, and what the line cache has of it."""
    found = []
    cached = cached_lines(file)
    if cached is not None and cached[0] is None:
        origin = "typed" if _TYPED.match(file) else "unknown"
        return [Written(clean(file), 1, cached[1], origin, True, sources.is_typed(file))]
    lines = file_lines(file)
    if lines is None:
        lines = archived_lines(file)
    if lines is not None:
        found.append(Written(clean(file), 1, lines, "file", False))
    if cached is not None and cached[1] != lines:
        found.append(Written(clean(file), 1, cached[1], "file", False))
    return found


def cached_lines(file):
    """`(time of change, lines)` that the line cache has under a name, or None. Text without a file has no time."""
    cached = stored(linecache.cache, file)
    if type(cached) is not tuple or len(cached) != 4 or type(cached[2]) is not list:
        return None
    lines = list(cached[2])
    if not all(type(line) is str for line in lines):
        return None
    return cached[1], lines


def typed_texts():
    """Every text that was evaluated or typed and is still kept, newest first as far as that is known."""
    texts = [
        Written(clean(file), first, lines, "typed" if file.startswith("<") else "file", True, True)
        for file, first, lines in sources.evaluated()
        if lines
    ]
    ours = {text.file for text in texts}
    names = [name for name in list(dict.keys(linecache.cache)) if type(name) is str and name not in ours]
    for name in filter(_TYPED.match, reversed(names)):
        cached = cached_lines(name)
        if cached is not None and cached[0] is None:
            texts.append(Written(clean(name), 1, cached[1], "typed", True))
    return texts


def file_lines(file, read=None):
    """The lines of a regular file as Python reads them, or None. `read(stream)` may take only some of them."""
    if file.startswith("<") or "\0" in file:
        return None
    try:
        facts = stat(file)
        if not S_ISREG(facts.st_mode) or facts.st_size > FILE_MAX_BYTES:
            return None
        if facts.st_size == 0:
            # Also what the kernel makes up while it is read, some of it only when something happens.
            return []
        with open_file(file, "rb") as stream:
            return _decoded(stream, read)
    except Exception:
        return None  # Not to be had; what refuses may also be an audit hook of the program's.


def _decoded(stream, read):
    head = stream.read(1000)
    stream.seek(0)
    with TextIOWrapper(stream, _encoding(head), errors="replace") as text:
        return list(text) if read is None else read(text)


def _encoding(head):
    """Any other encoding would be asked of the codecs that the program may have registered."""
    declared = _DECLARED.match(head)
    return "latin-1" if declared is not None and declared.group(1).lower() in _LATIN else "utf-8-sig"


def archived_lines(file):
    """The lines of a file in an archive that Python has loaded from, or None."""
    archive = dirname(file)
    for _ in range(_ARCHIVE_DEEPEST):
        files = stored(_zip_files, archive)
        if inherits(files, dict):
            entry = stored(files, file[len(archive) + 1 :])
            try:
                data = _entry_data(archive, entry)
            except Exception:
                return None
            return None if data is None else _decoded(BytesIO(data), None)
        shorter = dirname(archive)
        if shorter == archive:
            return None
        archive = shorter
    return None


def _entry_data(archive, entry):
    """The bytes of one file in an archive, by its entry in the table of `zipimport`, whose own reader imports."""
    if type(entry) is not tuple or not all(type(fact) is int for fact in entry[1:5]):
        return None
    _, compressed, packed, size, offset = entry[:5]
    if not (0 <= packed <= FILE_MAX_BYTES and 0 <= size <= FILE_MAX_BYTES and S_ISREG(stat(archive).st_mode)):
        return None
    with open_file(archive, "rb") as stream:
        stream.seek(offset)
        head = stream.read(30)
        if head[:4] != b"PK\x03\x04":
            return None
        # The lengths of the name and of what else stands in front of the data.
        stream.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
        data = stream.read(packed)
    if not compressed:
        return data
    return None if zlib is None else zlib.decompressobj(-15).decompress(data, FILE_MAX_BYTES)


def loader_name(namespace):
    """What loaded a module, as a name, if that is not Python's own way from a file; else None."""
    loader = stored(namespace, "__loader__") if inherits(namespace, dict) else ABSENT
    if loader is ABSENT or loader is None:
        return None
    kind = loader if is_class(loader) else type(loader)
    return None if class_module(kind) in _OWN_LOADERS else class_qualified(kind)


# Code objects, read without trusting what they are made of.
#
# A tool that rewrites code may put anything in: names and files of classes derived from `str`, tuples that iterate by
# code of their own, constants of any class. `dis` would print those.

FILE_MAX_CHARS = 4096

_TUPLES = ("co_names", "co_varnames", "co_freevars", "co_cellvars")
_BYTES = ("co_code", "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab", "co_exceptiontable")


def file_of(code):
    """The name of the file of a code object, as an exact `str`."""
    return plain(code.co_filename) or "?"


def shown_file(code):
    """The name of its file, as it can be sent."""
    return cut(file_of(code), FILE_MAX_CHARS)


def name_of(code):
    """The name of a code object, as an exact `str`."""
    return plain(code.co_name) or "?"


def qualified_of(code):
    """Its qualified name; None before 3.11, where code objects have none."""
    return plain(getattr(code, "co_qualname", None))


def inner_codes(code):
    """A code object, and those of the functions, classes and comprehensions that are defined in it."""
    waiting = [code]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [one for one in constants(code) if type(one) is CodeType]


def constants(code):
    return list(tuple.__iter__(code.co_consts))


def exact(value):
    """A tuple or bytes of a code object, or an instance of a subclass, as an exact one; anything else as it is."""
    if type(value) is not tuple and inherits(value, tuple):
        return tuple(tuple.__iter__(value))
    if type(value) is not bytes and inherits(value, bytes):
        return bytes(bytes.__iter__(value))
    return value


def names_in(code):
    """The global names and attributes that a code object uses itself."""
    return exact(code.co_names)


def instructions(code):
    """What `dis` makes of a code object, without its constants, which it would print."""
    replaced = {}
    for field in _TUPLES + _BYTES:
        value = getattr(code, field, None)
        if exact(value) is not value:
            replaced[field] = exact(value)
    return dis.get_instructions(code.replace(co_consts=(None,) * tuple.__len__(code.co_consts), **replaced))


_CODES_KEPT = 4096


class ByCode:
    """Remembers what `make(code, *given)` has made of a code object, as long as that lives: looks meet the same ones often."""

    def __init__(self, make):
        self._make = make
        self._known = {}

    def __call__(self, code, *given):
        known = self._known.get(id(code))
        if known is None or known[0]() is not code:
            if len(self._known) >= _CODES_KEPT:
                self._known.clear()
            known = self._known[id(code)] = (ref(code), self._make(code, *given))
        return known[1]


# Whether a file is as it was when this process began.


def unchanged_since_start(file):
    """Whether a file is older than this process, so that what was loaded from it is what it says."""
    try:
        facts = stat(file)
    except (OSError, ValueError):
        return False
    return _STARTED is not None and max(facts.st_mtime, facts.st_ctime) < _STARTED


def file_marks(file):
    """What tells a text of a file from a later one, without reading it; None where there is no file."""
    try:
        facts = stat(file)
    except (OSError, ValueError, TypeError):
        return None
    return facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size


#: File -> its marks when a call last loaded all of it into its one module.
loaded_files = {}


def _started():
    """When this process began, in seconds since the epoch; None where the system does not tell."""
    try:
        with open_file("/proc/self/stat", "rb") as stream:
            ticks = int(stream.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
    return time.time() - age


# Once: what a forked child runs was loaded by the process that it was forked from, perhaps.
_STARTED = _started()


# The first lines of a piece of code, for a preview, and single lines for tracebacks.

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
    if name_of(code) == "__annotate__":
        # Such code begins where the decorators of the class do.
        before = min((line for *_, line in code.co_lines() if line and line > before), default=before)
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
