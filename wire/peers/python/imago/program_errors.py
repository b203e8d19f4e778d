"""The errors that the program had by itself: uncaught, logged with an exception, printed, or met by a request.

Each is taken down as text where it happens, so that nothing of the program's is kept alive by it. What was there is
called as ever: hooks are chained and never replaced, and an error reporter beside us sees what it saw. Errors of what
Imago's callers evaluate are kept elsewhere (``history.Errors``).
"""

import contextvars
import functools
import gc
import logging
import re
import sys
import threading
import traceback
import types
from itertools import chain, islice

from imago import exceptions, frameworks, native
from imago.calls import CURRENT
from imago.coroutines import running_loop
from imago.frameworks import given
from imago.history import rfc3339
from imago.looking.fields import ABSENT, stored, type_facts
from imago.looking.frames import entries_of, outwards, traceback_of, variables
from imago.looking.source import file_of
from imago.looking.waiting import thread_name
from imago.native import time

#: Different errors that are kept; one that comes again takes the place of what it was.
KEPT = 20
#: Errors that are taken down whole in a second, and those of them that come again at the same place. The others are
#: counted, and told of as the last one there that was whole.
WHOLE_PER_SECOND = 50
SAME_PER_SECOND = 2
#: Characters of what a program said beside a logged error, and of a request.
SAID_CHARS = 400
#: Characters of what a program leaves behind that ends by an exception.
LAST_WORDS_CHARS = 2000
#: Entries of a traceback that are gone through to its innermost one.
DEEPEST = 10_000
#: Frames that are asked whether they serve a request, around the error and in its traceback.
REQUEST_FRAMES = 100

#: Frames of ``logging`` between a record and the code that logs.
LOGGING_FRAMES = 8

#: What is formatted by the interpreter alone.
_PLAIN = (str, int, float, bool, type(None))

#: How asyncio names the task in what it logs of one that nobody waited for.
_TASK = re.compile(r"Task exception was never retrieved\n.{0,40}?\bname='([^'\n]{1,200})'")
# A class of the program's may have attributes of these names, and they may be code.
_file_of = SyntaxError.__dict__['filename'].__get__
_line_of = SyntaxError.__dict__['lineno'].__get__


class ProgramErrors:
    """Bounded, and may be asked from any thread. ``begin`` and ``end`` put the hooks in place and take them out."""

    def __init__(self):
        # By what an error is known again; newest last. It is never changed, but replaced: whoever reads it takes no
        # lock, since a finalizer that logs an error may run in the midst of any reading.
        self._kept = {}
        self._number = 0
        self._total = 0
        self._changing = native.Lock()
        self._budget = _Budget()
        self._uncaught = None
        #: The number of the error that has ended the program, where one has.
        self.ended_with = None
        #: Called when something has changed in what is kept.
        self.changed = lambda: None

    @property
    def last_words(self):
        """What ends the process, while it ends, where that is an exception: ``SyntaxError: invalid syntax (app.py:3)``."""
        error = sys.exc_info()[1]
        if error is None or issubclass(type(error), (SystemExit, KeyboardInterrupt)):
            return self._uncaught
        return one_line(error)

    @property
    def watched(self):
        """Whether the program's errors come here now."""
        return _hooks.errors is self

    def begin(self):
        """From here on the program's errors come here."""
        _hooks.lead_to(self)

    def end(self):
        """Puts back what was there before. What has been taken down is kept."""
        _hooks.leave(self)

    def uncaught(self, error):
        """Takes down what has ended a script, which a caller of ours has caught."""
        _hooks.tell(error, 'uncaught')

    def page(self, query):
        """The newest ``count``, newest first, and how many there were in all."""
        kept, total = list(self._kept.values()), self._total
        return {'errors': [one.shown() for one in reversed(kept)][: query['count']], 'total': total}

    def frames_of(self, number):
        """The frames of the traceback of an error, innermost first; none where nothing in the program keeps it.

        It is looked for among all objects by its number and class, and has come the way that was taken down.
        """
        entry = next((one for one in list(self._kept.values()) if one.number == number), None)
        for one in () if entry is None else gc.get_objects():
            if entry.has_number_of(one) and entry.is_of(one, _path(one)):
                frames = [step.tb_frame for step in islice(entries_of(traceback_of(one)), DEEPEST)]
                return frames[::-1]
        return []

    def frames_with(self, name):
        """``price in error 3`` for each frame of the program's own in which that variable was taken down, newest first."""
        for entry in reversed(list(self._kept.values())):
            for frame in reversed(entry.raised['frames']):
                if frame['own'] and any(one['name'] == name for one in frame['locals']):
                    yield '%s in error %d' % (frame['function'].rpartition('.')[2], entry.number)

    def frames_called(self, function):
        """``price in error 3`` for each error with a frame of that function: ``price`` or ``Order.price``; newest first."""
        for entry in reversed(list(self._kept.values())):
            for name in dict.fromkeys(frame['function'] for frame in reversed(entry.raised['frames'])):
                if f'.{name}'.endswith(f'.{function}'):
                    yield '%s in error %d' % (name, entry.number)

    def ends_with(self, error):
        """No code of the program catches it in the main thread, so that the process is about to end."""
        # At a prompt it is shown, and the next line is read.
        if not hasattr(sys, 'ps1'):
            self._uncaught = one_line(error)
            entry = self._kept.get(_key_of(self._kept, error, _path(error)))
            self.ended_with = None if entry is None else entry.number

    def note(self, error, kind, site=None, said=None, where=None, shell=None):
        """Takes one down. ``site`` is where the program spoke of it; one error is often told of in several places.

        ``shell`` is the folder of a shell that has run the code of a person, and whose frames are left out.
        """
        path = _path(error)
        with self._changing:
            entry = self._kept.get(_key_of(self._kept, error, path))
            if entry is not None and entry.is_told_again((kind, site)):
                entry.where = entry.where if where is None else where[0]
                return
        text, sort = where or _request_of(error) or _where()
        known_by = id(type(error)), _lines(error), sort
        whole = self._budget.take(known_by)
        raised = exceptions.still(error, shell=shell) if whole else None
        with self._changing:
            kept = dict(self._kept)
            if not _uncount_cause(kept, error):
                self._total += 1
            before = kept.pop(known_by, None)
            if before is None:
                self._number += 1
            # One that comes again keeps its number, which somebody may have read.
            entry = _Entry(self._number if before is None else before.number, before, kind, error, path, (kind, site))
            if whole or before is None:
                entry.raised, entry.where, entry.said = raised or exceptions.bare(error), text, said
            else:
                entry.raised, entry.where, entry.said = before.raised, before.where, before.said
                entry.shown_at = before.shown_at or before.last
            kept[known_by] = entry
            if len(kept) > KEPT:
                del kept[next(iter(kept))]
            self._kept = kept
        self.changed()


class _Entry:
    """One error, as it was when it last came; ``shown_at`` is when that was, where those since were only counted."""

    __slots__ = (
        'number', 'kind', 'first', 'last', 'times', 'where', 'said', 'raised', 'shown_at', '_object', '_reach', '_sites'
    )  # fmt: skip

    def __init__(self, number, before, kind, error, path, site):
        self.number = number
        self.kind = kind
        self.last = time.time()
        self.first = self.last if before is None else before.first
        self.times = 1 if before is None else before.times + 1
        self.shown_at = None
        self._object = id(error), id(type(error))
        self._reach = len(path), path[:1], path[-1:]
        self._sites = {site}

    def is_told_again(self, site):
        """Whether the program now speaks of its very exception in another place.

        The number of an object is used again: an exception is another one when it comes to a place where this one has
        been.
        """
        if site in self._sites:
            return False
        self._sites.add(site)
        return True

    def has_number_of(self, one):
        return self._object == (id(one), id(type(one)))

    def is_of(self, error, path):
        """Whether it is the exception of this entry: it has that number, and has come that way."""
        length, outermost, innermost = self._reach
        if not self.has_number_of(error) or len(path) < length:
            return False
        return length == 0 or ([path[-length]] == outermost and path[-1:] == innermost)

    def shown(self):
        shown_at = {} if self.shown_at is None else {'shown_at': rfc3339(self.shown_at)}
        return {
            **shown_at,
            'number': self.number,
            'kind': self.kind,
            'first': rfc3339(self.first),
            'last': rfc3339(self.last),
            'times': self.times,
            'where': self.where,
            'said': self.said,
            'error': self.raised,
        }


def _key_of(kept, error, path):
    """What the exception is known by where it has been taken down, whoever spoke of it then."""
    return next((known_by for known_by in reversed(list(kept)) if kept[known_by].is_of(error, path)), None)


def _lines(error):
    """Each file and line of what is shown of its stack."""
    stack, _ = exceptions.stack_of(traceback_of(error))
    return tuple([(file_of(frame.f_code), line) for frame, _, line in stack])


def _uncount_cause(kept, error):
    """Whether what it was raised from has been told of before: that is shown with it now, and counts no more by itself."""
    for cause in exceptions.causes(error):
        known_by = _key_of(kept, cause, _path(cause))
        entry = kept.get(known_by)
        if entry is None:
            continue
        if entry.times == 1:
            del kept[known_by]
        else:
            entry.times -= 1
        return True
    return False


class _Budget:
    """So many in each second, and so many of one place."""

    def __init__(self):
        self._second = 0
        self._taken = 0
        self._taken_of = {}

    def take(self, known_by):
        now = int(time.monotonic())
        if now != self._second:
            self._second, self._taken, self._taken_of = now, 0, {}
        same = self._taken_of.get(known_by, 0)
        if self._taken >= WHOLE_PER_SECOND or same >= SAME_PER_SECOND:
            return False
        self._taken += 1
        self._taken_of[known_by] = same + 1
        return True


def _path(error):
    """The lines that it came by, innermost last. On its way out there come to be more of them, on the outer side."""
    steps = islice(entries_of(traceback_of(error)), DEEPEST)
    return [(id(one.tb_frame.f_code), one.tb_lineno) for one in steps]


def one_line(error):
    """Its class, its message and its place, from what it stores."""
    raised = exceptions.still(error, causes=0)
    name = raised['type']['name'] if raised['type']['module'] == 'builtins' else raised['type']['qualified']
    frames = raised['frames']
    file, line = (frames[-1]['file'], frames[-1]['line']) if frames else (None, None)
    if issubclass(type(error), SyntaxError) and _file_of(error) is not None:
        file, line = _file_of(error), _line_of(error)
    place = '' if file is None else ' (%s:%s)' % (file, line)
    text = '%s: %s%s' % (name, raised['message'], place)
    return ' '.join(text.split())[:LAST_WORDS_CHARS]


# Where an error belongs to: a text for people, and what sort of place that is, by which errors are known again. Two
# orders of one view are of one sort, and so are two workers of a pool.

_NUMBER = re.compile(r'[0-9]+')


def _request_of(error):
    """``request GET /orders/`` where a frame around the error, or of its traceback, serves one."""
    trace = traceback_of(error)
    around = outwards(None if trace is None else trace.tb_frame.f_back)
    frames = islice(chain(around, (one.tb_frame for one in entries_of(trace))), REQUEST_FRAMES)
    return next((told for told in map(frameworks.request_of, frames) if told is not None), None)


def _where():
    """The task or the thread that this code runs in."""
    loop = running_loop()
    if loop is not None:
        compiled = sys.modules.get('_asyncio')
        tasks = getattr(sys.modules.get('asyncio.tasks'), '_current_tasks', None)
        task = tasks.get(loop) if type(tasks) is dict else None
        if task is None and sys.version_info >= (3, 14):
            # There the compiled loop keeps it with the thread.
            current = getattr(compiled, 'current_task', None)
            task = current(loop) if type(current) is types.BuiltinFunctionType else None
        if type(task) is getattr(compiled, 'Task', None):
            function = task.get_coro()
            code = function.cr_code if type(function) is types.CoroutineType else None
            sort = None if code is None else (file_of(code), code.co_firstlineno)
            return 'task %s' % task.get_name()[:SAID_CHARS], ('task', sort)
    return _thread(threading.current_thread())


def _is_over():
    """Whether the main thread has left the program, so that the process is about to end; else somebody has called a hook."""
    if any(frame.f_code.co_name == '<module>' for frame in outwards(sys._getframe())):
        return False
    return threading.current_thread() is threading.main_thread()


def _thread(thread):
    name = None if thread is None else thread_name(thread)
    if name is None:
        return 'a thread', ('thread', None)
    return 'thread %s' % name, ('thread', _NUMBER.sub('', name))


class _Hooks:
    """What stands in the program's hooks, once: they lead to whoever listens now, and to what stood there before.

    Each hook knows by itself what was there before it, and works for as long as the process: somebody may have kept it,
    to call it from one of their own or to put it back.
    """

    def __init__(self):
        #: The errors of the guest that listens now; None where none does.
        self.errors = None
        self._at_work = threading.local()
        # By its place: the hook that has been put there and not taken out, and what was there before.
        self._placed = {}

    def lead_to(self, errors):
        self.errors = errors
        for place, there, make, put in self._places():
            hook, before = self._placed.get(place, (None, None))
            # One that somebody has put on top of ours leads to it already.
            if hook is None or (there is before and there is not hook):
                made = make(there)
                self._placed[place] = made, there
                put(made)
        frameworks.begin(self.tell)

    def leave(self, errors):
        """What others have put on top of ours stays, and finds ours doing nothing."""
        if self.errors is errors:
            self.errors = None
        if self.errors is not None:
            return
        for place, there, _, put in self._places():
            hook, before = self._placed.get(place, (None, None))
            if hook is not None and there is hook:
                # A daemon may detach while the program stops listening.
                self._placed.pop(place, None)
                put(before)
        frameworks.end()

    def _places(self):
        """Of each hook: its place, what stands there now, what makes ours for that, and what puts one there."""
        for place, module, name, make in (
            ('sys', sys, 'excepthook', self._uncaught),
            ('threading', threading, 'excepthook', self._uncaught_in_thread),
            ('unraisable', sys, 'unraisablehook', self._unraisable),
            *((name, traceback, name, self._printed(name)) for name in _PRINTERS),
        ):
            yield place, getattr(module, name), make, functools.partial(setattr, module, name)
        yield 'record', logging.getLogRecordFactory(), self._logged, logging.setLogRecordFactory

    def _stands(self, place, hook):
        """Whether a hook of ours is there yet, and not just called by somebody who has kept it."""
        return self._placed.get(place, (None, None))[0] is hook

    def _uncaught(self, before):
        def excepthook(kind, error, trace):
            if self._stands('sys', excepthook) and not issubclass(type(error), KeyboardInterrupt):
                self.tell(error, 'uncaught', is_last=_is_over())
            before(kind, error, trace)

        return excepthook

    def _uncaught_in_thread(self, before):
        def excepthook(args):
            if self._stands('threading', excepthook) and not issubclass(type(args.exc_value), SystemExit):
                self.tell(args.exc_value, 'uncaught', where=lambda: _thread(args.thread))
            before(args)

        return excepthook

    def _unraisable(self, before):
        def unraisablehook(args):
            error = args.exc_value
            if self._stands('unraisable', unraisablehook) and issubclass(type(error), Exception):
                self.tell(error, 'unraisable', said=args.err_msg if type(args.err_msg) is str else None)
            before(args)

        return unraisablehook

    def _printed(self, place):
        """For the functions by which programs print the traceback of what they have caught, and log nothing."""

        def make(before):
            @functools.wraps(before)
            def printer(*args, **named):
                if self._stands(place, printer):
                    caller = sys._getframe(1)
                    error = sys.exc_info()[1] if place == 'format_exc' else _printed_error(args, named)
                    # What is logged has been told when its record was made; and what we print is ours.
                    ours = caller.f_globals is vars(logging) or native.is_ours()
                    if not ours and issubclass(type(error), Exception):
                        self.tell(error, 'printed', site=(file_of(caller.f_code), caller.f_lineno))
                return before(*args, **named)

            return printer

        return make

    def _logged(self, before):
        def make_record(*args, **named):
            record = before(*args, **named)
            exc_info = given('exc_info', 6, args, named)
            if self._stands('record', make_record) and type(exc_info) is tuple and len(exc_info) == 3:
                name = given('name', 0, args, named)
                name = name if type(name) is str else None
                message, line = given('msg', 4, args, named), given('lineno', 3, args, named)
                said = _worded(message, given('args', 5, args, named)) if type(message) is str else None
                site = name, line if type(line) is int else None
                more = {}
                if name == 'asyncio':
                    caller = sys._getframe(1)
                    more = {'where': lambda: _task_in(said), 'evaluation': lambda: _evaluation_of_task(caller)}
                self.tell(exc_info[1], 'logged', site=site, said=said, **more)
            return record

        return make_record

    def tell(self, error, kind, where=None, is_last=False, evaluation=CURRENT.get, **told):
        """Hands it on. A fault of ours is told once, and ends our listening; the program goes on as without us.

        ``evaluation`` finds the one that the error belongs to, if it is one of a caller's.
        """
        errors = self.errors
        if errors is None or getattr(self._at_work, 'now', False) or not issubclass(type(error), BaseException):
            return
        self._at_work.now = True
        try:
            if evaluation() is not None:
                return
            errors.note(error, kind, where=None if where is None else where(), **told)
            if is_last:
                errors.ends_with(error)
        except (RecursionError, MemoryError):
            # It was raised where there is too little left for us, too.
            pass
        except Exception:
            native.report_fault('taking down an error of the program')
            self.errors = None
        finally:
            self._at_work.now = False


#: ``traceback.print_exc`` calls the first of them, and all others that print an exception do.
_PRINTERS = ('print_exception', 'format_exc')


def _printed_error(args, named):
    """What ``print_exception`` was given: the exception, or its class, itself and its traceback."""
    given = [*args[1:2], named.get('value'), *args[:1], named.get('exc')]
    return next((one for one in given if issubclass(type(one), BaseException)), None)


def _worded(message, given):
    """The message that is logged, without running code of the program: what is no plain value is told by its type."""
    if type(given) is tuple and given:
        try:
            message %= tuple(one if type(one) in _PLAIN else '<%s>' % type_facts(one)['qualified'] for one in given)
        except Exception:
            # It is logged as it was written, too: with a mapping, or by mistake.
            pass
    return message[:SAID_CHARS]


def _task_in(said):
    found = None if said is None else _TASK.match(said)
    # Its function is the outermost of its stack.
    return None if found is None else ('task %s' % found.group(1), ('task', None))


def _evaluation_of_task(frame):
    """What the task belongs to that asyncio speaks of, which it may do in the midst of anything: of a collection, mostly."""
    task = ABSENT
    for one in islice(outwards(frame), LOGGING_FRAMES):
        if one.f_code.co_name == 'default_exception_handler':
            told = variables(one).get('context')
            task = stored(told, 'future') if type(told) is dict else ABSENT
            break
    if type(task) is getattr(sys.modules.get('_asyncio'), 'Task', None):
        # Before Python 3.12, a task does not tell its context.
        for one in gc.get_referents(task):
            if type(one) is contextvars.Context:
                return one.get(CURRENT)
    return CURRENT.get()


_hooks = _Hooks()
