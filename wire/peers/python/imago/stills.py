"""An exception as a report made of what it stores alone: none of its code is run, on whatever thread that is.

The shape is that of ``exceptions.report``, which lets the exception say itself what it means.
"""

from imago.exceptions import CAUSES, FRAMES_WITH_LOCALS, NOTES, OUTER_FRAMES, stack_of
from imago.looking.codes import file_of, shown_file
from imago.looking.failures import stored_message
from imago.looking.fields import ABSENT, instance_dict, stored, type_facts
from imago.looking.frames import function_name, line_of, shown_locals, suspended_variables
from imago.tracebacks import MESSAGE_CHARS, TRACEBACK_CHARS, cut

# A class of the program's may have attributes of these names, and they may be code.
_traceback_of = BaseException.__dict__['__traceback__'].__get__
_cause_of = BaseException.__dict__['__cause__'].__get__
_context_of = BaseException.__dict__['__context__'].__get__
_suppressed = BaseException.__dict__['__suppress_context__'].__get__


def still(error, causes=CAUSES, shell=None):
    """``Raised``, as ``wire/kernel.ts`` has it.

    ``shell`` is the folder of the program in which the code was run: its own frames, which stand first, are left out.
    """
    stack, omitted = stack_of(_inside(_traceback_of(error), shell))
    kind = type_facts(error)
    message = stored_message(error)
    frames = [_frame(frame, line, at >= len(stack) - FRAMES_WITH_LOCALS) for at, (frame, _, line) in enumerate(stack)]
    raised = {
        'type': kind,
        'message': message,
        'frames': frames,
        'frames_omitted': omitted,
        'traceback': cut(_text(kind, message, frames, omitted), TRACEBACK_CHARS),
    }
    notes = _notes(error)
    if notes:
        raised['notes'] = notes
    how, other = _origin(error)
    if other is not None and causes > 0:
        raised['cause'] = {'how': how, 'exception': still(other, causes - 1)}
    return raised


def moment_of(error):
    """What tells this raising of an exception from others, without keeping it alive."""
    return id(error), id(_traceback_of(error))


def _frame(frame, line, with_locals):
    shown, left = shown_locals(suspended_variables(frame)) if with_locals else ([], 0)
    source = line_of(frame.f_code, line)
    return {
        'function': function_name(frame.f_code),
        'file': shown_file(frame.f_code),
        'line': line,
        'source': source.strip() or None if source else None,
        'locals': shown,
        'locals_omitted': left,
    }


def _text(kind, message, frames, omitted):
    lines = ['Traceback (most recent call last):'] if frames else []
    for at, frame in enumerate(frames):
        if omitted and at == OUTER_FRAMES:
            lines.append('  ... %d frames left out ...' % omitted)
        lines.append('  File "%s", line %s, in %s' % (frame['file'], frame['line'], frame['function']))
        if frame['source']:
            lines.append('    ' + frame['source'])
    name = kind['name'] if kind['module'] == 'builtins' else kind['qualified']
    return '\n'.join([*lines, name + ': ' + message if message else name, ''])


def _inside(trace, shell):
    """The traceback from the first frame on that is not the shell's; all of it, if there is none."""
    inner = trace
    while shell is not None and inner is not None and file_of(inner.tb_frame.f_code).startswith(shell):
        inner = inner.tb_next
    return trace if inner is None else inner


def _origin(error):
    if _cause_of(error) is not None:
        return 'cause', _cause_of(error)
    if _context_of(error) is not None and not _suppressed(error):
        return 'context', _context_of(error)
    return None, None


def _notes(error):
    fields = instance_dict(error)
    notes = ABSENT if type(fields) is not dict else stored(fields, '__notes__')
    if type(notes) is not list:
        return []
    return [cut(note, MESSAGE_CHARS) for note in notes[:NOTES] if type(note) is str]
