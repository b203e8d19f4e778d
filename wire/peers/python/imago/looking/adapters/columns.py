"""The columns of pandas: arrays of numpy's and of pandas' own, each read through where it stores its cells.

None of pandas' Python code runs. An array of a class that is not pandas' own is named and not read: its items would
come from code of whoever wrote it.
"""

from imago.looking.adapters.adapter import Said, Unreadable, array_name, compiled_field, field, held_at, listed
from imago.looking.adapters.cells import dtype_text, is_readable, owner_elsewhere, take
from imago.looking.adapters.moments import zone_text
from imago.looking.fields import ABSENT, class_label, class_module, clean, made_by_statement, plain

NULL = Said("<NA>")
NOT_A_NUMBER = Said("nan")
_WORDS = {"int": "Int", "uint": "UInt", "float": "Float"}


class Column:
    """One column: what its dtype is called, how many cells it has, and `take(start, count)`, or None if unread.

    `size` is the memory that its cells take, as far as that is known without visiting them; `owner` is whose memory
    that is, where it is not read for that.
    """

    __slots__ = ("dtype", "length", "owner", "size", "take")

    def __init__(self, dtype, length, take_cells, size=None, owner=None):
        self.owner = owner
        self.dtype = dtype
        self.length = length
        self.take = take_cells
        self.size = size

    def storage(self):
        return None if self.take is None else listed(self.length, self.take)


def column_of(values, row=None):
    """The `Column` of an array, read if it is exactly one of numpy's or pandas'.

    `row` selects one column of a block that holds several.
    """
    read = _READERS.get(array_name(values))
    if read is None:
        return Column(f"<{class_label(type(values))}>", None, None)
    return read(values, row)


def _of_numpy(values, row, dtype=None):
    if array_name(values) != "ndarray":
        raise Unreadable("an array of a class of the user's")
    array = values if row is None or values.ndim == 1 else values[row, ...]
    owner = owner_elsewhere(array)
    readable = array.ndim == 1 and is_readable(array.dtype) and owner is None
    cells = (lambda start, count: take(array, start, count)) if readable else None
    return Column(dtype or dtype_text(array.dtype), array.shape[0], cells, array.nbytes, owner)


def _backed(values, row):
    """Arrays that put another face on one of numpy's."""
    return _of_numpy(field(values, "_ndarray"), row)


def _datetimes(values, row):
    column = _backed(values, row)
    cells = column.take
    if cells is not None:
        column.take = lambda *some: [Said(_shorter(cell.text)) for cell in cells(*some)]
    zone = _field_or_none(field(values, "_dtype"), "_tz")
    if zone is not None:
        unit = column.dtype.partition("[")[2].rstrip("]")
        column.dtype = f"datetime64[{unit}, {zone_text(zone)}]"
    return column


def _shorter(text):
    """`2020-01-01 08:30:00` for the text that numpy writes, with what is nought left out at the end."""
    if text == "NaT":
        return text
    day, _, clock = text.partition("T")
    clock = clock.rstrip("0").rstrip(".") if "." in clock else clock
    return day if clock in ("", "00:00:00", "00:00", "00") else f"{day} {clock}"


def _periods(values, _row):
    """Which day a number stands for is known to pandas' Python code alone."""
    array = field(values, "_ndarray")
    return Column("period", array.shape[-1], None, array.nbytes)


def _categories(values, _row):
    codes = _backed(values, None)
    dtype = field(values, "_dtype")
    held = index_column(field(dtype, "_categories"))
    ordered = ", ordered" if _field_or_none(dtype, "_ordered") is True else ""

    def cells(start, count):
        numbers = codes.take(start, count)
        return [NOT_A_NUMBER if number < 0 else held.take(number, 1)[0] for number in numbers]

    count = "?" if held.length is None else held.length
    readable = codes.take is not None and held.take is not None
    return Column(f"category of {count}{ordered}", codes.length, cells if readable else None, codes.size)


def _masked(values, _row):
    """`Int64`, `Float64` and `boolean`: cells beside a mask of those that are missing."""
    data, mask = _of_numpy(field(values, "_data"), None), _of_numpy(field(values, "_mask"), None)
    word = data.dtype.rstrip("0123456789")
    name = "boolean" if word == "bool" else _WORDS.get(word, word) + data.dtype[len(word) :]

    def cells(start, count):
        pairs = zip(data.take(start, count), mask.take(start, count))
        return [NULL if missing else cell for cell, missing in pairs]

    readable = data.take is not None and mask.take is not None
    return Column(name, data.length, cells if readable else None, data.size + mask.size)


def _texts(values, row):
    column = _backed(values, row)
    return Column(_text_dtype(values), column.length, column.take, column.size)


def _arrow_texts(values, _row):
    """Texts that pyarrow stores, as pandas sees to when it makes such an array."""
    dtype = _text_dtype(values)
    return _of_arrow(values, dtype, NOT_A_NUMBER if dtype == "str" else NULL)


def _of_arrow(values, dtype, missing):
    chunks = _chunks_of(field(values, "_pa_array"))

    def cells(start, count):
        return [missing if cell is None else cell for cell in chunks.slice(start, count).to_pylist()]

    return Column(dtype, len(chunks), cells, compiled_field(chunks, "nbytes"))


def _text_dtype(values):
    """pandas calls it `str` where a missing text is nan, and `string` where it is `<NA>`."""
    missing = _field_or_none(field(values, "_dtype"), "_na_value")
    return "str" if type(missing) is float else "string"


def _arrow(values, _row):
    held = field(field(values, "_dtype"), "pyarrow_dtype")
    column = _of_arrow(values, f"{_arrow_type(held)}[pyarrow]", NULL)
    if not _arrow_is_readable(held):
        column.take = None
    return column


# Columns that pyarrow stores. Only cells that pyarrow itself makes into Python values are read: a type that a program
# has registered with it comes with a class of its own for its cells.
#
# Arrow's numbers of its types, which are part of its format: null, bool, whole and floating numbers, texts and bytes.
_ARROW_TYPES = {
    0: "null",
    1: "bool",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "uint32",
    7: "int32",
    8: "uint64",
    9: "int64",
    10: "halffloat",
    11: "float",
    12: "double",
    13: "string",
    14: "binary",
    34: "large_string",
    35: "large_binary",
    39: "string_view",
}
_OTHER = "arrow type"


def _arrow_is_readable(dtype):
    """Whether cells of an arrow type, as the program has it in Python, are made by pyarrow alone.

    Chunks are never asked for their type: for one that the program has registered, pyarrow calls the program back.
    """
    return _arrow_type(dtype) != _OTHER


def _arrow_type(dtype):
    if class_module(type(dtype)) != "pyarrow.lib" or made_by_statement(type(dtype)):
        return _OTHER
    return _ARROW_TYPES.get(compiled_field(dtype, "id"), _OTHER)


def _chunks_of(held):
    """A `pyarrow.ChunkedArray`. Raises `Unreadable` for anything else."""
    if held_at("pyarrow.lib", "ChunkedArray") is not type(held) or made_by_statement(type(held)):
        raise Unreadable("chunks")
    return held


def _unread(word, length_from):
    def read(values, _row):
        inner = field(values, length_from)
        return Column(word, index_column(inner).length, None)

    return read


def _sparse(values, _row):
    length = _field_or_none(field(values, "_sparse_index"), "length")
    return Column("Sparse", length if type(length) is int else None, None)


def index_column(index):
    """The labels of an index of one level as a `Column`; of `MultiIndex` and of unknown ones, only how many."""
    name = array_name(index)
    if name == "RangeIndex":
        numbers = field(index, "_range")
        if type(numbers) is not range:
            raise Unreadable("_range")
        return Column("int64", len(numbers), lambda start, count: list(numbers[start : start + count]))
    if name is None or not name.endswith("Index"):
        return column_of(index)
    if name == "MultiIndex":
        return _levels(index)
    return column_of(field(index, "_data"))


def _levels(index):
    """A `MultiIndex`: each label is a tuple, of one label from each level."""
    levels = [index_column(level) for level in list.__iter__(field(index, "_levels"))]
    codes = [_of_numpy(code, None) for code in list.__iter__(field(index, "_codes"))]

    def cells(start, count):
        rows = zip(*(code.take(start, count) for code in codes))
        return [tuple(_label(level, number) for level, number in zip(levels, row)) for row in rows]

    readable = all(column.take is not None for column in levels + codes)
    return Column(f"{len(levels)} levels", codes[0].length if codes else 0, cells if readable else None)


def _label(level, number):
    return NOT_A_NUMBER if number < 0 else level.take(number, 1)[0]


def name_of(index):
    """The text that an index or a series is named with; None for none, and for a name that is no text."""
    name = plain(_field_or_none(index, "_name"))
    return None if name is None else clean(name)


def _field_or_none(obj, name):
    try:
        found = field(obj, name)
    except Unreadable:
        return None
    return None if found is ABSENT else found


_READERS = {
    "ndarray": _of_numpy,
    "NumpyExtensionArray": _backed,
    "PandasArray": _backed,
    "DatetimeArray": _datetimes,
    "TimedeltaArray": _backed,
    "PeriodArray": _periods,
    "Categorical": _categories,
    "IntegerArray": _masked,
    "FloatingArray": _masked,
    "BooleanArray": _masked,
    "StringArray": _texts,
    "StringArrayNumpySemantics": _texts,
    "ArrowStringArray": _arrow_texts,
    "ArrowStringArrayNumpySemantics": _arrow_texts,
    "ArrowExtensionArray": _arrow,
    "IntervalArray": _unread("interval", "_left"),
    "SparseArray": _sparse,
}
ARRAYS = tuple(name for name in _READERS if name != "ndarray")
