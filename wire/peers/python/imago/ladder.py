"""The steps by which one call is brought to a stop, from asking to saying honestly that it goes on.

It is asked by an interrupt; after ``REPEAT`` seconds asked again, and in a process of ours the child processes that
it started are asked too, by SIGINT and later by SIGTERM. When it was seen to end, or after ``GIVE_UP`` seconds, what
was observed is reported. Asking again is always possible.
"""

import sys
import time
import types

from imago import native
from imago.looking.frames import is_ours, library_file

#: Seconds from the first asking to the second, to the end of the patience with children, and to the report.
REPEAT = 2.0
TERMINATE = 3.5
GIVE_UP = 5.0
#: Frames looked at to tell where code stands, and children that are named.
DEEP = 2000
NAMED = 5


class Ladder:
    """For one request to stop a call; ``report(InterruptReport)`` is called once."""

    def __init__(self, evaluator, interrupts, clock, evaluation, report):
        self._evaluator = evaluator
        self._interrupts = interrupts
        self._clock = clock
        self._evaluation = evaluation
        self._report = report
        self._once = native.Lock()
        self._asked = None

    def climb(self):
        self._asked = time.monotonic()
        if not self._evaluator.watch_end(self._evaluation, self._ended):
            self._say('not_running', 'it had ended before it could be interrupted')
            return
        self._evaluator.ask_to_stop(self._evaluation)
        self._clock.after(REPEAT, self._repeat)

    def _repeat(self):
        if not self._runs():
            return
        if not self._interrupts.owned and not self._interrupts.raised(self._evaluation):
            # Nothing more can be done to code that has not come back to Python in a program that is not ours.
            self._give_up()
            return
        if not self._interrupts.pend(self._evaluation):
            self._evaluator.ask_to_stop(self._evaluation)
        self._stop_children()
        self._clock.after(TERMINATE - REPEAT, self._stop_children)
        self._clock.after(GIVE_UP - REPEAT, self._give_up)

    def _stop_children(self):
        if self._runs() and self._interrupts.owned:
            # What waits for a child must not go on when that has ended: an interrupt awaits it by now.
            self._evaluator.children.stop(self._evaluation)

    def _runs(self):
        return self._evaluation.state == 'running'

    def _ended(self):
        if self._evaluation.outcome['type'] == 'interrupted':
            waited = time.monotonic() - self._asked
            ran = self._evaluation.outcome['elapsed_ms'] / 1000
            how_long = 'it was seen to stop, %s after it was asked to; it had run for %s'
            self._say('stopped', how_long % (lasted(waited), lasted(ran)))
        else:
            self._say('not_running', 'it ended by itself before the interrupt took effect')

    def _give_up(self):
        if self._runs():
            self._say('still_running', _observed(self._evaluator, self._interrupts, self._evaluation))

    def _say(self, outcome, message):
        if self._once.acquire(False):
            report = said(outcome, message)
            if outcome == 'still_running' and self._interrupts.owned:
                report['offer'] = 'restart'
            self._report(report)


def said(outcome, message):
    """An ``InterruptReport`` of the contract."""
    return {'outcome': outcome, 'message': message}


def lasted(seconds):
    """``85 ms``, ``7.4 s`` or ``3 min 5 s``: for people, no more exact than it matters to them."""
    if seconds < 0.9995:
        return '%d ms' % round(seconds * 1000)
    if seconds < 59.95:
        return '%.1f s' % seconds
    return '%d min %d s' % divmod(round(seconds), 60)


def _observed(evaluator, interrupts, evaluation):
    """What is seen of a call that was interrupted and goes on."""
    raised = interrupts.raised(evaluation)
    place = where(interrupts, evaluation)
    parts = ['it was asked to stop and still runs' + (', at ' + place if place else '')]
    if raised:
        how = 'its task was cancelled' if evaluation.task is not None else 'KeyboardInterrupt was raised in it'
        parts.append('%s %s, and it went on: it catches that, or is still cleaning up' % (how, _times(raised)))
    elif interrupts.owned and interrupts.by_signal(evaluation):
        parts.append('it is in C code that does not look at signals, and is interrupted once that code returns')
    else:
        parts.append('it waits in a call that cannot be broken off from another thread, or in C code')
        if interrupts.owned:
            parts.append('the interrupt takes effect when that call returns')
        else:
            parts.append(
                'the interrupt takes effect when that call returns, and no signal is sent: '
                'Imago never signals a program that is not its own'
            )
    alive = evaluator.children.alive(evaluation)
    if alive:
        parts.append('child processes of its own are alive: ' + _named(alive))
    return '; '.join(parts)


def where(interrupts, evaluation):
    """``app.py:3 in spin``: where user code of the evaluation stands, as far as that can be seen."""
    thread = interrupts.thread_of(evaluation)
    frames = _running(sys._current_frames().get(thread)) if thread is not None else _awaiting(evaluation.body)
    inner = None
    for frame in frames:
        if is_ours(frame.f_code):
            continue
        if library_file(frame.f_code) is None:
            return _place(frame) + ('' if inner is None else ', inside ' + _place(inner))
        inner = inner or frame
    return None if inner is None else _place(inner)


def _running(frame):
    """The frames of a thread, innermost first."""
    for _ in range(DEEP):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _awaiting(coroutine):
    """The frames of a coroutine that waits and of those that it waits for, innermost first."""
    frames = []
    while len(frames) < DEEP:
        if type(coroutine) is types.CoroutineType:
            frame, coroutine = coroutine.cr_frame, coroutine.cr_await
        elif type(coroutine) is types.GeneratorType:
            frame, coroutine = coroutine.gi_frame, coroutine.gi_yieldfrom
        else:
            break
        if frame is not None:
            frames.append(frame)
    return reversed(frames)


def _place(frame):
    code = frame.f_code
    return '%s:%s in %s' % (library_file(code) or code.co_filename, frame.f_lineno, code.co_name)


def _times(count):
    return {1: 'once', 2: 'twice'}.get(count, '%d times' % count)


def _named(children):
    named = ['%s (process %d)' % (child.name, child.pid) for child in children[:NAMED]]
    more = len(children) - len(named)
    return ', '.join(named) + (' and %d more' % more if more else '')
