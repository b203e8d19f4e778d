"""What a thread waits for: the call that its innermost frame makes."""

import builtins
import dis
import re
import threading
from _thread import RLock
from threading import Thread
from types import BuiltinFunctionType, MethodDescriptorType, MethodType, ModuleType

from imago import native
from imago.looking.attributes import read_attribute
from imago.looking.fields import ABSENT, class_label, class_lookup, clean, cut, entries, inherits, own_field, plain, stored
from imago.looking.frames import function_name, is_ours, library_file, variables
from imago.looking.outcomes import Unresolved
from imago.looking.source import exact, instructions, name_of
from imago.looking.rendering import builtin_label

# What a frame is calling at this moment, read off its bytecode: no interpreter says so of compiled functions.
#
# The loads that put the callee on the stack are found by walking back from the call over what pushes its arguments.
# Where that is not plain (a conditional among the arguments, an opcode that is not known) nothing is said.

# Opcode -> how many values lie above the callee, besides the arguments that its number counts. In CPython 3.11 a call that
# has become warm stands at its PRECALL.
_CALLS = {"CALL_FUNCTION": 0, "CALL_METHOD": 0, "CALL": 0, "PRECALL": 0, "CALL_FUNCTION_KW": 1, "CALL_KW": 1}
_WITHS = ("SETUP_WITH", "BEFORE_WITH", "BEFORE_ASYNC_WITH")
# Instructions at most that enter a `with`: those of an asynchronous one await.
_ENTERING = 16
_LOCALS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_NAME")
# Two in one; what is loaded last lies on top.
_PAIRS = ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST_LOAD_FAST")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_JUMPS = frozenset(dis.hasjrel + dis.hasjabs)
_LEAVES = ("YIELD", "SEND", "RETURN", "STORE")
LONGEST = 200_000


def _called(frame, path):
    """`(label, receiver)` of the compiled function that `frame` is in, such as `("time.sleep", <module>)`.

    `path` leads to it. `receiver` is what it was taken from, or `ABSENT`. None where there is no such call, or it cannot be told.
    """
    if path is None:
        return None
    root, names, entered, _ = path
    try:
        here = followed(frame, root, names if entered else names[:-1])
    except Unresolved:
        return None
    if entered:
        return f"{class_label(type(here))}.__enter__", here
    return _labelled(here, names[-1] if names else None)


def followed(frame, root, names):
    """What a path leads to in a frame through stored fields. Raises `Unresolved`."""
    here = _root(frame, root)
    for name in names:
        attribute = read_attribute(here, name, name)
        if attribute.note is not None:
            raise Unresolved({"type": "not_found"})
        here = attribute.value
    return here


def acquires_for_good(frame):
    """Whether the call that a frame is in waits until it has the lock: one with arguments may give up before."""
    path = _path(_before(frame))
    return path is not None and not path[3]


def _labelled(here, name):
    if name is None:
        return _label(here, ABSENT)
    value = own_field(here, name)
    if value is ABSENT and not inherits(here, ModuleType):
        found = class_lookup(type(here), name)
        value = ABSENT if found is None else found[1]
    return _label(value, here)


def _label(value, receiver):
    if type(value) is MethodType:
        value = value.__func__
    if type(value) is MethodDescriptorType:
        return f"{class_label(value.__objclass__)}.{value.__name__}", receiver
    if type(value) is BuiltinFunctionType:
        owner = value.__self__
        return builtin_label(value), receiver if owner is None or inherits(owner, ModuleType) else owner
    return None


def _root(frame, root):
    name, is_global = root
    value = ABSENT if is_global else stored(variables(frame), name)
    for namespace in (frame.f_globals, builtins.__dict__):
        if value is ABSENT and inherits(namespace, dict):
            value = stored(namespace, name)
    if value is ABSENT:
        raise Unresolved({"type": "not_found"})
    return value


def _path(before):
    """`((name, is_global), attributes, entered, arguments)` of the callee, or of the lock or file that a `with` enters."""
    entered = _entered(before)
    if entered is not None:
        path = loads(entered)
        return None if path is None else (*path, True, 0)
    at = before[-1] if before else None
    above = None if at is None else _CALLS.get(at.opname)
    if above is None:
        return None
    before = before[:-1]
    if before and before[-1].opname == "PRECALL":
        before.pop()
    path = loads(before) if _skip(before, above + at.arg) else None
    return None if path is None else (*path, False, at.arg)


def _before(frame):
    """The instructions of a frame up to the one that it is at."""
    code, last = frame.f_code, frame.f_lasti
    if last < 0 or len(exact(code.co_code)) > LONGEST:
        return []
    return [one for one in instructions(code) if one.offset <= last and one.opname != "CACHE"]


def _entered(before):
    """Of instructions that end where a `with` is entered, those before that; None where they do not."""
    entered = entering(before) if before else None
    return entered if entered is not None and (before[-1].opname in _WITHS or before[-2].opname == "LOAD_SPECIAL") else None


def entering(before):
    """Of instructions that end with how a `with` is entered, those before that; None where they do not."""
    for at in range(len(before) - 1, max(0, len(before) - _ENTERING), -1):
        if before[at].opname in _WITHS:
            return before[:at]
        if before[at].opname == "LOAD_SPECIAL" and before[at - 1].opname == "COPY":
            return before[: at - 1]
    return None


def _skip(before, above):
    """Takes from the end of `before` what pushes the topmost `above` values; false where that is not plain."""
    while before:
        one = before[-1]
        if above == 0 and one.opname != "PUSH_NULL":
            return True
        if one.opcode in _JUMPS or one.opname.startswith(_LEAVES):
            return False
        if above:
            above -= dis.stack_effect(one.opcode, one.arg, jump=False)
            if above < 0:
                return False
        before.pop()
    return False


def loads(before):
    """`((name, is_global), attributes)` of the path that instructions end with; None where they end with none."""
    names = []
    for one in reversed(before or ()):
        if one.opname in _ATTRIBUTES:
            names.insert(0, one.argval)
        elif one.opname == "LOAD_GLOBAL":
            return (one.argval, True), names
        elif one.opname in _LOCALS:
            return (one.argval, False), names
        elif one.opname in _PAIRS:
            return (one.argval[-1], False), names
        else:
            return None
    return None


# What a thread waits for: told by the compiled function that its innermost frame stands in, and by the waiting
# functions of the standard library around that. A function that is in neither table counts as running.

# Compiled functions that wait, by what `called` makes of them.
_CHILDREN = ("wait", "wait3", "wait4", "waitid", "waitpid")
_LOCKS = (
    "_thread.lock.acquire",
    "_thread.lock.acquire_lock",
    "_thread.lock.__enter__",
    "_thread.RLock.acquire",
    "_thread.RLock.__enter__",
)
_WAITS = {
    "time.sleep": "time.sleep",
    "_queue.SimpleQueue.get": "an item of a queue (SimpleQueue.get)",
    "_thread._ThreadHandle.join": "the end of a thread",
    "_multiprocessing.SemLock.acquire": "a lock between processes",
    "_multiprocessing.SemLock.__enter__": "a lock between processes",
    "select.select": "input or output (select.select)",
    "select.poll.poll": "input or output (poll)",
    "select.epoll.poll": "input or output (epoll)",
    "select.kqueue.control": "input or output (kqueue)",
    "input": "a line of input (input)",
    "signal.pause": "a signal (signal.pause)",
    "_signal.pause": "a signal (signal.pause)",
    "_signal.sigwait": "a signal (signal.sigwait)",
    "fcntl.flock": "the lock of a file (fcntl.flock)",
    "fcntl.lockf": "the lock of a file (fcntl.lockf)",
    **{f"posix.{name}": f"the end of a child process (os.{name})" for name in _CHILDREN},
}
_NEXT_EVENT = "the next event of its event loop"
_STREAMS = re.compile(
    r"_socket\.socket\.(accept|_accept|connect|recv\w*|send\w*)|_ssl\._SSLSocket\.(read|write|do_handshake)"
)
_READS = re.compile(r"_io\.\w+\.(read\w*|write|peek)|posix\.(read|write|readv|preadv?)")

# Functions of the standard library that wait on behalf of their caller: by file, then by name.
_LIBRARY = {
    "threading.py": ("wait", "wait_for", "join", "acquire", "__enter__", "_wait_for_tstate_lock", "_shutdown"),
    "queue.py": ("get", "put", "join"),
    "selectors.py": ("select",),
    "socket.py": ("accept", "readinto", "create_connection"),
    "ssl.py": ("read", "recv", "recv_into", "send", "sendall", "do_handshake"),
    "subprocess.py": ("wait", "_wait", "_try_wait", "communicate", "_communicate"),
    # Only innermost where the event loop is compiled, as that of uvloop is.
    "asyncio/runners.py": ("run",),
    "concurrent/futures/_base.py": ("result", "exception", "wait"),
    "multiprocessing/connection.py": ("recv", "recv_bytes", "_recv", "_recv_bytes", "accept", "wait", "poll", "_poll"),
    "multiprocessing/popen_fork.py": ("wait", "poll"),
    "multiprocessing/process.py": ("join",),
    "multiprocessing/queues.py": ("get", "put"),
    "multiprocessing/pool.py": ("get", "wait"),
}


def what_thread_waits_for(stack, holder_of):
    """`(waits, text)` of a stack, innermost frame first; `holder_of(lock)` is a clause on who holds it, or empty.

    The text is None where it waits for something that has no name.
    """
    if not stack:
        return False, None
    if is_ours(stack[0].f_code) and name_of(stack[0].f_code) in ("wait", "sleep"):
        return True, None
    before = _before(stack[0])
    path = _path(before)
    here = _called(stack[0], path)
    is_lock = here is not None and here[0] in _LOCKS
    text = None if here is None else _lock_text(here[1], stack[0], path) if is_lock else _compiled(*here)
    outer = _library_wait(stack)
    if outer is None and here is None and _entered(before) is not None:
        return True, "what its `with` enters, which cannot be told"
    if outer is None:
        return text is not None, text + holder_of(here[1]) if is_lock else text
    return True, _library_text(outer, text, holder_of)


def _compiled(label, receiver):
    text = _WAITS.get(label)
    if text is not None:
        return text
    if _STREAMS.fullmatch(label):
        return f"a socket ({label.rpartition('.')[2].strip('_')})"
    if _READS.fullmatch(label):
        return f"reading or writing ({label.rpartition('.')[2]})"
    return None


def _lock_text(lock, frame, path):
    """`the lock self._lock`, as the code of the frame spells the path to it."""
    kind = "reentrant lock" if type(lock) is RLock else "lock"
    if library_file(frame.f_code) is not None:
        return f"a {kind}"
    (name, _), names, entered, _ = path
    return f"the {kind} {cut('.'.join([name, *(names if entered else names[:-1])]), 100)}"


def _library_wait(stack):
    """The outermost of the innermost frames that belong to waiting functions, or None."""
    outer = None
    for frame in stack:
        file = library_file(frame.f_code)
        if file not in _LIBRARY or name_of(frame.f_code) not in _LIBRARY[file]:
            return outer
        outer = frame
    return outer


def _library_text(frame, inner, holder_of):
    code = frame.f_code
    file, name = library_file(code), name_of(code)
    receiver = stored(variables(frame), "self")
    if file == "threading.py":
        if name == "_shutdown":
            return "the end of the other threads"
        if inherits(receiver, Thread):
            return f"the end of {thread_name(receiver) or 'a thread'}"
        if name in ("acquire", "__enter__") and receiver is not ABSENT:
            # A condition has the lock within it; a semaphore has no holder.
            lock = receiver if own_field(receiver, "_owner") is not ABSENT else own_field(receiver, "_lock")
            held = "" if lock is ABSENT else holder_of(lock)
            return f"{_public(class_label(type(receiver)))}.{name}{held}"
    if file == "asyncio/runners.py":
        return _NEXT_EVENT
    if file == "selectors.py":
        outer = frame.f_back
        if outer is not None and library_file(outer.f_code) == "asyncio/base_events.py":
            return _NEXT_EVENT
        return inner or "input or output"
    if file in ("subprocess.py", "multiprocessing/popen_fork.py", "multiprocessing/process.py"):
        return "the end of a child process"
    if receiver is ABSENT:
        return cut(f"{file[:-3].replace('/', '.')}.{function_name(code)}", 200)
    return f"{_public(class_label(type(receiver)))}.{name}"


def _public(label):
    return label.replace("concurrent.futures._base.", "concurrent.futures.")


def thread_ident(thread):
    """The number that a thread object stores; None where there is none."""
    ident = own_field(thread, "_ident")
    return ident if type(ident) is int else None


def thread_name(thread):
    """The name that a thread object stores; None where there is none."""
    name = plain(own_field(thread, "_name"))
    return None if name is None else cut(clean(name), 200)


def thread_names():
    """The names of our threads, and of those that Python knows as their objects store them, by ident."""
    names = native.names()
    for ident, thread in entries(threading._active):
        name = thread_name(thread)
        if name is not None and type(ident) is int:
            names[ident] = name
    return names
