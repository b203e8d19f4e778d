"""A stack that is held where an error was raised, and what restarts it in the midst."""

import sys
import types

from imago import exceptions, native
from imago.calls import Look, latest
from imago.coroutines import running_loop
from imago.exception_handlers import NO, PERHAPS, catches, lets_through
from imago.looking.frames import is_ours, traceback_of
from imago.looking.limits import DeadlineExceeded
from imago.looking.source import name_of
from imago.native import report_fault
from imago.params import HOLD
from imago.suspensions import facts_of, frames_of, notes_of, suspended_as
from imago.tracing_monitoring import TOOLS, claimed_tool
from imago.work import InFrame, Ran, executed

# Telling of each exception when it is raised, and in each frame that it goes through, while somebody wants to know.


def watch_for(raised):
    """A watch that calls ``raised(frame, error, trace)`` on the thread of the exception. What that raises replaces it.

    ``trace`` is the traceback so far, from that frame inwards.
    """
    return Monitor(raised) if hasattr(sys, 'monitoring') else Tracer(raised)


class Monitor:
    """By ``sys.monitoring``, on all threads."""

    def __init__(self, raised):
        self._told = raised
        self._tool = None

    def is_free(self):
        return self._tool is not None or any(sys.monitoring.get_tool(tool) is None for tool in TOOLS)

    def turn(self, on):
        if on == (self._tool is not None):
            return
        monitoring = sys.monitoring
        if on:
            tool = self._tool = claimed_tool()
            if tool is not None:
                monitoring.register_callback(tool, monitoring.events.RAISE, self._raised)
                monitoring.set_events(tool, monitoring.events.RAISE)
            return
        tool, self._tool = self._tool, None
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, monitoring.events.RAISE, None)
        monitoring.free_tool_id(tool)

    def _raised(self, code, offset, error):
        self._told(sys._getframe(1), error, traceback_of(error))


class Tracer:
    """By a trace function of this thread, where the program has none."""

    def __init__(self, raised):
        self._told = raised
        self._ours = self._call
        self._on = False

    def is_free(self):
        return sys.gettrace() is None or self._on

    def turn(self, on):
        if on and sys.gettrace() is None:
            sys.settrace(self._ours)
        elif not on and sys.gettrace() is self._ours:
            sys.settrace(None)
        self._on = on

    def _call(self, frame, event, arg):
        if event != 'call' or is_ours(frame.f_code):
            return None
        frame.f_trace_lines = False
        return self._local

    def _local(self, frame, event, arg):
        if event == 'exception':
            self._told(frame, arg[1], arg[2])
        return self._local


# The stack of an error held alive where it is raised, in an evaluation that asks for it.
#
# Only while such an evaluation runs, the interpreter tells of each exception that is raised: by ``sys.monitoring`` from
# 3.12 on, by a trace function before. One that no frame of the evaluation will catch (``exception_handlers.py``) stops the thread
# there. That thread goes on to serve evaluations, on top of the held stack, until the one comes that resumes it; what
# is held above it then unwinds first. It is held on the main thread of a kernel of ours alone, and not in code that an
# event loop runs. What is not held is kept post mortem.

#: Seconds that what unwinds may take where nobody is there who could interrupt it.
PATIENCE = 5.0

_NEVER = (
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    SystemExit,
    KeyboardInterrupt,
    MemoryError,
    RecursionError,
    DeadlineExceeded,
)
# A class of the program's may have an attribute of this name, and it may be code.
_set_trace = BaseException.__dict__['__traceback__'].__set__
#: The files of the frames beneath which evaluated code stands.
_BENEATH = (executed.__code__.co_filename, InFrame.run.__code__.co_filename)


class Unwind(BaseException):
    """Unwinds a held stack."""


class Run:
    """One evaluation that holds its errors, from its beginning to its end. ``let_go`` is an exception that goes on, and
    ``passed`` one of which it could not be told whether it would be caught: it is not held further out either.
    """

    __slots__ = ('evaluation', 'work', 'retries', 'unwinds', 'let_go', 'passed')

    def __init__(self, evaluation):
        self.evaluation = evaluation
        self.work = evaluation.again or evaluation.work
        self.retries = self.unwinds = False
        self.let_go = self.passed = None


class Held:
    """One held stack. ``way`` is how it goes on, once that is decided, and ``by`` the evaluation that decides it."""

    __slots__ = ('_holder', 'suspension', 'way', 'by')

    def __init__(self, holder):
        self._holder = holder
        self.suspension = self.way = self.by = None

    def resume(self, evaluation, way):
        """At the turn of the evaluation that resumes it."""
        self.way, self.by = way, evaluation
        evaluation.is_taken_up = True
        how, said = 'resumed', 'It goes on: %s.' % way
        if way == 'abort':
            how, said = 'left', 'It was given up, on request.'
        self._holder.suspensions.end(self.suspension, how, said)


class Holder:
    """Holds errors in one image. All is called on the main thread."""

    def __init__(self, evaluator, interrupts):
        self._evaluator = evaluator
        self._interrupts = interrupts
        self._place = evaluator.place
        self._thread = native.get_ident()
        self._watch = watch_for(self._raised)
        self._run = None
        self._held = []
        self.suspensions = evaluator.suspensions

    def holds(self, evaluation):
        """Whether its errors are to be held, and can be, here."""
        return evaluation.suspend == HOLD and native.get_ident() == self._thread and self._watch.is_free()

    @types.coroutine
    def run(self, evaluation):
        """Runs the evaluation's work. What comes of it is the end of the evaluation that it goes on as."""
        run = Run(evaluation)
        work = evaluation.work
        while True:
            try:
                self._watched(run)
                return (yield from work.run(self._evaluator))
            except Unwind:
                run.unwinds = False
                if not run.retries:
                    return Ran([], left='It was given up.')
                work, run.retries = run.work, False
            except BaseException as error:
                if error is run.let_go or run.unwinds:
                    # It has been decided on, or comes of a stack that was to be gone.
                    latest(evaluation).suspend = None
                raise
            finally:
                with self._evaluator.shield:
                    run.let_go = run.passed = None
                    self._watched(None)

    def become_child(self):
        """In a forked child, where nobody could come back to what is held."""
        self._watched(None)

    def _watched(self, run):
        self._run = run
        self._watch.turn(run is not None)

    def _raised(self, frame, error, trace):
        """An exception is being raised in a frame, or goes through it. Raises ``Unwind`` in its place, or returns."""
        run = self._run
        if run is None or error is run.let_go or error is run.passed or native.get_ident() != self._thread:
            return
        if latest(run.evaluation).suspend != HOLD:
            return
        if issubclass(type(error), _NEVER) or type(error) is Unwind or is_ours(frame.f_code):
            return
        try:
            callers = self._callers(run, frame, error)
        except Exception:
            report_fault('the search for who catches an exception')
            return
        if callers is not None and self.suspensions.why_not() is None:
            self._hold(run, error, _with_callers(trace, callers))

    def _callers(self, run, frame, error):
        """The frames that have called this one, innermost first; ``None`` where one of all may catch the error."""
        if running_loop() is not None:
            return None
        callers, one = [], frame
        while True:
            caught = catches(one, one.f_lineno or 0, error)
            beneath = one.f_back
            if caught == NO and beneath is None:
                return None
            if caught == NO and not is_ours(beneath.f_code):
                caught = lets_through(beneath, one, error)
            if caught != NO:
                run.passed = error if caught == PERHAPS else None
                return None
            if is_ours(beneath.f_code):
                # What is compiled may have called others on our frames: finalizers, and what is told of them.
                is_top = beneath.f_code.co_filename in _BENEATH and name_of(one.f_code) == '<module>'
                return callers if is_top else None
            callers.append(beneath)
            one = beneath

    def _hold(self, run, error, trace):
        """Stops here until it is decided how it goes on. Interrupts of the evaluation are as ever, up to its end."""
        evaluation = latest(run.evaluation)
        raised = _reported(error, trace, self._interrupts.guard, self._evaluator.handles.keep_text)
        with self._evaluator.shield:
            elapsed = evaluation.elapsed_ms()
            held = Held(self)
            facts = facts_of(raised, evaluation.call, evaluation.who)
            within = evaluation.within
            if within is None and self._held:
                within = self._held[-1].suspension
            frames, notes = frames_of(trace), notes_of(raised)
            held.suspension = self.suspensions.keep(facts, frames, within, run.work, notes, held)
            if held.suspension is None:
                return
            evaluation.outcome = suspended_as(held.suspension, raised, elapsed)
            self._wait(run, held, evaluation, error)

    def _wait(self, run, held, evaluation, error):
        self._watched(None)
        aside = self._interrupts.set_aside()
        self._held.append(held)
        ended = 'lost', 'The image ends.'
        try:
            self._evaluator.end(evaluation)
            # With what traces, the watch among it, as if this were not the midst of a trace function.
            if sys.call_tracing(self._place.serve, (self._is_decided,)):
                ended = 'within', 'A stack beneath its own has gone on.'
        finally:
            self._held.remove(held)
            self.suspensions.end(held.suspension, *ended)
            by = held.by or self._evaluator.running or Look()
            self._interrupts.take_up(aside, by)
        if held.by is not None:
            evaluation.heir = held.by
            run.retries = held.way == 'retry'
        if held.way == 'continue':
            run.let_go = error
            self._watched(run)
            return
        run.unwinds = True
        if type(by) is Look:
            self._interrupts.guard(PATIENCE).__enter__()
        raise Unwind

    def _is_decided(self):
        """Whether the innermost held stack is to go on, or to make way for one beneath it."""
        return any(held.way is not None for held in self._held)


def _reported(error, trace, guard, keep):
    """The report of an exception with the whole stack, of which it has only the innermost frames so far."""
    own = traceback_of(error)
    _set_trace(error, trace)
    try:
        return exceptions.report(error, guard, keep)
    finally:
        _set_trace(error, own)


def _with_callers(trace, callers):
    for frame in callers:
        trace = types.TracebackType(trace, frame, frame.f_lasti, frame.f_lineno or 0)
    return trace
