"""What could be imported: modules that are loaded, and files and folders on the path, which are only listed."""

import keyword
import os
import sys
from importlib.machinery import all_suffixes
from os import scandir, stat
from time import monotonic

from imago.looking.fields import ABSENT, entries, inherits, instance_dict, plain, stored
from imago.looking.loaded import loaded_module

_SUFFIXES = tuple(sorted(all_suffixes(), key=len, reverse=True))
_FOLDERS_KEPT = 256
_ENTRIES_MOST = 20_000
_PATHS_MOST = 200
_DEEPEST = 32
_SECONDS = 0.5

# Folder -> (time of change, names of the modules in it).
_listed = {}


def module_names(package):
    """The names of modules in a package, or of all at the top for the empty name; sorted."""
    found = set()
    prefix = package + "." if package else ""
    for name, _ in entries(sys.modules):
        if type(name) is str and name.startswith(prefix):
            found.add(name[len(prefix) :].partition(".")[0])
    if not package:
        found.update(sys.builtin_module_names)
    until = monotonic() + _SECONDS
    for folder in _folders(package):
        found.update(_modules_in(folder))
        if monotonic() > until:
            break
    return sorted(name for name in found if name.isidentifier() and not keyword.iskeyword(name))


def absolute(module, namespace):
    """The whole name of a module that an import writes with leading dots; None where it has no package around it."""
    level = len(module) - len(module.lstrip("."))
    if not level:
        return module
    package = plain(stored(namespace, "__package__"))
    if package is None:
        package = (plain(stored(namespace, "__name__")) or "").rpartition(".")[0]
    parts = package.split(".") if package else []
    if level > len(parts):
        return None
    return ".".join([*parts[: len(parts) - level + 1], *([module[level:]] if module[level:] else [])])


def _folders(package):
    """The folders that hold the modules of a package: as a loaded one says, or as they lie on the path."""
    if package.count(".") > _DEEPEST:
        return []
    if not package:
        paths = sys.path
    else:
        module = loaded_module(package)
        own = None if module is ABSENT else instance_dict(module)
        paths = _plain_paths(stored(own, "__path__")) if inherits(own, dict) else None
        if paths is None:
            outer, _, last = package.rpartition(".")
            paths = [os.path.join(folder, last) for folder in _folders(outer)]
    return [path for path in _plain_paths(paths) or []][:_PATHS_MOST]


def _plain_paths(paths):
    """The texts of an exact list, or of the list that a namespace package keeps; None for anything else."""
    if type(paths) is not list:
        own = None if paths is ABSENT else instance_dict(paths)
        paths = stored(own, "_path") if inherits(own, dict) else None
    return [path or os.curdir for path in paths if type(path) is str] if type(paths) is list else None


def _modules_in(folder):
    try:
        changed = stat(folder).st_mtime_ns
        known = _listed.get(folder)
        if known is not None and known[0] == changed:
            return known[1]
        names = set()
        with scandir(folder) as listing:
            for count, entry in enumerate(listing):
                if count >= _ENTRIES_MOST:
                    break
                name = _module_of(entry)
                if name is not None:
                    names.add(name)
    except (OSError, ValueError):
        return ()
    for oldest in list(_listed)[: max(0, len(_listed) - _FOLDERS_KEPT + 1)]:
        _listed.pop(oldest, None)
    _listed[folder] = (changed, names)
    return names


def _module_of(entry):
    """The name of the module that a file or folder is, or None."""
    for suffix in _SUFFIXES:
        if entry.name.endswith(suffix):
            name = entry.name[: -len(suffix)]
            return name if name.isidentifier() and name != "__init__" else None
    if entry.name.isidentifier() and entry.name != "__pycache__" and entry.is_dir():
        return entry.name
    return None
