"""What a task waits for: told by the functions of asyncio that it is suspended in, or by its future."""

from imago.looking.codes import name_of
from imago.looking.fields import ABSENT, class_label, cut, stored
from imago.looking.frames import library_file, suspended_variables
from imago.looking.statictext import static_text

_ITS_TURN = "its turn on the event loop"
_CHILDREN = 3
_TASK_NAME = 100


def what_task_waits_for(asyncio, task):
    """A clause such as `asyncio.sleep(30)`, `asyncio.Queue.get` or `the task 'Task-7'`; None where nothing tells."""
    if task.waiter is None or asyncio.pending(task.waiter) is False:
        return _ITS_TURN
    return _by_frames(asyncio, task) or _by_future(asyncio, task.waiter)


def _by_frames(asyncio, task):
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
            return cut(f"asyncio.{class_label(type(receiver)).rpartition('.')[2]}.{name}", 200)
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
