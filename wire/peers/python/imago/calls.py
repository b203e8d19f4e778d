"""Evaluations by the names of their calls, from being asked for to being forgotten: each is run at most once."""

import collections
import contextvars

from imago.native import time
from imago.output import PATIENCE, Outflow

#: Finished calls that are remembered, and those of them whose unheard output is kept.
REMEMBERED = 256
UNHEARD = 8

#: The evaluation, or evaluated look, that the present code belongs to, in its own context and in those of the tasks
#: that it makes.
CURRENT = contextvars.ContextVar('imago_evaluation', default=None)


class Evaluation:
    """One evaluation. ``state`` is ``queued``, ``running``, ``ended`` or ``withdrawn``; the last two are final.

    ``outcome`` is its ``Evaluated`` once it has one. ``body`` is the coroutine that runs it, and ``task`` the one of the
    program's event loop ``loop`` that does, while there is one; ``awaited`` is the coroutine that an event loop of
    ours runs for it. ``suspend`` is ``'hold'`` or ``'keep'`` where an error is to suspend it, ``within`` the suspension
    that it then stands on, and ``again`` the work that it runs in the place of its own. ``heir`` is the evaluation that
    a stack which was held for this one goes on for; that one ``is_taken_up``, and has no code of its own to run.
    """

    def __init__(self, evaluator, call, who, work, suspend=None):
        self._evaluator = evaluator
        self.call = call
        self.who = who
        self.work = work
        self.state = 'queued'
        self.began = None
        self.outcome = None
        self.body = None
        self.task = None
        self.loop = None
        self.awaited = None
        self.on_end = None
        self.entry = None
        self.displayed = None
        self.suspend = suspend
        self.within = self.again = self.heir = None
        self.is_taken_up = False
        self.outflow = Outflow()

    def begin(self):
        self.state = 'running'
        self.began = time.perf_counter()

    def elapsed_ms(self):
        return 0 if self.began is None else round((time.perf_counter() - self.began) * 1000, 3)

    def show(self, value):
        """Adds a value to what it displays; false where it has ended."""
        return self._evaluator.displays.show(value)

    # What becomes of the calls that follow it, told by the link on the reader's thread.

    def cancelled(self, served):
        self._evaluator.interrupt(self.call, _unreported)

    def credited(self, served):
        self._evaluator.pump(self)

    def lost(self, served):
        self._evaluator.leave(self, served)


def latest(evaluation):
    """The evaluation that its stack runs for now."""
    while evaluation.heir is not None:
        evaluation = evaluation.heir
    return evaluation


class Look:
    """What unwinds for no call. ``awaited`` is as for an evaluation."""

    __slots__ = ('awaited',)

    def __init__(self):
        self.awaited = None


class Calls:
    """Those that wait, run, or ended not long ago."""

    def __init__(self, output, clock):
        self._output = output
        self._clock = clock
        self._known = {}
        self._finished = collections.deque()
        self._unheard = collections.deque()
        self.find = self._known.get

    def add(self, evaluation):
        self._known[evaluation.call] = evaluation

    def ended(self, evaluation):
        """Remembers an evaluation whose result is on its way, and forgets the oldest."""
        self._finished.append(evaluation.call)
        if len(self._finished) > REMEMBERED:
            self._known.pop(self._finished.popleft(), None)
        outflow = evaluation.outflow
        if outflow.answered():
            return
        if outflow.followed():
            self._clock.after(PATIENCE, lambda: self._output.give_up(evaluation))
            return
        self._unheard.append(evaluation)
        if len(self._unheard) > UNHEARD:
            self._output.give_up(self._unheard.popleft())


def _unreported(report):
    """Nobody waits for what came of it: a cancelled call is answered by its own end."""
