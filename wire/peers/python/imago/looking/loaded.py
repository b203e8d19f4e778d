"""The modules that are loaded, whose they are, and what in them is their own. None is imported, and none is asked."""

import os
import sys
from importlib.machinery import SourceFileLoader
from types import BuiltinFunctionType, FunctionType, ModuleType

from imago.looking.fields import (
    ABSENT,
    Lookups,
    class_module,
    class_name,
    entries,
    inherits,
    instance_dict,
    is_class,
    own_field,
    plain,
    stored,
    type_name,
)
from imago.looking.limits import NEAREST_MAX_NAMES
from imago.looking.outcomes import nearest
from imago.native import monotonic

_STANDARD_LIBRARY = os.path.dirname(os.__file__).replace("\\", "/") + "/"
_INSTALLED = ("/site-packages/", "/dist-packages/")
_IMAGO = "imago"
_ELSEWHERE_SECONDS = 0.25
_ELSEWHERE_MOST = 2000
# The interpreter puts `__file__` before the names of the program. In a program of very many names without it, no look goes over all.
_FIRST_NAMES = 32


def modules():
    """`(name, module, namespace)` of each loaded module, under each name that it is loaded by."""
    found = []
    for name, module in entries(sys.modules):
        if type(name) is str and inherits(module, ModuleType):
            namespace = instance_dict(module)
            if namespace is not None:
                found.append((name, module, namespace))
    return found


def loaded_module(name):
    """The module that is loaded by a name, or `ABSENT`."""
    found = stored(sys.modules, name)
    return found if inherits(found, ModuleType) else ABSENT


def module_dict(name):
    """The dict of a loaded module; None where nothing is loaded by that name, or it hides what it holds."""
    module = ABSENT if name is None else loaded_module(name)
    return None if module is ABSENT else instance_dict(module)


def main_namespace():
    """The names of `__main__` as it is now: IPython, and what runs scripts, puts a module of its own in that place."""
    return module_dict("__main__") or {}


def main_again(namespace):
    """`(name, namespace)` of the module that is loaded from the file of `__main__` too; None without one, or elsewhere.

    ``uvicorn.run("main:app")`` in ``main.py`` loads it a second time: what serves is `main`, and not `__main__`.
    """
    if plain(stored(namespace, "__name__")) not in ("__main__", "__mp_main__"):
        return None
    file = source_file(namespace, _FIRST_NAMES)
    if file is None:
        return None
    parts = os.path.splitext(os.path.abspath(file))[0].split(os.sep)
    tails = {".".join(parts[at:]) for at in range(len(parts))}
    for name in list(dict.keys(sys.modules)):
        names = module_dict(name) if type(name) is str and name in tails else None
        if names is not None and names is not namespace and _is_file(source_file(names), file):
            return name, names
    return None


def other_copies(namespace, names):
    """That these names have other values in the module of ``main_again``; None where none has, or there is no module, and
    then the names are not gone over.
    """
    again = main_again(namespace)
    if again is None:
        return None
    module, serving = again
    both = [(name, stored(serving, name), stored(namespace, name)) for name in dict.fromkeys(names)]
    others = [f"`{module}.{name}`" for name, there, here in both if there is not ABSENT and there is not here]
    are = f"{', '.join(others[:NEAREST_MAX_NAMES])} {'are others' if others[1:] else 'is another one'}"
    return f"{are}: `__main__` and `{module}` are one file, which is loaded twice" if others else None


def _is_file(one, other):
    try:
        return one is not None and os.path.samefile(one, other)
    except OSError:
        return False


def source_file(namespace, first=None):
    """What a module says that its file is, or None; as `stored` finds it.

    A script has no ``__file__`` any more once its main thread has come to the end, while other threads go on: then it is
    what its loader has stored.
    """
    file = plain(stored(namespace, "__file__", first))
    loader = stored(namespace, "__loader__", first) if file is None else None
    return plain(own_field(loader, "path")) if type(loader) is SourceFileLoader else file


def is_library(name, namespace):
    """Whether a module came with Python or was installed, rather than being the program's own."""
    file = plain(stored(namespace, "__file__"))
    if file is None:
        return name != "__main__" and type_name(stored(namespace, "__path__")) != "_NamespacePath"
    file = file.replace("\\", "/")
    return file.startswith(_STANDARD_LIBRARY) or any(part in file for part in _INSTALLED)


def is_imago(name):
    """Whether a module, by its name, is a part of Imago: its insides are nobody's answer."""
    return type(name) is str and (name == _IMAGO or name.startswith(_IMAGO + "."))


def programs_first(found):
    """Modules in an order in which the program's own come before those of Python and of what is installed."""
    return sorted(found, key=lambda one: (is_library(one[0], one[2]), one[0]))


def home_of(value):
    """The name of the module that a function or class says it was defined in; None for anything else."""
    if is_class(value):
        return class_module(value)
    if type(value) is FunctionType or type(value) is BuiltinFunctionType:
        return plain(value.__module__)
    return None


class Imports:
    """Tells what modules have from each other, in the course of one look."""

    def __init__(self):
        self._lookups = Lookups()

    def has(self, value, name, module):
        """Whether `module`, a name, has `value` from another loaded module, which has it under the same name."""
        if inherits(value, ModuleType):
            return True
        home = home_of(value)
        if home is None or home == module:
            return False
        other = self._lookups.stored(sys.modules, home)
        own = instance_dict(other) if inherits(other, ModuleType) else None
        given = class_name(value) if is_class(value) else plain(value.__name__)
        return own is not None and self._lookups.stored(own, given or name) is value


def nearest_modules(name):
    """Loaded modules with names like one that is not loaded, whole or in their last part; the program's own first."""
    near, last = {}, name.rpartition(".")[2]
    groups = [], []
    for module, _, namespace in modules():
        if not is_imago(module):
            groups[is_library(module, namespace)].append(module)
    for names in groups:
        lasts = {}
        for module in names:
            lasts.setdefault(module.rpartition(".")[2], module)
        near.update(dict.fromkeys([*nearest(name, names), *(lasts[one] for one in nearest(last, lasts))]))
    return list(near)[:NEAREST_MAX_NAMES]


def called_so(name):
    """Dotted names in the program's own loaded modules whose last part is `name`, in those that define it."""
    imports = Imports()
    for module, _, namespace in modules():
        value = stored(namespace, name)
        if value is ABSENT or is_imago(module) or is_library(module, namespace):
            continue
        if not imports.has(value, name, module):
            yield f"{module}.{name}"


def elsewhere(name):
    """Dotted names in loaded modules whose last part is like `name`, each with whether a library has it."""
    until = monotonic() + _ELSEWHERE_SECONDS
    wanted, slack = name.casefold(), max(1, len(name) // 4)
    groups, imports = ({}, {}), Imports()
    for module, _, namespace in programs_first(modules()):
        if monotonic() > until or sum(map(len, groups)) > _ELSEWHERE_MOST:
            break
        if is_imago(module):
            continue
        places = groups[is_library(module, namespace)]
        for other, value in entries(namespace):
            if type(other) is not str or other[:1] == "_" or abs(len(other) - len(wanted)) > slack:
                continue
            if other[:1].casefold() != wanted[:1] and other[-2:].casefold() != wanted[-2:]:
                continue
            if other not in places and not imports.has(value, other, module):
                places[other] = other if module in ("builtins", "__main__") else f"{module}.{other}"
        last = module.rpartition(".")[2]
        if last not in places and abs(len(last) - len(wanted)) <= slack:
            places[last] = module
    programs, libraries = groups
    found = {libraries[other]: True for other in nearest(name, libraries)}
    return {**found, **{programs[other]: False for other in nearest(name, programs)}}
