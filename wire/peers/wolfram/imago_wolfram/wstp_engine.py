"""A licensed kernel at the other end of a link. ``Imago.wl`` is its side: each request is one text of JSON."""

import hashlib
import json
import os
import re
import threading
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from imago.looking.limits import DeadlineExceeded

from imago_wolfram.brackets import closed_lines, incomplete, without_comments
from imago_wolfram.engine import Aborted, Failed, Form, KernelLost, Misread, Piece, Quit
from imago_wolfram.expressions import (
    SYSTEM,
    Budget,
    Complex,
    Integer,
    NotAnExpression,
    Omitted,
    Rational,
    Real,
    String,
    Symbol,
    bounded,
    from_json,
    parts,
)
from imago_wolfram.forms import LEAVES, input_form
from imago_wolfram.link import LinkLost, Name
from imago_wolfram.wstp_source import WstpSource

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'Imago.wl')
#: Says which version of the package a kernel has, once it has the whole of it.
LOADED = 'Imago`Private`loaded'
#: Takes another version of the package out, but for who the kernel is.
FORGET = (
    'Quiet[Apply[ClearAll, Complement[Join[Names["Imago`*"], Names["Imago`Private`*"]],'
    ' {"Imago`Private`mark", "Imago`Private`begun"}]]]'
)
#: Lines that are printed are broken at 78 columns else (reference, PageWidth). WolframCLI of ConnorGray does so, too. In a
#: kernel that was there before, its own setting stays.
UNBROKEN = 'Quiet[Map[SetOptions[#, PageWidth -> Infinity] &, Join[System`$Output, System`$Messages]]]'
#: Items of a value that are asked for at once.
ITEMS = 50
_QUESTIONS = ('InputPacket', 'InputStringPacket')
#: After an abort, so many empty requests are sent at most, until one is answered.
SETTLING = 5


class Stopped(BaseException):
    """Raised in the thread that evaluates, to stop what runs in the kernel."""


class Busy(Exception):
    """The kernel evaluates, and cannot be looked into meanwhile."""


class Value:
    """A value of the kernel. ``data`` is as much of it as was taken over; ``whole`` says whether that is all.

    ``root`` is where the kernel finds it: the number that it is kept under, or the full name of the symbol whose own
    value it is. ``None``: it is only here. ``path`` are the numbers of the parts that lead from there to the value.
    """

    __slots__ = ('root', 'path', 'data', 'whole', 'length', 'output')

    def __init__(self, root, path, data, whole, length, output=None):
        self.root = root
        self.path = path
        self.data = data
        self.whole = whole
        self.length = length
        self.output = output


class Package(NamedTuple):
    """The kernel's side: one expression in each paragraph."""

    paragraphs: tuple
    version: str

    @classmethod
    @cache
    def read(cls):
        with open(PACKAGE, encoding='ascii') as file:
            text = file.read()
        paragraphs = tuple(one for one in text.split('\n\n') if without_comments(one).strip())
        return cls(paragraphs, hashlib.sha256(text.encode()).hexdigest()[:16])


class WstpEngine:
    """``Engine`` of ``engine.py``, over a ``Link``.

    One thread at a time speaks on the link. Looks do not wait for an evaluation: they raise ``Busy``.
    """

    def __init__(self, link):
        self.title = 'Wolfram Engine'
        self.stops = Stopped
        self.source = None
        #: Once it is loaded, what the kernel is known by: one with the same mark is the same.
        self.mark = None
        #: Whether the kernel is lost: nothing more can be asked.
        self.is_lost = False
        self._link = link
        self._listener = None
        self._speaking = threading.Lock()
        self._evaluating = False
        self._number = 0
        #: Answers to requests that nobody waits for any more.
        self._owed = 0
        #: The message whose text comes next.
        self._message = None
        #: What the kernel has asked for, and has no answer to yet.
        self._question = None
        self._failure = None
        self._package = Package.read()
        #: ``$Line`` of the last evaluation; ``None`` where it told none.
        self._line = None

    def load(self, listener):
        self._listener = listener
        try:
            self._link.open()
            hello = self._joined() or self._prepared()
        except LinkLost as lost:
            raise self._kernel_lost(lost) from None
        self.mark = hello['mark']
        self.title = _title(hello['version'])
        self.source = WstpSource(self._look, hello['contexts'], _namespace(hello))

    def _joined(self):
        """What a kernel says that has the whole package already, and not another version of it; else ``None``."""
        with self._speaking:
            parts = self._awaited('ToExpression', 'If[NameQ["%s"], Symbol["%s"], ""]' % (LOADED, LOADED), None)
        return self._ask('hello') if parts == (self._package.version,) else None

    def _prepared(self):
        with self._speaking:
            for text in (FORGET, *self._package.paragraphs, '%s = "%s"' % (LOADED, self._package.version)):
                self._awaited('ToExpression', text, None)
            if self._link.launches:
                self._awaited('ToExpression', UNBROKEN, None)
        return self._ask('hello')

    # Requests and answers.

    def _ask(self, call, **given):
        """For the thread that evaluates. Raises what was raised in it meanwhile, once the kernel has answered."""
        with self._speaking:
            return self._answer(call, given)

    def _look(self, call, **given):
        """For any thread. Raises ``Busy`` while an evaluation runs."""
        while not self._speaking.acquire(timeout=0.02):
            if self._evaluating:
                raise Busy
        try:
            return self._answer(call, given)
        finally:
            self._speaking.release()

    def _answer(self, call, given):
        self._number += 1
        number = self._number
        text = json.dumps({'id': number, 'call': call, **given})
        try:
            parts = self._awaited('Imago`call', text, number)
        except LinkLost as lost:
            raise self._kernel_lost(lost) from None
        answered = _answered(parts, number)
        if answered is not None:
            return answered
        if parts and isinstance(parts[0], Name) and parts[0].endswith('$Aborted'):
            raise Aborted
        raise Failed('Imago::answer', 'The kernel answered with what is no answer: %s' % (repr(parts)[:200],))

    def _kernel_lost(self, lost):
        self.is_lost = True
        return KernelLost('LinkObject::linkd', 'The kernel is lost: %s' % lost)

    def _awaited(self, function, text, number):
        """The parts of the ``ReturnPacket`` that answers a request.

        What is raised in this thread meanwhile asks the kernel to give up; it is raised on once the kernel has answered.
        """
        link, shield = self._link, self._listener.shield
        answer = packet = stop = None
        with shield:
            self._message = None
            link.evaluate(function, text)
            self._owed += 1
        try:
            while answer is None:
                try:
                    if packet is None:
                        # Between its return and this assignment CPython raises nothing: both are Python code.
                        packet = link.receive()
                    with shield:
                        taken, packet = packet, None
                        answer = self._take(taken, number)
                    if self._question is not None:
                        self._reply()
                except (self.stops, DeadlineExceeded) as error:
                    stop = error
                    with shield:
                        link.abort()
        finally:
            if answer is None and not self.is_lost:
                try:
                    link.abort()
                except LinkLost:
                    pass
        if stop is not None:
            self._settle()
            if isinstance(stop, self.stops):
                raise Aborted
            raise stop
        return answer

    def _take(self, packet, number):
        """Does what a packet is for. Returns the parts of the answer that is awaited, once that is there."""
        kind, parts = packet
        if kind == 'ReturnPacket':
            return self._returned(parts, number)
        if self._owed > 1:
            # It belongs to a request that nobody waits for any more.
            if kind in _QUESTIONS:
                self._link.answer('$Aborted')
        elif kind == 'MessagePacket':
            self._message = '::'.join(str(part).removeprefix(SYSTEM) for part in parts)
        elif kind == 'TextPacket':
            text = str(parts[0]) if parts else ''
            name, self._message = self._message, None
            if name is None:
                self._listener.printed(text)
            else:
                self._listener.message(name, _without_name(text, name))
        elif kind in _QUESTIONS:
            self._question = str(parts[0]) if parts and isinstance(parts[0], str) else ''
        return None

    def _returned(self, parts, number):
        """An answer without our number is that of an older request, as long as one is owed."""
        mine = number is not None and _answered(parts, number) is not None
        if mine or self._owed == 1:
            self._owed = 0
            return parts
        self._owed -= 1
        return None

    def _reply(self):
        """Answers what the kernel has asked for: with a line of whoever can be asked, which may be interrupted."""
        line = '$Aborted'
        try:
            line = self._listener.ask(self._question)
        except EOFError as error:
            self._failure = 'Input::noans', str(error)
            self._link.abort()
        finally:
            with self._listener.shield:
                self._question = None
                self._link.answer(line)

    def _settle(self):
        """After an abort, empty requests are sent until one is answered: a late abort hits one of those."""
        for _ in range(SETTLING):
            self._number += 1
            text = json.dumps({'id': self._number, 'call': 'settle'})
            try:
                self._link.evaluate('Imago`call', text)
                self._owed += 1
                parts = None
                while parts is None:
                    parts = self._take(self._link.receive(), self._number)
            except LinkLost:
                return
            if _answered(parts, self._number) is not None:
                return

    # What the host asks.

    def pieces(self, text):
        bare = without_comments(text)
        answer = self._ask('read', text=bare, lines=closed_lines(bare))
        if 'wrong' in answer:
            raise _misread(bare, answer['wrong'], answer['more'])
        pieces = []
        for begin, end in answer['pieces']:
            piece = text[begin:end]
            if bare[begin:end].strip():
                begin += len(piece) - len(piece.lstrip())
                pieces.append(Piece(piece.strip(), piece.strip(), text.count('\n', 0, begin) + 1))
        return pieces

    def expression(self, piece):
        return self.parsed(piece.text).data

    def evaluate(self, piece, of_file=False):
        self._failure = None
        self._evaluating = True
        try:
            self.source.forget()
            answer = self._ask('evaluate', text=piece.text, most=LEAVES, counts=not of_file)
        except KernelLost as lost:
            # The link tells that the kernel has ended, and not why. WSECLOSED, the other side has closed it (reference,
            # WSError), comes of a failure, too. So the text decides: it has quit where it says Quit or Exit.
            if _QUITS.search(_STRINGS.sub('""', without_comments(piece.text))):
                raise Quit from None
            raise KernelLost(lost.name, '%s Quit[] in a function ends it like this, too.' % lost.message) from None
        finally:
            self._evaluating = False
        failure, self._failure = self._failure, None
        self._line = answer.get('line')
        if 'place' in answer:
            self.source.namespace = _namespace(answer)
        status = answer.get('status')
        if failure is not None and status != 'done':
            raise Failed(*failure)
        if status == 'aborted':
            raise Aborted
        if status == 'thrown':
            raise self._thrown(answer)
        if status != 'done':
            raise Failed('Imago::answer', 'The kernel has read the text in another way: %s' % status)
        if answer.get('null'):
            return None
        value = self._value(answer['root'], (), answer['value'], answer.get('output'))
        self._learn(value.data)
        return value

    def _thrown(self, answer):
        value = self._value(None, (), answer['value'])
        said = input_form(self, value, most=100).text
        if answer.get('tag') is not None:
            said += ', ' + input_form(self, self._value(None, (), answer['tag']), most=100).text
        return Failed('Throw::nocatch', 'Uncaught Throw[%s] returned to top level.' % said)

    def _learn(self, data):
        """Which names of a value are hidden by others: what it takes to write it."""
        source = self.source
        shorts = {part.short for part in parts(data) if isinstance(part, Symbol)}
        try:
            source.learn(context + short for short in shorts for context in (*source.context_path(), source.context()))
        except Busy:
            pass

    def _value(self, root, path, look, output=None):
        try:
            data = from_json(look['data'], Budget(LEAVES * 2))
            return Value(root, path, data, bool(look['whole']), int(look['length']), output)
        except (KeyError, TypeError, ValueError) as error:
            wrong = error if isinstance(error, NotAnExpression) else type(error).__name__
            raise Failed('Imago::answer', 'The kernel answered with what is no value: %s' % wrong) from None

    def neutral(self, value, most):
        if isinstance(value.data, String):
            return value.data
        return bounded(value.data, Budget(most))

    def output_form(self, value):
        return Form(value.output or '', value.whole and value.output is not None)

    def head(self, value):
        return head_of(value.data)

    def items(self, value):
        arguments = getattr(value.data, 'arguments', None)
        if arguments is None or value.length == 0 and not value.whole:
            # A text that was cut is one, too.
            return None
        if value.whole or value.root is None:
            return tuple(Value(None, (), one, True, len(getattr(one, 'arguments', ()))) for one in arguments)
        return Items(self, value)

    def looked(self, value, begin, count):
        """``count`` parts of a value, from number ``begin`` on, which counts from 0."""
        answer = self._look(
            'look', root=value.root, path=list(value.path), **{'from': begin + 1}, count=count, most=LEAVES
        )
        looks = answer.get('parts', [])
        return [self._value(value.root, (*value.path, begin + 1 + at), one) for at, one in enumerate(looks)]

    def stored(self, name):
        answer = self._look('stored', name=name, most=LEAVES)
        return None if answer.get('gone') else self._value(name, (), answer)

    def parsed(self, text):
        answer = self._look('parse', text=text, most=LEAVES)
        if 'data' not in answer:
            raise Misread('Syntax::sntx', 'It is nothing, more than one expression, or no Wolfram Language.', 1)
        return self._value(None, (), answer)

    def last_line(self):
        return self._line

    def namespace(self):
        return self.source.namespace

    def enter(self, namespace):
        if namespace != self.source.namespace:
            context, path = namespace
            self.source.namespace = _namespace(self._ask('go', context=context, path=list(path)))

    def close(self):
        self._link.close()


class Items(Sequence):
    """The parts of a value that is too large to be taken over at once."""

    def __init__(self, engine, value):
        self._engine = engine
        self._value = value

    def __len__(self):
        return self._value.length

    def __getitem__(self, at):
        if isinstance(at, slice):
            begin, end, step = at.indices(len(self))
            if step != 1:
                raise ValueError('items are taken one after the other')
            found = []
            while begin < end:
                some = self._engine.looked(self._value, begin, min(ITEMS, end - begin))
                if not some:
                    break
                found += some
                begin += len(some)
            return tuple(found)
        if not 0 <= at < len(self):
            raise IndexError(at)
        return self[at : at + 1][0]


def _answered(parts, number):
    """The answer to a request; ``None`` where that is another's, or none."""
    try:
        message = json.loads(parts[0])
        answer = message['answer'] if message['id'] == number else None
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _namespace(answer):
    context, path = answer['place']
    return str(context), tuple(map(str, path))


def _title(version):
    """``14.1.0 for Linux x86 (64-bit) (…)`` of ``$Version`` for people; one of another engine is left as it is."""
    number = re.match(r'(\d+\.\d+)(\.\d+)* for ', version)
    return 'Wolfram Engine %s' % number.group(1) if number else version.split(' Running on')[0]


def _without_name(text, name):
    """The text of a message without its name before it, and without the line breaks around it.

    One that has a fraction in it comes in two dimensions, with its name in the middle: what is left keeps its columns, and
    begins on a line of its own.
    """
    begun = re.search(r'^(?:System`)?%s: ?' % re.escape(name), text, re.MULTILINE)
    if begun is None or not text[: begun.start()].strip():
        return text[begun.end() if begun else 0 :].strip()
    width = len(begun.group())
    lines = (text[: begun.start()] + ' ' * width + text[begun.end() :]).strip('\n').split('\n')
    return '\n' + '\n'.join(line[width:] if line[:width].isspace() else line for line in lines).rstrip()


_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_QUITS = re.compile(r'(?<![\w$])(?:System`)?(?:Quit|Exit)(?![\w$`])')


def _misread(text, at, more):
    if more:
        return incomplete(text, at)
    line = text.count('\n', 0, at) + 1
    before, after = text[:at].rstrip()[-30:], text[at:].lstrip()[:30]
    shown = ['"%s"' % side.split('\n')[edge] if side else 'the end' for side, edge in ((before, -1), (after, 0))]
    return Misread('Syntax::sntxf', '%s cannot be followed by %s.' % tuple(shown), line)


_ATOMS = {String: 'String', Integer: 'Integer', Rational: 'Rational', Real: 'Real', Complex: 'Complex', Symbol: 'Symbol'}


def head_of(expression):
    """What says what an expression is: the symbol that its head begins with."""
    while hasattr(expression, 'head'):
        expression = expression.head
        if isinstance(expression, Symbol):
            return expression
    if isinstance(expression, Omitted):
        return Symbol(SYSTEM + ('Integer' if expression.what.endswith('digits') else 'Expression'))
    return Symbol(SYSTEM + _ATOMS[type(expression)])
