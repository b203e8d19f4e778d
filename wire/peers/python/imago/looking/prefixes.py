"""Names of a dict that begin in a certain way, without going over all of a large one at every keystroke.

The names of a large dict are kept sorted, without its values, for as long as it looks unchanged: as long, with the
same names first and last. The values of those that are shown are taken by position, in one stride.
"""

from bisect import bisect_left
from itertools import islice
from time import monotonic

from imago.looking.fields import is_dunder, steadily

_LARGE = 2000
_KEPT = 8
_NAMES_KEPT = 2_000_000
_SECONDS = 60.0
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
        self.until = monotonic() + _SECONDS
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
