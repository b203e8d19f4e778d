"""Texts in a definition that look like passwords and keys, and what is shown in their place.

The journal knows the same forms and names, in `src/journal/redaction.ts`; neither side can import the other. The tests of
both read `test/journal/secrets.json`. What a text gives to a name, as in `"password=…"`, only the journal looks for.
"""

import re

from imago_wolfram.expressions import Expression, Normal, String, Symbol, system_name

_FORMS = (
    ("aws key", r"A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github token", r"(?:github_pat_\w{22,}|gh[pousr]_[A-Za-z0-9]{30,})"),
    ("gitlab token", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w-]{16,}"),
    ("slack token", r"x(?:ox[a-z]|app)-[\w-]{10,}"),
    ("stripe key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("api key", r"sk-(?=[A-Za-z_-]{0,255}[0-9])[\w-]{20,256}"),
    ("google key", r"AIza[\w-]{35}"),
    ("google token", r"ya29\.[\w-]{20,}"),
    ("npm token", r"npm_[A-Za-z0-9]{36}"),
    ("pypi token", r"pypi-[\w-]{50,}"),
    ("hugging face token", r"hf_[A-Za-z0-9]{30,}"),
    ("bearer token", r"(?i:bearer)[ \t]{1,4}(?=[A-Za-z_.~+/=-]{0,255}[0-9])[\w.~+/=-]{16,256}"),
)
_KEY_BODY = r"[A-Za-z0-9+/=\s\\:,\"'.()-]*"
_KEY_LINE = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_LONG_FORMS = (
    ("web token", r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}[\w.-]*"),
    ("private key", rf"-----BEGIN {_KEY_LINE}(?:{_KEY_BODY}?-----END {_KEY_LINE}|{_KEY_BODY})"),
)
_KNOWN = re.compile(
    "|".join(
        [rf"(?<![A-Za-z0-9])({pattern}[\w-]*)" for _, pattern in _FORMS]
        + [f"({pattern})" for _, pattern in _LONG_FORMS]
    ),
    re.ASCII,
)
_KINDS = [kind for kind, _ in _FORMS + _LONG_FORMS]
_URL_PASSWORD = re.compile(r"(://[^\s/?#@:\"'`<>\\]*:)([^\s/?#@\"'`<>\\]+)(?=@)")
_PLACEHOLDER = re.compile(
    r"(?:(?:bearer|basic|token) *)?"
    r"(?:\{[^{}]*\}|\$\{[^{}]*\}|\$\w*|%s|%\(\w*\)s|<[^<>]*>|\*+|\.\.\.|…"
    r"|\[redacted: [a-z ]{1,40}, \d{1,12} characters\])?",
    re.ASCII | re.IGNORECASE,
)

_SECRET_WORD = re.compile(
    r"((?:password|passwd|passphrase|secret|credential|cookie|authorization|apikey|privatekey|accesskey|accountkey))s?\d*$"
    r"|(token)\d*$"
)
_KEY_OF = frozenset("api private access account secret signing encryption".split())
_SPEAKS_OF = frozenset(
    (
        "count counts limit limits type types kind url uri endpoint name names id ids file path dir folder field fields "
        "length len size min max policy expiry expires ttl env header headers prompt reset form input label hint "
        "provider store class error errors regex pattern required enabled index position budget usage cost rate jar "
        "key algorithm hash salt bytes chars list map set table column"
    ).split()
)
"""A name that ends so speaks of a secret and holds none: `tokenCount`, `passwordField`."""
_KIND_OF_WORD = {
    "passwd": "password",
    "apikey": "api key",
    "privatekey": "private key",
    "accesskey": "access key",
    "accountkey": "account key",
}
_LONGEST_NAME = 128
_LEAST_TOKEN = 8

_NAMING = frozenset(("Rule", "RuleDelayed", "Set", "SetDelayed", "Optional"))
_HOLDING = frozenset(("List", "Association"))


def secret_named(name: str) -> str | None:
    """The kind of secret that stands under a name, as `$apiKey` or `dbPassword`; None where the name does not say so."""
    if len(name) > _LONGEST_NAME:
        return None
    words = [word for word in re.split(r"[^a-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).lower()) if word]
    speaks = bool(words) and words[-1] in _SPEAKS_OF
    for before, word in zip(["", *words], words):
        if word == "key" and before in _KEY_OF and (word == words[-1] or not speaks):
            return f"{before} key"
        match = _SECRET_WORD.search(word)
        if match is not None and not speaks:
            stem = match[1] or match[2]
            return _KIND_OF_WORD.get(stem, stem)
    return None


def redacted(text: str) -> str:
    """A text with a mark in place of each secret that can be told by its form."""
    text = _URL_PASSWORD.sub(_without_password, text)
    return _KNOWN.sub(lambda found: _mark(_KINDS[(found.lastindex or 1) - 1], found[0]), text)


def _without_password(found: re.Match[str]) -> str:
    before, password = found.groups()
    return before + (password if _PLACEHOLDER.fullmatch(password) else _mark("password in a URL", password))


def _mark(kind: str, secret: str) -> str:
    return f"[redacted: {kind}, {len(secret)} characters]"


def _tells_nothing(value: str, kind: str) -> bool:
    """What stands where a secret will be; and the tokens of parsers, which are short, or words."""
    if _PLACEHOLDER.fullmatch(value) or value.isspace():
        return True
    return kind in ("token", "cookie") and (len(value) < _LEAST_TOKEN or re.search(r"\s", value[:16]) is not None)


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
                if kind is None or _tells_nothing(value, kind):
                    shown = self.text(value)
                else:
                    shown = _mark(kind, value)
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
