"""From source to code objects that keep their place, the last expression apart.

Typed-in code is named ``<imago-1>``, ``<imago-2>``, …, and its source stays retrievable by that name; the source of
code with a place in a file stays retrievable by its code objects. Future statements stay in force for later code, as
they do at Python's own prompt.
"""

import __future__

import ast
import inspect
import sys

from imago import native
from imago.sources import Kept, split

_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag

_PARSE = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COMPILE = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

#: From here on older parsers, which do not count how deep they are, are given a stack that no source can exhaust.
_LONG = 100_000
#: What is shorter is tried as an expression first: that is what is mostly asked for, and soon done.
_SHORT = 200
_DEEP_STACK = 512 * 1024 * 1024


class Compiler:
    """Compiles all that one image evaluates. It remembers the future statements and the sources of what it compiled."""

    def __init__(self):
        self._futures = 0
        self._kept = Kept()
        #: Makes Python of what is none, such as magics, where the image has something that does.
        self.transform = None

    def compile(self, source, file=None, line=None):
        """Returns ``(statements, expression)``, code objects or ``None``; run them in this order.

        Raises what Python's compiler raises: ``SyntaxError``, ``ValueError``, ``RecursionError``, ``MemoryError`` …
        """
        try:
            return self._python(source, file, line)
        except SyntaxError:
            python = None if self.transform is None else _transformed(self.transform, source)
            if python is None:
                raise
        return self._python(python, file, line)

    def _python(self, source, file, line):
        if file is None:
            return self._compile(source, self._kept.named(source))
        first = line or 1
        try:
            codes = self._compile('\n' * (first - 1) + source, file)
        except SyntaxError as error:
            _say_line(error, source, first)
            raise
        placed = self._kept.placed(source, file, first)
        for code in codes:
            if code is not None:
                placed.belongs_to(code)
        return codes

    def script(self, source, file):
        """The code of a whole program; its future statements hold for later evaluations too."""
        code = compile(source, file, 'exec', 0, True)
        self._futures |= code.co_flags & _FUTURES
        return code

    def parse_file(self, data, file):
        """The tree of a file, from its bytes: their encoding is declared in them. Raises as ``compile`` does."""
        return _parse(data, file, ast.PyCF_ONLY_AST)

    def of_file(self, tree, text, file, futures=()):
        """The code of what ``tree`` has of a file, whose ``text`` stays retrievable by it, however the file changes.

        ``futures`` are the future statements that hold for it. None does of those that hold for evaluations.
        """
        flags = 0
        for name in futures:
            flags |= getattr(__future__, name).compiler_flag
        code = compile(tree, file, 'exec', flags, True)
        self._kept.placed(text, file, 1).belongs_to(code)
        return code

    def _compile(self, source, file):
        if len(source) < _SHORT and '\n' not in source:
            try:
                return None, compile(source, file, 'eval', _COMPILE | self._futures, True)
            except SyntaxError:
                # Not an expression; or not Python, which the parser of whole sources says better.
                pass
        tree = _parse(source, file, _PARSE | self._futures)
        body = tree.body
        last = body.pop() if body and type(body[-1]) is ast.Expr else None
        statements = expression = None
        flags = self._futures
        if body:
            statements = compile(tree, file, 'exec', _COMPILE | flags, True)
            flags |= statements.co_flags & _FUTURES
        if last is not None:
            expression = compile(ast.Expression(last.value), file, 'eval', _COMPILE | flags, True)
        self._futures = flags
        return statements, expression


def awaits(code):
    """Whether running the code makes a coroutine."""
    return bool(code.co_flags & inspect.CO_COROUTINE)


def _transformed(transform, source):
    """What ``source`` stands for; ``None`` where that is nothing else, or cannot be told."""
    try:
        python = transform(source)
    except Exception:
        return None
    return python if isinstance(python, str) and python.strip() != source.strip() else None


def _say_line(error, source, first):
    """The line that an error is on. Python takes it from the file, for errors that it finds after parsing."""
    if type(error.lineno) is int and error.lineno >= first:
        line = ''.join(split(source)[error.lineno - first : error.lineno - first + 1])
        if line.strip() not in (error.text or ''):
            error.text = line


def _parse(source, file, flags):
    if sys.version_info >= (3, 11) or len(source) < _LONG:
        return compile(source, file, 'exec', flags, True)
    outcome = []

    def parse():
        try:
            outcome.append((compile(source, file, 'exec', flags, True), None))
        except BaseException as error:
            outcome.append((None, error.with_traceback(None)))
        parsed.set()

    parsed = native.Event()
    before = native.stack_size(_DEEP_STACK)
    try:
        native.start(parse, 'imago-parse')
    finally:
        native.stack_size(before)
    parsed.wait()
    tree, error = outcome[0]
    if error is not None:
        raise error
    return tree
