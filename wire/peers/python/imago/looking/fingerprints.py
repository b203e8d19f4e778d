"""What a function was compiled to, in sixteen bytes: two texts that come to the same have the same fingerprint.

It is taken over a code object and those inside it: instructions, constants by their exact type and value, names,
arguments and flags. Places are no part of it, so a function that has only moved in its file keeps its fingerprint.
All of that is built in, and reading it runs nobody's code.
"""

import types
from _blake2 import blake2b

#: Bytes of a fingerprint.
SIZE = 16


#: `types.coroutine` sets it on the code of a function.
_MADE_LATER = 0x100
_LITERAL = (bool, int, float, complex, str, bytes)


class NotComparable(Exception):
    """There is a constant that no compiler makes: the code was written by a program."""


def fingerprint(code, known=None):
    """As hexadecimal digits. Raises ``NotComparable``.

    ``known`` is a dict for whoever asks of code and of what is inside it, while all of that is kept alive.
    """
    return _of_code(code, {} if known is None else known).hex()


def of_lines(code):
    """The fingerprint of the lines that its instructions stand on, counted from its first."""
    first = code.co_firstlineno
    if hasattr(code, "co_lines"):
        told = [(start, end, None if line is None else line - first) for start, end, line in code.co_lines()]
    else:
        told = list(code.co_lnotab)
    return blake2b(repr(told).encode(), digest_size=SIZE).hexdigest()


def of_default(value):
    """The fingerprint of what a parameter is where it is not given; None where no literal text would give it."""
    try:
        return _of_value(value).hex() if _is_literal(value) else None
    except RecursionError:
        return None


def codes_of(code, qualname="<module>"):
    """``(code, qualified name)`` of a module's code, and of each function and class body in it."""
    found = [(code, qualname)]
    within = "" if code.co_name == "<module>" else qualname + (".<locals>." if is_function(code) else ".")
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            found += codes_of(constant, getattr(constant, "co_qualname", within + constant.co_name))
    return found


def is_function(code):
    """A function has its own variables in fast slots; the body of a class has not."""
    return bool(code.co_flags & 0x1)


def _is_literal(value):
    kind = type(value)
    if kind is tuple:
        return all(_is_literal(one) for one in value)
    return value is None or value is Ellipsis or any(kind is one for one in _LITERAL)


def _of_code(code, known):
    if id(code) in known:
        return known[id(code)]
    digest = blake2b(digest_size=SIZE)
    numbers = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~_MADE_LATER)
    parts = (
        code.co_code,
        numbers,
        code.co_name,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        getattr(code, 'co_exceptiontable', b''),
    )
    for part in parts:
        digest.update(_of_value(part))
    constants = code.co_consts
    # Whoever writes code can put in a tuple of their own, which iterates by code of theirs.
    if type(constants) is not tuple:
        raise NotComparable('its constants are no tuple of the interpreter')
    # The body of a class keeps its line as a constant, from 3.13 on: a place, and no part of what runs.
    line = code.co_firstlineno if '__firstlineno__' in code.co_names else None
    for constant in constants:
        digest.update(_of_code(constant, known) if type(constant) is types.CodeType else _of_value(constant, line))
    known[id(code)] = digest.digest()
    return known[id(code)]


def _of_value(value, line=None):
    kind = type(value)
    if kind is tuple or kind is frozenset:
        parts = [_of_value(one) for one in value]
        body = b''.join(sorted(parts) if kind is frozenset else parts)
    elif kind is str:
        body = value.encode('utf-8', 'surrogatepass')
    elif kind is bytes:
        body = value
    elif kind is int:
        body = b'line' if line is not None and value == line else b'%x' % value
    elif kind is float:
        body = value.hex().encode()
    elif kind is complex:
        body = b'%s %s' % (value.real.hex().encode(), value.imag.hex().encode())
    elif kind is slice:
        body = b''.join(_of_value(one) for one in (value.start, value.stop, value.step))
    elif value is None or value is Ellipsis or kind is bool:
        body = repr(value).encode()
    else:
        raise NotComparable('a constant is of a kind that no source text gives')
    return blake2b(body, digest_size=SIZE, person=kind.__name__.encode()).digest()
