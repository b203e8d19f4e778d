"""Who holds a lock: what the lock itself says, else the frame that is inside a `with` of it, or behind its `acquire`.

A plain lock keeps no owner, and neither does a lock of asyncio: of these a holder is only likely. Paths to locks are
followed through stored fields alone.
"""

import dis
import re
import sys
from _thread import LockType, RLock

from imago.looking.fields import own_field, plain, stored
from imago.looking.frames import function_name, suspended_variables
from imago.looking.outcomes import Unresolved
from imago.looking.source import exact, instructions, shown_file
from imago.looking.waiting import LONGEST, called, entering, followed, loads

_ENTERS_BEFORE_3_11 = ("SETUP_WITH", "SETUP_ASYNC_WITH")
_EXCEPT_START = dis.opmap["WITH_EXCEPT_START"]
_HANDLER = ["PUSH_EXC_INFO", "WITH_EXCEPT_START"]
# Frames whose code is gone through for the locks of one look.
_FRAMES = 5000


class Locks:
    """Holders of locks, for one look: `standing` are threads and tasks, `threads` the first of them by ident."""

    def __init__(self, standing, threads):
        self._standing = standing
        self._threads = threads
        self._inside = {}
        self._codes = {}
        self._frames_left = _FRAMES
        #: By who waits, one of `standing`: who holds what it waits for, and whether that is certain.
        self._waits = {}

    def holder(self, lock, waiter):
        """`" that two holds"`, `" that two likely holds (app.py:9 in two)"`, or an empty text where nobody is seen.

        `waiter` is the one of `standing` that waits for it.
        """
        owner = _owner(lock)
        if owner is not None:
            if owner not in self._threads:
                return " that a thread which has ended holds"
            self._waits[waiter] = self._threads[owner], True
            return f" that {self._threads[owner].name} holds"
        if type(lock) is LockType and not lock.locked():
            return ""
        # What a task does, the thread that runs it does as well.
        inside = sorted(self._those_inside(lock), key=lambda found: (found[0].task is None) != (waiter.task is None))
        if not inside:
            return ""
        holder, frame, line = inside[0]
        self._waits[waiter] = holder, False
        file, function = shown_file(frame.f_code).rpartition("/")[2], function_name(frame.f_code).rpartition(".")[2]
        who = "it likely holds itself" if holder is waiter else f"{holder.name} likely holds"
        return f" that {who} ({file}:{line} in {function})"

    def circles(self):
        """A sentence for each circle of those that wait for each other."""
        told, seen = [], set()
        for first in self._waits:
            chain, sure = [], True
            one = first
            while one in self._waits and one not in chain:
                chain.append(one)
                one, certain = self._waits[one]
                sure = sure and certain
            if one is not first or seen & set(chain):
                continue
            seen.update(chain)
            pairs = zip(chain, [*chain[1:], first])
            links = ", ".join(f"{one.name} waits for {other.name}" for one, other in pairs)
            likely = "" if sure else "; of a lock without an owner, the likely holder is named"
            told.append(f"Deadlock: {links}{likely}.")
        return told

    def _those_inside(self, lock):
        """`(one, frame, line)` of each frame that has come by a lock and not left it, as its code says."""
        known = self._inside.get(id(lock))
        if known is None:
            found = [
                (one, frame, line)
                for one in self._standing
                for frame, line in reversed(one.stack)
                if any(other is lock for other in self._locks_of(one, frame))
            ]
            known = self._inside[id(lock)] = (lock, found)
        return known[1]

    def _locks_of(self, one, frame):
        """What a frame is inside of a `with` of, or has acquired and not released."""
        for path, is_with in self._paths(frame.f_code, frame.f_lasti):
            try:
                lock = followed(frame, *path)
            except Unresolved:
                continue
            if is_with or not _acquires_now(lock, one, frame):
                yield lock

    def _paths(self, code, last):
        """`((root, attributes), is_with)` of each such lock."""
        if id(code) not in self._codes:
            opcodes = exact(code.co_code)[::2]
            may_hold = len(opcodes) <= LONGEST and (
                _EXCEPT_START in opcodes or any(plain(name) == "acquire" for name in exact(code.co_names))
            )
            listed = [one for one in instructions(code) if one.opname != "CACHE"] if may_hold else []
            self._codes[id(code)] = (code, listed)
        listed = self._codes[id(code)][1]
        if not listed or self._frames_left <= 0:
            return []
        self._frames_left -= 1
        acquired = {}
        for at, one in enumerate(listed):
            if one.offset < last and one.argval in ("acquire", "release"):
                path = loads(listed[:at])
                if path is not None:
                    acquired[path[0], tuple(path[1])] = one.argval == "acquire"
        found = [loads(before) for before in _withs(code, listed, last)]
        return [*((path, True) for path in found if path), *((path, False) for path, has in acquired.items() if has)]


def _acquires_now(lock, one, frame):
    """Whether a frame is in the call that acquires the lock, by itself or in a coroutine that it awaits."""
    here = called(frame)
    if here is not None and here[1] is lock:
        return True
    inner = one.stack[-1][0]
    return one.task is not None and inner is not frame and stored(suspended_variables(inner), "self") is lock


def _withs(code, listed, last):
    """Of each `with` whose body has the instruction at `last`: the instructions before it enters, innermost first."""
    if sys.version_info < (3, 11):
        for at, one in reversed(list(enumerate(listed))):
            if one.opname in _ENTERS_BEFORE_3_11 and one.offset < last < one.argval:
                yield entering(listed[: at + 1])
        return
    if type(code.co_exceptiontable) is not bytes:
        return
    # From each handler on, the table leads to that of the block around it.
    table, at = dis._parse_exception_table(code), last
    names = {one.offset: index for index, one in enumerate(listed)}
    passed = set()
    while True:
        entry = next((one for one in table if one.start <= at < one.end), None)
        if entry is None or entry.target in passed:
            return
        passed.add(entry.target)
        at = entry.target
        index = names.get(at)
        if index is not None and [one.opname for one in listed[index : index + 2]] == _HANDLER:
            start = min(one.start for one in table if one.target == at)
            yield entering([one for one in listed if one.offset < start])


def _owner(lock):
    """The number of the thread that has a reentrant lock; None for one that nobody has, and for any other lock."""
    if type(lock) is RLock:
        found = re.search(r"owner=(\d+)", repr(lock))
        return int(found.group(1)) or None if found else None
    owner = own_field(lock, "_owner")
    return owner if type(owner) is int else None
