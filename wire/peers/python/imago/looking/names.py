"""The names at the top level, a page at a time."""

from heapq import nsmallest
from types import ModuleType

from .fields import ABSENT, clean, is_dunder, steadily, stored, type_name
from .outcomes import found

_PAGE_MAX_NAMES = 1000


def globals_page(namespace, query):
    """`{globals: [{name, type_name}], total, next?}` of the names that match, sorted by code point.

    `query` has `after`, `filter`, `modules` and `limit` of the contract. Names with two underscores on both sides are
    Python's own and not listed; a key that is no exact `str`, or no text that can be sent, is no name.
    """
    limit = max(1, min(query.get('limit', 100), _PAGE_MAX_NAMES))
    names, lookup = steadily(lambda: _matching(namespace, query.get('filter'), bool(query.get('modules'))))
    page, rest = _page(names, query.get('after'), limit)
    if any(clean(name) != name for name in page):
        names = [name for name in names if clean(name) == name]
        page, rest = _page(names, query.get('after'), limit)
    values = [(name, lookup(name)) for name in page]
    listed = [{'name': name, 'type_name': type_name(value)} for name, value in values if value is not ABSENT]
    answer = {'globals': listed, 'total': len(names)}
    if rest > len(page):
        answer['next'] = page[-1]
    return found(answer)


def _page(names, after, limit):
    """The first `limit` names after `after`, and how many names there are after it."""
    if after is not None:
        names = [name for name in names if name > after]
    return nsmallest(limit, names), len(names)


def _matching(namespace, wanted, modules):
    """All names that the filter lets through, unsorted, and how to look one of them up.

    One pass over the dict does all, because with very many names this pass is what the page costs.
    """
    strange = []
    names = [
        name
        for name, value in dict.items(namespace)
        if (type(name) is str or strange.append(name))
        and ('__' not in name or not is_dunder(name))
        and (modules or not issubclass(type(value), ModuleType))
    ]
    if wanted is not None:
        folded = wanted.casefold()
        names = [name for name in names if folded in name.casefold()]
    if strange:
        return names, lambda name: stored(namespace, name)
    # Every key is an exact `str`, so looking one up asks no other object.
    return names, lambda name: dict.get(namespace, name, ABSENT)
