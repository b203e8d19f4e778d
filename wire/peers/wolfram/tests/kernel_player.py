"""Plays a Wolfram kernel, behind the libWSTP of ``fake_wstp.c``, where no licensed one is at hand.

As a program, with any CPython of 3.11 or newer and a C compiler (``cc``):

``python kernel_player.py --install ROOT``
    writes an installation: ``ROOT/Executables/WolframKernel``, which plays a kernel, and the library at
    ``ROOT/SystemFiles/Links/WSTP/DeveloperKit/SYSTEM/CompilerAdditions/libWSTP64i4.so`` (on a Mac, in
    ``wstp.framework/wstp`` there). It prints one line of JSON: ``{"kernel": PATH, "library": PATH}``. It exits with 3,
    and says so on standard error, where there is no C compiler.

``python kernel_player.py --serve PORT-FILE``
    is a ``wstpserver`` on the loopback with a pool of one kernel, whose session stays when a client goes. PORT-FILE
    holds the port as soon as it listens. It ends by a signal, or when its standard input ends.

Both take ``--evaluate MODULE:FUNCTION``, which says what evaluates: a function of (function, text, session) as
``scripted`` below, which is meant otherwise. MODULE is imported with the folder above this one on the path.

Whoever opens a link may set ``FAKE_WSTP`` in the environment; see ``fake_wstp.c``.
"""

import argparse
import importlib
import json
import os
import platform
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any, Callable, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
#: The codes of messages out of band, as in wstp.h.
TERMINATE, ABORT = 1, 3


class Name(str):
    """A symbol."""


class Real(float):
    """A machine number."""


class Expression(NamedTuple):
    """A head and its arguments: a ``str``, an ``int``, a ``Name``, a ``Real`` or an ``Expression`` each."""

    head: str
    arguments: tuple = ()


class Aborted(Exception):
    """The evaluation was aborted."""


class Session:
    """One kernel: what it keeps between evaluations, and how what evaluates speaks to the client there is."""

    def __init__(self, evaluate: Callable[[str, str, "Session"], Any]):
        self._evaluate = evaluate
        #: For what evaluates: whatever it likes to keep.
        self.kept: dict = {}
        #: How many calls have come, and what has come that was no call of one function with one string.
        self.calls = 0
        self.strange: list = []
        #: Set by an abort while something is evaluated; cleared before the next evaluation.
        self.aborted = threading.Event()
        #: Called on another thread with each abort that comes while something is evaluated.
        self.when_aborted: Callable[[], None] = lambda: None
        self._evaluating = False
        self._stream: socket.socket | None = None
        self._answers: list = []
        self._came = threading.Condition()
        self._writing = threading.Lock()
        self._gone = False
        #: What it says to its first client before anything was asked.
        self.greeting = [Expression("InputNamePacket", ("In[1]:= ",))]

    # For what evaluates.

    def send(self, kind: str, *parts: Any) -> None:
        """A packet. Nobody hears it where the client has gone."""
        self._write(_expression(Expression(kind, parts)) + _frame(b"E"))

    def spoil(self, error: int, kind: str, *parts: Any) -> None:
        """A packet in the middle of which the link of the client gets an error of libWSTP, by its number."""
        whole = _expression(Expression(kind, parts))
        head = _head(kind, len(parts))
        self._write(head + _frame(b"X", bytes([error])) + whole[len(head) :] + _frame(b"E"))

    def die(self, kind: str) -> None:
        """Ends the process in the middle of a packet."""
        self._write(_head(kind, 1))
        os._exit(1)

    def ask(self, kind: str, *parts: Any) -> Expression:
        """Sends ``InputPacket`` or ``InputStringPacket``, and returns what answers it. Raises ``Aborted``."""
        self.send(kind, *parts)
        with self._came:
            while not self._answers:
                if self.aborted.is_set() or self._gone:
                    raise Aborted
                self._came.wait()
            return self._answers.pop(0)

    def pause(self, seconds: float) -> None:
        """Raises ``Aborted`` as soon as that comes."""
        if self.aborted.wait(seconds):
            raise Aborted

    # For who has the connection.

    def serve(self, stream: socket.socket) -> None:
        """Speaks with one client until it goes."""
        self._stream = stream
        reading = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._write(_frame(b"A"))
        while self.greeting:
            kind, parts = self.greeting.pop(0)
            self.send(kind, *parts)
        self._gone = False
        reading.start()
        while (packet := self._next()) is not None:
            self._answer(packet)
        self._stream = None

    def _next(self) -> Expression | None:
        with self._came:
            while not self._answers and not self._gone:
                self._came.wait()
            return self._answers.pop(0) if self._answers else None

    def _answer(self, packet: Expression) -> None:
        match packet:
            case Expression("EvaluatePacket", (Expression(function, (str() as text,)),)) if not isinstance(text, Name):
                self.calls += 1
            case _:
                self.strange.append(repr(packet)[:1000])
                self._evaluating = False
                return
        try:
            value = self._evaluate(function, text, self)
        except Aborted:
            value = Name("$Aborted")
        self._evaluating = False
        self.send("ReturnPacket", value)

    def _read(self, stream: socket.socket) -> None:
        while (read := _packet(stream)) is not None:
            if isinstance(read, Expression) and read.head == "EvaluatePacket":
                self.aborted.clear()
                self._evaluating = True
            elif read == ABORT:
                if self._evaluating:
                    self.aborted.set()
                    self.when_aborted()
            elif read == TERMINATE:
                os._exit(0)
            with self._came:
                if isinstance(read, Expression):
                    self._answers.append(read)
                self._came.notify()
        with self._came:
            self._gone = True
            self._came.notify()
        self.when_gone()

    def when_gone(self) -> None:
        """Called on another thread when the client has gone. A kernel that was launched ends then."""

    def _write(self, data: bytes) -> None:
        try:
            with self._writing:
                if self._stream is not None:
                    self._stream.sendall(data)
        except OSError:
            pass


# Frames, which fake_wstp.c describes.


def _frame(kind: bytes, data: bytes = b"") -> bytes:
    return kind + struct.pack(">I", len(data)) + data


def said_first(kind: str, *parts: Any) -> bytes:
    """What a kernel that is there sends where its first packet is this one."""
    return _frame(b"A") + _expression(Expression(kind, parts)) + _frame(b"E")


def _head(head: str, count: int) -> bytes:
    return _frame(b"F", struct.pack(">I", count) + head.encode())


def _expression(value: Any) -> bytes:
    match value:
        case Expression(head, arguments):
            return _head(head, len(arguments)) + b"".join(map(_expression, arguments))
        case Name():
            return _frame(b"Y", value.encode())
        case str():
            return _frame(b"S", value.encode("utf-8", "surrogatepass"))
        case int():
            return _frame(b"I", str(value).encode())
        case Real():
            return _frame(b"R", repr(float(value)).encode())
    raise TypeError(f"no expression: {value!r}")


def _packet(stream: socket.socket) -> Expression | int | None:
    """The next packet, the code of a message out of band, or ``None`` at the end of the stream."""
    try:
        kind, data = _token(stream)
        if kind == b"M":
            return data[0]
        packet = _value(stream, kind, data)
        return packet if _token(stream)[0] == b"E" else Expression("Unended", (repr(packet),))
    except (OSError, EOFError):
        return None


def _value(stream: socket.socket, kind: bytes, data: bytes) -> Any:
    match kind:
        case b"F":
            (count,) = struct.unpack(">I", data[:4])
            return Expression(data[4:].decode(), tuple(_value(stream, *_token(stream)) for _ in range(count)))
        case b"Y":
            return Name(data.decode())
        case b"S":
            return data.decode("utf-8", "surrogatepass")
        case b"I":
            return int(data)
    return Expression("Unknown", (kind.decode("latin-1"),))


def _token(stream: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(stream, 5)
    return head[:1], _exactly(stream, struct.unpack(">I", head[1:])[0])


def _exactly(stream: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        if not (more := stream.recv(min(length - len(data), 1 << 20))):
            raise EOFError
        data += more
    return bytes(data)


# What evaluates, where nothing else is named.


def scripted(function: str, text: str, session: Session) -> Any:
    """``echo`` returns its text, ``count`` what has come and the process, and ``play`` does what its text says in JSON.

    That is a list of steps, each a list: ``["send", KIND, PART…]``, ``["ask", KIND, PROMPT]``, ``["pause", SECONDS]``,
    ``["last", SECONDS]`` (an abort does not end it), ``["return", PART]``, ``["late", SECONDS, KIND, PART…]`` (sent so
    long after the return), ``["spoil", ERROR, KIND, PART…]`` (the link fails in the middle of it), ``["die", KIND]``
    (in the middle of it). A part is a text, a number, ``{"name": …}``, ``{"real": …}`` or
    ``{"head": …, "arguments": […]}``. The value is ``Null``, or that of the last ``ask`` or ``return``.
    """
    if function == "echo":
        return text
    if function == "count":
        return json.dumps({"calls": session.calls, "strange": session.strange, "process": os.getpid()})
    if function != "play":
        return Name("$Failed")
    value: Any = Name("Null")
    for step, *rest in json.loads(text):
        match step, rest:
            case "send", (kind, *parts):
                session.send(kind, *map(_part, parts))
            case "ask", (kind, *prompt):
                value = _shown(session.ask(kind, *map(_part, prompt)))
            case "pause", (seconds,):
                session.pause(seconds)
            case "last", (seconds,):
                time.sleep(seconds)
            case "return", (part,):
                value = _part(part)
            case "late", (seconds, kind, *parts):
                threading.Timer(seconds, session.send, (kind, *map(_part, parts))).start()
            case "spoil", (error, kind, *parts):
                session.spoil(error, kind, *map(_part, parts))
            case "die", (kind,):
                session.die(kind)
            case _:
                return f"no step: {step}"
    return value


def _part(said: Any) -> Any:
    match said:
        case {"name": name}:
            return Name(name)
        case {"real": number}:
            return Real(number)
        case {"head": head, "arguments": arguments}:
            return Expression(head, tuple(map(_part, arguments)))
    return said


def _shown(value: Any) -> str:
    if isinstance(value, Expression):
        return f"{value.head}[{', '.join(map(_shown, value.arguments))}]"
    return str(value) if isinstance(value, Name) else json.dumps(value)


# Installations and servers.


def compiler() -> str | None:
    """The C compiler; ``None`` where there is none."""
    return shutil.which("cc")


def compile_library(path: str) -> None:
    """Compiles the library to a file of that path, and makes the folders that it lies in."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    source = os.path.join(HERE, "fake_wstp.c")
    subprocess.run([str(compiler()), "-O1", "-shared", "-fPIC", "-o", path, source], check=True)


class Installation(NamedTuple):
    """The paths of what lies in a root."""

    kernel: str
    library: str


def install(root: str, evaluate: str | None = None) -> Installation:
    """Writes an installation into a root that is there or not."""
    root = os.path.abspath(root)
    kit = os.path.join(root, "SystemFiles", "Links", "WSTP", "DeveloperKit", _system(), "CompilerAdditions")
    library = os.path.join(kit, *(["wstp.framework", "wstp"] if sys.platform == "darwin" else ["libWSTP64i4.so"]))
    compile_library(library)
    kernel = os.path.join(root, "Executables", "WolframKernel")
    os.makedirs(os.path.dirname(kernel), exist_ok=True)
    words = [sys.executable, os.path.join(HERE, "kernel_player.py"), "--play"]
    words += ["--evaluate", evaluate] if evaluate else []
    with open(kernel, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexec " + " ".join(f'"{word}"' for word in words) + ' "$@"\n')
    os.chmod(kernel, 0o755)
    return Installation(kernel, library)


def _system() -> str:
    """``$SystemID`` of this machine."""
    machine = "ARM64" if platform.machine() in ("arm64", "aarch64") else "x86-64"
    return f"{'MacOSX' if sys.platform == 'darwin' else 'Linux'}-{machine}"


def play(evaluate: Callable[[str, str, Session], Any]) -> None:
    """Is the kernel that the library has launched, until the client has gone."""
    session = Session(evaluate)
    session.when_gone = lambda: os._exit(0)
    session.serve(socket.socket(fileno=int(os.environ.pop("FAKE_WSTP_SOCKET"))))


class Server:
    """A pool of one kernel on a port of the loopback. A second client waits until the first has gone."""

    def __init__(self, evaluate: Callable[[str, str, Session], Any] = scripted):
        self._session = Session(evaluate)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]

    def run(self) -> None:
        """Serves one client after the other, until ``close``."""
        while True:
            try:
                stream, _ = self._listening.accept()
            except OSError:
                return
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with stream:
                self._session.serve(stream)

    def close(self) -> None:
        # A close alone would leave the thread in accept where it is.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


def _serve(port_file: str, evaluate: Callable[[str, str, Session], Any]) -> None:
    server = Server(evaluate)
    with open(port_file + ".new", "w", encoding="utf-8") as file:
        file.write(str(server.port))
    os.replace(port_file + ".new", port_file)

    def end_with_input() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        os._exit(0)

    threading.Thread(target=end_with_input, daemon=True).start()
    server.run()


def _evaluator(said: str | None) -> Callable[[str, str, Session], Any]:
    if said is None:
        return scripted
    module, _, name = said.partition(":")
    sys.path[:1] = [os.path.dirname(HERE)]
    # What it imports of this module shall be this one, and not a second one.
    sys.modules["tests.kernel_player"] = sys.modules[__name__]
    return getattr(importlib.import_module(module), name)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--install", metavar="ROOT")
    parser.add_argument("--serve", metavar="PORT-FILE")
    parser.add_argument("--play", action="store_true", help="is the kernel that fake_wstp.c has launched")
    parser.add_argument("--evaluate", metavar="MODULE:FUNCTION")
    # The kernel is started with words of its own, such as -wstp.
    said, _ = parser.parse_known_args()
    if said.install and compiler() is None:
        sys.stderr.write("there is no C compiler\n")
        sys.exit(3)
    if said.install:
        print(json.dumps(install(said.install, said.evaluate)._asdict()))
    elif said.serve:
        _serve(said.serve, _evaluator(said.evaluate))
    elif said.play:
        play(_evaluator(said.evaluate))
    else:
        parser.error("one of --install, --serve and --play is needed")


if __name__ == "__main__":
    main()
