"""A kernel for Wolfram Language: an engine, on the link, queue, output and history of the Python peer."""

import argparse
import hashlib
import re
import sys
import time
import types

from imago import native
from imago.boot import main as boot
from imago.evaluator import Evaluator
from imago.kernel import Kernel
from imago.looking.limits import REPR_MAX_CHARS
from imago.looking.outcomes import Unresolved, look
from imago.params import count, optional, text, texts
from imago.service import LOOKS as PYTHON_LOOKS
from imago.service import Service
from imago.work import Ran, refused

from imago_wolfram import forms, looks, name_looks
from imago_wolfram.definition import Settings
from imago_wolfram.engine import Aborted, Failed, KernelLost, Misread, Quit
from imago_wolfram.loading import SETTERS, Load, PlaceRecorder, SourcePlaces
from imago_wolfram.mathics_engine import MathicsEngine
from imago_wolfram.wstp_engine import Busy, WstpEngine

#: Messages of one evaluation that are given as data. All of them are also among what it printed.
MESSAGES = 50
#: Characters of a value in output form. A longer one is not shown in it.
OUTPUT_FORM = 4000
#: Seconds that a cold start takes.
LOADING = 16
#: Share of a look's deadline spent waiting for the session.
WAITING = 0.8
#: Seconds that a thread keeps Python to itself while another waits. A look waits so long at each of its threads.
TURN = 0.0005


def main():
    options = parser()
    given = options.parse_args()
    if (given.wstp is None) != (given.kernel is None and given.address is None):
        options.error('--wstp goes with --kernel or --address')
    WolframService.settings = Settings(given.formatter_seconds)
    sys.setswitchinterval(TURN)
    boot(lambda end: Host(end, engine_of(given), given.address is not None))


def parser():
    options = argparse.ArgumentParser(prog='imago_wolfram')
    options.add_argument('--formatter-seconds', type=float, default=Settings().formatter_seconds)
    options.add_argument('--wstp', metavar='LIBRARY')
    there = options.add_mutually_exclusive_group()
    there.add_argument('--kernel', metavar='PATH')
    there.add_argument('--address', metavar='HOST:PORT')
    return options


def engine_of(given):
    """The engine that a command line names: a licensed kernel by the library that links to it, or else Mathics3."""
    if given.wstp is None:
        return MathicsEngine()
    from imago_wolfram.wstp import WstpLink

    if given.kernel is not None:
        return WstpEngine(WstpLink.launch(given.wstp, given.kernel))
    return WstpEngine(WstpLink.connect(given.wstp, given.address))


class Host(Kernel):
    """A ``Kernel`` that an engine evaluates for. ``joins`` says that the engine's kernel was there before.

    Such a kernel is the image, not this process: its epoch is the same for each host that joins it.
    """

    language = 'wolfram'

    def __init__(self, end, engine, joins=False):
        self.engine = engine
        self._joins = joins
        super().__init__({}, end)
        self.evaluator.listens(EvaluationListener(self), end)

    def evaluator_of(self, *parts):
        return WolframEvaluator(self.engine, *parts)

    @staticmethod
    def service_of(*parts):
        return WolframService(*parts)

    def hello(self, **more):
        """Of a kernel that was there before, it waits until it is known which one that is."""
        if self._joins:
            self.evaluator.is_loaded.wait()
            self.epoch = hashlib.sha256(self.engine.mark.encode()).hexdigest()[:8]
        return super().hello(**more)

    def implementation(self):
        return self.engine.title

    def abilities(self):
        return list(ABILITIES)


class EvaluationListener:
    """``Listener``: what is printed and said goes to the evaluation that runs."""

    def __init__(self, kernel):
        self._output = kernel.output
        self.shield = kernel.interrupts.shield
        self._ask = kernel.ask
        self.messages = []
        self.untold = 0
        #: Symbols that a message has named as not set, as it writes them, each with the attribute that is why.
        self.not_set = {}

    def printed(self, text):
        with self.shield:
            self._output.write('stdout', text)

    def message(self, name, text):
        with self.shield:
            self._output.write('stderr', '%s: %s\n' % (name, text))
            setter, _, tag = name.partition('::')
            named = _NAMED.search(text) if setter in SETTERS and tag in _PROTECTED else None
            if named is not None and len(self.not_set) < MESSAGES:
                self.not_set[named.group(1)] = _PROTECTED[tag]
            if len(self.messages) < MESSAGES:
                self.messages.append(_diagnostic('warning', '%s: %s' % (name, text), name))
            else:
                self.untold += 1

    def ask(self, prompt):
        return self._ask(prompt, False)

    def progress(self, text):
        """For whoever waits while the session is loaded."""
        self._output.write('stderr', text + '\n')


#: Tags of the messages of what a protected or a locked symbol does not let happen.
_PROTECTED = {'write': 'Protected', 'wrsym': 'Protected', 'locked': 'Locked'}
_NAMED = re.compile(r'\b(?:Tag|Symbol) (\S+)')


def _diagnostic(severity, message, name):
    said = {'severity': severity, 'message': message, 'file': None, 'line': None, 'column': None, 'source': None}
    return said if name is None else {**said, 'name': name}


class WolframEvaluator(Evaluator):
    """Runs texts on the engine. The session is loaded before the first of them."""

    def __init__(self, engine, *parts):
        super().__init__(*parts)
        self.engine = engine
        self.displays = AnswerExtras(self)
        self.is_loaded = native.Event()
        self.begun_loading = time.monotonic()
        #: File and lines of each definition.
        self.source_places = SourcePlaces()
        #: By context, ``$ContextPath`` in the file that opens it.
        self.paths = {}
        #: Per caller: ``$Context`` and ``$ContextPath`` of its next text.
        self.namespaces = {}
        #: Those that the running text began in.
        self.begun_in = None
        self.listener = self._end = None
        self._quit = False

    def listens(self, listener, end):
        """Who is told what runs, and what ends the process."""
        self.listener, self._end = listener, end

    def run(self):
        self.listener.progress('%s is being loaded' % self.engine.title)
        try:
            self.engine.load(self.listener)
        except Failed as failed:
            self.lost(failed)
            return
        self._interrupts.stop_by(self.engine.stops)
        self._first = self.engine.namespace()
        self.is_loaded.set()
        self.listener.progress('%s is ready' % self.engine.title)
        super().run()

    @types.coroutine
    def pieces(self, text, place, loading=None, inside=None):
        """``Ran`` of the expressions of a text, one after the other. The last has the value that is shown.

        ``inside`` is a namespace for this text alone. ``loading`` chooses the expressions, and makes the answer. It is told of an error that ends the text.
        """
        yield from ()
        evaluation = self.running
        engine, who = self.engine, evaluation.who
        self.begun_in = self.namespaces.get(who, self._first)
        engine.enter(inside or self.begun_in)
        value = piece = None
        goes_on = loading is None and inside is None
        try:
            for piece in engine.pieces(text):
                if loading is None or loading.takes(piece):
                    value = engine.evaluate(piece, loading is not None and loading.of_file)
            goes_on = inside is None
        except Failed as failed:
            if isinstance(failed, KernelLost):
                _last_words(failed)
            failed.piece, failed.place = piece, place
            failed.unread = piece is None and isinstance(failed, Misread)
            if loading is not None:
                loading.failed()
            raise
        except Aborted:
            if self._interrupts.hit(evaluation):
                raise
            return Ran([], left=_ABORTED)
        except Quit:
            self._quit = True
            return Ran([], left=_QUIT)
        finally:
            with self.shield:
                if not engine.is_lost:
                    if not goes_on:
                        # A file that was not loaded to its end leaves nobody in its context, nor does code of a file.
                        engine.enter(self.begun_in)
                    self.namespaces[who] = engine.namespace()
        if loading is not None:
            return loading.ran(value)
        return Ran([] if value is None else [value])

    def finish(self):
        super().finish()
        self.engine.close()

    def end(self, evaluation):
        if self._quit and evaluation.outcome['type'] == 'left':
            evaluation.outcome['ends'] = True
        if self._quit or self.engine.is_lost:
            # First, so that nothing that waits is begun after it.
            self._end()
        super().end(evaluation)

    def lost(self, failed):
        """The kernel has ended, so this process ends too."""
        _last_words(failed)
        if self.running is None:
            self._end()

    def show(self, value):
        self.handles.let_go()
        engine = self.engine
        form = forms.input_form(engine, value)
        kind = forms.type_of(engine.head(value))
        most = _DRAWING if kind['name'] in _DRAWINGS else REPR_MAX_CHARS
        shown = {'repr': self.cut(form, most), 'type': kind}
        items = engine.items(value)
        if items is not None or shown['repr']['truncated']:
            shown['handle'] = self.handles.keep_value(value)
        if items is not None and not form.whole:
            shown['preview'] = '%s, length %d' % (shown['type']['name'], len(items))
        return shown

    def cut(self, form, most=REPR_MAX_CHARS):
        """The ``Text`` of a form, with a handle for what does not fit."""
        whole, length = form.text, len(form.text)
        shown = {
            'text': whole[:most],
            'truncated': length > most or not form.whole,
            'original_len': length if form.whole else None,
        }
        if length > most:
            shown['handle'] = self.handles.keep_text(whole)
        return shown

    def report(self, error):
        if isinstance(error, Failed):
            return raised(error)
        if isinstance(error, (Aborted, *self._stops())):
            return raised(Failed('$Aborted', 'It was stopped on request.'))
        if isinstance(error, SystemExit):
            return raised(Failed('$Aborted', 'The kernel was ended while it ran.'))
        return super().report(error)

    def is_stopped(self, error):
        return isinstance(error, (Aborted, SystemExit, *self._stops()))

    def _stops(self):
        stops = self.engine.stops
        return () if stops is None else (stops,)


_ABORTED = 'The code aborted itself: by Abort[], or by a time limit of its own.'
_QUIT = 'Quit[] has ended the session: the kernel ends, with all that was defined in it.'


def _last_words(failed):
    """Writes to standard error, which the daemon reports even without a link."""
    sys.__stderr__.write(failed.message + '\n')
    sys.__stderr__.flush()


def raised(failed):
    """The ``Raised`` of an error that the engine has a name for, at the expression that it happened in."""
    symbol, _, _ = failed.name.partition('::')
    file, first = getattr(failed, 'place', (None, None))
    frames = []
    piece = failed.piece
    line = failed.line if isinstance(failed, Misread) else None if piece is None else piece.line
    if line is not None:
        at = line if first is None else first + line - 1
        source = failed.source if isinstance(failed, Misread) else None if piece is None else piece.text.split('\n')[0]
        source = source and source[:_SHOWN]
        frames.append(
            {'function': 'top level', 'file': file, 'line': at, 'source': source, 'locals': [], 'locals_omitted': 0}
        )
    where = '' if line is None else '%s, line %d\n' % (file or 'in this text', frames[0]['line'])
    if isinstance(failed, Misread):
        where += _marked(failed)
    report = {
        'type': {'name': failed.name, 'module': 'System`', 'qualified': failed.name},
        'message': failed.message,
        'frames': frames,
        'frames_omitted': 0,
        'traceback': '%s%s: %s\n' % (where, failed.name, failed.message),
    }
    return {**report, 'unread': True} if getattr(failed, 'unread', False) else report


#: Characters of one line of code that are shown.
_SHOWN = 200


def _marked(misread):
    """The line that cannot be read, and a caret where it goes wrong; nothing where that is not known."""
    source, column = misread.source, misread.column
    if not source or column is None or len(source) > _SHOWN:
        return ''
    margin = ''.join('\t' if one == '\t' else ' ' for one in source[: column - 1])
    return '  %s\n  %s^\n' % (source, margin)


class AnswerExtras:
    """What an answer holds besides the value. Takes the place of ``Displays``."""

    def __init__(self, evaluator):
        self._evaluator = evaluator

    def begin(self, evaluation):
        listener = self._evaluator.listener
        listener.messages, listener.untold = [], 0

    def end(self, evaluation):
        """Nothing is left to undo."""

    def show(self, value):
        return False

    def take(self, evaluation, outcome, values=()):
        evaluator = self._evaluator
        listener, engine = evaluator.listener, evaluator.engine
        if listener.messages:
            outcome['diagnostics'] = listener.messages
            if listener.untold:
                more = '%d more messages were said; they are among what was printed' % listener.untold
                outcome['diagnostics'].append(_diagnostic('note', more, None))
        line = engine.last_line()
        if line is not None:
            outcome['input_line'] = line
        if outcome['type'] != 'done':
            return
        context, path = engine.namespace()
        outcome['package'] = context
        if (context, path) != evaluator.begun_in:
            outcome['changed'] = ['package']
        for value, shown in zip(values, outcome['values']):
            name = shown['type']['name']
            if name in _ONE_FORM or (shown['repr']['truncated'] and name not in _DRAWINGS):
                continue
            form = engine.output_form(value)
            if form.whole and len(form.text) <= OUTPUT_FORM and _differs(form.text, shown['repr']['text']):
                outcome['displays'] = [{'what': 'output form', 'text': form.text}]
                if _lays_out(name):
                    outcome['displays'][0]['for_people'] = True


#: Types whose values look alike in every form.
_ONE_FORM = ('Integer', 'Rational', 'Symbol')
#: Types that are drawn, and characters of them that are shown: those are mostly coordinates.
_DRAWINGS = ('Graphics', 'Graphics3D')
_DRAWING = 400
#: Types that lay out what stands in them, besides those that end in ``Form``.
_LAYOUTS = ('Row', 'Column', 'Grid', 'Style', 'Subscript', 'Superscript', 'Definition', 'FullDefinition', 'Information')


def _lays_out(name):
    return name.endswith('Form') or name in _LAYOUTS or name in _DRAWINGS


def _differs(output, form):
    """Whether the two differ by more than blanks, quotes and `*`."""
    plain = str.maketrans('', '', ' *"' if '\n' in output else ' *"\n')
    return output.translate(plain) != form.translate(plain)


def _within(function):
    """The look, in the context that the query names as its package."""

    @look
    def looked(image, query):
        context = query.get('package')
        return function(image if context is None else image.within(context), query)

    return looked


#: Each look takes the parameters that it has in the Python peer. ``None``: it is that look.
LOOKS = {
    name: (PYTHON_LOOKS[name][0], function or PYTHON_LOOKS[name][1])
    for name, function in {
        'inspect': _within(looks.inspect_static),
        'more': looks.more,
        'history': None,
        'last_error': looks.last_error,
        'globals': name_looks.globals_of,
        'describe': _within(name_looks.describe),
        'arglist': _within(name_looks.arglist),
        'complete': _within(name_looks.complete),
        'apropos': name_looks.apropos,
        'symbols': name_looks.symbols,
    }.items()
}
LOOKS['definition'] = (
    {**PYTHON_LOOKS['definition'][0], 'include': optional(texts), 'deadline_ms': count},
    _within(name_looks.definition_of),
)
LOOKS['scope'] = ({'file': text, 'line': optional(count)}, looks.scope)
LOOKS['references'] = ({'name': text, 'limit': count, 'relations': optional(texts)}, name_looks.references)

ABILITIES = ('evaluate', 'load', 'interrupt', 'ask', 'callers', 'sections', *LOOKS)


class WolframService(Service):
    """The methods that the daemon calls. A look waits until the session is loaded, as long as its deadline allows."""

    looks = LOOKS
    settings = Settings()

    def image_of(self, namespace, handles, evaluator, tracing):
        return looks.Image(evaluator, handles, self.settings)

    def _look(self, served, params, look):
        until = time.monotonic() + WAITING * count(params, 'deadline_ms', 1) / 1000
        super()._look(served, params, lambda: self._beside(lambda: self._loaded(look, until)))

    def _loaded(self, look, until):
        """The answer of a look, once the session is loaded; where that takes too long, that it is being loaded."""
        evaluator = self._evaluator
        try:
            return look()
        except looks.NotLoaded:
            if evaluator.is_loaded.wait(until - time.monotonic()):
                return look()
        elapsed_ms = int((time.monotonic() - evaluator.begun_loading) * 1000)
        return {
            'type': 'loading',
            'what': evaluator.engine.title,
            'elapsed_ms': elapsed_ms,
            'takes_ms': LOADING * 1000,
        }

    def _beside(self, look):
        """A look beside what runs. A kernel at the end of a link does one thing at a time."""
        try:
            return look()
        except Busy:
            return {'type': 'busy', **(self._evaluator.status()['running'] or {'call': '', 'elapsed_ms': 0})}
        except KernelLost as lost:
            self._evaluator.lost(lost)
            raise

    @staticmethod
    def work_of(params):
        if params.get('load') is not None:
            return Load(text(params, 'load'), optional(texts)(params, 'names'))
        file, line = params.get('file'), params.get('line')
        place = None if file is None else text(params, 'file'), None if line is None else count(params, 'line', 1)
        return Text(text(params, 'source'), place, optional(text)(params, 'package'))


class Text:
    """Work: a text, to be evaluated expression by expression."""

    __slots__ = ('text', 'place', '_context', '_inside')

    def __init__(self, source, place, context):
        self.text = source
        self.place = place
        self._context = context
        self._inside = None

    def begin(self, evaluator, evaluation):
        try:
            if self._context is not None:
                self._inside = looks.namespace(evaluator.engine.source, evaluator.paths, self._context)
        except Unresolved:
            return refused('malformed', 'There is no context %s.' % self._context, self._context)
        return None

    def run(self, evaluator):
        recorder = None
        if self.place[0] is not None:
            recorder = PlaceRecorder(evaluator.engine, self.place, evaluator.source_places)
        return evaluator.pieces(self.text, self.place, recorder, self._inside)
