"""The look `apropos`: names in the whole image that contain a text."""

import builtins
import sys
from heapq import nsmallest
from operator import itemgetter
from time import monotonic
from types import ModuleType

from imago.looking.fields import (
    ABSENT,
    class_entries,
    clean,
    entries,
    inherits,
    instance_dict,
    is_class,
    is_dunder,
    plain,
    stored,
)
from imago.looking.leaves import own_name
from imago.looking.loaded import (
    home_of,
    Imports,
    is_imago,
    is_library,
    loaded_module,
    modules,
    nearest_modules,
    programs_first,
)
from imago.looking.namekinds import named_thing
from imago.looking.outcomes import found, not_found

_MOST = 1000
_SECONDS = 0.8
_TOP, _PROGRAM, _LIBRARY = range(3)
_place = itemgetter(0)


def apropos(image, query):
    """A `Looked<Apropos>`: first the names at the top level, then those of the program, then those of libraries.

    A function or class is told where it was defined, and not again where it was imported.
    """
    within = query.get("module")
    if within is not None and within != own_name(image.namespace) and loaded_module(within) is ABSENT:
        return not_found(f"`{within}`, as a module that is loaded", nearest_modules(within))
    search = _Search(query["pattern"])
    searched, complete = search.run(list(_spaces(image.namespace, within)))
    after = query.get("after")
    matches = search.matches
    total = len(matches)
    if after is not None:
        place = (_rank_of(after, image.namespace), after)
        matches = [match for match in matches if match[0] > place]
    limit = max(1, min(query.get("limit", 50), _MOST))
    page = nsmallest(limit, matches, key=_place)
    answer = {
        "matches": [named_thing(name, value, last, in_class) for (_, name), value, last, in_class in page],
        "total": total if complete else None,
        "searched": searched,
    }
    if len(matches) > len(page):
        answer["next"] = page[-1][0][1]
    return found(answer)


class _Search:
    """`matches` are `((rank, dotted name), value, last part of the name, whether a class stores it)`."""

    def __init__(self, pattern):
        self._pattern = pattern.casefold()
        self._dotted = "." in pattern
        self._dunders = pattern.startswith("__")
        self._imports = Imports()
        self.matches = []

    def run(self, spaces):
        """Goes through `(rank, module, namespace)`; returns how many it got through, and whether those were all."""
        until = monotonic() + _SECONDS
        for searched, (rank, module, namespace) in enumerate(spaces):
            if monotonic() > until:
                return searched, False
            self._space(rank, module, namespace)
        return len(spaces), True

    def _space(self, rank, module, namespace):
        prefix = "" if namespace is builtins.__dict__ or rank == _TOP else f"{module}."
        if rank != _TOP and self._fits(module.rpartition(".")[2], module):
            value = loaded_module(module)
            self.matches.append(((rank, module), value, module.rpartition(".")[2], False))
        for name, value in entries(namespace):
            if type(name) is not str or clean(name) != name:
                continue
            if self._fits(name, prefix + name) and not self._imports.has(value, name, module):
                self.matches.append(((rank, prefix + name), value, name, False))
            if is_class(value) and home_of(value) == module:
                self._members(rank, prefix + name, value)

    def _members(self, rank, owner, cls):
        for name, entry in class_entries(cls):
            if type(name) is str and self._fits(name, f"{owner}.{name}") and clean(name) == name:
                self.matches.append(((rank, f"{owner}.{name}"), entry, name, True))

    def _fits(self, name, dotted):
        if "__" in name and is_dunder(name) and not self._dunders:
            return False
        return self._pattern in (dotted if self._dotted else name).casefold()


def _spaces(namespace, within):
    """`(rank, module, namespace)` of all that is searched, each dict once."""
    own = own_name(namespace)
    if within in (None, own):
        yield _TOP, own, namespace
    seen = {id(namespace)}
    loaded = modules()
    # A module that is loaded under several names is told under its own.
    loaded.sort(key=lambda one: plain(stored(one[2], "__name__")) != one[0])
    kept = []
    for name, module, own in loaded:
        if within is not None and name != within and not name.startswith(within + "."):
            continue
        if within is None and is_imago(name):
            continue
        if id(own) not in seen:
            seen.add(id(own))
            kept.append((name, module, own))
    for name, _, own in programs_first(kept):
        yield (_LIBRARY if is_library(name, own) else _PROGRAM), name, own


def _rank_of(name, namespace):
    """The rank of a name that was listed before, so that the list goes on behind it."""
    parts = name.split(".")
    at_top = stored(namespace, parts[0])
    if at_top is not ABSENT and not inherits(at_top, ModuleType):
        return _TOP
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        own = stored(sys.modules, module)
        if inherits(own, ModuleType):
            return _LIBRARY if is_library(module, instance_dict(own) or {}) else _PROGRAM
    return _LIBRARY
