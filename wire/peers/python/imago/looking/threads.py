"""Threads and tasks: their stacks, what a task awaits, and what each does."""

import re
import sys
import threading
from itertools import islice

from imago.looking.fields import ABSENT, class_label, clean, cut, stored
from imago.looking.frames import (
    function_name,
    is_ours,
    is_own,
    library_file,
    line_of,
    outwards,
    shown_locals,
    suspended_variables,
    variables,
    whose,
)
from imago.looking.locks import Locks
from imago.looking.outcomes import found
from imago.looking.running import doubted
from imago.looking.source import file_of, name_of, shown_file
from imago.looking.rendering import static_text
from imago.looking.tasks import MOST, Asyncio
from imago.looking.waiting import thread_ident, thread_names, what_thread_waits_for

# What a task waits for: told by the functions of asyncio that it is suspended in, or by its future.

_ITS_TURN = "its turn on the event loop"
_CHILDREN = 3
_TASK_NAME = 100


def what_task_waits_for(asyncio, task, holder_of):
    """A clause such as `asyncio.sleep(30)`, `asyncio.Queue.get` or `the task 'Task-7'`; None where nothing tells."""
    if task.waiter is None or asyncio.pending(task.waiter) is False:
        return _ITS_TURN
    return _by_frames(asyncio, task, holder_of) or _by_future(asyncio, task.waiter)


def _by_frames(asyncio, task, holder_of):
    """By the innermost function of asyncio that it offers to others; None where the innermost frame is none of it."""
    for frame in reversed(task.frames):
        code = frame.f_code
        file = library_file(code)
        if file is None or not file.startswith("asyncio/"):
            return None
        name = name_of(code)
        if name.startswith("_") and not name.startswith("__a") or file == "asyncio/futures.py":
            continue
        names = suspended_variables(frame)
        receiver = stored(names, "self")
        if receiver is not ABSENT:
            held = holder_of(receiver) if (file, name) == ("asyncio/locks.py", "acquire") else ""
            return cut(f"asyncio.{class_label(type(receiver)).rpartition('.')[2]}.{name}{held}", 400)
        return f"asyncio.{name}({_argument(asyncio, name, names)})"
    return None


def _argument(asyncio, function, names):
    """The argument that tells what is waited for, as far as it is known which one does."""
    if function == "sleep":
        delay = stored(names, "delay")
        return "" if delay is ABSENT else static_text(delay, 40)
    if function == "wait_for":
        name = asyncio.name_of(stored(names, "fut"))
        return "" if name is None else f"the task {cut(name, _TASK_NAME)!r}"
    return ""


def _by_future(asyncio, future):
    name = asyncio.name_of(future)
    if name is not None:
        return f"the task {cut(name, _TASK_NAME)!r}"
    children = asyncio.children_of(future)
    if children is not None:
        return _of_gather(asyncio, children)
    return "a future" if asyncio.pending(future) else f"an instance of {class_label(type(future))}"


def _of_gather(asyncio, children):
    left = [one for one in list(children) if asyncio.pending(one)]
    names = [cut(asyncio.name_of(one) or "a future", _TASK_NAME) for one in left[:_CHILDREN]]
    if len(left) > len(names):
        names.append("…")
    return f"asyncio.gather of {len(children)}, of which {len(left)} have not ended: {', '.join(names)}"


# Stacks of threads and tasks: those that stand at the same lines are told once.

_DEEPEST = 20_000
_NAMES = 8
_FRAMES_WITH_LOCALS = 8
_NOT_ALL_LOCALS = f"Locals are shown of the innermost {_FRAMES_WITH_LOCALS} frames of a stack"
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
        lines = tuple([(id(frame.f_code), line) for frame, line in self.stack])
        return self.role, self.task is not None and self.task.running, lines

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


def walked(frame):
    """`(frame, line)` from the outermost frame to this one; of a stack without an end, the inner part."""
    stack = [(one, one.f_lineno) for one in islice(outwards(frame), _DEEPEST)]
    return stack[::-1]


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
    """Shows stacks for one look: `most` frames of each, with or without their locals. `notes` say what is left out.

    Locals are those of the program's own frames; with `of_all`, of those of installed libraries too.
    """

    def __init__(self, most, with_locals, of_all=False):
        self._most = most
        self._with_locals = with_locals
        self._of_all = of_all
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
        """The runs that are shown, and how many frames are not: of a long stack, the program's own and the inner end."""
        left = max(0, len(runs) - self._most)
        if not left:
            return runs, 0
        outer = self._most // 3
        foreign = [at for at, (frame, _, _) in enumerate(runs) if at >= outer and not is_own(frame)]
        gone = set(foreign[: min(left, len(foreign) - (len(runs) - 1 in foreign))])
        gone.update([at for at in range(outer, len(runs) - 1) if at not in gone][: left - len(gone)])
        shown = [run for at, run in enumerate(runs) if at not in gone]
        return shown, sum(runs[at][2] for at in gone)

    def _frames(self, one, runs):
        wanted = set()
        if self._with_locals and one.role != "imago":
            able = [at for at, (frame, _, _) in enumerate(runs) if self._has_locals(frame)]
            wanted = set(able[-_FRAMES_WITH_LOCALS:])
            whose_frames = "Python's" if self._of_all else "libraries'"
            said = f"{_NOT_ALL_LOCALS}, {whose_frames} left out."
            self.notes = self.notes or ([said] if len(able) > len(wanted) else [])
        suspended = one.task is not None and not one.task.running
        read = suspended_variables if suspended else variables
        return [
            self._frame(run, shown_locals(read(run[0])) if at in wanted else ([], 0)) for at, run in enumerate(runs)
        ]

    def _has_locals(self, frame):
        return library_file(frame.f_code) is None if self._of_all else is_own(frame)

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
            **whose(frame),
            **doubted(code, frame.f_globals),
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


# The stack of every thread and of every task of asyncio, at this moment, while the program goes on.
#
# Everything is read between two steps of the program's other threads, and may be out of date with the next: what ends
# meanwhile is left out or shown as it last was, and nothing that changes makes the look fail.

_MOST_STACKS = 500
_MOST_FRAMES = 200
_SCRIPTS = "scripts.py"
_AWAITS = "awaiting.py"
_NOT_SHOWN = (
    ("greenlet", "greenlet is loaded: greenlets that are switched out (gevent, eventlet) are not shown."),
    ("trio", "trio is loaded: its tasks are not shown, only the threads that they run on."),
)


def threads(_image, query):
    """`Looked<Threads>`; `query` has `filter`, `limit`, `frames`, `locals` and `all` of the contract."""
    limit = max(1, min(query["limit"], _MOST_STACKS))
    notes = [note for module, note in _NOT_SHOWN if stored(sys.modules, module) is not ABSENT]
    names = thread_names()
    stacks = {ident: walked(frame) for ident, frame in sys._current_frames().items()}
    asyncio = Asyncio.loaded()
    main = _main_ident(stacks)
    names.setdefault(main, "MainThread")
    by_ident = {ident: _thread(ident, stack, names, main) for ident, stack in stacks.items()}
    standing = list(by_ident.values())
    tasks = [] if asyncio is None else [_task(task, stacks) for task in asyncio.tasks()]
    locks = Locks([*standing, *tasks], by_ident)
    notes += _blocked(standing, tasks)
    if len(tasks) >= MOST:
        notes.append(f"There are {asyncio.count()} tasks; the first {MOST} of them were looked at.")
    wanted = query.get("filter")
    if wanted is not None:
        notes.append(f"Filtered: {_programs(standing)} threads and {len(tasks)} tasks are alive in all.")
        standing, tasks = filtered(standing, wanted), filtered(tasks, wanted)

    def thread_state(one):
        if not one.stack:
            return "waiting", "something to evaluate"
        waits, text = what_thread_waits_for(_inwards(one), lambda lock: locks.holder(lock, one))
        return ("waiting" if waits else "running"), text

    def task_state(one):
        if one.task.running:
            return "running", None
        return "waiting", what_task_waits_for(asyncio, one.task, lambda lock: locks.holder(lock, one))

    show = Shower(max(1, min(query["frames"], _MOST_FRAMES)), query["locals"], query.get("all", False))
    groups, task_groups = grouped(standing), grouped(tasks)
    shown = groups[: max(limit - len(task_groups), limit // 2, 1)]
    shown_tasks = task_groups[: limit - len(shown)]
    thread_stacks = [show.stack(group, thread_state) for group in shown]
    task_stacks = [show.stack(group, task_state) for group in shown_tasks]
    deadlocks, likely = locks.circles()
    return found(
        {
            "threads": thread_stacks,
            "tasks": task_stacks,
            "threads_total": _programs(standing),
            "tasks_total": len(tasks),
            "omitted": sum(group[0].role != "imago" for group in groups[len(shown) :])
            + len(task_groups)
            - len(shown_tasks),
            "deadlocks": deadlocks,
            "likely_deadlocks": likely,
            "notes": notes + show.notes,
        }
    )


def _inwards(one):
    """The frames of a thread, innermost first."""
    return [frame for frame, _ in reversed(one.whole)]


def _blocked(standing, tasks):
    """A note on each event loop whose thread waits within a task: nothing else runs on it."""
    for task in tasks:
        if not task.task.running or not task.task.frames:
            continue
        for thread in standing:
            if any(frame is task.task.frames[0] for frame, _ in thread.whole):
                waits, text = what_thread_waits_for(_inwards(thread), lambda _lock: "")
                if waits:
                    yield (
                        f"The event loop of {thread.name} is blocked: its task {task.name!r} is in {text or 'a call'}, "
                        f"which does not await. Of {len(tasks)} tasks no other runs."
                    )


def _main_ident(stacks):
    """The main thread by its number; with gevent, which has other numbers, by where it began, or as the oldest."""
    known = thread_ident(threading._main_thread)
    if known in stacks:
        return known
    for ident, stack in stacks.items():
        code = stack[0][0].f_code
        if name_of(code) == "<module>" or library_file(code) == "runpy.py":
            return ident
    # In a hub of gevent it does not stand in its first frame; but the interpreter tells the oldest thread last.
    return next(reversed(stacks), known)


def _thread(ident, stack, names, main):
    name = names.get(ident) or f"thread {ident} (not made by threading)"
    return Standing(name, _role(stack, name, ident == main), stack, None)


def _role(stack, name, is_main):
    """Which thread it is. One evaluates if code of ours that is not the runner of scripts has other code beneath it."""
    ours = None
    for frame, _ in stack:
        code = frame.f_code
        if is_ours(code):
            ours = code
            if name_of(code) == "run" and file_of(code).endswith(_AWAITS):
                return "evaluating"
        elif ours is not None and not file_of(ours).endswith(_SCRIPTS) and library_file(code) is None:
            return "evaluating"
    if is_main:
        return "main"
    return "imago" if name.startswith("imago-") else "user"


def _task(task, stacks):
    """A task that runs stands where the thread that runs it does, from its own first frame on."""
    stack = [(frame, frame.f_lineno) for frame in task.frames]
    if task.running and task.frames:
        for thread in stacks.values():
            for at, (frame, _) in enumerate(thread):
                if frame is task.frames[0]:
                    stack = thread[at:]
    return Standing(cut(clean(task.name), 200), "user", stack, task)


def _programs(standing):
    """How many are not Imago's own."""
    return sum(one.role != "imago" for one in standing)
