"""Who uses one name: code of loaded functions that leads to it, and what the collector knows to hold it."""

import gc
from types import FunctionType

from imago.looking.contents import exactly_built_in
from imago.looking.fields import class_qualified, clean, exactly, instance_dict, is_class
from imago.looking.holders import Search, is_partly_frozen, namespaces
from imago.looking.leaves import function_label
from imago.looking.naming import named
from imago.looking.outcomes import Unresolved, found
from imago.looking.unwrapping import unwrapped
from imago.looking.uses import Target, Uses

_MOST = 1000
_SECONDS = 1.5
_UNSURE = 6
# Texts and numbers are shared by chance: that two variables hold the same one says nothing.
_BY_CHANCE = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))


def references(image, query):
    """`Looked<References>`; `query` has `name` and `limit` of the contract."""
    try:
        name = named(image.namespace, query["name"], image.handles)
    except Unresolved as unresolved:
        return unresolved.looked
    limit = max(1, min(query["limit"], _MOST))
    value = unwrapped(name.value)[0]
    shared = exactly(value, _BY_CHANCE) or (exactly_built_in(value) and not gc.is_tracked(value))
    spaces = namespaces(image.namespace)
    uses = Uses(Target(name, value, shared, image.namespace), spaces, _SECONDS).run()
    rows = [_use(*use) for use in uses.found]
    search = None
    if not shared:
        # With a wrapper that the name stands for, which does not count as a holder of what is in it.
        targets = [value] if value is name.value else [value, name.value]
        search = Search(targets, spaces, _SECONDS, ignored=targets[1:]).run()
        holders = [holder for found_here in search.holders for holder in found_here]
        own = _own_places(name, spaces, image.namespace)
        rows += [_hold(holder) for holder in holders if holder.name not in own]
    return found(
        {
            "qualified": clean(_qualified(name, value)),
            "references": rows[:limit],
            "total": len(rows),
            "searched": _searched(uses, search),
            "complete": uses.complete and not is_partly_frozen() and (search is None or search.complete),
        }
    )


def _own_places(name, spaces, top_level):
    """What the very variable that was asked for is called among the holders."""
    space = {"top": top_level, "module": instance_dict(name.holder) if name.held == "module" else None}.get(name.held)
    return (name.qualified, f"{spaces.get(id(space))}.{name.name}")


def _use(label, file, line):
    return {"kind": "uses", "from": label, "file": file, "line": line}


def _hold(holder):
    text = holder.name
    if holder.container is not None:
        text = f"{'an' if holder.container[:1].lower() in 'aeiou' else 'a'} {holder.container} in {text}"
    return {"kind": "holds", "from": text, "file": holder.file, "line": holder.line}


def _qualified(name, value):
    if is_class(value):
        return class_qualified(value)
    return function_label(value) if type(value) is FunctionType else name.qualified


def _searched(uses, search):
    """What was looked through, and what a reference could hide in that was not."""
    told = [
        f"The code of {uses.functions} functions and methods that are alive, those of the standard library left out.",
        "Not in the image any more, and so not searched: the code of modules, class bodies and scripts that has run.",
        "Never seen: names that are looked up by text (getattr, globals), and C code.",
    ]
    if uses.unsure:
        names = ", ".join(uses.unsure[:_UNSURE]) + (", …" if len(uses.unsure) > _UNSURE else "")
        told.append(
            f"Not counted: {len(uses.unsure)} functions that read an attribute of this name of something "
            f"that only running them could tell: {names}."
        )
    if search is None:
        told.append("A text or a number may be shared by chance: only its variable was looked for, not who holds it.")
    else:
        told.append("For who holds it: all objects that the garbage collector knows, and these are not all.")
        if search.instances[0]:
            told.append(f"It has {search.instances[0]} living instances, which are not listed.")
    if is_partly_frozen():
        told.append("The program has frozen objects (gc.freeze), which nobody can look through.")
    return told
