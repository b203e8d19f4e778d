"""Threads, locks, queues, tasks and processes: how far they are, from what they store. None of them is asked."""

from _thread import LockType
from types import CodeType, CoroutineType, FrameType

from imago.looking.adapters.adapter import Said, Seen, counted, field, held_at, listed
from imago.looking.contents import storage_of
from imago.looking.fields import class_label, class_name, clean, cut, instance_fields, own_field, plain
from imago.looking.limits import NAME_MAX_CHARS

_MOST_FIELDS = 200
_MOST_WORDS = 50
_FIELDS_OF_THREADS = frozenset(
    "_target _name _args _kwargs _daemonic _ident _native_id _tstate_lock _started _is_stopped _initialized _stderr "
    "_invoke_excepthook _handle _context _os_thread_handle".split()
)


def see_thread(thread):
    """A `threading.Thread`, or an instance of a user class that is built on it, with the fields that are its own."""
    fields = dict(instance_fields(thread, _MOST_FIELDS))
    facts = [_quoted(fields.get("_name")), _progress(fields)]
    if type(fields.get("_ident")) is int:
        facts.append(f"ident {fields['_ident']}")
    if fields.get("_daemonic") is True:
        facts.append("daemon")
    own = [(name, one) for name, one in fields.items() if name not in _FIELDS_OF_THREADS]
    target = [("target", fields["_target"])] if fields.get("_target") is not None else []
    return Seen(class_label(type(thread)), ", ".join(facts), fields=target + own)


def _progress(fields):
    """`alive` or `ended`. Until 3.12 a thread that has ended is told by a lock of its own, which is let go then."""
    started = fields.get("_started")
    if started is None or own_field(started, "_flag") is not True:
        return "not started"
    lock, handle = fields.get("_tstate_lock"), fields.get("_os_thread_handle", fields.get("_handle"))
    if handle is not None and held_at("_thread", "_ThreadHandle") is type(handle):
        return "ended" if type(handle).__dict__["is_done"].__get__(handle)() else "alive"
    if fields.get("_is_stopped") is True or (type(lock) is LockType and not lock.locked()):
        return "ended"
    return "alive"


def _see_lock(lock):
    return Seen("_thread.lock", "locked" if lock.locked() else "not locked")


def _see_reentrant_lock(lock):
    """Its own compiled printer is the only one who tells: `<locked _thread.RLock object owner=7 count=1 at …>`."""
    words = type(lock).__repr__(lock).lstrip("<").split()
    if words[0] == "unlocked":
        return Seen("_thread.RLock", "not locked")
    facts = [word.replace("=", " ") for word in words if word.startswith(("owner=", "count="))]
    return Seen("_thread.RLock", ", ".join(["locked", *facts]))


def _see_event(event):
    return Seen("threading.Event", "set" if field(event, "_flag") is True else "not set")


def _see_semaphore(semaphore):
    return Seen(class_label(type(semaphore)), fields=[("value", field(semaphore, "_value"))])


def _see_queue(label, items, sizes):
    """A queue by the container that it stores its items in, which is where an exact one has them."""

    def see(value):
        held = field(value, items)
        storage = storage_of(held)
        if storage is None:
            return None
        length = storage.length(held)
        fields = [(name.lstrip("_"), field(value, name)) for name in sizes]
        return Seen(
            label,
            counted(length, "item"),
            storage=listed(length, lambda *some: storage.take(held, *some)),
            fields=[(name, one) for name, one in fields if name == "maxsize" or type(one) is not int or one != 0],
        )

    return see


def _see_simple_queue(value):
    return Seen("queue.SimpleQueue", counted(type(value).qsize(value), "item"))


def _see_future(future):
    """A task or a future of asyncio's compiled code. What it failed with counts as unread afterwards, as before."""
    facts, fields = [], []
    name = _told(future, "get_name")
    if type(name) is str:
        facts.append(_quoted(name))
    state = field(future, "_state")
    facts.append(clean(state).lower() if type(state) is str else "?")
    coroutine = _told(future, "get_coro")
    if coroutine is not None:
        facts.append(f"of {_place(coroutine)}")
    error = field(future, "_exception")
    if state == "FINISHED" and error is None:
        fields.append(("result", field(future, "_result")))
    elif error is not None:
        fields.append(("exception", error))
    waits = field(future, "_fut_waiter") if coroutine is not None else None
    if waits is not None:
        fields.append(("waits_for", waits))
    return Seen(f"asyncio.{class_name(type(future))}", ", ".join(facts), fields=fields)


def _told(future, name):
    method = type(future).__dict__.get(name)
    return None if method is None else method.__get__(future)()


def _place(coroutine):
    """`fetch at app.py:12` of a coroutine of Python's own."""
    if type(coroutine) is not CoroutineType:
        return f"<{class_label(type(coroutine))}>"
    name = cut(plain(coroutine.__qualname__) or "?", NAME_MAX_CHARS)
    frame, code = coroutine.cr_frame, coroutine.cr_code
    if type(frame) is not FrameType or type(code) is not CodeType:
        return name
    return f"{name} at {cut(plain(code.co_filename) or '?', NAME_MAX_CHARS)}:{frame.f_lineno}"


def _see_process(process):
    """A child by what is stored of it: it is not polled, so that one nobody has waited for may have ended."""
    code = field(process, "returncode")
    if type(code) is int:
        state = f"ended with {code}"
    else:
        state = "not waited for yet"
    pid = field(process, "pid")
    return Seen("subprocess.Popen", f"pid {pid}, {state}" if type(pid) is int else state, fields=_args(process))


def _args(process):
    """The command, spelled out where it is a list of plain texts."""
    args = field(process, "args")
    if type(args) is list and all(type(one) is str for one in args[:_MOST_WORDS]):
        words = [one[:NAME_MAX_CHARS] for one in args[:_MOST_WORDS]]
        return [("args", Said(cut(repr(words), NAME_MAX_CHARS)))]
    return [("args", args)]


def _quoted(name):
    text = plain(name)
    return "unnamed" if text is None else repr(cut(text, NAME_MAX_CHARS))


_OF_THREADS = ("queue", ("maxsize", "unfinished_tasks"))
_OF_TASKS = ("_queue", ("_maxsize", "_unfinished_tasks"))
_NAMES = ("Queue", "LifoQueue", "PriorityQueue")

TYPES = (
    (("_thread", "LockType"), "lock", _see_lock, None),
    ("_thread", "RLock", _see_reentrant_lock, None),
    ("threading", "Event", _see_event, None),
    ("threading", "Semaphore", _see_semaphore, None),
    ("threading", "BoundedSemaphore", _see_semaphore, None),
    *(("queue", name, _see_queue(f"queue.{name}", *_OF_THREADS), None) for name in _NAMES),
    *(("asyncio", name, _see_queue(f"asyncio.{name}", *_OF_TASKS), None) for name in _NAMES),
    ("_queue", "SimpleQueue", _see_simple_queue, None),
    ("_asyncio", "Task", _see_future, None),
    ("_asyncio", "Future", _see_future, None),
    ("subprocess", "Popen", _see_process, None),
)

FAMILIES = (("threading", "Thread", see_thread),)
