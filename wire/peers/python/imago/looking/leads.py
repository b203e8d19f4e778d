"""Expressions that lead on: from a value that is looked at to what it holds, each as `inspect` takes it."""

import keyword
import sys
from types import ModuleType

from imago.looking.adapters.adapter import Part, Said
from imago.looking.attributes import Attribute
from imago.looking.display import is_worth_a_handle
from imago.looking.expression import parse
from imago.looking.fields import (
    ABSENT,
    class_entries,
    class_lookup,
    cut,
    entries,
    exactly,
    inherits,
    instance_dict,
    is_class,
    mro,
)
from imago.looking.limits import MEMBER_NAME_MAX_CHARS
from imago.looking.outcomes import Unresolved
from imago.looking.resolution import is_comparable, stepped

_MOST_CHARS = 500


class Leads:
    """Spells what one value holds. What is spelled was followed, and has led to that very object without code.

    `expr` spells the value itself. Where no expression leads on, a handle does, if there is more to see than a text.
    """

    def __init__(self, expr, value, adapted, handles):
        #: By the names of attributes as they are shown; `None` where nothing leads on.
        self.names = {}
        self._value = Attribute(value)
        self._handles = handles
        # The program stores no object that an adapter makes for a look.
        self._is_stored = adapted is None
        self._sure = {} if is_class(value) else _only_stored(value)
        self._base = base = expr.strip()
        # Where the top level has no such name, that of a loaded module goes before an attribute of a module.
        loaded = entries(sys.modules) if inherits(value, ModuleType) else ()
        self._modules = {name: one for name, one in loaded if type(name) is str and name.startswith(base + ".")}
        if not _goes_on(base):
            self._base = handles.keep_value(value) if is_worth_a_handle(value) else None

    def attribute(self, name, held=ABSENT):
        """Spells the attribute of that name, which is `held`; left out: any that is found. The first of a name counts."""
        shown = cut(name, MEMBER_NAME_MAX_CHARS)
        if shown not in self.names:
            way = self._spelled(held, ("attribute", name))
            if way is None and held is not ABSENT:
                way = self._spelled(held, ("attribute", "__dict__"), ("item", name)) or self._handle(held)
            self.names[shown] = way

    def items(self, pairs, taken_again):
        """The expression or the handle for each of the items, by its index or its key; or `None`.

        `taken_again` reads them once more. What is made for a look is another object then, and is given no handle.
        """
        ways = [self._spelled(held, ("item", key)) for key, held in pairs]
        left = {at: held for at, (_, held) in enumerate(pairs) if ways[at] is None and _may_be_kept(held)}
        again = [held for _, held in taken_again()] if left else []
        stored = {id(held) for held in again}
        for at, held in left.items():
            if id(held) in stored:
                ways[at] = self._handles.keep_value(held)
        return ways

    def _spelled(self, held, *steps):
        here, (what, at) = self._value, steps[-1]
        if self._base is None or not is_comparable(at):
            return None
        try:
            text = self._base + "".join(f".{at}" if what == "attribute" else f"[{at!r}]" for what, at in steps)
            if len(text) > 2 * _MOST_CHARS or not (_is_plain(what, at) or parse(text).steps[-len(steps) :] == [*steps]):
                return None
            if what == "attribute" and at in self._sure:
                found = self._sure[at]
            elif what == "item" and type(here.value) is dict and len(steps) == 1:
                found = held  # No other literal is equal to the key, and that may be one of millions.
            else:
                for step in steps:
                    here, _ = stepped(here, text, step)
                found = here.value
        except (Unresolved, ValueError):  # An integer may have more digits than Python writes.
            return None
        return text if self._modules.get(text, found) is found and (held is ABSENT or found is held) else None

    def _handle(self, held):
        worth = self._is_stored and is_worth_a_handle(held)
        return self._handles.keep_value(held) if worth else None


def _may_be_kept(held):
    """Whether it may be an object of the program that is worth a handle, rather than a text or a part of an adapter."""
    return not exactly(held, (Part, Said)) and is_worth_a_handle(held)


def _goes_on(expr):
    """Whether what is written behind an expression goes on from its value: not where that ends in a comment."""
    try:
        return len(expr) < _MOST_CHARS and parse(expr + "._._").steps[-2:] == [("attribute", "_")] * 2
    except Unresolved:
        return False


def _is_plain(what, at):
    """Whether it is read as it is written, which the parser need not be asked about."""
    if type(at) is not str:
        return type(at) is int
    return at.isascii() and at.isidentifier() and (what == "item" or not keyword.iskeyword(at))


def _only_stored(value):
    """The entries of the dict of an instance or a module that no class of it has: each is surely an attribute."""
    cls = type(value)
    hook = class_lookup(cls, "__getattribute__")
    if hook is None or (hook[0] is not object and hook[0] is not ModuleType):
        return {}
    in_classes = {name for owner in mro(cls) for name, _ in class_entries(owner) if type(name) is str}
    own = entries(instance_dict(value) or {})
    return {name: held for name, held in own if type(name) is str and name not in in_classes}
