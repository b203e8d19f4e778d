"""Cells of numpy: dtypes, and single numbers, times and texts."""

from array import array as array_of_python

from imago.looking.adapters.adapter import UNREAD, Part, Said, Seen, bare
from imago.looking.contents import Storage, storage_of
from imago.looking.fields import class_label, class_name, is_compiled, made_by_statement, mro


# The types of numpy's cells: what they are called, and which of them can be read without meeting user code.

_WORDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
_BUILT_IN = 24
_STRINGS = 2056
_DEEPEST = 4
_FIELDS = 8
_READ_FIELDS = 100


def dtype_text(dtype, depth=0):
    """`float64`, `<U5`, `datetime64[ns]`, `[id int64, name <U5]`."""
    if depth > _DEEPEST:
        return "…"
    if dtype.num == _STRINGS:
        return "StringDType"
    if dtype.num >= _BUILT_IN:
        return "of a dtype that is not numpy's own"
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        return f"{dtype_text(inner, depth + 1)} {tuple(shape)}"
    parts = fields_of(dtype, _FIELDS)
    if parts is not None:
        texts = [f"{bare(name)} {dtype_text(inner, depth + 1)}" for name, inner in parts]
        more = ["…"] if len(dtype.names) > len(parts) else []
        return f"[{', '.join(texts + more)}]"
    if not dtype.isnative:
        return dtype.str
    if dtype.kind in _WORDS:
        return f"{_WORDS[dtype.kind]}{8 * dtype.itemsize}"
    if dtype.kind == "b":
        return "bool"
    if dtype.kind == "O":
        return "object"
    text = dtype.str.lstrip("|")
    return text.replace("<M8", "datetime64").replace("<m8", "timedelta64")


def fields_of(dtype, most):
    """`(name, dtype)` of `most` fields of a structured dtype; None for any other. Their names are never looked up."""
    if dtype.names is None:
        return None
    held = storage_of(dtype.fields)
    pairs = [] if held is None else held.take(dtype.fields, 0, 2 * most)
    found = []
    for name in dtype.names[:most]:
        inner = next((entry[0] for key, entry in pairs if key is name), None)
        if type(name) is not str or inner is None:
            return []
        found.append((name, inner))
    return found


def is_readable(dtype, depth=0):
    """Whether numpy makes Python values of such cells by itself."""
    if dtype.num == _STRINGS:
        return True
    if dtype.num >= _BUILT_IN or depth > _DEEPEST:
        return False
    if dtype.subdtype is not None:
        return is_readable(dtype.subdtype[0], depth + 1)
    parts = fields_of(dtype, _READ_FIELDS)
    if parts is not None:
        return 0 < len(parts) == len(dtype.names) and all(is_readable(inner, depth + 1) for _, inner in parts)
    return dtype.kind == "V" or not made_by_statement(dtype.type)


# The items of numpy arrays, whatever their number of dimensions, read by numpy's own compiled code.

MASKED = Said("--")
_LARGEST_CELL = 4096
_LONGEST_CHAIN = 16
_ORDINARY = (bytes, bytearray, array_of_python)


def array_storage(array, mask=None):
    """How to read an exact `ndarray`, along its first axis; None for one that has none, or must not be read.

    `mask` is an array of the same shape that is true for the cells to leave out.
    """
    if array.ndim == 0 or not is_readable(array.dtype) or owner_elsewhere(array):
        return None
    return Storage("sequence", ("[", "]"), lambda _: array.shape[0], lambda _, *some: take(array, *some, mask=mask))


def take(array, start, count, mask=None):
    """At most `count` items of the first axis from `start` on: cells, or the rows as `Part`s."""
    if array.ndim > 1:
        stop = min(array.shape[0], start + count)
        return [_row(array[at, ...], None if mask is None else mask[at, ...]) for at in range(start, stop)]
    cells = _cells(array[start : start + count])
    if mask is None:
        return cells
    return [MASKED if hidden else cell for cell, hidden in zip(cells, mask[start : start + count].tolist())]


def single(array):
    """The one cell of an array without dimensions."""
    return UNREAD if not is_readable(array.dtype) or owner_elsewhere(array) else _cells(array.reshape(1))[0]


def owner_elsewhere(array):
    """Whose the memory of an array is, as text, where that is not known to be ordinary memory; else None.

    A mapped file ends the process that reads it once it has become shorter, and what an object of another library, or
    of the program, stands for is not to be known: neither are cells that a view of it makes up.
    """
    base = array
    plain = next(cls for cls in mro(type(array)) if class_name(cls) == "ndarray" and is_compiled(cls))
    for _ in range(_LONGEST_CHAIN):
        if type(base) is memoryview:
            base = base.obj
        elif any(owner is plain for owner in mro(type(base))):
            owner = plain.__dict__["base"].__get__(base)
            if owner is None:
                return None if plain.__dict__["flags"].__get__(base).owndata else "nobody that is known"
            base = owner
        else:
            return None if any(type(base) is ordinary for ordinary in _ORDINARY) else f"a {class_label(type(base))}"
    return "many others"


def _row(array, mask):
    return Part(Seen(storage=array_storage(array, mask)))


def _cells(array):
    """The cells of a short array of one dimension as Python values; objects are what they are."""
    if array.dtype.itemsize > _LARGEST_CELL:
        return [UNREAD] * array.shape[0]
    if array.dtype.kind in "Mm" or (array.dtype.kind in "fc" and array.dtype.itemsize not in (8, 16)):
        return [Said(type(cell).__str__(cell)) for cell in array]
    return array.tolist()
