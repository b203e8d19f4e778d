"""Which modules the names belong to that a definition uses, as its code objects and its module tell."""

import builtins
from types import FunctionType, ModuleType

from imago.looking.classplaces import class_functions
from imago.looking.codes import inner_codes, instructions
from imago.looking.fields import ABSENT, Lookups, clean, inherits, is_class, plain
from imago.looking.leaves import module_name
from imago.looking.loaded import home_of

_MOST_NAMES = 500
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


def contexts_of(value):
    """Module -> sorted names of it that a function, or the functions of a class, use; `{}` where none is known."""
    functions = [value] if type(value) is FunctionType else []
    if is_class(value):
        functions = list(class_functions(value).values())
    found, lookups = {}, Lookups()
    for function in functions:
        namespace = function.__globals__
        if inherits(namespace, dict):
            for module, name in _used(function.__code__, namespace, lookups):
                found.setdefault(module, set()).add(name)
    return {clean(module): sorted(clean(name) for name in names) for module, names in sorted(found.items())}


def _used(code, namespace, lookups):
    """`(module, name)` of the globals that a code object loads; of a module, the attribute that is taken from it."""
    left = _MOST_NAMES
    for one in inner_codes(code):
        parts = [part for part in instructions(one) if part.opname != "CACHE"]
        for at, part in enumerate(parts):
            if part.opname not in _GLOBALS or type(part.argval) is not str:
                continue
            left -= 1
            if left < 0:
                return
            name = part.argval
            value = lookups.stored(namespace, name)
            if value is ABSENT:
                if lookups.stored(builtins.__dict__, name) is not ABSENT:
                    yield "builtins", name
            elif inherits(value, ModuleType):
                after = parts[at + 1] if at + 1 < len(parts) else None
                taken = after is not None and after.opname in _ATTRIBUTES and type(after.argval) is str
                yield module_name(value), after.argval if taken else name
            else:
                yield home_of(value) or plain(lookups.stored(namespace, "__name__")) or "?", name
