"""The kind of a value, and a value as an answer shows it."""

import decimal
from collections import abc, deque
from fractions import Fraction
from types import AsyncGeneratorType, CoroutineType, GeneratorType, MappingProxyType, ModuleType

from imago.looking.adapters.registry import kind_by_adapter
from imago.looking.contents import exactly_built_in, length_of, storage_of
from imago.looking.fields import (
    class_label,
    class_lookup,
    clean,
    exactly,
    inherits,
    is_class,
    made_by_statement,
    mro,
    plain,
    type_facts,
)
from imago.looking.frames import describe_error
from imago.looking.limits import KEPT_MAX_CHARS, REPR_MAX_CHARS, SHOWN_SECONDS, DeadlineExceeded
from imago.looking.rendering import preview_of, shown_text, static_repr, static_text

# What sort of thing a value is, in the words of the contract, judged by its real class alone.

_BY_BASE = (
    (BaseException, "exception"),
    ((int, float, complex, decimal.Decimal), "number"),
    (str, "string"),
    ((bytes, bytearray, memoryview), "bytes"),
    ((dict, MappingProxyType), "mapping"),
    ((list, tuple, deque, range), "sequence"),
    ((set, frozenset), "set"),
    (GeneratorType, "generator"),
    (CoroutineType, "coroutine"),
    (AsyncGeneratorType, "async_generator"),
)

# These have metaclasses, so that `issubclass` would ask them; their place in the real order says the same.
_BY_ORDER = ((abc.Mapping, "mapping"), (abc.Sequence, "sequence"), (abc.Set, "set"), (Fraction, "number"))


def kind_of(value):
    """One of the contract's kinds."""
    if value is None:
        return "none"
    if value is True or value is False:
        return "bool"
    if is_class(value):
        return "class"
    if inherits(value, ModuleType):
        return "module"
    kind = kind_by_adapter(value)
    if kind is not None:
        return kind
    cls = type(value)
    for base, kind in _BY_BASE:
        if issubclass(cls, base):
            return kind
    storage = storage_of(value)
    if storage is not None:
        return storage.shape
    for base in mro(cls):
        for known, kind in _BY_ORDER:
            if base is known:
                return kind
    if class_lookup(cls, "__next__") is not None:
        return "iterator"
    if callable(value):
        return "callable"
    return "object" if made_by_statement(cls) else "other"


# Values as their own printers show them, for what an evaluation came to.
#
# Built-in containers are written item by item, so that a huge one costs no more than what is kept of it. Only the
# printers of user classes are called, in a guarded stretch of time; where one fails, what the object stores is shown
# instead, and the text says so. A result is never lost to its printer.

_DEEPEST = 50
_PRINTED_AS_WHOLE = 200_000
"""Bits of the largest int that is written out in decimal, which nothing can interrupt."""
_SCALARS = ("none", "bool", "number")
_LONG_TEXT = 200
SCALAR_FACTS = {type(one): type_facts(one) for one in (None, True, 0, 0.0, "")}


def show(value, handles, guard):
    """The contract's `Shown` of a value. Its printer runs under `guard`; whatever that does, there is an answer."""
    handles.let_go()
    short = quick(value)
    if short is not None and len(short) <= _LONG_TEXT:
        return {"repr": shown_text(short, False), "type": SCALAR_FACTS[type(value)]}
    text = printed(value, handles, guard, SHOWN_SECONDS)
    shown = shown_value(value, text, handles.keep_value)
    # A large value may have taken the room of others: here their finalizers may run.
    handles.let_go()
    return shown


def shown_value(value, text, keep):
    """The contract's `Shown` of a value and its text; `keep` makes a handle of what is worth one."""
    shown = {"repr": text, "type": type_facts(value)}
    if is_worth_a_handle(value):
        shown["handle"] = keep(value)
        preview = preview_of(value)
        if preview is not None:
            shown["preview"] = preview
    return shown


def is_worth_a_handle(value):
    """Whether there is more to a value than its text: containers that hold something, objects, long texts."""
    kind = kind_of(value)
    if kind in _SCALARS:
        return False
    length = length_of(value)
    if kind in ("string", "bytes"):
        return length is None or length > _LONG_TEXT
    return length is None or length > 0


def printed(value, handles, guard, seconds):
    """The contract's `Text` of what the value's own printer says, with a handle for what did not fit."""
    short = quick(value)
    if short is not None:
        return shown_text(short, False)
    page = _Printout(KEPT_MAX_CHARS)
    try:
        with guard(seconds):
            page.print(value)
    except DeadlineExceeded:
        return fallback(value, f"Its printer took longer than {seconds:g} s.")
    except RecursionError as error:
        return fallback(value, describe_error(error))
    whole = clean("".join(page.parts))
    truncated = len(whole) > REPR_MAX_CHARS or page.truncated
    text = {
        "text": whole[:REPR_MAX_CHARS],
        "truncated": truncated,
        "original_len": None if page.truncated else len(whole),
    }
    if len(whole) > REPR_MAX_CHARS:
        text["handle"] = handles.keep_text(whole)
    if page.error is not None:
        text["error"] = page.error
    return text


def fallback(value, error):
    """What is stored, for a value whose printer failed; `error` says how it did."""
    text, truncated = static_repr(value, REPR_MAX_CHARS)
    return {**shown_text(text, truncated), "error": error}


def quick(value):
    """The text of a small built-in scalar, for which no guard needs to be put up."""
    kind = type(value)
    if value is None or kind is bool or kind is float or (kind is int and value.bit_length() < 1024):
        return repr(value)
    if kind is str and len(value) < 1024:
        return clean(repr(value))
    return None


class _Full(Exception):
    """The printout has no room left."""


class _Printout:
    """A bounded text that is being printed. `error` is the first thing that a printer did wrong."""

    def __init__(self, room):
        self.room = room
        self.parts = []
        self.truncated = False
        self.error = None
        self.path = []

    def print(self, value):
        try:
            self.value(value)
        except _Full:
            self.truncated = True

    def write(self, text):
        if len(text) > self.room:
            self.parts.append(text[: self.room])
            raise _Full
        self.parts.append(text)
        self.room -= len(text)

    def value(self, value):
        if exactly_built_in(value):
            storage = storage_of(value)
            if storage is not None and type(value) is not range:
                self.container(value, storage)
                return
        if exactly(value, (str, bytes, bytearray, int)):
            self.long_leaf(value)
            return
        self.write(self.own(value))

    def long_leaf(self, value):
        """A text or a number that may be huge: no more of it is printed than there is room for."""
        room = self.room
        if type(value) is int:
            try:
                self.write(repr(value) if value.bit_length() < _PRINTED_AS_WHOLE else static_text(value, room))
            except ValueError:
                self.write(static_text(value, room))
            return
        self.write(repr(value[: room + 1]))

    def own(self, value):
        """What the value's own printer says; what it stores, if the printer fails."""
        try:
            return plain(repr(value))
        except KeyboardInterrupt:
            raise
        except DeadlineExceeded:
            raise
        except BaseException as error:  # SystemExit of a printer must not end the evaluation that shows its result.
            if self.error is None:
                self.error = f"The printer of {class_label(type(value))} raised {describe_error(error)}"
            return static_text(value, REPR_MAX_CHARS)

    def container(self, value, storage):
        if id(value) in self.path or len(self.path) >= _DEEPEST:
            self.truncated = self.truncated or id(value) not in self.path
            self.write(f"{storage.opening}...{storage.closing}")
            return
        length = storage.length(value)
        if length == 0 and storage.empty is not None:
            self.write(storage.empty)
            return
        self.write(storage.opening)
        self.path.append(id(value))
        start = 0
        while start < length:
            items = storage.take(value, start, 4096)
            if not items:
                break
            for index, item in enumerate(items, start):
                if index:
                    self.write(", ")
                if storage.shape == "mapping":
                    self.value(item[0])
                    self.write(": ")
                    item = item[1]
                self.value(item)
            start += len(items)
        self.path.pop()
        self.write(",)" if storage.closing == ")" and length == 1 else storage.closing)
