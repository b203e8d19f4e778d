"""Programs that listen, in processes of their own, and a daemon that attaches to them."""

import glob
import json
import os
import socket
import sys
import tempfile
import unittest

from tests.daemon import PACKAGE, WAIT, WELCOME, Link, Process, Raw, proof, until

PLAIN = 'import imago, io, sys, threading, time\nkept = 0\nimago.listen()\nwait_for_end()'


class Program(Process):
    """A program of somebody's, that calls ``imago.listen()``. Use it in a ``with``: it is gone afterwards.

    Its standard input is a pipe. ``source`` may use ``wait_for_end()``, which returns when that is closed.
    """

    def __init__(self, source=PLAIN, name='app.py', env=None, python=sys.executable, options=(), path=PACKAGE):
        folder = tempfile.mkdtemp(prefix='imago-guest-')
        self.runtime = os.path.join(folder, 'run')
        self.state = os.path.join(folder, 'state')
        self.script = os.path.join(folder, name)
        with open(self.script, 'w', encoding='utf-8') as file:
            file.write(source.replace('wait_for_end()', '__import__("sys").__stdin__.read()'))
        given = {'IMAGO_RUNTIME_DIR': self.runtime, 'IMAGO_STATE_DIR': self.state, 'PYTHONPATH': path, **(env or {})}
        super().__init__([python, *options, self.script], folder, given)

    def announcements(self):
        """What has been announced, oldest first; ``(path, contents)``."""
        found = []
        for path in sorted(glob.glob(os.path.join(self.runtime, 'programs', '*.json'))):
            try:
                with open(path, encoding='utf-8') as file:
                    found.append((path, json.load(file)))
            except FileNotFoundError:
                pass
        return found

    def announcement(self, pid=None):
        """The contents of the announcement of the program, or of another process of its; waits for it."""
        pid = self.process.pid if pid is None else pid
        found = []

        def is_there():
            found[:] = [said for _, said in self.announcements() if said['pid'] == pid]
            if not found and self.process.poll() is not None:
                raise AssertionError('the program has ended:\n%s' % bytes(self.printed[2]).decode())
            return bool(found)

        until(is_there)
        return found[0]

    def connection(self, address=None):
        """A connection to where the program listens, with nothing said on it yet."""
        raw = Raw(connected(address or self.announcement()['address']))
        self._opened.append(raw)
        return raw

    def attach(self, announcement=None, secret=None, welcome=None):
        """A link to the program, as the daemon makes it; raises ``Refused``."""
        said = announcement or self.announcement()
        raw = self.connection(said['address'])
        hello = open_kernel(raw, secret or said['secret'])
        limits = dict(WELCOME, **(welcome or {}))
        raw.send({'welcome': limits})
        link = Link(raw, hello, limits)
        self._opened.append(link)
        return link


class Refused(Exception):
    """The program refuses a daemon that has proved itself: the refusal itself."""


class ProgramCase(unittest.TestCase):
    maxDiff = None

    def program(self, source=PLAIN, **settings):
        program = Program(source, **settings)
        self.addCleanup(program.__exit__)
        return program


class PlainCase(ProgramCase):
    """Tests on one program that only listens, started and attached to once for all of them."""

    source = PLAIN

    @classmethod
    def setUpClass(cls):
        cls.guest = Program(cls.source)
        cls.addClassCleanup(cls.guest.__exit__)
        cls.link = cls.guest.attach()


def connected(address):
    kind, _, rest = address.partition(':')
    if kind == 'unix':
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(WAIT)
        try:
            made.connect(rest)
        except OSError:
            made.close()
            raise
    else:
        host, _, port = rest.rpartition(':')
        made = socket.create_connection((host, int(port)), WAIT)
    return made


def open_kernel(raw, secret):
    """The handshake as the one that has connected, as far as the hello, which is returned."""
    opener = os.urandom(32).hex()
    raw.send({'imago': 1, 'nonce': opener})
    acceptor = raw.receive()['nonce']
    raw.send({'proof': proof(secret, 'opener', opener, acceptor)})
    if raw.receive() != {'proof': proof(secret, 'acceptor', opener, acceptor)}:
        raise AssertionError('the program did not prove itself')
    answer = raw.receive()
    if 'refused' in answer:
        raise Refused(answer['refused'])
    return answer['hello']
