"""What an engine asks of a link to a kernel: packets in order, and an abort beside them."""

from typing import NamedTuple, Protocol


class Name(str):
    """A symbol, as the argument of a packet: ``$Aborted``."""


class Packet(NamedTuple):
    """What a kernel sends.

    ``kind`` is its head: ``ReturnPacket``, ``TextPacket``, ``MessagePacket``, ``InputPacket``, ``InputStringPacket`` or
    ``InputNamePacket``. ``parts`` are its arguments: a ``str``, an ``int``, a ``Name``, or ``None`` for any other
    expression, which is not read.
    """

    kind: str
    parts: tuple[str | int | Name | None, ...] = ()


class Link(Protocol):
    """One thread speaks on it. ``abort`` and ``close`` are for any thread. All but ``close`` raise ``LinkLost``."""

    #: Whether it starts a kernel, which then is ours.
    launches: bool

    def open(self) -> None:
        """Brings the kernel to the other end. It may take a minute. Raises ``LinkLost``, which says why there is none."""

    def evaluate(self, function: str, text: str) -> None:
        """Sends ``EvaluatePacket[function["text"]]``. What comes of it is a ``ReturnPacket``, after all else it says."""

    def answer(self, text: str) -> None:
        """What the kernel has asked for by an ``InputPacket`` or an ``InputStringPacket``."""

    def receive(self) -> Packet:
        """The next packet, as soon as there is one. What is raised in the thread meanwhile ends the wait, and loses none."""

    def abort(self) -> None:
        """Asks the kernel to give up what it evaluates. It answers with a ``ReturnPacket`` all the same."""

    def close(self) -> None:
        """Ends a kernel that was started for the link, and lets go of any other."""


class LinkLost(Exception):
    """There is no kernel at the other end, or none any more. Its text says why, for people."""
