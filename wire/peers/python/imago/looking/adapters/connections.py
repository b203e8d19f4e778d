"""Files, sockets and databases, and the loggers that write to them: what they are open on, and nothing of theirs."""

import _socket

from imago.looking.adapters.adapter import Seen, compiled_field, counted, field, held_at
from imago.looking.fields import ABSENT, class_label, is_compiled, mro, own_field, plain

_BUFFERS = ("_io.BufferedReader", "_io.BufferedWriter", "_io.BufferedRandom")
_LEVELS = {0: "NOTSET", 10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "CRITICAL"}


def _see_file(value):
    """A file of Python's own by the descriptor at its bottom. A stream of the user's in between is only named."""
    label, facts, raw = class_label(type(value)), [], value
    if label == "_io.TextIOWrapper":
        encoding = plain(compiled_field(value, "encoding"))
        facts += [] if encoding is None else [encoding]
        raw = compiled_field(value, "buffer")
    if class_label(type(raw)) in _BUFFERS:
        raw = compiled_field(raw, "raw")
    if held_at("_io", "FileIO") is not type(raw):
        what = "detached" if raw is ABSENT else f"on <{class_label(type(raw))}>"
        return Seen(label, ", ".join([what, *facts]))
    name = own_field(raw, "name")
    if compiled_field(raw, "closed") is True:
        facts.insert(0, "closed")
    else:
        facts[:0] = [f"fd {type(raw).fileno(raw)}", f"mode {_mode(value, raw)}"]
    return Seen(label, ", ".join(facts), fields=[] if name is ABSENT else [("name", name)])


def _mode(value, raw):
    """How it was opened: `open` leaves that with a file of text, others only know the mode of their bytes."""
    mode = own_field(value, "mode")
    return mode if type(mode) is str and len(mode) < 10 else compiled_field(raw, "mode")


def _see_memory_file(value):
    closed = compiled_field(value, "closed") is True
    return Seen(class_label(type(value)), "closed" if closed else f"at {type(value).tell(value)}")


def _see_socket(value):
    """A socket, or one with TLS around it, through the compiled class underneath: asking that never waits."""
    compiled = [base for base in mro(type(value)) if is_compiled(base)]
    base = next(base for base in compiled if class_label(base) == "_socket.socket").__dict__
    number = base["fileno"].__get__(value)()
    label = class_label(type(value))
    if number < 0:
        return Seen(label, "closed")
    family, kind = base["family"].__get__(value), base["type"].__get__(value)
    facts = [f"fd {number}", _constant("AF_", family), _constant("SOCK_", kind)]
    ends = [("local", _address(base, value, "getsockname")), ("peer", _address(base, value, "getpeername"))]
    facts += [f"{end} {address!r}" for end, address in ends if address]
    return Seen(label, ", ".join(facts))


def _address(base, value, name):
    try:
        return base[name].__get__(value)()
    except OSError:
        return None


def _constant(prefix, number):
    """`AF_INET` for 2: the name that the compiled module has for a number."""
    names = [name for name, held in vars(_socket).items() if type(held) is int and held == number]
    return next((name for name in names if name.startswith(prefix)), f"{prefix}{number}")


def _see_logger(value):
    level = field(value, "level")
    level = _LEVELS.get(level, level) if type(level) is int else "?"
    handlers, facts = field(value, "handlers"), [f"level {level}"]
    if type(handlers) is list:
        facts.append(counted(len(handlers), "handler"))
    if field(value, "disabled") is True:
        facts.append("disabled")
    if field(value, "propagate") is False:
        facts.append("does not propagate")
    return Seen(class_label(type(value)), ", ".join(facts), fields=[("name", field(value, "name"))])


def _see_database(value):
    """A connection as far as it answers from memory: no statement is run, not even one that only asks."""
    cls = type(value)
    try:
        busy = cls.__dict__["in_transaction"].__get__(value)
    except Exception:
        return Seen(class_label(cls), "closed, or not open yet")
    changes = cls.__dict__["total_changes"].__get__(value)
    return Seen(class_label(cls), f"{'in' if busy else 'not in'} a transaction, {counted(changes, 'change')} so far")


TYPES = (
    *(("_io", name, _see_file, None) for name in ("TextIOWrapper", "BufferedReader", "BufferedWriter")),
    *(("_io", name, _see_file, None) for name in ("BufferedRandom", "FileIO")),
    *(("_io", name, _see_memory_file, None) for name in ("StringIO", "BytesIO")),
    ("socket", "socket", _see_socket, None),
    ("_socket", "socket", _see_socket, None),
    ("ssl", "SSLSocket", _see_socket, None),
    ("logging", "Logger", _see_logger, None),
    ("logging", "RootLogger", _see_logger, None),
    ("sqlite3", "Connection", _see_database, None),
)
