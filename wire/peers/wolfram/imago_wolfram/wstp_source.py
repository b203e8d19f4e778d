"""The definitions of a licensed kernel, asked for over the link, and kept until the next evaluation begins."""

from collections.abc import Callable, Iterable
from typing import Any

from imago_wolfram.expressions import MOST_NODES, SYSTEM, Budget, Symbol
from imago_wolfram.printing import is_name
from imago_wolfram.source import Definition, definition_from_json

Ask = Callable[..., dict[str, Any]]
ENGINE = (SYSTEM, "Internal`", "Developer`", "PacletManager`")
"""The engine's own contexts, with those below them."""


class WstpSource:
    """
    A `Source`. `ask(call, **parameters)` asks the kernel; it raises `Busy` while an evaluation runs, and then only what
    is known already is answered. The kernel answers with texts: no name is looked up by making its symbol.
    """

    def __init__(self, ask: Ask, contexts: Iterable[str], namespace: tuple[str, tuple[str, ...]]):
        self._ask = ask
        #: Contexts that were there before the package was. All but that of the session are the engine's, and so are
        #: `ENGINE`, in which it loads more as it is needed.
        self._brought = frozenset(contexts) - {"Global`"}
        #: `$Context` and `$ContextPath`, as every answer to an evaluation tells them.
        self.namespace = namespace
        self._existing: dict[str, bool] = {}
        self._definitions: dict[tuple[str, int], Definition | None] = {}
        self._names: list[str] | None = None

    def forget(self) -> None:
        """An evaluation begins. It may change all but which names the engine itself has."""
        self._existing = {name: True for name, there in self._existing.items() if there and name.startswith(SYSTEM)}
        self._definitions = {}
        self._names = None

    def context(self) -> str:
        return self.namespace[0]

    def context_path(self) -> tuple[str, ...]:
        return self.namespace[1]

    def exists(self, name: str) -> bool:
        # In NameQ `*` and `@` would stand for other letters.
        if not is_name(name):
            return False
        if name not in self._existing:
            self._learn([name])
        return self._existing[name]

    def learn(self, names: Iterable[str]) -> None:
        """They are asked for at once."""
        self._learn([name for name in sorted(set(names)) if name not in self._existing and is_name(name)])

    def _learn(self, names: list[str]) -> None:
        if names:
            answer = self._ask("exist", names=names)
            self._existing.update(zip(names, map(bool, answer["exist"])))

    def defined(self, names: Iterable[str]) -> set[str]:
        wanted = sorted(name for name in set(names) if is_name(name))
        if not wanted:
            return set()
        found = self._ask("defined", names=wanted)["defined"]
        return {name for name, is_defined in zip(wanted, found) if is_defined is True}

    def names(self) -> Iterable[str]:
        if self._names is None:
            answer = self._ask("names")
            names = [one for text in answer["names"] if isinstance(text, str) for one in text.split()]
            self._names = [one if "`" in one else SYSTEM + one for one in names]
        return self._names

    def is_builtin(self, name: str) -> bool:
        """By its context: whether somebody has added to a symbol of the engine is not seen."""
        context = Symbol(name).context
        return context in self._brought or context.startswith(ENGINE)

    def definition(self, name: str, budget: Budget | None = None) -> Definition | None:
        if not is_name(name):
            return None
        most = (budget or Budget()).left
        known = name, min(most, MOST_NODES)
        if known not in self._definitions:
            answer = self._ask("definition", name=name, most=known[1])
            missing = answer.get("missing") is True
            self._definitions[known] = None if missing else definition_from_json(answer, Budget(most))
        return self._definitions[known]
