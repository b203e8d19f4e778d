"""Whom an engine and a host speak to, in tests: a listener that keeps what it hears, and one call of the daemon."""

import contextlib
import threading

from imago.codec import encodings


class RecordingListener:
    """A listener. `reply` gives the line for a prompt; without it nobody can be asked."""

    shield = contextlib.nullcontext()

    def __init__(self, reply=None):
        self._reply = reply
        #: What was printed, and the name and text of each message, in order.
        self.said = []
        self.prompts = []

    @property
    def order(self):
        """What was printed, and of each message its name."""
        return [one if isinstance(one, str) else one[0] for one in self.said]

    def printed(self, text):
        self.said.append(text)

    def message(self, name, text):
        self.said.append((name, text))

    def ask(self, prompt):
        self.prompts.append(prompt)
        if self._reply is None:
            raise EOFError("nobody")
        return self._reply(prompt)


class Served:
    """One call of the daemon, with the first answer to it."""

    def __init__(self):
        self.granted, self.spent, self.owner = 10**12, 0, None
        self.answered = threading.Event()
        self.answer = None

    def result(self, result, before=()):
        if not self.answered.is_set():
            self.answer = result
            self.answered.set()
        return True

    def fail(self, code, message):
        return self.result({"type": "fault", "code": code, "message": message})

    def event(self, event):
        return encodings()["json"].encode(event)

    def post(self, bodies):
        pass
