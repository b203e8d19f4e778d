"""What an exception stores about itself: its arguments, and where it was raised."""

from types import TracebackType

from imago.looking.codes import file_of, name_of
from imago.looking.fields import (
    ABSENT,
    class_lookup,
    class_qualified,
    clean,
    cut,
    is_class,
    plain,
    read_member,
)
from imago.looking.limits import MESSAGE_MAX_CHARS, NAME_MAX_CHARS, TRACEBACK_MAX_FRAMES
from imago.looking.source import source_line
from imago.looking.statictext import static_text

_arguments_of = BaseException.__dict__["args"].__get__
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def exception_section(value):
    """Facts of an exception, or of an exception class, which has neither message nor traceback."""
    if is_class(value):
        return {"exc_type": class_qualified(value), "message": None, "traceback": None}
    kind = class_qualified(type(value))
    message = stored_message(value)
    return {"exc_type": kind, "message": message, "traceback": _traceback(value, kind, message)}


def describe_error(error):
    """`ValueError: the message`, in one short line, without asking the exception."""
    message = stored_message(error)
    name = class_qualified(type(error))
    name = name[9:] if name.startswith("builtins.") else name
    return cut(f"{name}: {message}" if message else name, 300)


def stored_message(error):
    """What the stored arguments say; a class's own `__str__` may say it otherwise."""
    if issubclass(type(error), OSError):
        number, reason, file = (_member(error, OSError, name) for name in ("errno", "strerror", "filename"))
        if type(number) is int and type(reason) is str:
            place = "" if file is None else f": {static_text(file, 200)}"
            return cut(f"[Errno {number}] {reason}{place}", MESSAGE_MAX_CHARS)
    args = _arguments_of(error)
    if type(args) is not tuple or not args:
        return ""
    if issubclass(type(error), SyntaxError) and plain(args[0]) is not None:
        return cut(plain(args[0]), MESSAGE_MAX_CHARS)
    if len(args) > 1:
        return static_text(args, MESSAGE_MAX_CHARS)
    if type(args[0]) is str and not issubclass(type(error), KeyError):
        return cut(args[0], MESSAGE_MAX_CHARS)
    return static_text(args[0], MESSAGE_MAX_CHARS)


def _member(error, cls, name):
    found = class_lookup(cls, name)
    value = ABSENT if found is None else read_member(found[1], error)
    return None if value is ABSENT else value


def _traceback(error, kind, message):
    """The innermost frames, oldest first, as Python prints them; None for an exception that was never raised."""
    entry = _traceback_of(error)
    if type(entry) is not TracebackType:
        return None
    places, seen = [], 0
    while entry is not None and seen < 10_000:
        places.append((entry.tb_frame.f_code, entry.tb_lineno))
        seen += 1
        entry = entry.tb_next
        if len(places) > TRACEBACK_MAX_FRAMES:
            del places[0]
    lines = ["Traceback (most recent call last):"]
    if seen > len(places):
        lines.append(f"  … {seen - len(places)} outer frames")
    for code, number in places:
        file = cut(file_of(code), NAME_MAX_CHARS)
        name = cut(name_of(code), NAME_MAX_CHARS)
        lines.append(f'  File "{file}", line {number}, in {name}')
        source = source_line(code, number)
        if source is not None:
            lines.append(f"    {cut(source, NAME_MAX_CHARS)}")
    short = kind[9:] if kind.startswith("builtins.") else kind
    lines.append(clean(f"{short}: {message}" if message else short))
    return "\n".join(lines)
