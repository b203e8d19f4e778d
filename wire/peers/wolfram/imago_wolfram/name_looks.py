"""What the daemon may ask about names: their definitions, how they are called, who uses them, and which there are."""

import re
from dataclasses import replace

from imago.looking.limits import DOC_MAX_CHARS, KEPT_MAX_CHARS
from imago.looking.outcomes import Unresolved, found, look, malformed, nearest, not_found

from imago_wolfram import definition, forms, names, uses
from imago_wolfram.engine import Misread
from imago_wolfram.expressions import SYSTEM, Symbol
from imago_wolfram.keys import redacted
from imago_wolfram.printing import is_name, visible

#: Share of a look's deadline that laying out a definition may take.
_LAYOUT = 0.6
_NOWHERE = {'file': None, 'line': None}
_EVERYWHERE = 'values, patterns, options and attributes of all symbols that a program has defined'
_BESIDES = 'what is only in a variable of a running evaluation, or is made from a text, is not seen'


def definition_of(image, query):
    """One symbol as the specification has it. What is wrong with a name stands in its page."""
    source = image.engine.source
    include = query.get('include', ())
    if not query['name'].strip():
        return malformed('No symbol is named.')
    # Input form takes its time, too.
    seconds = min(image.settings.formatter_seconds, _LAYOUT * query['deadline_ms'] / 1000)
    settings = replace(image.settings, formatter_seconds=seconds)
    name = _spelled(image.engine, query['name'].strip())
    read = definition.read(source, name, query['max_length'], settings=settings)
    place = image.source_places.of(source, read.qualified) if read.qualified else None
    read = replace(read, place=place)
    page = definition.markdown(read, query.get('contexts', False), include)
    # As the page says it, behind its heading.
    because = definition.markdown(read).partition('\n\n')[2].removeprefix('Error: ')
    if read.status == 'missing':
        return {**not_found(query['name'], read.nearest), 'page': page}
    if read.status == 'invalid':
        return {**malformed(because), 'page': page}
    answer = {
        'name': query['name'],
        'qualified': read.qualified or query['name'],
        'kind': names.kind_of(read.definition),
        'language': 'wolfram',
        'source': None,
        'because': None,
        **(place or {**_NOWHERE, 'end_line': None}),
        'origin': 'file' if place else 'built_in' if source.is_builtin(read.qualified) else 'typed',
        # It is printed from what is stored, so it cannot differ.
        'current': True,
        'wrappers': [],
        'notes': [],
        'page': page,
    }
    if read.status == 'defined':
        cut_off = read.total > query['max_length']
        answer['source'] = {'text': read.text, 'truncated': cut_off, 'original_len': read.total}
        if cut_off:
            answer['source']['handle'] = image.handles.keep_text(read.whole[:KEPT_MAX_CHARS])
        if query.get('contexts'):
            answer['contexts'] = read.contexts
    else:
        answer['because'] = because
    if 'json' in include and read.status in ('defined', 'undefined'):
        answer['data'] = {key: value for key, value in definition.structured(read).items() if key not in _NAMING}
    return found(answer)


#: What an answer says of a name beside its data.
_NAMING = ('symbol', 'qualified', 'file', 'line', 'end_line')


# One name.


def _found(image, given):
    """The full name of a symbol. Raises ``Unresolved``."""
    source, name = image.engine.source, _spelled(image.engine, given.strip())
    if not is_name(name):
        raise Unresolved(malformed('%s is no name of a symbol.' % visible(name)))
    full = names.resolved(source, name)
    if full is None:
        raise Unresolved(not_found(name, names.meant(source, name)))
    return full


def _spelled(engine, name):
    """A name, or a part of one, with its characters in place of their escapes: `α` for `\\[Alpha]`."""
    if '\\' not in name or len(name) > definition.LONGEST_NAME or not names.ESCAPED.fullmatch(name):
        return name
    try:
        # Read as a text, it makes no symbol.
        return engine.neutral(engine.parsed('"%s"' % name), 1).value
    except Misread:
        return name


@look
def describe(image, query):
    """What a symbol is, in a few facts."""
    engine = image.engine
    source, name = engine.source, _found(image, query['name'])
    stored, about = source.definition(name), names.about(source, name)
    value, usage = engine.stored(name), redacted(stored.messages.get('usage', ''))
    calls = uses.calls(source, name)
    answer = {
        **_place(image, name),
        'name': query['name'],
        'qualified': name,
        'kind': about.kind,
        'type': forms.type_of(Symbol(SYSTEM + 'Symbol') if value is None else engine.head(value)),
        'doc': _doc(usage) if usage else None,
        'signature': calls[0].text if calls else None,
        'module': Symbol(name).context,
        'also': [],
        'facts': list(_facts(stored)),
    }
    if value is not None:
        answer['value'] = image.cut(forms.input_form(engine, value))
        answer['handle'] = image.handles.keep_value(value)
    return found(answer)


def _place(image, name):
    """Where it was loaded from, while it still has what was loaded."""
    place = image.source_places.of(image.engine.source, name)
    return _NOWHERE if place is None else {'file': place['file'], 'line': place['line']}


def _doc(text):
    return {'text': text[:DOC_MAX_CHARS], 'truncated': len(text) > DOC_MAX_CHARS, 'original_len': len(text)}


def _facts(stored):
    by_kind = {}
    for rule in stored.rules:
        by_kind[rule.kind] = by_kind.get(rule.kind, 0) + 1
    for kind, count in sorted(by_kind.items()):
        yield '%d %s value%s' % (count, kind, '' if count == 1 else 's')
    if stored.code:
        yield 'computed by the engine itself'
    if stored.options:
        yield '%d option%s' % (len(stored.options), '' if len(stored.options) == 1 else 's')
    if stored.attributes:
        yield 'attributes %s' % ', '.join(sorted(stored.attributes))


@look
def arglist(image, query):
    """How a symbol is called, by the left sides of its definitions."""
    source, name = image.engine.source, _found(image, query['name'])
    calls, about = uses.calls(source, name), names.about(source, name)
    answer = {
        **_place(image, name),
        'name': query['name'],
        'qualified': name,
        'signature': None,
        'because': None if calls else 'it has no definition to be called by',
        'parameters': [],
        'returns': None,
        'doc': about.usage,
    }
    if calls:
        answer['signature'] = answer['call'] = ' | '.join(call.text for call in calls[:_MOST_CALLS])
        answer['parameters'] = [
            {'name': one.name or one.pattern, 'kind': one.kind, 'default': one.default, 'annotation': one.pattern}
            for one in calls[0].parameters
        ]
    return found(answer)


_MOST_CALLS = 8


@look
def references(image, query):
    """Whose definitions name a symbol."""
    source, name = image.engine.source, _found(image, query['name'])
    seen = uses.uses(source, name)
    wanted = query.get('relations')
    shown = [use for use in seen.found if use.user not in _LINES]
    rows = [
        {**image.source_places.of_rule(use.user, use.stored), 'kind': _relation(use), 'from': use.rule} for use in shown
    ]
    if wanted is not None and 'uses' not in wanted:
        rows = [row for row in rows if row['kind'] in wanted]
    return found(
        {
            'qualified': name,
            'references': rows[: query['limit']],
            'total': len(rows),
            'searched': ['%s: %d of them' % (_EVERYWHERE, seen.searched), _BESIDES],
            'complete': seen.complete,
        }
    )


#: What was typed and what it came to, which the engine keeps as values of these.
_LINES = ('System`In', 'System`Out')


def _relation(use):
    """A variable that has it in its value holds it."""
    is_variable = use.rule == Symbol(use.user).short or use.rule == use.user
    return 'holds' if is_variable and use.relation == 'references' else use.relation


# How a text may go on.

_BEFORE_BRACKET = re.compile(r'([\w$`]+)\s*$')
_LONGEST_NAME = 500


def complete(image, query):
    """Names that the one at the cursor may go on to be, and the call that it stands in."""
    engine, before = image.engine, query['text'][: query['cursor']]
    source, begin, inside = engine.source, names.begin_of_name(before), names.inside(before)
    offered = [] if inside else names.completions(source, _spelled(engine, before[begin:])).names
    # Where nothing is begun, what the session itself has set is not what a person looks for.
    begun = begin < len(before)
    there = [one for one in offered if begun or not (names.resolved(source, one) or '').startswith(SYSTEM)]
    page = [_completion(source, one) for one in there[: query['limit']]]
    return found(
        {
            'from': begin,
            'to': len(before),
            'completions': page,
            'total': len(there),
            'call': _open_call(source, before),
            'because': inside and 'the end of the text is in %s' % inside,
        }
    )


def _completion(source, name):
    full = names.resolved(source, name)
    about = None if full is None else names.about(source, full)
    return {'text': name, 'kind': 'variable' if about is None else about.kind, 'type_name': None}


def _open_call(source, before):
    """The innermost call whose bracket is open, and which of its arguments has begun."""
    depth, commas = 0, 0
    for at in range(len(before) - 1, max(-1, len(before) - 4000), -1):
        one = before[at]
        if one in ')]}':
            depth += 1
        elif one in '({[':
            if depth:
                depth -= 1
                continue
            name = _BEFORE_BRACKET.search(before[max(0, at - _LONGEST_NAME) : at]) if one == '[' else None
            full = None if name is None else names.resolved(source, name.group(1))
            calls = [] if full is None else uses.calls(source, full)
            if not calls:
                return None
            shown = ' | '.join(call.text for call in calls[:_MOST_CALLS])
            written = name.group(1)
            # The name stands in front of it already.
            behind = shown[len(written) :] if shown.startswith(written) else shown
            return {'name': written, 'signature': behind, 'parameter': commas, 'call': shown}
        elif one == ',' and not depth:
            commas += 1
    return None


# Which names there are.


def globals_of(image, query):
    """The symbols of a context that are defined, sorted; without ``module`` those of the context in force."""
    engine = image.engine
    source = engine.source
    context = _context(query['module']) if 'module' in query else source.context()
    wanted = query.get('filter', '').casefold()
    defined = _listed(names.defined(source), wanted)
    there = {Symbol(name).short: name for name in defined if Symbol(name).context == context}
    others = sorted({Symbol(name).context for name in defined} - {context} - names.SESSION)
    rows = {**there, **(dict.fromkeys(others) if query['modules'] else {})}
    matching = sorted(name for name in rows if wanted in name.casefold())
    page, following = _page(matching, query)
    shown = [{'name': one, 'type_name': _type_name(engine, rows[one]) if rows[one] else 'context'} for one in page]
    answer = {'globals': shown, 'total': len(matching)}
    answer['package'] = context
    if following is not None:
        answer['next'] = following
    if not there and 'module' not in query:
        answer['elsewhere'] = others[:20]
    return found(answer)


def _listed(all_of, wanted):
    return [name for name in all_of if '$' in wanted or not names.is_local(name)]


def _context(given):
    return given if given.endswith('`') else given + '`'


def _type_name(engine, name):
    stored = engine.stored(name)
    if stored is not None:
        return engine.head(stored).short
    return 'function' if names.about(engine.source, name).kind == 'function' else 'Symbol'


def _page(rows, query):
    """The names behind ``after``, as many as are wanted, and the last of them where more follow."""
    left = [row for row in rows if row > query['after']] if 'after' in query else rows
    page = left[: query['limit']]
    return page, page[-1] if page and len(page) < len(left) else None


def apropos(image, query):
    """Symbols of all contexts whose name has a text in it."""
    source = image.engine.source
    context = _context(query['module']) if 'module' in query else ''
    matching = names.apropos(source, _spelled(image.engine, query['pattern']), context)
    rest = matching
    if 'after' in query:
        at = next((at for at, name in enumerate(matching) if _written(source, name) == query['after']), -1)
        rest = matching[at + 1 :]
    page = rest[: query['limit']]
    answer = {
        'matches': [_line(image.engine, name) for name in page],
        'total': len(matching),
        'searched': len(names.contexts(source)) if not context else 1,
    }
    if len(page) < len(rest):
        answer['next'] = _written(source, page[-1])
    return found(answer)


@look
def symbols(image, query):
    """The symbols of one context; with ``internal`` those of the contexts below it, too."""
    source = image.engine.source
    context = _context(query['module'])
    wanted = query.get('filter', '').casefold()
    there = _listed(names.in_context(source, context, query['internal']), wanted)
    if not there:
        raise Unresolved(not_found(query['module'], nearest(context, names.contexts(source))))
    shown = {_inside(name, context): name for name in there if wanted in Symbol(name).short.casefold()}
    page, following = _page(sorted(shown), query)
    rows = [
        {**_line(image.engine, shown[one]), 'name': one, 'exported': Symbol(shown[one]).context == context} for one in page
    ]
    answer = {'module': context, 'file': None, 'doc': None, 'symbols': rows, 'total': len(shown)}
    if following is not None:
        answer['next'] = following
    return found(answer)


def _inside(name, context):
    return Symbol(name).short if Symbol(name).context == context else name


def _line(engine, name):
    about = names.about(engine.source, name)
    written = _written(engine.source, name)
    return {'name': written, 'kind': about.kind, 'type_name': _type_name(engine, name), 'doc': about.usage}


def _written(source, name):
    """As it has to be written where the session stands."""
    short = Symbol(name).short
    return short if names.resolved(source, short) == name else name
