"""Who holds a lock: what the lock itself says, else the one frame that is inside a `with` of it.

A plain lock keeps no owner, and neither does a lock of asyncio: a frame counts as the holder where nothing in it, and
nothing that it has called, may have released the lock since. Paths to locks are followed through stored fields alone.
"""

import dis
import re
import sys
from _thread import LockType, RLock

from imago.looking.fields import ABSENT, class_label, own_field, plain
from imago.looking.frames import function_name, library_file
from imago.looking.outcomes import Unresolved
from imago.looking.source import exact, instructions, name_of, shown_file
from imago.looking.waiting import LONGEST, acquires_for_good, entering, followed, loads

_ENTERS_BEFORE_3_11 = ("SETUP_WITH", "SETUP_ASYNC_WITH")
_EXCEPT_START = dis.opmap["WITH_EXCEPT_START"]
_HANDLER = ["PUSH_EXC_INFO", "WITH_EXCEPT_START"]
_EXIT_BEFORE_3_11 = ["DUP_TOP", "DUP_TOP", "CALL_FUNCTION"]
_RELEASES = ("release", "_release_save")
_CONDITIONS = ("threading.Condition", "asyncio.locks.Condition")
# Frames whose code is gone through for the locks of one look.
_FRAMES = 5000
_NOBODY_KNOWN = " whose holder cannot be told"


class Locks:
    """Holders of locks, for one look: `standing` are threads and tasks, `threads` the first of them by ident."""

    def __init__(self, standing, threads):
        self._standing = standing
        self._threads = threads
        self._inside = {}
        self._codes = {}
        self._frames_left = _FRAMES
        # By who waits for good, one of `standing`: the lock, who holds it, and the place of the innermost frame.
        self._waits = {}

    def holder(self, lock, waiter):
        """`" that two holds"`, `" that two likely holds (app.py:9 in two)"`, or that it cannot be told.

        An empty text where nobody can hold it. `waiter` is the one of `standing` that waits for it.
        """
        told, holder = self._told(lock, waiter)
        if holder is not None and self._is_for_good(waiter):
            self._waits[waiter] = lock, holder, _stands_at(waiter)
        return told

    def circles(self):
        """The names of those that wait for each other for good, in a list for each circle: the certain ones, the likely ones.

        What each waits for has been seen one after the other: a circle counts where all of it is so once more. It is
        likely where one of its locks keeps no owner, or one that may have ended.
        """
        certain, likely, seen = [], [], set()
        for first in self._waits:
            chain, one = [], first
            while one in self._waits and one not in chain:
                chain.append(one)
                one = self._waits[one][1]
            if one is not first or seen & set(chain):
                continue
            seen.update(chain)
            self._inside.clear()
            if all(self._waits_on(one) for one in chain):
                is_sure = all(self._is_its(*self._waits[one][:2]) for one in chain)
                (certain if is_sure else likely).append([one.name for one in chain])
        return certain, likely

    def _waits_on(self, one):
        lock, holder, at = self._waits[one]
        return _stands_at(one) == at and self._told(lock, one)[1] is holder

    def _told(self, lock, waiter):
        """What `holder` says, and who that is or None."""
        owner = _owner(lock)
        if owner is not None:
            holder = self._threads.get(owner)
            if holder is not None:
                others = "" if self._is_its(lock, holder) else ", or one before it that has ended"
                return f" that {holder.name} holds{others}", holder
            ended = owner not in sys._current_frames()
            return " that a thread which has ended holds" if ended else _NOBODY_KNOWN, None
        if not (lock.locked() if type(lock) is LockType else own_field(lock, "_locked") is True):
            return "", None
        inside = self._those_inside(lock)
        if len({id(frame) for _, frame, _ in inside}) != 1:
            return _NOBODY_KNOWN, None
        # What a task does, the thread that runs it does as well.
        holder, frame, line = min(inside, key=lambda found: (found[0].task is None) != (waiter.task is None))
        file, function = shown_file(frame.f_code).rpartition("/")[2], function_name(frame.f_code).rpartition(".")[2]
        who = "it likely holds itself" if holder is waiter else f"{holder.name} likely holds"
        return f" that {who} ({file}:{line} in {function})", holder

    def _is_its(self, lock, holder):
        """Whether it is sure to hold the lock: a thread may have the number of an owner that has ended."""
        if _owner(lock) is None:
            return False
        return holder.role == "main" or any(one is holder for one, _, _ in self._those_inside(lock))

    def _those_inside(self, lock):
        """`(one, frame, line)` of each frame that is inside a `with` of a lock; of a plain lock there is one at most."""
        known = self._inside.get(id(lock))
        if known is None:
            found = [
                (one, frame, line)
                for one in self._standing
                for at, (frame, line) in enumerate(one.stack)
                if self._enters(frame, lock) and not any(self._may_release(inner, lock) for inner, _ in one.stack[at:])
            ]
            known = self._inside[id(lock)] = (lock, found if self._frames_left > 0 else [])
        return known[1]

    def _enters(self, frame, lock):
        found = [_leads_to(frame, path) for path in self._withs(frame) if path is not None]
        return any(one is lock or class_label(type(one)) in _CONDITIONS and own_field(one, "_lock") is lock for one in found)

    def _may_release(self, frame, lock):
        listed = self._listed(frame.f_code)
        paths = [loads(listed[:at]) for at, one in enumerate(listed) if one.argval in _RELEASES]
        # What cannot be followed may be that lock.
        found = [ABSENT if path is None else _leads_to(frame, path) for path in paths]
        return any(one is ABSENT or one is lock or own_field(one, "_lock") is lock for one in found)

    def _is_for_good(self, one):
        """Whether it waits until it has the lock. A task may be in a `with` that gives up for it."""
        if one.task is None:
            return acquires_for_good(one.whole[-1][0])
        paths = [(frame, path) for frame, _ in one.stack for path in self._withs(frame)]
        return not any(
            (library_file(frame.f_code), name_of(frame.f_code)) == ("asyncio/tasks.py", "wait_for") for frame, _ in one.stack
        ) and all(path is not None and own_field(_leads_to(frame, path), "_locked") is not ABSENT for frame, path in paths)

    def _withs(self, frame):
        """The path of each `with` that a frame is inside of; None where it is no path, or may lead elsewhere by now."""
        code, last = frame.f_code, frame.f_lasti
        listed = self._listed(code)
        if not listed or self._frames_left <= 0:
            return []
        self._frames_left -= 1
        entered = _withs(code, listed, last)
        return [_lasting(loads(before), listed[len(before) :]) if before else None for before in entered]

    def _listed(self, code):
        """The instructions of code that enters a `with` or releases a lock; else none."""
        if id(code) not in self._codes:
            opcodes = exact(code.co_code)[::2]
            matters = _EXCEPT_START in opcodes or any(plain(name) in _RELEASES for name in exact(code.co_names))
            listed = instructions(code) if matters and len(opcodes) <= LONGEST else []
            self._codes[id(code)] = (code, [one for one in listed if one.opname != "CACHE"])
        return self._codes[id(code)][1]


def _stands_at(one):
    frame = one.stack[-1][0]
    return id(frame), frame.f_lasti


def _leads_to(frame, path):
    try:
        return followed(frame, *path)
    except Unresolved:
        return ABSENT


def _lasting(path, after):
    """A path, unless one of its names is bound again in the instructions after it."""
    if path is None:
        return None
    names = {path[0][0], *path[1]}
    for one in after:
        if one.opname.startswith(("STORE_", "DELETE_")):
            bound = one.argval if type(one.argval) is tuple else (one.argval,)
            if names.intersection(name for name in bound if type(name) is str):
                return None
    return path


def _withs(code, listed, last):
    """Of each `with` whose body has the instruction at `last`: the instructions before it enters, innermost first."""
    if sys.version_info < (3, 11):
        for at, one in reversed(list(enumerate(listed))):
            if one.opname in _ENTERS_BEFORE_3_11 and one.offset < last < one.argval:
                inside = [other.opname for other in listed[at:] if other.offset <= last]
                # Where an `__exit__` has been called on a way that leaves the body.
                exits = any(inside[at : at + 3] == _EXIT_BEFORE_3_11 for at in range(len(inside)))
                yield None if exits else entering(listed[: at + 1])
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
