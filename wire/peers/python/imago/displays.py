"""What evaluated code draws and displays, for whoever asked for the code to be run.

Nothing is imported for it: a library that the program has not loaded has drawn nothing. All of it runs code of the
program, which may print, raise or never end. It therefore runs where evaluations run, and each piece under a deadline;
what goes wrong is said in a note, and the evaluation keeps its value.
"""

import base64
import collections
import importlib.util
import io
import math
import sys

from imago import looking, native
from imago.calls import CURRENT, Evaluation, latest

#: Displays of one evaluation; more are counted.
MOST = 4
#: Pixels of a picture. A figure with more is drawn smaller.
MOST_PIXELS = 10_000_000
MOST_BYTES = 2 * 1024 * 1024
#: Evaluations whose displays are kept, for a daemon that comes back.
REMEMBERED = 4
#: Seconds for drawing a figure, and for what a value says of itself.
DRAW_SECONDS = 20.0
SAY_SECONDS = 2.0

_PNG = b'\x89PNG\r\n\x1a\n'


class Displays:
    """Those of all evaluations of one kernel. ``begin`` and ``end`` are called around each, ``take`` in its last step."""

    def __init__(self, handles, guard):
        self._handles = handles
        self._guard = guard
        self._pyplot = Pyplot()
        self._kept = collections.deque()
        #: Shows a value to the person beside whom code is evaluated, where there is one.
        self.front = None

    def begin(self, evaluation):
        displayed = Displayed()
        displayed.known = self._pyplot.begin()
        evaluation.displayed = displayed

    def end(self, evaluation):
        """May be called of one that has not begun."""
        if evaluation.displayed is not None:
            evaluation.displayed = None
            self._pyplot.end()

    def take(self, evaluation, outcome, values=()):
        """Adds to ``outcome`` what was displayed, what was drawn, and how its values look. Raises nothing of theirs."""
        displayed = evaluation.displayed
        if displayed is None:
            return
        try:
            figures = self._pyplot.made(displayed)
            if not figures and not displayed.all and not any(map(_looks, values)):
                return
            try:
                # Who has stopped the code does not wait for its pictures.
                for figure in figures if outcome['type'] != 'interrupted' else ():
                    self.figure(displayed, figure)
                for value in values:
                    if not _among(value, displayed.figures):
                        self._value(displayed, value)
            finally:
                self._pyplot.close(figures)
        except BaseException as error:
            displayed.add({'what': 'what was drawn', 'note': 'It could not be taken: %s.' % _said(error)})
        displayed.tell(outcome)
        if displayed.all:
            self._keep(outcome)

    def _keep(self, outcome):
        # What an evaluation came to is remembered long after it was told; pictures only for a daemon that comes back.
        self._kept.append(outcome)
        if len(self._kept) > REMEMBERED:
            gone = [{'what': 'what it displayed', 'note': 'It has made room for newer ones.'}]
            self._kept.popleft().update(displays=gone)

    def show(self, value):
        """Adds a value to what the present evaluation displays, and shows it to the person; false where none runs."""
        displayed = present()
        if displayed is None:
            return False
        if self.front is not None:
            displayed.to_front = True
            try:
                self.front(value)
            finally:
                displayed.to_front = False
        more = {} if _is_figure(value) else {'shown': looking.show(value, self._handles, self._guard)}
        self._value(displayed, value, more)
        return True

    def bundle(self, displayed, data, value=None):
        """Adds what a front end would be given, by media type; ``value`` is a tuple of what it was made of."""
        said = {'what': _type_name(value[0]) if value else 'display'}
        _take_bundle(data, said)
        if value and not _is_figure(value[0]):
            said['shown'] = looking.show(value[0], self._handles, self._guard)
            self._export(displayed, value[0], said)
        elif 'png' not in said and type(data.get('text/plain')) is str:
            text = data['text/plain']
            said['text'] = text[:_TEXT] + ('' if len(text) <= _TEXT else ' …')
        displayed.add(said)

    def figure(self, displayed, figure):
        """Adds a figure, which is drawn if it is small enough."""
        displayed.figures.append(figure)
        said = {'what': 'figure %s' % getattr(figure, 'number', '')}
        said['what'] = said['what'].strip()
        if displayed.has_room():
            self._try(said, DRAW_SECONDS, lambda: _draw(figure, said))
        displayed.add(said)

    def _value(self, displayed, value, more=None):
        if _is_figure(value):
            self.figure(displayed, value)
            return
        said = {'what': _type_name(value), **(more or {})}
        if displayed.has_room():
            self._try(said, SAY_SECONDS, lambda: _ask(value, said))
            self._export(displayed, value, said)
        if len(said) > 1:
            displayed.add(said)

    def _export(self, displayed, value, said):
        if 'png' not in said and displayed.has_room():
            self._try(said, DRAW_SECONDS, lambda: _export(value, said))

    def _try(self, said, seconds, work):
        try:
            with self._guard(seconds):
                work()
        except looking.DeadlineExceeded:
            said['note'] = 'It was not drawn: that took longer than %g s.' % seconds
        except BaseException as error:
            said['note'] = 'It was not drawn: %s.' % _said(error)


class Displayed:
    """What one evaluation has displayed."""

    __slots__ = ('all', 'omitted', 'figures', 'known', 'made', 'to_front')

    def __init__(self):
        self.all = []
        self.omitted = 0
        #: The figures among them, and among those that are left out.
        self.figures = []
        #: The managers of pyplot's figures that were there before; ``None`` where pyplot was not.
        self.known = None
        #: Managers that its code has made or chosen.
        self.made = []
        #: What it displays now is for the person too.
        self.to_front = False

    def has_room(self):
        return len(self.all) < MOST

    def add(self, said):
        if self.has_room():
            self.all.append(said)
        else:
            self.omitted += 1

    def tell(self, outcome):
        if self.all:
            outcome['displays'] = self.all
        if self.omitted:
            outcome['displays_omitted'] = self.omitted


def present():
    """The ``Displayed`` of the evaluation that the present code belongs to, or ``None``."""
    evaluation = CURRENT.get()
    return latest(evaluation).displayed if isinstance(evaluation, Evaluation) else None


class Pyplot:
    """The figures that pyplot keeps: which of them are of an evaluation, and not of the program beside it."""

    def __init__(self):
        self._lock = native.Lock()
        self._evaluations = 0
        self._noted = None

    def begin(self):
        """Has what evaluated code makes be noted from now on. Returns the managers that are there."""
        with self._lock:
            self._evaluations += 1
            gcf = _gcf()
            if gcf is None:
                return None
            stands = gcf.__dict__.get('set_active')
            if self._noted is None and type(stands) is classmethod:
                note = classmethod(_noting(stands.__func__))
                gcf.set_active = note
                self._noted = gcf, stands, note
            return list(gcf.figs.values())

    def end(self):
        with self._lock:
            self._evaluations -= 1
            if self._evaluations or self._noted is None:
                return
            gcf, stands, note = self._noted
            self._noted = None
            if gcf.__dict__.get('set_active') is note:
                gcf.set_active = stands

    def made(self, displayed):
        """The figures of an evaluation that are still open and have no window, in the order of making."""
        gcf = _gcf()
        if gcf is None:
            return []
        known, made = displayed.known, displayed.made
        managers = [
            manager
            for manager in list(gcf.figs.values())
            if known is None or (_among(manager, made) and not _among(manager, known))
        ]
        return [manager.canvas.figure for manager in managers if not _has_window(manager)]

    def close(self, figures):
        """Closes them, so that neither the program nor a person's next cell comes upon them."""
        if not figures:
            return
        pyplot = sys.modules.get('matplotlib.pyplot')
        inline = sys.modules.get('matplotlib_inline.backend_inline')
        try:
            for figure in figures:
                pyplot.close(figure)
            waiting = getattr(inline, 'show', None)
            if waiting is not None:
                waiting._to_draw = [one for one in waiting._to_draw if not _among(one, figures)]
        except Exception:
            # What cannot be closed stays open, as figures do.
            pass


def _gcf():
    return getattr(sys.modules.get('matplotlib._pylab_helpers'), 'Gcf', None)


def _noting(set_active):
    def noted(cls, manager):
        displayed = present()
        if displayed is not None:
            displayed.made.append(manager)
        return set_active(cls, manager)

    return noted


def _has_window(manager):
    return getattr(type(manager.canvas), 'required_interactive_framework', None) is not None


def _among(one, others):
    return any(one is other for other in others)


def _is_figure(value):
    figure = getattr(sys.modules.get('matplotlib.figure'), 'Figure', None)
    return isinstance(figure, type) and issubclass(type(value), figure)


def _draw(figure, said):
    width, height = (float(inches) * figure.dpi for inches in figure.get_size_inches())
    pixels = width * height
    if not 0 < pixels < math.inf:
        said['note'] = 'It was not drawn: it has no size.'
        return
    whole = 1.0 if pixels <= MOST_PIXELS else math.sqrt(0.99 * MOST_PIXELS / pixels)
    for scale in (whole, whole / 2, whole / 4):
        drawn = io.BytesIO()
        # A bounding box of its own: where `tight` is configured, one far label makes a picture of any size.
        figure.savefig(drawn, format='png', dpi=figure.dpi * scale, bbox_inches=figure.bbox_inches)
        if drawn.tell() <= MOST_BYTES:
            break
    _take_png(drawn.getvalue(), said)
    if 'png' in said and scale < 1:
        size = '{:,.0f} × {:,.0f}'.format(width, height)
        said['note'] = 'It is drawn smaller: with its %s pixels it is too large to be sent. savefig keeps all of it.' % size


#: By the library of a class: the exporter that its pictures need, and the method that writes one.
_EXPORTS = {'plotly': ('kaleido', 'write_image'), 'altair': ('vl_convert', 'save')}


def _export(value, said):
    """Takes the picture that the library of a value makes of it, where what that needs is installed."""
    kind = type(value)
    libraries = (str(base.__module__).partition('.')[0] for base in kind.__mro__)
    needed, write = next((_EXPORTS[one] for one in libraries if one in _EXPORTS), ('', ''))
    if callable(getattr(kind, write, None)) and importlib.util.find_spec(needed) is not None:
        written = io.BytesIO()
        getattr(value, write)(written, format='png')
        _take_png(written.getvalue(), said)


# What a value says of itself, by the hooks that notebooks use.


def _looks(value):
    kind = type(value)
    return _is_figure(value) or any(callable(getattr(kind, name, None)) for name in _HOOKS)


def _ask(value, said):
    kind = type(value)
    bundle = getattr(kind, '_repr_mimebundle_', None)
    if callable(bundle):
        data = _data(bundle(value, include={'image/png', 'text/html'}, exclude=None))
        if isinstance(data, dict):
            _take_bundle(data, said)
    for name, take in (('_repr_png_', _take_png), ('_repr_html_', _take_html)):
        hook = getattr(kind, name, None)
        if callable(hook) and not ('png' in said or 'html' in said):
            data = _data(hook(value))
            if data is not None:
                take(data, said)


_HOOKS = ('_repr_mimebundle_', '_repr_png_', '_repr_html_')


def _data(came):
    """Without the metadata that a hook may return beside it."""
    return came[0] if type(came) is tuple and len(came) == 2 else came


def _take_bundle(data, said):
    if data.get('image/png') is not None:
        _take_png(data['image/png'], said)
    if data.get('text/html') is not None:
        _take_html(data['text/html'], said)


def _take_png(data, said):
    if isinstance(data, str):
        data = base64.b64decode(data)
    data = bytes(data)
    if data[:8] != _PNG or len(data) < 24:
        said['note'] = 'It is no PNG.'
        return
    width, height = int.from_bytes(data[16:20], 'big'), int.from_bytes(data[20:24], 'big')
    if width * height > MOST_PIXELS or len(data) > MOST_BYTES:
        said['note'] = 'It is too large to be sent: %s × %s pixels, %s bytes.' % (width, height, '{:,}'.format(len(data)))
        return
    said['png'] = base64.b64encode(data).decode()


def _take_html(data, said):
    data = str(data)
    if len(data) > MOST_BYTES:
        said['note'] = 'Its HTML is too large to be sent: %s characters.' % '{:,}'.format(len(data))
        return
    said['html'] = data.encode('utf-8', 'replace').decode()


_TEXT = 2000


def _type_name(value):
    return looking.type_facts(value)['name'][:100]


def _said(error):
    """The type of an error alone: its words are the program's, and could never end either."""
    kind = type(error)
    name = kind.__name__ if type(kind) is type else 'an exception'
    if issubclass(kind, KeyboardInterrupt):
        return 'it was stopped on request'
    text = str(error) if kind.__module__ in ('builtins', 'matplotlib') else ''
    return '%s%s' % (name, ': %s' % ' '.join(text.split())[:300].rstrip('.') if text else '')
