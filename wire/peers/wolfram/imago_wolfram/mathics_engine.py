"""Mathics3, in this process. Nothing of it is imported before it is loaded, which takes seconds."""

import importlib.metadata
import re

from imago_wolfram.brackets import incomplete
from imago_wolfram.engine import Aborted, Failed, Form, Misread, Piece, Quit
from imago_wolfram.forms import LEAVES, input_form
from imago_wolfram.printing import visible

#: Thresholds of Python's garbage collector, which looks for cycles: an expression is thousands of objects without any.
COLLECTED = 50_000, 20, 100

#: What Mathics' own reader fails with at broken texts: at a backslash that nothing follows, for instance.
_UNREADABLE = LookupError, ValueError, TypeError, AttributeError, AssertionError, NotImplementedError, NameError
#: An exponent of a number that takes Mathics seconds to make. Nothing stops it meanwhile.
_HUGE = re.compile(r'\*\^[+-]?0*[1-9]\d{5}')


class MathicsEngine:
    """``Engine`` of ``engine.py``."""

    def __init__(self):
        self.title = 'Mathics3 %s' % importlib.metadata.version('Mathics3')
        self.stops = None
        self.source = None
        self.is_lost = False
        self.definitions = None
        self._session = None

    def load(self, listener):
        import gc
        import os

        # What is loaded stays: to look for cycles in it again and again would take a third of the time.
        gc.disable()
        # Without it, arrows and the like are written in characters that nothing reads back.
        os.environ.setdefault('MATHICS_CHARACTER_ENCODING', 'ASCII')
        import mathics.settings
        from mathics.core.interrupt import AbortInterrupt
        from mathics.core.load_builtin import import_and_load_builtins

        mathics.settings.SYSTEM_CHARACTER_ENCODING = 'ASCII'
        self.stops = AbortInterrupt
        import_and_load_builtins()
        import mathics.format.render  # noqa: F401
        from mathics.core.definitions import Definitions

        from imago_wolfram import mathics_session
        from imago_wolfram.mathics_source import MathicsSource

        self.definitions = Definitions(add_builtin=True)
        self._session = mathics_session.Session(self.definitions, listener)
        mathics_session.define_input(self._session)
        self.source = MathicsSource(self.definitions)
        # Half a million objects that stay: without this, a long list is six times as slow.
        gc.freeze()
        gc.set_threshold(*COLLECTED)
        gc.enable()

    def close(self):
        if self.source is None:
            return
        from mathics.core.streams import stream_manager

        for stream in list(stream_manager.STREAMS.values()):
            try:
                if 'r' not in stream.mode and stream.n > 2:
                    stream.io.close()
            except (AttributeError, OSError, ValueError):
                # It is closed already, or was never opened.
                continue

    def pieces(self, text):
        from mathics.core.parser import MathicsMultiLineFeeder
        from mathics_scanner.errors import SyntaxError as NoSyntax

        from imago_wolfram.mathics_reader import Parser

        lines = text.splitlines(True)
        if lines and lines[-1][-1] not in '\\\n':
            # Mathics reads past the end behind a name that has an escape in it.
            lines[-1] += '\n'
        feeder, parser = MathicsMultiLineFeeder(lines, ''), Parser()
        pieces = []
        while not feeder.empty():
            begun = feeder.lineno
            try:
                tree = parser.parse(feeder)
            except NoSyntax:
                raise self._misread(feeder, begun, lines) from None
            except RecursionError:
                raise Misread('Syntax::nested', 'It is nested too deeply to be read.', begun + 1) from None
            except _UNREADABLE:
                raise Misread('Syntax::sntx', 'It is no Wolfram Language.', begun + 1) from None
            feeder.messages.clear()
            if tree is not None:
                piece = ''.join(lines[begun : feeder.lineno])
                blank = len(piece) - len(piece.lstrip())
                pieces.append(Piece(tree, piece.strip(), begun + 1 + piece[:blank].count('\n')))
        return pieces

    def _misread(self, feeder, begun, lines):
        message = next(iter(feeder.messages), None)
        line = max(feeder.lineno, begun + 1)
        source = ''.join(lines[line - 1 : line]).rstrip()
        if message is None:
            return Misread('Syntax::sntx', 'It is no Wolfram Language.', line, source)
        symbol, tag, *parts = message
        if tag == 'sntxi':
            return incomplete(''.join(lines), len(''.join(lines[:begun])))
        before, after, base, *_ = [_unquoted(str(part)).strip() for part in parts] + ['', '', '']
        rest = ''
        if tag == 'sntufn':
            said = 'There is no character named \\[%s].' % visible(before.split('\n')[0])
        elif tag == 'sntxf':
            said = '%s cannot be followed by %s.' % (_quoted(before), _quoted(after))
            rest = after
        elif tag == 'sntxb':
            said = 'No expression begins with %s.' % _quoted(before)
            rest = before
        elif tag == 'base':
            said = 'The base of %s is not between 2 and 36.' % visible(after)
        elif tag == 'digit':
            said = '%s has a digit that is too large for base %s.' % (visible(after), base)
        else:
            said = '%s: %s' % (tag, ' '.join(visible(part) for part in (before, after) if part))
        column = len(source) - len(rest) + 1 if rest and source.endswith(rest) else None
        return Misread('%s::%s' % (symbol, tag), said, line, source, column)

    def expression(self, piece):
        return self.neutral(self._converted(piece), LEAVES)

    def _converted(self, piece):
        """What Mathics evaluates for a piece, its names as they are read at this moment."""
        from mathics.core.parser.convert import convert

        try:
            return convert(piece.read, self.definitions)
        except OverflowError:
            raise Misread('General::ovfl', 'It has a number that is too large.', piece.line) from None

    def evaluate(self, piece, of_file=False):
        from mathics.core import interrupt

        session, failure = self._session, None
        session.begin()
        try:
            query = self._converted(piece)
            value = query.evaluate(session) if of_file else session.step(query)
        except interrupt.WLThrowInterrupt as thrown:
            what = self._shown(thrown.value)
            tag = '' if thrown.tag is None else ', %s' % self._shown(thrown.tag)
            raise Failed('Throw::nocatch', 'Uncaught Throw[%s%s] returned to top level.' % (what, tag)) from None
        except interrupt.BreakInterrupt:
            raise Failed('Break::nofdw', 'No enclosing For, While or Do was found for Break[].') from None
        except interrupt.ContinueInterrupt:
            raise Failed('Continue::nofdw', 'No enclosing For, While or Do was found for Continue[].') from None
        except interrupt.ReturnInterrupt as returned:
            value = returned.expr
        except SystemExit as ended:
            # One without a code is how the process itself is ended.
            if ended.code is None:
                raise
            raise Quit from None
        except RecursionError:
            raise Failed('$RecursionLimit::reclim', 'It is nested too deeply to be evaluated.') from None
        except interrupt.AbortInterrupt as aborted:
            failure = getattr(aborted, 'failure', None)
            if failure is not None:
                raise Failed(*failure) from None
            raise Aborted from None
        except interrupt.TimeoutInterrupt:
            raise Aborted from None
        finally:
            session.end(failure)
        return None if session.is_null(value) else value

    def last_line(self):
        return self.definitions.get_line_no()

    def neutral(self, value, most):
        from mathics.core.atoms import String as MathicsString

        from imago_wolfram.expressions import Budget, String
        from imago_wolfram.mathics_source import converted

        if type(value) is MathicsString:
            # By itself a text may be long: there is nothing around it to be laid out.
            return String(value.value)
        return converted(value, Budget(most))

    def _shown(self, value):
        return input_form(self, value, most=100).text

    def output_form(self, value):
        from mathics.core.atoms import String
        from mathics.core.expression import Expression
        from mathics.core.symbols import Symbol

        from imago_wolfram.mathics_short import Shortened

        if type(value) is String:
            return Form(value.value, True)
        small = Shortened(value)
        wrapped = Expression(Symbol('System`OutputForm'), small.value)
        return Form(self._session.format_output(wrapped, 'text'), small.whole)

    def head(self, value):
        from mathics.core.expression import Expression

        from imago_wolfram.expressions import Symbol

        while isinstance(value, Expression):
            value = value.head
            if not isinstance(value, Expression):
                return Symbol(value.get_name() or 'System`%s' % type(value).__name__)
        return Symbol(value.get_head().get_name())

    def items(self, value):
        from mathics.core.expression import Expression

        return tuple(value.elements) if isinstance(value, Expression) else None

    def stored(self, name):
        for where in (self.definitions.user, self.definitions.pymathics, self.definitions.builtin):
            of = where.get(name)
            for rule in () if of is None else list(of.ownvalues):
                if getattr(rule.pattern.expr, 'name', None) == name and hasattr(rule, 'replace'):
                    return rule.replace
        return None

    def parsed(self, text):
        pieces = self.pieces(text)
        if len(pieces) != 1:
            raise Misread('Syntax::sntx', 'It is %s.' % ('nothing' if not pieces else 'more than one expression'), 1)
        if _HUGE.search(text):
            raise Misread('General::ovfl', 'It has a number of too many digits to be looked at.', 1)
        return self._converted(pieces[0])

    def namespace(self):
        return self.definitions.get_current_context(), tuple(self.definitions.get_context_path())

    def enter(self, namespace):
        context, path = namespace
        if self.definitions.get_current_context() != context:
            self.definitions.set_current_context(context)
        if tuple(self.definitions.get_context_path()) != path:
            self.definitions.set_context_path(path)


def _unquoted(text):
    """As it stands in a message of the parser, which puts quotes around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _quoted(text):
    return '"%s"' % visible(text) if text else 'the end'
