"""The look `symbols`: the names of one module or package, a page at a time."""

from heapq import nsmallest
from operator import itemgetter
from types import ModuleType

from imago.looking.codes import FILE_MAX_CHARS
from imago.looking.fields import (
    ABSENT,
    class_label,
    clean,
    cut,
    entries,
    inherits,
    instance_dict,
    is_dunder,
    plain,
    stored,
)
from imago.looking.leaves import module_name, own_name
from imago.looking.loaded import home_of, loaded_module, nearest_modules
from imago.looking.namekinds import named_thing
from imago.looking.naming import named
from imago.looking.outcomes import Unresolved, found, not_found
from imago.looking.sections import dedented

_MOST = 1000
_DOC_MAX_CHARS = 1000
_name = itemgetter(0)


def symbols(image, query):
    """A `Looked<ModulePage>`, sorted by name."""
    try:
        module, namespace = module_named(image, query["module"])
    except Unresolved as unresolved:
        return unresolved.looked
    offered, own = _offered(namespace), plain(stored(namespace, "__name__")) or module
    wanted, internal, after = (query.get("filter") or "").casefold(), query.get("internal", False), query.get("after")
    listed = []
    for name, value in entries(namespace):
        if type(name) is not str or is_dunder(name) or clean(name) != name or wanted not in name.casefold():
            continue
        exported = _is_exported(name, value, own, offered)
        if exported or internal:
            listed.append((name, value, exported))
    left = [one for one in listed if after is None or one[0] > after]
    page = nsmallest(max(1, min(query.get("limit", 100), _MOST)), left, key=_name)
    file = plain(stored(namespace, "__file__"))
    answer = {
        "module": clean(module),
        "file": None if file is None else cut(file, FILE_MAX_CHARS),
        "doc": _doc(namespace),
        "symbols": [
            {**named_thing(name, value, name, False), "exported": exported} for name, value, exported in page
        ],
        "total": len(listed),
    }
    if len(left) > len(page):
        answer["next"] = page[-1][0]
    return found(answer)


def module_named(image, name):
    """`(name, namespace)` of a loaded module, or of one that a name at the top level stands for; else `Unresolved`."""
    if name == own_name(image.namespace):
        return name, image.namespace
    module = loaded_module(name)
    if module is ABSENT:
        try:
            module = named(image.namespace, name, image.handles).value
        except Unresolved as unresolved:
            if unresolved.looked["type"] != "not_found":
                raise
            what = f"`{name}`, as a module that is loaded"
            raise Unresolved(not_found(what, nearest_modules(name))) from None
        if not inherits(module, ModuleType):
            raise Unresolved(not_found(f"`{name}` as a module: it is an instance of {class_label(type(module))}"))
        name = module_name(module)
    return name, instance_dict(module) or {}


def _offered(namespace):
    """The names in `__all__`, or None where that is no plain list of them."""
    names = stored(namespace, "__all__")
    if type(names) is not list and type(names) is not tuple:
        return None
    return {name for name in list(names) if type(name) is str}


def _is_exported(name, value, module, offered):
    """Whether a module means a name for others: as `__all__` says, or else if it is its own and not private."""
    if offered is not None:
        return name in offered
    if name.startswith("_"):
        return False
    home = module_name(value) if inherits(value, ModuleType) else home_of(value)
    return home is None or home == module or home.startswith(module + ".")


def _doc(namespace):
    doc = plain(stored(namespace, "__doc__"))
    return None if doc is None else clean(dedented(doc[: 4 * _DOC_MAX_CHARS]).strip())[:_DOC_MAX_CHARS] or None
