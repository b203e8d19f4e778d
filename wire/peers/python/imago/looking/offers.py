"""The names that a value or a namespace offers, by what is stored there; what each is, is only told of those shown."""

import builtins
import keyword
from types import ModuleType

from imago.looking.contents import storage_of
from imago.looking.fields import (
    ABSENT,
    class_entries,
    class_entry,
    class_lookup,
    clean,
    entries,
    inherits,
    instance_dict,
    is_class,
    is_dunder,
    mro,
    slot_fields,
    stored,
    type_name,
)
from imago.looking.loaded import loaded_module
from imago.looking.namekinds import kind_of_name
from imago.looking.prefixes import beginning

_KEYS_MOST = 20_000
_BUILT_IN_CONSTANTS = ("None", "True", "False")
_NO_KEYWORDS = (*_BUILT_IN_CONSTANTS, "_")
_WORDS = [word for word in [*keyword.kwlist, *getattr(keyword, "softkwlist", ())] if word not in _NO_KEYWORDS]

class Offer:
    """One way to go on. `rank` sorts it among others: below 0 are those that come first whatever they are called."""

    __slots__ = ("_in_class", "_type_name", "_value", "kind", "rank", "text", "word")

    def __init__(self, text, rank, value=ABSENT, in_class=False, kind=None, word=None, type_name=None):
        self.text = text
        self.rank = rank
        self.kind = kind
        self.word = text if word is None else word
        self._value = value
        self._in_class = in_class
        self._type_name = type_name

    @property
    def order(self):
        """Public names before private ones, and those before what has two underscores on both sides."""
        word = self.word
        hidden = 2 if is_dunder(word) else 1 if word[:1] == "_" else 0
        return self.rank >= 0, hidden if self.rank >= 0 else 0, self.rank, word.casefold(), word

    def shown(self):
        """The contract's `Completion`."""
        kind = self.kind
        if kind is None:
            kind = kind_of_name(self._value, self.word, self._in_class)
        name = self._type_name
        if self._value is not ABSENT and kind != "property":
            name = type_name(self._value)
        return {"text": clean(self.text), "kind": kind, "type_name": name}


class Offers:
    """Ways to go on, each name once: the first that is added counts. `beyond` counts those that were not looked at."""

    def __init__(self, wanted):
        self._wanted = wanted
        self._found = {}
        self.beyond = 0

    def __iter__(self):
        return iter(self._found.values())

    def __len__(self):
        return len(self._found) + self.beyond

    def add(self, pairs, rank, in_class=False):
        for name, value in self._wanted.among(pairs):
            if name not in self._found:
                self._found[name] = Offer(name, rank, value, in_class)

    def add_stored(self, mapping, rank):
        """Adds what a dict stores, as far as it is looked at."""
        pairs, beyond = beginning(mapping, self._wanted)
        self.beyond += beyond
        for name, value in pairs:
            if name not in self._found:
                self._found[name] = Offer(name, rank, value)

    def add_words(self, words, rank, kind, type_name=None):
        for word in words:
            if word not in self._found and self._wanted.fits(word):
                self._found[word] = Offer(word, rank, kind=kind, type_name=type_name)


def names_at_top(namespace, wanted, bound):
    """What a bare word may become: names of the top level, of the code itself (`bound`), of Python."""
    offers = Offers(wanted)
    offers.add_stored(namespace, 1)
    for name, kind in bound.items():
        offers.add_words([name], 1, kind)
    offers.add_words(_BUILT_IN_CONSTANTS, 3, "constant")
    offers.add_words(_WORDS, 2, "keyword")
    offers.add_stored(builtins.__dict__, 3)
    return offers


def attributes_of(value, wanted):
    """What may stand behind a dot after a value."""
    offers = Offers(wanted)
    if is_class(value):
        members = class_entry(value, "_member_map_")
        if inherits(members, dict):
            offers.add_stored(members, 1)
        for owner in mro(value):
            offers.add(class_entries(owner), 1, True)
        for owner in mro(type(value)):
            offers.add(class_entries(owner), 2, True)
        return offers
    own = instance_dict(value)
    if own is not None and value is loaded_module("imago"):
        offers.add([pair for pair in entries(own) if not inherits(pair[1], ModuleType)], 1)
    elif own is not None:
        offers.add_stored(own, 1)
    if not inherits(value, ModuleType):
        offers.add(slot_fields(value), 1)
    for owner in mro(type(value)):
        offers.add(class_entries(owner), 1, True)
    return offers


def computes_attributes(value):
    """Whether code of its class, or of a module, makes up attributes that are not stored."""
    if class_lookup(type(value), "__getattr__") is not None or class_lookup(type(value), "__dir__") is None:
        return True
    if inherits(value, ModuleType):
        own = instance_dict(value)
        return own is not None and stored(own, "__getattr__") is not ABSENT
    return False


def keys_of(value):
    """The keys of a dict or of something that stores them as one, as far as they are texts, bytes or numbers."""
    storage = storage_of(value)
    if storage is None or storage.shape != "mapping":
        return None
    return [key for key, _ in storage.take(value, 0, _KEYS_MOST)]
