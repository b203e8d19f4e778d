"""The annotations of a function or a class as they were written, where code computes them: since 3.14 (PEP 649).

That code is read and never run. The compiler writes it in one form, of names, of constants and of what is made of them.
"""

import opcode
from dis import stack_effect
from types import FunctionType

from imago.looking.fields import cut, stored
from imago.looking.limits import NAME_MAX_CHARS
from imago.looking.rendering import static_text
from imago.looking.source import exact, instructions, name_of

_LONGEST = 20_000
# Of functions of typing, which call the one that the compiler made for the class.
_INSIDE = ("original_annotate", "own_annotate")
_SIGNS = [sign for _, sign in getattr(opcode, "_nb_ops", ())]
_COMMON = {"LOAD_SMALL_INT": range(256), "LOAD_COMMON_CONSTANT": getattr(opcode, "_common_constants", ())}
_SKIPPED = ("NOT_TAKEN", "CACHE", "EXTENDED_ARG")
# Words of steps that do not make one value of those on top of the stack.
_OTHER = ("POP", "STORE", "JUMP", "SWAP", "RAISE", "FOR", "SEND", "YIELD")


def written_annotations(annotate):
    """Name -> text, from what `__annotate__` is; empty where that is no function of the compiler's form."""
    for name, inside in held_by(annotate, "typing").items():
        annotate = inside if name in _INSIDE else annotate
    code = annotate.__code__ if type(annotate) is FunctionType else None
    if code is None or name_of(code) != "__annotate__" or len(exact(code.co_code)) > _LONGEST:
        return {}
    try:
        steps = [one for one in instructions(code) if one.opname not in _SKIPPED]
        # Before that, it refuses formats that it does not know.
        first = next(at for at, one in enumerate(steps) if one.opname == "RAISE_VARARGS") + 1
        notes = _notes(steps[first:], exact(code.co_consts))
    except (IndexError, StopIteration, ValueError):
        return {}
    return {name: cut(note, NAME_MAX_CHARS) for name, note in notes if type(name) is str}


def held_by(function, module):
    """Name -> value of what a function that `module` has made holds on to; empty for any other."""
    if type(function) is not FunctionType or stored(function.__globals__, "__name__") != module:
        return {}
    try:
        values = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        return {}
    return dict(zip(exact(function.__code__.co_freevars), values))


class _Text(str):
    """What lies on the stack and is no constant."""


def _notes(steps, constants):
    """`(name, text)` of each annotation. Raises an IndexError or a ValueError where a step is not of the form."""
    stack, notes = [], []
    for one in steps:
        name, arg, size = one.opname, one.arg, len(stack) + stack_effect(one.opcode, one.arg)
        if name == "RETURN_VALUE":
            return notes
        if name == "STORE_SUBSCR":
            notes.append((stack[-1], _text(stack[-3])))
            del stack[size:]
            continue
        if any(word in name for word in _OTHER):
            raise ValueError(name)
        if name == "LOAD_CONST" or name in _COMMON:
            made = _COMMON.get(name, constants)[arg]
        elif name == "COPY":
            made = stack[-arg]
        elif name == "LOAD_ATTR":
            made = _Text(f"{_text(stack.pop())}.{one.argval}")
        elif name.startswith(("LOAD_", "PUSH_")):
            made = _Text(one.argval)
        else:
            parts = stack[size - 1 :]
            made = tuple(parts) if name == "BUILD_TUPLE" else _Text(_made(name, arg, parts))
            notes += zip(parts[::2], map(_text, parts[1::2])) if name == "BUILD_MAP" else ()
        stack[size - 1 :] = [made]
        # Beside what is called lies nothing, or what it is bound to.
        stack += [_Text()] * (size - len(stack))
    return []


def _made(name, arg, parts):
    """The text of what a step makes: in full as far as types are written so."""
    texts = [_text(part) for part in parts]
    sign = _SIGNS[arg] if name == "BINARY_OP" else None
    if name == "BUILD_LIST":
        return f"[{', '.join(texts)}]"
    if sign == "[]":
        return f"{texts[0]}[{texts[1][1:-1].rstrip(',') if type(parts[1]) is tuple and parts[1] else texts[1]}]"
    return " | ".join(texts) if sign == "|" else "…"


def _text(item):
    if type(item) is tuple:
        return f"({', '.join(map(_text, item))}{',' * (len(item) == 1)})"
    return str(item) if type(item) is _Text else "..." if item is ... else static_text(item, 60)
