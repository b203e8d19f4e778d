"""Old objects that are still in use after their names have come to stand for new ones, and who holds them."""

import gc
import weakref

from imago.looking.fields import stored
from imago.looking.holders import Search, namespaces

#: Objects that are told of, and holders of each; seconds that the search may take.
SURVIVORS = 20
HELD_BY = 6
SECONDS = 1.0
#: Objects of earlier loads that are remembered of one module, and modules of which they are.
REMEMBERED = 500
MODULES = 100

# Module -> its Generations, the one that was loaded last at the end.
_generations = {}


class Generations:
    """What the loads of one module have replaced, each by a weak reference alone."""

    def __init__(self):
        self._loads = 0
        self._old = []

    @classmethod
    def of(cls, module):
        """Those of a module by its name; None is the top level."""
        known = _generations[module] = _generations.pop(module, None) or cls()
        for oldest in list(_generations)[: max(0, len(_generations) - MODULES)]:
            del _generations[oldest]
        return known

    def with_earlier(self, gone, namespace):
        """Adds to what a load has replaced what earlier ones have: ``(name, kind, reference, loads ago)``.

        What has been put back since, and stands in the namespace under its name, is not old.
        """
        new = {id(reference()) for _, _, reference in gone}
        old = [(name, kind, reference, 0) for name, kind, reference in gone]
        for name, kind, reference, load in self._old:
            value = reference()
            if value is not None and id(value) not in new and stored(namespace, name) is not value:
                old.append((name, kind, reference, self._loads - load))
        self._remember(gone)
        return old

    def _remember(self, gone):
        alive = [one for one in self._old if one[2]() is not None]
        new = [(*one, self._loads) for one in gone if type(one[2]) is weakref.ref]
        self._old = [*alive, *new][-REMEMBERED:]
        self._loads += 1


def find_survivors(old, top_level):
    """``(survivors, left_out, complete)`` of what ``Generations.with_earlier`` returns.

    ``reference()`` is the object, or None where it is gone.

    What only waits to be collected is collected first: a class always holds itself. Where the program has turned the
    collector off, it stays off, and only what has a known holder is told of.
    """
    if not old:
        return [], 0, True
    collected = gc.isenabled()
    if collected:
        gc.collect()
    alive = [(name, kind, reference(), ago) for name, kind, reference, ago in old]
    alive = [one for one in alive if one[2] is not None]
    if not alive:
        return [], 0, True
    targets = [value for _, _, value, _ in alive]
    search = Search(targets, namespaces(top_level), SECONDS, ignored=[alive, *alive]).run()
    rows = []
    for at, (name, kind, _, ago) in enumerate(alive):
        holders, instances = search.holders[at], search.instances[at]
        if holders or instances or (collected and kind != 'object'):
            row = _row(name, kind, instances if kind == 'class' else None, holders)
            rows.append({**row, 'loads_ago': ago} if ago else row)
    # Of each load, those of which most is known first: classes with instances, then what is held.
    rows.sort(key=lambda row: (row.get('loads_ago', 0), -(row['instances'] or 0), -len(row['held_by'])))
    return rows[:SURVIVORS], max(0, len(rows) - SURVIVORS), search.complete


def _row(name, kind, instances, holders):
    told = [held_by(holder) for holder in holders[:HELD_BY]]
    if len(holders) > HELD_BY:
        told.append('%d more' % (len(holders) - HELD_BY))
    return {'name': name, 'kind': kind, 'instances': instances, 'held_by': told}


def held_by(holder):
    """``shop.web.handlers (a dict)``"""
    if holder.container is None:
        return holder.name
    article = 'an' if holder.container[:1].lower() in 'aeiou' else 'a'
    return '%s (%s %s)' % (holder.name, article, holder.container)
