"""What adapters add to a look at one value: its measure, its items, a line about it, and a card with its facts."""

from imago.looking.adapters import seen
from imago.looking.contents import countable, length_of, storage_of
from imago.looking.fields import class_label, clean, cut
from imago.looking.limits import PREVIEW_MAX_CHARS
from imago.looking.statictext import static_repr, static_text

_CELL_MAX_CHARS = 24
_FIRST_LINE_MAX_CHARS = 600


def items_of(value):
    """How to read the items of a value: of a built-in container, or of what an adapter knows; None for neither."""
    adapted = seen(value)
    return storage_of(value) if adapted is None or adapted.sample is None else adapted.sample


def measure_of(value):
    """`{shape}` or `{len}` of what can be measured without asking it; None for anything else."""
    adapted = seen(value)
    if adapted is not None and adapted.shape is not None:
        shape = [countable(extent) for extent in adapted.shape]
        return None if None in shape else {"shape": shape}
    items = items_of(value)
    length = countable(length_of(value) if items is None else items.length(value))
    return None if length is None else {"len": length}


def preview_of(value):
    """`list, len 10000000`, or `numpy.ndarray, shape (3, 2), dtype int64`; None for what has no size."""
    adapted = seen(value)
    if adapted is not None and adapted.shape is not None:
        return cut(f"{adapted.label}, {adapted.head}", PREVIEW_MAX_CHARS)
    measure = measure_of(value)
    return None if measure is None else f"{class_label(type(value))}, len {measure['len']}"


def static_card(value, limit):
    """`(text, truncated)`: the static text, or less of it and under that what an adapter tells in a closer look."""
    adapted = seen(value)
    if adapted is None or adapted.card is None:
        return static_repr(value, limit)
    try:
        lines = _lines(adapted.card())
    except Exception:
        return static_repr(value, limit)  # The facts cannot be had; what the value is can still be said.
    text, truncated = static_repr(value, _FIRST_LINE_MAX_CHARS)
    whole = clean("\n".join([text + ("…" if truncated else ""), *lines]))
    return whole[:limit], truncated or len(whole) > limit


def _lines(card):
    """The facts, and the table with its columns in line. A column label that is a text stands there without quotes."""
    header = [label[:_CELL_MAX_CHARS] if type(label) is str else _cell(label) for label in card.header]
    rows = [[_cell(cell) for cell in row] for row in card.rows]
    table = [header, *rows] if rows else []
    widths = [max(map(len, column)) for column in zip(*table)]
    return card.facts + ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table]


def _cell(value):
    return static_text(value, _CELL_MAX_CHARS).replace("\n", " ")
