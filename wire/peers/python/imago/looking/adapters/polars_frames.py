"""polars: data frames and series, read by the compiled code that holds them.

What is lazy stays so: a query is not planned, and an expression is not printed, which may hold objects. Types that a
program has registered with polars, cells of any object, and structs that might hide either, are not read.
"""

import re
from types import BuiltinFunctionType

from imago.looking.adapters.adapter import (
    UNREAD,
    Card,
    Part,
    Said,
    Seen,
    Unreadable,
    bare,
    field,
    held_at,
    in_bytes,
    listed,
    method,
)
from imago.looking.contents import Storage
from imago.looking.fields import ABSENT, class_entry, clean

_HEAD_COLUMNS = 12
_TABLE_ROWS = 6
_CELL_MAX_CHARS = 60
_NULL = Said("null")
_NUMBERS = re.compile(r"[iuf]\d+|bool")
_READABLE = re.compile(
    r"(?:list\[|array\[)*(?:[iuf]\d+|bool|str|cat|enum|binary|null|date|time|"
    r"datetime\[[^\[\]]*\]|duration\[[^\[\]]*\]|decimal\[[\d, ]*\])(?:, \d+\]|\])*"
)


class _Column:
    __slots__ = ("dtype", "inner", "length", "name")

    def __init__(self, inner):
        self.inner = _compiled(inner, "PySeries")
        self.name = clean(method(inner, "name")())
        self.length = method(inner, "len")()
        self.dtype = _dtype_of(inner)

    def take(self, start, count):
        places = range(start, min(start + count, self.length))
        if _NUMBERS.fullmatch(self.dtype):
            read = method(self.inner, "get_index")
            return [_NULL if cell is None else cell for cell in map(read, places)]
        if _READABLE.fullmatch(self.dtype):
            write = method(self.inner, "get_fmt")
            return [Said(clean(write(place, _CELL_MAX_CHARS))) for place in places]
        return [UNREAD] * len(places)

    def storage(self):
        return listed(self.length, self.take)

    def nulls(self):
        return method(self.inner, "null_count")()


def _dtype_of(inner):
    """The name of a dtype as polars writes it by itself: making the Python object for it may run the user's code."""
    return _strings(_made(inner))[0]


def _made(inner):
    """A frame of one column that shares its memory, made by the compiled constructor."""
    cls = _held("PyDataFrame")
    make = ABSENT if cls is ABSENT else class_entry(cls, "__new__")
    if type(make) is not BuiltinFunctionType:
        raise Unreadable("__new__")
    return make(cls, [inner])


def _held(name):
    """A compiled class of polars, in the module that newer versions have them in, or in the one before."""
    found = held_at("polars._plr", name)
    return held_at("polars.polars", name) if found is ABSENT else found


def _strings(frame):
    return [clean(text) for text in method(_compiled(frame, "PyDataFrame"), "dtype_strings")()]


def _compiled(inner, name):
    """`inner`, if it is exactly of a compiled class of polars. Raises `Unreadable`."""
    if _held(name) is not type(inner):
        raise Unreadable(name)
    return inner


def frame_bytes(inner):
    """The memory of what a frame or a series of polars holds it in, or None for an object of any other class."""
    if not any(_held(name) is type(inner) for name in ("PyDataFrame", "PySeries")):
        return None
    return method(inner, "estimated_size")()


def _see_frame(value):
    inner = _compiled(field(value, "_df"), "PyDataFrame")
    rows, width = method(inner, "shape")()
    column_at = method(inner, "to_series")

    def columns(start, count):
        return [_Column(column_at(place)) for place in range(start, min(start + count, width))]

    shown = columns(0, _HEAD_COLUMNS)
    more = [f"… +{width - len(shown)}"] if width > len(shown) else []
    names = f": {', '.join([f'{bare(column.name[:40])} {column.dtype}' for column in shown] + more)}" if shown else ""

    def described(_, start, count):
        return [(column.name, Part(Seen(column.dtype, storage=column.storage()))) for column in columns(start, count)]

    return Seen(
        "polars.DataFrame",
        f"{rows} rows × {width} columns{names}",
        shape=[rows, width],
        sample=Storage("mapping", ("{", "}"), lambda _: width, described),
        card=lambda: _frame_card(inner, shown),
    )


def _frame_card(inner, shown):
    facts = [in_bytes(method(inner, "estimated_size")()), _nulls(shown)] if shown else []
    rows = zip(*(column.take(0, _TABLE_ROWS) for column in shown))
    return Card(facts, [column.name for column in shown], [list(row) for row in rows])


def _nulls(columns):
    found = [f"{column.nulls()} in {bare(column.name[:40])}" for column in columns if column.nulls()]
    return f"null cells: {', '.join(found) or 'none'}"


def _see_series(value):
    column = _Column(field(value, "_s"))
    return Seen(
        "polars.Series",
        f"{column.name!r}, length {column.length}, dtype {column.dtype}",
        shape=[column.length],
        storage=column.storage(),
        card=lambda: Card([in_bytes(method(column.inner, "estimated_size")()), _nulls([column])]),
    )


TYPES = (
    ("polars", "DataFrame", _see_frame, None),
    ("polars", "Series", _see_series, "sequence"),
    ("polars", "LazyFrame", lambda _: Seen(text="<polars.LazyFrame, a query that has not been planned or run>"), None),
    ("polars", "Expr", lambda _: Seen(text="<polars.Expr, not printed>"), None),
)
