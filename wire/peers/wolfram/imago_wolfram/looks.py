"""What the daemon may ask of a session while it runs: every answer is read from what is stored, and evaluates nothing."""

import os
import re
from itertools import islice

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
from imago.looking.outcomes import StaleHandle, Unresolved, found, look, malformed, nearest, not_found, stale_handle

from imago_wolfram import definition, forms, names, uses
from imago_wolfram.brackets import without_comments
from imago_wolfram.engine import Misread
from imago_wolfram.expressions import SYSTEM, Integer, Normal, String, Symbol
from imago_wolfram.loading import LARGEST
from imago_wolfram.printing import NAME_PART, is_name, visible

_LIMITS = {
    'repr_max_chars': REPR_MAX_CHARS,
    'sample_max_items': SAMPLE_MAX_ITEMS,
    'sample_item_max_chars': SAMPLE_ITEM_MAX_CHARS,
}


class Image:
    """What is looked at: the engine, and what is remembered beside it."""

    __slots__ = ('_engine', '_loaded', 'source_places', 'paths', 'settings', 'handles', 'history', 'errors', 'cut')

    def __init__(self, evaluator, handles, settings):
        self._engine = evaluator.engine
        self._loaded = evaluator.is_loaded
        self.source_places = evaluator.source_places
        self.paths = evaluator.paths
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

    def within(self, context):
        """The same with another context in force."""
        engine = self.engine
        context, path = namespace(engine.source, self.paths, context)
        source = _Overlay(engine.source, context=lambda: context, context_path=lambda: path)
        return _Overlay(self, engine=_Overlay(engine, source=source))


class _Overlay:
    """An object, with other values for some of its attributes."""

    def __init__(self, whole, **parts):
        self.__dict__.update(parts, _whole=whole)

    def __getattr__(self, name):
        return getattr(self._whole, name)


class NotLoaded(Exception):
    """The session is being loaded: whoever asked waits for it, as long as a look may take."""


# The names of a file: those of the context that it opens.

_FRAME = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?<![\w$`])(?:(Begin(?:Package)?)\s*\[\s*"([\w$`]+)"([^]]{0,2000})\]|(End(?:Package)?)\s*\[\s*\])',
    re.DOTALL,
)
_NEEDED = re.compile(r'"([\w$`]+`)"')
_MOST_FRAMES = 500


@look
def scope(image, query):
    """The context in which code of a file is read: at a line, or else the last that it opens. ``None``: it is not loaded."""
    source, line, opened = image.engine.source, query.get('line'), None
    try:
        with open(query['file'], encoding='utf-8-sig') as file:
            text = without_comments(file.read(LARGEST))
    except (OSError, ValueError):
        return found({'module': None})
    around = [(source.context(), source.context_path())]
    here = around[0]
    for frame in islice(_FRAME.finditer(text), _MOST_FRAMES):
        if line is not None and text.count('\n', 0, frame.start()) + 1 > line:
            break
        opens, name, more, ends = frame.groups()
        if opens:
            context = around[-1][0] + name[1:] if name[0] == '`' else name
            opened = opened or context
            around.append((context, (context, *_NEEDED.findall(more), SYSTEM) if opens != 'Begin' else around[-1][1]))
        elif ends and len(around) > 1:
            around.pop()
        if opens or line is not None:
            here = around[-1]
    if not _is_loaded(image, query['file'], opened):
        return found({'module': None})
    if opened is not None:
        image.paths[here[0]] = here[1]
    return found({'module': here[0]})


def _is_loaded(image, file, context):
    """Whether definitions came from it; or its context is there, and nothing in that is known to come from another file."""
    real, source = os.path.realpath(file), image.engine.source
    if any(os.path.realpath(one) == real for one in image.source_places.files()):
        return True
    there = () if context is None else names.in_context(source, context)
    return bool(there) and not any(image.source_places.of(source, name) for name in there)


def namespace(source, paths, context):
    """``$Context`` and ``$ContextPath`` in which code of a context is read. Raises ``Unresolved``."""
    context = context if context.endswith('`') else context + '`'
    if context not in paths and not any(name.startswith(context) for name in source.names()):
        raise Unresolved(not_found('the context %s' % visible(context), nearest(context, names.contexts(source))))
    return context, paths.get(context, source.context_path())


# Values: inspecting them, and reading on.


@look
def inspect_static(image, query):
    """A value by its handle, or the own value of a symbol as it is stored, or what a path leads to from either."""
    text = query['expr'].strip()
    value, goes_on = _value(image, image.engine, text)
    return found(_sections(image, value, text if goes_on else None))


def _value(image, engine, text):
    """The value of the text, and whether a part of the value may be written behind the text."""
    handle = _HANDLE.match(text)
    if text.startswith('@') and (handle is None or handle.end() == len(text)):
        return _kept(image, text), True
    if not is_name(text):
        value = _read(engine, text if handle is None else 'x' + text[handle.end() :])
        neutral = engine.neutral(value, forms.LEAVES)
        if isinstance(neutral, Normal):
            root = None if handle else _ROOT.match(text)
            name = root and names.resolved(engine.source, root.group())
            begun = _kept(image, handle.group()) if handle else engine.stored(name) if name else None
            part = _stored_part(engine, neutral, begun, root.group() if root else 'x')
            if part is not None:
                return part, text.endswith(']')
            because = 'What %s comes to is known once it is evaluated.' % visible(text, 100)
            raise Unresolved({'type': 'needs_evaluation', 'because': because})
        return value, False
    name = names.resolved(engine.source, text)
    if name is None:
        raise Unresolved(not_found(text, names.meant(engine.source, text)))
    stored = engine.stored(name)
    return engine.parsed(name) if stored is None else stored, True


_HANDLE = re.compile(r'@[0-9a-z]+\.[0-9]+(?![\w$`])')
_ROOT = re.compile('(?:%s)+' % NAME_PART.pattern)


def _stored_part(engine, path, begun, root):
    """What a path such as ``name[[2, 1]]`` or ``name["key"]`` leads to from its root, whose value has begun it; else ``None``."""
    steps = []
    while isinstance(path, Normal):
        if path.head == _PART:
            path, *keys = path.arguments
        else:
            path, keys = path.head, path.arguments
            if len(keys) != 1 or not isinstance(keys[0], String):
                return None
        steps = [*keys, *steps]
    value = begun if isinstance(path, Symbol) and path.name.endswith(root) else None
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


def _sections(image, value, text):
    """``Inspected``. Its items are spelled as parts of ``text``; where that is ``None`` or long, of a handle."""
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
        shown['handle'] = handle = image.handles.keep_value(value)
        short = text is not None and len(text) < _LONGEST_ROOT
        shown['sample'] = {**_sample(engine, value, text if short else handle), 'handle': handle}
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


def _sample(engine, value, text):
    items = engine.items(value)
    some = items[:SAMPLE_MAX_ITEMS]
    texts = _item_texts(engine, some, SAMPLE_ITEM_MAX_CHARS)
    keyed, steps = engine.head(value) == _ASSOCIATION, []
    for at, item in enumerate(some, 1):
        step = _step(engine, item if keyed else None, at)
        steps.append('[[%d]]' % at if step in steps else step)
    return {
        'items': texts,
        'exprs': [text + step for step in steps],
        'shown': len(texts),
        'total': len(items),
        'truncated': len(texts) < len(items),
    }


def _step(engine, rule, at):
    """An item as a part: by its key, where that is a plain text, or else by its number."""
    key = engine.neutral(engine.items(rule)[0], 1) if rule is not None and engine.items(rule) else None
    return '["%s"]' % key.value if isinstance(key, String) and _PLAIN.fullmatch(key.value) else '[[%d]]' % at


_LONGEST_ROOT = 500
_PLAIN = re.compile('[ !#-\\[\\]-~]{0,100}')


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
