"""The text that evaluated code was compiled from, as far as it is kept.

Typed-in code has a name of its own, by which the line cache holds its lines. Code that was sent with its place in a
file has the file's name, and the file may say something else there: before it is saved, or after it has changed.
So its lines are found by the code object itself; any other code object of that file is the file's own.
"""

import io
import linecache
import types
import weakref

#: Characters of source that are kept for tracebacks and looks, and texts of it; the oldest go first.
SOURCES_KEPT = 32 * 1024 * 1024
TEXTS_KEPT = 4096

#: What names of typed-in code begin with.
_TYPED = '<imago-'

#: By ``id`` of a code object that is alive: a weak reference to it, and the text it was compiled from.
_placed = {}
#: All that keep texts in this process: the one of the image.
_keepers = weakref.WeakSet()


class Exchanged:
    """Stands among the constants of code that Imago has put in the place of other code: ``code`` is that other one."""


def compiled_code(code):
    """The code that a function was compiled to, where ``code`` may stand in its place."""
    for constant in tuple.__iter__(code.co_consts):
        if issubclass(type(constant), Exchanged):
            return constant.code
    return code


class Placed:
    """The text of one evaluation with a place. ``lines`` is empty once it has been given up."""

    __slots__ = ('file', 'first', 'lines')

    def __init__(self, source, file, first):
        self.file = file
        self.first = first
        self.lines = split(source)

    def belongs_to(self, code):
        """Makes this the source of a code object and of all those within it."""
        waiting = [code]
        while waiting:
            code = waiting.pop()
            _remember(code, self)
            waiting.extend(one for one in code.co_consts if type(one) is types.CodeType)


class Kept:
    """The texts of one image, bounded together."""

    def __init__(self):
        self._count = 0
        self._sizes = {}
        self._size = 0
        _keepers.add(self)

    def named(self, source):
        """Keeps typed-in source; returns the name for it."""
        self._count += 1
        name = '%s%d>' % (_TYPED, self._count)
        # Without a time of change linecache never looks for a file of that name.
        linecache.cache[name] = (len(source), None, split(source), name)
        self._add(name, len(source))
        return name

    def placed(self, source, file, first):
        """Keeps source that stands in ``file`` from line ``first`` on."""
        placed = Placed(source, file, first)
        self._add(placed, len(source))
        return placed

    def texts(self):
        """``(file, first, lines)`` of each text, oldest first."""
        for kept in list(self._sizes):
            if type(kept) is Placed:
                yield kept.file, kept.first, kept.lines
            else:
                entry = linecache.cache.get(kept)
                yield kept, 1, entry[2] if entry else []

    def _add(self, kept, size):
        self._sizes[kept] = size
        self._size += size
        while len(self._sizes) > TEXTS_KEPT or (self._size > SOURCES_KEPT and len(self._sizes) > 1):
            oldest = next(iter(self._sizes))
            self._size -= self._sizes.pop(oldest)
            if type(oldest) is Placed:
                oldest.lines = []
            else:
                linecache.cache.pop(oldest, None)


def placed_text(code):
    """``(file, first, lines)`` of the text with a place that ``code`` was compiled from, or ``None``."""
    found = _placed.get(id(code))
    if found is None or found[0]() is not code:
        return None
    placed = found[1]
    return (placed.file, placed.first, placed.lines) if placed.lines else None


def is_evaluated(code):
    """Whether ``code`` was compiled from what was evaluated in this image."""
    return placed_text(code) is not None or is_typed(code.co_filename)


def is_typed(file):
    """Whether that is the name of a text that was evaluated in this image, and has no place."""
    return type(file) is str and file.startswith(_TYPED)


def evaluated():
    """``(file, first, lines)`` of the texts that were evaluated in this image and are still kept, newest first."""
    texts = [text for keeper in list(_keepers) for text in keeper.texts()]
    texts.reverse()
    return texts


def lines_of(code, first, last=None):
    """Lines ``first`` to ``last`` of the text with a place that ``code`` was compiled from, as far as they are kept.

    ``None`` where it was not compiled from such text: then its lines are those of the file that it names.
    """
    found = _placed.get(id(code))
    if found is None or found[0]() is not code:
        return None
    placed = found[1]
    start = max(0, first - placed.first)
    stop = (first if last is None else last) + 1 - placed.first
    return placed.lines[start : max(start, stop)]


def split(source):
    """Its lines as Python counts them: other characters that end lines of text do not end lines of code.

    The last one ends in a newline too, as in ``linecache``: Python's own tracebacks place their marks by that.
    """
    lines = io.StringIO(source, newline=None).readlines()
    if lines and not lines[-1].endswith('\n'):
        lines[-1] += '\n'
    return lines


def _remember(code, placed):
    key = id(code)

    def forget(reference):
        found = _placed.get(key)
        if found is not None and found[0] is reference:
            del _placed[key]

    _placed[key] = (weakref.ref(code, forget), placed)
