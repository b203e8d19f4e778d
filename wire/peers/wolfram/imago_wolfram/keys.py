"""Texts in a definition that look like passwords and keys, and what is shown in their place."""

import re

from imago_wolfram.expressions import Expression, Normal, String, Symbol, system_name

_FORMS = (
    ("aws key", r"A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github token", r"(?:github_pat_\w{22,}|gh[pousr]_[A-Za-z0-9]{30,})"),
    ("gitlab token", r"glpat-[\w-]{16,}"),
    ("slack token", r"x(?:ox[a-z]|app)-[\w-]{10,}"),
    ("stripe key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("api key", r"sk-(?=[A-Za-z_-]{0,64}[0-9])[\w-]{20,256}"),
    ("google key", r"AIza[\w-]{35}"),
    ("npm token", r"npm_[A-Za-z0-9]{36}"),
    ("hugging face token", r"hf_[A-Za-z0-9]{30,}"),
    ("web token", r"eyJ[\w-]{8,}\.[\w-]{8,}[\w.-]*"),
    ("bearer token", r"[Bb]earer[ \t]{1,4}(?=[A-Za-z.~+/=-]{0,64}[0-9])[\w.~+/=-]{16,256}"),
    ("private key", r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s\\:,.()-]*"),
)
_KNOWN = re.compile("|".join(rf"(?<![A-Za-z0-9])({pattern})" for _, pattern in _FORMS))
_URL_PASSWORD = re.compile(r"(?<=://)([^\s/?#@:\"'<>]{0,128}:)([^\s/?#@\"'<>]{1,256})(?=@)")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SECRET_WORDS = frozenset("password passwd passphrase secret credential credentials apikey authorization token".split())
_KEY_OF = frozenset("api private access account secret signing encryption".split())
_LEAST = 6


def is_secret_name(name: str) -> bool:
    """Whether a name, by its last words, is one for a password or a key: `$apiKey`, `dbPassword`."""
    words = [word.lower() for word in _WORD.findall(name[-128:]) if not word.isdigit()]
    if not words:
        return False
    return words[-1] in _SECRET_WORDS or (words[-1] == "key" and len(words) > 1 and words[-2] in _KEY_OF)


def redacted(text: str) -> str:
    """A text with a mark in place of each secret that can be told by its form."""
    text = _URL_PASSWORD.sub(lambda found: found[1] + _mark("password", found[2]), text)
    return _KNOWN.sub(lambda found: _mark(_FORMS[(found.lastindex or 1) - 1][0], found[0]), text)


def _mark(kind: str, secret: str) -> str:
    return f"[redacted: {kind}, {len(secret)} characters]"


class Redactor:
    """Redacts expressions, and counts how many texts that took."""

    def __init__(self) -> None:
        self.count = 0

    def expression(self, expression: Expression, named: bool = False) -> Expression:
        """The expression with marks in it; `named`: it is the value of a name that says secret."""
        match expression:
            case String(value):
                secret = named and len(value) >= _LEAST and not value.isspace()
                shown = _mark("secret", value) if secret else redacted(value)
                self.count += shown != value
                return expression if shown == value else String(shown)
            case Normal(head, (name, value)) if system_name(head) in ("Rule", "RuleDelayed", "Set", "SetDelayed"):
                arguments = (self.expression(name), self.expression(value, _says_secret(name)))
                return expression if arguments == (name, value) else Normal(head, arguments)
            case Normal(head, arguments):
                changed = tuple(self.expression(one) for one in arguments)
                head_too = self.expression(head)
                same = head_too is head and all(one is other for one, other in zip(changed, arguments, strict=True))
                return expression if same else Normal(head_too, changed)
        return expression


def _says_secret(name: Expression) -> bool:
    match name:
        case Symbol():
            return is_secret_name(name.short)
        case String(text):
            return is_secret_name(text)
    return False
