"""The parts of a look that run user code: the expression, the value's own printer, and what it says of itself."""

import inspect
import time
from types import FunctionType

from imago.looking.contents import countable, exactly_built_in
from imago.looking.deadline import DeadlineExceeded
from imago.looking.expression import check_syntax, path_from_handle
from imago.looking.failures import describe_error
from imago.looking.fields import (
    class_lookup,
    cut,
    is_class,
    is_dunder,
    made_by_statement,
    plain,
)
from imago.looking.limits import SECTION_SECONDS, SIGNATURE_MAX_CHARS
from imago.looking.resolve import kept
from imago.looking.sections import callable_names, doc_text, group_members
from imago.looking.shown import fallback, printed


class Failed(Exception):
    """A section could not be read. `because` goes into its `error`."""

    def __init__(self, because):
        super().__init__(because)
        self.because = because


def evaluated_value(namespace, expr, handles, evaluate):
    """The value of `expr`. A path that begins with a handle is followed here, since no handle is a Python name."""
    path = path_from_handle(expr)
    if path is None:
        check_syntax(expr)
        return evaluate(expr)
    value = kept(handles, path.root[1])
    for what, step in path.steps:
        value = getattr(value, step) if what == "attribute" else value[step]
    return value


def evaluated_sections(value, static, handles, guard, until):
    """The sections that the value itself answers, each in its own stretch of what time is left before `until`."""

    def ask(read):
        seconds = min(SECTION_SECONDS, until - time.monotonic())
        if seconds <= 0:
            raise Failed("The time for this look was over.")
        try:
            with guard(seconds):
                return read()
        except DeadlineExceeded:
            raise Failed(f"It took longer than {seconds:.1f} s.") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Failed(describe_error(error)) from None

    sections = {"repr": _own_repr(value, handles, guard, until)}
    for name, read in (("size", _size), ("members", _members), ("doc", _doc), ("callable", _callable)):
        try:
            section = read(value, static.get(name), ask)
        except Failed as failed:
            section = _with_error(static.get(name), name, failed.because)
        if section is not None:
            sections[name] = section
    return sections


def _own_repr(value, handles, guard, until):
    seconds = min(SECTION_SECONDS, until - time.monotonic())
    if seconds <= 0:
        return fallback(value, "The time for this look was over.")
    return printed(value, handles, guard, seconds)


def _with_error(static, name, because):
    """Texts and callables keep what is stored beside the error; the other sections hold one or the other."""
    if name == "doc":
        return {**(static or {"text": "", "truncated": False, "original_len": 0}), "error": because}
    if name == "callable" and static is not None:
        return {**static, "error": because}
    return {"error": because}


def _size(value, static, ask):
    measured = static is not None and "shape" in static
    if measured or exactly_built_in(value) or class_lookup(type(value), "__len__") is None or is_class(value):
        return static
    length = countable(ask(lambda: len(value)))
    return None if length is None else {**(static or {}), "len": length}


def _members(value, static, ask):
    place = class_lookup(type(value), "__dir__")
    if static is None or place is None or type(place[1]) is not FunctionType:
        return static
    said = ask(lambda: [plain(name) for name in dir(value)])
    names = {name for name in said if name is not None}
    able = callable_names(value)
    plain_names = [name for name in names if not is_dunder(name)]
    data = [name for name in plain_names if name not in able]
    return group_members(data, [name for name in plain_names if name in able], len(names) - len(plain_names))


def _doc(value, static, ask):
    if static is None and not made_by_statement(type(value)):
        return static
    text = ask(lambda: plain(value.__doc__))
    if text is None:
        return static
    section = doc_text(text)
    if static is not None and "handle" in static and static["text"] == section["text"]:
        section["handle"] = static["handle"]
    return section


def _callable(value, static, ask):
    if static is None or "error" in static:
        return static
    signature = ask(lambda: _signature(value))
    return static if signature is None else {**static, "signature": cut(signature, SIGNATURE_MAX_CHARS)}


def _signature(value):
    """What `inspect` makes of it, which is nothing for many compiled functions."""
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return None
