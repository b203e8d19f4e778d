"""Loading a file, expression by expression: what it adds and replaces, and where each definition stands."""

import os
import re

from imago.looking.outcomes import nearest
from imago.work import Ran, refused

from imago_wolfram import names
from imago_wolfram.definition import Scope
from imago_wolfram.expressions import Normal, String, Symbol, head_name
from imago_wolfram.printing import called, visible
from imago_wolfram.uses import left_side

#: Bytes of a file, and names in one list of what was changed.
LARGEST = 20_000_000
MOST_NAMES = 200

#: What makes a protected symbol one that can be set.
_LIFTS = re.compile(r'Unprotect|Attributes|Clear|Remove')
_FIRST_SIDE = frozenset(('Set', 'SetDelayed', 'UpSet', 'UpSetDelayed'))
_TAGGED = frozenset(('TagSet', 'TagSetDelayed'))
#: What defines something, by the symbols of the messages that say why it could not.
SETTERS = _FIRST_SIDE | _TAGGED | {'SetAttributes', 'SetOptions'}
_FRAME = frozenset(('BeginPackage', 'EndPackage', 'Begin', 'End', 'Needs', 'Get'))


class Load:
    """Work: the expressions of a file, or those that define certain names, and what stands around them."""

    __slots__ = ('text', 'place', '_file', '_names', '_source')

    def __init__(self, file, wanted=None):
        self.text = 'load %s' % file if wanted is None else 'load %s: %s' % (file, ', '.join(wanted))
        self.place = (file, None)
        self._file = file
        self._names = wanted
        self._source = None

    def begin(self, evaluator, evaluation):
        try:
            if os.path.getsize(self._file) > LARGEST:
                return refused('malformed', '%s is larger than %d bytes.' % (self._file, LARGEST), self._file)
            with open(self._file, encoding='utf-8-sig') as file:
                self._source = file.read()
        except UnicodeDecodeError:
            return refused('malformed', '%s is not written in UTF-8.' % self._file, self._file)
        except ValueError:
            return refused('malformed', '%s cannot be the name of a file.' % visible(self._file), self._file)
        except OSError as error:
            said = '%s cannot be read: %s.' % (self._file, error.strerror or type(error).__name__)
            return refused('not_found' if isinstance(error, FileNotFoundError) else 'malformed', said, self._file)
        return None

    def run(self, evaluator):
        loading = Loading(evaluator, self._file, self._names)
        return evaluator.pieces(self._source, (self._file, 1), loading)


class Loading:
    """Chooses the expressions of a file that is loaded, and gathers what they define."""

    of_file = True

    def __init__(self, evaluator, file, wanted):
        self._engine = engine = evaluator.engine
        self._listener, source_places = evaluator.listener, evaluator.source_places
        self._file = file
        self._wanted = wanted
        self._places = PlaceRecorder(engine, (file, 1), source_places)
        self._source_places = source_places
        self._before = self._defined()
        self._package = None
        self._targets = {}
        self._offered = {}
        self._listener.not_set.clear()
        #: By full name, what messages have said of the symbols that were not set.
        self._not_set = {}
        #: The symbols of which the text sets a rule, and whether it may lift protection.
        self._ruled = set()
        self._unprotects = False

    def takes(self, piece):
        """Whether to evaluate the expression. It is asked just before, in the context that is then in force."""
        self._ended()
        expression = self._engine.expression(piece)
        for name in targets(expression):
            self._offered[name] = None
        if self._package is None and head_name(expression) == 'BeginPackage' and expression.arguments:
            first = expression.arguments[0]
            self._package = first.value if isinstance(first, String) else None
        if not self._is_wanted(expression):
            return False
        self._targets.update(dict.fromkeys(targets(expression)))
        self._ruled.update(name for name, what in settings(expression) if isinstance(what, tuple))
        self._unprotects = self._unprotects or bool(_LIFTS.search(piece.text))
        self._places.began(piece, expression)
        return True

    def _ended(self):
        """The expression that was begun last has come to its end."""
        for written, attribute in self._listener.not_set.items():
            name = names.resolved(self._engine.source, written) or written
            self._not_set[name] = '%s is %s' % (Symbol(name).short, attribute)
        self._listener.not_set.clear()

    def failed(self):
        """See ``PlaceRecorder``."""
        self._places.failed()

    def _is_wanted(self, expression):
        if self._wanted is None or head_name(expression) in _FRAME:
            return True
        # A usage message often is what makes the symbol in the context of its package.
        set_by_it = targets(expression) + _with_messages(expression)
        return any(name in self._wanted or Symbol(name).short in self._wanted for name in set_by_it)

    def ran(self, value):
        """``Ran``, with the ``Loaded`` of the contract."""
        self._ended()
        set_now = self._places.ended()
        after = self._defined()
        changed = [name for name in after if self._before.get(name) != after[name]]
        same = [name for name in self._targets if name in after and name in self._before and name not in changed]
        # A session may have switched off the message that says so.
        for name in () if self._unprotects else self._ruled.intersection(same):
            if 'Protected' in self._before[name].attributes:
                self._not_set.setdefault(name, '%s is Protected' % Symbol(name).short)
        added = sorted(name for name in changed if name not in self._before)
        replaced = sorted(name for name in changed if name in self._before)
        kept = []
        if self._wanted is None and self._package is not None:
            there = names.in_context(self._engine.source, self._package, inner=True)
            kept = sorted(name for name in there if name in self._before and name not in self._targets)
            kept = [name for name in kept if name in after and name not in replaced]
        if self._wanted is None:
            kept = sorted({*kept, *self._left(set_now, after)})
        unchanged = sorted(name for name in same if name not in self._not_set)
        not_set = [self._not_set[name] for name in sorted(self._not_set) if name not in changed]
        lists = {'added': added, 'replaced': replaced, 'kept': kept, 'unchanged': unchanged, 'not_replaced': not_set}
        loaded = {
            'module': self._package,
            'file': self._file,
            **{key: rows[:MOST_NAMES] for key, rows in lists.items()},
            'skipped': self._not_run(),
            'survivors': [],
            'omitted': sum(max(0, len(rows) - MOST_NAMES) for rows in lists.values()),
            'complete': True,
        }
        return Ran([] if value is None or self._wanted is not None else [value], loaded)

    def _left(self, set_now, after):
        """What an older text of the file has defined, and this one does not: names, or left sides of rules."""
        source = self._engine.source
        for name, left in self._source_places.left(source, self._file, set_now).items():
            if name not in self._targets:
                if name in after:
                    yield name
                continue
            definition = source.definition(name)
            rules = {hash(rule): rule for rule in definition.rules}
            scope = Scope(source, name, definition)
            for one in left:
                if one in rules:
                    yield left_side(scope, rules[one], name)
                else:
                    yield 'Options[%s]' % name if one == OPTIONS else '%s of %s' % (one, name)

    def _not_run(self):
        """Sentences: what was asked for and is not there."""
        said = []
        for name in self._wanted or ():
            if not any(name in (one, Symbol(one).short) for one in self._offered):
                like = nearest(name, [Symbol(one).short for one in self._offered])
                more = '; it has %s' % ', '.join(like) if like else ''
                said.append('%s is not defined in the file%s.' % (name, more))
        return said

    def _defined(self):
        source = self._engine.source
        defined = [name for name in names.defined(source) if Symbol(name).context not in names.SESSION]
        return {name: source.definition(name) for name in defined}


# Where each symbol was defined.


class SourcePlaces:
    """Where each rule of a symbol was evaluated from, by its hash; and its options and attributes, by their names."""

    def __init__(self):
        #: By symbol and by what was set: the file, and the first and last line; ``None`` where the file lacks it by now.
        self._of = {}

    def add(self, name, places, live):
        """Places of what was just set of a symbol; ``live`` is all that it has."""
        known = self._of.get(name, {})
        self._of[name] = {**{one: known[one] for one in known if one in live and one not in places}, **places}

    def files(self):
        """The files that definitions came from."""
        return {place[0] for known in list(self._of.values()) for place in known.values()}

    def of(self, source, name):
        """``file``, ``line`` and ``end_line`` of the calls that a symbol defines; where it defines none, of its other rules.

        ``None`` where it has none, or has lost a rule that came from there.
        """
        definition = source.definition(name)
        kinds = {} if definition is None else {hash(rule): rule.kind for rule in definition.rules}
        known = self._of.get(name, {})
        placed = {rule: place for rule, place in known.items() if not isinstance(rule, str) and place[1] is not None}
        files = [place[0] for place in placed.values()]
        here = {rule: place for rule, place in placed.items() if place[0] == files[-1]}
        if not here or not here.keys() <= kinds.keys():
            return None
        calls = [place for rule, place in here.items() if kinds[rule] in ('down', 'sub')]
        lines = [place[1:] for place in calls or here.values()]
        return {'file': files[-1], 'line': min(lines)[0], 'end_line': max(last for _, last in lines)}

    def of_rule(self, name, rule):
        """``file`` and ``line`` of a rule that a symbol has; both ``None`` where they are not known."""
        file, line, _ = self._of.get(name, {}).get(hash(rule), (None, None, None))
        return {'file': None if line is None else file, 'line': line}

    def left(self, source, file, now):
        """By symbol what a text of the file has set once and not ``now``, and is still there. It has no lines any more."""
        found = {}
        for name, known in list(self._of.items()):
            old = [one for one, place in known.items() if place[0] == file and one not in now.get(name, ())]
            if old:
                live = _live(source.definition(name))
                left = [one for one in old if one in live]
                # Another thread may look at the one that was there.
                self._of[name] = {one: place for one, place in known.items() if one not in old}
                self._of[name].update(dict.fromkeys(left, (file, None, None)))
                found.update({name: left} if left else {})
        return found


def _live(definition):
    """What a symbol has: hashes of its rules, ``OPTIONS``, and its attributes."""
    if definition is None:
        return frozenset()
    options = (OPTIONS,) if definition.options else ()
    return frozenset((*map(hash, definition.rules), *options, *definition.attributes))


class PlaceRecorder:
    """Records the lines of the expressions that are evaluated. ``place`` is the file and first line of the text."""

    #: Whether a file is read, whose expressions are no input.
    of_file = False

    def __init__(self, engine, place, source_places):
        self._engine = engine
        self._file, self._first = place[0], place[1] or 1
        self._source_places = source_places
        self._open = None
        #: By symbol and by what was set: the first and the last line.
        self._lines = {}

    def takes(self, piece):
        """See ``Loading``. All of them are."""
        self.began(piece, self._engine.expression(piece))
        return True

    def ran(self, value):
        self.ended()
        return Ran([] if value is None else [value])

    def failed(self):
        """The expression that was begun last has not been evaluated to its end, and none comes after it."""
        self._open = None
        self.ended()

    def began(self, piece, expression):
        self._evaluated()
        self._open = piece, settings(expression)

    def ended(self):
        """By symbol what was set of it. Call it after the last expression: reading rules is slow, so it is done once."""
        self._evaluated()
        found = {}
        for name, lines in self._lines.items():
            definition = self._engine.source.definition(name)
            found[name] = _placed(definition, lines)
            places = {one: (self._file, *at) for one, at in found[name].items()}
            self._source_places.add(name, places, _live(definition))
        return found

    def _evaluated(self):
        if self._open is None:
            return
        piece, set_there = self._open
        self._open = None
        line = self._first + piece.line - 1
        for name, what in set_there:
            self._lines.setdefault(name, {})[what] = line, line + piece.text.count('\n')


def _placed(definition, lines):
    """The lines of what a symbol has, by those of what was set.

    A left side that the engine has evaluated is another by then: such rules stand somewhere in the lines that are left.
    """
    found, unknown, left = {}, [], {what: at for what, at in lines.items() if isinstance(what, tuple)}
    for rule in () if definition is None else definition.rules:
        what = _left(rule.pattern, rule.value, rule.kind)
        if what in lines:
            found[hash(rule)] = lines[what]
            left.pop(what, None)
        else:
            unknown.append(hash(rule))
    if left:
        somewhere = min(first for first, _ in left.values()), max(last for _, last in left.values())
        found.update(dict.fromkeys(unknown, somewhere))
    live = _live(definition)
    return {**found, **{what: at for what, at in lines.items() if isinstance(what, str) and what in live}}


def targets(expression):
    """The full names of the symbols that an expression sets something of, as far as it says so itself."""
    return [name for name, _ in settings(expression)]


#: What is set where that is the options of a symbol.
OPTIONS = 'Options'


def settings(expression):
    """What an expression sets, as far as it says so itself: the full name of a symbol, and what of it.

    That is what ``_left`` makes of a rule, ``OPTIONS``, or the name of an attribute; ``None`` where it is not known.
    """
    name = head_name(expression)
    given = expression.arguments if isinstance(expression, Normal) else ()
    if name in ('CompoundExpression', 'Quiet'):
        return [one for part in given for one in settings(part)]
    if name in _FIRST_SIDE and len(given) == 2:
        return _set(*given)
    if name in _TAGGED and len(given) == 3:
        return [(one, _left(*given[1:])) for one in _named(given[0])]
    if name == 'SetAttributes' and len(given) == 2:
        return [(one, attribute) for one in _named(given[0]) for attribute in _shorts(given[1])]
    return []


def _set(left, value):
    """What an assignment sets."""
    call = called(left)
    kind = head_name(call)
    if kind == 'List':
        return [one for element in call.arguments for one in _set(element, None)]
    if kind == 'Options':
        return [(name, OPTIONS) for name in _named(left)]
    if kind == 'Attributes':
        return [(name, attribute) for name in _named(left) for attribute in _shorts(value) or [None]]
    return [(name, _left(left, value)) for name in _named(left)]


def _left(left, value, kind=None):
    """What tells a rule from others of its symbol: its left side with the conditions, wherever these stand."""
    conditions = []
    while (head := head_name(left)) in ('HoldPattern', 'Condition') and left.arguments:
        conditions += left.arguments[1:]
        left = left.arguments[0]
    is_format = head == 'Format' or kind == 'format'
    if head == 'Format' and left.arguments:
        left = left.arguments[0]
    while head_name(value) == 'Condition' and value.arguments:
        conditions += value.arguments[1:]
        value = value.arguments[0]
    return is_format, left, tuple(conditions)


def _shorts(expression):
    """The short names of a symbol or of a list of them."""
    some = expression.arguments if head_name(expression) == 'List' else (expression,)
    return [one.short for one in some if isinstance(one, Symbol)]


def _with_messages(expression):
    """The full names of the symbols that an expression sets a message of."""
    name = head_name(expression)
    if name == 'CompoundExpression':
        return [one for part in expression.arguments for one in _with_messages(part)]
    side = expression.arguments[0] if name in _FIRST_SIDE and expression.arguments else None
    is_message = head_name(side) == 'MessageName' and side.arguments and isinstance(side.arguments[0], Symbol)
    return [side.arguments[0].name] if is_message else []


def _named(side):
    """The symbols that a left side defines."""
    while isinstance(side := called(side), Normal):
        kind = head_name(side)
        if kind == 'MessageName':
            return []
        if kind == 'List':
            return [name for one in side.arguments for name in _named(one)]
        if kind in ('Attributes', 'Options', 'Format', 'N', 'Default') and side.arguments:
            side = side.arguments[0]
        else:
            side = side.head
    return [side.name] if isinstance(side, Symbol) else []
