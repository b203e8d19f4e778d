"""The text of a traceback as Python prints it, with every part bounded: frames, lines of source, and messages."""

import os
import traceback

from imago import sources

#: Characters of one line of source, and of one message or note.
LINE_CHARS = 240
MESSAGE_CHARS = 4000
#: Characters of all of it.
TRACEBACK_CHARS = 32 * 1024

OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def traceback_text(error, trace, left_out=None):
    """The text of ``error`` with the stack ``trace``.

    ``left_out`` is ``(index, count)`` where frames of the stack are not in ``trace``: before which one, and how many.
    """
    whole = traceback.TracebackException(type(error), error, trace)
    for part, told, stack in _parts(whole, error, trace):
        part.stack[:] = [
            _shown(summary, frame)
            for summary, frame in zip(part.stack, _frames(stack))
            if not summary.filename.startswith(OURS)
        ]
        if issubclass(type(told), SyntaxError):
            _bound_line(part)
    if left_out is not None:
        whole.stack = _Gapped(whole.stack, *left_out)
    pieces = [cut(piece, MESSAGE_CHARS) for piece in whole.format()]
    alone = whole.__cause__ is None and (whole.__context__ is None or whole.__suppress_context__)
    if trace is None and alone and pieces[0].startswith('Traceback'):
        # The compiler's own complaint has no stack, and Python prints no heading for it.
        del pieces[0]
    return cut(''.join(pieces), TRACEBACK_CHARS)


def cut(text, limit):
    """The text, or where it is longer its two ends with the number of characters between them."""
    if len(text) <= limit:
        return text
    head = limit // 4
    tail = limit - head
    return '%s\n… %d characters left out …\n%s' % (text[:head], len(text) - limit, text[-tail:])


class _Gapped(traceback.StackSummary):
    """A stack with a line that stands for the frames left out."""

    def __init__(self, frames, index, count):
        super().__init__(frames)
        self._index = index
        self._count = count

    def format(self, **options):
        outer = traceback.StackSummary.from_list(self[: self._index])
        inner = traceback.StackSummary.from_list(self[self._index :])
        return [
            *outer.format(**options),
            '  ... %d frames left out ...\n' % self._count,
            *inner.format(**options),
        ]


def _parts(whole, error, trace):
    """Each exception that is told of: what is made of it, itself, and its stack."""
    waiting = [(whole, error, trace)]
    while waiting:
        part, error, trace = waiting.pop()
        yield part, error, trace
        pairs = [(part.__cause__, error.__cause__), (part.__context__, error.__context__)]
        if getattr(part, 'exceptions', None):
            pairs.extend(zip(part.exceptions, error.exceptions))
        waiting.extend((part, error, error.__traceback__) for part, error in pairs if part is not None)


def _frames(trace):
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _shown(summary, frame):
    """The frame with the source that it was compiled from, of which long lines are cut."""
    first, last = summary.lineno, getattr(summary, 'end_lineno', None)
    lines = sources.lines_of(frame.f_code, first, last) if first else None
    if lines is None:
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
