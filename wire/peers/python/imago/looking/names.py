"""Lists of names: at the top level, of a module, and those that match a pattern."""

import builtins
from heapq import nsmallest
from operator import itemgetter
from types import MethodType, ModuleType

from imago.looking.fields import (
    ABSENT,
    class_entries,
    class_label,
    clean,
    cut,
    entries,
    inherits,
    instance_dict,
    is_class,
    is_dunder,
    own_field,
    plain,
    steadily,
    stored,
    type_name,
)
from imago.looking.loaded import (
    Imports,
    home_of,
    is_imago,
    is_library,
    loaded_module,
    module_dict,
    modules,
    nearest_modules,
    programs_first,
    source_file,
)
from imago.looking.name_lookup import named, named_thing
from imago.looking.outcomes import NotFound, found, look
from imago.looking.sections import dedented
from imago.looking.source import FILE_MAX_CHARS
from imago.looking.rendering import module_name, own_name
from imago.native import monotonic

# The look `symbols`: the names of one module or package, a page at a time.

_MOST = 1000
_DOC_MAX_CHARS = 1000
_first = itemgetter(0)


@look
def symbols(image, query):
    """A `Looked<ModulePage>`, sorted by name."""
    module, namespace = module_named(image, query["module"])
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
    page = nsmallest(max(1, min(query.get("limit", 100), _MOST)), left, key=_first)
    file = source_file(namespace)
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
        except NotFound:
            what = f"`{name}`, as a module that is loaded"
            raise NotFound(what, nearest_modules(name)) from None
        if not inherits(module, ModuleType):
            raise NotFound(f"`{name}` as a module: it is an instance of {class_label(type(module))}")
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


# The names at the top level, or of one module, a page at a time.

_PAGE_MAX_NAMES = 1000
# Where the top level has no more names than this, it may be that of a launcher, and the program is in its modules.
_FEW_NAMES = 12
_MODULES_NAMED = 20


@look
def globals_of(image, query):
    """A `Looked<GlobalsPage>`: of the top level, or of the loaded module that `query` names. Nothing is imported."""
    module = query.get("module")
    if module is None:
        page = globals_page(image.namespace, query)
        if query.get("after") or query.get("filter") or page["value"]["total"] > _FEW_NAMES:
            return page
        own = _own_modules(image.namespace)
        return found({**page["value"], "elsewhere": own}) if own else page
    _, namespace = module_named(image, module)
    return globals_page(namespace, query)


def _own_modules(namespace):
    """The names of the program's own loaded modules, without that of the top level; the first of them."""
    names = [
        name
        for name, _, own in modules()
        if own is not namespace and plain(stored(own, "__file__")) is not None and not is_library(name, own)
        if name not in ("__mp_main__", "sitecustomize") and not is_imago(name)
    ]
    return [clean(name) for name in sorted(names)[:_MODULES_NAMED]]


def globals_page(namespace, query):
    """`{globals: [{name, type_name}], total, hidden?, next?}` of the names that match, sorted by code point.

    `query` has `after`, `filter`, `modules` and `limit` of the contract. Names with two underscores on both sides are
    Python's own and not listed; a key that is no exact `str`, or no text that can be sent, is no name.
    """
    limit = max(1, min(query.get("limit", 100), _PAGE_MAX_NAMES))
    after, wanted = query.get("after") or "", (query.get("filter") or "").casefold()
    modules = query.get("modules", False)
    of_ipython = _of_ipython(namespace)

    def select(pairs):
        if wanted:
            pairs = [pair for pair in pairs if type(pair[0]) is str and wanted in pair[0].casefold()]
        if of_ipython:
            pairs = [pair for pair in pairs if type(pair[0]) is not str or pair[0] not in of_ipython]
        return _select(pairs, limit, after, modules)

    try:
        page, total, more = steadily(lambda: select(dict.items(namespace)))
    except RuntimeError:  # Names come and go faster than they are walked; nothing comes between taking them all.
        page, total, more = select(entries(namespace))
    if any(clean(name) != name for name, _ in page):
        sendable = [pair for pair in entries(namespace) if type(pair[0]) is str and clean(pair[0]) == pair[0]]
        page, total, more = select(sendable)
    answer = {"globals": [{"name": name, "type_name": type_name(value)} for name, value in page], "total": total}
    hidden = sum(wanted in name.casefold() for name in of_ipython)
    if hidden:
        answer["hidden"] = hidden
    if more:
        answer["next"] = page[-1][0]
    return found(answer)


def _of_ipython(namespace):
    """The names that IPython's shell has put at its top level, and that have still the values which it knows."""
    # Without IPython, all names would be gone over for that one.
    getter = ABSENT if loaded_module("IPython") is ABSENT else stored(namespace, "get_ipython")
    own = own_field(getter.__self__, "user_ns_hidden") if type(getter) is MethodType else ABSENT
    pairs = entries(own) if type(own) is dict else ()
    return frozenset(
        name
        for name, value in pairs
        if type(name) is str and not is_dunder(name) and stored(namespace, name) is value
    )


def _select(pairs, limit, after, modules):
    """`(page, total, more)`: the first `limit` pairs after `after`, how many match, and whether others follow.

    Each name is touched once, while all is decided about it: with very many names, fetching them from memory is what
    takes the time. A value of the same type as the one before it is not asked again whether it is a module.
    """
    kept, bound = [], None
    left_out, known = 0, None
    for name, value in pairs:
        if type(name) is not str or ("__" in name and is_dunder(name)):
            left_out += 1
            continue
        kind = type(value)
        if kind is not known:
            if not modules and issubclass(kind, ModuleType):
                left_out += 1
                continue
            known = kind
        if (bound is None or name < bound) and name > after:
            kept.append((name, value))
            if len(kept) >= 2 * limit:
                kept.sort(key=_first)
                del kept[limit:]
                bound = kept[-1][0]
    kept.sort(key=_first)
    more = bound is not None or len(kept) > limit
    return kept[:limit], len(pairs) - left_out, more


# The look `apropos`: names in the whole image that contain a text.

_MOST_FOUND = 1000
_SECONDS = 0.8
_TOP, _PROGRAM, _LIBRARY = range(3)


@look
def apropos(image, query):
    """A `Looked<Apropos>`: first the names at the top level, then those of the program, then those of libraries.

    A function or class is told where it was defined, and not again where it was imported.
    """
    within = query.get("module")
    if within is not None and within != own_name(image.namespace) and loaded_module(within) is ABSENT:
        raise NotFound(f"`{within}`, as a module that is loaded", nearest_modules(within))
    search = _Search(query["pattern"])
    searched, complete = search.run(list(_spaces(image.namespace, within)))
    after = query.get("after")
    matches = search.matches
    if after is not None:
        place = (_rank_of(after, image.namespace), after)
        matches = [match for match in matches if match[0] > place]
    page = nsmallest(max(1, min(query.get("limit", 50), _MOST_FOUND)), matches, key=_first)
    answer = {
        "matches": [named_thing(name, value, last, in_class) for (_, name), value, last, in_class in page],
        "total": len(search.matches) if complete else None,
        "searched": searched,
    }
    if len(matches) > len(page):
        answer["next"] = page[-1][0][1]
    return found(answer)


class _Search:
    """`matches` are `((rank, dotted name), value, last part of the name, whether a class stores it)`."""

    def __init__(self, pattern):
        self._pattern = pattern.casefold()
        self._dotted = "." in pattern
        self._dunders = pattern.startswith("__")
        self._imports = Imports()
        self.matches = []

    def run(self, spaces):
        """Goes through `(rank, module, namespace)`; returns how many it got through, and whether those were all."""
        until = monotonic() + _SECONDS
        for searched, (rank, module, namespace) in enumerate(spaces):
            if monotonic() > until:
                return searched, False
            self._space(rank, module, namespace)
        return len(spaces), True

    def _space(self, rank, module, namespace):
        prefix = "" if namespace is builtins.__dict__ or rank == _TOP else f"{module}."
        if rank != _TOP and self._fits(module.rpartition(".")[2], module):
            self.matches.append(((rank, module), loaded_module(module), module.rpartition(".")[2], False))
        for name, value in entries(namespace):
            if type(name) is not str or clean(name) != name:
                continue
            if self._fits(name, prefix + name) and not self._imports.has(value, name, module):
                self.matches.append(((rank, prefix + name), value, name, False))
            if is_class(value) and home_of(value) == module:
                self._members(rank, prefix + name, value)

    def _members(self, rank, owner, cls):
        for name, entry in class_entries(cls):
            if type(name) is str and self._fits(name, f"{owner}.{name}") and clean(name) == name:
                self.matches.append(((rank, f"{owner}.{name}"), entry, name, True))

    def _fits(self, name, dotted):
        if "__" in name and is_dunder(name) and not self._dunders:
            return False
        return self._pattern in (dotted if self._dotted else name).casefold()


def _spaces(namespace, within):
    """`(rank, module, namespace)` of all that is searched, each dict once."""
    own = own_name(namespace)
    if within in (None, own):
        yield _TOP, own, namespace
    loaded = modules()
    # A module that is loaded under several names is told under its own.
    loaded.sort(key=lambda one: plain(stored(one[2], "__name__")) != one[0])
    kept = {}
    for name, module, own in loaded:
        if within is not None and name != within and not name.startswith(within + "."):
            continue
        if own is namespace or within is None and is_imago(name):
            continue
        kept.setdefault(id(own), (name, module, own))
    for name, _, own in programs_first(kept.values()):
        yield (_LIBRARY if is_library(name, own) else _PROGRAM), name, own


def _rank_of(name, namespace):
    """The rank of a name that was listed before, so that the list goes on behind it."""
    parts = name.split(".")
    at_top = stored(namespace, parts[0])
    if at_top is not ABSENT and not inherits(at_top, ModuleType):
        return _TOP
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        if loaded_module(module) is not ABSENT:
            return _LIBRARY if is_library(module, module_dict(module) or {}) else _PROGRAM
    return _LIBRARY
