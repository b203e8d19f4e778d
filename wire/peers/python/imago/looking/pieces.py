"""The next part of something that was cut, by its handle. Runs no user code."""

from imago.handles import StaleHandle
from imago.looking.adapted import items_of, static_card
from imago.looking.contents import countable
from imago.looking.fields import clean, inherits, plain
from imago.looking.limits import KEPT_MAX_CHARS, PIECE_MAX_CHARS, PIECE_MAX_ITEMS
from imago.looking.outcomes import found, stale_handle
from imago.looking.sections import item_texts, whole_doc
from imago.looking.statictext import static_repr


def more(handles, query):
    """A `Looked<Piece>`: `count` characters or items from `from` on, fewer if one answer cannot carry them all.

    A handle of a text or of a printed value is read by characters, one of a sample or of a container by items. A
    string that is kept as a value is read as the characters it holds, anything else as its static text.
    """
    try:
        entry = handles.find(query["handle"])
    except StaleHandle as stale:
        return stale_handle(stale)
    start, count = max(0, query["from"]), max(1, query["count"])
    if entry.kind == "text":
        return found(_text(entry.value, start, count, whole=True))
    if entry.kind == "doc":
        return found(_text(whole_doc(entry.value), start, count, whole=True))
    if entry.kind == "repr":
        text, truncated = static_card(entry.value, KEPT_MAX_CHARS)
        return found(_text(text, start, count, whole=not truncated))
    storage = items_of(entry.value)
    if storage is not None:
        return found(_items(entry.value, storage, start, count))
    if inherits(entry.value, str):
        return found(_characters(entry.value, start, count))
    text, truncated = static_repr(entry.value, KEPT_MAX_CHARS)
    return found(_text(text, start, count, whole=not truncated))


def _text(text, start, count, *, whole):
    end = start + min(count, PIECE_MAX_CHARS)
    return {
        "type": "text",
        "text": text[start:end],
        "from": start,
        "total": len(text) if whole else None,
        "next": end if end < len(text) else None,
    }


def _characters(value, start, count):
    """Part of a string of any length, or of an instance of a subclass."""
    length = str.__len__(value)
    end = start + min(count, PIECE_MAX_CHARS)
    return {
        "type": "text",
        "text": clean(plain(str.__getitem__(value, slice(start, end)))),
        "from": start,
        "total": length,
        "next": end if end < length else None,
    }


def _items(value, storage, start, count):
    total = storage.length(value)
    texts, room = [], PIECE_MAX_CHARS
    for text in item_texts(value, storage, start, min(count, PIECE_MAX_ITEMS)):
        room -= len(text)
        if room < 0:
            break
        texts.append(text)
    end = start + len(texts)
    return {
        "type": "items",
        "items": texts,
        "from": start,
        "total": countable(total),
        "next": end if end < total else None,
    }
