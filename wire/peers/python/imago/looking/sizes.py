"""How many bytes a value takes, with what it alone holds: as far as stored facts tell, in a bounded number of steps."""

import gc
import sys
from array import array
from collections import deque

from imago.looking.adapters.adapter import array_name, compiled_field, held_at
from imago.looking.adapters.polars_frames import frame_bytes
from imago.looking.adapters.tensors import tensor_bytes
from imago.looking.contents import storage_of
from imago.looking.fields import class_name, exactly, is_class, is_compiled

STEPS = 500
SAMPLE = 32
"""Items of one container that stand for all of them."""

# These measure themselves in code that is compiled into the interpreter.
_PLAIN = (int, float, complex, str, bytes, bytearray, array)
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)

_cell = [object()]
ALONE = sys.getrefcount(_cell[0])
"""What `sys.getrefcount` says of what a single place refers to, where it is asked as it is here."""


def bytes_of(value):
    """The bytes of `value` and of what nothing else holds. What cannot be told is left out."""
    walk = _Walk(value)
    try:
        walk.run()
    except Exception:
        pass  # Laid out in another way than is known, or changed meanwhile: what was found counts.
    return round(walk.total)


class _Walk:
    """`waiting` has pairs of a value and of how many like it it stands for."""

    def __init__(self, value):
        self.total = 0
        self.waiting = [(value, 1)]
        self.met = set()

    def run(self):
        for _ in range(STEPS):
            if not self.waiting:
                return
            one, times = self.waiting.pop()
            if id(one) in self.met or is_class(one):
                continue
            self.met.add(id(one))
            self._take(one, times)

    def _take(self, one, times):
        if exactly(one, _PLAIN):
            self.total += times * sys.getsizeof(one)
            return
        if exactly(one, _CONTAINERS):
            self.total += times * sys.getsizeof(one)
            self._take_items(one, times)
            return
        self.total += times * object.__sizeof__(one)
        size = _SIZES.get(class_name(type(one)))
        known = None if size is None else size(one, self)
        if known is not None:
            self.total += times * known
        else:
            # Asks no class for its items: it is the collector of garbage that tells.
            self.follow(gc.get_referents(one), times)

    def _take_items(self, one, times):
        storage = storage_of(one)
        length = storage.length(one)
        if exactly(one, (list, tuple)):
            items = type(one).__getitem__(one, slice(0, None, max(1, length // SAMPLE)))[:SAMPLE]
        else:
            items = storage.take(one, 0, SAMPLE)
        times = times * max(1, length / max(1, len(items)))
        if storage.shape == "mapping":
            for pair in items:
                self.follow(pair, times)
        else:
            self.follow(items, times)

    def follow(self, found, times):
        """What others hold as well is theirs, but for plain data, which counts once."""
        for place in range(len(found)):
            if sys.getrefcount(found[place]) <= ALONE + 1:
                self.waiting.append((found[place], times))
            elif exactly(found[place], _PLAIN):
                self.waiting.append((found[place], 1))


def _array_bytes(one, walk):
    if array_name(one) != "ndarray":
        return None
    if one.base is not None:
        # Its cells are those of another object, which it may be the last to hold.
        walk.follow([one.base], 1)
        return 0
    if one.dtype.kind == "O" and one.size:
        places = range(0, one.size, max(1, one.size // SAMPLE))[:SAMPLE]
        walk.follow([one.item(place) for place in places], one.size / len(places))
    return one.nbytes


def _arrow_bytes(one, _):
    name = class_name(type(one))
    if held_at("pyarrow.lib", name) is not type(one) or not is_compiled(type(one)):
        return None
    size = compiled_field(one, "nbytes")
    return size if type(size) is int else None


_SIZES = {
    "ndarray": _array_bytes,
    "ChunkedArray": _arrow_bytes,
    "Table": _arrow_bytes,
    "RecordBatch": _arrow_bytes,
    "PyDataFrame": lambda one, _: frame_bytes(one),
    "PySeries": lambda one, _: frame_bytes(one),
    "Tensor": lambda one, _: tensor_bytes(one),
    "Parameter": lambda one, _: tensor_bytes(one),
}
