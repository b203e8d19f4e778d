"""Runs code, one evaluation at a time in the order of asking, and each call at most once.

``run`` is the loop of the thread that evaluates: the main one, or ``imago-eval`` while a script holds that. Results
are remembered by call, so that a reconnecting daemon can ask again without anything being run again.
"""

import os
import queue
import sys
import threading
import time

from imago import exceptions, looking
from imago.awaiting import Loop
from imago.calls import Calls, Evaluation
from imago.children import end_child
from imago.compiling import LOOKED_AT, Compiler, awaits
from imago.link import Fail

#: Evaluations that may wait.
WAITING = 1024
#: How long an interrupt is watched before it is reported as not (yet) obeyed, in seconds.
WATCHED = 2.0

_STOP = object()
_TAKE_OVER = object()
_NOTHING = object()


class Evaluator:
    def __init__(self, namespace, output, interrupts, clock, handles):
        self._namespace = namespace
        self._output = output
        self._interrupts = interrupts
        self._clock = clock
        self._handles = handles
        self._queue = queue.SimpleQueue()
        self._calls = Calls(output, clock)
        self._loop = Loop()
        self._idling = False
        self._waiting = 0
        self._changing = threading.Lock()
        self._pid = os.getpid()
        self.compiler = Compiler()
        self.running = None

    # Asked from the reader's thread.

    def evaluate(self, served, call, source, place):
        """Runs a call that is new; joins, or answers from memory, one that is known."""
        known = self._calls.find(call)
        if known is not None:
            self._follow(known, served)
            return
        if self._waiting >= WAITING:
            raise Fail('busy', '%d evaluations wait already; this one was not run' % self._waiting)
        evaluation = Evaluation(self, call, source, place)
        self._calls.add(evaluation)
        with self._changing:
            self._waiting += 1
        self._follow(evaluation, served)
        self._put(evaluation)

    def recall(self, served, call):
        known = self._calls.find(call)
        if known is None:
            raise Fail('unknown_call', 'no call %s is remembered in this epoch' % call)
        self._follow(known, served)

    def probe(self, work):
        """Runs ``work()`` where evaluations run; false, and nothing is run, while one is there or waits."""
        if self.running is not None or self._waiting:
            return False
        self._put(work)
        return True

    def interrupt(self, call, report):
        """Stops one call; ``report(InterruptReport)`` comes when it was seen to stop, or after ``WATCHED`` seconds."""
        self._interrupts.asked()
        evaluation = self._calls.find(call)
        if evaluation is None:
            report(_said('not_running', 'no call %s is known in this epoch' % call))
            return
        if self._withdraw(evaluation):
            report(_said('withdrawn', 'it still waited its turn, and will not run'))
            return
        once = threading.Lock()

        def say(outcome, message):
            if once.acquire(False):
                report(_said(outcome, message))

        def ended():
            if evaluation.outcome['type'] == 'interrupted':
                say('stopped', 'it was seen to stop, after %g ms' % evaluation.outcome['elapsed_ms'])
            else:
                say('not_running', 'it ended by itself before the interrupt took effect')

        with self._changing:
            if evaluation.state == 'running':
                evaluation.on_end = [*(evaluation.on_end or ()), ended]
        if evaluation.state != 'running':
            say('not_running', 'it had ended before it could be interrupted')
            return
        self._interrupts.interrupt(evaluation)
        stubborn = 'it was interrupted and still runs: it holds on to the interrupt, or is in C code that does not look'
        self._clock.after(WATCHED, lambda: say('still_running', stubborn))

    def status(self):
        running = self.running
        now = None
        if running is not None:
            now = {'call': running.call, 'elapsed_ms': running.elapsed_ms()}
        return {'running': now, 'queued': self._waiting}

    def pump(self, evaluation):
        self._clock.soon(lambda: self._output.pump(evaluation))

    def leave(self, evaluation, served):
        self._output.leave(evaluation, served)

    def stop(self):
        """Ends ``run`` once what runs has ended."""
        self._put(_STOP)

    def _follow(self, evaluation, served):
        served.owner = evaluation
        self._output.join(evaluation, served)

    def _put(self, work):
        self._queue.put(work)
        if self._idling:
            self._loop.wake()

    def _withdraw(self, evaluation):
        with self._changing:
            if evaluation.state != 'queued':
                return False
            evaluation.state = 'withdrawn'
            self._waiting -= 1
        self._end(evaluation, {'type': 'withdrawn'})
        return True

    # On the evaluating thread.

    def take_over(self, aside):
        """Ends ``run`` on another thread, once what runs there has ended, so that this one can go on with it."""
        self._put(_TAKE_OVER)
        aside.join()

    def finish(self):
        """Lets the tasks of the event loop end, at the end of the process."""
        try:
            self._loop.finish()
        except BaseException as error:
            self._print(error)

    def run(self):
        """Evaluates until ``stop``. No code that is evaluated can make it return or raise."""
        while True:
            work = self._next()
            if work is _STOP:
                return
            if work is _TAKE_OVER:
                if threading.get_ident() == threading.main_thread().ident:
                    continue
                return
            if isinstance(work, Evaluation):
                self._run(work)
            else:
                self._exposed(work, work)

    def _next(self):
        if not self._loop.idles():
            return self._queue.get()
        while True:
            self._idling = True
            try:
                if self._queue.empty():
                    self._loop.idle()
                self._idling = False
                return self._queue.get_nowait()
            except queue.Empty:
                pass
            except BaseException as error:
                # A task of the user's that ended with SystemExit, say.
                self._print(error)
                if not self._loop.idles():
                    return self._queue.get()

    def _run(self, evaluation):
        with self._changing:
            if evaluation.state != 'queued':
                return
            evaluation.state = 'running'
            evaluation.began = time.perf_counter()
            self._waiting -= 1
            self.running = self._output.current = evaluation
        outcome = self._exposed(evaluation, lambda: self._evaluate(evaluation))
        if isinstance(outcome, BaseException):
            outcome = self._without_outcome(evaluation, outcome)
        self._interrupts.forget(evaluation)
        self.running = self._output.current = None
        self._end(evaluation, outcome)

    def _exposed(self, owner, work):
        """Runs ``work()`` exposed to interrupts of ``owner``; returns its result, or what it raised."""
        outcome = _NOTHING
        try:
            self._interrupts.expose(owner)
            outcome = work()
        except BaseException as error:
            if outcome is _NOTHING:
                outcome = error
        while True:
            try:
                self._interrupts.conceal()
                return outcome
            except BaseException as late:
                # Too late for code that has come to its end: what that came to is not lost to an interrupt.
                if outcome is _NOTHING:
                    outcome = late

    def _evaluate(self, evaluation):
        guard = self._interrupts.guard
        try:
            values = self._execute(evaluation.source, evaluation.place)
        except BaseException as error:
            elapsed = evaluation.elapsed_ms()
            self._check_child(error)
            raised = exceptions.report(error, guard)
            kind = 'interrupted' if self._interrupts.hit(evaluation) and _stopped(error) else 'raised'
            return {'type': kind, 'exception': raised, 'elapsed_ms': elapsed}
        elapsed = evaluation.elapsed_ms()
        self._check_child(None)
        shown = [looking.show(value, self._handles, guard) for value in values]
        return {'type': 'done', 'values': shown, 'elapsed_ms': elapsed}

    def _execute(self, source, place):
        """Runs source; returns the value of its last expression in a list, which is empty after a statement."""
        statements, expression = self.compiler.compile(source, *place)
        if statements is not None:
            self._run_code(statements)
        return [] if expression is None else [self._run_code(expression)]

    def value(self, source):
        """The value of an expression, for looking at it. On the evaluating thread, exposed."""
        statements, expression = self.compiler.compile(source, LOOKED_AT)
        if statements is not None or expression is None:
            raise SyntaxError('not an expression')
        return self._run_code(expression)

    def _run_code(self, code):
        result = eval(code, self._namespace)
        return self._loop.run(result) if awaits(code) else result

    def _without_outcome(self, evaluation, error):
        """What to answer where reporting itself was cut short, or could not be done."""
        elapsed = evaluation.elapsed_ms()
        if self._interrupts.hit(evaluation):
            return {'type': 'interrupted', 'elapsed_ms': elapsed}
        return {'type': 'raised', 'exception': exceptions.bare(error), 'elapsed_ms': elapsed}

    def _end(self, evaluation, outcome):
        evaluation.outcome = outcome
        evaluation.source = None
        self._output.settle(evaluation, outcome)
        with self._changing:
            if evaluation.state == 'running':
                evaluation.state = 'ended'
            watchers, evaluation.on_end = evaluation.on_end, None
        for watcher in watchers or ():
            watcher()
        self._calls.ended(evaluation)

    def _check_child(self, error):
        if os.getpid() != self._pid:
            end_child(error, self._text)

    def _text(self, error):
        return exceptions.text(error, self._interrupts.guard)

    def _print(self, error):
        """Reports what nobody waits for, as Python would: on standard error."""
        if not isinstance(error, SystemExit):
            sys.stderr.write(self._text(error))


def _said(outcome, message):
    return {'outcome': outcome, 'message': message}


def _stopped(error):
    """Whether an exception is an interrupt, or was raised while handling one."""
    seen = []
    while error is not None and all(error is not known for known in seen):
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False
