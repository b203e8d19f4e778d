"""The texts that code was compiled from, or that stand now where it was: evaluated, in the line cache, in a file, in
an archive.

The line cache is read, never filled: filling it may call a loader that the program brought. Only regular files are
opened, and by the interpreter itself: a program may have put functions of its own in the place of `open`, of parts of
`os` and `time`, of `compile`, or of the import that some of the interpreter's own functions go through.
"""

import codecs
import linecache
import re
import zipimport
from _io import open as open_file
from io import BytesIO, TextIOWrapper
from os import stat
from os.path import dirname
from stat import S_ISREG

try:
    import zlib
except ImportError:
    zlib = None

from imago import sources
from imago.looking.fields import ABSENT, class_module, class_qualified, clean, inherits, is_class, plain, stored

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

    `origin` is as the contract has it. `sure` says that they are what the code was compiled from; else they may have
    been written since.
    """

    __slots__ = ("file", "first", "lines", "origin", "sure")

    def __init__(self, file, first, lines, origin, sure):
        self.file = file
        self.first = first
        self.lines = lines
        self.origin = origin
        self.sure = sure

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
        return [Written(clean(placed[0]), placed[1], placed[2], "file", True)]
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
        return [Written(clean(file), 1, cached[1], "typed" if _TYPED.match(file) else "unknown", True)]
    lines = file_lines(file)
    if lines is None:
        lines = _archived(file)
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
        Written(clean(file), first, lines, "typed" if file.startswith("<") else "file", True)
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


def _archived(file):
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
