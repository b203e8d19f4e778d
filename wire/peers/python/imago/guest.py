"""A kernel in a program that was there before: what ``boot.py`` is to one that the daemon started.

The program is neither signalled nor ended, nothing of it is replaced but its standard streams while code is
evaluated in it, and while nobody asks, nothing of ours runs in it.
"""

import os

from imago import family, native
from imago.connection import Handshake, NotTrusted, Refused
from imago.error_record import Record, without_secrets
from imago.kernel import Kernel, implementation, import_lazy
from imago.listener import Acceptor, Announcement, announced_by, program, started
from imago.looking.fields import own_field
from imago.program_errors import ProgramErrors
from imago.streams import Borrowed

#: Seconds that a daemon which holds the link has to say that it is there, once another one wants it.
STILL_THERE = 2.0

_guests = []


class Guest:
    """One life of a listening program, from ``open`` to ``close``: one epoch, however often daemons come and go."""

    def __init__(self, name, namespace, place, port=None, key=None, errors=True):
        """``place`` is one of ``places.py``. ``port`` makes it loopback TCP; with a ``key`` the secret is not told.

        ``errors`` says whether the program's own errors are taken down.
        """
        self.name = name
        self._errors = ProgramErrors()
        self._takes_errors = errors
        import_lazy()
        self.kernel = kernel = Kernel(namespace, place=place, detach=self._errors.end)
        self._secret = key or os.urandom(32).hex()
        self._is_told = key is None
        self._announcement = Announcement()
        self._record = Record(self._errors, kernel.clock)
        self._errors.changed = self._record.noted
        kernel.follow_errors(self._errors)
        self.address = 'unix:' + self._announcement.socket if port is None else 'tcp:127.0.0.1:%d' % port
        self._acceptor = None
        self._entering = native.Lock()
        self._borrowed = Borrowed(kernel.output, kernel.interrupts.shield, kernel.ask)
        kernel.evaluator.on_begin = self._borrowed.begin
        kernel.evaluator.on_end = self._give_back
        if errors:
            kernel.evaluator.errors.of_program = self._errors
        suspensions = kernel.evaluator.suspensions
        suspensions.heard = lambda: kernel.session.link
        kernel.session.at_end.append(lambda link: suspensions.lose(link, 'The link to the daemon was lost.'))

    def open(self):
        """Listens, and then makes it known. Raises ``OSError`` saying what is in the way."""
        self._announcement.prepare()
        self._acceptor = Acceptor(self.address, self._admit, self._announce)
        # Before anybody can come in, who would be taken for one that came as it was closed.
        _guests.append(self)
        try:
            self._announce(self._acceptor.address)
            self._acceptor.open()
        except BaseException:
            if self in _guests:
                _guests.remove(self)
            self._acceptor.close()
            self._announcement.remove()
            raise
        self._take_errors()

    def close(self):
        """Takes it all back. What is being evaluated goes on to its end, and nobody hears of it."""
        if self in _guests:
            _guests.remove(self)
            self._errors.end()
            self._record.close(ends=False)
            self._announcement.remove()
            self._acceptor.close()
            self.kernel.close()

    def leave(self):
        """The program ends. There is nothing to wait for."""
        self._record.close(ends=True)
        self._say_why()
        self._acceptor.close()
        self.kernel.session.hang_up()

    def _say_why(self):
        try:
            ended = self._errors.last_words
            if ended is not None:
                self._announcement.leave_word(without_secrets(ended, self._record.secrets()))
                return
        except Exception:
            native.report_fault('saying why the program ends')
        self._announcement.remove()

    def become_child(self):
        """In a forked child, which has its parent's descriptors but neither its threads nor any right to its link."""
        self._borrowed.end(None)
        self._errors.end()
        self.kernel.session.drop()
        self.kernel.evaluator.suspensions.become_child()
        self._acceptor.drop()
        self.kernel.interrupts.become_child()

    def _take_errors(self):
        if self._takes_errors:
            self._errors.begin()

    def _give_back(self, evaluation):
        self._borrowed.end(evaluation)
        native.forget_dummy()

    def _announce(self, address):
        self.address = address
        self._announcement.prepare()
        self._record.facts = _facts(self.name, address, self.kernel.epoch)
        fields = dict(self._record.facts)
        if self._is_told:
            fields['secret'] = self._secret
        self._announcement.write(fields)

    def _admit(self, channel, decided):
        """A connection, on a thread of its own, from its first byte to its last."""
        try:
            link = self._greeted(channel)
        except (NotTrusted, Refused, OSError):
            # Whoever it was is told nothing, and the program has not asked to be told.
            return
        decided()
        if link is not None:
            # Closed as the daemon came in: `close` has not seen this link.
            if self not in _guests:
                link.hang_up()
            try:
                self.kernel.session.serve(link)
            finally:
                self.kernel.rest()

    def _greeted(self, channel):
        """The link to a daemon that has proved itself, or ``None`` where another one has it."""
        handshake = Handshake(channel)
        handshake.accept(self._secret)
        session = self.kernel.session
        is_free = self._entering.acquire(True, STILL_THERE)
        try:
            held = session.link
            if not is_free or (held is not None and held.answers(STILL_THERE)):
                message = 'another daemon is attached to %s, and only one can be; let it detach first' % self.name
                handshake.refuse('occupied', message)
                return None
            if held is not None:
                held.hang_up()
            # The daemon before may have taken the hooks out as it detached.
            self._take_errors()
            return session.begin(channel, handshake, self.kernel.hello(attached=True), self.kernel.serve)
        finally:
            if is_free:
                self._entering.release()


def leave_word(name, ended):
    """Says what has ended a program that had no time to listen."""
    announcement = Announcement()
    announcement.prepare()
    announcement.write({**_facts(name, 'unix:' + announcement.socket, os.urandom(4).hex()), 'ended': without_secrets(ended)})


#: In the configuration of uvicorn and of hypercorn: their server starts its child again when a file changes.
_RELOADS = ('reload', 'use_reloader')


def _is_reloaded():
    return any(own_field(one, name) is True for one in family.given() for name in _RELOADS)


def _facts(name, address, epoch):
    """What an announcement says, but for the secret."""
    role = family.role()
    return {
        'name': name,
        'language': 'python',
        'implementation': implementation(),
        'pid': os.getpid(),
        'started': started(os.getpid()),
        'parent': family.parent(),
        **({} if role is None else {'role': role}),
        **({'reloaded': True} if _is_reloaded() else {}),
        **({'works_for': _works_for()} if role == 'helper' else {}),
        'address': address,
        'epoch': epoch,
        'cwd': _cwd(),
        'program': program(),
    }


def _works_for():
    """Names and numbers of the programs that this helper works for: rules about them hold for it, also once they ended."""
    program = [] if family.program is None else [family.program]
    return list(dict.fromkeys([*program, *announced_by(family.parent())]))[:16]


def leave_all():
    """The program ends, in order. A worker of ``multiprocessing`` comes here twice."""
    while _guests:
        _guests.pop().leave()


def _become_child():
    children = _guests[:]
    del _guests[:]
    for guest in children:
        guest.become_child()


def _cwd():
    try:
        return os.getcwd()
    except OSError:
        return ''


os.register_at_fork(after_in_child=_become_child)
