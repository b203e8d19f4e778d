"""Where the definition of a function stands, and whether its text is what runs."""

import ast

from imago.looking.codes import FILE_MAX_CHARS, name_of, qualified_of, shown_file
from imago.looking.fields import clean, cut, plain
from imago.looking.parsing import walk
from imago.looking.sameness import runs_as, unchanged_since_start
from imago.looking.source import block
from imago.looking.statements import OUTLINED_MAX_CHARS, outline
from imago.looking.texts import loader_name, written_for

_LAMBDA = "<lambda>"
_BLOCK_MAX_LINES = 2000
_BLOCK_MAX_CHARS = 200_000
_COMPARED = 8
_SENTENCE_MAX_CHARS = 1000


class Located:
    """Lines `first` to `last` of a text. `current` and `origin` are as the contract has them.

    `definition` is the one of the text's outline, for functions and classes that were found there.
    """

    __slots__ = ("current", "definition", "first", "last", "notes", "written")

    def __init__(self, written, first, last, current, definition=None):
        self.written = written
        self.definition = definition
        self.first = first
        self.last = last
        self.current = current
        self.notes = []

    @property
    def origin(self):
        return self.written.origin

    @property
    def file(self):
        return self.written.file

    @property
    def text(self):
        return self.written.between(self.first, self.last)


class Nowhere:
    """There is no text to be had; `because` says why, in a sentence."""

    __slots__ = ("because", "current", "file", "first", "origin")

    def __init__(self, because, origin="unknown", file=None, first=None, current=None):
        self.because = cut(because, _SENTENCE_MAX_CHARS)
        self.origin = origin
        self.file = None if file is None else cut(file, FILE_MAX_CHARS)
        self.first = first
        self.current = current


CHANGED = "The file has changed since this was loaded: shown is what it says now, and not what runs."


def locate_function(function):
    """The `Located` of a Python function, or `Nowhere`."""
    qualified = plain(function.__qualname__)
    return locate_code(function.__code__, function.__globals__, qualified)


def locate_code(code, namespace, qualified=None):
    """The same of a code object; `namespace` is that of its module, `qualified` what it is called where that helps."""
    texts = written_for(code, namespace)
    if not texts:
        return _no_text(code, namespace)
    stale = None
    for written in texts:
        found, current = _definition(written, code, namespace, qualified)
        if found is None:
            continue
        here = located(written, found, current)
        if current is None and unchanged_since_start(here.file):
            here.current = True
        if current is not False:
            return changed_on_disk(here, texts)
        stale = stale or here
    if stale is not None:
        return doubted(stale, namespace)
    return _block(texts[0], code, namespace)


def _definition(written, code, namespace, qualified):
    """`(definition, current)` of the code in one text, where it is there."""
    whole = outline(written.text)
    moved = written.first - 1
    name = name_of(code)
    here = whole.at(code.co_firstlineno - moved, name)
    if written.sure and len(here) == 1:
        return here[0], True
    known = qualified_of(code) or qualified
    candidates = [one for one in here if one.qualified == known] or here
    if known is not None and name != _LAMBDA and not written.sure:
        # It may have moved, and something of its name may stand in its place.
        near = sorted(whole.called(known), key=lambda one: abs(one.first + moved - code.co_firstlineno))
        candidates = near + [one for one in candidates if one not in near]
    if not candidates:
        return None, None
    verdicts = [runs_as(one, code, whole.prelude) for one in candidates[:_COMPARED]]
    if True in verdicts:
        return candidates[verdicts.index(True)], True
    return candidates[0], True if written.sure else verdicts[0]


def located(written, definition, current):
    """A `Definition` of a text, as `Located`: a lambda with the statement around it, a block with its last comments."""
    moved = written.first - 1
    first, last = definition.first, definition.last
    if definition.name == _LAMBDA:
        first, last = _statement_around(definition)
    elif definition.node.body[0].lineno > definition.node.lineno:
        last += _comments_after(written.lines[last:], definition.node.body[0].col_offset)
    return Located(written, first + moved, last + moved, current, definition)


def _statement_around(definition):
    """The lines of the innermost simple statement that a lambda is a part of, or else its own."""
    moved = definition.chunk.first - 1
    best = (definition.first, definition.last)
    for statement in definition.chunk.body:
        for node in walk(statement):
            if not isinstance(node, ast.stmt) or hasattr(node, "body"):
                continue
            first, last = node.lineno + moved, node.end_lineno + moved
            if first <= definition.first and definition.last <= last:
                best = (first, last)
    return best


def _comments_after(lines, margin):
    """How many lines belong to a block that ended just before, being comments that stand as far in as it does."""
    count = 0
    for at, line in enumerate(lines, 1):
        bare = line.lstrip()
        if bare and not (bare.startswith("#") and len(line) - len(bare) >= margin):
            break
        count = at if bare else count
    return count


def changed_on_disk(here, texts):
    """Says so where what runs is not what the first of `texts`, the file itself, has by now."""
    if here.written is not texts[0]:
        here.notes.append("The file has changed since: shown is the text that runs, as it was when it was loaded.")
    return here


def doubted(here, namespace):
    """A text that compiles to something else: because it has changed, unless a loader may have rewritten it."""
    loader = loader_name(namespace)
    if loader is not None:
        here.current = None
        here.notes.append(f"What runs differs from what this compiles to; {loader} loaded it, and may rewrite it.")
    elif unchanged_since_start(here.file):
        here.current = None
        here.notes.append("What runs differs from what this compiles to, though the file is older than the process.")
    else:
        here.notes.append(CHANGED)
    return here


def _block(written, code, namespace):
    """What stands on the line of the code, in a text that is too long or too wrong to be parsed there."""
    first = code.co_firstlineno
    if not written.sure:
        chunk = outline(written.text).chunk_at(first)
        if len(written.text) <= OUTLINED_MAX_CHARS and chunk is not None and chunk.body:
            return _gone(written, code)
    lines = written.lines[first - written.first :][:_BLOCK_MAX_LINES]
    text = block(["".join(lines)[:_BLOCK_MAX_CHARS]]) if lines else ""
    if not text.strip():
        return _gone(written, code)
    here = Located(written, first, first + text.rstrip("\n").count("\n"), True if written.sure else None)
    if not written.sure:
        here.notes.append("The text around it is not valid Python, or too long to be parsed: told by its line alone.")
    return here


def _gone(written, code):
    name = clean(name_of(code))
    because = f"{written.file} does not define `{name}` any more; it stood on line {code.co_firstlineno} of it."
    return Nowhere(because, written.origin, written.file, None, False)


def _no_text(code, namespace):
    file = plain(code.co_filename)
    shown = None if file is None else shown_file(code)
    line = code.co_firstlineno if code.co_firstlineno > 0 else None
    if file is None or file.startswith("<"):
        because = f"It was compiled from a text named {shown}, and nobody has kept that text."
        return Nowhere(because, "unknown", shown, line)
    loader = loader_name(namespace)
    if loader is not None:
        because = f"{shown} cannot be read as a file; {loader}, which loaded it, might have its text, but is code."
        return Nowhere(because, "unknown", shown, line)
    return Nowhere(f"{shown} cannot be read: the source is not there, or not any more.", "unknown", shown, line)
