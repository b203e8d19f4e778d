"""What a host asks of an engine: to read a text, to evaluate what it read, and to show what that came to."""

from typing import Any, Iterator, NamedTuple, Optional, Protocol, Tuple

from imago_wolfram.expressions import Expression, Symbol
from imago_wolfram.source import Source


class Piece(NamedTuple):
    """One expression of a text: what the engine has read of it, its text, and the line of the text that it begins in."""

    read: Any
    text: str
    line: int


class Form(NamedTuple):
    """A value as a text. ``whole`` is false where parts of it were left out before it was formatted."""

    text: str
    whole: bool


class Listener(Protocol):
    """Hears what an evaluation says. It is called on the thread that evaluates."""

    #: No interrupt is raised inside this context manager. A pending one is raised at its end.
    shield: Any

    def printed(self, text: str) -> None: ...

    def message(self, name: str, text: str) -> None:
        """``name`` is as the engine writes it: ``Power::infy``."""

    def ask(self, prompt: str) -> str:
        """A line of whoever asked for the evaluation. Raises ``EOFError``, saying why there is none."""


class Engine(Protocol):
    """An engine, with one session in it. All but ``title`` is for the thread that evaluates."""

    #: For people: ``Mathics3 10.0.1``.
    title: str
    #: What is raised in the thread that evaluates to stop what runs there.
    stops: type
    #: Its definitions, for any thread; ``None`` until it is loaded.
    source: Optional[Source]
    #: Whether the kernel is lost: nothing more can be asked of it.
    is_lost: bool

    def load(self, listener: Listener) -> None:
        """Makes the session ready. It may take long."""

    def pieces(self, text: str) -> Iterator[Piece]:
        """The expressions of a text, which is read to its end first. Raises ``Misread``."""

    def expression(self, piece: Piece) -> Expression:
        """A piece as data, its names as they are read at this moment."""

    def evaluate(self, piece: Piece, of_file: bool = False) -> Optional[Any]:
        """The value; ``None`` for ``Null``. A piece of a file is no input, as in ``Get``: it has no ``$Line``. Raises ``Failed``, ``Aborted``, ``Quit``, or what is in ``stops``."""

    def last_line(self) -> Optional[int]:
        """``$Line`` of the last expression, by which ``Out`` keeps its value. It is 0 before the first, and ``None`` where
        the engine tells none."""

    def neutral(self, value: Any, most: int) -> Expression:
        """The value as data, with so many leaves at most. For any thread."""

    def output_form(self, value: Any) -> Form: ...

    def head(self, value: Any) -> Symbol:
        """What kind of value it is: ``List``, ``Integer``. For any thread."""

    def items(self, value: Any) -> Optional[Tuple[Any, ...]]:
        """The parts of a value; ``None`` of one that has no parts. For any thread."""

    def stored(self, name: str) -> Any:
        """The own value of a symbol, by its full name, as it is stored; ``None`` where it has none. For any thread."""

    def parsed(self, text: str) -> Any:
        """A text as a value that is not evaluated, and in which no symbol was made. Raises ``Misread``."""

    def namespace(self) -> Tuple[str, Tuple[str, ...]]:
        """``$Context`` and ``$ContextPath``."""

    def enter(self, namespace: Tuple[str, Tuple[str, ...]]) -> None:
        """Puts them in force."""

    def close(self) -> None:
        """Ends a session started here, once its files are written. Detaches from any other. May come before ``load``."""


class Failed(Exception):
    """An expression that has no value, by an error that has a name: ``Throw::nocatch``."""

    def __init__(self, name, message):
        super().__init__(message)
        self.name = name
        self.message = message
        #: The ``Piece`` that it happened in, once that is known.
        self.piece = None


class KernelLost(Failed):
    """The kernel has ended, and all that was defined in it is lost. Nothing more can be asked of it."""


class Misread(Failed):
    """A text that is no Wolfram Language; nothing of it was evaluated.

    ``line`` counts from 1, and so does ``column``, where it goes wrong; ``source`` is that line.
    """

    def __init__(self, name, message, line, source=None, column=None):
        super().__init__(name, message)
        self.line = line
        self.source = source
        self.column = column


class Aborted(Exception):
    """What ran was aborted, by itself or from outside."""


class Quit(Exception):
    """What ran has ended the session."""
