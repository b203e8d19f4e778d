"""Where a class stands among others: what it inherits from, and what inherits from it."""

from imago.looking.classplaces import is_from_text, locate_class
from imago.looking.fields import ABSENT, class_module, class_name, class_qualified, is_class, mro
from imago.looking.loaded import is_imago
from imago.looking.naming import named
from imago.looking.outcomes import Unresolved, found

_MOST = 1000
#: Subclasses that are counted at most.
_COUNTED = 50_000

_bases_of = type.__dict__["__bases__"].__get__
_subclasses_of = type.__dict__["__subclasses__"]


def hierarchy(image, query):
    """`Looked<Hierarchy>`; `query` has `name` and `limit` of the contract.

    Classes that an abstract one has been told to count as its own are not among the subclasses: they inherit nothing.
    """
    try:
        cls, _ = class_named(image, query["name"])
    except Unresolved as unresolved:
        return unresolved.looked
    limit = max(1, min(query["limit"], _MOST))
    shown, total = _below(cls, limit)
    place = locate_class(cls) if is_from_text(cls) else None
    return found(
        {
            "class": class_facts(cls),
            "metaclass": None if type(cls) is type else class_facts(type(cls)),
            "bases": [class_facts(one) for one in _bases_of(cls)[:_MOST]],
            "ancestors": [class_facts(one) for one in mro(cls)[: _MOST + 1] if one is not cls],
            "subclasses": [{"type": class_facts(one), "depth": depth} for one, depth in shown],
            "total": total,
            "file": None if place is None else place.file,
            "line": None if place is None else place.first,
        }
    )


def class_named(image, name):
    """`(class, instance)`: the class that `name` stands for, or that of the value, which is then the instance.

    Raises `Unresolved`.
    """
    value = named(image.namespace, name, image.handles).value
    return (value, ABSENT) if is_class(value) else (type(value), value)


def class_facts(cls):
    """The contract's `TypeName` of a class itself."""
    return {"name": class_name(cls), "module": class_module(cls), "qualified": class_qualified(cls)}


def _below(cls, limit):
    """`(shown, total)`: the first subclasses over all levels, depth first, each with its distance.

    One with several bases is told where it is met first. Imago's own are passed over.
    """
    shown, seen, ours = [], {id(cls)}, 0
    waiting = [(one, 1) for one in reversed(subclasses_of(cls))]
    while waiting and len(seen) <= _COUNTED:
        one, depth = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if is_imago(class_module(one)):
            ours += 1
        elif len(shown) < limit:
            shown.append((one, depth))
        waiting.extend((below, depth + 1) for below in reversed(subclasses_of(one)))
    return shown, len(seen) - 1 - ours


def subclasses_of(cls):
    """The direct subclasses that are alive, whatever the metaclass would say."""
    return _subclasses_of(cls)
