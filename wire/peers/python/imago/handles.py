"""Short names for values and texts of this image, so that a model can come back to them.

A handle is `@<first 4 of the epoch>.<number>`. Numbers are never used twice in one epoch, so a handle means one thing
or nothing: `find` tells a handle of another epoch from one that has made room for newer ones.
"""

import collections
import re
import sys

from imago import native
from imago.looking.outcomes import StaleHandle
from imago.looking.sizes import ALONE, bytes_of

_SHAPE = re.compile(r"@([0-9a-z]{1,8})\.([0-9]{1,15})")

CAPACITY = 512
#: Bytes that handles alone may keep alive. What takes fewer than SMALL is not counted.
MOST_BYTES = 64 * 1024 * 1024
SMALL = 16 * 1024


class Entry:
    """What a handle stands for: `value` itself if `kind` is `value` or `text`, else the `items`, the `repr` or the
    `doc` of it."""

    __slots__ = ("kind", "number", "size", "value")

    def __init__(self, kind, value, number, size):
        self.kind = kind
        self.value = value
        self.number = number
        #: In bytes, as far as they can be told.
        self.size = size


class Handles:
    """The last 512 things that were given a handle. The least recently used makes room. Any thread may call.

    What takes more than 64 MB together makes room earlier, as far as it is their handles that keep it alive: what the
    program holds itself costs nothing here. The newest of the large ones is kept, however large it is.
    """

    def __init__(self, epoch):
        #: What tells the names of this image from those of others.
        self.prefix = epoch[:4]
        self._lock = native.RLock()
        self._issued = 0
        self._entries = {}  # number -> Entry, least recently used first
        self._numbers = {}  # (kind, id of the value) -> number: one thing keeps one handle
        self._size = 0  # Of all entries: below MOST_BYTES nothing has to be looked at.
        self._retired = collections.deque()
        self._retired_size = 0
        self._lent = {}  # number -> for what: handles that are only good while that lasts
        self._ends = {}  # number -> why it has ended, where not because of newer ones

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
                taken.append(self._take(number, f"it was of {to}, which has ended"))
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
            issued, end = self._issued, self._ends.get(number)
        if end is not None:
            raise StaleHandle(handle, end)
        if 0 < number <= issued:
            raise StaleHandle(handle, f"it has made room for newer ones; the last {CAPACITY} are kept")
        raise StaleHandle(handle, "this kernel never gave it out")

    def let_go(self):
        """Drops what has made room. Its finalizers may run, so this is for the thread that evaluates."""
        if not self._retired:
            return
        with self._lock:
            retired, self._retired = self._retired, collections.deque()
            self._retired_size = 0
        retired.clear()

    def retire(self, value, size):
        """Drops a value of so many bytes that was kept without a handle where `let_go` drops those that had one."""
        with self._lock:
            self._retire_entry(Entry("value", value, 0, size))

    def __len__(self):
        return len(self._entries)

    def _keep(self, kind, value, lent_to=None):
        size = bytes_of(value)
        with self._lock:
            number = self._numbers.get((kind, id(value)))
            if number is not None:
                if lent_to is None:
                    self._lent.pop(number, None)
                entry = self._entries[number] = self._entries.pop(number)
                self._size += size - entry.size
                entry.size = size
            else:
                number = self._issued = self._issued + 1
                self._entries[number] = Entry(kind, value, number, size)
                self._size += size
                self._numbers[kind, id(value)] = number
                if lent_to is not None:
                    self._lent[number] = lent_to
                if len(self._entries) > CAPACITY:
                    self._retire_entry(self._take(next(iter(self._entries))))
            if self._size > MOST_BYTES:
                self._make_room(value)
            return f"@{self.prefix}.{number}"

    def _make_room(self, newest):
        """Retires the oldest values that nothing but handles keeps alive, until the rest are within the bound."""
        large = [entry for entry in reversed(list(self._entries.values())) if entry.size > SMALL]
        held = collections.Counter(id(entry.value) for entry in large)
        room, kept, outgrown = MOST_BYTES, set(), []
        for entry in large:
            known = id(entry.value)
            if known in kept:
                continue
            if entry.value is not newest and sys.getrefcount(entry.value) >= ALONE + held[known]:
                continue
            room -= entry.size
            if room < 0 and kept:
                outgrown.append(entry.number)
                room += entry.size
            else:
                kept.add(known)
        for number in reversed(outgrown):
            self._retire_entry(self._take(number, _OUTGROWN))

    def _take(self, number, why=None):
        """Takes an entry out. `why` it ended, where newer ones are not the reason."""
        entry = self._entries.pop(number)
        self._size -= entry.size
        self._lent.pop(number, None)
        del self._numbers[entry.kind, id(entry.value)]
        if why is not None:
            self._ends[number] = why
            if len(self._ends) > CAPACITY:
                del self._ends[next(iter(self._ends))]
        return entry

    def _retire_entry(self, entry):
        # Looking runs no user code, and the last reference to an object may run its `__del__`. So what goes is put
        # aside for the next evaluation; only a flood of looks without any, or of bytes, drops it here.
        self._retired.append(entry)
        self._retired_size += entry.size
        while len(self._retired) > CAPACITY or (self._retired_size > MOST_BYTES and len(self._retired) > 1):
            self._retired_size -= self._retired.popleft().size


_OUTGROWN = (
    f"it was large, and has made room for newer ones: handles alone keep {MOST_BYTES // 2**20} MB alive, and the "
    "newest value"
)
