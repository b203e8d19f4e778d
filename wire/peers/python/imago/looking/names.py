"""The names at the top level, or of one module, a page at a time."""

from operator import itemgetter
from types import ModuleType

from imago.looking.fields import clean, entries, is_dunder, steadily, type_name
from imago.looking.modulepage import module_named
from imago.looking.outcomes import Unresolved, found

_PAGE_MAX_NAMES = 1000
_name_of_pair = itemgetter(0)


def globals_of(image, query):
    """A `Looked<GlobalsPage>`: of the top level, or of the loaded module that `query` names. Nothing is imported."""
    module = query.get("module")
    if module is None:
        return globals_page(image.namespace, query)
    try:
        _, namespace = module_named(image, module)
    except Unresolved as unresolved:
        return unresolved.looked
    return globals_page(namespace, query)


def globals_page(namespace, query):
    """`{globals: [{name, type_name}], total, next?}` of the names that match, sorted by code point.

    `query` has `after`, `filter`, `modules` and `limit` of the contract. Names with two underscores on both sides are
    Python's own and not listed; a key that is no exact `str`, or no text that can be sent, is no name.
    """
    limit = max(1, min(query.get("limit", 100), _PAGE_MAX_NAMES))
    after, wanted, modules = query.get("after") or "", query.get("filter"), query.get("modules", False)

    def select(pairs):
        if wanted is not None:
            pairs = _filtered(pairs, wanted.casefold())
        return _select(pairs, limit, after, modules)

    try:
        page, total, more = steadily(lambda: select(dict.items(namespace)))
    except RuntimeError:  # Names come and go faster than they are walked; nothing comes between taking them all.
        page, total, more = select(entries(namespace))
    if any(clean(name) != name for name, _ in page):
        sendable = [pair for pair in entries(namespace) if type(pair[0]) is str and clean(pair[0]) == pair[0]]
        page, total, more = select(sendable)
    answer = {"globals": [{"name": name, "type_name": type_name(value)} for name, value in page], "total": total}
    if more:
        answer["next"] = page[-1][0]
    return found(answer)


def _filtered(pairs, folded):
    return [pair for pair in pairs if type(pair[0]) is str and folded in pair[0].casefold()]


def _select(pairs, limit, after, modules):
    """`(page, total, more)`: the first `limit` pairs after `after`, how many match, and whether others follow.

    Each name is touched once, while all is decided about it: with very many names, fetching them from memory is what
    takes the time. A value of the same type as the one before it is not asked again whether it is a module.
    """
    kept, bound = [], _Top()
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
        if name < bound and name > after:
            kept.append((name, value))
            if len(kept) >= 2 * limit:
                kept.sort(key=_name_of_pair)
                del kept[limit:]
                bound = kept[-1][0]
    kept.sort(key=_name_of_pair)
    more = type(bound) is str or len(kept) > limit
    return kept[:limit], len(pairs) - left_out, more


class _Top:
    """Comes after every name."""

    def __gt__(self, name):
        return True
