"""An exception as a report: frames with source and bounded locals, notes, and what it was raised from.

Locals are shown from stored fields, so that reporting runs none of their code. The exception's own ``__str__``
runs, under a guard; where it fails, the report says so in its place.
"""

import linecache
import os
import types

from imago import sources
from imago.looking.deadline import DeadlineExceeded
from imago.looking.fields import type_facts
from imago.looking.frames import SOURCE_CHARS, is_ours, shown_locals, variables
from imago.tracebacks import LINE_CHARS, MESSAGE_CHARS, cut, traceback_text

#: Frames reported at the outer and at the inner end of a long stack, and how many of those inner ones show locals.
OUTER_FRAMES = 10
INNER_FRAMES = 30
FRAMES_WITH_LOCALS = 8
NOTES = 10
CAUSES = 5
CHAIN = 20
#: Seconds that the exception's own printer may take.
PATIENCE = 1.0


def report(error, guard, causes=CAUSES):
    """``Raised``: the exception with its stack, as ``wire/kernel.ts`` has it."""
    stack, omitted = stack_of(error.__traceback__)
    raised = {
        'type': type_facts(error),
        'message': cut(_message(error, guard), MESSAGE_CHARS),
        'frames': _frames(stack, omitted),
        'frames_omitted': omitted,
        'traceback': _text(error, stack, omitted, guard),
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
    stack, omitted = stack_of(error.__traceback__)
    return _text(error, stack, omitted, guard)


def one_line(error, file, guard):
    """``ValueError: boom (app.py:3)``: the place is the innermost one in ``file``, where it came by there."""
    kind = type_facts(error)
    name = kind['name'] if kind['module'] == 'builtins' else kind['qualified']
    lines = [line for frame, _, line in stack_of(error.__traceback__)[0] if frame.f_code.co_filename == file]
    if issubclass(type(error), SyntaxError) and error.filename == file:
        message, line = str(error.msg), error.lineno
    else:
        message, line = _message(error, guard), lines[-1] if lines else None
    message = ' '.join(message[:LINE_CHARS].split())
    place = '' if line is None else ' (%s:%s)' % (os.path.basename(file), line)
    return (name + ': ' + message if message else name)[:LINE_CHARS] + place


def stack_of(trace):
    """``(frame, lasti, line)`` of the user's frames, outermost first, and how many were left out in the middle."""
    outer, inner, count = [], [], 0
    while trace is not None:
        frame = trace.tb_frame
        if not is_ours(frame.f_code):
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
        source = _source_line(frame, line).strip() if line else ''
        local, left = shown_locals(variables(frame)) if at >= len(stack) - FRAMES_WITH_LOCALS else ([], 0)
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


def _source_line(frame, line):
    ours = sources.lines_of(frame.f_code, line)
    if ours is not None:
        return ''.join(ours)
    return linecache.getline(frame.f_code.co_filename, line, frame.f_globals)


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
        if len(_chain(error)) > CHAIN:
            said = '%s: %s' % (type_facts(error)['qualified'], cut(str(error), MESSAGE_CHARS))
            return '%s\n(one of more than %d chained exceptions)\n' % (said, CHAIN)
        return traceback_text(error, _rebuilt(stack), (OUTER_FRAMES, omitted) if omitted else None)

    return _guarded(make, guard)


def _rebuilt(stack):
    trace = None
    for frame, lasti, line in reversed(stack):
        trace = types.TracebackType(trace, frame, lasti, line or 0)
    return trace


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
    return [cut(note, MESSAGE_CHARS) for note in notes[:NOTES] if type(note) is str]
