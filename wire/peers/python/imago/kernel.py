"""The parts that every kernel has, tied together.

``boot.py`` adds what a kernel has that the daemon started; ``guest.py`` what one has that lives in a program which
was there before.
"""

import os
import platform

from imago import PROTOCOL, __version__
from imago.clock import Clock
from imago.codec import encodings
from imago.evaluator import Evaluator
from imago.handles import Handles
from imago.interrupting import Interrupts
from imago.looks import ABILITIES
from imago.output import Output
from imago.service import Service
from imago.session import Session
from imago.tracing import Tracing
from imago.workers import Workers


class Kernel:
    """One life of an image: an epoch, what is remembered in it, and what can be asked of it."""

    def __init__(self, namespace, stop=None, place=None):
        """``stop`` ends the process when the daemon says so; without it, that is refused. ``place``: ``places.py``."""
        self.epoch = os.urandom(4).hex()
        self.clock = Clock()
        self.session = Session()
        self.output = Output(self.clock, self.session.note)
        self.interrupts = Interrupts(self.clock)
        handles = Handles(self.epoch)
        note = self.session.note
        self.evaluator = Evaluator(namespace, self.output, self.interrupts, self.clock, handles, place, note)
        self._workers = Workers()
        self._tracing = Tracing(handles, self.clock, self.session)
        self.session.at_end.append(self._tracing.lost)
        self._service = Service(
            self.evaluator, self.interrupts, self._workers, self.clock, namespace, handles, self._tracing, stop
        )
        self.serve = self._service.serve

    def ask(self, prompt, secret):
        """Asks whoever started the evaluation that runs for a line. Raises ``EOFError`` where there is none."""
        running = self.evaluator.running
        # What was printed before the question is seen before it: the prompt itself is often among it.
        self.output.flush()
        return self.session.ask(running.call if running else None, prompt, secret)

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
            'language': 'python',
            'implementation': implementation(),
            'version': __version__,
            'pid': os.getpid(),
            'epoch': self.epoch,
            'abilities': ABILITIES if self.evaluator.holder is None else [*ABILITIES, 'hold'],
            'encodings': list(encodings()),
            **more,
        }


def implementation():
    """For people: ``CPython 3.11.7``."""
    return '%s %s' % (platform.python_implementation(), platform.python_version())
