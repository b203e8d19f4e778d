"""Inspecting a value: by its stored fields, by evaluating, and piece by piece."""

import inspect
from types import FunctionType

from imago.looking.contents import countable, exactly_built_in
from imago.looking.display import fallback, is_worth_a_handle, kind_of, printed
from imago.looking.expression import check_syntax, kept, parse, path_from_handle, resolve
from imago.looking.fields import (
    class_lookup,
    clean,
    cut,
    inherits,
    is_class,
    is_dunder,
    made_by_statement,
    plain,
    type_facts,
)
from imago.looking.frames import describe_error, exception_section
from imago.looking.limits import (
    EVALUATED_LIMITS,
    EXPRESSION_SECONDS,
    KEPT_MAX_CHARS,
    NOTE_MAX_CHARS,
    PIECE_MAX_CHARS,
    PIECE_MAX_ITEMS,
    SECTION_SECONDS,
    SIGNATURE_MAX_CHARS,
    STATIC_LIMITS,
    TOTAL_SECONDS,
    DeadlineExceeded,
)
from imago.looking.live_frames import frames_with, live_frame
from imago.looking.outcomes import NotFound, Unresolved, found, look, timed_out
from imago.looking.sections import (
    callable_names,
    callable_section,
    doc_section,
    doc_text,
    fields_section,
    group_members,
    item_texts,
    members_section,
    methods_section,
    repr_section,
    sample_section,
    whole_doc,
)
from imago.looking.rendering import items_of, measure_of, static_card, static_repr
from imago.native import time

# The next part of something that was cut, by its handle. Runs no user code.


@look
def more(handles, query):
    """A `Looked<Piece>`: `count` characters or items from `from` on, fewer if one answer cannot carry them all.

    A handle of a text or of a printed value is read by characters, one of a sample or of a container by items. A
    string that is kept as a value is read as the characters it holds, anything else as its static text.
    """
    entry = kept(handles, query["handle"])
    start, count = max(0, query["from"]), max(1, query["count"])
    if entry.kind == "text":
        return found(text_piece(entry.value, start, count))
    if entry.kind == "doc":
        return found(text_piece(whole_doc(entry.value), start, count))
    if entry.kind == "repr":
        text, truncated = static_card(entry.value, KEPT_MAX_CHARS)
        return found(text_piece(text, start, count, whole=not truncated))
    storage = items_of(entry.value)
    if storage is not None:
        return found(_items(entry.value, storage, start, count))
    if inherits(entry.value, str):
        return found(_characters(entry.value, start, count))
    text, truncated = static_repr(entry.value, KEPT_MAX_CHARS)
    return found(text_piece(text, start, count, whole=not truncated))


def text_piece(text, start, count, *, whole=True):
    """`count` characters of a text, or as many as one answer carries. `whole` is false for a text that was cut before."""
    end = start + min(count, PIECE_MAX_CHARS)
    return _piece("text", text[start:end], start, end, len(text), len(text) if whole else None)


def _piece(kind, part, start, end, length, total):
    return {"type": kind, "from": start, kind: part, "total": total, "next": end if end < length else None}


def _characters(value, start, count):
    """Part of a string of any length, or of an instance of a subclass."""
    length = str.__len__(value)
    end = start + min(count, PIECE_MAX_CHARS)
    part = clean(plain(str.__getitem__(value, slice(start, end))))
    return _piece("text", part, start, end, length, length)


def _items(value, storage, start, count):
    texts = item_texts(value, storage, start, min(count, PIECE_MAX_ITEMS))
    return items_piece(texts, start, storage.length(value))


def items_piece(texts, start, total):
    """Of the texts of items, from number `start` on, as many as one answer carries. `total` counts all items."""
    carried, room = [], PIECE_MAX_CHARS
    for text in texts:
        room -= len(text)
        if room < 0:
            break
        carried.append(text)
    return _piece("items", carried, start, start + len(carried), total, countable(total))


# The parts of a look that run user code: the expression, the value's own printer, and what it says of itself.


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
    value = kept(handles, path.root[1]).value
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


# One value, looked at in sections.

_SCALARS = ("none", "bool", "number", "string", "bytes")


@look
def inspect_static(namespace, expr, handles, frame=None, errors=None):
    """A `Looked<Inspected>` of what `expr` leads to through stored fields. Runs no user code.

    `frame` names a frame that lives now, or one of `errors`, the `ProgramErrors`, as `live_frames.py` has them: its
    variables come before its globals.
    """
    if frame is not None:
        attribute = _within(live_frame(frame, errors), expr, handles)
    else:
        try:
            attribute = resolve(namespace, expr, handles)
        except NotFound as unresolved:
            root = parse(expr).root[1]
            if unresolved.looked["what"] == f"`{root}`":
                unresolved.looked["frames"] = frames_with(root, errors)
            raise
    sections = static_sections(attribute.value, attribute.remark, handles)
    return found(sections if attribute.note is None else {**sections, "note": cut(attribute.note, NOTE_MAX_CHARS)})


def _within(here, expr, handles):
    """The `Attribute` that `expr` stands for in a `LiveFrame`."""
    root = parse(expr).root
    names = here.variables()
    if root[0] != "name" or root[1] not in names:
        return resolve(here.frame.f_globals, expr, handles)
    attribute = resolve(names, expr, handles)
    attribute.note = attribute.note or f"`{root[1]}` is a local of {here.label}, at {here.place} at this moment"
    return attribute


def inspect_evaluated(namespace, expr, handles, evaluate, guard):
    """A `Looked<Inspected>` of what `expr` evaluates to, printed by its own printer.

    `evaluate(expr)` runs the expression; an exception that it raises leaves through here, for the caller to take
    down. `guard(seconds)` raises `DeadlineExceeded` in this thread when that time is over. The expression has one
    second and all sections together what is left of two; a section that fails or is too slow says so in `error`.
    """
    began = time.monotonic()
    handles.let_go()
    try:
        with guard(EXPRESSION_SECONDS):
            value = evaluated_value(namespace, expr, handles, evaluate)
    except Unresolved as unresolved:
        return unresolved.looked
    except DeadlineExceeded:
        return timed_out(EXPRESSION_SECONDS)
    sections = static_sections(value, None, handles)
    sections["read"] = "evaluated"
    sections["limits"] = dict(EVALUATED_LIMITS)
    sections.update(evaluated_sections(value, sections, handles, guard, began + TOTAL_SECONDS))
    return found(sections)


def static_sections(value, remark, handles):
    """Every section that makes sense for a value, from stored fields."""
    kind = kind_of(value)
    answer = {"type": type_facts(value), "kind": kind, "read": "static"}
    sections = [
        ("repr", lambda: repr_section(value, remark, handles)),
        ("size", lambda: measure_of(value)),
        ("sample", lambda: sample_section(value, handles)),
        ("fields", lambda: fields_section(value, kind)),
        ("methods", lambda: methods_section(value, kind)),
        ("members", lambda: None if kind in _SCALARS else members_section(value)),
        ("doc", lambda: doc_section(value, kind, handles)),
        ("callable", lambda: callable_section(value)),
    ]
    if kind == "exception" or (is_class(value) and issubclass(value, BaseException)):
        sections.append(("exception", lambda: exception_section(value)))
    for name, read in sections:
        try:
            section = read()
        except Exception as error:
            section = {"error": describe_error(error)}
        if section is not None:
            answer[name] = section
    answer["limits"] = dict(STATIC_LIMITS)
    if is_worth_a_handle(value):
        answer["handle"] = handles.keep_value(value)
    return answer
