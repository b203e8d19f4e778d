"""What a text defines, and where: its functions, classes and assignments, told from its words alone.

A text is cut into its top-level statements first, and only those are parsed that something is looked for in. So a
mistake in one of them, as in a file that is just being edited, does not hide the others.
"""

import ast
import re
from functools import lru_cache

from imago.looking.syntax import CLOSE, COMMENT, NAME, NEWLINE, OPEN, compiled, parsed, tokens, walk

#: Texts of more characters are not cut into statements: that would take too long.
OUTLINED_MAX_CHARS = 1_500_000
_KEPT_MAX_CHARS = 500_000

_DEFINES = ("def ", "async ", "class ", "@")
_NEVER_IN_BRACKETS = frozenset("def class import while with try return raise assert del global pass".split())
_CONTINUES = ("elif", "else", "except", "finally")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Chunk:
    """One top-level statement with its decorators. `first` is the line of the text that it begins on."""

    def __init__(self, text, first):
        self.text = text
        self.first = first
        self._definitions = None
        self._body = None
        self._code = ()

    @property
    def body(self):
        """Its statements as Python parses them, lines counted from 1; empty where they are not valid."""
        if self._body is None:
            tree = parsed(self.text)
            self._body = [] if tree is None else tree.body
        return self._body

    def code(self, prelude):
        """Its code object, compiled after the imports of its text; None where it cannot be compiled."""
        if self._code == ():
            self._code = compiled([*prelude, *self.body])
        return self._code

    @property
    def definitions(self):
        """Every function, class and lambda in it, as `Definition`, in the order of their lines."""
        if self._definitions is None:
            self._definitions = _defined(self)
        return self._definitions


class Definition:
    """A function, class or lambda of a text. `first` is the line of its first decorator, as code objects have it."""

    __slots__ = ("chunk", "first", "last", "name", "node", "qualified", "within")

    def __init__(self, node, name, qualified, chunk, within):
        self.node = node
        self.name = name
        self.qualified = qualified
        self.chunk = chunk
        self.within = within
        moved = chunk.first - 1
        decorators = getattr(node, "decorator_list", ())
        self.first = min([node.lineno] + [one.lineno for one in decorators]) + moved
        self.last = node.end_lineno + moved


class Assignment:
    """One place where a text binds a name: lines, and what kind of statement does it.

    `kind` is `assigned`, `declared`, `imported`, `bound` (by a loop, `with`, or a pattern) or `global`.
    """

    __slots__ = ("first", "kind", "last", "node")

    def __init__(self, node, kind, moved):
        self.node = node
        self.kind = kind
        self.first = node.lineno + moved
        self.last = node.end_lineno + moved


class _Unparsed:
    """Stands for the statement of a chunk that is too long, or not valid, to be parsed."""

    def __init__(self, text):
        self.lineno = 1
        self.end_lineno = max(1, _newlines(text.rstrip(), 0, len(text)) + 1)


class Outline:
    """The top-level statements of a text."""

    def __init__(self, text):
        self.chunks = list(_chunks(text))
        self._prelude = None

    @property
    def prelude(self):
        """The imports at the top level. They change how the other statements are compiled, future ones and all."""
        if self._prelude is None:
            chunks = [chunk for chunk in self.chunks if "import" in chunk.text and not chunk.text.startswith(_DEFINES)]
            nodes = [node for chunk in chunks for node in _outside_definitions(chunk.body)]
            imports = [node for node in nodes if type(node) in (ast.Import, ast.ImportFrom)]
            self._prelude = sorted(imports, key=lambda node: getattr(node, "module", None) != "__future__")
        return self._prelude

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
            if name not in chunk.text:
                continue
            if chunk.body:
                found += _assigned(chunk.body, name, chunk.first - 1)
            elif re.match(rf"{re.escape(name)}\s*(?::[^=\n]*)?=(?!=)", chunk.text):
                found.append(Assignment(_Unparsed(chunk.text), "assigned", chunk.first - 1))
        return found


def outline(text):
    """The `Outline` of a text; the last few are kept, as one question about a file is followed by others."""
    if len(text) > _KEPT_MAX_CHARS:
        return Outline(text if len(text) <= OUTLINED_MAX_CHARS else "")
    return _kept_outline(text)


_kept_outline = lru_cache(maxsize=4)(Outline)


def in_class(definition, name):
    """Every `Assignment` of `name` in the body of a class statement, those in nested definitions left out."""
    return _assigned(definition.node.body, name, definition.chunk.first - 1)


def on_self(definition, name):
    """Where the methods of a class statement bind `self.name`, whatever they call their first parameter."""
    found = []
    for node in definition.node.body:
        if type(node) not in FUNCTIONS or not (node.args.posonlyargs + node.args.args):
            continue
        first = (node.args.posonlyargs + node.args.args)[0].arg
        for statement in walk(node):
            if type(statement) in (ast.Assign, ast.AnnAssign, ast.AugAssign):
                if any(_is_field(target, first, name) for target in _targets(statement)):
                    found.append(Assignment(statement, "assigned", definition.chunk.first - 1))
    return found


def _is_field(target, owner, name):
    if type(target) in (ast.Tuple, ast.List):
        return any(_is_field(one, owner, name) for one in target.elts)
    if type(target) is not ast.Attribute or target.attr != name:
        return False
    return type(target.value) is ast.Name and target.value.id == owner


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


def _defined(chunk):
    found = []
    waiting = [(node, "", ()) for node in reversed(chunk.body)]
    while waiting:
        node, prefix, within = waiting.pop()
        kind = type(node)
        if kind in FUNCTIONS or kind is ast.ClassDef:
            name = "<lambda>" if kind is ast.Lambda else node.name
            definition = Definition(node, name, prefix + name, chunk, within)
            found.append(definition)
            outer = [(child, prefix, within) for child in _evaluated_outside(node)]
            prefix += name + (".<locals>." if kind in FUNCTIONS else ".")
            within = (*within, definition)
            body = [node.body] if kind is ast.Lambda else node.body
            waiting += [(child, prefix, within) for child in reversed(body)] + outer
        else:
            waiting += [(child, prefix, within) for child in reversed(list(ast.iter_child_nodes(node)))]
    found.sort(key=lambda one: one.first)
    return found


def _evaluated_outside(node):
    """The parts of a definition that do not belong to its own scope: decorators, defaults, bases."""
    if type(node) is ast.ClassDef:
        return [*node.decorator_list, *node.bases, *node.keywords]
    defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
    return [*getattr(node, "decorator_list", ()), *defaults]


def _outside_definitions(body):
    """All nodes of some statements but those inside of functions and classes."""
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if type(node) not in FUNCTIONS and type(node) is not ast.ClassDef:
            waiting += reversed(list(ast.iter_child_nodes(node)))


def _assigned(body, name, moved):
    """Where statements bind a name, in the blocks among them too, and in functions that call it global."""
    found = []
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind in FUNCTIONS:
            found += _globally(node, name, moved)
            continue
        if kind is ast.ClassDef:
            continue
        how = _binds(node, name)
        if how is not None:
            found.append(Assignment(node, how, moved))
            continue
        waiting += reversed(list(ast.iter_child_nodes(node)))
    return found


def _globally(function, name, moved):
    nodes = list(walk(function))
    if not any(type(node) is ast.Global and name in node.names for node in nodes):
        return []
    return [Assignment(node, "global", moved) for node in nodes if _binds(node, name) == "assigned"]


def _binds(node, name):
    kind = type(node)
    if kind in (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr) or kind.__name__ == "TypeAlias":
        if not any(_names(target, name) for target in _targets(node)):
            return None
        return "declared" if kind is ast.AnnAssign and node.value is None else "assigned"
    if kind in (ast.Import, ast.ImportFrom):
        bound = [one.asname or (one.name.partition(".")[0] if kind is ast.Import else one.name) for one in node.names]
        return "imported" if name in bound else None
    if kind in (ast.For, ast.AsyncFor):
        return "bound" if _names(node.target, name) else None
    if kind in (ast.With, ast.AsyncWith):
        held = [one.optional_vars for one in node.items if one.optional_vars is not None]
        return "bound" if any(_names(target, name) for target in held) else None
    if kind.__name__ in ("MatchAs", "MatchStar", "MatchMapping"):
        return "bound" if name in (getattr(node, "name", None), getattr(node, "rest", None)) else None
    return None


def _targets(node):
    if type(node) is ast.Assign:
        return node.targets
    return [node.name if type(node).__name__ == "TypeAlias" else node.target]


def _names(target, name):
    if type(target) is ast.Name:
        return target.id == name
    if type(target) is ast.Starred:
        return _names(target.value, name)
    return type(target) in (ast.Tuple, ast.List) and any(_names(one, name) for one in target.elts)
