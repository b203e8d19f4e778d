"""Programs that listen, in processes of their own, and a daemon that attaches to them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from tests.daemon import WAIT, WELCOME, Link, Raw, proof, until

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Program:
    """A program of somebody's, that calls ``imago.listen()``. Use it in a ``with``: it is gone afterwards.

    Its standard input is a pipe. ``source`` may use ``wait_for_end()``, which returns when that is closed.
    """

    def __init__(self, source, name='app.py', env=None, python=sys.executable, options=(), path=PACKAGE):
        self.folder = tempfile.mkdtemp(prefix='imago-guest-')
        self.runtime = os.path.join(self.folder, 'run')
        self.script = os.path.join(self.folder, name)
        with open(self.script, 'w', encoding='utf-8') as file:
            file.write(source.replace('wait_for_end()', '__import__("sys").__stdin__.read()'))
        self.process = subprocess.Popen(
            [python, *options, self.script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=dict(os.environ, IMAGO_RUNTIME_DIR=self.runtime, PYTHONPATH=path, **(env or {})),
            start_new_session=True,
        )
        self.printed = {1: bytearray(), 2: bytearray()}
        self._readers = [self._gather(1, self.process.stdout), self._gather(2, self.process.stderr)]
        self._opened = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A link before its connection, which it would not be woken from.
        for opened in reversed(self._opened):
            opened.close()
        try:
            if self.process.poll() is None:
                self.process.stdin.close()
                self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise AssertionError('the program did not end:\n%s' % self.printed[2].decode()) from None
        finally:
            self._kill_children()
            for reader in self._readers:
                reader.join(WAIT)
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                stream.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def announcements(self):
        """What has been announced, oldest first; ``(path, contents)``."""
        folder = os.path.join(self.runtime, 'programs')
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith('.json'))
        except FileNotFoundError:
            return []
        found = []
        for name in names:
            path = os.path.join(folder, name)
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

    def until_printed(self, text, descriptor=1):
        def is_printed():
            if text.encode() in self.printed[descriptor]:
                return True
            if self.process.poll() is not None:
                time.sleep(0.2)
                if text.encode() not in self.printed[descriptor]:
                    raise AssertionError('it ended with %d:\n%s' % (self.process.returncode, self.said()))
            return False

        until(is_printed)

    def said(self):
        return '%s\n%s' % (bytes(self.printed[1]).decode(), bytes(self.printed[2]).decode())

    def end(self):
        """Closes its standard input, and returns the exit code."""
        self.process.stdin.close()
        return self.wait()

    def wait(self):
        """Its exit code, once it has ended and all that it printed has been read."""
        code = self.process.wait(WAIT)
        for reader in self._readers:
            reader.join(WAIT)
        return code

    def _kill_children(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def _gather(self, descriptor, stream):
        def read():
            while True:
                try:
                    data = os.read(stream.fileno(), 65536)
                except (OSError, ValueError):
                    return
                if not data:
                    return
                self.printed[descriptor] += data

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread


class Refused(Exception):
    """The program refuses a daemon that has proved itself: the refusal itself."""


class ProgramCase(unittest.TestCase):
    maxDiff = None

    def program(self, source, **settings):
        program = Program(source, **settings)
        self.addCleanup(program.__exit__)
        return program


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
