"""An exception as a report: frames with source and bounded locals, notes, and what it was raised from.

Locals are shown from stored fields, so that reporting runs none of their code. The exception's own ``__str__``
runs, under a guard; where it fails, the report says so in its place.
"""

import linecache
import os
import traceback
import types

from imago import looking
from imago.looking.deadline import DeadlineExceeded
from imago.looking.fields import type_facts

#: Frames reported at the outer and at the inner end of a long stack, and how many of those inner ones show locals.
OUTER_FRAMES = 10
INNER_FRAMES = 30
FRAMES_WITH_LOCALS = 8
LOCALS = 20
LOCAL_CHARS = 200
SOURCE_CHARS = 400
MESSAGE_CHARS = 8 * 1024
TRACEBACK_CHARS = 32 * 1024
NOTES = 10
CAUSES = 5
CHAIN = 20
#: Seconds that the exception's own printer may take.
PATIENCE = 1.0

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def report(error, guard, causes=CAUSES):
    """``Raised``: the exception with its stack, as ``wire/kernel.ts`` has it."""
    stack, omitted = _stack(error.__traceback__)
    raised = {
        'type': type_facts(error),
        'message': _cut(_message(error, guard), MESSAGE_CHARS),
        'frames': _frames(stack, omitted),
        'frames_omitted': omitted,
        'traceback': _cut(_text(error, stack, omitted, guard), TRACEBACK_CHARS),
    }
    notes = _notes(error)
    if notes:
        raised['notes'] = notes
    how, other = _origin(error)
    if other is not None and causes > 0:
        raised['cause'] = {'how': how, 'exception': report(other, guard, causes - 1)}
    return raised


def bare(error):
    """The least that can be said of an exception, where reporting it has failed."""
    kind = type_facts(error)
    said = '%s (its report could not be made)' % kind['qualified']
    return {'type': kind, 'message': said, 'frames': [], 'frames_omitted': 0, 'traceback': said + '\n'}


def text(error, guard):
    """The report as text alone."""
    stack, omitted = _stack(error.__traceback__)
    return _cut(_text(error, stack, omitted, guard), TRACEBACK_CHARS)


def _stack(trace):
    """``(frame, lasti, line)`` of the user's frames, outermost first, and how many were left out in the middle."""
    outer, inner, count = [], [], 0
    while trace is not None:
        frame = trace.tb_frame
        if not frame.f_code.co_filename.startswith(_OURS):
            count += 1
            entry = (frame, trace.tb_lasti, trace.tb_lineno)
            if len(outer) < OUTER_FRAMES:
                outer.append(entry)
            else:
                inner.append(entry)
                if len(inner) > 2 * INNER_FRAMES:
                    del inner[:INNER_FRAMES]
        trace = trace.tb_next
    del inner[:-INNER_FRAMES]
    return outer + inner, count - len(outer) - len(inner)


def _frames(stack, omitted):
    shown = []
    for at, (frame, _, line) in enumerate(stack):
        code = frame.f_code
        source = linecache.getline(code.co_filename, line, frame.f_globals).strip() if line else ''
        local, left = _locals(frame) if at >= len(stack) - FRAMES_WITH_LOCALS else ([], 0)
        shown.append(
            {
                'function': getattr(code, 'co_qualname', code.co_name),
                'file': code.co_filename,
                'line': line,
                'source': source[:SOURCE_CHARS] or None,
                'locals': local,
                'locals_omitted': left,
            }
        )
    return shown


def _locals(frame):
    """A function's variables. Those of a module are its globals, which can be listed on their own."""
    if frame.f_locals is frame.f_globals or not frame.f_code.co_flags & 0x02:
        return [], 0
    names = dict(frame.f_locals)
    shown = []
    for name, value in names.items():
        if len(shown) == LOCALS:
            break
        try:
            row = {'type_name': looking.type_name(value), 'repr': looking.static_text(value, LOCAL_CHARS)}
        except Exception as error:
            row = {'type_name': 'object', 'repr': '<cannot be shown: %s>' % type(error).__name__}
        shown.append({'name': str(name), **row})
    return shown, len(names) - len(shown)


def _message(error, guard):
    return _guarded(lambda: str.__str__(str(error)), guard)


def _guarded(make, guard):
    try:
        with guard(PATIENCE):
            return make()
    except DeadlineExceeded:
        return '<its text took longer than %g s>' % PATIENCE
    except KeyboardInterrupt:
        raise
    except BaseException as failed:
        return '<its text could not be made: %s>' % type(failed).__name__


def _text(error, stack, omitted, guard):
    def make():
        chain = _chain(error)
        if len(chain) > CHAIN:
            kind = type_facts(error)['qualified']
            return '%s: %s\n(one of more than %d chained exceptions)\n' % (kind, error, CHAIN)
        whole = traceback.TracebackException(type(error), error, _rebuilt(stack))
        _leave_out_ours(whole)
        if omitted:
            mark = traceback.FrameSummary('<%d frames left out>' % omitted, 0, '...', lookup_line=False, line='')
            whole.stack.insert(OUTER_FRAMES, mark)
        lines = list(whole.format())
        if not stack and len(chain) == 1 and lines and lines[0].startswith('Traceback'):
            # The compiler's own complaint has no stack, and Python prints no heading for it.
            del lines[0]
        return ''.join(lines)

    return _guarded(make, guard)


def _rebuilt(stack):
    trace = None
    for frame, lasti, line in reversed(stack):
        trace = types.TracebackType(trace, frame, lasti, line or 0)
    return trace


def _leave_out_ours(part):
    while part is not None:
        if part.stack:
            part.stack[:] = [frame for frame in part.stack if not frame.filename.startswith(_OURS)]
        part = part.__cause__ or part.__context__


def _chain(error):
    """The exceptions that this one was raised from, itself first, as far as the report would follow them."""
    chain = []
    while error is not None and all(error is not known for known in chain) and len(chain) <= CHAIN:
        chain.append(error)
        error = _origin(error)[1]
    return chain


def _origin(error):
    if error.__cause__ is not None:
        return 'cause', error.__cause__
    if error.__context__ is not None and not error.__suppress_context__:
        return 'context', error.__context__
    return None, None


def _notes(error):
    notes = getattr(error, '__notes__', None)
    if type(notes) is not list:
        return []
    return [_cut(note, MESSAGE_CHARS) for note in notes[:NOTES] if type(note) is str]


def _cut(text, limit):
    """The text, or where it is longer its two ends with the number of characters between them."""
    if len(text) <= limit:
        return text
    head = limit // 4
    tail = limit - head
    return '%s\n… %d characters left out …\n%s' % (text[:head], len(text) - limit, text[-tail:])
