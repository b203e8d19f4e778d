"""What stands before a cursor in a piece of code, which may be unfinished or wrong: told from its words alone."""

import keyword

from imago.looking.syntax import (
    CLOSE,
    COMMENT,
    FORMAT_END,
    FORMAT_RAW,
    FORMAT_START,
    FORMAT_TEXT,
    HANDLE,
    NAME,
    NEWLINE,
    NUMBER,
    OPEN,
    OPERATOR,
    STRING,
    UNFINISHED,
    tokens,
)

#: Of longer code, about this much before the cursor is read.
READ_MAX_CHARS = 40_000

_BEGINS_A_STATEMENT = frozenset("import def class return while with try raise del global nonlocal assert pass".split())
_OPERANDS = (STRING, NUMBER, HANDLE, FORMAT_END)
_VALUES = ("None", "True", "False")


class Call:
    """A call whose arguments the cursor stands in. `callee` is the code in front of the bracket.

    `given` counts the positional arguments before the cursor's own, `named` has the keywords that are given already.
    `keyword` is the one of the cursor's own argument; `fresh` says that the argument begins at the cursor's word.
    `spread` says that an argument before it is unpacked, so that nobody can count.
    """

    __slots__ = ("callee", "fresh", "given", "keyword", "named", "spread")

    def __init__(self, callee):
        self.callee = callee
        self.given = 0
        self.named = []
        self.keyword = None
        self.fresh = False
        self.spread = False


class Cursor:
    """What stands before a cursor.

    `where` is `name`, `attribute`, `key`, `import` or `nothing`. `prefix` is what is typed of the word so far, and
    `start` where it begins. `owner` is the code whose attribute or key it is; `opening` the quotes of a key, if any.
    `words` are the texts of the statement so far, without the prefix.
    """

    __slots__ = ("_text", "_tokens", "opening", "owner", "prefix", "start", "where", "words")

    def __init__(self, text, at):
        self._text = text
        self.prefix, self.start, self.where = "", at, "name"
        self.owner = self.opening = None
        self._tokens = _joined(text, [one for one in tokens(text[:at], _begin(text, at)) if one[1] < at])
        self._read(at)
        self.words = [self._word(one) for one in self._tokens[self._statement() :]]

    def _read(self, at):
        last = self._tokens[-1] if self._tokens else None
        if last is not None and last[2] == at and last[0] != NEWLINE:
            kind, start, _ = last
            if kind in (COMMENT, NUMBER, HANDLE, STRING, FORMAT_START, FORMAT_TEXT, FORMAT_RAW, FORMAT_END):
                self.where = "nothing"
                return
            if kind == UNFINISHED:
                self._tokens.pop()
                self._read_key(start, at)
                return
            if kind == NAME:
                self._tokens.pop()
                self.prefix, self.start = self._text[start:at], start
        elif last is not None and last[0] in (COMMENT, FORMAT_TEXT, FORMAT_RAW, UNFINISHED):
            self.where = "nothing"
            return
        self._read_place()

    def _read_key(self, start, at):
        opening = self._text[start:at]
        letters = len(opening) - len(opening.lstrip("rRbBuU"))
        quote = opening[letters : letters + 3]
        quote = quote if quote in ("'''", '"""') else quote[:1]
        self.opening = opening[:letters] + quote
        self.start = start + len(self.opening)
        self.prefix = self._text[self.start : at]
        self.where = "nothing"
        if self._tokens and self._is(-1, "["):
            self._own_key()

    def _own_key(self):
        self.owner = self._code_before(len(self._tokens) - 1)
        if self.owner is not None:
            self.where = "key"

    def _read_place(self):
        words = self._tokens
        begins = self._statement()
        first = self._word(words[begins]) if begins < len(words) else ""
        if first in ("import", "from"):
            self.where = "import"
        elif words and self._is(-1, "."):
            self.owner = self._code_before(len(words) - 1)
            self.where = "attribute" if self.owner is not None else "nothing"
        elif words and words[-1][0] in (*_OPERANDS, CLOSE) and words[-1][2] == self.start:
            self.where = "nothing"
        elif words and self._word(words[-1]) in ("def", "class", "..."):
            self.where = "nothing"
        elif words and not self.prefix and self._is(-1, "["):
            self._own_key()

    def call(self):
        """The innermost `Call` whose arguments the cursor stands in, or None."""
        closed = 0
        for at in range(len(self._tokens) - 1, -1, -1):
            kind = self._tokens[at][0]
            if kind == NEWLINE:
                return None
            if kind == CLOSE:
                closed += 1
            elif kind == OPEN and closed:
                closed -= 1
            elif kind == OPEN and self._is(at, "("):
                callee = self._code_before(at)
                if callee is not None:
                    return None if self._defines(at) else self._arguments(Call(callee), at + 1)
        return None

    def names_in_text(self):
        """Name -> kind of what the code before the cursor binds: functions, classes, parameters, variables."""
        found = {}
        words = self._tokens
        importing, depth, defining = False, 0, -1
        for at, (kind, start, end) in enumerate(words):
            if kind == NEWLINE:
                importing = False
            elif kind == OPEN:
                depth += 1
            elif kind == CLOSE:
                depth -= 1
                defining = -1 if depth == defining else defining
            if kind != NAME:
                continue
            word, before = self._text[start:end], self._text_at(at - 1)
            after = self._text_at(at + 1)
            if before in ("def", "class"):
                found[word] = "class" if before == "class" else "function"
                defining = depth if before == "def" else -1
            elif keyword.iskeyword(word):
                importing = importing or word == "import"
            elif before == "as" or (importing and after != "." and after != "as" and before != "."):
                found.setdefault(word, "variable")
            elif depth == 0 and after in ("=", ":=") or before in ("for", "lambda"):
                found.setdefault(word, "variable")
            elif defining >= 0 and depth == defining + 1 and before in ("(", ",", "*", "**"):
                found.setdefault(word, "parameter")
        return found

    def _text_at(self, at):
        return self._word(self._tokens[at]) if 0 <= at < len(self._tokens) else ""

    def _statement(self):
        """Where among the words the statement of the cursor begins."""
        depth = 0
        for at in range(len(self._tokens) - 1, -1, -1):
            kind = self._tokens[at][0]
            if kind == CLOSE:
                depth += 1
            elif kind == OPEN:
                depth -= 1
            elif kind == NEWLINE:
                return at + 1
            elif depth == 0 and kind == OPERATOR and self._word(self._tokens[at]) in (";", ":"):
                return at + 1
        return 0

    def _defines(self, at):
        """Whether the bracket belongs to the head of a function or class that is being defined."""
        return at >= 2 and self._word(self._tokens[at - 2]) in ("def", "class")

    def _arguments(self, call, begins):
        """Reads the arguments from the word at `begins` on, up to the cursor."""
        depth, argument, in_lambda = 0, [], False
        for token in self._tokens[begins:]:
            word = self._word(token)
            if token[0] == OPEN:
                depth += 1
            elif token[0] == CLOSE:
                depth -= 1
            elif depth == 0 and word == "lambda":
                in_lambda = True
            elif depth == 0 and word == ":":
                in_lambda = False
            elif depth == 0 and word == "," and not in_lambda:
                self._count(call, argument)
                argument = []
                continue
            argument.append((token[0], word))
        call.fresh = not argument
        if len(argument) > 1 and argument[0][0] == NAME and argument[1][1] == "=":
            call.keyword = argument[0][1]
        elif argument and argument[0][1] in ("*", "**"):
            call.spread = True
        return call

    def _count(self, call, argument):
        if len(argument) > 1 and argument[0][0] == NAME and argument[1][1] == "=":
            call.named.append(argument[0][1])
        elif argument and argument[0][1] in ("*", "**"):
            call.spread = True
        else:
            call.given += 1

    def _code_before(self, end):
        """The operand that ends in front of the word at `end`, as code on one line; None where there is none."""
        at = self._operand(end)
        if at is None:
            return None
        parts, before = [], ""
        for kind, start, stop in self._tokens[at:end]:
            if kind in (NAME, NUMBER) and before in (NAME, NUMBER):
                parts.append(" ")
            parts.append(self._text[start:stop])
            before = kind
        return "".join(parts)

    def _operand(self, end):
        words, at = self._tokens, end - 1
        while at >= 0:
            kind = words[at][0]
            if kind in (CLOSE, FORMAT_END):
                at = self._opening_of(at)
                if at is None:
                    return None
                if kind == CLOSE and at > 0 and self._ends_operand(at - 1) and words[at][0] != FORMAT_START:
                    at -= 1
                    continue
            elif kind == NAME:
                if keyword.iskeyword(self._word(words[at])) and self._word(words[at]) not in _VALUES:
                    return None
            elif kind not in _OPERANDS:
                return None
            if at == 0 or not self._is(at - 1, "."):
                return at
            at -= 2
        return None

    def _ends_operand(self, at):
        kind = self._tokens[at][0]
        if kind == NAME:
            word = self._word(self._tokens[at])
            return not keyword.iskeyword(word) or word in _VALUES
        return kind in _OPERANDS or kind == CLOSE

    def _opening_of(self, at):
        depth = 0
        pairs = (CLOSE, OPEN) if self._tokens[at][0] == CLOSE else (FORMAT_END, FORMAT_START)
        while at >= 0:
            kind = self._tokens[at][0]
            if kind == NEWLINE:
                return None
            if kind == pairs[0]:
                depth += 1
            elif kind == pairs[1]:
                depth -= 1
                if depth == 0:
                    return at
            at -= 1
        return None

    def _is(self, at, word):
        return self._word(self._tokens[at]) == word

    def _word(self, token):
        return self._text[token[1] : token[2]]


def _begin(text, at):
    """Where to begin to read: at a line near enough that begins at the margin."""
    if at <= READ_MAX_CHARS:
        return 0
    begin = at - READ_MAX_CHARS
    while True:
        begin = text.find("\n", begin, at) + 1
        if begin == 0:
            return at - READ_MAX_CHARS
        if text[begin : begin + 1].isidentifier():
            return begin


def _joined(text, words):
    """The words without comments before the cursor's, and without the ends of lines that brackets go across.

    A line that begins a statement ends what was left open before it: nobody goes on with an argument so.
    """
    kept, depth = [], 0
    followed = _followed(words)
    for at, (kind, start, end) in enumerate(words):
        if kind == COMMENT and at + 1 < len(words):
            continue
        if kind == NEWLINE and depth:
            following = followed[at]
            if following is None or text[following[1] : following[2]] not in _BEGINS_A_STATEMENT:
                continue
            depth = 0
        if kind == OPEN:
            depth += 1
        elif kind == CLOSE:
            depth = max(0, depth - 1)
        kept.append((kind, start, end))
    return kept


def _followed(words):
    """For each word the next one that is neither the end of a line nor a comment, or None."""
    followed, after = [], None
    for word in reversed(words):
        followed.append(after)
        if word[0] not in (NEWLINE, COMMENT):
            after = word
    followed.reverse()
    return followed
