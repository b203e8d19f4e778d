"""The frames that threads and tasks are in at this moment, by names such as `main in MainThread`.

Those of an error that the program had are `price in error 3`, as long as something in the program keeps that.
"""

import re
import sys
from itertools import chain, islice

from imago.looking.fields import clean, cut, plain
from imago.looking.frames import function_name, is_ours, is_own, outwards, suspended_variables, variables
from imago.looking.limits import NEAREST_MAX_NAMES
from imago.looking.outcomes import NotFound, nearest
from imago.looking.source import exact, shown_file
from imago.looking.tasks import Asyncio
from imago.looking.waiting import thread_names

_MOST_TASKS = 2000
_OF_AN_ERROR = re.compile(r"error (\d{1,9})( of process \d{1,9})?")


class LiveFrame:
    """One frame, and the name of the thread or task that is in it."""

    __slots__ = ("frame", "is_suspended", "where")

    def __init__(self, frame, where, is_suspended):
        self.frame = frame
        self.where = where
        self.is_suspended = is_suspended

    @property
    def label(self):
        return f"{function_name(self.frame.f_code).rpartition('.')[2]} in {self.where}"

    def is_of(self, function):
        """Whether its function is called so, in whole or in its last parts: `total`, `Order.total`."""
        return f".{function_name(self.frame.f_code)}".endswith(f".{function}")

    @property
    def place(self):
        return f"{shown_file(self.frame.f_code)}:{self.frame.f_lineno}"

    def may_have(self, name):
        """Whether its code has a variable of that name, which may hold nothing yet."""
        code = self.frame.f_code
        named = (exact(names) for names in (code.co_varnames, code.co_cellvars, code.co_freevars))
        return any(plain(one) == name for names in named for one in names)

    def variables(self):
        """Its variables by name, as a dict of our own; none of a frame at the top level of a module."""
        return suspended_variables(self.frame) if self.is_suspended else variables(self.frame)


def live_frames():
    """Each frame of the program, without those of Imago: stack by stack, each from the innermost frame outwards."""
    names = thread_names()
    for ident, frame in sys._current_frames().items():
        name = names.get(ident, f"thread {ident}")
        for one in outwards(None if name.startswith("imago-") else frame):
            if not is_ours(one.f_code):
                yield LiveFrame(one, name, False)
    asyncio = Asyncio.loaded()
    for task in islice(() if asyncio is None else asyncio.tasks(), _MOST_TASKS):
        for frame in () if task.running else reversed(task.frames):
            yield LiveFrame(frame, cut(clean(task.name), 200), True)


def live_frame(label, errors=None):
    """The frame that `main` or `main in MainThread` names: the innermost of its stack. Raises `Unresolved`.

    Where several stacks have a frame of that name, the thread or task has to be named as well. `errors` are the
    `ProgramErrors` whose frames may be meant.
    """
    function, _, where = label.strip().partition(" in ")
    found, others = {}, {}
    number = _OF_AN_ERROR.fullmatch(where)
    if number is not None:
        frames = [] if errors is None else errors.frames_of(int(number.group(1)))
        standing = [LiveFrame(frame, where, True) for frame in frames]
    else:
        standing = live_frames()
    for one in standing:
        if one.is_of(function) and where in ("", one.where):
            found.setdefault(one.where, one)
        elif is_own(one.frame):
            others.setdefault(one.label)
    if not found:
        noted = () if errors is None or where else islice(errors.frames_called(function), NEAREST_MAX_NAMES)
        near = list(noted) or nearest(label, others) or list(others)[:1]
        raise NotFound(f"`{label}` among the frames that live now", near)
    if len(found) > 1:
        labels = [one.label for one in found.values()][:NEAREST_MAX_NAMES]
        raise NotFound(f"`{label}` as one frame: {len(found)} threads and tasks are in it", labels)
    return next(iter(found.values()))


def frames_with(name, errors=None):
    """The labels of frames of the program that have a local variable of that name, of very many the first.

    After those that live come those of errors, where it was taken down.
    """
    own = (one for one in live_frames() if is_own(one.frame) and one.may_have(name))
    labels = (one.label for one in own if name in one.variables())
    noted = () if errors is None else errors.frames_with(name)
    return list(dict.fromkeys(islice(chain(labels, noted), NEAREST_MAX_NAMES)))
