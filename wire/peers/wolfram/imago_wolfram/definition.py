"""The definitions of symbols as markdown: read from what an engine stores, printed by ourselves."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from imago_wolfram.expressions import SYSTEM, Expression, Symbol, parts, system
from imago_wolfram.keys import Redactor, said_by
from imago_wolfram.layout import BREAK, Document, concat, fits_flat, nest, render
from imago_wolfram.names import meant, resolved
from imago_wolfram.printing import Printer, called, is_name, variables, visible
from imago_wolfram.source import CodeKind, Definition, Rule, RuleKind, Source

WIDTH = 120
"""Columns that a definition is printed in."""
ON_ONE_LINE = 60
"""Longer definitions have their right side on lines of its own."""
LONGEST_NAME = 4096
KERNEL_FUNCTION = "<kernel function>"

Section = Literal["usage", "options", "attributes", "dependencies", "place", "json"]
SECTIONS: tuple[Section, ...] = ("usage", "options", "attributes", "dependencies", "place")
"""Those that stand behind a definition; `json` stands in its place."""

_RULES_IN_ORDER: tuple[RuleKind, ...] = ("default", "own", "down", "sub", "up", "n", "format")
_PLACEHOLDERS: tuple[tuple[CodeKind, str], ...] = (
    ("down", "{}[___]"),
    ("own", "{}"),
    ("sub", "{}[___][___]"),
    ("up", "_[___, {}, ___]"),
    ("print", "Format[{}, _]"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What callers cannot choose."""

    formatter_seconds: float = 5.0
    """As long as the formatter may take for one symbol; then plain input form is given."""
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Found:
    """One name that was asked for, and what is known of it. `text` is the `whole` one, cut where that was too long."""

    asked: str
    status: Literal["defined", "undefined", "locked", "missing", "invalid"]
    qualified: str | None = None
    text: str = ""
    whole: str = ""
    contexts: dict[str, list[str]] = field(default_factory=dict)
    definition: Definition = Definition()
    usage: str | None = None
    options: str = "{}"
    dependencies: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()
    """Those of the dependencies that are only mentioned: what calls them stays as it is."""
    redacted: int = 0
    redacted_usage: int = 0
    nearest: tuple[str, ...] = ()
    place: Mapping[str, Any] | None = None
    """`file`, `line` and `end_line`, where it was defined from a file."""
    plain: bool = False
    """The formatter took too long."""

    @property
    def total(self) -> int:
        return len(self.whole)

    @property
    def heading(self) -> str:
        """The short name; of what is no name, what stands in its place."""
        short = self.asked.rpartition("`")[2]
        return visible(short or self.asked)


def read(source: Source, name: str, max_length: int = 10_000, *, settings: Settings = Settings()) -> Found:
    """What is known of a name. `max_length` is of its definition, in characters, 1 or more."""
    if max_length < 1:
        raise ValueError("max_length is 1 or more")
    name = name.strip()
    if len(name) > LONGEST_NAME or not is_name(name):
        return Found(name, "invalid")
    full = resolved(source, name)
    definition = source.definition(full) if full is not None else None
    if full is None or definition is None:
        return Found(name, "missing", nearest=tuple(meant(source, name)))
    if {"Locked", "ReadProtected"} <= definition.attributes:
        return Found(name, "locked", full)
    redactor, of_usage = Redactor(), Redactor()
    definition = without_secrets(definition, redactor)
    scope = Scope(source, full, definition)
    dependencies = scope.dependencies()
    text, plain = _printed(scope, definition, settings)
    for form in _placeholders(scope, definition):
        text += ("\n\n" if text else "") + form
    return Found(
        name,
        "defined" if text else "undefined",
        full,
        text=text if len(text) <= max_length else _cut(text, max_length),
        whole=text,
        contexts=scope.contexts(),
        definition=definition,
        usage=of_usage.text(definition.messages.get("usage", "")) or None,
        options=render(Printer(scope.shown).text(_as_list(definition.options)), WIDTH),
        dependencies=dependencies,
        undefined=scope.undefined(dependencies),
        redacted=redactor.count,
        redacted_usage=of_usage.count,
        plain=plain,
    )


def _cut(text: str, length: int) -> str:
    return f"{text[:length]}\n... [truncated, showing {length}/{len(text)} characters]"


def _as_list(options: Iterable[tuple[Expression, Expression]]) -> Expression:
    return system("List", *(system("Rule", name, value) for name, value in options))


def without_secrets(definition: Definition, redactor: Redactor) -> Definition:
    """The same but for the texts in its rules and options that look like secrets."""
    rules = tuple(
        Rule(
            rule.kind,
            redactor.expression(rule.pattern),
            redactor.expression(rule.value, said_by(called(rule.pattern))),
            rule.form,
        )
        for rule in definition.rules
    )
    options = redactor.expression(_as_list(definition.options))
    pairs = tuple(one.arguments for one in options.arguments)  # type: ignore[union-attr]
    return Definition(
        definition.attributes,
        rules,
        pairs,  # type: ignore[arg-type]
        definition.messages,
        definition.code,
        definition.left_out,
    )


class Scope:
    """
    The names of one definition: which can be written short if all contexts were on the path, and the context of each.
    """

    def __init__(self, source: Source, name: str, definition: Definition):
        self._source = source
        self.symbol = Symbol(name)
        self.is_builtin = source.is_builtin(name)
        sides = [side for rule in definition.rules for side in (rule.pattern, rule.value)]
        for rule in definition.rules:
            if rule.kind == "format":
                sides += [Symbol(SYSTEM + "Format"), *([rule.form] if rule.form else [])]
        if not (definition.code and self.is_builtin):
            sides += [side for option in definition.options for side in option]
        self._names = {name: None} | {
            part.name: None for side in sides for part in parts(side) if isinstance(part, Symbol)
        }
        self._bound = variables(sides)
        self._option_names = {option.name for option, _ in definition.options if isinstance(option, Symbol)}
        contexts = dict.fromkeys(["Global`", SYSTEM, *(Symbol(one).context for one in self._names)])
        # The specification's order but for the first two: a helper with the name of the symbol itself, or of a builtin,
        # would read as that.
        self.path = tuple(dict.fromkeys([self.symbol.context, SYSTEM, *reversed(contexts)]))
        source.learn(context + Symbol(one).short for one in self._names for context in self.path)
        self._short: dict[str, str] = {}
        self._written: dict[str, None] = {name: None}

    def shown(self, symbol: Symbol) -> str:
        """The name as it is written; that it was is remembered."""
        self._written[symbol.name] = None
        if symbol.name not in self._short:
            self._short[symbol.name] = symbol.short if self._owner(symbol.short) == symbol.name else symbol.name
        return self._short[symbol.name]

    def _owner(self, short: str) -> str | None:
        """What a short name stands for on the path."""
        for context in self.path:
            if context + short in self._names or self._source.exists(context + short):
                return context + short
        return None

    def contexts(self) -> dict[str, list[str]]:
        """By context, the names that were written and that nothing binds; a longer name before its own prefix."""
        found: dict[str, set[str]] = {}
        for name in self._written:
            if name == self.symbol.name or name not in self._bound:
                found.setdefault(Symbol(name).context, set()).add(Symbol(name).short)
        return {context: sorted(found[context], key=_longer_first) for context in sorted(found, key=_longer_first)}

    def dependencies(self) -> tuple[str, ...]:
        """The symbols that it uses and that the engine has not brought; sorted."""
        others = self._names.keys() - self._bound - self._option_names - {self.symbol.name}
        return tuple(sorted(name for name in others if not self._is_brought(name)))

    def _is_brought(self, name: str) -> bool:
        # Mathics makes a symbol only when it evaluates it, and until then nobody has brought it.
        return self._source.exists(name) and self._source.is_builtin(name)

    def undefined(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of them that are no more than mentioned."""
        defined = self._source.defined(names)
        return tuple(name for name in names if name not in defined)


def _longer_first(name: str) -> tuple[str, str]:
    return name.casefold() + "\U0010ffff", name


class _TooSlow(Exception):
    pass


def _printed(scope: Scope, definition: Definition, settings: Settings) -> tuple[str, bool]:
    """What can be read of a definition, and whether it is plain, because laying it out took too long."""
    until = settings.clock() + settings.formatter_seconds
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks % 64 == 1 and settings.clock() > until:
            raise _TooSlow

    try:
        return _statements(scope, definition, Printer(scope.shown, tick), WIDTH), False
    except _TooSlow:
        return _statements(scope, definition, Printer(scope.shown, plain=True), None), True


def _statements(scope: Scope, definition: Definition, printer: Printer, width: int | None) -> str:
    shown = scope.shown(scope.symbol)
    found = []
    if definition.attributes:
        found.append(f"Attributes[{shown}] = {{{', '.join(sorted(definition.attributes))}}}")
    for kind in _RULES_IN_ORDER:
        found += [statement(scope, rule, printer, width) for rule in definition.rules if rule.kind == kind]
    if definition.options and not (definition.code and scope.is_builtin):
        options = printer.text(_as_list(definition.options))
        found.append(render(concat(f"Options[{shown}] = ", options), width))
    if definition.left_out:
        found.append(f"(* {definition.left_out} rules more *)")
    return "\n\n".join(found)


def statement(scope: Scope, rule: Rule, printer: Printer, width: int | None) -> str:
    pattern = rule.pattern
    if rule.kind == "format":
        pattern = system("Format", pattern, *([rule.form] if rule.form else []))
    tag = scope.symbol if rule.kind == "up" else None
    left, right = printer.statement(tag, pattern, rule.value)
    whole: Document = concat(left, " := ", right)
    if width is not None and not fits_flat(whole, ON_ONE_LINE):
        whole = concat(left, " :=", nest(BREAK, right))
    return render(whole, width)


def _placeholders(scope: Scope, definition: Definition) -> Iterable[str]:
    for kind, form in _PLACEHOLDERS:
        if kind in definition.code:
            yield f"{form.format(scope.shown(scope.symbol))} := {KERNEL_FUNCTION}"


def markdown(found: Found, include_context_details: bool = False, include: Sequence[Section] = ()) -> str:
    """One name under its heading. With `json` it is data, whatever else is asked for."""
    blocks = [f"# {found.heading}"]
    if "json" in include:
        data = json.dumps(structured(found), ensure_ascii=False, indent=2)
        return f"{blocks[0]}\n\n{fenced('json', data)}"
    match found.status:
        case "invalid":
            shown = visible(found.asked)
            is_handle = found.asked.startswith("@")
            blocks.append(f"Error: {shown} names a value: inspect it" if is_handle else f'Error: Invalid symbol name "{shown}"')
        case "missing":
            blocks.append(f'Error: Symbol "{visible(found.asked)}" does not exist')
            if found.nearest:
                blocks.append(f"Did you mean {' or '.join(found.nearest)}?")
        case "locked":
            blocks.append(f"Error: {found.heading} is `Locked` and `ReadProtected`")
        case "undefined":
            blocks.append("No definitions found")
            blocks += _sections(found, include)
        case "defined":
            blocks += ["## Definition", fenced("wl", found.text)]
            if found.redacted:
                blocks.append(_redaction_note(found.redacted))
            blocks += _sections(found, include)
            if include_context_details:
                blocks += ["## Contexts", fenced("json", contexts_json(found.contexts))]
    return "\n\n".join(blocks)


def _redaction_note(count: int) -> str:
    texts = "1 text that looks like a secret is" if count == 1 else f"{count} texts that look like secrets are"
    return f"{texts} redacted."


def _sections(found: Found, include: Sequence[Section]) -> Iterable[str]:
    for section in SECTIONS:
        if section not in include:
            continue
        yield f"## {section.capitalize()}"
        match section:
            case "usage":
                yield fenced("text", found.usage) if found.usage else "None."
                if found.redacted_usage:
                    yield _redaction_note(found.redacted_usage)
            case "options":
                yield fenced("wl", found.options)
            case "attributes":
                yield fenced("wl", "{" + ", ".join(sorted(found.definition.attributes)) + "}")
            case "dependencies":
                yield fenced("json", json.dumps(found.dependencies, ensure_ascii=False))
                if found.undefined:
                    yield f"Not defined: {', '.join(map(visible, found.undefined))}"
            case "place":
                yield fenced("text", _lines(found.place)) if found.place else "None."


def _lines(place: Mapping[str, Any]) -> str:
    last = "" if place["end_line"] == place["line"] else f"-{place['end_line']}"
    return f"{visible(place['file'], LONGEST_NAME)}:{place['line']}{last}"


def fenced(language: str, text: str) -> str:
    """A text in a fence that it cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def contexts_json(contexts: dict[str, list[str]]) -> str:
    """One line for each context."""
    lines = (
        f"  {json.dumps(context, ensure_ascii=False)}: {json.dumps(names, ensure_ascii=False)}"
        for context, names in contexts.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}"


def structured(found: Found) -> dict[str, object]:
    """One name as JSON: what the markdown says, and what it may leave out."""
    facts: dict[str, object] = {"symbol": visible(found.asked), "status": found.status}
    if found.status == "missing":
        facts["nearest"] = list(found.nearest)
    if found.qualified is not None:
        facts["qualified"] = found.qualified
    if found.status in ("defined", "undefined"):
        facts |= {
            "definition": found.text,
            "characters": found.total,
            "form": "input" if found.plain else "readable",
            "attributes": sorted(found.definition.attributes),
            "kernel_code": sorted(found.definition.code),
            "options": found.options,
            "usage": found.usage,
            "dependencies": list(found.dependencies),
            "undefined": list(found.undefined),
            "contexts": found.contexts,
            "redacted": found.redacted + found.redacted_usage,
            **(found.place or {"file": None, "line": None, "end_line": None}),
        }
    return facts
