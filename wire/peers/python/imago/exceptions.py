"""Exceptions as they are reported: the text of their traceback, their frames, and copies that keep nothing alive."""

import builtins
import os
import textwrap
import traceback
import types

from imago import sources
from imago.looking.fields import ABSENT, clean, instance_dict, stored, type_facts
from imago.looking.frames import (
    OURS,
    entries_of,
    folded_line,
    foreign_runs,
    function_name,
    is_ours,
    is_own,
    line_of,
    shown_locals,
    stored_message,
    suspended_variables,
    top_level_variables,
    traceback_of,
    variables,
    whose,
)
from imago.looking.limits import DeadlineExceeded
from imago.looking.running import doubted, is_doubted
from imago.looking.source import file_of, shown_file


# The text of a traceback as Python prints it, with every part bounded: frames, lines of source, and messages.

#: Characters of one line of source, and of one message or note.
LINE_CHARS = 240
MESSAGE_CHARS = 4000
#: Characters of all of it.
TRACEBACK_CHARS = 32 * 1024

# A class of the program's may have attributes of these names, and they may be code.
_cause_of = BaseException.__dict__['__cause__'].__get__
_context_of = BaseException.__dict__['__context__'].__get__
_suppressed = BaseException.__dict__['__suppress_context__'].__get__
_GROUP = getattr(builtins, 'BaseExceptionGroup', None)
_members_of = None if _GROUP is None else _GROUP.__dict__['exceptions'].__get__
_misread = [SyntaxError.__dict__[name].__get__ for name in ('filename', 'lineno', 'text')]


def traceback_text(error, trace, left_out=None):
    """The text of ``error`` with the stack ``trace``.

    ``left_out`` is ``(index, count)`` where frames of the stack are not in ``trace``: before which one, and how many.
    """
    whole = traceback.TracebackException(type(error), error, trace)
    for part, told, stack, is_member in _parts(whole, error, trace):
        frames = [
            (_shown(summary, frame, is_member), whose(frame))
            for summary, frame in zip(part.stack, (one.tb_frame for one in entries_of(stack)))
            if not summary.filename.startswith(OURS)
        ]
        part.stack = _Folded(frames, left_out if part is whole else None)
        if issubclass(type(told), SyntaxError):
            _bound_line(part)
    pieces = [cut(piece, MESSAGE_CHARS) for piece in whole.format()]
    alone = whole.__cause__ is None and (whole.__context__ is None or whole.__suppress_context__)
    if trace is None and alone and pieces[0].startswith('Traceback'):
        # The compiler's own complaint has no stack, and Python prints no heading for it.
        del pieces[0]
    return cut(''.join(pieces), TRACEBACK_CHARS)


def cut(text, limit, keep=None):
    """The text, or where it is longer its two ends with the number of characters between them.

    ``keep`` returns the handle of a text that it keeps, which then stands there, too.
    """
    if len(text) <= limit:
        return text
    head = limit // 4
    tail = limit - head
    rest = '' if keep is None else '; all of it: read_more %s' % keep(text)
    return '%s\n… %d characters left out%s …\n%s' % (text[:head], len(text) - limit, rest, text[-tail:])


class _Folded(traceback.StackSummary):
    """A stack in which a line stands for each run of library frames, but for the innermost, and for those left out."""

    def __init__(self, frames, left_out):
        index, count = left_out or (None, 0)
        self._gaps = _folds([told for _, told in frames], index)
        gone = {at for first, end, _ in self._gaps for at in range(first, end)}
        if index is not None:
            self._gaps = sorted([*self._gaps, (index, index, '... %d frames left out ...' % count)])
        super().__init__(summary for at, (summary, _) in enumerate(frames) if at not in gone)

    def format(self, **options):
        lines, done, folded = [], 0, 0
        for first, end, text in self._gaps:
            lines += traceback.StackSummary.from_list(self[done : first - folded]).format(**options)
            lines.append('  %s\n' % text)
            done, folded = first - folded, folded + end - first
        return [*lines, *traceback.StackSummary.from_list(self[done:]).format(**options)]


def _folds(told, index):
    """``(first, end, line)`` of each run of library frames that is shown as one line; none goes over ``index``."""
    own = [one['own'] for one in told]
    own[-1:] = [True] * bool(own)
    folds = []
    for first, end in foreign_runs(own):
        parts = [(first, end)] if index is None or not first < index < end else [(first, index), (index, end)]
        folds += [
            (start, stop, folded_line([one['library'] for one in told[start:stop]]))
            for start, stop in parts
            if stop - start >= FOLDED
        ]
    return folds


def _parts(whole, error, trace):
    """Each exception that is told of: what is made of it, itself, its stack, and whether it belongs to a group."""
    waiting = [(whole, error, trace, False)]
    while waiting:
        part, error, trace, is_member = waiting.pop()
        yield part, error, trace, is_member
        pairs = [(part.__cause__, error.__cause__, is_member), (part.__context__, error.__context__, is_member)]
        if getattr(part, 'exceptions', None):
            pairs += [(one, other, True) for one, other in zip(part.exceptions, error.exceptions)]
        waiting += [(one, other, other.__traceback__, within) for one, other, within in pairs if one is not None]


def _shown(summary, frame, is_member):
    """The frame with the source that it was compiled from, of which long lines are cut.

    The members of a group are not told frame by frame, so nobody can compare their files with what runs.
    """
    first, last = summary.lineno, getattr(summary, 'end_lineno', None)
    lines = sources.lines_of(frame.f_code, first, last) if first else None
    if lines is None:
        if is_member and is_doubted(frame.f_code):
            return traceback.FrameSummary(summary.filename, first, summary.name, lookup_line=False, line='')
        if len(summary.line or '') <= LINE_CHARS:
            return summary
        lines = [summary.line]
    options = {'lookup_line': False, 'line': ''.join(lines)}
    if any(len(line) > LINE_CHARS for line in lines):
        # Without columns, which would underline as much as the line was long.
        options['line'] = lines[0].strip()[:LINE_CHARS] + '…'
    elif last is not None:
        options.update(end_lineno=last, colno=summary.colno, end_colno=summary.end_colno)
    return traceback.FrameSummary(summary.filename, first, summary.name, **options)


def _bound_line(part):
    """Leaves of a line that is no Python as much as can be read, around the place where it is said to go wrong."""
    text, offset = part.text, part.offset
    if type(text) is not str:
        return
    end = getattr(part, 'end_offset', None)
    text = text.rstrip('\n')
    if len(text) > LINE_CHARS:
        at = min(offset, len(text)) if type(offset) is int else 0
        start = max(0, at - LINE_CHARS // 2)
        head = '…' if start else ''
        moved = start - len(head)
        text = head + text[start : start + LINE_CHARS] + ('…' if start + LINE_CHARS < len(text) else '')
        part.text = text
        part.offset = offset if offset is None else at - moved
        if type(end) is int and end > 0 and part.lineno == part.end_lineno:
            end = part.end_offset = end - moved
    if type(end) is int and end > len(text) + 1:
        part.end_offset = len(text) + 1


# An exception as a report: frames with source and bounded locals, notes, and what it was raised from.
#
# Locals are shown from stored fields, so that reporting runs none of their code. The exception's own ``__str__``
# runs, under a guard; where it fails, the report says so in its place.

#: Frames reported at the outer and at the inner end of a long stack, and how many of those inner ones show locals.
OUTER_FRAMES = 10
INNER_FRAMES = 30
FRAMES_WITH_LOCALS = 8
#: Frames of libraries in a row that a traceback shows as one line.
FOLDED = 2
NOTES = 10
CAUSES = 5
CHAIN = 20
#: Seconds that the exception's own printer may take.
PATIENCE = 1.0


def report(error, guard, keep=None, causes=CAUSES):
    """``Raised``: the exception with its stack, as ``wire/kernel.ts`` has it, in its own words.

    ``keep`` returns a handle for a message that is cut.
    """
    stack, omitted = stack_of(traceback_of(error))
    # First: with it the line cache has what only a loader can read.
    text = _text(error, stack, omitted, guard)
    message = cut(_message(error, guard), MESSAGE_CHARS, keep)
    told = message, _told_frames(stack, lambda frame, _: variables(frame)), omitted, text, _members(error, causes)
    return _raised(error, told, causes, lambda other: report(other, guard, keep, causes - 1))


def _raised(error, told, causes, report_of):
    message, frames, omitted, text, members = told
    raised = {
        'type': type_facts(error),
        'message': message,
        'frames': frames,
        'frames_omitted': omitted,
        'traceback': text,
        'beside_frames': cut('\n'.join([*_misread_lines(error), members]), TRACEBACK_CHARS),
    }
    misread = _misread_place(error)
    if misread is not None and misread['line'] > 0 and not misread['file'].startswith('<'):
        raised['misread'] = misread
    notes = _notes(error)
    if notes:
        raised['notes'] = notes
    how, other = _origin(error)
    if other is not None and causes > 0:
        raised['cause'] = {'how': how, 'exception': report_of(other)}
    return raised


def bare(error):
    """The least that can be said of an exception, where reporting it has failed."""
    kind = type_facts(error)
    said = '%s (its report could not be made)' % kind['qualified']
    frames = {'frames': [], 'frames_omitted': 0, 'beside_frames': ''}
    return {'type': kind, 'message': said, **frames, 'traceback': said + '\n'}


def text(error, guard):
    """The report as text alone."""
    stack, omitted = stack_of(traceback_of(error))
    return _text(error, stack, omitted, guard)


def one_line(error, file, guard):
    """``ValueError: boom (app.py:3)``: the place is the innermost one in ``file``, where it came by there."""
    kind = type_facts(error)
    name = kind['name'] if kind['module'] == 'builtins' else kind['qualified']
    lines = [line for frame, _, line in stack_of(traceback_of(error))[0] if frame.f_code.co_filename == file]
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
    for one in entries_of(trace):
        if not is_ours(one.tb_frame.f_code):
            count += 1
            entry = (one.tb_frame, one.tb_lasti, one.tb_lineno)
            if len(outer) < OUTER_FRAMES:
                outer.append(entry)
            else:
                inner.append(entry)
                if len(inner) > 2 * INNER_FRAMES:
                    del inner[:INNER_FRAMES]
    del inner[:-INNER_FRAMES]
    return outer + inner, count - len(outer) - len(inner)


def _told_frames(stack, variables_of):
    shown, wanted = [], _with_locals(stack)
    for at, (frame, _, line) in enumerate(stack):
        code = frame.f_code
        local, left = shown_locals(variables_of(frame, line)) if at in wanted else ([], 0)
        shown.append(
            {
                'function': function_name(code),
                'file': shown_file(code),
                'line': line,
                'source': line_of(code, line),
                'locals': local,
                'locals_omitted': left,
                **whose(frame),
                **doubted(code, frame.f_globals),
            }
        )
    return shown


def _with_locals(stack):
    """Which frames show their locals: the innermost of the program's own, and where it was raised."""
    own = [at for at, (frame, _, _) in enumerate(stack) if is_own(frame)]
    return {*own[1 - FRAMES_WITH_LOCALS :], len(stack) - 1}


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


# An exception as a report made of what it stores alone: none of its code is run, on whatever thread that is.
#
# The shape is that of ``report``, which lets the exception say itself what it means.


def still(error, causes=CAUSES, shell=None):
    """``Raised``, as ``wire/kernel.ts`` has it.

    ``shell`` is the folder of the program in which the code was run: its own frames, which stand first, are left out.
    """
    stack, omitted = stack_of(_inside(traceback_of(error), shell))
    message, frames, members = stored_message(error), _told_frames(stack, _variables_at), _members(error, causes)
    lines = [*_frame_lines(frames, omitted), *_misread_lines(error)]
    text = cut(_copied_text(type_facts(error), message, lines) + members, TRACEBACK_CHARS)
    return _raised(error, (message, frames, omitted, text, members), causes, lambda other: still(other, causes - 1))


def _variables_at(frame, line):
    """A function's own, or at the top level those that its code uses."""
    return suspended_variables(frame) or top_level_variables(frame, line)


def causes(error):
    """What it was raised from, and what that was, as far as a report follows them."""
    for _ in range(CAUSES):
        error = _cause_of(error)
        if error is None:
            return
        yield error


def moment_of(error):
    """What tells this raising of an exception from others, without keeping it alive."""
    return id(error), id(traceback_of(error))


def _copied_text(kind, message, lines):
    name = kind['name'] if kind['module'] == 'builtins' else kind['qualified']
    return '\n'.join([*lines, name + ': ' + message if message else name, ''])


def _members(error, causes):
    """What a group of exceptions holds, such as one of ``asyncio.TaskGroup``, each with its own traceback."""
    if causes == 0 or _GROUP is None or not issubclass(type(error), _GROUP):
        return ''
    members = _members_of(error)
    pieces = []
    for number, one in enumerate(members[:CAUSES], 1):
        # Of a group in it the members are told, too, and of a group in that one none.
        told = still(one, min(causes, 2) - 1)['traceback']
        pieces.append('  --- %d of %d ---\n%s' % (number, len(members), textwrap.indent(told, '  ')))
    return ''.join(pieces)


def _frame_lines(frames, omitted):
    lines = ['Traceback (most recent call last):'] if frames else []
    folds = {first: (end, text) for first, end, text in _folds(frames, OUTER_FRAMES if omitted else None)}
    hidden = 0
    for at, frame in enumerate(frames):
        if omitted and at == OUTER_FRAMES:
            lines.append('  ... %d frames left out ...' % omitted)
        if at in folds:
            hidden, text = folds[at]
            lines.append('  ' + text)
        if at < hidden:
            continue
        lines.append('  File "%s", line %s, in %s' % (frame['file'], frame['line'], frame['function']))
        if frame['source']:
            lines.append('    ' + frame['source'])
    return lines


def _misread_lines(error):
    """Where a source could not be compiled: no frame stands there."""
    place = _misread_place(error)
    if place is None:
        return []
    lines = ['  File "%s", line %d' % (place['file'], place['line'])]
    return lines if place['source'] is None else [*lines, '    ' + place['source']]


def _misread_place(error):
    if not issubclass(type(error), SyntaxError):
        return None
    file, line, source = (read(error) for read in _misread)
    if type(file) is not str or type(line) is not int:
        return None
    said = clean(source.strip()[:LINE_CHARS]) if type(source) is str else ''
    return {'file': clean(file[:MESSAGE_CHARS]), 'line': line, 'source': said or None}


def _inside(trace, shell):
    """The traceback from the first frame on that is not the shell's; all of it, if there is none."""
    inside = (one for one in entries_of(trace) if shell is None or not file_of(one.tb_frame.f_code).startswith(shell))
    return next(inside, trace)


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
