"""``%load_ext imago``: an agent beside the person who works in a notebook or in an IPython terminal.

Code is evaluated in the main thread, among the person's own names, while no cell runs there: in a notebook between
the callbacks of the kernel's event loop, in a terminal while the prompt waits for a key. What the person runs is in
the history as theirs; numbers, ``_``, ``In`` and ``Out`` stay the person's alone.

What an agent's code displays goes to the agent. The notebook shows what the code gives to ``imago.show``, below the cell
that the person ran last.
"""

import os
import re
import sys
import threading

from imago import displays, native
from imago.coroutines import running_loop
from imago.exceptions import still
from imago.history import RESULT_CHARS
from imago.listening import listen
from imago.looking import static_text
from imago.looking.frames import outwards
from imago.native import time
from imago.places import Through, over

#: How soon it is looked again whether the prompt waits, in seconds; only while there is something to evaluate.
AGAIN = 0.05

_FIGURE = ('matplotlib.figure', 'Figure')
_COLOURS = re.compile(r'\x1b\[[0-9;]*m')

_loaded = {}


def load(shell, otherwise=None):
    """Listens beside the person in a shell. Returns the listener, which is ``otherwise`` called where no notebook names it."""
    if id(shell) in _loaded:
        return _loaded[id(shell)][0]
    notebook = running_loop() is not None
    place = 'loop' if notebook else AtPrompt()
    listener = listen(_name(shell, notebook, otherwise), evaluate=place, namespace=shell.user_ns)
    cells = Cells(listener.evaluator)
    shown = Shown(shell, listener.evaluator)
    shell.events.register('pre_run_cell', cells.begin)
    shell.events.register('post_run_cell', cells.end)
    _loaded[id(shell)] = listener, cells, shown
    return listener


def unload(shell):
    loaded = _loaded.pop(id(shell), None)
    if loaded is not None:
        listener, cells, shown = loaded
        shell.events.unregister('pre_run_cell', cells.begin)
        shell.events.unregister('post_run_cell', cells.end)
        shown.close()
        listener.close()


class Cells:
    """What the person runs, noted for whoever asks what was evaluated, and by whom."""

    def __init__(self, evaluator):
        self._shell = os.path.dirname(sys.modules['IPython'].__file__) + os.sep
        self._history = evaluator.history
        self._errors = evaluator.errors
        self._entry = None
        self._began = 0.0
        self._errors.watch('cells of the person')

    def begin(self, info):
        self._began = time.perf_counter()
        self._entry = self._history.add('the person', info.raw_cell, 'running')

    def end(self, result):
        entry, self._entry = self._entry, None
        if entry is None:
            # The cell that loads us has begun before.
            return
        entry.elapsed_ms = round((time.perf_counter() - self._began) * 1000, 3)
        entry.who = 'the person, In [%s]' % result.execution_count if result.execution_count else entry.who
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            raised = still(error, shell=self._shell)
            entry.result = '%s: %s' % (raised['type']['name'], raised['message'])
            self._errors.note(raised, who=entry.who)
            self._note(error, result.execution_count)
        elif result.result is not None:
            entry.result = static_text(result.result, RESULT_CHARS)
        stopped = error is not None and type(error) is KeyboardInterrupt
        entry.outcome = 'interrupted' if stopped else 'done' if error is None else 'raised'

    def _note(self, error, number):
        """No code of a cell has caught it, which makes it an error of the program, too."""
        of_program = self._errors.of_program
        if of_program is not None and not issubclass(type(error), (KeyboardInterrupt, SystemExit)):
            where = 'cell In [%s]' % number if number else 'a cell', 'cell'
            of_program.note(error, 'uncaught', where=where, shell=self._shell)


class Shown:
    """What evaluated code displays in this shell, which is for whoever evaluates, and its magics.

    The kernel of a notebook asks hooks of the thread about each display. Cells of the person and evaluations share the
    main thread, and where one awaits, the other goes on: whose a display is, its context says.
    """

    def __init__(self, shell, evaluator):
        self._shell = shell
        self._evaluator = evaluator
        self._publisher = shell.display_pub if hasattr(shell.display_pub, 'register_hook') else None
        evaluator.compiler.transform = shell.transform_cell
        if self._publisher is not None:
            self._publisher.register_hook(self._hook)
            shell.display_formatter.ipython_display_formatter.for_type_by_name(*_FIGURE, self._figure)
            evaluator.displays.front = self._front
            self._shown = shell._showtraceback
            shell._showtraceback = self._traceback

    def close(self):
        self._evaluator.compiler.transform = self._evaluator.displays.front = None
        if self._publisher is not None:
            self._publisher.unregister_hook(self._hook)
            self._shell.display_formatter.ipython_display_formatter.pop('.'.join(_FIGURE), None)
            if self._shell.__dict__.get('_showtraceback') == self._traceback:
                del self._shell._showtraceback

    def _hook(self, message):
        displayed = displays.present()
        if displayed is None or displayed.to_front:
            return message
        if message.get('msg_type') == 'display_data':
            self._evaluator.displays.bundle(displayed, message['content']['data'], _displayed_object())
        return None

    def _figure(self, figure):
        """In the place of the shell's own drawing, which knows no bound. Elsewhere the shell goes on without."""
        displayed = displays.present()
        if displayed is None or displayed.to_front:
            raise NotImplementedError
        self._evaluator.displays.figure(displayed, figure)

    def _traceback(self, kind, error, lines):
        """The shell shows an error that it has caught, such as one of a display hook, beside the cells and not by the hooks."""
        displayed = displays.present()
        if displayed is None or displayed.to_front:
            self._shown(kind, error, lines)
        else:
            sys.stderr.write(_COLOURS.sub('', '\n'.join(lines)) + '\n')

    def _front(self, value):
        sys.modules['IPython.core.display_functions'].display(value)


def _displayed_object():
    """What ``display`` was given, as a tuple, where it is on the stack; else ``None``."""
    code = getattr(getattr(sys.modules.get('IPython.core.display_functions'), 'display', None), '__code__', None)
    shown = next((frame for frame in outwards(sys._getframe(1)) if frame.f_code is code), None)
    return None if shown is None or 'obj' not in shown.f_locals else (shown.f_locals['obj'],)


class AtPrompt(Through):
    """The main thread of a terminal, in the event loop of its prompt. That loop ends with each line that is entered.

    Awaits therefore run on a loop of ours, which goes on in a thread of its own.
    """

    def __init__(self):
        super().__init__(self._at_prompt)
        self._loop = None

    async def wait(self, coroutine):
        if self._loop is None:
            self._loop = _looping()
        return await over(self._loop, coroutine)

    def _at_prompt(self, step):
        once = _Once(step)
        while not once.begun:
            loop = _loop_of_prompt()
            if loop is not None:
                try:
                    loop.call_soon_threadsafe(once)
                except RuntimeError:
                    # It has just been closed.
                    loop = None
            # A loop that ends with its line may leave behind what it was given; the next one is given it again.
            while not once.wait(AGAIN) and loop is not None and loop.is_running():
                pass


def _loop_of_prompt():
    """The event loop in which the main thread waits at a prompt now, or ``None``.

    It is read off the stack: a plain terminal has another prompt than one that can move its cursor, and a cell that
    runs a loop of its own has none.
    """
    import asyncio

    run = asyncio.BaseEventLoop.run_forever.__code__
    prompt = sys.modules['prompt_toolkit.application.application'].Application.run.__code__
    loop = None
    for frame in outwards(sys._current_frames().get(threading.main_thread().ident)):
        if frame.f_code is run and loop is None:
            loop = frame.f_locals.get('self')
        elif frame.f_code is prompt:
            return loop
    return None


class _Once:
    """A step that is put in several places and runs in the first of them."""

    def __init__(self, step):
        self._step = step
        self._lock = native.Lock()
        self._event = native.Event()
        self.begun = False

    def __call__(self):
        with self._lock:
            if self.begun:
                return
            self.begun = True
        self._event.set()
        self._step()

    def wait(self, seconds):
        return self._event.wait(seconds)


def _looping():
    """An event loop that runs in a thread of its own, for as long as the process."""
    import asyncio

    loop = asyncio.new_event_loop()

    def run():
        asyncio.set_event_loop(loop)
        loop.run_forever()

    native.start_for_program(run, 'imago-await', native.blocked_signals())
    return loop


def _name(shell, notebook, otherwise=None):
    """The notebook's own name where the server or the editor tells it."""
    told = os.environ.get('JPY_SESSION_NAME') or shell.user_ns.get('__vsc_ipynb_file__') or ''
    stem = os.path.splitext(os.path.basename(told))[0] if type(told) is str else ''
    name = re.sub(r'[^A-Za-z0-9._-]+', '-', stem).strip('._-')[:64]
    kind = 'notebook' if notebook else 'ipython'
    # A number would mean the process of that number.
    return '%s-%s' % (kind, name[:50]) if name.isdigit() else name or otherwise or kind
