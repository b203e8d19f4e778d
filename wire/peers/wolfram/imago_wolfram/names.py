"""Names: what they stand for, which there are, and who uses them. Nothing here evaluates, or makes a symbol."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from imago.looking.outcomes import nearest

from imago_wolfram.brackets import left_open, without_comments
from imago_wolfram.expressions import Budget, Symbol
from imago_wolfram.keys import redacted
from imago_wolfram.printing import NAME_PART
from imago_wolfram.source import Definition, Source

_ESCAPE = r"\\(?:\[[A-Za-z]+\]|:[0-9a-fA-F]{4}|\.[0-9a-fA-F]{2}|\|[0-9a-fA-F]{6})"
ESCAPED = re.compile(rf"(?:{NAME_PART.pattern}|\*|{_ESCAPE})+")
"""A name as files write it, or a pattern of names: some of its characters are escapes, as `\\[Alpha]`."""
_MOST_MEANT = 3
_ALIKE = 0.75
_LONGEST_GUESSED = 100


def resolved(source: Source, name: str) -> str | None:
    """The full name of a symbol that exists, by the context path and then the context, as the engine finds it."""
    if "`" in name:
        return name if source.exists(name) else None
    written = [context + name for context in (*source.context_path(), source.context())]
    source.learn(written)
    return next((one for one in written if source.exists(one)), None)


def meant(source: Source, name: str) -> list[str]:
    """
    Likely names, as this session writes them. First the same short name in other contexts; for a qualified name, only
    where people defined it, or the context looks alike. What the engine itself only mentions elsewhere is none.
    """
    if len(name) > _LONGEST_GUESSED:
        return []
    wanted = Symbol(name)
    visible = {*source.context_path(), source.context()}
    names = sorted(source.names())
    same = [one for one in names if one.endswith("`" + wanted.short) and Symbol(one).short == wanted.short]
    if wanted.context:
        alike = nearest(wanted.context, [Symbol(one).context for one in same], _ALIKE)
        found = [one for one in same if Symbol(one).context in alike or _is_peoples(source, one)]
        # A long context that is right makes any two names in it look alike.
        likely = [one for one in _likely(name, names) if nearest(wanted.short, [Symbol(one).short], _ALIKE)]
        return _first([*found, *likely])
    shorts = [Symbol(one).short for one in names if Symbol(one).context in visible]
    found = [one for one in same if not source.is_builtin(one) or one in source.defined([one])]
    return _first([*found, *_likely(name, shorts)])


def _likely(name: str, names: Iterable[str]) -> list[str]:
    """Those that look alike; where some differ in nothing but capitals, these."""
    found = nearest(name, names, _ALIKE)
    return [one for one in found if one.casefold() == name.casefold()] or found


def _first(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))[:_MOST_MEANT]


# Which names there are.

Kind = Literal["function", "variable", "constant"]
SESSION = frozenset(("System`", "System`Private`", "Internal`", "Settings`"))
"""Contexts in which an engine keeps values of its own beside those of people."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one line says of a symbol, besides its name."""

    kind: Kind
    usage: str | None
    """The first line of its usage message."""


def kind_of(definition: Definition) -> Kind:
    """What a symbol is there for, by the values that it has."""
    kinds = {rule.kind for rule in definition.rules} | definition.code
    if {"down", "sub"} & kinds:
        return "function"
    if "own" in kinds:
        return "variable"
    return "constant" if definition.attributes & {"Constant", "Protected"} else "variable"


def about(source: Source, name: str) -> Summary | None:
    """None where there is no such symbol."""
    definition = source.definition(name, Budget(500))
    if definition is None:
        return None
    return Summary(kind_of(definition), usage(definition).partition("\n")[0] or None)


def usage(definition: Definition) -> str:
    """The whole of its usage message, redacted; empty where it has none."""
    return redacted(definition.messages.get("usage") or "").strip()


def defined(source: Source) -> list[str]:
    """The symbols that people have defined, sorted."""
    return sorted(source.defined(name for name in source.names() if not source.is_builtin(name)))


def _is_peoples(source: Source, name: str) -> bool:
    return not source.is_builtin(name) and name in source.defined([name])


def is_local(name: str) -> bool:
    """Whether a symbol has a name like those that `Module` makes: `x$12`. Lists leave them out until a `$` is typed."""
    return _LOCAL.search(name) is not None


_LOCAL = re.compile(r"[^`]\$\d+$")


def contexts(source: Source) -> dict[str, int]:
    """By context, sorted, how many symbols it has."""
    counts: dict[str, int] = {}
    for name in source.names():
        context = Symbol(name).context
        counts[context] = counts.get(context, 0) + 1
    return dict(sorted(counts.items()))


def in_context(source: Source, context: str, inner: bool = False) -> list[str]:
    """The symbols of a context, sorted; `inner`: those of the contexts below it, too."""
    below = context if context.endswith("`") else context + "`"
    if inner:
        return sorted(name for name in source.names() if name.startswith(below))
    return sorted(name for name in source.names() if Symbol(name).context == below)


def apropos(source: Source, part: str, context: str = "") -> list[str]:
    """
    The symbols whose name contains this part, or matches it where it has a `*`, whatever the case. Those that people made
    come first. `context` keeps to a context and those below it.
    """
    pieces = part.casefold().split("*")
    whole = "`" in part

    def fits(name: str) -> bool:
        return _fits((name if whole else Symbol(name).short).casefold(), pieces)

    found = (name for name in source.names() if name.startswith(context) and fits(name))
    return sorted(found, key=lambda name: (source.is_builtin(name), Symbol(name).short.casefold(), name))


def _fits(name: str, pieces: list[str]) -> bool:
    """One piece: the name contains it. Several: the parts around each `*`, in order."""
    if len(pieces) == 1:
        return pieces[0] in name
    first, *inner, last = pieces
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    at, end = len(first), len(name) - len(last)
    for piece in inner:
        at = name.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


@dataclass(frozen=True, slots=True)
class Completions:
    """What a name at the end of a text may go on to be; `begin` is where that name begins."""

    begin: int
    names: list[str]


def completions(source: Source, text: str) -> Completions:
    """Names as they may be written here: short where the context is on the path. Those that people made come first."""
    begin = begin_of_name(text)
    prefix = text[begin:]
    names = source.names()
    if "`" in prefix:
        fitting = [name for name in names if name.startswith(prefix)]
    else:
        visible = {*source.context_path(), source.context()}
        short = [name for name in names if Symbol(name).context in visible and Symbol(name).short.startswith(prefix)]
        fitting = short if prefix else [name for name in short if not source.is_builtin(name)]
    if "$" not in prefix:
        fitting = [name for name in fitting if not is_local(name)]
    fitting.sort(key=lambda name: (source.is_builtin(name), name))
    offered = fitting if "`" in prefix else [Symbol(name).short for name in fitting]
    return Completions(begin, list(dict.fromkeys(offered)))


def begin_of_name(text: str) -> int:
    """Where the name begins that a text ends with; its end where there is none."""
    found = _AT_END.search(text, max(0, len(text) - _LONGEST_GUESSED * 2))
    begin = len(text) if found is None else found.start()
    while begin < len(text) and text[begin] in "0123456789`":
        begin += 1
    return begin


_AT_END = re.compile(rf"(?:{NAME_PART.pattern}|{_ESCAPE})+\Z")


def inside(text: str) -> str | None:
    """What the end of a text is in, if no name can stand there."""
    mark, _ = left_open(without_comments(text))
    if mark in ("the string", "the comment"):
        return mark.replace("the", "a")
    return "the name of a character" if _IN_CHARACTER.search(text) else None


_IN_CHARACTER = re.compile(r"\\(?:\[[A-Za-z]*|:[0-9a-fA-F]{0,3})\Z")
