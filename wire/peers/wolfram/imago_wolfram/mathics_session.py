"""One session of Mathics3: its evaluation object, which tells what is printed and said, and the functions that it lacks."""

import collections

from mathics.core.atoms import Integer, String
from mathics.core.builtin import Builtin
from mathics.core.convert.expression import to_expression
from mathics.core.convert.python import from_python
from mathics.core.element import ensure_context
from mathics.core.evaluation import Evaluation, Output, Print
from mathics.core.expression import Expression
from mathics.core.interrupt import AbortInterrupt
from mathics.core.rules import Rule
from mathics.core.symbols import Symbol, SymbolNull
from mathics.core.systemsymbols import SymbolMessageName, SymbolOut

from imago_wolfram.mathics_short import Shortened

#: Times that one message is shown in one evaluation, as Wolfram Language does it: then it says that there are more.
REPEATS = 3
_IN = Symbol('System`In')


class Session(Evaluation):
    """An evaluation object that keeps nothing of what it tells, and formats no more than a page."""

    def __init__(self, definitions, listener):
        super().__init__(definitions, output=_NoOutput(), catch_interrupt=False)
        self.listener = listener
        definitions.set_line_no(0)
        self._fails = False
        #: The message of an error. It is said where the evaluation goes on; where the error ends it, that is told alone.
        self._held = None
        self._times_said = collections.Counter()
        self._last = {}

    @property
    def iteration_count(self):
        """Always 0. Mathics counts each value of a symbol over a whole evaluation here, not those of one chain: any loop of
        a few thousand turns would exceed ``$IterationLimit``. A chain without an end is one of calls of Python."""
        return 0

    @iteration_count.setter
    def iteration_count(self, count):
        pass

    def begin(self):
        """Before each expression: nothing is left of the one before it."""
        self.start_time = None
        self.recursion_depth = 0
        self.timeout = self.stopped = False
        self.quiet_all = False
        self.exc_result = SymbolNull
        self.last_eval = None
        self._times_said.clear()
        self._last.clear()
        self.out = []

    def end(self, failure=None):
        """``failure`` is the error that has ended it, by its name and text."""
        if self._held == failure:
            self._held = None
        self.say_held()
        self.recursion_depth = 0
        self.out = []

    def step(self, query):
        """What one line of input comes to, with ``In``, ``Out``, ``$Pre``, ``$Post`` and ``$PrePrint``."""
        definitions = self.definitions
        line = definitions.get_line_no() + 1
        definitions.set_line_no(line)
        kept = definitions.get_history_length()
        if kept > 0:
            definitions.add_rule('In', Rule(to_expression('In', line), query))
        value = self._hooked('System`$Pre', query).evaluate(self)
        value = self._post('System`$Post', value)
        self.last_eval = value
        if kept > 0:
            stored = value if value is None else self.get_stored_result(value, definitions.outputforms)
            definitions.add_rule('Out', Rule(Expression(SymbolOut, Integer(line)), stored))
        self._forget(line - kept)
        return value if self.is_null(value) else self._post('System`$PrePrint', value)

    def is_null(self, value):
        return value is None or value is SymbolNull or value == SymbolNull

    def message(self, symbol_name, tag, *msgs):
        symbol = ensure_context(symbol_name)
        known = symbol, tag
        if self._times_said[known] >= REPEATS:
            # It is counted, for ``Check``, and not made into a text again.
            if not self.quiet_all and not self._is_quiet(symbol, tag):
                self.out.append(self._last[known])
            return None
        message = super().message(symbol_name, tag, *(Shortened(from_python(one)).value for one in msgs))
        if message is None:
            return None
        self._times_said[known] += 1
        self._last[known] = message
        self.say_held()
        self._held = '%s::%s' % (message.symbol, message.tag), message.text
        if not self._fails or self._times_said[known] == REPEATS:
            self.say_held()
        if self._times_said[known] == REPEATS:
            said = 'Further output of %s::%s will be suppressed during this calculation.' % (message.symbol, tag)
            self.listener.message('General::stop', said)
        return message

    def say_held(self):
        held, self._held = self._held, None
        if held is not None:
            self.listener.message(*held)

    def print_out(self, text):
        printed = _plain(text)
        if printed is None:
            printed = self.format_output(Shortened(from_python(text)).value, 'text')
        self.out.append(_PRINTED)
        self.say_held()
        self.listener.printed('%s\n' % printed)

    def error(self, symbol, tag, *msgs):
        """As in Mathics, but what is raised says what went wrong."""
        self.recursion_depth, depth = 0, self.recursion_depth
        self._fails = True
        try:
            message = self.message(symbol, tag, *msgs)
        finally:
            self._fails = False
            self.recursion_depth = depth
        aborted = AbortInterrupt()
        if message is not None:
            aborted.failure = '%s::%s' % (message.symbol, message.tag), message.text
        raise aborted

    def _is_quiet(self, symbol, tag):
        quiet = self.get_quiet_messages()
        return bool(quiet) and Expression(SymbolMessageName, Symbol(symbol), String(tag)) in set(quiet)

    def _hooked(self, hook, value):
        return Expression(Symbol(hook), value) if self.definitions.get_ownvalues(hook) else value

    def _post(self, hook, value):
        return Expression(Symbol(hook), value).evaluate(self) if self.definitions.get_ownvalues(hook) else value

    def _forget(self, line):
        """Takes out the lines up to this one, from the newest on."""
        while line > 0:
            unset_in = self.definitions.unset('In', Expression(_IN, Integer(line)))
            unset_out = self.definitions.unset('Out', Expression(SymbolOut, Integer(line)))
            if not (unset_in or unset_out):
                return
            line -= 1


class _NoOutput(Output):
    """The session tells its listener itself."""

    def max_stored_size(self, output_settings):
        return None

    def out(self, out):
        pass

    def clear(self, wait):
        pass

    def display(self, data, metadata):
        pass


_PRINTED = Print('')


def _plain(row):
    """What ``Print`` writes of texts and small numbers, which need no formatting; ``None`` where there is anything else."""
    parts = []
    for part in row.elements[0].elements if isinstance(row, Expression) and row.elements else ():
        if type(part) is String:
            parts.append(part.value)
        elif type(part) is Integer and part.value.bit_length() < 1000:
            parts.append(str(part.value))
        else:
            return None
    return ''.join(parts)


# ``Input`` and ``InputString``, which Mathics does not have.


class InputString(Builtin):
    """
    <dl>
      <dt>'InputString'[$prompt$]
      <dd>asks whoever started the evaluation for a line, and gives it as a string.
    </dl>
    """

    summary_text = 'ask for a line of text'

    def eval(self, prompt, evaluation):
        'InputString[prompt___]'
        return String(_asked(prompt, evaluation))


class Input(Builtin):
    """
    <dl>
      <dt>'Input'[$prompt$]
      <dd>asks whoever started the evaluation for a line, and gives what is read from it.
    </dl>
    """

    summary_text = 'ask for an expression'

    def eval(self, prompt, evaluation):
        'Input[prompt___]'
        read = evaluation.parse(_asked(prompt, evaluation))
        return Symbol('System`$Failed') if read is None else read


def _asked(prompt, evaluation):
    evaluation.say_held()
    shown = [one.value if type(one) is String else evaluation.format_output(one, 'text') for one in prompt.get_sequence()]
    try:
        return evaluation.listener.ask(''.join(shown))
    except EOFError as error:
        aborted = AbortInterrupt()
        aborted.failure = 'Input::noans', str(error)
        raise aborted from None


def define_input(session):
    for kind in (InputString, Input):
        kind(expression=False).contribute(session.definitions)
