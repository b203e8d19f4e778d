"""A link to a licensed kernel over WSTP, by the engine's own libWSTP.

What is known of the library is from its reference (reference.wolfram.com, ``language/ref/c`` and
``language/guide/WSTPPackets``) and from bindings that are in use: its C types and its numbers as in the generated ones
of WolframResearch/wstp-rs (13.0.1, Linux-x86-64), and others where they are named. No engine was at hand to try it on.

A link is not for two threads at once (reference, WSSetThreadSafeLinksParameter). So one thread of the link's own makes
all its calls. The others leave it what to send, and take what it has read. That is also why an exception that is raised
asynchronously in a thread that waits cannot cut a packet in two, and why a library that hangs holds up nobody.
"""

import ctypes
import signal
import threading
import time
from collections import deque
from typing import Callable, Sequence

from imago_wolfram.link import LinkLost, Name, Packet

#: Seconds that opening may take. WSActivate is known to hang where the kernel cannot start, as without a licence
#: (wstp-rs says so of its launch), and nothing ends it.
OPENING = 60.0
#: Seconds between looks at a link on which nothing comes, at first and at most.
SOON, SELDOM = 0.0002, 0.005
#: Seconds after which a thread that waits sees what was raised in it.
NOTICES = 0.02
#: Packets that are read before anybody asks for them.
AHEAD = 64
#: Seconds that a link has to close.
CLOSING = 5.0

# Numbers of wstp.h.
CALL_PACKET = 7
BEGIN_DIALOG_PACKET = 19
#: The kinds of packets that something is done about, each with how many parts it has (reference, WSNextPacket). All
#: others are skipped.
KINDS = {
    1: ("InputPacket", 1),
    2: ("TextPacket", 1),
    3: ("ReturnPacket", 1),
    5: ("MessagePacket", 2),
    8: ("InputNamePacket", 1),
    21: ("InputStringPacket", 1),
}
TERMINATE_MESSAGE, ABORT_MESSAGE = 1, 3
#: Errors of reading after which the link goes on (reference, WSError). The others are taken for its end: a closed link
#: might be said to be cleared, too.
CLEARABLE = {2, 3, 7, 22, 23, 24, 49}
#: Types of what comes next on a link.
STRING, SYMBOL, INTEGER = ord('"'), ord("#"), ord("+")


class WstpLink:
    """Implements ``Link``. One link is opened once.

    ``arguments`` are those of WSOpenArgcArgv (reference, tutorial "Running the Wolfram System from within an External
    Program"), without the first. ``launches`` says that they start a kernel, which then is ours.
    """

    def __init__(self, library: str, arguments: Sequence[str], *, launches: bool = False):
        self._library_path = library
        self._arguments = list(arguments)
        self.launches = launches
        #: What the link's thread shall do, in order.
        self._orders: deque[Callable[[], None]] = deque()
        self._ordered = _Bell()
        #: Packets that were read, for ``receive``.
        self._packets: list[Packet] = []
        self._arrived = _Bell()
        self._wanted = False
        #: Why there is no kernel, once there is none.
        self._lost: str | None = None
        self._opened = threading.Event()
        self._asked = ""
        #: What a kernel says before it is ready, as a licence that has run out.
        self._said = ""
        self._thread: threading.Thread | None = None

    @classmethod
    def launch(cls, library: str, kernel: str) -> "WstpLink":
        """Starts a kernel. The name of the link is its path, in quotation marks, and ``-wstp``.

        So do JuliaInterop/MathLink.jl and vanbaalon/mathematica-wstp-node.
        """
        name = f'"{kernel}" -wstp'
        return cls(library, ["-linkmode", "launch", "-linkname", name], launches=True)

    @classmethod
    def connect(cls, library: str, address: str) -> "WstpLink":
        """Takes a kernel of the ``wstpserver`` at ``HOST:PORT``.

        The option says that the other side is a link server and not one link: so does ``connect_to_link_server`` of
        wstp-rs.
        """
        host, _, port = address.rpartition(":")
        name = f"{port}@{host.strip('[]') or 'localhost'}"
        options = ["-linkprotocol", "TCPIP", "-linkoptions", "MLUseUUIDTCPIPConnection"]
        return cls(library, ["-linkmode", "connect", "-linkname", name, *options])

    # For any thread.

    def open(self) -> None:
        """See ``Link``. A kernel that was launched is awaited until it has named its first input."""
        self._thread = threading.Thread(target=self._run, name="imago-wstp", daemon=True)
        self._thread.start()
        if not self._opened.wait(OPENING):
            self._give_up(self._unanswered())
        if self._lost is not None:
            raise LinkLost(self._lost)

    def evaluate(self, function: str, text: str) -> None:
        """See ``Link``. It does not wait: ``receive`` tells what failed. It is sent whole or not at all."""
        self._order(lambda: self._send_call(function, text))

    def answer(self, text: str) -> None:
        """See ``Link``. An ``InputPacket`` is answered with ``EnterTextPacket``, all else with ``TextPacket``.

        So does the sample front end for MathLink by S. C. Sheridan. (J/Link writes a string without a packet for both.)
        """
        head = b"EnterTextPacket" if self._asked == "InputPacket" else b"TextPacket"
        self._order(lambda: self._send_text(head, text))

    def receive(self) -> Packet:
        """See ``Link``."""
        while True:
            if self._packets:
                packet = self._packets[0]
                self._wanted = False
                # CPython raises what is raised asynchronously after calls, and here is none until the packet is out.
                del self._packets[0]
                return packet
            if self._lost is not None:
                raise LinkLost(self._lost)
            # Set on each turn: an exception in between must not leave the link's thread asleep.
            self._wanted = True
            self._ordered.ring()
            self._arrived.wait(NOTICES)

    def abort(self) -> None:
        """See ``Link``. It is out of band, and is sent after a call that was left to send before."""
        self._order(lambda: self._send_message(ABORT_MESSAGE))

    def close(self) -> None:
        """See ``Link``. It waits a few seconds at most. A library that hangs is left behind, with its kernel."""
        self._give_up("The link to the kernel was closed.")
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(CLOSING)

    def _order(self, order: Callable[[], None]) -> None:
        if self._lost is not None:
            raise LinkLost(self._lost)
        self._orders.append(order)
        self._ordered.ring()

    def _give_up(self, why: str) -> None:
        if self._lost is None:
            self._lost = why
        self._opened.set()
        self._ordered.ring()
        self._arrived.ring()

    def _unanswered(self) -> str:
        seconds = f"{OPENING:g} s"
        if self.launches:
            return (
                f"The kernel did not answer within {seconds}. Run it once by hand in a terminal: "
                f"it says there whether its licence must be activated. ({self._arguments[-1]}){self._said}"
            )
        return f"The link server did not answer within {seconds}. Is it a wstpserver, and is one of its kernels free?"

    # On the link's thread.

    def _run(self) -> None:
        try:
            self._load()
            try:
                self._bring_up()
                self._opened.set()
                self._speak()
            finally:
                self._shut()
        except LinkLost as lost:
            self._give_up(str(lost))
        except Exception as error:  # A fault of ours must not leave the others waiting.
            self._give_up(f"The link to the kernel failed: {type(error).__name__}: {error}")

    def _load(self) -> None:
        try:
            self._wstp = wstp = _declared(ctypes.CDLL(self._library_path))
        except (OSError, AttributeError) as error:
            raise LinkLost(f"{self._library_path} is no WSTP library for this Python: {error}") from None
        self._link = None
        self._environment = wstp.WSInitialize(None)
        if not self._environment:
            raise LinkLost("The WSTP library could not be initialized.")
        # The library must leave Python the signal that interrupts it (reference, WSStopHandlingSignal).
        wstp.WSStopHandlingSignal(self._environment, signal.SIGINT)

    def _bring_up(self) -> None:
        words = [b"imago", *(word.encode() for word in self._arguments)]
        error = ctypes.c_int(0)
        argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
        link = self._wstp.WSOpenArgcArgv(self._environment, len(words), argv, ctypes.byref(error))
        if not link:
            said = self._wstp.WSErrorString(self._environment, error.value) or b""
            raise LinkLost(self._unreached(f"{said.decode(errors='replace')} (error {error.value})"))
        self._link = link
        if not self._wstp.WSActivate(link):
            raise LinkLost(self._unreached(self._error()))
        if self.launches:
            self._greeting()

    def _unreached(self, error: str) -> str:
        if self.launches:
            return (
                f"The kernel could not be started: {error}. Does it start by hand in a terminal, with a licence?"
                f"{self._said}"
            )
        return f"The link server could not be reached: {error}."

    def _greeting(self) -> None:
        """The first packet of a kernel names its first input (reference, LinkLaunch). What it says before is told."""
        pause = SOON
        while self._lost is None:
            try:
                packet = self._read() if self._ready() else None
            except LinkLost:
                raise LinkLost(self._unreached(self._error())) from None
            if packet is None:
                time.sleep(pause)
                pause = min(2 * pause, SELDOM)
            elif packet.kind == "InputNamePacket":
                return
            elif packet.kind == "TextPacket":
                self._said += f" It said: {packet.parts[0]}"

    def _speak(self) -> None:
        """Sends what is to be sent, and reads what is wanted, until the link is closed or lost.

        What was ordered before the link was closed is sent: an abort without which a kernel that stays is not free.
        """
        pause = SOON
        while self._lost is None or self._orders:
            if self._orders:
                self._orders.popleft()()
                pause = SOON
            elif len(self._packets) >= AHEAD:
                self._ordered.wait()
            elif self._ready():
                if (packet := self._read()) is not None:
                    self._packets.append(packet)
                    self._arrived.ring()
                pause = SOON
            elif self._wanted and not self._packets:
                # A new order ends the pause, and so an abort is on its way at once.
                self._ordered.wait(pause)
                pause = min(1.5 * pause, SELDOM)
            else:
                self._ordered.wait()

    def _ready(self) -> bool:
        # The library wants to be flushed before it is asked (reference, WSReady).
        if not self._wstp.WSFlush(self._link):
            raise LinkLost(self._broken())
        if self._wstp.WSReady(self._link):
            return True
        if self._wstp.WSError(self._link):
            raise LinkLost(self._broken())
        return False

    def _read(self) -> Packet | None:
        """The packet that has begun to come; ``None`` for one of another kind, which is skipped."""
        wstp, link = self._wstp, self._link
        number = wstp.WSNextPacket(link)
        if number == CALL_PACKET:
            # It is for a front end. A kernel that gets no answer waits for ever (mathematica-wstp-node).
            self._skip()
            self._send(self._refusal)
            return None
        if number == BEGIN_DIALOG_PACKET:
            # It would wait for a person to leave it (reference, Dialog: Return does so).
            self._skip()
            self._send_text(b"EnterTextPacket", "Return[]")
            return Packet("TextPacket", ("A Dialog was begun, and left at once: nobody can type in it.\n",))
        if number not in KINDS:
            if number == 0:
                self._clear()
            self._skip()
            return None
        kind, count = KINDS[number]
        parts: list[str | int | Name | None] = []
        while len(parts) < count and (not parts or parts[-1] is not None):
            if (of := wstp.WSGetNext(link)) == 0:
                # The packet has fewer parts: an ``InputPacket`` may have none.
                break
            parts.append(self._part(of))
        if wstp.WSError(link):
            self._clear()
        self._skip()
        if kind in ("InputPacket", "InputStringPacket"):
            self._asked = kind
        return Packet(kind, tuple(parts))

    def _part(self, of: int) -> str | int | Name | None:
        wstp = self._wstp
        if of == STRING:
            return self._text(wstp.WSGetUTF8String, wstp.WSReleaseUTF8String)
        if of == SYMBOL:
            name = self._text(wstp.WSGetUTF8Symbol, wstp.WSReleaseUTF8Symbol)
            return None if name is None else Name(name)
        if of == INTEGER:
            value = ctypes.c_int64(0)
            return value.value if wstp.WSGetInteger64(self._link, ctypes.byref(value)) else None
        return None

    def _text(self, get: Callable, release: Callable) -> str | None:
        """A text by its size in *bytes*, which its release wants, too. The number of characters, which comes besides, is left."""
        start, size, characters = ctypes.c_void_p(), ctypes.c_int(0), ctypes.c_int(0)
        if not get(self._link, ctypes.byref(start), ctypes.byref(size), ctypes.byref(characters)):
            return None
        try:
            data = ctypes.string_at(start, size.value)
        finally:
            release(self._link, start, size.value)
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("utf-8", "replace")

    def _clear(self) -> None:
        if self._wstp.WSError(self._link) not in CLEARABLE or not self._wstp.WSClearError(self._link):
            raise LinkLost(self._broken())

    def _skip(self) -> None:
        if not self._wstp.WSNewPacket(self._link):
            raise LinkLost(self._broken())

    def _send(self, put: Callable[[], bool]) -> None:
        wstp, link = self._wstp, self._link
        if not (put() and wstp.WSEndPacket(link) and wstp.WSFlush(link)):
            raise LinkLost(self._broken())

    def _send_call(self, function: str, text: str) -> None:
        put = self._wstp.WSPutFunction
        self._send(
            lambda: (
                put(self._link, b"EvaluatePacket", 1)
                and put(self._link, function.encode(), 1)
                and self._put_text(text)
            )
        )

    def _send_text(self, head: bytes, text: str) -> None:
        self._send(lambda: self._wstp.WSPutFunction(self._link, head, 1) and self._put_text(text))

    def _put_text(self, text: str) -> bool:
        data = text.encode("utf-8", "replace")
        return self._wstp.WSPutUTF8String(self._link, data, len(data))

    def _refusal(self) -> bool:
        wstp, link = self._wstp, self._link
        return wstp.WSPutFunction(link, b"ReturnPacket", 1) and wstp.WSPutSymbol(link, b"$Failed")

    def _send_message(self, code: int) -> None:
        if not self._wstp.WSPutMessage(self._link, code):
            raise LinkLost(self._broken())

    def _broken(self) -> str:
        return f"The link to the kernel is lost: {self._error()}."

    def _error(self) -> str:
        """The last error of the link, in words. Its text is ours to release (reference, WSErrorMessage)."""
        code = self._wstp.WSError(self._link)
        at = self._wstp.WSErrorMessage(self._link)
        if not at:
            return f"error {code}"
        said = ctypes.string_at(at).decode(errors="replace")
        self._wstp.WSReleaseErrorMessage(self._link, at)
        return f"{said} (error {code})"

    def _shut(self) -> None:
        if self._link:
            if self.launches:
                self._wstp.WSPutMessage(self._link, TERMINATE_MESSAGE)
            self._wstp.WSClose(self._link)
            self._link = None
        self._wstp.WSDeinitialize(self._environment)


class _Bell:
    """Rung by any thread, and heard by one. It stays rung until it is heard. Each is one call: nothing cuts it in two."""

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def ring(self) -> None:
        try:
            self._silent.release()
        except RuntimeError:
            pass  # It is rung already.

    def wait(self, seconds: float = -1) -> None:
        self._silent.acquire(True, seconds)


def _declared(wstp: ctypes.CDLL) -> ctypes.CDLL:
    """The library, with the types of each function that is used, as in the generated bindings of wstp-rs."""
    handle, number, text, out = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p
    pointer_to_text = ctypes.POINTER(ctypes.c_void_p)
    pointer_to_number = ctypes.POINTER(ctypes.c_int)
    get_text = (number, handle, pointer_to_text, pointer_to_number, pointer_to_number)
    for name, returns, *takes in (
        ("WSInitialize", handle, handle),
        ("WSStopHandlingSignal", None, handle, number),
        ("WSDeinitialize", None, handle),
        ("WSOpenArgcArgv", handle, handle, number, ctypes.POINTER(text), pointer_to_number),
        ("WSErrorString", text, handle, ctypes.c_long),
        ("WSActivate", number, handle),
        ("WSClose", None, handle),
        ("WSError", number, handle),
        ("WSErrorMessage", out, handle),
        ("WSReleaseErrorMessage", None, handle, handle),
        ("WSClearError", number, handle),
        ("WSPutFunction", number, handle, text, number),
        ("WSPutUTF8String", number, handle, text, number),
        ("WSPutSymbol", number, handle, text),
        ("WSEndPacket", number, handle),
        ("WSFlush", number, handle),
        ("WSPutMessage", number, handle, number),
        ("WSReady", number, handle),
        ("WSNextPacket", number, handle),
        ("WSNewPacket", number, handle),
        ("WSGetNext", number, handle),
        ("WSGetUTF8String", *get_text),
        ("WSReleaseUTF8String", None, handle, handle, number),
        ("WSGetUTF8Symbol", *get_text),
        ("WSReleaseUTF8Symbol", None, handle, handle, number),
        ("WSGetInteger64", number, handle, ctypes.POINTER(ctypes.c_int64)),
    ):
        function = getattr(wstp, name)
        function.restype, function.argtypes = returns, takes
    return wstp
