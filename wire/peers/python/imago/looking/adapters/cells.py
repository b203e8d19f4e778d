"""The items of numpy arrays, whatever their number of dimensions, read by numpy's own compiled code."""

from mmap import mmap

from imago.looking.adapters.dtypes import is_readable
from imago.looking.adapters.seeing import UNREAD, Part, Said, Seen
from imago.looking.contents import Storage
from imago.looking.fields import class_name, inherits, mro

MASKED = Said("--")
_LARGEST_CELL = 4096
_LONGEST_CHAIN = 16


def array_storage(array, mask=None):
    """How to read an exact `ndarray`, along its first axis; None for one that has none, or must not be read.

    `mask` is an array of the same shape that is true for the cells to leave out.
    """
    if array.ndim == 0 or not is_readable(array.dtype) or is_mapped(array):
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
    return UNREAD if not is_readable(array.dtype) or is_mapped(array) else _cells(array.reshape(1))[0]


def is_mapped(array):
    """Whether the cells are those of a mapped file: one that has become shorter would end the process."""
    base, plain = array, type(array)
    for _ in range(_LONGEST_CHAIN):
        owners = mro(type(base))
        if inherits(base, mmap) or any(class_name(owner) == "memmap" for owner in owners):
            return True
        if type(base) is memoryview:
            base = base.obj
        elif any(owner is plain for owner in owners):
            base = plain.__dict__["base"].__get__(base)
        else:
            return False
    return True


def _row(array, mask):
    return Part(Seen(storage=array_storage(array, mask)))


def _cells(array):
    """The cells of a short array of one dimension as Python values; objects are what they are."""
    if array.dtype.itemsize > _LARGEST_CELL:
        return [UNREAD] * array.shape[0]
    if array.dtype.kind in "Mm" or (array.dtype.kind in "fc" and array.dtype.itemsize not in (8, 16)):
        return [Said(type(cell).__str__(cell)) for cell in array]
    return array.tolist()
