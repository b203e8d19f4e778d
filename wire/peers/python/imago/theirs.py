"""The error that the person at a prompt of this program was left with: told of, and made a suspension on their word.

It is what the prompt leaves for its own debugger, as ``sys.last_exc`` or ``sys.last_value``. What was raised in an
evaluation of Imago's is not theirs, whoever has put it there.
"""

from imago.history import WHERE, left_error
from imago.looking.codes import file_of
from imago.looking.failures import stored_message
from imago.looking.fields import type_facts
from imago.looking.frames import is_ours
from imago.looking.outcomes import found, malformed, not_found
from imago.sources import is_evaluated
from imago.stills import moment_of, still
from imago.suspending import facts_of, frames_of, notes_of, trace_of

#: Who it is of.
PERSON = 'the person at the prompt'
#: Frames of the prompt itself, at the outer end of such an error.
_PROMPTS = frozenset(['code.py', 'pdb.py', 'bdb.py'])


class Left:
    """The error that is there now, by a name of its own for each that was."""

    def __init__(self, handles):
        self._prefix = handles.prefix
        self._count = 0
        self._moment = None
        self._adopted = None

    def found(self):
        """``(id, error)``, or ``(None, None)`` where there is none."""
        error, moment = left_error()
        if error is None or _is_ours(error):
            return None, None
        if moment != self._moment:
            self._count += 1
            self._moment, self._adopted = moment, None
        return 'e%d@%s' % (self._count, self._prefix), error

    def adopted(self, live):
        """The suspension that it is, if it still is one of ``live``."""
        return self._adopted if self._adopted in live else None

    def adopt(self, suspension):
        self._adopted = suspension


def theirs(image, query):
    """A ``Looked<Theirs>``."""
    name, error = image.left.found()
    if error is None:
        return found({'errors': []})
    told = {'id': name, 'where': WHERE, 'type': type_facts(error), 'message': stored_message(error)}
    return found({'errors': [told]})


def adopt(image, query):
    """A ``Looked<Suspension>``: the same one again, where it is one."""
    name, error = image.left.found()
    if error is None or name != query['id']:
        return not_found(query['id'], [] if name is None else [name])
    suspensions = image.suspensions
    known = image.left.adopted(suspensions.live())
    if known is not None:
        suspensions.lease(known, query['lease_ms'])
        return found(known.told())
    why_not = suspensions.why_not()
    frames = _without_prompt(frames_of(trace_of(error)))
    if why_not is None and not frames:
        why_not = 'It has no frames of the program to look at.'
    if why_not is not None:
        return malformed(why_not)
    raised = still(error)
    kept = suspensions.keep(facts_of(raised, None, PERSON), frames, query['lease_ms'], notes=notes_of(raised))
    if kept is None:
        return malformed(suspensions.why_not() or 'It could not be kept; ask again.')
    image.left.adopt(kept)
    return found(kept.told())


def _is_ours(error):
    """Whether it was raised in an evaluation, by which its stack begins, whoever has caught it."""
    trace = trace_of(error)
    if trace is not None and is_evaluated(trace.tb_frame.f_code):
        return True
    while trace is not None:
        if is_ours(trace.tb_frame.f_code):
            return True
        trace = trace.tb_next
    return False


def _without_prompt(frames):
    """The frames but those at the outer end that are the prompt's own."""
    kept = list(frames)
    while kept and _of_a_prompt(file_of(kept[-1][0].f_code)):
        kept.pop()
    return kept


def _of_a_prompt(file):
    parts = file.replace('\\', '/').split('/')
    return 'IPython' in parts or parts[-1] in _PROMPTS
