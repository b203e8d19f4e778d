"""What completion offers: names in scope, modules that can be imported, and how they match."""

import builtins
import keyword
import os
import sys
from bisect import bisect_left
from importlib.machinery import all_suffixes
from itertools import islice
from os import scandir, stat
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
    own_field,
    plain,
    slot_fields,
    steadily,
    stored,
    type_name,
)
from imago.looking.loaded import loaded_module, module_dict
from imago.looking.name_lookup import kind_of_name
from imago.native import monotonic

# What could be imported: modules that are loaded, and files and folders on the path, which are only listed.

_SUFFIXES = tuple(sorted(all_suffixes(), key=len, reverse=True))
_FOLDERS_KEPT = 256
_ENTRIES_MOST = 20_000
_PATHS_MOST = 200
_DEEPEST = 32
_SECONDS = 0.5

# Folder -> (time of change, names of the modules in it).
_listed = {}


def module_names(package):
    """The names of modules in a package, or of all at the top for the empty name; sorted."""
    found = set()
    prefix = package + "." if package else ""
    for name, _ in entries(sys.modules):
        if type(name) is str and name.startswith(prefix):
            found.add(name[len(prefix) :].partition(".")[0])
    if not package:
        found.update(sys.builtin_module_names)
    until = monotonic() + _SECONDS
    for folder in _folders(package):
        found.update(_modules_in(folder))
        if monotonic() > until:
            break
    return sorted(name for name in found if name.isidentifier() and not keyword.iskeyword(name))


def absolute(module, namespace):
    """The whole name of a module that an import writes with leading dots; None where it has no package around it."""
    level = len(module) - len(module.lstrip("."))
    if not level:
        return module
    package = plain(stored(namespace, "__package__"))
    if package is None:
        package = (plain(stored(namespace, "__name__")) or "").rpartition(".")[0]
    parts = package.split(".") if package else []
    if level > len(parts):
        return None
    return ".".join([*parts[: len(parts) - level + 1], *([module[level:]] if module[level:] else [])])


def _folders(package):
    """The folders that hold the modules of a package: as a loaded one says, or as they lie on the path."""
    if package.count(".") > _DEEPEST:
        return []
    if not package:
        paths = sys.path
    else:
        own = module_dict(package)
        paths = _plain_paths(stored(own, "__path__")) if inherits(own, dict) else None
        if paths is None:
            outer, _, last = package.rpartition(".")
            paths = [os.path.join(folder, last) for folder in _folders(outer)]
    return (_plain_paths(paths) or [])[:_PATHS_MOST]


def _plain_paths(paths):
    """The texts of an exact list, or of the list that a namespace package keeps; None for anything else."""
    if type(paths) is not list:
        paths = own_field(paths, "_path")
    return [path or os.curdir for path in paths if type(path) is str] if type(paths) is list else None


def _modules_in(folder):
    try:
        changed = stat(folder).st_mtime_ns
        known = _listed.get(folder)
        if known is not None and known[0] == changed:
            return known[1]
        names = set()
        with scandir(folder) as listing:
            for count, entry in enumerate(listing):
                if count >= _ENTRIES_MOST:
                    break
                name = _module_of(entry)
                if name is not None:
                    names.add(name)
    except (OSError, ValueError):
        return ()
    for oldest in list(_listed)[: max(0, len(_listed) - _FOLDERS_KEPT + 1)]:
        _listed.pop(oldest, None)
    _listed[folder] = (changed, names)
    return names


def _module_of(entry):
    """The name of the module that a file or folder is, or None."""
    for suffix in _SUFFIXES:
        if entry.name.endswith(suffix):
            name = entry.name[: -len(suffix)]
            return name if name.isidentifier() and name != "__init__" else None
    if entry.name.isidentifier() and entry.name != "__pycache__" and entry.is_dir():
        return entry.name
    return None


# Names of a dict that begin in a certain way, without going over all of a large one at every keystroke.
#
# The names of a large dict are kept sorted, without its values, for as long as it looks unchanged: as long, with the
# same names first and last. The values of those that are shown are taken by position, in one stride.

_LARGE = 2000
_KEPT = 8
_NAMES_KEPT = 2_000_000
_PREFIX_SECONDS = 60.0
_LAST = "\U0010ffff"

# id of a dict -> its Index.
_indexes = {}


class Wanted:
    """What names have to begin with; `blind` is it to the case of letters. Of many, `limit` are enough."""

    __slots__ = ("blind", "limit", "prefix")

    def __init__(self, prefix, limit, blind=False):
        self.prefix = prefix.casefold() if blind else prefix
        self.blind = blind
        self.limit = limit

    def fits(self, name):
        return (name.casefold() if self.blind else name).startswith(self.prefix)

    def among(self, pairs):
        """The pairs whose names are texts that fit."""
        return [pair for pair in pairs if type(pair[0]) is str and self.fits(pair[0])]


def beginning(mapping, wanted):
    """`(pairs, beyond)`: the pairs of a dict whose names fit, and how many more than those there are."""
    if dict.__len__(mapping) <= _LARGE:
        return steadily(lambda: wanted.among(dict.items(mapping))), 0
    index = _index_of(mapping)
    places, count = index.find(wanted)
    pairs = _pairs_at(mapping, places)
    if pairs is None:
        # It was changed in a way that did not show.
        _indexes.pop(id(mapping), None)
        places, count = _index_of(mapping).find(wanted)
        pairs = _pairs_at(mapping, places) or []
    return pairs, max(0, count - len(pairs))


class Index:
    """The names of one dict in the order in which they are offered: public, private, then with underscores around."""

    def __init__(self, mapping):
        names = steadily(lambda: list(dict.keys(mapping)))
        self.until = monotonic() + _PREFIX_SECONDS
        self.count = len(names)
        self.ends = (id(names[0]), id(names[-1])) if names else (None, None)
        groups = ([], [], [])
        for at, name in enumerate(names):
            if type(name) is str:
                groups[2 if is_dunder(name) else 1 if name[:1] == "_" else 0].append((name, at))
        for group in groups:
            group.sort()
        self._groups = groups
        self._folded = None

    def is_of(self, mapping):
        """Whether the dict looks as it did."""
        if dict.__len__(mapping) != self.count or monotonic() > self.until:
            return False
        first, last = next(iter(dict.keys(mapping)), None), next(dict.__reversed__(mapping), None)
        return (id(first), id(last)) == self.ends

    def find(self, wanted):
        """`(places, count)`: the first names that fit, with their positions in the dict, and how many fit in all."""
        places, count = [], 0
        for group in self._blind_groups() if wanted.blind else self._groups:
            low = bisect_left(group, (wanted.prefix,))
            high = bisect_left(group, (wanted.prefix + _LAST,))
            count += high - low
            places += group[low : min(high, low + wanted.limit - len(places))] if len(places) < wanted.limit else []
        return [place[-2:] for place in places], count

    def _blind_groups(self):
        if self._folded is None:
            self._folded = [sorted((name.casefold(), name, at) for name, at in group) for group in self._groups]
        return self._folded


def _index_of(mapping):
    index = _indexes.get(id(mapping))
    try:
        if index is not None and index.is_of(mapping):
            return index
    except RuntimeError:
        pass  # It is being changed at this moment.
    index = Index(mapping)
    _make_room(index.count)
    _indexes[id(mapping)] = index
    return index


def _make_room(count):
    """Drops what is too old, and of the others the oldest, for an index of so many names."""
    now = monotonic()
    for key, other in list(_indexes.items()):
        kept = sum(one.count for one in list(_indexes.values()))
        if other.until < now or len(_indexes) >= _KEPT or kept + count > _NAMES_KEPT:
            _indexes.pop(key, None)


def _pairs_at(mapping, places):
    """The pairs of a dict at some positions, in the order of `places`; None if other names stand there by now."""

    def walk():
        found, before = {}, 0
        items = iter(dict.items(mapping))
        for at, name in sorted((at, name) for name, at in places):
            pair = next(islice(items, at - before, None), None)
            if pair is None or pair[0] is not name:
                return None
            found[name] = pair[1]
            before = at + 1
        return [(name, found[name]) for name, _ in places]

    return steadily(walk)


# The names that a value or a namespace offers, by what is stored there; what each is, is only told of those shown.

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
    return inherits(value, ModuleType) and own_field(value, "__getattr__") is not ABSENT


def keys_of(value):
    """The keys of a dict or of something that stores them as one, as far as they are texts, bytes or numbers."""
    storage = storage_of(value)
    if storage is None or storage.shape != "mapping":
        return None
    return [key for key, _ in storage.take(value, 0, _KEYS_MOST)]
