"""Values as texts: in input form, bounded before they are printed."""

from imago_wolfram.engine import Form
from imago_wolfram.expressions import SYSTEM, Integer, Normal, Omitted, String, Symbol, parts, system
from imago_wolfram.layout import render
from imago_wolfram.names import resolved
from imago_wolfram.printing import ValuePrinter, quoted

#: Leaves of a value that are printed, and the width of the page.
LEAVES = 4_000
WIDTH = 120


def input_form(engine, value, most=LEAVES, width=WIDTH):
    """The ``Form`` of a value, which is left as it is."""
    return form_of(engine.source, engine.neutral(value, most), width)


def form_of(source, expression, width=WIDTH):
    """The ``Form`` of an expression."""
    if isinstance(expression, String):
        return Form(quoted(expression.value), True)
    text = render(ValuePrinter(_Shown(source)).text(_written(expression)), width)
    return Form(text, not any(isinstance(part, Omitted) for part in parts(expression)))


class _Shown:
    """Names as they have to be written where the session stands."""

    def __init__(self, source):
        self._source = source
        self._known = {}

    def __call__(self, symbol):
        name = symbol.name
        if name not in self._known:
            self._known[name] = symbol.short if self._reads_short(symbol) else name
        return self._known[name]

    def _reads_short(self, symbol):
        found = resolved(self._source, symbol.short)
        if found is None:
            # The symbol was removed, or is not made yet: the short name would make one in the current context.
            return symbol.context == self._source.context()
        return found == symbol.name


def type_of(head):
    """The ``TypeName`` of what has this head."""
    if head.context == SYSTEM:
        return {'name': head.short, 'module': None, 'qualified': head.short}
    return {'name': head.short, 'module': head.context, 'qualified': head.name}


_KINDS = {
    'List': 'sequence',
    'Association': 'mapping',
    'Function': 'callable',
    'CompiledFunction': 'callable',
    'String': 'string',
    'Integer': 'number',
    'Rational': 'number',
    'Real': 'number',
    'Complex': 'number',
}


def kind_of(head, expression):
    """Its kind, in the words of the contract."""
    if isinstance(expression, Symbol):
        return {'System`True': 'bool', 'System`False': 'bool', 'System`Null': 'none'}.get(expression.name, 'other')
    return _KINDS.get(head.short, 'object') if head.context == SYSTEM else 'object'


# What the engine stores in another way than people write it.

_INFINITY = {(): 'ComplexInfinity', (1,): 'Infinity'}


def _written(expression):
    if not isinstance(expression, Normal):
        return expression
    arguments = tuple(_written(one) for one in expression.arguments)
    if expression.head == Symbol(SYSTEM + 'DirectedInfinity'):
        if arguments == (Integer(-1),):
            return system('Times', Integer(-1), Symbol(SYSTEM + 'Infinity'))
        name = _INFINITY.get(tuple(one.value for one in arguments if isinstance(one, Integer)))
        if name is not None and len(arguments) < 2:
            return Symbol(SYSTEM + name)
    return Normal(_written(expression.head), arguments)
