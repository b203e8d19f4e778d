"""numpy arrays: `ndarray`, and the classes of numpy's own that are built on it."""

from imago.looking.adapters.adapter import Card, Seen, in_bytes, listed
from imago.looking.adapters.cells import array_storage, dtype_text, owner_elsewhere, is_readable, single
from imago.looking.fields import ABSENT, class_name, is_compiled, mro, own_field

COUNTED_MAX_CELLS = 50_000
"""Arrays of more cells are not searched for their smallest and largest."""


def see_array(array):
    """An exact `ndarray`."""
    return Seen("numpy.ndarray", array_head(array), shape=list(array.shape), storage=_items(array), card=_card(array))


def _see_derived(label):
    def see(value):
        array = as_plain(value)
        return Seen(label, array_head(array), shape=list(array.shape), storage=_items(array), card=_card(array))

    return see


def _see_masked(value):
    array = as_plain(value)
    mask = own_field(value, "_mask")
    if type(mask) is not type(array):
        mask = None
    elif mask.shape != array.shape or mask.dtype.kind != "b" or owner_elsewhere(mask):
        return None
    hidden = "" if mask is None or mask.size > COUNTED_MAX_CELLS else f", {mask.flatten().tolist().count(True)} masked"
    storage = _items(array) if mask is None else array_storage(array, mask)
    return Seen(
        "numpy.ma.MaskedArray", array_head(array) + hidden, shape=list(array.shape), storage=storage, card=_card(array)
    )


def _see_mapped(value):
    """A mapped file: described, not read."""
    fields = [(name, own_field(value, name)) for name in ("filename", "mode", "offset")]
    array = as_plain(value)
    return Seen(
        "numpy.memmap",
        f"shape {tuple(array.shape)}, dtype {dtype_text(array.dtype)}",
        shape=list(array.shape),
        fields=[(name, found) for name, found in fields if found is not ABSENT],
        card=lambda: Card([f"{in_bytes(array.nbytes)} of a mapped file, not read"]),
    )


def as_plain(value):
    """The cells of an instance of one of numpy's own subclasses as an `ndarray`, which nothing of that class sees."""
    base = next(base for base in mro(type(value)) if class_name(base) == "ndarray" and is_compiled(base))
    return base.view(value, base)


def array_head(array):
    """`shape (3, 2), dtype float64`."""
    owner = owner_elsewhere(array)
    unread = "" if owner is None else f", not read: its memory belongs to {owner}"
    return f"shape {tuple(array.shape)}, dtype {dtype_text(array.dtype)}{unread}"


def _items(array):
    if array.ndim > 0:
        return array_storage(array)
    return listed(1, lambda start, count: [single(array)][start : start + count])


def _card(array):
    return lambda: Card([_layout(array), *range_of(array)])


def _layout(array):
    flags = array.flags
    facts = [in_bytes(array.nbytes)]
    if not flags.c_contiguous:
        facts.append("Fortran order" if flags.f_contiguous else f"not contiguous, strides {tuple(array.strides)}")
    if not flags.writeable:
        facts.append("read-only")
    if array.base is not None:
        facts.append("its memory belongs to another object")
    return ", ".join(facts)


def range_of(array):
    """A line with the smallest and the largest number and how many are none, where that is cheap to know."""
    kind = array.dtype.kind
    if (
        kind not in "biuf"
        or not is_readable(array.dtype)
        or array.dtype.itemsize > 8
        or array.size == 0
        or owner_elsewhere(array)
    ):
        return []
    if array.size > COUNTED_MAX_CELLS:
        return [f"smallest and largest: not looked for in more than {COUNTED_MAX_CELLS} cells"]
    cells = array.flatten().tolist()
    if kind == "b":
        return [f"{cells.count(True)} true, {cells.count(False)} false"]
    if kind != "f":
        return [f"min {min(cells)}, max {max(cells)}"]
    numbers = [cell for cell in cells if cell == cell]
    missing = f"{len(cells) - len(numbers)} nan"
    if not numbers:
        return [f"all {missing}"]
    smallest, largest = (number_text(array.dtype, number) for number in (min(numbers), max(numbers)))
    return [f"min {smallest}, max {largest}, {missing}"]


def number_text(dtype, number):
    """A cell as numpy writes it, with as many digits as its type has: one of 32 bits is 0.1, not 0.10000000149."""
    return dtype.type.__str__(dtype.type(number))


TYPES = (
    ("numpy", "ndarray", see_array, "sequence"),
    ("numpy", "matrix", _see_derived("numpy.matrix"), "sequence"),
    ("numpy", "recarray", _see_derived("numpy.recarray"), "sequence"),
    ("numpy.ma", "MaskedArray", _see_masked, "sequence"),
    ("numpy", "memmap", _see_mapped, "sequence"),
)
