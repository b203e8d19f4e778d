"""A daemon for tests: starts a kernel, shakes hands, and speaks the protocol as the real one would, or worse."""

import hmac
import itertools
import json
import os
import queue
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAIN = os.path.join(PACKAGE, 'imago', '__main__.py')
WELCOME = {'encoding': 'json', 'credit': 1024 * 1024, 'chunk': 262144, 'frame': 8388608, 'message': 67108864}
#: How long a test waits for what must come, in seconds. Reaching it is a failure, never a measurement.
WAIT = 60.0
#: Whether seeded races and deaths are run as often as a release wants them, and not as often as a change does.
LONG = os.environ.get('IMAGO_TEST_LONG') == '1'
#: Whether only what may depend on the version of Python is to be run.
VERSIONED = os.environ.get('IMAGO_TEST_VERSIONED') == '1'

_names = itertools.count(1)


class Process:
    """A process, what it prints, and a folder of its own. Use it in a ``with``: all of it is gone afterwards."""

    def __init__(self, command, folder, env):
        self.folder = folder
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(os.environ, **env),
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
            self.process.stdin.close()
            self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self._kill()
            self.process.wait()
            raise AssertionError('the process did not end:\n%s' % self.said()) from None
        finally:
            # Children may have outlived it, and would keep its streams open.
            self._kill()
            for reader in self._readers:
                reader.join(WAIT)
            self.process.stdout.close()
            self.process.stderr.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def tell(self, line):
        """Writes a line to its standard input."""
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()

    def said(self):
        """All that it has printed: standard output, a line end, and standard error."""
        return '%s\n%s' % (bytes(self.printed[1]).decode(), bytes(self.printed[2]).decode())

    def until_printed(self, text, descriptor=1):
        def is_printed():
            # Asked first, so that what it printed before its end counts.
            has_ended = self.process.poll() is not None
            if has_ended:
                self._readers[descriptor - 1].join(WAIT)
            if text.encode() in self.printed[descriptor]:
                return True
            if has_ended:
                raise AssertionError('it ended with %d:\n%s' % (self.process.returncode, self.said()))
            return False

        until(is_printed)

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

    def _kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def _gather(self, descriptor, stream):
        def read():
            while True:
                data = os.read(stream.fileno(), 65536)
                if not data:
                    return
                self.printed[descriptor] += data

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread


class Kernel(Process):
    """A kernel process and the links it makes; in a ``with`` it has one."""

    #: Given as the script: the path of a file that is not there.
    MISSING = object()

    def __init__(self, script=None, args=(), address=None, env=None, welcome=None, files=None):
        folder = tempfile.mkdtemp(prefix='imago-peer-')
        for name, text in (files or {}).items():
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(text)
        if address == 'tcp':
            self.listener = socket.create_server(('127.0.0.1', 0))
            self.address = 'tcp:127.0.0.1:%d' % self.listener.getsockname()[1]
        else:
            self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            path = os.path.join(folder, 'kernel.sock')
            self.listener.bind(path)
            self.listener.listen()
            self.address = 'unix:' + path
        self.listener.settimeout(WAIT)
        self.secret = os.urandom(32).hex()
        self.welcome = dict(WELCOME, **(welcome or {}))
        if script is self.MISSING:
            script = os.path.join(folder, 'missing.py')
        elif script is not None:
            path = os.path.join(folder, 'app.py')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(script)
            script = path
        self.script = script
        self.link = None
        super().__init__([sys.executable, MAIN], folder, env or {})
        self._opened.append(self.listener)
        invitation = {'address': self.address, 'secret': self.secret, 'script': script, 'args': list(args)}
        self.tell(json.dumps(invitation))

    def __enter__(self):
        self.link = self.accept()
        return self

    def put(self, name):
        """Makes an empty file in the folder of the kernel."""
        open(os.path.join(self.folder, name), 'w', encoding='utf-8').close()

    def has(self, name):
        return os.path.exists(os.path.join(self.folder, name))

    def connection(self):
        """The kernel's next connection, with nothing said on it yet."""
        raw, _ = self.listener.accept()
        raw.settimeout(WAIT)
        raw = Raw(raw)
        self._opened.append(raw)
        return raw

    def accept(self, before=lambda: None):
        """Shakes hands with the kernel's next connection; returns the link. ``before`` is done once it is connected."""
        raw = self.connection()
        before()
        hello = raw.shake_hands(self.secret)
        raw.send({'welcome': self.welcome})
        link = Link(raw, hello, self.welcome)
        self._opened.append(link)
        return link

    def reconnect(self, before=lambda: None):
        """Loses the link, and shakes hands again; returns the new one. ``before`` is done while there is none."""
        self.link.close()
        self.link = self.accept(before)
        return self.link


class Raw:
    """Frames on a connection, as they come."""

    def __init__(self, connection):
        self.connection = connection
        self._rest = b''

    def bytes(self, count):
        while len(self._rest) < count:
            data = self.connection.recv(1 << 20)
            if not data:
                raise EOFError
            self._rest += data
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def body(self):
        (length,) = struct.unpack('>I', self.bytes(4))
        return self.bytes(length)

    def receive(self):
        return json.loads(self.body())

    def send(self, message):
        self.send_body(json.dumps(message).encode())

    def send_body(self, body):
        self.connection.sendall(struct.pack('>I', len(body)) + body)

    def shake_hands(self, secret):
        """The handshake as far as the hello, which is returned."""
        opener = self.receive()['nonce']
        acceptor = os.urandom(32).hex()
        self.send({'imago': 1, 'nonce': acceptor})
        if self.receive() != {'proof': proof(secret, 'opener', opener, acceptor)}:
            raise AssertionError('the kernel did not prove itself')
        self.send({'proof': proof(secret, 'acceptor', opener, acceptor)})
        return self.receive()['hello']

    def is_closed(self):
        """Waits for the end of the connection; anything said before it makes this false."""
        try:
            return self.connection.recv(1) == b''
        except ConnectionResetError:
            return True

    def close(self):
        self.connection.close()


class Link:
    """The daemon's end of a link. A thread reads; answers and events are kept by call."""

    def __init__(self, raw, hello, limits=WELCOME):
        self.raw = raw
        self.limits = limits
        self.hello = hello
        self.credit = True
        self.notes = queue.Queue()
        #: Notes that the program has noted an error: they come beside all others.
        self.error_notes = queue.Queue()
        self.asked = queue.Queue()
        self.pongs = queue.Queue()
        self.log = []
        self.bye = None
        self.ended = threading.Event()
        self._calls = {}
        self._chunks = {}
        self._last = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def call(self, method, **params):
        self._last += 1
        call = self._calls[self._last] = Call(self, self._last)
        self.send_in_chunks({'type': 'call', 'id': self._last, 'method': method, 'params': params})
        return call

    def send_in_chunks(self, message):
        text = json.dumps(message)
        size = self.limits['chunk']
        if len(text) <= size:
            return self.send(message)
        for start in range(0, len(text), size):
            last = start + size >= len(text)
            self.send({'type': 'chunk', 'stream': self._last, 'last': last, 'data': text[start : start + size]})

    def start(self, source, call=None, **place):
        """Begins an evaluation."""
        name = call or 'call-%d' % next(_names)
        started = self.call('evaluate', call=name, who='a test', source=source, **place)
        started.name = name
        return started

    def evaluate(self, source, **place):
        return self.start(source, **place).answer()

    def value(self, source):
        """The repr of what an expression evaluates to."""
        outcome = self.evaluate(source)
        if outcome['type'] != 'done':
            raise AssertionError(outcome)
        return outcome['values'][0]['repr']['text'] if outcome['values'] else None

    def send(self, message):
        self.raw.send(message)

    def close(self):
        try:
            self.raw.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._reader.join(WAIT)
        self.raw.close()

    def unpack_chunks(self, pieces):
        return json.loads(''.join(pieces))

    def _read(self):
        try:
            while True:
                self._take(self.raw.receive())
        except (EOFError, OSError):
            self.ended.set()

    def _take(self, message):
        kind = message['type']
        if kind == 'chunk':
            pieces = self._chunks.setdefault(message['stream'], [])
            pieces.append(message['data'])
            self.log.append(message)
            if message['last']:
                self._take(self.unpack_chunks(self._chunks.pop(message['stream'])))
            return
        self.log.append(message)
        if kind == 'event':
            self._calls[message['id']].events.append(message['event'])
            if self.credit:
                self.send({'type': 'credit', 'id': message['id'], 'bytes': cost(message)})
        elif kind in ('return', 'fail'):
            self._calls[message['id']].answers.put(message)
        elif kind == 'note':
            (self.error_notes if message['name'] == 'errors' else self.notes).put(message)
        elif kind in ('call', 'ping'):
            self.asked.put(message)
        elif kind == 'pong':
            self.pongs.put(message)
        elif kind == 'bye':
            self.bye = message


class Call:
    def __init__(self, link, number):
        self.link = link
        self.number = number
        self.name = None
        self.events = []
        self.answers = queue.Queue()

    def message(self):
        return self.answers.get(timeout=WAIT)

    def answer(self):
        message = self.message()
        if message['type'] == 'fail':
            raise AssertionError(message['error'])
        return message['result']

    def failure(self):
        message = self.message()
        if message['type'] != 'fail':
            raise AssertionError(message)
        return message['error']

    def cancel(self):
        self.link.send({'type': 'cancel', 'id': self.number})

    def output(self, stream=None):
        """What was printed, both streams in order or one of them."""
        return ''.join(
            event['text']
            for event in self.events
            if event['type'] == 'output' and stream in (None, event['stream'])
        )

    def until_printed(self, text):
        """Waits until the code has said so: it has come that far."""
        until(lambda: text in self.output())


def once(test):
    """Marks a test of what is the same under each version: it runs under one of them, and in the long run under all."""
    return unittest.skipIf(VERSIONED, 'it is the same under each version')(test)


class KernelCase(unittest.TestCase):
    """Tests on one kernel, started once for all of them."""

    maxDiff = None
    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel(**cls.settings).__enter__()
        cls.link = cls.kernel.link

    @classmethod
    def tearDownClass(cls):
        cls.kernel.__exit__(None, None, None)

    def raised(self, source, **place):
        """The exception that an evaluation ended with."""
        outcome = self.link.evaluate(source, **place)
        self.assertEqual(outcome['type'], 'raised', outcome)
        return outcome['exception']


def proof(secret, role, opener, acceptor):
    message = 'imago/1 %s %s %s' % (role, opener, acceptor)
    return hmac.new(secret.encode(), message.encode(), 'sha256').hexdigest()


def cost(message):
    """What an event takes from its call's credit: the length of its body, in JSON without spaces."""
    return len(json.dumps(message, ensure_ascii=False, separators=(',', ':')).encode('utf-8', 'surrogatepass'))


def until(condition):
    """Waits until ``condition()`` holds; fails where that does not come."""
    deadline = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError('what had to come did not come')
        time.sleep(0.005)
