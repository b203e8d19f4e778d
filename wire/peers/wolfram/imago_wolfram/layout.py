"""Texts laid out over lines: a document says where it may be broken, and is broken where it does not fit."""

from dataclasses import dataclass
from typing import Final

INDENT: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A place to break at. On one line `flat` stands there. One that `breaks` is always broken, and so is all around it."""

    flat: str
    breaks: bool = False


@dataclass(frozen=True, slots=True)
class Concat:
    parts: "tuple[Document, ...]"
    breaks: bool


@dataclass(frozen=True, slots=True)
class Nest:
    """Lines in it begin four columns further in."""

    inner: "Document"
    breaks: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Broken at each of its own places, or at none."""

    inner: "Document"
    breaks: bool


Document = str | Line | Concat | Nest | Group

SPACE: Final = Line(" ")
NOTHING: Final = Line("")
BREAK: Final = Line(" ", True)
BREAK_OR_NOTHING: Final = Line("", True)


def concat(*parts: Document) -> Document:
    """One after the other. Texts stay texts."""
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)  # type: ignore[arg-type]
    return Concat(parts, any(_breaks(part) for part in parts))


def nest(*parts: Document) -> Document:
    inner = concat(*parts)
    return inner if isinstance(inner, str) else Nest(inner, _breaks(inner))


def group(*parts: Document) -> Document:
    inner = concat(*parts)
    return inner if isinstance(inner, str) else Group(inner, _breaks(inner))


def between(separator: str, items: list[Document], filled: bool = False) -> Document:
    """Items with a separator behind all but the last, and a place to break after each; `filled`: not all at once."""
    place = group(SPACE) if filled else SPACE
    spread: list[Document] = []
    for item in items[:-1]:
        spread += [item, separator, place]
    return concat(*spread, *items[-1:])


def fits_flat(document: Document, width: int) -> bool:
    """Whether it is at most `width` characters long on one line, and may stand on one."""
    return not _breaks(document) and _fits(document, [], width)


def render(document: Document, width: int | None) -> str:
    """The text, at most `width` columns wide where there are places to break at; on one line without a width."""
    out: list[str] = []
    column = 0
    waiting: list[_Waiting] = [(0, width is None, document)]
    while waiting:
        indent, on_line, one = waiting.pop()
        match one:
            case str():
                out.append(one)
                column += len(one)
            case Line(flat):
                out.append(flat if on_line else "\n" + " " * indent)
                column = column + len(flat) if on_line else indent
            case Concat(parts):
                waiting.extend((indent, on_line, part) for part in reversed(parts))
            case Nest(inner):
                waiting.append((indent + INDENT, on_line, inner))
            case Group(inner, breaks):
                fits = on_line or (width is not None and not breaks and _fits(inner, waiting, width - column))
                waiting.append((indent, fits, inner))
    return "".join(out)


_Waiting = tuple[int, bool, Document]
"""Columns that its lines begin at, whether it stands on one line, and what it is."""


def _breaks(document: Document) -> bool:
    return not isinstance(document, str) and document.breaks


def _fits(own: Document, rest: list[_Waiting], width: int) -> bool:
    """Whether `own` on one line, with what of the rest comes before the next place to break, is not wider."""
    at = len(rest)
    waiting = [(True, own)]
    while width >= 0:
        if not waiting:
            if at == 0:
                return True
            at -= 1
            waiting.append(rest[at][1:])
        on_line, one = waiting.pop()
        match one:
            case str():
                width -= len(one)
            case Line(flat):
                if not on_line:
                    return True
                width -= len(flat)
            case Concat(parts):
                waiting.extend((on_line, part) for part in reversed(parts))
            case Nest(inner) | Group(inner):
                waiting.append((on_line, inner))
    return False
