"""What the daemon may ask of a session while it runs: every answer is read from what is stored, and evaluates nothing."""

from imago.looking.fields import cut
from imago.looking.inspection import more as more_of_python
from imago.looking.limits import PIECE_MAX_CHARS, PIECE_MAX_ITEMS, REPR_MAX_CHARS, SAMPLE_ITEM_MAX_CHARS, SAMPLE_MAX_ITEMS
from imago.looking.outcomes import StaleHandle, Unresolved, found, look, malformed, not_found, stale_handle

from imago_wolfram import definition, forms, names
from imago_wolfram.engine import Misread
from imago_wolfram.expressions import Normal, String, Symbol
from imago_wolfram.printing import is_name

_LIMITS = {
    'repr_max_chars': REPR_MAX_CHARS,
    'sample_max_items': SAMPLE_MAX_ITEMS,
    'sample_item_max_chars': SAMPLE_ITEM_MAX_CHARS,
}


class Image:
    """What is looked at: the engine, and what is remembered beside it. ``loaded`` waits until there is a session."""

    __slots__ = ('_engine', '_loaded', 'handles', 'history', 'errors', 'show')

    def __init__(self, evaluator, handles):
        self._engine = evaluator.engine
        self._loaded = evaluator.is_loaded
        self.handles = handles
        self.history = evaluator.history
        self.errors = evaluator.errors
        #: The ``Text`` of a ``Form``.
        self.show = evaluator.cut

    @property
    def engine(self):
        """Waits for it: the deadline of a look is kept by whoever asked."""
        self._loaded.wait()
        return self._engine


# Values: inspecting them, and reading on.


@look
def inspect_static(image, expr):
    """A value by its handle, or the own value of a symbol as it is stored."""
    engine = image.engine
    return found(_sections(image, _value(image, engine, expr), 'static'))


def _value(image, engine, expr):
    text = expr.strip()
    if text.startswith('@'):
        return _kept(image, text)
    if not is_name(text):
        value = _read(engine, text)
        neutral = engine.neutral(value, 10)
        if isinstance(neutral, Normal):
            because = 'What %s comes to is known once it is evaluated.' % cut(text, 100)
            raise Unresolved({'type': 'needs_evaluation', 'because': because})
        return value
    name = names.resolved(engine.source, text)
    if name is None:
        raise Unresolved(not_found(text, names.nearest(engine.source, text)))
    stored = engine.stored(name)
    return engine.parsed(name) if stored is None else stored


def _kept(image, handle):
    try:
        return image.handles.find(handle).value
    except StaleHandle as stale:
        raise Unresolved(stale_handle(stale)) from None


def _read(engine, text):
    try:
        return engine.parsed(text)
    except Misread as misread:
        raise Unresolved(malformed(misread.message, misread.line)) from None


def _sections(image, value, read):
    engine = image.engine
    neutral = engine.neutral(value, forms.LEAVES)
    form, head = forms.form_of(engine.source, neutral), engine.head(value)
    shown = {
        'type': forms.type_of(head),
        'kind': forms.kind_of(head, neutral),
        'read': read,
        'repr': image.show(form),
        'limits': _LIMITS,
    }
    items = engine.items(value)
    if items is not None:
        shown['size'] = {'len': len(items)}
        shown['sample'] = _sample(engine, items)
        shown['handle'] = shown['sample']['handle'] = image.handles.keep_value(value)
    return shown


def _sample(engine, items):
    texts = _item_texts(engine, items[:SAMPLE_MAX_ITEMS], SAMPLE_ITEM_MAX_CHARS)
    return {'items': texts, 'shown': len(texts), 'total': len(items), 'truncated': len(texts) < len(items)}


def _item_texts(engine, items, length):
    return [cut(forms.input_form(engine, item, most=length, width=None).text, length) for item in items]


def inspected(image, value):
    """``Looked`` of ``inspect``, of a value that an expression was evaluated to. For the thread that evaluates."""
    return found(_sections(image, value, 'evaluated'))


def parsed(image, expr):
    """``Looked`` saying why the expression cannot be evaluated; ``None`` where it can."""
    try:
        _read(image.engine, expr)
    except Unresolved as unresolved:
        return unresolved.looked
    return None


@look
def more(image, query):
    """A ``Looked<Piece>``: the items of a value by their number, or the characters of a text."""
    handle = query['handle']
    try:
        entry = image.handles.find(handle)
    except StaleHandle as stale:
        raise Unresolved(stale_handle(stale)) from None
    if entry.kind != 'value':
        return more_of_python(image.handles, query)
    engine = image.engine
    start, wanted = max(0, query['from']), max(1, query['count'])
    items = engine.items(entry.value)
    if items is None:
        return _characters(forms.input_form(engine, entry.value).text, start, wanted)
    texts, room = [], PIECE_MAX_CHARS
    for text in _item_texts(engine, items[start : start + min(wanted, PIECE_MAX_ITEMS)], PIECE_MAX_CHARS // 4):
        room -= len(text)
        if room < 0:
            break
        texts.append(text)
    end = start + len(texts)
    return found(
        {'type': 'items', 'items': texts, 'from': start, 'total': len(items), 'next': end if end < len(items) else None}
    )


def _characters(text, start, wanted):
    end = start + min(wanted, PIECE_MAX_CHARS)
    following = end if end < len(text) else None
    return found({'type': 'text', 'text': text[start:end], 'from': start, 'total': len(text), 'next': following})


def last_error(image, query):
    """The error that an evaluation ended with last."""
    return found({**image.errors.last(), 'seen': ['evaluations']})


# Names.


def definition_of(image, query):
    """One symbol as the specification has it. What is wrong with a name stands in its page."""
    source = image.engine.source
    (read,) = definition.read(source, [query['name']], query['max_length'])
    page = definition.markdown(read, query.get('contexts', False))
    # As the page says it, behind its heading.
    because = page.partition('\n\n')[2]
    if read.status == 'missing':
        return {**not_found(query['name'], read.nearest), 'page': page}
    if read.status == 'invalid':
        return {**malformed(because), 'page': page}
    rules = {rule.kind for rule in read.definition.rules}
    is_function = bool(rules & {'down', 'sub'} or read.definition.code & {'down', 'sub'})
    answer = {
        'name': query['name'],
        'qualified': read.qualified or query['name'],
        'kind': 'function' if is_function else 'variable',
        'language': 'wolfram',
        'source': None,
        'because': None,
        'file': None,
        'line': None,
        'end_line': None,
        'origin': 'built_in' if source.is_own(read.qualified) else 'typed',
        # What is printed is what is stored: there is no other text that could be another one.
        'current': True,
        'wrappers': [],
        'notes': [],
        'page': page,
    }
    if read.status == 'defined':
        cut_off = read.total > query['max_length']
        answer['source'] = {'text': read.text, 'truncated': cut_off, 'original_len': read.total}
        if query.get('contexts'):
            answer['contexts'] = read.contexts
    else:
        answer['because'] = because
    return found(answer)


@look
def globals_of(image, query):
    """The symbols of a context that have values, sorted; without ``module`` those of the context in force."""
    engine = image.engine
    source = engine.source
    context = query.get('module') or source.context()
    if not context.endswith('`'):
        context += '`'
    wanted = query.get('filter', '').casefold()
    own = [name for name in source.names() if not source.is_own(name)]
    there = sorted(Symbol(name).short for name in own if Symbol(name).context == context)
    matching = [short for short in there if wanted in short.casefold()]
    rows = [short for short in matching if short > query['after']] if 'after' in query else matching
    page = rows[: query['limit']]
    answer = {
        'globals': [{'name': short, 'type_name': _type_name(engine, context + short)} for short in page],
        'total': len(matching),
        'package': context,
    }
    if len(page) < len(rows):
        answer['next'] = page[-1]
    if not there and 'module' not in query:
        others = sorted({Symbol(name).context for name in own} - {context, 'System`'})
        answer['elsewhere'] = [one for one in others if not one.startswith('System`')][:20]
    return found(answer)


def _type_name(engine, name):
    stored = engine.stored(name)
    if stored is not None:
        return engine.head(stored).short
    definition = engine.source.definition(name)
    kinds = {rule.kind for rule in definition.rules} | set(definition.code) if definition is not None else set()
    return 'function' if kinds & {'down', 'sub'} else 'Symbol'
