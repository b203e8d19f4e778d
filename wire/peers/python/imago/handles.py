"""Short names for values and texts of this image, so that a model can come back to them.

A handle is `@<first 4 of the epoch>.<number>`. Numbers are never used twice in one epoch, so a handle means one thing
or nothing: `find` tells a handle of another epoch from one that has made room for newer ones.
"""

import re

from imago import native

_SHAPE = re.compile(r"@([0-9a-z]{1,8})\.([0-9]{1,15})")

CAPACITY = 512


class StaleHandle(LookupError):
    """The handle leads nowhere any more. `because` says why, as the end of a sentence about it."""

    def __init__(self, handle, because):
        super().__init__(f"{handle}: {because}")
        self.handle = handle
        self.because = because


class Entry:
    """What a handle stands for: `value` itself if `kind` is `value` or `text`, else the `items`, the `repr` or the
    `doc` of it."""

    __slots__ = ("kind", "number", "value")

    def __init__(self, kind, value, number):
        self.kind = kind
        self.value = value
        self.number = number


class Handles:
    """The last 512 things that were given a handle. The least recently used makes room. Any thread may call."""

    def __init__(self, epoch):
        #: What tells the names of this image from those of others.
        self.prefix = epoch[:4]
        self._lock = native.RLock()
        self._issued = 0
        self._entries = {}  # number -> Entry, least recently used first
        self._numbers = {}  # (kind, id of the value) -> number: one thing keeps one handle
        self._retired = []
        self._lent = {}  # number -> for what: handles that are only good while that lasts
        self._returned = {}  # number -> for what it was good

    def keep_value(self, value):
        """A handle for a value, the same one as long as it is kept."""
        return self._keep("value", value)

    def lend_value(self, value, to):
        """A handle for a value, which `take_back(to)` ends, unless the value is given one for good before."""
        return self._keep("value", value, to)

    def take_back(self, to):
        """Ends the handles that were lent to `to`. Returns their entries: finalizers may run when those are dropped."""
        with self._lock:
            numbers = [number for number, lent_to in self._lent.items() if lent_to == to]
            taken = []
            for number in numbers:
                del self._lent[number]
                entry = self._entries.pop(number)
                del self._numbers[entry.kind, id(entry.value)]
                taken.append(entry)
                self._returned[number] = to
            while len(self._returned) > CAPACITY:
                del self._returned[next(iter(self._returned))]
            return taken

    def keep_items(self, container):
        """A handle for the items of a container, to be read on by position."""
        return self._keep("items", container)

    def keep_repr(self, value):
        """A handle for the static text of a value. The text is only made when somebody asks for it."""
        return self._keep("repr", value)

    def keep_doc(self, value):
        """A handle for the stored doc string of a value."""
        return self._keep("doc", value)

    def keep_text(self, text):
        """A handle for a text that exists already."""
        return self._keep("text", text)

    def find(self, handle):
        """The entry that a handle stands for, which is then the most recently used. Raises `StaleHandle`."""
        shape = _SHAPE.fullmatch(handle)
        if shape is None:
            raise StaleHandle(handle, "it is not a handle of this kernel")
        prefix, number = shape.group(1), int(shape.group(2))
        if prefix != self.prefix:
            raise StaleHandle(handle, "it belongs to another life of this kernel, or to another kernel")
        with self._lock:
            entry = self._entries.pop(number, None)
            if entry is not None:
                self._entries[number] = entry
                return entry
            issued, returned = self._issued, self._returned.get(number)
        if returned is not None:
            raise StaleHandle(handle, f"it was of {returned}, which has ended")
        if 0 < number <= issued:
            raise StaleHandle(handle, f"it has made room for newer ones; the last {CAPACITY} are kept")
        raise StaleHandle(handle, "this kernel never gave it out")

    def let_go(self):
        """Drops what has made room. Its finalizers may run, so this is for the thread that evaluates."""
        with self._lock:
            retired, self._retired = self._retired, []
        retired.clear()

    def retire(self, value):
        """Drops a value that was kept without a handle where `let_go` drops those that had one."""
        with self._lock:
            self._retire_entry(Entry("value", value, 0))

    def __len__(self):
        return len(self._entries)

    def _keep(self, kind, value, lent_to=None):
        with self._lock:
            known = self._numbers.get((kind, id(value)))
            if known is not None:
                if lent_to is None:
                    self._lent.pop(known, None)
                self._entries[known] = self._entries.pop(known)
                return f"@{self.prefix}.{known}"
            self._issued += 1
            self._entries[self._issued] = Entry(kind, value, self._issued)
            self._numbers[kind, id(value)] = self._issued
            if lent_to is not None:
                self._lent[self._issued] = lent_to
            if len(self._entries) > CAPACITY:
                self._retire(next(iter(self._entries)))
            return f"@{self.prefix}.{self._issued}"

    def _retire(self, number):
        entry = self._entries.pop(number)
        self._lent.pop(number, None)
        del self._numbers[entry.kind, id(entry.value)]
        self._retire_entry(entry)

    def _retire_entry(self, entry):
        # Looking runs no user code, and the last reference to an object may run its `__del__`. So what goes is put
        # aside for the next evaluation; only a flood of looks without any drops it here.
        self._retired.append(entry)
        if len(self._retired) > CAPACITY:
            self._retired.pop(0)
