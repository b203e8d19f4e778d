"""What the daemon may ask of a session while it runs: every answer is read from what is stored, and evaluates nothing."""

from imago.looking.fields import cut
from imago.looking.inspection import items_piece, text_piece
from imago.looking.inspection import more as more_of_python
from imago.looking.limits import (
    PIECE_MAX_CHARS,
    PIECE_MAX_ITEMS,
    REPR_MAX_CHARS,
    SAMPLE_ITEM_MAX_CHARS,
    SAMPLE_MAX_ITEMS,
    SOURCE_PREVIEW_MAX_CHARS,
)
from imago.looking.outcomes import StaleHandle, Unresolved, found, look, malformed, not_found, stale_handle

from imago_wolfram import definition, forms, names, uses
from imago_wolfram.engine import Misread
from imago_wolfram.expressions import SYSTEM, Integer, Normal, String, Symbol
from imago_wolfram.printing import is_name, visible

_LIMITS = {
    'repr_max_chars': REPR_MAX_CHARS,
    'sample_max_items': SAMPLE_MAX_ITEMS,
    'sample_item_max_chars': SAMPLE_ITEM_MAX_CHARS,
}


class Image:
    """What is looked at: the engine, and what is remembered beside it."""

    __slots__ = ('_engine', '_loaded', 'source_places', 'settings', 'handles', 'history', 'errors', 'cut')

    def __init__(self, evaluator, handles, settings):
        self._engine = evaluator.engine
        self._loaded = evaluator.is_loaded
        self.source_places = evaluator.source_places
        self.settings = settings
        self.handles = handles
        self.history = evaluator.history
        self.errors = evaluator.errors
        #: The ``Text`` of a ``Form``.
        self.cut = evaluator.cut

    @property
    def engine(self):
        """Raises ``NotLoaded`` while there is no session."""
        if not self._loaded.is_set():
            raise NotLoaded
        return self._engine


class NotLoaded(Exception):
    """The session is being loaded: whoever asked waits for it, as long as a look may take."""


# Values: inspecting them, and reading on.


@look
def inspect_static(image, query):
    """A value by its handle, or the own value of a symbol as it is stored."""
    return found(_sections(image, _value(image, image.engine, query['expr'])))


def _value(image, engine, expr):
    text = expr.strip()
    if text.startswith('@'):
        return _kept(image, text)
    if not is_name(text):
        value = _read(engine, text)
        neutral = engine.neutral(value, 10)
        if isinstance(neutral, Normal):
            part = _stored_part(engine, neutral)
            if part is not None:
                return part
            because = 'What %s comes to is known once it is evaluated.' % visible(text, 100)
            raise Unresolved({'type': 'needs_evaluation', 'because': because})
        return value
    name = names.resolved(engine.source, text)
    if name is None:
        raise Unresolved(not_found(text, names.meant(engine.source, text)))
    stored = engine.stored(name)
    return engine.parsed(name) if stored is None else stored


def _stored_part(engine, path):
    """What a path such as ``name[[2, 1]]`` or ``name["key"]`` leads to in a stored value; ``None`` if it is none."""
    steps = []
    while isinstance(path, Normal):
        if path.head == _PART:
            path, *keys = path.arguments
        else:
            path, keys = path.head, path.arguments
            if len(keys) != 1 or not isinstance(keys[0], String):
                return None
        steps = [*keys, *steps]
    value = engine.stored(path.name) if isinstance(path, Symbol) else None
    for step in steps:
        value = None if value is None else _item(engine, value, step)
    return value


def _item(engine, value, step):
    """An item by its number, the value of an association by its key or number; ``None`` if there is none."""
    items = engine.items(value) or ()
    if isinstance(step, Integer):
        at = step.value - 1 if step.value > 0 else len(items) + step.value
        if not 0 <= at < len(items) or step.value == 0:
            return None
        item = items[at]
        return engine.items(item)[1] if engine.head(value) == _ASSOCIATION else item
    if not isinstance(step, String) or engine.head(value) != _ASSOCIATION:
        return None
    for rule in items:
        key, kept = engine.items(rule)
        if engine.neutral(key, 1) == step:
            return kept
    return None


_PART, _ASSOCIATION = Symbol(SYSTEM + 'Part'), Symbol(SYSTEM + 'Association')


def _kept(image, handle):
    entry = _entry(image, handle)
    if entry.kind != 'value':
        raise Unresolved(malformed('%s is a text that was cut, and no value: read on in it.' % visible(handle)))
    return entry.value


def _entry(image, handle):
    try:
        return image.handles.find(handle)
    except StaleHandle as stale:
        raise Unresolved(stale_handle(stale)) from None


def _read(engine, text):
    try:
        return engine.parsed(text)
    except Misread as misread:
        raise Unresolved(malformed(misread.message, misread.line)) from None


def _sections(image, value):
    engine = image.engine
    neutral = engine.neutral(value, forms.LEAVES)
    form, head = forms.form_of(engine.source, neutral), engine.head(value)
    shown = {
        'type': forms.type_of(head),
        'kind': forms.kind_of(head, neutral),
        'repr': image.cut(form),
        'limits': _LIMITS,
    }
    if isinstance(neutral, Symbol):
        shown.update(_callable(image, neutral))
    items = engine.items(value)
    if items is not None:
        shown['size'] = {'len': len(items)}
        shown['sample'] = _sample(engine, items)
        shown['handle'] = shown['sample']['handle'] = image.handles.keep_value(value)
    return shown


def _callable(image, symbol):
    """How a symbol without a value is called, where it has definitions for that."""
    engine = image.engine
    if not engine.source.exists(symbol.name):
        return {}
    calls = uses.calls(engine.source, symbol.name)
    if not calls:
        return {}
    read = definition.read(engine.source, symbol.name, SOURCE_PREVIEW_MAX_CHARS, settings=image.settings)
    place = image.source_places.of(engine.source, symbol.name) or {}
    return {
        'kind': 'callable',
        'callable': {
            'module': symbol.context,
            'signature': ' | '.join(call.text for call in calls[:4]),
            'doc': names.usage(engine.source.definition(symbol.name)) or None,
            'source_preview': read.text[:SOURCE_PREVIEW_MAX_CHARS] or None,
            'source_truncated': read.total > SOURCE_PREVIEW_MAX_CHARS,
            'file': place.get('file'),
            'line': place.get('line'),
        },
    }


def _sample(engine, items):
    texts = _item_texts(engine, items[:SAMPLE_MAX_ITEMS], SAMPLE_ITEM_MAX_CHARS)
    return {'items': texts, 'shown': len(texts), 'total': len(items), 'truncated': len(texts) < len(items)}


def _item_texts(engine, items, length):
    return [cut(forms.input_form(engine, item, most=length, width=None).text, length) for item in items]


@look
def more(image, query):
    """A ``Looked<Piece>``: the items of a value by their number, or the characters of a text."""
    entry = _entry(image, query['handle'])
    if entry.kind != 'value':
        return more_of_python(image.handles, query)
    engine = image.engine
    start, wanted = max(0, query['from']), max(1, query['count'])
    items = engine.items(entry.value)
    if items is None:
        return found(text_piece(forms.input_form(engine, entry.value).text, start, wanted))
    some = items[start : start + min(wanted, PIECE_MAX_ITEMS)]
    return found(items_piece(_item_texts(engine, some, PIECE_MAX_CHARS // 4), start, len(items)))


def last_error(image, query):
    """The error that an evaluation ended with last."""
    return found({**image.errors.last(), 'seen': ['evaluations']})
