"""What running a file or a module has changed in a namespace: names added, replaced and left over."""

import dis
import types
import weakref

from imago.looking.fields import (
    class_entries,
    entries,
    inherits,
    instance_dict,
    is_class,
    is_dunder,
    made_by_statement,
    plain,
    stored,
)
from imago.survivors import Generations, find_survivors

#: Names of one list that are told; the others are counted.
NAMES = 200

_STORES = ('STORE_NAME', 'STORE_GLOBAL')
_STAR = 2  # The number of the intrinsic function that imports all names, since 3.12.
_HOLDERS = (dict, list, set)


class Before:
    """A namespace as it was. ``changed`` lets go of the old values, except of those that have to be asked after."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.entries = dict(entries(namespace))

    def changed(self):
        """``(added, replaced)``: names, sorted as they stand in the namespace."""
        added, replaced = [], []
        for name, value in entries(self.namespace):
            if type(name) is not str or is_dunder(name):
                continue
            if name not in self.entries:
                added.append(name)
            elif self.entries[name] is not value:
                replaced.append(name)
        return added, replaced

    def put_back(self):
        """Makes the namespace what it was. No name that was there before is missing at any moment."""
        self.namespace.update(self.entries)
        for name in [name for name in self.namespace if name not in self.entries]:
            del self.namespace[name]

    def old(self, names):
        """What the names stood for, as ``(name, kind, reference)``: weak where that can be had, else a function."""
        found = []
        for name in names:
            value = self.entries[name]
            kind = _kind(value)
            if kind is not None:
                found.append((name, kind, _weakly(value)))
        return found


def loaded(before, top_level, report, old=()):
    """The ``Loaded`` of the contract.

    ``report`` has its ``module``, ``file``, ``kept`` and ``skipped``; ``old`` what else was replaced, as
    ``Before.old`` has it.
    """
    added, replaced = before.changed()
    gone = [*before.old(replaced), *old]
    # From here on nothing of ours holds what was replaced.
    before.entries = None
    old = Generations.of(report['module']).with_earlier(gone, before.namespace)
    survivors, left_out, complete = find_survivors(old, top_level)
    lists = {'added': added, 'replaced': replaced, 'kept': report['kept'], 'skipped': report['skipped']}
    return {
        'module': report['module'],
        'file': report['file'],
        **{name: names[:NAMES] for name, names in lists.items()},
        'survivors': survivors,
        'omitted': sum(max(0, len(names) - NAMES) for names in lists.values()) + left_out,
        'complete': complete,
    }


def left_over(before, code, file, whole):
    """Names that were there before and that the new code does not bind.

    With ``whole`` these are all names of a module, its submodules left out; else those that came from the file.
    """
    bound, star = bound_by(code)
    own = plain(stored(before, '__name__')) or ''
    kept = []
    for name, value in before.items():
        if type(name) is not str or is_dunder(name) or name in bound:
            continue
        from_file = _is_from(value, file)
        if from_file or (whole and not star and not _is_submodule(value, own)):
            kept.append(name)
    return kept


def bound_by(code):
    """``(names, star)``: the global names that the code of a module binds, and whether it imports all of another."""
    names, star = set(), False
    waiting = [(code, _STORES)]
    while waiting:
        code, stores = waiting.pop()
        for one in dis.get_instructions(code):
            if one.opname in stores:
                names.add(one.argval)
            elif one.opname == 'IMPORT_STAR' or (one.opname == 'CALL_INTRINSIC_1' and one.arg == _STAR):
                star = True
        waiting.extend((one, ('STORE_GLOBAL',)) for one in code.co_consts if type(one) is types.CodeType)
    return names, star


def _kind(value):
    if is_class(value):
        return 'class'
    if inherits(value, types.ModuleType):
        return None
    if callable(value) and not isinstance(value, types.BuiltinFunctionType):
        return 'function'
    return 'object' if made_by_statement(type(value)) or any(type(value) is one for one in _HOLDERS) else None


def _weakly(value):
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _is_from(value, file):
    """Whether a function, or one of the functions of a class, was compiled from a file."""
    if type(value) is types.FunctionType:
        return value.__code__.co_filename == file
    if not is_class(value):
        return False
    functions = [item for _, item in class_entries(value) if type(item) is types.FunctionType]
    return any(function.__code__.co_filename == file for function in functions)


def _is_submodule(value, package):
    if not inherits(value, types.ModuleType):
        return False
    own = instance_dict(value)
    name = None if own is None else plain(stored(own, '__name__'))
    return name is not None and name.startswith(package + '.')
