"""The look `arglist`: how one function, method or class is called."""

from types import ModuleType

from imago.looking.fields import class_label, clean, inherits, is_class
from imago.looking.namekinds import is_callable, kind_of_name, summary
from imago.looking.naming import named
from imago.looking.outcomes import Unresolved, found
from imago.looking.parameters import called_with
from imago.looking.standing import place_of
from imago.looking.unwrapping import unwrapped

_MOST = 300


def arglist(image, query):
    """A `Looked<Arglist>`. What wrappers only pass on is told of what is inside of them."""
    try:
        name = named(image.namespace, query["name"], image.handles)
    except Unresolved as unresolved:
        return unresolved.looked
    inside, _ = unwrapped(name.value)
    place, qualified = place_of(image.namespace, name, inside)
    parameters = called_with(name.value, 1 if name.bound else 0)
    return found(
        {
            "name": clean(name.asked),
            "qualified": clean(qualified),
            "signature": None if parameters is None else clean(parameters.text),
            "because": because_unknown(name) if parameters is None else None,
            "parameters": [] if parameters is None else [_shown(one) for one in parameters.parameters[:_MOST]],
            "returns": None if parameters is None else parameters.returns,
            "doc": summary(name.value) if is_callable(name.value) else None,
            "file": place.file,
            "line": place.first,
        }
    )


def because_unknown(name):
    """Why no signature is known of a `Named`, in a sentence."""
    value = name.value
    if inherits(value, ModuleType):
        return "It is a module, which is not called."
    if kind_of_name(value, name.name, name.held == "class") == "property":
        return "It is a property: it is read, not called."
    if not is_callable(value):
        return f"It is an instance of {class_label(type(value))}, which is not called."
    if is_class(value):
        return f"{class_label(value)} is made by compiled code that carries no signature."
    return "It is compiled, or called through code of its own, and carries no signature."


def _shown(one):
    return {"name": one.name, "kind": one.kind, "default": one.default, "annotation": one.annotation}
