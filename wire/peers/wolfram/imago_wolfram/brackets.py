"""The brackets, strings and comments of a text, and what of them is left open."""

import re

from imago_wolfram.engine import Misread

_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"?|\(\*|\*\)', re.DOTALL)
_IN_COMMENT = re.compile(r'\(\*|\*\)')


def without_comments(text):
    """The same text, as long as it was, with blanks where its comments are. One that is open is left."""
    out, at = [], 0
    while True:
        found = _MARKS.search(text, at)
        if found is None:
            return ''.join(out) + text[at:]
        if found.group() != '(*':
            out.append(text[at : found.end()])
            at = found.end()
            continue
        depth, end = 1, found.end()
        while depth:
            mark = _IN_COMMENT.search(text, end)
            if mark is None:
                return ''.join(out) + text[at:]
            depth += 1 if mark.group() == '(*' else -1
            end = mark.end()
        out += [text[at : found.start()], ' ' * (end - found.start())]
        at = end


_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|<\||\|>|[][(){}\n]', re.DOTALL)
_OPENING = ('[', '(', '{', '<|')


def closed_lines(text):
    """The numbers of lines, counted from 1, at whose end no bracket and no string is open; and that of the last.

    The text is without comments.
    """
    closed, line, depth = [], 1, 0
    for found in _BRACKETS.finditer(text):
        mark = found.group()
        if mark == '\n':
            if depth <= 0:
                closed.append(line)
                depth = 0
            line += 1
        elif mark[0] == '"':
            line += mark.count('\n')
        else:
            depth += 1 if mark in _OPENING else -1
    return [*closed, line]


def incomplete(text, begin):
    """``Misread`` of a text that ends within the expression that begins at ``begin``: where it is left open."""
    rest = without_comments(text[begin:])
    mark, at = left_open(rest)
    if mark is None:
        said, at = 'more input is needed', max(0, len(rest.rstrip()) - 1)
    else:
        said = '%s is not closed' % mark
    at += begin
    line_begin = text.rfind('\n', 0, at) + 1
    source = text[line_begin:].split('\n', 1)[0].rstrip()
    column = None if mark is None else at - line_begin + 1
    return Misread('Syntax::sntxi', 'It is incomplete: %s.' % said, text.count('\n', 0, at) + 1, source, column)


_OPEN = re.compile(r'"(?:[^"\\]|\\.)*("?)|\(\*|<\||\|>|[][(){}]', re.DOTALL)


def left_open(text):
    """What was opened last and is not closed, in words, and where; ``None, 0`` where nothing is open.

    The only comment of the text is an open one.
    """
    open_ones = []
    for found in _OPEN.finditer(text):
        mark, at = found.group(), found.start()
        if mark == '(*':
            return 'the comment', at
        if mark[0] == '"':
            if not found.group(1):
                return 'the string', at
        elif mark in _OPENING:
            open_ones.append(('"%s"' % mark, at))
        elif open_ones:
            open_ones.pop()
    return open_ones[-1] if open_ones else (None, 0)
