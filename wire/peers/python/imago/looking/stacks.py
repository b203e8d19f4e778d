"""Stacks of threads and tasks: those that stand at the same lines are told once."""

import re

from imago.looking.codes import file_of, shown_file
from imago.looking.frames import (
    function_name,
    is_ours,
    library_file,
    line_of,
    shown_locals,
    suspended_variables,
    variables,
)

_DEEPEST = 20_000
_NAMES = 8
_FRAMES_WITH_LOCALS = 8
_NOT_ALL_LOCALS = f"Locals are shown of the innermost {_FRAMES_WITH_LOCALS} frames of a stack, the library's left out."
# How many of a group are asked what they wait for, and how many different answers are told.
_ASKED = 20
_TOLD = 3
_ROLES = ("evaluating", "main", "user", "imago")


class Standing:
    """One thread or task, where it stands: `whole` and `stack` are `(frame, line)` pairs, outermost first.

    `stack` leaves out frames of ours, unless the thread is ours.
    """

    __slots__ = ("name", "role", "stack", "task", "whole")

    def __init__(self, name, role, whole, task):
        self.name = name
        self.role = role
        self.whole = whole
        self.stack = whole if role == "imago" else _without_ours(whole)
        self.task = task

    def place(self):
        return self.role, self.task is not None and self.task.running, tuple(self._lines())

    def has(self, folded):
        """Whether its name, or a function or file that it stands in, contains a text."""
        return folded in self.name.casefold() or any(
            folded in function_name(frame.f_code).casefold() or folded in file_of(frame.f_code).casefold()
            for frame, _ in self.stack
        )

    def order(self):
        """Natural order: `Task-2` comes before `Task-10`."""
        parts = re.split(r"(\d+)", self.name)
        return [int(part) if at % 2 else part for at, part in enumerate(parts)]

    def _lines(self):
        return [(id(frame.f_code), line) for frame, line in self.stack]


def walked(frame):
    """`(frame, line)` from the outermost frame to this one; of a stack without an end, the inner part."""
    stack = []
    while frame is not None and len(stack) < _DEEPEST:
        stack.append((frame, frame.f_lineno))
        frame = frame.f_back
    stack.reverse()
    return stack


def filtered(standing, wanted):
    folded = wanted.casefold()
    return [one for one in standing if one.has(folded)]


def grouped(standing):
    """Lists of those that stand at the same place: running ones and large groups first, then by name."""
    groups = {}
    for one in standing:
        groups.setdefault(one.place(), []).append(one)
    for group in groups.values():
        group.sort(key=Standing.order)
    return sorted(groups.values(), key=_importance)


def _importance(group):
    first = group[0]
    running = first.task is not None and first.task.running
    return _ROLES.index(first.role), not running, -len(group), first.order()


def _without_ours(whole):
    """A stack without frames of ours, and without what the interpreter itself put under the first of them."""
    first = next((at for at, (frame, _) in enumerate(whole) if is_ours(frame.f_code)), None)
    if first is None:
        return whole
    under = [] if all(_starts(frame.f_code) for frame, _ in whole[:first]) else whole[:first]
    return under + [(frame, line) for frame, line in whole[first:] if not is_ours(frame.f_code)]


def _starts(code):
    return library_file(code) in ("runpy.py", "threading.py")


class Shower:
    """Shows stacks for one look: `most` frames of each, with or without their locals. `notes` say what is left out."""

    def __init__(self, most, with_locals):
        self._most = most
        self._with_locals = with_locals
        self.notes = []

    def stack(self, group, state_of):
        """The contract's `Stack` of a group; `state_of(one)` is `(state, what it waits for or None)`."""
        first = group[0]
        asked = [state_of(one) for one in group[:_ASKED]]
        runs, omitted = self._middle_left_out(_folded(first.stack))
        return {
            "names": [one.name for one in group[:_NAMES]],
            "count": len(group),
            "state": asked[0][0],
            "waits_for": _together([text for _, text in asked if text is not None]),
            "role": first.role,
            "frames": self._frames(first, runs),
            "frames_omitted": omitted,
        }

    def _middle_left_out(self, runs):
        """The runs that are shown, and how many frames are not: of a long stack, the inner end tells more."""
        left = max(0, len(runs) - self._most)
        outer = self._most // 3 if left else 0
        omitted = sum(count for _, _, count in runs[outer : outer + left])
        return runs[:outer] + runs[outer + left :], omitted

    def _frames(self, one, runs):
        wanted = set()
        if self._with_locals and one.role != "imago":
            own = [at for at, (frame, _, _) in enumerate(runs) if library_file(frame.f_code) is None]
            wanted = set(own[-_FRAMES_WITH_LOCALS:])
            self.notes = self.notes or ([_NOT_ALL_LOCALS] if len(own) > len(wanted) else [])
        suspended = one.task is not None and not one.task.running
        read = suspended_variables if suspended else variables
        return [
            self._frame(run, shown_locals(read(run[0])) if at in wanted else ([], 0)) for at, run in enumerate(runs)
        ]

    def _frame(self, run, local):
        frame, line, count = run
        code = frame.f_code
        shown = {
            "function": function_name(code),
            "file": shown_file(code),
            "line": line,
            "source": line_of(code, line),
            "locals": local[0],
            "locals_omitted": local[1],
        }
        return shown if count == 1 else {**shown, "repeated": count}


def _folded(stack):
    """`(frame, line, count)` of each run of frames at one line of one function: the innermost, and how many."""
    runs = []
    for frame, line in stack:
        count = 1
        if runs and runs[-1][0].f_code is frame.f_code and runs[-1][1] == line:
            count += runs.pop()[2]
        runs.append((frame, line, count))
    return runs


def _together(texts):
    different = list(dict.fromkeys(texts))
    if len(different) > _TOLD:
        different[_TOLD:] = ["…"]
    return "; ".join(different) or None
