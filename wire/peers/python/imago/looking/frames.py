"""Frames with their locals, and exceptions as values."""

import os
import re
import sys
from collections import deque
from itertools import islice
from types import BuiltinFunctionType, FunctionType, ModuleType, TracebackType

from imago.looking.contents import exactly_built_in
from imago.looking.fields import (
    ABSENT,
    class_label,
    class_lookup,
    class_module,
    class_name,
    class_qualified,
    clean,
    cut,
    entries,
    is_class,
    own_field,
    plain,
    read_member,
    stored,
    type_name,
)
from imago.looking.limits import MESSAGE_MAX_CHARS, NAME_MAX_CHARS, TRACEBACK_MAX_FRAMES
from imago.looking.running import doubted
from imago.looking.source import ByCode, file_of, is_generated, name_of, qualified_of, source_line
from imago.looking.rendering import static_text

# Frames as the contract has them: function, place, line of source, and a few locals shown from stored fields.

LOCALS = 20
LOCAL_CHARS = 200
SOURCE_CHARS = 400

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = os.path.dirname(os.__file__) + os.sep
_INSTALLED = ("/site-packages/", "/dist-packages/")
_SCRIPTS = tuple(
    f"{prefix}/{folder}/".replace("\\", "/")
    for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix)
    for folder in ("bin", "Scripts")
)
_LIBRARIES_KEPT = 4096
_WORD = re.compile(r"[^\W\d]\w*")
_DEFINITIONS = (ModuleType, FunctionType, BuiltinFunctionType)
_OPTIMIZED = 0x01
LOCALS_PROXY = (lambda: type(sys._getframe().f_locals))() if sys.version_info >= (3, 13) else None
"""What Python 3.13 has in the place of a dict of variables."""
_ONLY_THE_FRAME = 3  # The references to a snapshot of locals: the frame's, ours, and that of who counts them.

# By line, its text. What code was compiled from does not change, whatever becomes of its file.
_lines = ByCode(lambda _code: {})

# By file: the library that it is a part of, or an empty text.
_libraries = {}


def is_ours(code):
    return file_of(code).startswith(OURS)


def library_file(code):
    """The file of a code object relative to the standard library, with `/`; None for what is not in there."""
    file = file_of(code)
    if file.startswith(_LIBRARY):
        inner = file[len(_LIBRARY) :].replace(os.sep, "/")
        return None if inner.startswith("site-packages/") else inner
    return file[8:-1].replace(".", "/") + ".py" if file.startswith("<frozen ") else None


def whose(frame):
    """`own` and `library` of the contract's frames: whether the code is the program's, or else what it came with."""
    library = _library_of(frame)
    return {"own": False, "library": library} if library else {"own": True}


def is_own(frame):
    """Whether the code of a frame is the program's, and neither installed nor a part of Python."""
    return not _library_of(frame)


def _library_of(frame):
    file = file_of(frame.f_code)
    if file.startswith("<") and is_generated(frame.f_code):
        # Made of a text by code: it belongs to the module whose names it uses.
        file = plain(stored(frame.f_globals, "__file__")) or ""
    known = _libraries.get(file)
    if known is None:
        if len(_libraries) >= _LIBRARIES_KEPT:
            _libraries.clear()
        known = _libraries[file] = cut(_library_with(file), NAME_MAX_CHARS)
    return known


def _library_with(file):
    """`starlette`, `asyncio`, or the name of a script that a library has installed; empty for all other files."""
    path = file.replace("\\", "/")
    if file.startswith("<frozen "):
        return _top(path[8:-1].replace(".", "/"))
    for folder in _INSTALLED:
        if folder in path:
            return _top(path.rpartition(folder)[2])
    for folder in (_LIBRARY.replace("\\", "/"), *_SCRIPTS):
        if path.startswith(folder):
            return _top(path[len(folder) :])
    return ""


def _top(path):
    first = path.partition("/")[0]
    return first[:-3] if first.endswith(".py") else first


def foreign_runs(own):
    """`(first, end)` of each run of frames that are not the program's, in a list that says of each whether it is."""
    runs = []
    for at, one in enumerate(own):
        if one:
            continue
        if runs and runs[-1][1] == at:
            runs[-1] = (runs[-1][0], at + 1)
        else:
            runs.append((at, at + 1))
    return runs


def folded_line(libraries):
    """`… 6 frames of starlette, anyio`"""
    names = list(dict.fromkeys(libraries))
    return f"… {len(libraries)} frames of {', '.join(names)}"


def line_of(code, line):
    """One line of the source of a code object, or None."""
    if not line:
        return None
    lines = _lines(code)
    if line not in lines:
        text = source_line(code, line)
        lines[line] = None if text is None else cut(text, SOURCE_CHARS)
    return lines[line]


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
    """Variables by name. Somebody may have put among them what is not called by a text, or by one that is code.

    Of code of a function that `exec` runs with a mapping of the program's for its locals there are none to be had.
    """
    if type(variables) is dict:
        pairs = entries(variables)
    else:
        pairs = list(variables.items()) if type(variables) is LOCALS_PROXY else []
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
    if frame.f_trace is None and type(snapshot) is dict and sys.getrefcount(snapshot) == _ONLY_THE_FRAME:
        snapshot.clear()
    return names


def top_level_variables(frame, line):
    """The globals that the code of a script or a module uses, by name: first those of `line`, then the last that it
    comes to. Modules, functions and classes are left out, whose text says what they are.
    """
    if name_of(frame.f_code) != "<module>":
        return {}
    used = dict.fromkeys(_WORD.findall(line_of(frame.f_code, line) or ""))
    names = [name for name in used if name in frame.f_code.co_names] + list(reversed(frame.f_code.co_names))
    found = {name: stored(frame.f_globals, name) for name in names if not name.startswith("__")}
    return {name: value for name, value in found.items() if value is not ABSENT and not _is_definition(value)}


def _is_definition(value):
    return type(value) in _DEFINITIONS or is_class(value)


def shown_locals(names, most=LOCALS):
    """`(locals, omitted)`: the contract's `Local` of the first variables, and how many were left out."""
    shown = []
    for name, value in names.items():
        if len(shown) == most:
            break
        try:
            row = {"type_name": type_name(value), "repr": _local_text(value)}
        except Exception as error:
            row = {"type_name": "object", "repr": f"<cannot be shown: {type_name(error)}>"}
        shown.append({"name": cut(name, NAME_MAX_CHARS), **row})
    return shown, len(names) - len(shown)


def _local_text(value):
    """What a variable holds. An object of a library that does not fit is told by its class alone."""
    text = static_text(value, LOCAL_CHARS)
    if len(text) < LOCAL_CHARS or exactly_built_in(value) or not text.startswith("<"):
        return text
    module = stored(sys.modules, class_module(type(value)))
    file = None if module is ABSENT else plain(own_field(module, "__file__"))
    return f"<{class_name(type(value))} …>" if file is not None and _library_with(file) else text


# What an exception stores about itself: its arguments, and where it was raised.

_arguments_of = BaseException.__dict__["args"].__get__
# A class of the program's may have an attribute of this name, and it may be code.
traceback_of = BaseException.__dict__["__traceback__"].__get__


def entries_of(trace):
    """The entries of a traceback, outermost first."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def outwards(frame):
    """A frame and those that have called it, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def exception_section(value):
    """Facts of an exception, or of an exception class, which has neither message nor traceback."""
    if is_class(value):
        return {"exc_type": class_qualified(value), "message": None, "traceback": None}
    message = stored_message(value)
    told = {"exc_type": class_qualified(type(value)), "message": message, "traceback": None}
    entry = traceback_of(value)
    if type(entry) is TracebackType:
        told["traceback"], frames = _traceback(entry, value, message)
        if frames:
            told["frames"] = frames
    return told


def describe_error(error):
    """`ValueError: the message`, in one short line, without asking the exception."""
    message = stored_message(error)
    name = class_label(type(error))
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


def _traceback(entry, error, message):
    """The innermost frames, oldest first, as Python prints them; and those whose line may be another by now."""
    places, seen = deque(maxlen=TRACEBACK_MAX_FRAMES), 0
    for one in islice(entries_of(entry), 10_000):
        places.append((one.tb_frame, one.tb_lineno))
        seen += 1
    lines, frames = ["Traceback (most recent call last):"], []
    if seen > len(places):
        lines.append(f"  … {seen - len(places)} outer frames")
    for frame, number in places:
        code = frame.f_code
        file = cut(file_of(code), NAME_MAX_CHARS)
        name = cut(name_of(code), NAME_MAX_CHARS)
        lines.append(f'  File "{file}", line {number}, in {name}')
        source = source_line(code, number)
        if source is not None:
            lines.append(f"    {cut(source, NAME_MAX_CHARS)}")
        doubt = doubted(code, frame.f_globals)
        if doubt:
            frames.append({"function": name, "file": file, "line": number, "source": source, **doubt})
    short = class_label(type(error))
    lines.append(clean(f"{short}: {message}" if message else short))
    return "\n".join(lines), frames
