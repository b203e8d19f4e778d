"""What a text defines, and where: its functions, classes and assignments, told from its words alone.

Nothing is parsed by the interpreter for it: that would fire audit hooks of the program and hold its lock. A text is cut
into its top-level statements first, and only those are read on in which something is looked for. A mistake in one of
them, as in a file that is just being edited, does not hide the others.
"""

import re
from bisect import bisect_right
from functools import lru_cache

from imago.looking.syntax import CLOSE, COMMENT, NAME, NEWLINE, NUMBER, OPEN, OPERATOR, STRING, tokens

#: Texts of more characters are not cut into statements: that would take too long.
OUTLINED_MAX_CHARS = 1_500_000
_KEPT_MAX_CHARS = 500_000

_NEVER_IN_BRACKETS = frozenset("def class import while with try return raise assert del global pass".split())
_CONTINUES = ("elif", "else", "except", "finally")
_HEADS = frozenset("if elif else for while try except finally with def class match case".split())
#: Words that begin a statement in which nothing is assigned by `=`.
_ASSIGN_NOTHING = _HEADS - {"match", "case"} | frozenset(
    "return raise assert del global nonlocal pass break continue import from lambda not await yield".split()
)
_AUGMENTED = frozenset("+= -= *= /= //= %= @= &= |= ^= >>= <<= **=".split())
_LAMBDAS_DEEPEST = 100
_LINE_END = re.compile(r"\r\n|\r|\n")


class Chunk:
    """One top-level statement with its decorators. `first` is the line of the text that it begins on."""

    def __init__(self, text, first):
        self.text = text
        self.first = first
        self._definitions = None
        self._body = None

    @property
    def body(self):
        """Its `Statement`s, one or several where they stand on one line."""
        if self._body is None:
            self._body = _statements(self.text, self.first)
        return self._body

    @property
    def definitions(self):
        """Every function, class and lambda in it, as `Definition`, in the order of their lines."""
        if self._definitions is None:
            self._definitions = _defined(self.body)
        return self._definitions


def _is_lazy(words):
    """Whether it is an import that is made when its name is first used, as there is since 3.15."""
    return words[0] == (NAME, "lazy") and words[1:2] in ([(NAME, "import")], [(NAME, "from")])


class Statement:
    """A simple statement, or a compound one by its head. `first` is the line of its first word, `column` its margin.

    `words` are `(kind, text)` of each word, and `word` is the first one that says what it is. `lines` are the line that it
    begins on, and that on which each word ends. `body` are the statements of its suite; `is_block` where they stand on lines of their own.
    """

    __slots__ = ("body", "column", "decorators", "first", "is_block", "last_word", "lines", "word", "words")

    def __init__(self, words, lines, column):
        self.words = words
        self.lines = lines
        self.first = lines[0]
        self.last_word = lines[-1]
        self.column = column
        self.body = []
        self.decorators = []
        self.is_block = False
        at = 1 if (words[0] == (NAME, "async") and len(words) > 1) or _is_lazy(words) else 0
        self.word = words[at][1] if words[at][0] == NAME else words[at][1][:1]

    @property
    def last(self):
        """The line that it ends on, with all of its suite."""
        inner = self
        while inner.body:
            inner = inner.body[-1]
        return inner.last_word

    @property
    def name(self):
        """What a function or a class is called."""
        at = 2 if self.words[0] == (NAME, "async") else 1
        return self.words[at][1] if at < len(self.words) else ""

    def all(self):
        """It, and every statement in it, in their order."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += reversed(one.body)


class Definition:
    """A function, class or lambda of a text. `first` is the line of its first decorator, as code objects have it.

    `statement` is its own, or that which a lambda is a part of.
    """

    __slots__ = ("first", "last", "name", "qualified", "statement")

    def __init__(self, statement, name, qualified, first, last):
        self.statement = statement
        self.name = name
        self.qualified = qualified
        self.first = first
        self.last = last

    @property
    def is_class(self):
        return self.name != "<lambda>" and self.statement.word == "class"


class Assignment:
    """One place where a text binds a name: lines, and what kind of statement does it.

    `kind` is `assigned`, `declared`, `imported`, `bound` (by a loop, `with`, or a pattern) or `global`.
    """

    __slots__ = ("first", "kind", "last", "statement")

    def __init__(self, statement, kind):
        self.statement = statement
        self.kind = kind
        self.first = statement.first
        self.last = statement.last


class Outline:
    """The top-level statements of a text."""

    def __init__(self, text):
        self.chunks = list(_chunks(text))

    def chunk_at(self, line):
        """The statement that `line` is a part of, or None."""
        found = None
        for chunk in self.chunks:
            if chunk.first > line:
                break
            found = chunk
        return found

    def definitions(self, word):
        """The definitions in all statements that contain `word`."""
        for chunk in self.chunks:
            if word in chunk.text:
                yield from chunk.definitions

    def at(self, line, name):
        """The definitions of `name` that begin on `line`: one, or several lambdas."""
        chunk = self.chunk_at(line)
        found = [] if chunk is None else chunk.definitions
        return [one for one in found if one.first == line and one.name == name]

    def called(self, qualified):
        """The definitions of a qualified name, `<locals>` included, in the order of their lines."""
        word = qualified.rpartition(".")[2]
        word = "lambda" if word == "<lambda>" else word
        return [one for one in self.definitions(word) if one.qualified == qualified]

    def assignments(self, name):
        """Every `Assignment` of a name at the top level of the text, functions that declare it global included."""
        found = []
        for chunk in self.chunks:
            if name in chunk.text:
                found += _assigned(chunk.body, name)
        return found


def outline(text):
    """The `Outline` of a text; the last few are kept, as one question about a file is followed by others."""
    if len(text) > _KEPT_MAX_CHARS:
        return Outline(text if len(text) <= OUTLINED_MAX_CHARS else "")
    return _kept_outline(text)


_kept_outline = lru_cache(maxsize=4)(Outline)


def in_class(definition, name):
    """Every `Assignment` of `name` in the body of a class statement, those in nested definitions left out."""
    return _assigned(definition.statement.body, name)


def on_self(definition, name):
    """Where the methods of a class statement bind `self.name`, whatever they call their first parameter."""
    found = []
    for method in definition.statement.body:
        first = _first_parameter(method) if method.word == "def" else None
        if first is None:
            continue
        for one in method.all():
            if any(_binds_in(target, name, first) for target in targets(one)[0]):
                found.append(Assignment(one, "assigned"))
    return found


def _first_parameter(function):
    """The name of the first parameter that can be given by its place."""
    words = function.words
    opened = next((at for at, word in enumerate(words) if word == (OPEN, "(")), len(words))
    kind, text = words[opened + 1] if opened + 1 < len(words) else (None, None)
    return text if kind == NAME else None


# Cutting a text into statements.


def _chunks(text):
    """Cuts a text into top-level statements. Comments and blank lines belong to the statement before them.

    A word at the margin that cannot stand within brackets ends whatever was left open before it.
    """
    begins, line, counted = 0, 1, 0
    fresh, depth, decorated = True, 0, False
    for kind, start, end in tokens(text):
        if kind == NEWLINE:
            fresh = fresh or depth == 0
            continue
        if kind == COMMENT:
            continue
        margin = start == 0 or text[start - 1] in "\r\n"
        if margin and depth and kind == NAME and text[start:end] in _NEVER_IN_BRACKETS:
            fresh, depth = True, 0
        if fresh and depth == 0:
            fresh = False
            if margin:
                word = text[start:end] if kind == NAME else ""
                if start > begins and not decorated and word not in _CONTINUES:
                    line, counted = line + _newlines(text, counted, begins), begins
                    yield Chunk(text[begins:start], line)
                    begins = start
                decorated = text[start] == "@"
        if kind == OPEN:
            depth += 1
        elif kind == CLOSE and depth:
            depth -= 1
    if begins < len(text):
        yield Chunk(text[begins:], line + _newlines(text, counted, begins))


def _newlines(text, start, end):
    piece = text[start:end]
    return piece.count("\n") + piece.count("\r") - piece.count("\r\n")


def _statements(text, first):
    """The statements of a piece of text, whose first line has that number."""
    top, decorators = [], []
    # What an indented line belongs to: the margin, and the statements there.
    blocks = [(0, top)]
    for words, lines, column in _logical_lines(text, first):
        while len(blocks) > 1 and blocks[-1][0] > column:
            blocks.pop()
        last = blocks[-1][1][-1] if blocks[-1][1] else None
        if column > blocks[-1][0] and last is not None and last.is_block and not last.body:
            blocks.append((column, last.body))
        made = _on_line(words, lines, column)
        if made[0].word == "@":
            decorators += made
            continue
        made[0].decorators, decorators = decorators, []
        blocks[-1][1].extend(made)
    return top


def _logical_lines(text, first):
    """What a `Statement` is made of, for each line that no bracket, string or backslash continues."""
    ends = [found.end() for found in _LINE_END.finditer(text)]
    words, lines, column, depth, fresh = [], [], 0, 0, True
    for kind, start, end in tokens(text):
        if kind == COMMENT:
            continue
        if kind == NEWLINE:
            fresh = True
            if depth == 0 and words:
                yield words, lines, column
                words, lines = [], []
            continue
        if fresh and depth and kind == NAME and text[start:end] in _NEVER_IN_BRACKETS:
            # Whatever was left open before it.
            yield words, lines, column
            words, lines, depth = [], [], 0
        fresh = False
        if not words:
            begins = ends[bisect_right(ends, start) - 1] if ends and start >= ends[0] else 0
            column = len(text[begins:start].expandtabs())
            lines.append(first + bisect_right(ends, start))
        if kind == OPEN:
            depth += 1
        elif kind == CLOSE and depth:
            depth -= 1
        words.append((kind, text[start:end]))
        lines.append(first + bisect_right(ends, end - 1))
    if words:
        yield words, lines, column


def _on_line(words, lines, column):
    """The statements of a logical line; simple ones after the colon of a compound one are its body."""
    made = Statement(words, lines, column)
    if made.word not in _HEADS:
        return _simple(words, lines, column)
    colon = _end_of_head(words)
    if colon is None or (made.word in ("match", "case") and _is_no_keyword(words, colon)):
        return _simple(words, lines, column)
    made = Statement(words[: colon + 1], lines[: colon + 2], column)
    if colon + 1 == len(words):
        made.is_block = True
    else:
        rest = lines[colon + 2 :]
        made.body = _simple(words[colon + 1 :], [rest[0], *rest], column)
    return [made]


def _is_no_keyword(words, colon):
    """Whether `match` or `case` is a name there, as in `case: int = 1`."""
    return colon == 1 or (words[1][0] == OPERATOR and words[1][1] not in ("-", "*", "~"))


def _simple(words, lines, column):
    made, begins, depth = [], 0, 0
    for at, (kind, text) in enumerate([*words, (OPERATOR, ";")]):
        if kind == OPEN:
            depth += 1
        elif kind == CLOSE and depth:
            depth -= 1
        elif text == ";" and (depth == 0 or at == len(words)):
            if at > begins:
                start = lines[0] if begins == 0 else lines[begins + 1]
                made.append(Statement(words[begins:at], [start, *lines[begins + 1 : at + 1]], column))
            begins = at + 1
    return made or [Statement(words, lines, column)]


def _end_of_head(words):
    """The place of the colon that ends the head of a compound statement."""
    depth, lambdas = 0, 0
    for at, (kind, text) in enumerate(words):
        if kind == OPEN:
            depth += 1
        elif kind == CLOSE:
            depth -= 1
        elif depth == 0 and kind == NAME and text == "lambda":
            lambdas += 1
        elif depth == 0 and kind == OPERATOR and text == ":":
            if lambdas == 0:
                return at
            lambdas -= 1
    return None


# What statements define.


def _defined(body):
    found = []
    waiting = [(one, "") for one in reversed(body)]
    while waiting:
        statement, prefix = waiting.pop()
        for decorator in statement.decorators:
            found += _lambdas(decorator, prefix)
        found += _lambdas(statement, prefix)
        if statement.word in ("def", "class"):
            name = statement.name
            first = statement.decorators[0].first if statement.decorators else statement.first
            found.append(Definition(statement, name, prefix + name, first, statement.last))
            prefix += name + (".<locals>." if statement.word == "def" else ".")
        waiting += [(one, prefix) for one in reversed(statement.body)]
    found.sort(key=lambda one: one.first)
    return found


def _lambdas(statement, prefix):
    """The lambdas among the words of a statement, in their order. One in a default of another stands beside it."""
    if (NAME, "lambda") not in statement.words:
        return []
    found, depth = [], 0
    # Those that go on: the definition, the depth that it stands at, and whether its body has begun.
    going = []
    for at, (kind, text) in enumerate(statement.words):
        depth -= kind == CLOSE
        while going:
            _, level, begun = going[-1]
            here = depth == level and kind != CLOSE
            ends = depth < level or (here and begun and (text in (",", ":", ";") or (kind, text) == (NAME, "for")))
            if not ends:
                break
            going.pop()[0].last = statement.lines[at]
        if going and depth == going[-1][1] and kind == OPERATOR and text == ":":
            going[-1][2] = True
        depth += kind == OPEN
        if kind == NAME and text == "lambda" and len(going) < _LAMBDAS_DEEPEST:
            outer = next((one.qualified + ".<locals>." for one, _, begun in reversed(going) if begun), prefix)
            line = statement.lines[at + 1]
            made = Definition(statement, "<lambda>", outer + "<lambda>", line, statement.last_word)
            found.append(made)
            going.append([made, depth, False])
    return found


# Where statements bind names.


def _assigned(body, name):
    """Where statements bind a name, in the blocks among them too, and in functions that call it global."""
    found = []
    waiting = list(reversed(body))
    while waiting:
        one = waiting.pop()
        if one.word == "def":
            found += _globally(one, name)
        elif one.word != "class":
            how = _binds(one, name)
            if how is not None:
                found.append(Assignment(one, how))
            else:
                waiting += reversed(one.body)
    return found


def _globally(function, name):
    inner = list(function.all())
    if not any(one.word == "global" and (NAME, name) in one.words for one in inner):
        return []
    return [Assignment(one, "global") for one in inner if _binds(one, name) == "assigned"]


def _binds(statement, name):
    words = statement.words
    if (NAME, name) not in words:
        return None
    if statement.word in ("import", "from"):
        return "imported" if any(name == bound for _, bound in imported(statement)[2]) else None
    if statement.word == "case" and (statement.is_block or statement.body):
        return "bound" if _is_captured(words, name) else None
    if statement.word in ("for", "with"):
        return "bound" if any(_binds_in(target, name) for target in _bound_targets(statement)) else None
    found, is_declared = targets(statement)
    if any(_binds_in(target, name) for target in found):
        return "declared" if is_declared else "assigned"
    pairs = zip(words, words[1:])
    return "assigned" if any(pair == ((NAME, name), (OPERATOR, ":=")) for pair in pairs) else None


def _is_captured(words, name):
    """Whether a pattern gives what it matches that name."""
    ends = words.index((NAME, "if")) if (NAME, "if") in words else len(words)
    for at in range(1, ends):
        after = words[at + 1][1] if at + 1 < ends else None
        if words[at] == (NAME, name) and words[at - 1][1] != "." and after not in (".", "(", "="):
            return True
    return False


def _bound_targets(statement):
    """The targets of a loop, or the names after `as` in a `with`."""
    words = statement.words
    if statement.word == "for":
        begins = words.index((NAME, "for")) + 1
        ends = next(iter(_at_depth_0(words, begins, {(NAME, "in")})), len(words))
        return [words[begins:ends]]
    found = []
    for at, word in enumerate(words):
        if word == (NAME, "as"):
            ends = _at_depth_0(words, at + 1, {(OPERATOR, ","), (OPERATOR, ":")})
            found.append(words[at + 1 : next(iter(ends), len(words))])
    return found


def targets(statement):
    """`(targets, is declared)`: what a statement assigns to, each as words; whether it only says a type."""
    words = statement.words
    if statement.word == "type" and len(words) > 2 and words[1][0] == NAME and words[2][1] in ("=", "["):
        return [words[1:2]], False
    if statement.word in _ASSIGN_NOTHING:
        return [], False
    found, begins, colon = [], 0, None
    for at in _at_depth_0(words, 0, None):
        kind, text = words[at]
        if kind == NAME and text == "lambda":
            break
        if kind == OPERATOR and text in _AUGMENTED:
            return [words[:at]], False
        if kind == OPERATOR and text == ":" and colon is None and not found:
            colon = at
        if kind == OPERATOR and text == "=":
            found.append(words[begins : at if colon is None or found else colon])
            begins = at + 1
    if not found and colon is not None:
        return [words[:colon]], True
    return found, False


def _at_depth_0(words, begins, wanted):
    """The places of the wanted words, or of all, in no brackets; up to one that closes what was open before."""
    depth = 0
    for at in range(begins, len(words)):
        kind = words[at][0]
        depth -= kind == CLOSE
        if depth < 0:
            return
        if depth == 0 and (wanted is None or words[at] in wanted):
            yield at
        depth += kind == OPEN


def _binds_in(target, name, owner=None):
    """Whether a target binds the name, or with an owner `owner.name`: alone, or among others in a tuple or list."""
    # Of each open bracket, whether what is in it is an index or an argument; how many such there are; and in how many
    # brackets the name was found.
    opened, calls, found = [], 0, None
    for at, (kind, text) in enumerate(target):
        before = target[at - 1] if at else (None, None)
        after = target[at + 1] if at + 1 < len(target) else (None, None)
        goes_on = after[1] in (".", "[", "(")
        if kind == OPEN:
            opened.append(before[0] in (NAME, CLOSE, STRING) and before[1] not in ("as", "for"))
            calls += opened[-1]
        elif kind == CLOSE and opened:
            calls -= opened.pop()
            if found is not None and found > len(opened):
                found = None if goes_on else len(opened)
        elif kind == NAME and text == name and not calls and not goes_on and found is None:
            is_owned = at > 1 and before[1] == "." and (at < 3 or target[at - 3][1] != ".")
            if before[1] != "." if owner is None else is_owned and target[at - 2] == (NAME, owner):
                found = len(opened)
    return found is not None


def imported(statement):
    """`(module, level, names)` of an import: `names` are `(name there, name here)`; without `from`, level is None."""
    words = [text for _, text in statement.words[_is_lazy(statement.words) :] if text not in ("(", ")")]
    module, level, at = None, None, 1
    if words[0] == "from":
        at = words.index("import") + 1 if "import" in words else len(words)
        path = "".join(words[1 : at - 1])
        module = path.lstrip(".")
        level = len(path) - len(module)
    names = []
    for piece in " ".join(words[at:]).split(","):
        there, _, here = piece.replace(" . ", ".").strip().partition(" as ")
        if there:
            names.append((there, here or (there if level is not None else there.partition(".")[0])))
    return module, level, names


# What a statement says of itself.


def decorator_text(decorator):
    """`functools.wraps(f)`: what stands after the `@`, in one line."""
    parts, before = [], None
    for kind, text in decorator.words[1:]:
        if before in (NAME, NUMBER, STRING) and kind in (NAME, NUMBER, STRING):
            parts.append(" ")
        parts.append(f"{text} " if text == "," else text)
        before = kind
    return "".join(parts)


def literal(words):
    """The value of a number, a text without escapes, or a truth; None for anything else."""
    if not words or any(kind != STRING for kind, _ in words):
        kind, text = words[0] if len(words) == 1 else (None, "")
        if kind == NUMBER and text.isdigit():
            return int(text)
        return {"True": True, "False": False}.get(text) if kind == NAME else None
    parts = [re.match(r"([uUrR]?)(\"\"\"|'''|\"|')([\s\S]*)\2$", text) for _, text in words]
    if any(part is None or ("\\" in part[3] and part[1] not in ("r", "R")) for part in parts):
        return None
    return "".join(part[3] for part in parts)


def documentation(statement):
    """The documentation that a class statement begins with; empty without one, None where it has escapes."""
    first = statement.body[0].words if statement.body else []
    return literal(first) if first and all(kind == STRING for kind, _ in first) else ""
