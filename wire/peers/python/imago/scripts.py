"""The user's program, run first and as ``__main__``, in the image that stays live after it, or beside it."""

import importlib.machinery
import io
import os
import sys
import threading

from imago import exceptions, native
from imago.children import end_child
from imago.native import report_fault

#: Seconds for which evaluations wait for the script to return, before they run beside it.
GRACE = 1.0
#: How soon a daemon that is behind or away is told again what became of the script, in seconds.
AGAIN = 0.25


class Script:
    """One run of the program at ``path``, on the main thread. ``fate`` is told what becomes of it."""

    def __init__(self, path, args, fate):
        self._path = os.path.abspath(path)
        self._args = args
        self._fate = fate
        self._returned = native.Event()
        self._error = None

    def run(self, evaluator, interrupts):
        """Runs the program to its end. If that takes long, evaluations meanwhile run on a thread of their own."""
        namespace = sys.modules['__main__'].__dict__
        self._prepare(namespace)
        aside = native.Event()
        threading.Thread(target=self._serve_aside, args=(evaluator, aside), name='imago-eval', daemon=True).start()
        parent = os.getpid()
        try:
            interrupts.script = True
            with io.open_code(self._path) as file:
                source = file.read()
            exec(evaluator.compiler.script(source, self._path), namespace)
        except BaseException as error:
            interrupts.script = False
            self._error = error
        interrupts.script = False
        if os.getpid() != parent:
            end_child(self._error, lambda error: exceptions.text(error, interrupts.guard))
        self._report(interrupts, evaluator.errors)
        self._returned.set()
        evaluator.place.take_over(aside)

    def _serve_aside(self, evaluator, ended):
        if not self._returned.wait(GRACE):
            self._fate.tell('running')
            evaluator.run()
        ended.set()

    def _prepare(self, namespace):
        sys.argv[:] = [self._path, *self._args]
        here = os.path.dirname(os.path.realpath(self._path))
        if sys.path and sys.path[0] == '':
            sys.path[0] = here
        else:
            sys.path.insert(0, here)
        namespace.update(
            __file__=self._path,
            __cached__=None,
            __loader__=importlib.machinery.SourceFileLoader('__main__', self._path),
        )

    def _report(self, interrupts, errors):
        """Tells how the program ended; where that was not by reaching its last line, on standard error too.

        One that was made to leave because the whole image ends has neither returned nor failed.
        """
        error, self._error = self._error, None
        guard = interrupts.guard
        if interrupts.leaving and (error is None or isinstance(error, SystemExit)):
            return
        failed = error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0))
        if not failed:
            self._fate.tell('returned')
            return
        message = type(error).__name__
        try:
            message = exceptions.one_line(error, self._path, guard)
            errors.of_program.uncaught(error)
            if isinstance(error, SystemExit):
                name = os.path.basename(self._path)
                sys.stderr.write('imago: %s ended with %r; its image stays live\n' % (name, error.code))
            else:
                sys.stderr.write(exceptions.text(error, guard))
            # What it said last is seen before its end is told.
            sys.stderr.flush()
        except BaseException as unsaid:
            # The program may have put anything in the place of standard error, and into its exception.
            report_fault('the report of a script, with %s,' % type(unsaid).__name__)
        self._fate.tell('failed', message)


class Fate:
    """What became of the script, told to the daemon in order: ``running`` perhaps, then how it ended."""

    def __init__(self, note, clock):
        self._note = note
        self._clock = clock
        self._untold = []
        self._ended = False
        self._telling = native.Lock()

    def tell(self, state, message=None):
        with self._telling:
            if self._ended:
                return
            self._ended = state != 'running'
            self._untold.append({'state': state, 'message': message})
        self._speak()

    def _speak(self):
        with self._telling:
            while self._untold:
                if not self._note('script', self._untold[0]):
                    self._clock.after(AGAIN, self._speak)
                    return
                del self._untold[0]
