"""What is told of the code that runs, for somebody else to compare with a text: the image itself compiles nothing.

Texts are compiled beside the daemon, by the same interpreter (`compile_texts.py`), and compared by fingerprints.
"""

import sys
from os import getcwd
from types import CodeType, FunctionType

from imago import sources
from imago.looking.fields import clean, cut, plain
from imago.looking.fingerprints import NotComparable, fingerprint, of_default, of_lines
from imago.looking.outcomes import found, look
from imago.looking.source import (
    FILE_MAX_CHARS,
    ByCode,
    archived_lines,
    cached_lines,
    is_generated,
    loader_name,
    name_of,
    file_marks,
    loaded_files,
    qualified_of,
    unchanged_since_start,
)

#: Functions of a class or module that are told.
MOST = 100
#: Characters of a text that the daemon is given to compile.
TEXT_MAX_CHARS = 2_000_000

# Read once: a program may put something else there.
_INTERPRETER = plain(sys.executable) or ""
_VERSION = plain(sys.version) or ""
_OPTIMIZE = sys.flags.optimize
_FUTURES = 0x1FFF000


def is_proved(code):
    """Whether the text of code is known for sure: it was evaluated here, or typed in a cell, and kept with its name."""
    if sources.is_evaluated(code):
        return True
    cached = cached_lines(plain(code.co_filename) or "")
    # A text without a time of change is that of no file, which could be another by now.
    return cached is not None and cached[0] is None


def running(what, functions, namespace, file=None):
    """The contract's `Running` of functions or code objects; `namespace` is that of their module.

    `file` is where the text seems to be, for code that does not name it.
    """
    codes = [_code_of(function) for function in functions]
    named = plain(codes[0].co_filename) if codes else file
    if named is not None and named.startswith("<frozen "):
        named = file
    path = None if named is None else _path(named)
    is_evaluated = any(sources.is_evaluated(code) for code in codes)
    is_loaded = what == "module" and loaded_files.get(path, 0) == file_marks(path)
    told = {
        "what": what,
        "functions": [],
        "file": None if named is None else cut(named, FILE_MAX_CHARS),
        "path": path,
        "interpreter": clean(_INTERPRETER),
        "version": clean(_VERSION),
        "optimize": _OPTIMIZE,
        "futures": codes[0].co_flags & _FUTURES if codes else 0,
        "loader": loader_name(namespace),
        "older": path is not None and (is_loaded or (not is_evaluated and unchanged_since_start(path))),
        "because": None,
    }
    if codes and is_generated(codes[0]) and cached_lines(named or "") is None:
        told["because"] = f"it was compiled from a text named {told['file']}, which nobody has kept"
        return told
    try:
        told["functions"] = [_told(*pair) for pair in zip(functions[:MOST], codes)]
    except (NotComparable, RecursionError):
        told["because"] = "a program has changed its code: it has constants that no text gives"
    return told


def is_doubted(code):
    """Whether the file of code may have another text by now than the one that runs."""
    file = plain(code.co_filename)
    if is_proved(code) or file is None or file.startswith("<"):
        return False
    return not unchanged_since_start(file)


def doubted(code, namespace):
    """`{"running": ...}` for a frame whose line may be another by now than the one that runs; else `{}`."""
    return {"running": running("function", [code], namespace)} if is_doubted(code) else {}


@look
def kept_text(image, query):
    """A `Looked<KeptText>`: the text of a file as it was read once, or as it stands in an archive."""
    named = query["file"]
    cached = cached_lines(named)
    lines = cached[1] if cached is not None else archived_lines(named)
    text = None if lines is None else "".join(lines)
    return found({"text": None if text is None or len(text) > TEXT_MAX_CHARS else clean(text)})


def _code_of(function):
    return sources.compiled_code(function if type(function) is CodeType else function.__code__)


def _told(function, code):
    is_function = type(function) is FunctionType
    qualified = (plain(function.__qualname__) if is_function else None) or name_of(code)
    return {
        "name": clean(name_of(code)),
        "qualified": clean(qualified_of(code) or qualified),
        "line": code.co_firstlineno,
        **_fingerprints(code),
        "defaults": _defaults(function) if is_function else None,
        **({"annotated": _is_annotated(function)} if is_function else {}),
    }


def _is_annotated(function):
    # From 3.14 on to ask for them may run code of the program, and whether there is any is told without.
    if "__annotate__" in FunctionType.__dict__:
        return function.__annotate__ is not None
    held = function.__annotations__
    return type(held) is dict and len(held) > 0


_fingerprints = ByCode(lambda code: {"fingerprint": fingerprint(code), "lines": of_lines(code)})


def _defaults(function):
    """Name and fingerprint, where there is one, of the defaults: of the last parameters, then of keyword-only ones."""
    positional, keywords = function.__defaults__, function.__kwdefaults__
    pairs = [(None, value) for value in positional] if type(positional) is tuple else []
    if type(keywords) is dict:
        named = [(clean(name), value) for name, value in dict.items(keywords) if type(name) is str]
        pairs += sorted(named, key=lambda pair: pair[0])
    return [{"name": name, "value": of_default(value)} for name, value in pairs]


def _path(file):
    """The absolute path of a file that code names; None where that is no name of a file."""
    if file.startswith("<") or "\0" in file or len(file) > FILE_MAX_CHARS:
        return None
    try:
        return clean(file if file.startswith("/") else f"{getcwd()}/{file}")
    except OSError:
        return None
