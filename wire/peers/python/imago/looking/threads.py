"""The stack of every thread and of every task of asyncio, at this moment, while the program goes on.

Everything is read between two steps of the program's other threads, and may be out of date with the next: what ends
meanwhile is left out or shown as it last was, and nothing that changes makes the look fail.
"""

import sys
import threading

from imago import native
from imago.looking.awaited import what_task_waits_for
from imago.looking.codes import file_of, name_of
from imago.looking.fields import ABSENT, clean, cut, entries, stored
from imago.looking.frames import is_ours, library_file
from imago.looking.outcomes import found
from imago.looking.stacks import Shower, Standing, filtered, grouped, walked
from imago.looking.tasks import MOST, Asyncio
from imago.looking.waiting import thread_ident, thread_name, what_thread_waits_for

_MOST_STACKS = 500
_MOST_FRAMES = 200
_SCRIPTS = "scripts.py"
_AWAITS = "awaiting.py"
_NOT_SHOWN = (
    ("greenlet", "greenlet is loaded: greenlets that are switched out (gevent, eventlet) are not shown."),
    ("trio", "trio is loaded: its tasks are not shown, only the threads that they run on."),
)


def threads(_image, query):
    """`Looked<Threads>`; `query` has `filter`, `limit`, `frames` and `locals` of the contract."""
    limit = max(1, min(query["limit"], _MOST_STACKS))
    notes = [note for module, note in _NOT_SHOWN if stored(sys.modules, module) is not ABSENT]
    names = _names()
    stacks = {ident: walked(frame) for ident, frame in sys._current_frames().items()}
    asyncio = Asyncio.loaded()
    main = _main_ident(stacks)
    names.setdefault(main, "MainThread")
    standing = [_thread(ident, stack, names, main) for ident, stack in stacks.items()]
    tasks = [] if asyncio is None else [_task(task, stacks) for task in asyncio.tasks()]
    if len(tasks) >= MOST:
        notes.append(f"There are {asyncio.count()} tasks; the first {MOST} of them were looked at.")
    wanted = query.get("filter")
    if wanted is not None:
        notes += _left_out(_programs(standing), len(tasks))
        standing, tasks = filtered(standing, wanted), filtered(tasks, wanted)

    def thread_state(one):
        if not one.stack:
            return "waiting", "something to evaluate"
        waits, text = what_thread_waits_for([frame for frame, _ in reversed(one.whole)], names)
        return ("waiting" if waits else "running"), text

    def task_state(one):
        return ("running", None) if one.task.running else ("waiting", what_task_waits_for(asyncio, one.task))

    show = Shower(max(1, min(query["frames"], _MOST_FRAMES)), query["locals"])
    groups, task_groups = grouped(standing), grouped(tasks)
    shown = groups[: max(limit - len(task_groups), limit // 2, 1)]
    shown_tasks = task_groups[: limit - len(shown)]
    thread_stacks = [show.stack(group, thread_state) for group in shown]
    task_stacks = [show.stack(group, task_state) for group in shown_tasks]
    return found(
        {
            "threads": thread_stacks,
            "tasks": task_stacks,
            "threads_total": _programs(standing),
            "tasks_total": len(tasks),
            "omitted": len(groups) + len(task_groups) - len(shown) - len(shown_tasks),
            "notes": notes + show.notes,
        }
    )


def _names():
    """The names of our threads, and of those that Python knows as their objects store them, by ident."""
    names = native.names()
    for ident, thread in entries(threading._active):
        name = thread_name(thread)
        if name is not None and type(ident) is int:
            names[ident] = name
    return names


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
    name = names.get(ident)
    label = name or f"thread {ident} (not made by threading)"
    return Standing(label, _role(stack, name, ident == main), stack, None)


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
    if name == "imago-eval":
        return "evaluating"
    if is_main:
        return "main"
    return "imago" if name is not None and name.startswith("imago-") else "user"


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


def _left_out(threads_alive, tasks_alive):
    return [f"Filtered: {threads_alive} threads and {tasks_alive} tasks are alive in all."]
