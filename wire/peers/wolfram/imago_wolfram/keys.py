"""Texts in a definition that look like passwords and keys, and what is shown in their place.

Their forms and names are those of `imago.redaction`.
"""

from imago.redaction import mark, redacted, secret_named, tells_nothing

from imago_wolfram.expressions import Expression, Normal, String, Symbol, system_name

_NAMING = frozenset(("Rule", "RuleDelayed", "Set", "SetDelayed", "Optional"))
_HOLDING = frozenset(("List", "Association"))


class Redactor:
    """Redacts expressions, and counts how many texts that took."""

    def __init__(self) -> None:
        self.count = 0

    def text(self, text: str) -> str:
        shown = redacted(text)
        self.count += shown != text
        return shown

    def expression(self, expression: Expression, kind: str | None = None) -> Expression:
        """The expression with marks in it. `kind` is of a secret whose name it is the value of, alone or in a list."""
        match expression:
            case String(value):
                if kind is None or tells_nothing(value, kind):
                    shown = self.text(value)
                else:
                    shown = mark(kind, value)
                    self.count += 1
                return expression if shown == value else String(shown)
            case Normal(head, (name, value)) if system_name(head) in _NAMING:
                arguments = (self.expression(name), self.expression(value, said_by(name) or kind))
                return expression if arguments == (name, value) else Normal(head, arguments)
            case Normal(head, arguments):
                inside = kind if system_name(head) in _HOLDING else None
                changed = tuple(self.expression(one, inside) for one in arguments)
                head_too = self.expression(head)
                same = head_too is head and all(one is other for one, other in zip(changed, arguments, strict=True))
                return expression if same else Normal(head_too, changed)
        return expression


def said_by(name: Expression) -> str | None:
    """The kind of secret that stands under a name, a text, or a call with such an argument, as `config["password"]`."""
    match name:
        case Symbol():
            return secret_named(name.short)
        case String(text):
            return secret_named(text)
        case Normal(head, (Symbol() as bound, _)) if system_name(head) == "Pattern":
            return secret_named(bound.short)
        case Normal(head, arguments):
            keys = (one for one in arguments if isinstance(one, Symbol | String) and not system_name(head))
            return said_by(head) or next(filter(None, map(said_by, keys)), None)
    return None
