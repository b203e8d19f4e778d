"""pandas: data frames, series, indexes and the arrays under them, read from the blocks that store them."""

from itertools import islice

from imago.looking.adapters.adapter import (
    UNREAD,
    Card,
    Part,
    Said,
    Seen,
    Unreadable,
    array_name,
    bare,
    compiled_field,
    field,
    in_bytes,
)
from imago.looking.adapters.columns import ARRAYS, Column, column_of, index_column, name_of
from imago.looking.contents import Storage

_HEAD_COLUMNS = 12
_TABLE_ROWS = 6
_SERIES_ROWS = 20
_MOST_BLOCKS = 2000
_COUNTED_MAX_CELLS = 50_000
_MISSING = ("<NA>", "NaT", "nan")


class _Frame:
    """A data frame taken apart: its index, its column labels, and the blocks that several columns share each."""

    def __init__(self, value):
        held = field(value, "_mgr")
        axes, self.blocks = field(held, "axes"), field(held, "blocks")
        if type(axes) is not list or len(axes) != 2 or type(self.blocks) is not tuple:
            raise Unreadable("axes")
        self.labels, self.index = index_column(axes[0]), index_column(axes[1])
        self.places = compiled_field(held, "_blknos"), compiled_field(held, "_blklocs")

    def columns(self, start, count):
        """`(label, column)` of some columns, in their order."""
        last = min(start + count, self.labels.length or 0)
        labels = [UNREAD] * count if self.labels.take is None else self.labels.take(start, count)
        return list(zip(labels, (self.column(number) for number in range(start, last))))

    def column(self, number):
        block, row = self._place(number)
        if block is None:
            return Column("?", self.index.length, None)
        return column_of(field(block, "values"), row)

    def _place(self, number):
        """The block of a column and its row in it, by the table that pandas keeps, or else by looking through blocks."""
        numbers, rows = self.places
        if array_name(numbers) == array_name(rows) == "ndarray" and number < min(numbers.shape[0], rows.shape[0]):
            at = numbers.item(number)
            return (self.blocks[at], rows.item(number)) if 0 <= at < len(self.blocks) else (None, None)
        for block in islice(self.blocks, _MOST_BLOCKS):
            held = compiled_field(compiled_field(block, "_mgr_locs"), "indexer")
            if type(held) is slice:
                places = range(held.start, held.stop, held.step or 1)
            elif array_name(held) == "ndarray":
                places = held[:_MOST_BLOCKS].tolist()
            else:
                raise Unreadable("indexer")
            if number in places:
                return block, places.index(number)
        return None, None

    def size(self):
        """The memory of all blocks, or None where there are too many to ask or one does not tell."""
        sizes = [_size(field(block, "values")) for block in self.blocks[:_MOST_BLOCKS]]
        return None if None in sizes or len(self.blocks) > _MOST_BLOCKS else sum(sizes)


def _size(values):
    return values.nbytes if array_name(values) == "ndarray" else column_of(values).size


def _see_frame(value):
    frame = _Frame(value)
    rows, width = frame.index.length, frame.labels.length
    shown = frame.columns(0, _HEAD_COLUMNS)
    texts = [f"{_label(label)} {column.dtype}" for label, column in shown]
    more = [f"… +{width - len(shown)}"] if width > len(shown) else []
    names = f": {', '.join(texts + more)}" if texts else ""
    return Seen(
        "pandas.DataFrame",
        f"{rows} rows × {width} columns{names}",
        shape=[rows, width],
        sample=Storage("mapping", ("{", "}"), lambda _: width, lambda _, *some: _described(frame, *some)),
        card=lambda: _frame_card(frame),
    )


def _described(frame, start, count):
    """Columns as items: the label, and beside it the dtype and the first cells."""
    return [
        (label, Part(Seen(column.dtype, storage=column.storage()))) for label, column in frame.columns(start, count)
    ]


def _frame_card(frame):
    shown = frame.columns(0, _HEAD_COLUMNS)
    facts = [_memory(frame.size()), *_unread(shown), *_nulls(shown, frame.index.length)]
    index = _cells(frame.index, _TABLE_ROWS)
    cells = [_cells(column, _TABLE_ROWS) for _, column in shown]
    return Card(facts, ["", *(label for label, _ in shown)], list(zip(index, *cells)))


def _see_series(value):
    held = field(value, "_mgr")
    axes, blocks = field(held, "axes"), field(held, "blocks")
    if type(axes) is not list or type(blocks) is not tuple or len(blocks) != 1:
        return None
    column, index = column_of(field(blocks[0], "values")), index_column(axes[0])
    name = name_of(value)

    def card():
        rows = zip(_cells(index, _SERIES_ROWS), _cells(column, _SERIES_ROWS))
        facts = [_memory(column.size), *_unread([("all", column)]), *_nulls([("all", column)], index.length)]
        return Card(facts, ["", name or ""], list(rows))

    return Seen(
        "pandas.Series",
        f"{'' if name is None else f'{name!r}, '}length {index.length}, dtype {column.dtype}",
        shape=[index.length],
        storage=column.storage(),
        card=card,
    )


def _see_index(value):
    column, name = index_column(value), name_of(value)
    label = f"pandas.{array_name(value)}"
    head = f"{'' if name is None else f'{name!r}, '}length {column.length}, {column.dtype}"
    shape = None if column.length is None else [column.length]
    return Seen(label, head, shape=shape, storage=column.storage())


def _see_array(value):
    column = column_of(value)
    shape = None if column.length is None else [column.length]
    head = f"length {column.length}, dtype {column.dtype}"
    return Seen(f"pandas.arrays.{array_name(value)}", head, shape=shape, storage=column.storage())


def _memory(size):
    return "memory not known" if size is None else f"{in_bytes(size)}, what cells refer to left out"


def _unread(columns):
    owned = [(label, column.owner) for label, column in columns if column.owner is not None]
    return [f"not read: {_label(label)}, whose memory belongs to {owner}" for label, owner in owned]


def _nulls(columns, rows):
    """A line with how many cells are missing, where there are few enough to look at them all."""
    if rows is None or rows * len(columns) > _COUNTED_MAX_CELLS:
        return [f"missing cells: not looked for in more than {_COUNTED_MAX_CELLS}"]
    counts = [(label, _missing(column, rows)) for label, column in columns if column.take is not None]
    found = [f"{count} in {_label(label)}" for label, count in counts if count > 0]
    return [f"missing cells: {', '.join(found) or 'none'}"] if counts else []


def _missing(column, rows):
    return sum(map(_is_missing, column.take(0, rows)))


def _is_missing(cell):
    """Whether a cell is one of the marks of pandas for none; an object that says so of itself is not asked."""
    if type(cell) is float:
        return cell != cell
    return cell is None or (type(cell) is Said and cell.text in _MISSING)


def _cells(column, count):
    rows = 0 if column.length is None else min(count, column.length)
    return [UNREAD] * rows if column.take is None else column.take(0, count)


def _label(label):
    """A column label in a line of several: texts bare, the rest as far as it is short."""
    if type(label) is str:
        return bare(label[:40])
    if type(label) is Said:
        return label.text
    return repr(label) if type(label) in (int, float, bool) else "…"


_INDEXES = ("Index", "RangeIndex", "MultiIndex", "DatetimeIndex", "TimedeltaIndex", "PeriodIndex")
_OLDER_INDEXES = ("CategoricalIndex", "IntervalIndex", "Int64Index", "UInt64Index", "Float64Index")

TYPES = (
    ("pandas", "DataFrame", _see_frame, None),
    ("pandas", "Series", _see_series, "sequence"),
    *(("pandas", name, _see_index, "sequence") for name in _INDEXES + _OLDER_INDEXES),
    *(("pandas.arrays", name, _see_array, "sequence") for name in ARRAYS),
)
