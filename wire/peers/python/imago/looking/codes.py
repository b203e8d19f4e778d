"""Code objects, read without trusting what they are made of.

A tool that rewrites code may put anything in: names and files of classes derived from `str`, tuples that iterate by
code of their own, constants of any class. `dis` would print those.
"""

import dis
import sys
from types import CodeType

from imago.looking.fields import cut, inherits, plain

FILE_MAX_CHARS = 4096

_TUPLES = ("co_names", "co_varnames", "co_freevars", "co_cellvars")
_BYTES = ("co_code", "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab", "co_exceptiontable")


def file_of(code):
    """The name of the file of a code object, as an exact `str`."""
    return plain(code.co_filename) or "?"


def shown_file(code):
    """The name of its file, as it can be sent."""
    return cut(file_of(code), FILE_MAX_CHARS)


def name_of(code):
    """The name of a code object, as an exact `str`."""
    return plain(code.co_name) or "?"


def qualified_of(code):
    """Its qualified name; None before 3.11, where code objects have none."""
    return plain(getattr(code, "co_qualname", None))


def inner_codes(code):
    """A code object, and those of the functions, classes and comprehensions that are defined in it."""
    waiting = [code]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [one for one in constants(code) if type(one) is CodeType]


def constants(code):
    return list(tuple.__iter__(code.co_consts))


def exact(value):
    """A tuple or bytes of a code object, or an instance of a subclass, as an exact one; anything else as it is."""
    if type(value) is not tuple and inherits(value, tuple):
        return tuple(tuple.__iter__(value))
    if type(value) is not bytes and inherits(value, bytes):
        return bytes(bytes.__iter__(value))
    return value


def names_in(code):
    """The global names and attributes that a code object uses itself."""
    return exact(code.co_names)


def instructions(code):
    """What `dis` makes of a code object, without its constants, which it would print."""
    replaced = {}
    for field in _TUPLES + _BYTES:
        value = getattr(code, field, None)
        if exact(value) is not value:
            replaced[field] = exact(value)
    return dis.get_instructions(code.replace(co_consts=(None,) * tuple.__len__(code.co_consts), **replaced))
