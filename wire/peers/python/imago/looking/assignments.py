"""Where names and attributes are assigned, and where a value comes from."""

import sys
from types import FunctionType, ModuleType

from imago.looking.definition_places import (
    Located,
    Nowhere,
    is_from_text,
    locate_class,
    locate_function,
    locate_module,
    module_dict,
    module_file,
    module_is_compiled,
)
from imago.looking.fields import (
    ABSENT,
    class_label,
    class_lookup,
    class_module,
    class_name,
    class_qualified,
    clean,
    inherits,
    instance_dict,
    is_class,
    mro,
    plain,
    stored,
)
from imago.looking.source import typed_texts, unchanged_since_start, written_in
from imago.looking.statements import imported, in_class, on_self, outline
from imago.looking.rendering import builtin_label, function_label, module_name
from imago.native import monotonic

# Where a variable gets its value: the assignment in the text of its module, of its class, or of an evaluation.

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
            origin = _imported_from(place.assignment.statement, name, namespace, value)
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
    found = _at(place.written, in_class(place.definition, name), _as_loaded(place.written), place.definition)
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
        found = _at(place.written, assigned[:1], _as_loaded(place.written), place.definition)
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
            found.current = _as_loaded(written)
            return found
    return None


def _as_loaded(written):
    """True where a text is the one that ran; None where it may have changed since."""
    return written.ours or unchanged_since_start(written.file) or None


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


def _imported_from(statement, name, namespace, value):
    """`(namespace, name)` that `from x import name` leads to, where that is loaded and holds the same object."""
    module, level, names = imported(statement)
    if level is None:
        return None
    if level:
        package = (plain(stored(namespace, "__package__")) or "").split(".")
        module = ".".join([*package[: len(package) - level + 1], *([module] if module else [])])
    target = module_dict(module)
    for there, here in names:
        if here == name and inherits(target, dict) and stored(target, there) is value:
            return target, there
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


# Where the thing that a name stands for is defined, whatever sort of thing it is.

_DESCRIPTORS = ("method_descriptor", "wrapper_descriptor", "classmethod_descriptor", "getset_descriptor")


def place_of(namespace, name, inside):
    """`(place, qualified)` of a `Named`, seen through to `inside`; the place is a `Located` or `Nowhere`."""
    if type(inside) is FunctionType:
        return _function_place(name, inside), function_label(inside)
    if is_class(inside):
        return _class_place(namespace, inside)
    if inherits(inside, ModuleType):
        return locate_module(inside), module_name(inside)
    compiled = _compiled_label(inside)
    if compiled is not None:
        return Nowhere(f"`{compiled}` is compiled into the interpreter or an extension.", "built_in"), compiled
    if name.held == "top":
        return locate_global(namespace, name.name, name.value, top=True)
    if name.held == "module":
        return locate_global(instance_dict(name.holder) or {}, name.name, name.value)
    if name.held == "class":
        if not is_from_text(name.holder):
            return Nowhere(f"`{class_label(name.holder)}` is compiled.", "built_in"), name.qualified
        return locate_in_class(name.holder, name.name), name.qualified
    if name.held == "instance":
        return locate_on_instance(type(name.holder), name.name), name.qualified
    if name.held == "built_in":
        return Nowhere(f"`{name.name}` is built into the interpreter.", "built_in"), name.name
    return Nowhere(f"It is a value without a name of its own: an instance of {class_label(type(inside))}."), name.asked


def _function_place(name, function):
    place = locate_function(function)
    if isinstance(place, Located) or name.held != "class" or place.file is None or not place.file.startswith("<"):
        return place
    owner = locate_class(name.holder)
    if not isinstance(owner, Located):
        return place
    maker = "dataclasses" if class_lookup(name.holder, "__dataclass_fields__") is not None else "code"
    owner.notes.append(f"`{name.name}` has no text of its own: {maker} generated it; shown is the class.")
    return owner


def _class_place(namespace, cls):
    qualified = class_qualified(cls)
    if not is_from_text(cls):
        return Nowhere(f"`{class_label(cls)}` is compiled into the interpreter or an extension.", "built_in"), qualified
    place = locate_class(cls)
    home = module_dict(class_module(cls))
    if isinstance(place, Nowhere) and inherits(home, dict):
        # A named tuple, say: the class was made by a call, and stands where its name is assigned.
        assigned, _ = locate_global(home, class_name(cls), cls, top=home is namespace)
        if isinstance(assigned, Located):
            assigned.notes.append("It was made by a call, not by a class statement.")
            return assigned, qualified
    return place, qualified


def _compiled_label(value):
    """What to call a function or descriptor that is compiled; None for anything else."""
    kind = type(value)
    if class_module(kind) != "builtins":
        return None
    label = class_name(kind)
    if label == "builtin_function_or_method":
        return builtin_label(value)
    if label in _DESCRIPTORS:
        return f"{class_label(value.__objclass__)}.{plain(value.__name__)}"
    if label == "method-wrapper":
        return f"{class_label(type(value.__self__))}.{plain(value.__name__)}"
    return None
