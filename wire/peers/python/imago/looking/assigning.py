"""Where a variable gets its value: the assignment in the text of its module, of its class, or of an evaluation."""

import sys
from time import monotonic

from imago.looking.classplaces import locate_class, module_dict, module_file, module_is_compiled
from imago.looking.fields import ABSENT, class_module, class_qualified, clean, inherits, mro, plain, stored
from imago.looking.locating import Located, Nowhere
from imago.looking.sameness import unchanged_since_start
from imago.looking.statements import in_class, on_self, outline
from imago.looking.texts import typed_texts, written_in

_TEXTS = 2000
_HOPS = 8
# What is longest: each text that has the name may have to be cut into statements.
_SECONDS = 0.8
_BINDING = ("assigned", "imported", "bound")


def locate_global(namespace, name, value, top=False):
    """`(place, qualified)` of the assignment of a module's variable; an import is followed to where it leads.

    `top` says that `namespace` is the one in which evaluations run.
    """
    notes = []
    for _ in range(_HOPS):
        texts = _texts(namespace, name, top)
        module = plain(stored(namespace, "__name__"))
        qualified = name if module is None else f"{clean(module)}.{name}"
        place = _last_assignment(texts, name)
        origin = None
        if place is not None and place.assignment.kind == "imported":
            origin = _imported_from(place.assignment.node, name, namespace, value)
        if origin is None:
            break
        notes.append(f"{qualified} is imported, on line {place.first} of {place.file}.")
        namespace, name, top = *origin, False
    if place is None:
        place = _no_assignment(texts, qualified, namespace)
    else:
        place.notes[:0] = notes
    return place, qualified


def locate_in_class(cls, name):
    """The assignment of an attribute in the body of a class, or `Nowhere`."""
    place = locate_class(cls)
    if type(place) is Nowhere:
        return place
    found = _at(place.written, in_class(place.definition, name), place.current, place.definition)
    if found is not None:
        return found
    because = f"The statement of {class_qualified(cls)} does not assign `{name}`."
    return Nowhere(because, place.origin, place.file, place.first)


def locate_on_instance(cls, name):
    """Where a class, or one that it inherits from, assigns an attribute of its instances; or `Nowhere`."""
    for owner in mro(cls):
        if class_module(owner) == "builtins":
            continue
        place = locate_class(owner)
        if type(place) is Nowhere:
            continue
        assigned = on_self(place.definition, name) or in_class(place.definition, name)
        found = _at(place.written, assigned[:1], place.current, place.definition)
        if found is not None:
            _say_others(found, assigned[1:], place.written)
            return found
    return Nowhere(f"No class of the instance assigns `{name}` in its text.")


class Assigned(Located):
    """The `Located` of an assignment."""

    __slots__ = ("assignment",)


def _texts(namespace, name, top):
    file = module_file(namespace)
    texts = [] if file is None else written_in(file)
    if top or plain(stored(namespace, "__name__")) == "__main__":
        texts = [*typed_texts()[:_TEXTS], *texts]
    return [text for text in texts if any(name in line for line in text.lines)]


def _last_assignment(texts, name):
    until = monotonic() + _SECONDS
    for written in texts:
        if monotonic() > until:
            return None
        found = _at(written, outline(written.text).assignments(name), None, None)
        if found is not None:
            if written.sure or unchanged_since_start(written.file):
                found.current = True
            return found
    return None


def _at(written, assignments, current, definition):
    """The one of several assignments that counts, which is the last that is made where the text is run."""
    ranked = [one for one in assignments if one.kind in _BINDING]
    ranked = ranked or [one for one in assignments if one.kind == "global"] or list(assignments)
    if not ranked:
        return None
    chosen = ranked[-1]
    moved = written.first - 1
    found = Assigned(written, chosen.first + moved, chosen.last + moved, current, definition)
    found.assignment = chosen
    _say_others(found, [one for one in assignments if one is not chosen], written)
    return found


def _say_others(found, others, written):
    lines = sorted({one.first + written.first - 1 for one in others})
    if lines:
        shown = ", ".join(str(line) for line in lines[:8])
        more = f" and {len(lines) - 8} more" if len(lines) > 8 else ""
        found.notes.append(f"It is also assigned on line{'s' if len(lines) > 1 else ''} {shown}{more}.")


def _imported_from(node, name, namespace, value):
    """`(namespace, name)` that `from x import name` leads to, where that is loaded and holds the same object."""
    module = getattr(node, "module", None) or ""
    level = getattr(node, "level", None)
    if level is None:
        return None
    if level:
        package = (plain(stored(namespace, "__package__")) or "").split(".")
        module = ".".join([*package[: len(package) - level + 1], *([module] if module else [])])
    target = module_dict(module)
    for alias in node.names:
        if (alias.asname or alias.name) == name and inherits(target, dict):
            if stored(target, alias.name) is value:
                return target, alias.name
    return None


def _no_assignment(texts, qualified, namespace):
    file = module_file(namespace)
    if texts:
        because = f"{texts[0].file} has no statement that assigns `{qualified}`; code has set it in another way."
        return Nowhere(because, texts[0].origin, texts[0].file)
    if file is not None:
        return Nowhere(f"{clean(file)} has no word of `{qualified}`, or cannot be read.", "unknown", clean(file))
    if stored(sys.modules, plain(stored(namespace, "__name__"))) is ABSENT:
        return Nowhere(f"No text that assigns `{qualified}` was kept.")
    spec = "built into the interpreter or compiled" if module_is_compiled(namespace) else "without a source file"
    origin = "built_in" if module_is_compiled(namespace) else "unknown"
    return Nowhere(f"`{qualified}` belongs to a module that is {spec}.", origin)
