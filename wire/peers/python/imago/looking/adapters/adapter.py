"""What all adapters share: the classes of loaded libraries, and what is shown of a value."""

from types import GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType

from imago.looking.contents import Storage
from imago.looking.fields import (
    ABSENT,
    class_lookup,
    class_name,
    clean,
    exactly,
    is_compiled,
    own_field,
    read_member,
    stored,
)
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.loaded import module_dict


# Classes of libraries that are loaded. Nothing is imported, and no module is asked for anything.

_ARRAYS = ("numpy", "pandas", "pandas.arrays", "pandas.core.arrays.string_", "pandas.core.arrays.string_arrow")

# By the id of a class, which is kept alive with it: the name under which its library holds it.
_known = {}


def held_at(module, name):
    """What a loaded module holds under a name, or `ABSENT`."""
    own = module_dict(module)
    return ABSENT if own is None else stored(own, name)


def array_name(obj):
    """The name of the real type of `obj` if it is one of numpy's or pandas' own that they hold under it; else None."""
    cls = type(obj)
    known = _known.get(id(cls))
    if known is not None:
        return known[1]
    name = class_name(cls)
    for module in _ARRAYS:
        if held_at(module, name) is cls and (module != "numpy" or is_compiled(cls)):
            _known[id(cls)] = (cls, name)
            return name
    return None


# What an adapter says of a value, and how it reads one.


class Unreadable(Exception):
    """A value is not laid out as its adapter expects."""


class Seen:
    """One value, as its adapter reads it.

    `text` is all there is to say of a value without parts. For any other, `label` and `head` say what it is,
    `storage` how to read its items and `fields` what else it holds, as `(name, value)` pairs; items and fields are
    values of any sort, and shown like all others. `sample` stands for `storage` where the text of a value has no room
    for its items. `shape` is a list of extents. `card()` makes the `Card` of a closer look. What has no label is shown
    by its items alone. `own` is for objects of the user's classes on which the card tells only what a library keeps in
    them: the rest of `fields`, shown beside it. What a library does when such an object is called is not shown.
    """

    __slots__ = ("_head", "card", "fields", "label", "own", "sample", "shape", "storage", "text")

    def __init__(
        self, label=None, head="", *, text=None, shape=None, storage=None, sample=None, fields=(), own=None, card=None
    ):
        self.label = label
        self._head = head
        self.text = text
        self.shape = shape
        self.storage = None if storage is None else _careful(storage)
        self.sample = self.storage if sample is None else _careful(sample)
        self.fields = fields
        self.own = own
        self.card = card

    @property
    def head(self):
        """What it is, made only where it is shown if that takes a walk: all sections of a look ask for the adapter."""
        if type(self._head) is not str:
            try:
                self._head = self._head()
            except Exception:
                self._head = "…"
        return self._head


class Card:
    """What a closer look adds: lines of facts, and the first rows of a table as lists of cells under a header."""

    __slots__ = ("facts", "header", "rows")

    def __init__(self, facts, header=(), rows=()):
        self.facts = facts
        self.header = header
        self.rows = rows


class Said:
    """A cell whose text is known already."""

    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text


UNREAD = Said("…")
"""A cell that is not read."""


class Part:
    """A part of a value that is read on its own, such as a row of an array or a column of a table."""

    __slots__ = ("seen",)

    def __init__(self, seen):
        self.seen = seen


def _careful(storage):
    """A storage whose items are said not to be shown where reading them fails: in a look nothing else may fail."""

    def take(value, start, count):
        try:
            return storage.take(value, start, count)
        except Exception:
            pairs = storage.shape == "mapping"
            left = max(0, min(count, storage.length(value) - start))
            return [(UNREAD, UNREAD) if pairs else UNREAD] * left

    return Storage(storage.shape, (storage.opening, storage.closing), storage.length, take, storage.empty)


def listed(length, take, brackets=("[", "]")):
    """The `Storage` of a value that holds `length` items; `take(start, count)` reads them."""
    return Storage("sequence", brackets, lambda _: length, lambda _, start, count: take(start, count))


def field(obj, name):
    """What `obj` stores under `name`: in its dict, or where its compiled class keeps it. Raises `Unreadable`."""
    value = own_field(obj, name)
    if value is ABSENT:
        value = compiled_field(obj, name)
    if value is ABSENT:
        raise Unreadable(name)
    return value


def compiled_field(obj, name):
    """What a getter that is compiled into a class of `obj` reads, or `ABSENT`."""
    place = class_lookup(type(obj), name)
    if place is None or not exactly(place[1], (GetSetDescriptorType, MemberDescriptorType)):
        return ABSENT
    owner, descriptor = place
    return read_member(descriptor, obj) if descriptor.__objclass__ is owner else ABSENT


def method(obj, name):
    """The compiled method of `obj`, bound to it; one that somebody has put in its place raises `Unreadable`."""
    place = class_lookup(type(obj), name)
    if place is None or type(place[1]) is not MethodDescriptorType or place[1].__objclass__ is not place[0]:
        raise Unreadable(name)
    return place[1].__get__(obj)


def whole(number):
    """`number`, if it is an exact int. Raises `Unreadable`."""
    if type(number) is not int:
        raise Unreadable("a number")
    return number


def bare(text):
    """A name as it stands in a line: with quotes and escapes only where it would disturb the line."""
    text = clean(text[:NAME_MAX_CHARS])
    return text if text.isprintable() and text else repr(text)


def in_bytes(count):
    """`17 bytes`, `24.0 kB`, `1.5 GB`."""
    if count < 1000:
        return f"{count} bytes"
    size = float(count)
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} TB"


def counted(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
