"""Suspended evaluations as they are looked at: which there are, their ways to go on, their frames. Runs no user code."""

from imago.looking.display import shown_value
from imago.looking.fields import cut, type_name
from imago.looking.frames import function_name, has_own_names, library_file, line_of, suspended_variables, whose
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.outcomes import NotFound, found, look, malformed
from imago.looking.running import doubted
from imago.looking.source import lines_around, name_of, shown_file
from imago.looking.rendering import shown_text, static_repr
from imago.tracing_calls import argument_names
from imago.work import CANNOT, Scope, no_frame, restarts

FRAMES_MAX = 200
LOCALS_MAX = 100
LOCAL_MAX_CHARS = 1000
CALL_MAX_CHARS = 400
ARGUMENT_MAX_CHARS = 60
LINES_BEFORE, LINES_AFTER = 8, 6

_TOP_LEVEL = 'This is the top level of a module: its variables are globals, and list_globals has them.'
_COPY = (
    'What is assigned here is seen by what is evaluated in this frame later, and not by functions that were defined in '
    'it: before Python 3.13 the variables of a frame cannot be set.'
)


def suspensions(image, query):
    """A `Looked<Suspensions>`."""
    return found({"suspensions": [one.told() for one in image.suspensions.live()]})


@look
def suspension(image, query):
    """A `Looked<SuspendedState>`: a page of its frames, innermost first."""
    return _looked_at(image, query, lambda one: _state(one, query["from"], query["count"]))


@look
def frame(image, query):
    """A `Looked<SuspendedFrame>`."""
    return _looked_at(image, query, lambda one: _whole_frame(image, one, query))


def _looked_at(image, query, read):
    """What `read(suspension)` answers; `busy` while code runs in it."""
    one = _suspended(image, query)
    running = one.running
    if running is not None:
        return {"type": "busy", "call": running.call, "elapsed_ms": running.elapsed_ms()}

    def safely():
        if one.frames is None:
            raise _not_there(image, query)
        return read(one)

    return image.suspensions.look(one, safely)


def _suspended(image, query):
    one = image.suspensions.find(query["suspension"])
    if one is None:
        raise _not_there(image, query)
    return one


def _not_there(image, query):
    return NotFound(query["suspension"], image.suspensions.nearest(query["suspension"]))


def _state(one, start, count):
    total = len(one.frames)
    end = min(total, start + min(count, FRAMES_MAX))
    return found(
        {
            "suspension": one.told(),
            "restarts": restarts(one),
            "frames": [_stack_frame(one, number) for number in range(start, end)],
            "next": end if end < total else None,
            "frames_total": total,
        }
    )


def _stack_frame(one, number):
    """A `StackFrame`."""
    frame, line = one.frames[number]
    code = frame.f_code
    told = {
        "number": number,
        "function": function_name(code),
        "call": _call(code, _variables(one, number)),
        "file": shown_file(code),
        "line": line or None,
        "source": line_of(code, line),
        **whose(frame),
        **doubted(code, frame.f_globals),
    }
    if library_file(code) is not None:
        told["implementation"] = True
    return told


def _whole_frame(image, one, query):
    number = query["frame"]
    if number >= len(one.frames):
        return malformed(no_frame(one, number))
    frame, line = one.frames[number]
    names = _variables(one, number)
    arguments = _arguments(frame.f_code)
    first = [name for name in arguments if name in names]
    rest = [name for name in names if name not in arguments]
    shown = [
        {"name": cut(name, NAME_MAX_CHARS), "argument": name in arguments, "value": _shown(image, one, names[name])}
        for name in [*first, *rest][:LOCALS_MAX]
    ]
    return found(
        {
            **_stack_frame(one, number),
            "locals": shown,
            "locals_omitted": len(names) - len(shown),
            "around": lines_around(frame.f_code, line, LINES_BEFORE, LINES_AFTER),
            "can": ["evaluate"],
            "notes": [*one.notes, *_notes(frame), *(why for why, _ in CANNOT.values())],
        }
    )


def _notes(frame):
    if has_own_names(frame):
        return [_COPY] if Scope.copies(frame) else []
    return [_TOP_LEVEL] if frame.f_locals is frame.f_globals else []


def _variables(one, number):
    """The names of a frame that are its own, with what code evaluated in it has set."""
    frame = one.frames[number][0]
    scope = one.scopes.get(number)
    if scope is not None and scope.is_copy:
        names = scope.locals
    elif has_own_names(frame):
        names = suspended_variables(frame)
    else:
        names = {} if frame.f_locals is frame.f_globals or type(frame.f_locals) is not dict else frame.f_locals
    return {name: value for name, value in list(names.items()) if type(name) is str}


def _arguments(code):
    return [name.lstrip('*') for name in argument_names(code)]


def _call(code, names):
    """`total(order=<app.Order id=7>)`; None for what is no call of a function."""
    arguments = [(name, names[name]) for name in _arguments(code) if name in names and name[:1] != "."]
    if name_of(code)[:1] == "<" and not arguments:
        return None
    texts = [f"{cut(name, 40)}={_text(value, ARGUMENT_MAX_CHARS)[0]}" for name, value in arguments]
    return cut(f"{function_name(code)}({', '.join(texts)})", CALL_MAX_CHARS)


def _shown(image, one, value):
    """The contract's `Shown` of what is stored. Its handle is good as long as the suspension."""
    text = shown_text(*_text(value, LOCAL_MAX_CHARS))
    return shown_value(value, text, lambda value: image.handles.lend_value(value, one.id))


def _text(value, limit):
    """`(text, truncated)`"""
    try:
        text, truncated = static_repr(value, limit)
    except Exception as error:
        return f"<cannot be shown: {type_name(error)}>", False
    return (text[: limit - 1] + "…" if truncated and len(text) >= limit else text), truncated
