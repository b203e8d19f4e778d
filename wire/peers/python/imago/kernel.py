"""One kernel: what it is made of, and the session with the daemon that is connected."""

import os
import sys
import types

from imago import native
from imago.clock import Clock
from imago.codec import encodings
from imago.connection import Limits
from imago.evaluator import Evaluator
from imago.handles import Handles
from imago.interrupts import Interrupts
from imago.link import Link
from imago.native import time
from imago.output import Output
from imago.service import ABILITIES, Service
from imago.tracing import Tracing
from imago.version import PROTOCOL, __version__
from imago.workers import Workers

#: Seconds between two notes of errors to the daemon.
_ERRORS_AGAIN = 0.2

# The link as the rest of a kernel sees it: there or not, and another one after each loss.


class Session:
    """At most one link at a time. While there is none, notes are dropped, and who asks is told why not."""

    def __init__(self):
        #: The link to the daemon, or ``None`` while there is none.
        self.link = None
        #: Set once there has been a link.
        self.connected = native.Event()
        #: Called with each link that is over, once it is.
        self.at_end = []

    def begin(self, channel, handshake, hello, serve):
        """Ends a handshake that has proved both ends. From here on there is a link; ``serve`` is for running it."""
        welcome, frames = handshake.greet(hello)
        self.link = Link(channel, frames, encodings()[welcome['encoding']], Limits(welcome), serve)
        self.connected.set()
        return self.link

    def serve(self, link):
        """Serves on a link that ``begin`` made until it is over. Returns why, as ``Link.run`` does."""
        try:
            return link.run()
        finally:
            if self.link is link:
                self.link = None
            for ended in self.at_end:
                ended(link)

    def note(self, name, params):
        """Tells the daemon something, if it is there and keeps up. Returns whether it was told."""
        link = self.link
        return link is not None and link.note(name, params)

    def ask(self, call, prompt, secret):
        """Asks whoever started ``call`` for a line, and waits. Raises ``EOFError`` saying why there is none."""
        link = self.link
        if call is None:
            raise EOFError('nobody can be asked for input: no evaluation is running; pass the text as a value instead')
        if link is None:
            raise EOFError('nobody can be asked for input: the link to the daemon is down')
        answers = native.SimpleQueue()
        question = {'type': 'stdin', 'prompt': prompt, 'secret': secret}
        give_up = link.ask('ask', {'call': call, 'question': question}, lambda *answer: answers.put(answer))
        try:
            while True:
                try:
                    # In short waits: an interrupt of a thread other than the main one cannot break a long one.
                    result, failure = answers.get(timeout=0.2)
                    break
                except native.Empty:
                    continue
        except BaseException:
            give_up()
            raise
        if failure is None and isinstance(result, dict) and isinstance(result.get('answer'), str):
            return result['answer']
        why = failure.get('message') if isinstance(failure, dict) else 'the daemon gave no answer'
        raise EOFError('input was asked for, and not answered: %s' % why)

    def close(self):
        link = self.link
        if link is not None:
            link.close()

    def hang_up(self):
        link = self.link
        if link is not None:
            link.hang_up()

    def drop(self):
        """In a forked child: lets go of the parent's link without a word on it."""
        link, self.link = self.link, None
        if link is not None:
            link.drop()


# The parts that every kernel has, tied together.
#
# ``boot.py`` adds what a kernel has that the daemon started; ``guest.py`` what one has that lives in a program which
# was there before.


class Kernel:
    """One life of an image: an epoch, what is remembered in it, and what can be asked of it."""

    # What a kernel of another language has in the place of these.
    language = 'python'
    evaluator_of = Evaluator
    service_of = Service

    def __init__(self, namespace, stop=None, place=None, detach=None):
        """``namespace`` is ``None`` for that of ``__main__``, whichever module that is when it is asked for.

        ``stop`` ends the process when the daemon says so; without it, that is refused. ``place``: ``places.py``.

        ``detach`` takes out of a program what is only there for the daemon that lets go of it.
        """
        self.epoch = os.urandom(4).hex()
        self.clock = Clock()
        self.session = Session()
        self.output = Output(self.clock, self.session.note)
        self.interrupts = Interrupts(self.clock)
        handles = Handles(self.epoch)
        note = self.session.note
        self.evaluator = self.evaluator_of(namespace, self.output, self.interrupts, self.clock, handles, place, note)
        self._workers = Workers()
        self._tracing = Tracing(handles, self.clock, self.session)
        self.session.at_end.append(self._tracing.lost)
        self._service = self.service_of(
            self.evaluator, self._workers, self.clock, namespace, handles, self._tracing, stop, detach
        )
        self.serve = self._service.serve

    def ask(self, prompt, secret):
        """Asks whoever started the evaluation that runs for a line. Raises ``EOFError`` where there is none."""
        running = self.evaluator.running
        # What was printed before the question is seen before it: the prompt itself is often among it.
        self.output.flush()
        return self.session.ask(running.call if running else None, prompt, secret)

    def follow_errors(self, errors):
        """Has the daemon told that the program noted an error, at most a few times a second: it looks at them later on."""
        keep, told = errors.changed, [-_ERRORS_AGAIN]

        def changed():
            keep()
            now = time.monotonic()
            if now - told[0] >= _ERRORS_AGAIN:
                told[0] = now
                self.session.note('errors', {})

        errors.changed = changed

    def rest(self):
        """The link is over: what only served it ends."""
        self._workers.stop()

    def close(self):
        """Ends the link, and the threads that were made here, each once it has nothing left to do."""
        self.session.close()
        self._tracing.close()
        self.evaluator.stop()
        self._workers.stop()
        self.clock.stop()

    def hello(self, **more):
        """Who this is, as the daemon is told it."""
        return {
            'role': 'kernel',
            'protocol': PROTOCOL,
            'language': self.language,
            'implementation': self.implementation(),
            'version': __version__,
            'pid': os.getpid(),
            'epoch': self.epoch,
            'abilities': self.abilities(),
            'encodings': list(encodings()),
            **more,
        }

    def implementation(self):
        return implementation()

    def abilities(self):
        without = set() if self.evaluator.errors.of_program else {'errors'}
        more = [] if self.evaluator.holder is None else ['hold']
        return [*(name for name in ABILITIES if name not in without), *more]


def import_lazy():
    """Imports what the modules that Imago uses import lazily, as they may since 3.15: a look would do so later."""
    lazy, done = getattr(types, 'LazyImportType', None), False
    modules = [module for name, module in list(sys.modules.items()) if lazy and name.partition('.')[0] == 'imago']
    for module in modules:
        for name, value in list(module.__dict__.items()):
            if type(value) is lazy:
                try:
                    value = getattr(module, name)
                    done = True
                except ImportError:
                    continue
            if type(value) is types.ModuleType and value not in modules:
                modules.append(value)
    if done:
        # What was imported may import lazily itself.
        import_lazy()


def implementation():
    """For people: ``CPython 3.11.7``."""
    # As ``platform`` has both, which takes as long to import as ten modules of ours.
    name = {'cpython': 'CPython', 'pypy': 'PyPy'}.get(sys.implementation.name, sys.implementation.name)
    return '%s %s' % (name, sys.version.split()[0])
