"""Runs code, one evaluation at a time in the order of asking, and each call at most once.

Where it runs is the place's to say (``places.py``), and how it is carried from step to step the driver's
(``coroutines.py``).

Results are remembered by call, so that a reconnecting daemon can ask again without anything being run again.
"""

import collections
import os
import re
import sys

from imago import exceptions, looking, native
from imago.calls import CURRENT, Calls, Evaluation, latest
from imago.children import Children, end_child
from imago.compiling import Compiler
from imago.coroutines import Driver
from imago.displays import Displays
from imago.exceptions import still
from imago.history import Errors, History
from imago.interrupts import Ladder, said
from imago.link import Fail
from imago.looking.loaded import main_namespace
from imago.places import Here
from imago.suspensions import Suspensions, ended_with, is_stopped
from imago.work import Source

#: Evaluations that may wait.
WAITING = 1024


class Evaluator:
    """``on_begin`` and ``on_end`` are called with each evaluation or evaluated look, in the context its code runs in."""

    def __init__(self, namespace, output, interrupts, clock, handles, place=None, note=None):
        self._namespace = namespace
        self.handles = handles
        self.guard = interrupts.guard
        self.shield = interrupts.shield
        self.compiler = Compiler()
        self.place = Here() if place is None else place
        self.place.report = self._print
        self.history = History()
        self.errors = Errors()
        self.children = Children()
        self.displays = Displays(handles, interrupts.guard)
        self.suspensions = Suspensions(handles, clock, self.place, note)
        self.running = None
        self.on_begin = self.on_end = _unwatched
        #: Holds the stacks of errors, where the image is ours.
        self.holder = None
        #: Gives the last values names at the top level, where the image is ours.
        self.last_values = None
        self._output = output
        self._interrupts = interrupts
        self._clock = clock
        self._driver = Driver(self.place, interrupts, self._finish)
        self._calls = Calls(output, clock)
        self._waiting = collections.deque()
        self._turning = False
        self._changing = native.Lock()
        self._pid = os.getpid()

    @property
    def namespace(self):
        """The names that code sees: those of ``__main__`` as it is now, unless a namespace was given."""
        return main_namespace() if self._namespace is None else self._namespace

    def run(self):
        """Runs evaluations on this thread until ``stop``, where the place is ``Here``."""
        self.place.run()

    def stop(self):
        self.place.stop()

    def finish(self):
        self.place.finish()

    # Asked from the reader's thread.

    def evaluate(self, served, call, who, work, suspend=None):
        """Runs a call that is new; joins, or answers from memory, one that is known."""
        known = self._calls.find(call)
        if known is not None:
            self._follow(known, served)
            return
        if len(self._waiting) >= WAITING:
            raise Fail('busy', '%d evaluations wait already; this one was not run' % len(self._waiting))
        evaluation = Evaluation(self, call, who, work, suspend)
        self._calls.add(evaluation)
        self._follow(evaluation, served)
        with self._changing:
            self._waiting.append(evaluation)
            begin, self._turning = not self._turning, True
        if begin:
            self.place.put(self._turn, self._refused)

    def recall(self, served, call):
        known = self._calls.find(call)
        if known is None:
            raise Fail('unknown_call', 'no call %s is remembered in this epoch' % call)
        self._follow(known, served)

    def interrupt(self, call, report):
        """Stops one call; ``report(InterruptReport)`` comes when that was seen, or when no more can be tried."""
        self._interrupts.asked()
        evaluation = self._calls.find(call)
        if evaluation is None:
            report(said('not_running', 'no call %s is known in this epoch' % call))
        elif self._withdraw(evaluation):
            report(said('withdrawn', 'it still waited its turn, and will not run'))
        else:
            Ladder(self, self._interrupts, self._clock, evaluation, report).climb()

    def ask_to_stop(self, evaluation):
        """Raises ``KeyboardInterrupt`` in what runs for it, or cancels the task in which it waits."""
        self._interrupts.interrupt(evaluation)
        loop = evaluation.loop
        if loop is None:
            self.place.wake(self._interrupts.deliver)
            return
        try:
            loop.call_soon_threadsafe(self._driver.cancel, evaluation)
        except RuntimeError:
            # The loop is closed: the evaluation can never go on, and no other ever begin after it.
            self._clock.soon(lambda: self._abandon(evaluation))

    def watch_end(self, evaluation, watcher):
        """Has ``watcher()`` called when it has ended; false, and nothing is done, where it has."""
        with self._changing:
            if evaluation.state == 'running':
                evaluation.on_end = [*(evaluation.on_end or ()), watcher]
        return evaluation.state == 'running'

    def status(self):
        running = self.running
        now = None
        if running is not None:
            now = {'call': running.call, 'elapsed_ms': running.elapsed_ms()}
        return {'running': now, 'queued': len(self._waiting)}

    def pump(self, evaluation):
        self._clock.soon(lambda: self._output.pump(evaluation))

    def leave(self, evaluation, served):
        self._output.leave(evaluation, served)

    def _follow(self, evaluation, served):
        served.owner = evaluation
        self._output.join(evaluation, served)

    def _withdraw(self, evaluation):
        with self._changing:
            if evaluation.state != 'queued':
                return False
            evaluation.state = 'withdrawn'
            self._waiting.remove(evaluation)
        evaluation.outcome = {'type': 'withdrawn'}
        self._settle(evaluation)
        return True

    def starts_child(self):
        """This thread is about to start a process."""
        self.children.starts(self._interrupts.exposed_here())

    # Where evaluations run.

    def _turn(self):
        """Begins with the evaluation that has waited longest."""
        evaluation = self._next()
        if evaluation is None:
            return
        if evaluation.outcome is not None:
            self.end(evaluation)
            return
        self.running = self._output.current = evaluation
        CURRENT.set(evaluation)
        self.displays.begin(evaluation)
        self.on_begin(evaluation)
        if not evaluation.is_taken_up:
            self._driver.begin(evaluation, self._evaluate(evaluation))

    def _next(self):
        with self._changing:
            if not self._waiting:
                self._turning = False
                return None
            evaluation = self._waiting.popleft()
            evaluation.begin()
            evaluation.outcome = evaluation.work.begin(self, evaluation)
            if evaluation.outcome is None:
                evaluation.entry = self.history.begin(evaluation)
            return evaluation

    async def _evaluate(self, evaluation):
        """The evaluation itself. What it comes to is kept before anything can cut it short."""
        holder = self.holder
        is_held = holder is not None and holder.holds(evaluation)
        try:
            ran = await (holder.run(evaluation) if is_held else evaluation.work.run(self))
        except BaseException as error:
            evaluation = latest(evaluation)
            if evaluation.state == 'ended':
                return
            elapsed = evaluation.elapsed_ms()
            self._check_child(error)
            raised = self.report(error)
            with self.shield:
                if self._interrupts.hit(evaluation) and self.is_stopped(error):
                    evaluation.outcome = {'type': 'interrupted', 'exception': raised, 'elapsed_ms': elapsed}
                else:
                    evaluation.outcome = ended_with(self, evaluation, error, raised, elapsed)
                    module = _not_imported(error, evaluation.work, self.namespace)
                    mend = _other_copies(evaluation.work) if module is None else _IMPORT % (module, module)
                    if mend is not None and evaluation.outcome['type'] == 'raised':
                        evaluation.outcome['next'] = mend
            self.displays.take(evaluation, evaluation.outcome)
            return
        evaluation = latest(evaluation)
        if evaluation.state == 'ended':
            return
        elapsed = evaluation.elapsed_ms()
        self._check_child(None)
        if ran.left is not None:
            evaluation.outcome = {'type': 'left', 'message': ran.left, 'elapsed_ms': elapsed}
            return
        shown = [self.show(value) for value in ran.values]
        if self.last_values is not None:
            self.last_values.keep(ran.values, evaluation.who)
        outcome = {'type': 'done', 'values': shown, 'elapsed_ms': elapsed}
        if ran.loaded is not None:
            outcome['loaded'] = ran.loaded
        told = _other_copies(evaluation.work)
        if told is not None:
            nowhere = dict.fromkeys(('file', 'line', 'column', 'source'))
            outcome['diagnostics'] = [{**nowhere, 'severity': 'note', 'message': told}]
        evaluation.outcome = outcome
        self.displays.take(evaluation, outcome, ran.values)

    # What a kernel of another language says in its own way.

    def show(self, value):
        """The ``Shown`` of a value that an evaluation has come to."""
        return looking.show(value, self.handles, self.guard)

    def report(self, error):
        """The ``Raised`` of what ended an evaluation."""
        return exceptions.report(error, self.guard, self.handles.keep_text)

    def is_stopped(self, error):
        """Whether an evaluation that was interrupted has ended by that."""
        return is_stopped(error)

    def _finish(self, evaluation, error):
        """Nothing of it is left to run; ``error`` is what got out of it, if anything did."""
        evaluation = latest(evaluation)
        if evaluation.state == 'ended':
            # Its stack was held, and has been unwound.
            return
        if evaluation.outcome is None:
            evaluation.outcome = self._without_outcome(evaluation, error)
        self.end(evaluation)

    def _abandon(self, evaluation):
        if evaluation.outcome is None:
            evaluation.outcome = {'type': 'interrupted', 'elapsed_ms': evaluation.elapsed_ms()}
            self.end(evaluation)

    def _without_outcome(self, evaluation, error):
        """What to answer where reporting itself was cut short, or could not be done."""
        elapsed = evaluation.elapsed_ms()
        if self._interrupts.hit(evaluation):
            return {'type': 'interrupted', 'elapsed_ms': elapsed}
        return {'type': 'raised', 'exception': exceptions.bare(error), 'elapsed_ms': elapsed}

    def end(self, evaluation):
        """It has its outcome. The next one begins."""
        self._interrupts.forget(evaluation)
        self.children.forget(evaluation)
        self.suspensions.leave(evaluation)
        self.displays.end(evaluation)
        self.on_end(evaluation)
        CURRENT.set(None)
        self.running = self._output.current = None
        self._settle(evaluation)
        with self._changing:
            self._turning = bool(self._waiting)
        if self._turning:
            self.place.put(self._turn, self._refused)

    def _settle(self, evaluation):
        outcome = evaluation.outcome
        if evaluation.entry is not None:
            self.history.end(evaluation.entry, outcome)
        if outcome['type'] in ('raised', 'suspended'):
            self.errors.note(outcome['exception'], who=evaluation.who, call=evaluation.call)
        evaluation.work = evaluation.body = evaluation.again = evaluation.within = None
        self._output.settle(evaluation, outcome)
        with self._changing:
            if evaluation.state == 'running':
                evaluation.state = 'ended'
            watchers, evaluation.on_end = evaluation.on_end, None
        for watcher in watchers or ():
            watcher()
        self._calls.ended(evaluation)

    def _refused(self, error):
        """The place runs nothing. Whoever called it may hold locks, and has more to say: it is told of elsewhere."""
        self._clock.soon(lambda: self._refuse(error))

    def _refuse(self, error):
        evaluation = self._next()
        if evaluation is not None:
            elapsed = evaluation.elapsed_ms()
            evaluation.outcome = {'type': 'raised', 'exception': still(error), 'elapsed_ms': elapsed}
            self.end(evaluation)

    def _check_child(self, error):
        if os.getpid() != self._pid:
            end_child(error, self._text)

    def _text(self, error):
        return exceptions.text(error, self.guard)

    def _print(self, error):
        """Reports what nobody waits for, as Python would: on standard error."""
        if not isinstance(error, SystemExit):
            sys.stderr.write(self._text(error))


def _unwatched(_):
    """Where nobody has asked to be told."""


def _other_copies(work):
    return work.other_copies() if type(work) is Source else None


_IMPORT = 'The module %s is loaded, and not imported here: code needs `import %s` first, inspect does not'
_NOT_DEFINED = re.compile(r"name '(\w+)' is not defined")


def _not_imported(error, work, namespace):
    """The loaded module that code at the top level has named without an import: its longest name that stands there."""
    if type(error) is not NameError or type(work) is not Source or [type(one) for one in error.args] != [str]:
        return None
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    missing = _NOT_DEFINED.match(error.args[0])
    if missing is None or trace is None or trace.tb_frame.f_globals is not namespace:
        return None
    spelled = [one.split('.') for one in re.findall(r'(?<![\w.])%s(?:\.\w+)*' % missing.group(1), work.text)]
    named = {'.'.join(parts[:end]) for parts in spelled for end in range(1, len(parts) + 1)}
    return max((name for name in named if name in sys.modules), key=len, default=None)
