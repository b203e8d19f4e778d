"""What a look may come to, spelled as the contract spells it; and why one went no further."""

from imago.looking.fields import cut

_LONGEST = 400


class Unresolved(Exception):
    """Looking ends here, without a value. `looked` is the answer."""

    def __init__(self, looked):
        super().__init__(looked["type"])
        self.looked = looked


def found(value):
    return {"type": "found", "value": value}


def needs_evaluation(because):
    """Only running code could tell; `because` is a whole sentence that names the code."""
    return {"type": "needs_evaluation", "because": cut(because, _LONGEST)}


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


def stale_handle(stale):
    return {"type": "stale_handle", "handle": cut(stale.handle, 80), "because": stale.because}


def timed_out(seconds):
    return {"type": "timed_out", "deadline_ms": round(seconds * 1000)}
