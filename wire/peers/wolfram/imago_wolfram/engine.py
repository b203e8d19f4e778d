"""What a host asks of an engine: to read a text, to evaluate what it read, and to show what that came to."""

from typing import Any, Iterator, NamedTuple, Optional, Protocol, Tuple


class Piece(NamedTuple):
    """One expression of a text: what the engine has read of it, its text, and the line of the text that it begins in."""

    read: Any
    text: str
    line: int


class Form(NamedTuple):
    """A value as a text. ``whole`` is false where parts of it were left out before it was formatted."""

    text: str
    whole: bool


class Head(NamedTuple):
    """What a value is, by the symbol of its head."""

    name: str
    context: str


class Listener(Protocol):
    """Who hears what runs. It is called on the thread that evaluates."""

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

    def load(self, listener: Listener) -> None:
        """Makes the session ready. It may take long."""

    def pieces(self, text: str) -> Iterator[Piece]:
        """The expressions of a text, which is read to its end first. Raises ``Misread``."""

    def evaluate(self, piece: Piece) -> Optional[Any]:
        """The value; ``None`` for ``Null``. Raises ``Failed``, ``Aborted``, ``Quit``, or what ``stops`` says."""

    def input_form(self, value: Any) -> Form: ...

    def output_form(self, value: Any) -> Form: ...

    def head(self, value: Any) -> Head: ...

    def items(self, value: Any) -> Optional[Tuple[Any, ...]]:
        """The parts of a value that has some; ``None`` of one that is whole."""

    def place(self) -> Tuple[str, Tuple[str, ...]]:
        """``$Context`` and ``$ContextPath``."""

    def go(self, place: Tuple[str, Tuple[str, ...]]) -> None:
        """Puts them in force."""


class Failed(Exception):
    """An expression that has no value, by an error that has a name: ``Throw::nocatch``."""

    def __init__(self, name, message):
        super().__init__(message)
        self.name = name
        self.message = message
        #: The ``Piece`` that it happened in, once that is known.
        self.piece = None


class Misread(Failed):
    """A text that is no Wolfram Language; nothing of it was evaluated. ``line`` counts from 1."""

    def __init__(self, name, message, line):
        super().__init__(name, message)
        self.line = line


class Aborted(Exception):
    """What ran was aborted, by itself or from outside."""


class Quit(Exception):
    """What ran has ended the session."""
