"""Names: what they stand for, which there are, and who uses them. Nothing here evaluates, or makes a symbol."""

from collections.abc import Iterable
from difflib import get_close_matches

from imago_wolfram.expressions import SYSTEM, Symbol
from imago_wolfram.source import Source

_MOST_NEAREST = 3
_LIKENESS = 0.8
_LONGEST_GUESSED = 100


def resolved(source: Source, name: str) -> str | None:
    """The full name of a symbol that exists, by the context path and then the context, as the engine finds it."""
    if "`" in name:
        return name if source.exists(name) else None
    for context in (*source.context_path(), source.context()):
        if source.exists(context + name):
            return context + name
    return None


def nearest(source: Source, name: str) -> list[str]:
    """
    Names that may have been meant, as they have to be written here. The same short name in another context comes first;
    for a name with a context, where people have put it.
    """
    if len(name) > _LONGEST_GUESSED:
        return []
    wanted = Symbol(name)
    visible = {*source.context_path(), source.context()}
    names = sorted(source.names())
    same = [one for one in names if one.endswith("`" + wanted.short) and Symbol(one).short == wanted.short]
    if wanted.context:
        found = [one for one in same if not one.startswith(SYSTEM)]
        return _first([*found, *get_close_matches(name, names, _MOST_NEAREST, _LIKENESS)])
    shorts = [Symbol(one).short for one in names if Symbol(one).context in visible]
    return _first([*same, *get_close_matches(name, shorts, _MOST_NEAREST, _LIKENESS)])


def _first(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))[:_MOST_NEAREST]
