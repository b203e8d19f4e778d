"""Frames with their locals, and exceptions as values."""

import os
import sys
from types import TracebackType
from weakref import ref

from imago.looking.fields import (
    ABSENT,
    class_lookup,
    class_qualified,
    clean,
    cut,
    entries,
    is_class,
    plain,
    read_member,
    type_name,
)
from imago.looking.limits import MESSAGE_MAX_CHARS, NAME_MAX_CHARS, TRACEBACK_MAX_FRAMES
from imago.looking.source import file_of, name_of, qualified_of, source_line
from imago.looking.rendering import static_text

# Frames as the contract has them: function, place, line of source, and a few locals shown from stored fields.

LOCALS = 20
LOCAL_CHARS = 200
SOURCE_CHARS = 400

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = os.path.dirname(os.__file__) + os.sep
_LINES_KEPT = 4096
_OPTIMIZED = 0x01
_ONLY_THE_FRAME = 3  # The references to a snapshot of locals: the frame's, ours, and that of who counts them.

# By the id of a code object and a line: a weak reference to the code, and the text. What the code was compiled from
# does not change, whatever becomes of its file.
_lines = {}


def is_ours(code):
    return file_of(code).startswith(OURS)


def library_file(code):
    """The file of a code object relative to the standard library, with `/`; None for what is not in there."""
    file = file_of(code)
    if file.startswith(_LIBRARY):
        inner = file[len(_LIBRARY) :].replace(os.sep, "/")
        return None if inner.startswith("site-packages/") else inner
    return file[8:-1].replace(".", "/") + ".py" if file.startswith("<frozen ") else None


def line_of(code, line):
    """One line of the source of a code object, or None. It is remembered: looks meet the same lines many times."""
    if not line:
        return None
    key = (id(code), line)
    known = _lines.get(key)
    if known is None or known[0]() is not code:
        if len(_lines) >= _LINES_KEPT:
            _lines.clear()
        text = source_line(code, line)
        known = _lines[key] = (ref(code), None if text is None else cut(text, SOURCE_CHARS))
    return known[1]


def function_name(code):
    return cut(qualified_of(code) or name_of(code), NAME_MAX_CHARS)


def has_own_names(frame):
    """Whether it is the frame of a function, rather than of the top level or the body of a class."""
    return bool(frame.f_code.co_flags & _OPTIMIZED)


def variables(frame):
    """A function's variables by name, as a dict of our own. Those of a module are its globals, and are left out."""
    if not has_own_names(frame):
        return {}
    return _named(frame.f_locals)


def _named(variables):
    """Variables by name. Somebody may have put among them what is not called by a text, or by one that is code."""
    pairs = entries(variables) if type(variables) is dict else list(variables.items())
    return {name: value for name, value in pairs if type(name) is str}


def suspended_variables(frame):
    """The variables of a frame that no thread runs at the moment.

    Before 3.13 the interpreter leaves a snapshot of them with the frame, which would keep objects alive that the
    function lets go of later. It is emptied, unless somebody else holds it: the function itself may have called
    `locals()`. Of a frame that runs it has to stay, since a tracer could be at work on it.
    """
    if sys.version_info >= (3, 13) or not frame.f_code.co_flags & _OPTIMIZED:
        return variables(frame)
    snapshot = frame.f_locals
    names = _named(snapshot)
    if frame.f_trace is None and sys.getrefcount(snapshot) == _ONLY_THE_FRAME:
        snapshot.clear()
    return names


def shown_locals(names, most=LOCALS):
    """`(locals, omitted)`: the contract's `Local` of the first variables, and how many were left out."""
    shown = []
    for name, value in names.items():
        if len(shown) == most:
            break
        try:
            row = {"type_name": type_name(value), "repr": static_text(value, LOCAL_CHARS)}
        except Exception as error:
            row = {"type_name": "object", "repr": f"<cannot be shown: {type_name(error)}>"}
        shown.append({"name": cut(name, NAME_MAX_CHARS), **row})
    return shown, len(names) - len(shown)


# What an exception stores about itself: its arguments, and where it was raised.

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
