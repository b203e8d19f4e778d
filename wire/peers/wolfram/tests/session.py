"""One Mathics3 session for all tests: to load it takes seconds. Each test cleans away what it defined."""

import gc
import os
import unittest
from functools import cache

# Read when Mathics is imported; else it prints private characters in input form.
os.environ["MATHICS_CHARACTER_ENCODING"] = "ASCII"

from mathics.core.load_builtin import import_and_load_builtins  # noqa: E402
from mathics.session import MathicsSession  # noqa: E402

from imago_wolfram.mathics_engine import COLLECTED  # noqa: E402
from imago_wolfram.mathics_source import MathicsSource  # noqa: E402
from tests.page import symbol_definition  # noqa: E402


def loaded(make):
    """What ``make`` loads, which stays: no cycles are looked for in it, as the engine has it."""
    gc.disable()
    made = make()
    gc.freeze()
    gc.set_threshold(*COLLECTED)
    gc.enable()
    return made


@cache
def session():
    """Loaded once for the process."""
    loaded(import_and_load_builtins)
    return loaded(MathicsSession)


class MathicsTest(unittest.TestCase):
    """A test on a session without definitions of its own."""

    def setUp(self):
        self.session = session()
        self.definitions = self.session.definitions
        self.source = MathicsSource(self.definitions)
        self.addCleanup(self._forget)

    def _forget(self):
        self.definitions.reset_user_definitions()
        self.definitions.set_current_context("Global`")
        self.definitions.set_context_path(("System`", "Global`"))

    def run_in(self, *texts):
        """Evaluates each text."""
        for text in texts:
            self.session.evaluate(text)

    def value(self, text):
        """What a text evaluates to, as Mathics writes it."""
        return str(self.session.evaluate(text))

    def shown(self, symbols, *given, **named):
        return symbol_definition(self.source, symbols, *given, **named)

    def body(self, symbol, **named):
        """The text of the definition, without the markdown around it."""
        return self.shown(symbol, **named).partition("```wl\n")[2].partition("\n```")[0]
