"""An evaluator in the test's own process, as in a program that listens: nothing is connected, and no signal is used."""

import itertools
import json
import queue
import threading

from imago.clock import Clock
from imago.evaluator import Evaluator
from imago.handles import Handles
from imago.interrupts import Interrupts
from imago.output import Output
from imago.params import suspending
from imago.service import LOOKS, Image
from imago.work import work_of

WAIT = 20.0

_names = itertools.count(1)


class Guest:
    """All that evaluates in a program at a place of its choice."""

    def __init__(self, place=None):
        self.clock = Clock()
        self.interrupts = Interrupts(self.clock)
        self.output = Output(self.clock, lambda name, params: True)
        self.namespace = {'__name__': '__main__', 'threading': threading}
        self.ends = queue.Queue()
        handles = Handles('0123abcd')
        self.evaluator = Evaluator(
            self.namespace, self.output, self.interrupts, self.clock, handles, place, self._told
        )
        self.image = Image(self.namespace, handles, self.evaluator, None)

    def _told(self, name, params):
        self.ends.put(params)
        return True

    def start(self, source, who='a test', **more):
        """Begins an evaluation."""
        return self.do(who, source=source, **more)

    def do(self, who='a test', **params):
        """Begins work of any kind."""
        asked = Asked()
        asked.name = 'call-%d' % next(_names)
        self.evaluator.evaluate(asked, asked.name, who, work_of(params), suspending(params))
        return asked

    def look(self, look, **query):
        """The answer of a look, asked on this thread."""
        return LOOKS[look][1](self.image, query)

    def evaluate(self, source, **more):
        return self.start(source, **more).answer()

    def value(self, source):
        """The repr of what an expression evaluates to."""
        outcome = self.evaluate(source)
        if outcome['type'] != 'done':
            raise AssertionError(outcome)
        return outcome['values'][0]['repr']['text'] if outcome['values'] else None

    def interrupt(self, asked):
        """Asks for one call to be stopped; returns a function that waits for the report."""
        reports = queue.Queue()
        self.evaluator.interrupt(asked.name, reports.put)
        return lambda: reports.get(timeout=WAIT)


class Asked:
    """A call as the link would have it, of somebody who takes all that comes."""

    granted = 1 << 40
    spent = 0

    def __init__(self):
        self.owner = None
        self.name = None
        self._answers = queue.Queue()

    def event(self, event):
        return json.dumps(event).encode()

    def post(self, bodies):
        pass

    def result(self, result, bodies=()):
        self._answers.put(result)

    def answer(self):
        return self._answers.get(timeout=WAIT)
