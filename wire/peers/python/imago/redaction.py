"""Texts that look like passwords and keys, and what is shown in their place.

The journal knows the same forms and names, in ``src/journal/redaction.ts``; neither side can import the other. The tests
of both read ``test/journal/secrets.json``. What a text gives to a name is looked for here in quotes only.
"""

import re

_FORMS = (
    ('aws key', r'A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])'),
    ('github token', r'(?:github_pat_\w{22,}|gh[pousr]_[A-Za-z0-9]{30,})'),
    ('gitlab token', r'gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w-]{16,}'),
    ('slack token', r'x(?:ox[a-z]|app)-[\w-]{10,}'),
    ('stripe key', r'[rs]k_(?:live|test)_[A-Za-z0-9]{10,}'),
    ('api key', r'sk-(?=[A-Za-z_-]{0,255}[0-9])[\w-]{20,256}'),
    ('google key', r'AIza[\w-]{35}'),
    ('google token', r'ya29\.[\w-]{20,}'),
    ('npm token', r'npm_[A-Za-z0-9]{36}'),
    ('pypi token', r'pypi-[\w-]{50,}'),
    ('hugging face token', r'hf_[A-Za-z0-9]{30,}'),
    ('bearer token', r'(?i:bearer)[ \t]{1,4}(?=[A-Za-z_.~+/=-]{0,255}[0-9])[\w.~+/=-]{16,256}'),
)
_KEY_BODY = r'[A-Za-z0-9+/=\s\\:,\"\'.()-]*'
_KEY_LINE = r'[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----'
_LONG_FORMS = (
    ('web token', r'(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}[\w.-]*'),
    ('private key', r'-----BEGIN %s(?:%s?-----END %s|%s)' % (_KEY_LINE, _KEY_BODY, _KEY_LINE, _KEY_BODY)),
)
_KNOWN = re.compile(
    '|'.join(
        [r'(?<![A-Za-z0-9])(%s[\w-]*)' % pattern for _, pattern in _FORMS] + ['(%s)' % pattern for _, pattern in _LONG_FORMS]
    ),
    re.ASCII,
)
_KINDS = [kind for kind, _ in _FORMS + _LONG_FORMS]
#: One of these is in every text that has a known form in it: to look for them is far faster than for the forms.
_BEGINNINGS = tuple(
    'AKIA ASIA github_pat_ ghp_ gho_ ghu_ ghs_ ghr_ gl xox xapp- k_live_ k_test_ sk- AIza ya29. npm_ pypi- hf_ eyJ '
    '-----BEGIN'.split()
)
_URL_PASSWORD = re.compile(r'(://[^\s/?#@:\"\'`<>\\]*:)([^\s/?#@\"\'`<>\\]+)(?=@)')
_PLACEHOLDER = re.compile(
    r'(?:(?:bearer|basic|token) *)?'
    r'(?:\{[^{}]*\}|\$\{[^{}]*\}|\$\w*|%s|%\(\w*\)s|<[^<>]*>|\*+|\.\.\.|…'
    r'|\[redacted: [a-z ]{1,40}, \d{1,12} characters\])?',
    re.ASCII | re.IGNORECASE,
)

_SECRET_WORD = re.compile(
    r'((?:password|passwd|passphrase|secret|credential|cookie|authorization|apikey|privatekey|accesskey|accountkey))s?\d*$'
    r'|(token)\d*$'
)
_KEY_OF = frozenset('api private access account secret signing encryption'.split())
#: A name that ends so speaks of a secret and holds none: ``token_count``, ``passwordField``.
_SPEAKS_OF = frozenset(
    (
        'count counts limit limits type types kind url uri endpoint name names id ids file path dir folder field fields '
        'length len size min max policy expiry expires ttl env header headers prompt reset form input label hint '
        'provider store class error errors regex pattern required enabled index position budget usage cost rate jar '
        'key algorithm hash salt bytes chars list map set table column'
    ).split()
)
_KIND_OF_WORD = {
    'passwd': 'password',
    'apikey': 'api key',
    'privatekey': 'private key',
    'accesskey': 'access key',
    'accountkey': 'account key',
}
_LONGEST_NAME = 128
_LEAST_TOKEN = 8

_MAY_NAME = tuple('passw passphrase secret token credential cookie authorization key'.split())
#: ``password='…'``, ``"api_key": "…"``; a text that was cut has no closing quote.
_ASSIGNED = re.compile(
    r'(?<![\w-])(?P<name>[A-Za-z_][\w-]{0,127})(?P<between>\\?["\']?\]?\s{0,8}[:=]\s{0,8}[a-zA-Z]{0,2}\\?(?P<quote>["\']))'
    r'(?P<value>(?:\\.|(?!(?P=quote))[^\\\n]){1,4096})',
    re.ASCII,
)


def secret_named(name):
    """The kind of secret that stands under a name, as ``api_key`` or ``dbPassword``; ``None`` where it does not say so."""
    if len(name) > _LONGEST_NAME:
        return None
    words = [word for word in re.split(r'[^a-z0-9]+', re.sub(r'([a-z0-9])([A-Z])', r'\1 \2', name).lower()) if word]
    speaks = bool(words) and words[-1] in _SPEAKS_OF
    for before, word in zip(['', *words], words):
        if word == 'key' and before in _KEY_OF and (word == words[-1] or not speaks):
            return '%s key' % before
        match = _SECRET_WORD.search(word)
        if match is not None and not speaks:
            stem = match[1] or match[2]
            return _KIND_OF_WORD.get(stem, stem)
    return None


def redacted(text):
    """A text with a mark in place of each secret that can be told by its form."""
    if '://' in text:
        text = _URL_PASSWORD.sub(_without_password, text)
    if any(beginning in text for beginning in _BEGINNINGS) or 'bearer' in text.lower():
        text = _KNOWN.sub(lambda found: mark(_KINDS[(found.lastindex or 1) - 1], found[0]), text)
    return text


def redacted_with_names(text):
    """The same, also of each secret that the text itself gives to a name that says so, in quotes."""
    lower = text.lower()
    if any(word in lower for word in _MAY_NAME):
        text = _ASSIGNED.sub(_without_value, text)
    return redacted(text)


def tells_nothing(value, kind):
    """What stands where a secret will be; and the tokens of parsers, which are short, or words."""
    if _PLACEHOLDER.fullmatch(value) or value.isspace():
        return True
    return kind in ('token', 'cookie') and (len(value) < _LEAST_TOKEN or re.search(r'\s', value[:16]) is not None)


def mark(kind, secret):
    return '[redacted: %s, %d characters]' % (kind, len(secret))


def _without_password(found):
    before, password = found.groups()
    return before + (password if _PLACEHOLDER.fullmatch(password) else mark('password in a URL', password))


def _without_value(found):
    kind = secret_named(found['name'])
    if kind is None or tells_nothing(found['value'], kind):
        return found[0]
    return found['name'] + found['between'] + mark(kind, found['value'])
