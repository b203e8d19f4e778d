"""The user's program, run first and as ``__main__``, in the image that stays live after it, or beside it."""

import importlib.machinery
import io
import os
import sys
import threading

from imago import exceptions
from imago.children import end_child

#: Seconds for which evaluations wait for the script to return, before they run beside it.
GRACE = 1.0


class Script:
    def __init__(self, path, args):
        self._path = os.path.abspath(path)
        self._args = args
        self._returned = threading.Event()
        self._error = None

    def run(self, evaluator, interrupts):
        """Runs the program to its end. If that takes long, evaluations meanwhile run on a thread of their own."""
        namespace = sys.modules['__main__'].__dict__
        self._prepare(namespace)
        aside = threading.Thread(target=self._serve_aside, args=(evaluator,), name='imago-eval', daemon=True)
        aside.start()
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
        self._report(interrupts.guard)
        self._returned.set()
        evaluator.take_over(aside)

    def _serve_aside(self, evaluator):
        if not self._returned.wait(GRACE):
            evaluator.run()

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

    def _report(self, guard):
        """Tells how the program ended, where that was not by reaching its last line."""
        error, self._error = self._error, None
        if error is None:
            return
        if not isinstance(error, SystemExit):
            sys.stderr.write(exceptions.text(error, guard))
        elif error.code not in (None, 0):
            name = os.path.basename(self._path)
            sys.stderr.write('imago: %s ended with %r; its image stays live\n' % (name, error.code))
