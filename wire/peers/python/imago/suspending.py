"""Whether an error suspends its evaluation, and what is kept of it then.

Not suspended are what ends a program or was asked to stop it (``SystemExit``, ``KeyboardInterrupt``), a source that
cannot be compiled, which has no frames, and ``MemoryError``, whose frames would keep the memory. A ``RecursionError``
is: its frames are there already, and looking at them goes by pages.
"""

import sys
import time

from imago.history import rfc3339
from imago.looking.frames import is_ours
from imago.resuming import restarts
from imago.suspensions import UNHEARD

# A class of the program's may have an attribute of this name, and it may be code.
trace_of = BaseException.__dict__['__traceback__'].__get__

_ENDS = (SystemExit, KeyboardInterrupt, GeneratorExit)
MEMORY = 'It did not suspend: its frames would keep what has filled the memory.'
OUTER_ENDED = 'It did not suspend: the suspension in whose frame it was raised has ended.'


def ended_with(evaluator, evaluation, error, raised, elapsed_ms):
    """The outcome of an evaluation that ended with ``error``, of which ``raised`` is the report."""
    outcome = {'type': 'raised', 'exception': raised, 'elapsed_ms': elapsed_ms}
    if evaluation.suspend is None or issubclass(type(error), _ENDS):
        return outcome
    frames = frames_of(trace_of(error))
    if not frames:
        return outcome
    within = evaluation.within
    why_not = MEMORY if issubclass(type(error), MemoryError) else evaluator.suspensions.why_not()
    if why_not is None and within is not None and within.ended:
        why_not = OUTER_ENDED
    if why_not is not None:
        raised['notes'] = [*raised.get('notes', ()), why_not]
        return outcome
    facts = facts_of(raised, evaluation.call, evaluation.who)
    work = evaluation.again or evaluation.work
    kept = evaluator.suspensions.keep(facts, frames, evaluation.suspend[0], within, work, notes_of(raised))
    if kept is None:
        raised['notes'] = [*raised.get('notes', ()), UNHEARD]
        return outcome
    return suspended_as(kept, raised, elapsed_ms)


def suspended_as(suspension, raised, elapsed_ms):
    """The outcome of an evaluation that waits as ``suspension``, by an error of which ``raised`` is the report."""
    exception = {**raised, 'restarts': restarts(suspension)}
    told = suspension.told()
    return {'type': 'suspended', 'suspension': told, 'exception': exception, 'elapsed_ms': elapsed_ms}


def is_stopped(error):
    """Whether an exception is an interrupt, or was raised while handling one."""
    asyncio = sys.modules.get('asyncio')
    cancelled = () if asyncio is None else (asyncio.CancelledError,)
    seen = []
    while error is not None and all(error is not known for known in seen):
        if isinstance(error, (KeyboardInterrupt, SystemExit, *cancelled)):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False


def facts_of(raised, call, who):
    """What a ``Suspension`` of the contract says of an error, and of whose it is."""
    message, kind = raised['message'], raised['type']
    return {'call': call, 'who': who, 'type': kind, 'message': message, 'at': rfc3339(time.time())}


def notes_of(raised):
    """What is to be said in each of its frames: there is another error behind it, whose frames are not among them."""
    if 'cause' not in raised:
        return ()
    other = raised['cause']
    how = 'was raised from' if other['how'] == 'cause' else 'was raised while handling'
    name = other['exception']['type']['name']
    said = 'The error %s another one, %s, whose frames are not among these; its report has them.' % (how, name)
    return (said,)


def frames_of(trace):
    """``(frame, line)`` of the program's frames, innermost first."""
    frames = []
    while trace is not None:
        if not is_ours(trace.tb_frame.f_code):
            frames.append((trace.tb_frame, trace.tb_lineno or 0))
        trace = trace.tb_next
    frames.reverse()
    return frames
