"""The link over time: connected, lost, connected again with the same secret, while everything else goes on."""

import queue
import sys
import threading

from imago.codec import encodings
from imago.handshake import Limits, NotTrusted, Refused, connect, open_kernel
from imago.link import Link

#: Seconds before the first try to connect again, by how much that grows, and how far.
WAIT = 0.25
GROWTH = 1.6
LONGEST_WAIT = 5.0


class Session:
    def __init__(self, address, secret, hello, ending):
        self._address = address
        self._secret = secret
        self._hello = hello
        self._ending = ending
        self._link = None
        self._complained = False
        self.connected = threading.Event()
        self.serve = None
        self.on_refused = None

    def run(self):
        """Connects and serves, again and again, until the process ends or the daemon refuses it."""
        wait = WAIT
        while not self._ending.is_set():
            try:
                link = self._connect()
            except Refused as refused:
                self.on_refused(refused)
                return
            except (NotTrusted, OSError, ValueError) as error:
                self._complain(error)
            else:
                wait = WAIT
                self._link = link
                self.connected.set()
                broken = link.run()
                self._link = None
                if broken is not None and not self._ending.is_set():
                    self._complain(broken)
            self._ending.wait(wait)
            wait = min(wait * GROWTH, LONGEST_WAIT)

    def note(self, name, params):
        """Tells the daemon something, if it is there and keeps up. Returns whether it was told."""
        link = self._link
        return link is not None and link.note(name, params)

    def ask(self, call, prompt, secret):
        """Asks whoever started ``call`` for a line, and waits. Raises ``EOFError`` saying why there is none."""
        link = self._link
        if call is None:
            raise EOFError('nobody can be asked for input: no evaluation is running; pass the text as a value instead')
        if link is None:
            raise EOFError('nobody can be asked for input: the link to the daemon is down')
        answers = queue.SimpleQueue()
        question = {'type': 'stdin', 'prompt': prompt, 'secret': secret}
        give_up = link.ask('ask', {'call': call, 'question': question}, lambda *answer: answers.put(answer))
        try:
            while True:
                try:
                    # In short waits: an interrupt of a thread other than the main one cannot break a long one.
                    result, failure = answers.get(timeout=0.2)
                    break
                except queue.Empty:
                    continue
        except BaseException:
            give_up()
            raise
        if failure is None and isinstance(result, dict) and isinstance(result.get('answer'), str):
            return result['answer']
        why = failure.get('message') if isinstance(failure, dict) else 'the daemon gave no answer'
        raise EOFError('input was asked for, and not answered: %s' % why)

    def close(self):
        link = self._link
        if link is not None:
            link.close()

    def drop(self):
        link, self._link = self._link, None
        if link is not None:
            link.drop()

    def _connect(self):
        connection = connect(self._address)
        try:
            welcome, frames = open_kernel(connection, self._secret, self._hello)
            limits = Limits(welcome)
        except BaseException:
            connection.close()
            raise
        return Link(connection, frames, encodings()[welcome['encoding']], limits, self.serve)

    def _complain(self, error):
        """Once: a daemon that restarts is tried for long."""
        if not self._complained:
            self._complained = True
            sys.__stderr__.write('imago: no link to the daemon: %s\n' % error)
            sys.__stderr__.flush()
