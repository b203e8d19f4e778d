"""Whether a text is what the image runs: code compiled anew, never run, beside the code that is there."""

import os
import time
from _io import open as open_file
from os import stat
from types import CodeType

from imago.looking.codes import constants, exact, inner_codes

_FIELDS = (
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_code",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_exceptiontable",
)
_SIMPLE = (int, bool, float, complex, str, bytes, type(None), type(...))
_DEEPEST = 40
_now = time.time


def runs_as(definition, code, prelude):
    """Whether a `Definition` of a text compiles to `code`; None where that cannot be told.

    `prelude` are the imports of the text, which change how it is compiled.
    """
    fresh = definition.chunk.code(prelude)
    if fresh is None:
        return None
    line = definition.first - definition.chunk.first + 1
    found = [one for one in inner_codes(fresh) if one.co_firstlineno == line and one.co_name == definition.name]
    return any(same_code(code, one) for one in found) if found else None


def same_code(one, other, depth=0):
    """Whether two code objects do the same, wherever they stand: since 3.13 the body of a class stores its line."""
    for field in _FIELDS:
        if exact(getattr(one, field, None)) != exact(getattr(other, field, None)):
            return False
    lines = (one.co_firstlineno, other.co_firstlineno)
    pairs = constants(one), constants(other)
    return len(pairs[0]) == len(pairs[1]) and all(
        _same_constant(*pair, depth) or (type(pair[0]) is type(pair[1]) is int and pair == lines)
        for pair in zip(*pairs)
    )


def unchanged_since_start(file):
    """Whether a file is older than this process, so that what was loaded from it is what it says."""
    try:
        facts = stat(file)
    except (OSError, ValueError):
        return False
    started = _started()
    return started is not None and max(facts.st_mtime, facts.st_ctime) < started


def _started():
    """When this process began, in seconds since the epoch; None where the system does not tell."""
    try:
        with open_file("/proc/self/stat", "rb") as stream:
            ticks = int(stream.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
    return _now() - age


def _same_constant(one, other, depth):
    kind = type(one)
    if kind is not type(other) or depth > _DEEPEST:
        return False
    if kind is CodeType:
        return same_code(one, other, depth + 1)
    if kind is tuple:
        return len(one) == len(other) and all(_same_constant(*pair, depth + 1) for pair in zip(one, other))
    if kind is float:
        return one.hex() == other.hex()
    if kind is frozenset:
        return _is_simple(one, depth) and _is_simple(other, depth) and one == other
    return one is other or (_is_simple(one, depth) and one == other)


def _is_simple(value, depth):
    """Whether a constant and all within it are of exact built-in types, and so decide nothing themselves."""
    if type(value) is tuple or type(value) is frozenset:
        return depth < _DEEPEST and all(_is_simple(part, depth + 1) for part in value)
    return any(type(value) is known for known in _SIMPLE)
