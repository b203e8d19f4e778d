"""Where the thing that a name stands for is defined, whatever sort of thing it is."""

from types import FunctionType, ModuleType

from imago.looking.assigning import locate_global, locate_in_class, locate_on_instance
from imago.looking.classplaces import is_from_text, locate_class, module_dict
from imago.looking.fields import (
    class_label,
    class_lookup,
    class_module,
    class_name,
    class_qualified,
    inherits,
    instance_dict,
    is_class,
    plain,
)
from imago.looking.leaves import builtin_label, function_label, module_name
from imago.looking.locating import Located, Nowhere, locate_function
from imago.looking.moduleplaces import locate_module

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
