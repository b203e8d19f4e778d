"""Inspecting a value: by its stored fields, and piece by piece."""

from imago.looking.adapters.registry import seen
from imago.looking.contents import countable
from imago.looking.expression import parse
from imago.looking.fields import clean, cut, inherits, plain
from imago.looking.limits import KEPT_MAX_CHARS, NOTE_MAX_CHARS, PIECE_MAX_CHARS, PIECE_MAX_ITEMS
from imago.looking.live_frames import frames_with, live_frame
from imago.looking.outcomes import NotFound, found, look
from imago.looking.resolution import kept, resolve
from imago.looking.sections import Sections, item_texts, whole_doc
from imago.looking.rendering import items_of, static_card, static_repr

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
        text, truncated = static_card(entry.value, seen(entry.value), KEPT_MAX_CHARS)
        return found(text_piece(text, start, count, whole=not truncated))
    storage = items_of(entry.value, seen(entry.value))
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


# One value, looked at in sections.


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
    told = Sections(attribute.value, attribute.remark, handles, expr).told()
    return found(told if attribute.note is None else {**told, "note": cut(attribute.note, NOTE_MAX_CHARS)})


def _within(here, expr, handles):
    """The `Attribute` that `expr` leads to in a `LiveFrame`."""
    root = parse(expr).root
    names = here.variables()
    if root[0] != "name" or root[1] not in names:
        return resolve(here.frame.f_globals, expr, handles)
    attribute = resolve(names, expr, handles)
    attribute.note = attribute.note or f"`{root[1]}` is a local of {here.label}, at {here.place} at this moment"
    return attribute
