"""The items of built-in containers, read from where they are stored.

An instance of a subclass is read the same way: through the methods of the built-in class underneath, whatever the
subclass has put in front of them. Taking a few items costs the same from a small container as from a huge one.
"""

import gc
from collections import deque
from itertools import islice
from types import MappingProxyType

from imago.looking.fields import inherits, steadily

DictKeys = type({}.keys())
DictValues = type({}.values())
DictItems = type({}.items())

SAFE_COUNT = 2**53 - 1
"""Beyond this a count is no longer exact as a JSON number."""


class Storage:
    """How one built-in container stores what it holds.

    `shape` is `mapping`, `sequence` or `set`; `opening` and `closing` are what Python's own printer puts around the
    items, and `empty` what it prints instead of two brackets, if anything. `length(obj)` is a count, or None if it is
    not to be had; `take(obj, start, count)` a list of at most `count` items from `start` on, `(key, value)` pairs for
    a mapping.
    """

    __slots__ = ("closing", "empty", "length", "opening", "shape", "take")

    def __init__(self, shape, brackets, length, take, empty=None):
        self.shape = shape
        self.opening, self.closing = brackets
        self.empty = empty
        self.length = length
        self.take = take


def storage_of(obj):
    """The `Storage` that the real type of `obj` is built on, or None if it is no container that can be read."""
    cls = type(obj)
    for base, storage in _SUBCLASSABLE:
        if issubclass(cls, base):
            return storage
    for exact, storage in _FINAL:
        if cls is exact:
            return storage if storage.length(obj) is not None else None
    return None


def exactly_built_in(obj):
    """Whether `obj` is exactly of a built-in container class, so that the brackets of that class fit."""
    cls = type(obj)
    return any(cls is exact for exact, _ in _SUBCLASSABLE) or any(cls is exact for exact, _ in _FINAL)


def length_of(obj):
    """`len(obj)` of anything that a built-in class measures, texts included; None if it would take asking."""
    storage = storage_of(obj)
    if storage is not None:
        return storage.length(obj)
    cls = type(obj)
    for base, length in ((str, str.__len__), (bytes, bytes.__len__), (bytearray, bytearray.__len__)):
        if issubclass(cls, base):
            return length(obj)
    return None


def countable(number):
    """`number` if a JSON number can carry it exactly, else None."""
    return number if number is not None and number <= SAFE_COUNT else None


def range_parts(numbers):
    """`(start, stop, step)` of a range, or None if one of them is an instance of a subclass of `int`."""
    parts = (numbers.start, numbers.stop, numbers.step)
    return parts if all(type(part) is int for part in parts) else None


def _walk(iterate):
    def take(obj, start, count):
        return steadily(lambda: list(islice(iterate(obj), start, start + count)))

    return take


def _slice(get_item):
    def take(obj, start, count):
        return get_item(obj, slice(start, start + count))

    return take


def _take_tuple(obj, start, count):
    return list(tuple.__getitem__(obj, slice(start, start + count)))


def _range_length(numbers):
    parts = range_parts(numbers)
    if parts is None:
        return None
    start, stop, step = parts
    distance = stop - start if step > 0 else start - stop
    return max(0, -(-distance // abs(step)))


def _take_range(numbers, start, count):
    first, _, step = range_parts(numbers)
    last = min(start + count, _range_length(numbers))
    return [first + index * step for index in range(start, last)]


def _proxied(proxy):
    """The dict behind a mapping proxy, or None if it stands for something that would have to be asked."""
    behind = gc.get_referents(proxy)
    return behind[0] if len(behind) == 1 and inherits(behind[0], dict) else None


def _proxy_length(proxy):
    behind = _proxied(proxy)
    return None if behind is None else dict.__len__(behind)


def _take_proxy(proxy, start, count):
    return _take_dict(_proxied(proxy), start, count)


_take_dict = _walk(lambda obj: iter(dict.items(obj)))

_SUBCLASSABLE = (
    (list, Storage("sequence", ("[", "]"), list.__len__, _slice(list.__getitem__))),
    (tuple, Storage("sequence", ("(", ")"), tuple.__len__, _take_tuple)),
    (dict, Storage("mapping", ("{", "}"), dict.__len__, _take_dict)),
    (set, Storage("set", ("{", "}"), set.__len__, _walk(set.__iter__), "set()")),
    (frozenset, Storage("set", ("frozenset({", "})"), frozenset.__len__, _walk(frozenset.__iter__), "frozenset()")),
    (deque, Storage("sequence", ("deque([", "])"), deque.__len__, _walk(deque.__iter__))),
)

_FINAL = (
    (range, Storage("sequence", ("range(", ")"), _range_length, _take_range)),
    (MappingProxyType, Storage("mapping", ("mappingproxy({", "})"), _proxy_length, _take_proxy)),
    (DictKeys, Storage("set", ("dict_keys([", "])"), DictKeys.__len__, _walk(DictKeys.__iter__))),
    (DictValues, Storage("sequence", ("dict_values([", "])"), len, _walk(iter))),
    (DictItems, Storage("set", ("dict_items([", "])"), DictItems.__len__, _walk(DictItems.__iter__))),
)
