"""Names like one that was not found."""

import difflib
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from time import monotonic

from imago.looking.limits import NAME_MAX_CHARS, NEAREST_MAX_NAMES

_COMPARED = 400
_READ = 200_000
_ALIKE = 0.6
_SECONDS = 0.2


def nearest(name, names):
    """At most five of `names`, the likest first and else in their order.

    Only exact strings count; the work is bounded however many there are. Of many names, those are compared
    that are about as long, and among these the ones that begin alike.
    """
    if len(name) > NAME_MAX_CHARS:
        return []
    folded = name.casefold()
    slack = max(2, len(name) // 3)
    near, far = {}, {}
    for other in islice(names, _READ):
        if type(other) is not str or abs(len(other) - len(name)) > slack:
            continue
        group = near if other[:1].casefold() == folded[:1] else far
        if len(group) < _COMPARED:
            group[other] = None
    candidates = list(near) + list(far)
    by_fold = {}
    for other in candidates:
        by_fold.setdefault(other.casefold(), []).append(other)
    likest = _likest(folded, by_fold)
    return [other for fold in likest for other in by_fold[fold]][:NEAREST_MAX_NAMES]


def _likest(word, candidates):
    """What `difflib.get_close_matches` finds, as far as there is time: long words of few letters take it very long."""
    until, scored = monotonic() + _SECONDS, []
    matcher = difflib.SequenceMatcher()
    matcher.set_seq2(word)
    for candidate in candidates:
        if monotonic() > until:
            break
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE:
            likeness = matcher.ratio()
            if likeness >= _ALIKE:
                scored.append((likeness, candidate))
    return [candidate for _, candidate in nlargest(NEAREST_MAX_NAMES, scored, key=itemgetter(0))]
