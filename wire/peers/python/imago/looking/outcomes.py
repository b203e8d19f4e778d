"""What a look can end with, and the names that are nearest to one that was not found."""

import difflib
from functools import wraps
from heapq import nlargest
from itertools import islice
from operator import itemgetter

from imago.looking.fields import cut
from imago.looking.limits import NAME_MAX_CHARS, NEAREST_MAX_NAMES
from imago.native import monotonic


# Names like one that was not found.

_COMPARED = 400
_READ = 200_000
_ALIKE = 0.6
_SECONDS = 0.2


def nearest(name, names, alike=_ALIKE):
    """At most five of `names`, the likest first and else in their order; `alike` is the least likeness, up to 1.

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
    likest = _likest(folded, by_fold, alike)
    return [other for fold in likest for other in by_fold[fold]][:NEAREST_MAX_NAMES]


def _likest(word, candidates, alike):
    """What `difflib.get_close_matches` finds, as far as there is time: long words of few letters take it very long."""
    until, scored = monotonic() + _SECONDS, []
    matcher = difflib.SequenceMatcher()
    matcher.set_seq2(word)
    for candidate in candidates:
        if monotonic() > until:
            break
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() >= alike and matcher.quick_ratio() >= alike:
            likeness = matcher.ratio()
            if likeness >= alike:
                scored.append((likeness, candidate))
    return [candidate for _, candidate in nlargest(NEAREST_MAX_NAMES, scored, key=itemgetter(0))]


# What a look may come to, spelled as the contract spells it; and why one went no further.

_LONGEST = 400


class Unresolved(Exception):
    """Looking ends here, without a value. `looked` is the answer."""

    def __init__(self, looked):
        super().__init__(looked["type"])
        self.looked = looked


class NeedsEvaluation(Unresolved):
    """Only running code could tell; `because` is a whole sentence that names the code."""

    def __init__(self, because):
        super().__init__({"type": "needs_evaluation", "because": cut(because, _LONGEST)})


class NotFound(Unresolved):
    """There is no `what`; `nearest` are names that are like it."""

    def __init__(self, what, nearest=()):
        super().__init__(not_found(what, nearest))


class Malformed(Unresolved):
    """It spells nothing that could be looked for; `line` and `column` count from 1, as far as they are known."""

    def __init__(self, message, line=None, column=None):
        super().__init__(malformed(message, line, column))


def look(answer):
    """A look whose way may end in `Unresolved`, which then has its answer."""

    @wraps(answer)
    def looked(*given):
        try:
            return answer(*given)
        except Unresolved as unresolved:
            return unresolved.looked

    return looked


def found(value):
    return {"type": "found", "value": value}


def not_found(what, nearest=()):
    return {"type": "not_found", "what": cut(what, _LONGEST), "nearest": [cut(name, _LONGEST) for name in nearest]}


def malformed(message, line=None, column=None):
    """`line` and `column` count from 1; those that are not known are left out."""
    answer = {"type": "malformed", "message": cut(message, _LONGEST)}
    if line is not None and line > 0:
        answer["line"] = line
    if column is not None and column > 0:
        answer["column"] = column
    return answer


class StaleHandle(LookupError):
    """The handle leads nowhere any more. `because` says why, as the end of a sentence about it."""

    def __init__(self, handle, because):
        super().__init__(f"{handle}: {because}")
        self.handle = handle
        self.because = because


def stale_handle(stale):
    return {"type": "stale_handle", "handle": cut(stale.handle, 80), "because": stale.because}
