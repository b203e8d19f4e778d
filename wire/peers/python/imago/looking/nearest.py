"""Names like one that was not found."""

import difflib
from itertools import islice

from imago.looking.limits import NAME_MAX_CHARS, NEAREST_MAX_NAMES

_COMPARED = 400
_READ = 200_000


def nearest(name, names):
    """At most five of `names`, the likest first. Only exact strings count; the work is bounded however many there are.

    Of many names, those are compared that are about as long, and among these the ones that begin alike.
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
    likest = difflib.get_close_matches(folded, list(by_fold), n=NEAREST_MAX_NAMES, cutoff=0.6)
    return [other for fold in likest for other in by_fold[fold]][:NEAREST_MAX_NAMES]
