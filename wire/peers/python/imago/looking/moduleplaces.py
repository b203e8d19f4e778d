"""Where a module stands: its whole file."""

from types import FunctionType

from imago.looking.classplaces import module_file
from imago.looking.fields import ABSENT, clean, entries, instance_dict, plain, stored, type_name
from imago.looking.leaves import module_name
from imago.looking.locating import CHANGED, Located, Nowhere, locate_function
from imago.looking.sameness import unchanged_since_start
from imago.looking.texts import loader_name, written_in

_COMPARED = 40
_COMPARED_MAX_CHARS = 500_000


def locate_module(module):
    """The `Located` of a module's whole text, or `Nowhere`."""
    namespace = instance_dict(module)
    if namespace is None:
        return Nowhere("The module hides what it holds.")
    file = module_file(namespace)
    texts = [] if file is None else written_in(file)
    if not texts:
        return _no_text(namespace, module_name(module))
    written = texts[0]
    here = Located(written, 1, max(1, len(written.lines)), _is_current(written, namespace))
    if here.current is False:
        here.notes.append(CHANGED)
    return here


def _is_current(written, namespace):
    """False where a function of the module is not what the file says; what else it ran cannot be compared."""
    if written.sure or unchanged_since_start(written.file):
        return True
    if len(written.text) > _COMPARED_MAX_CHARS:
        return None
    functions = [
        value
        for _, value in entries(namespace)
        if type(value) is FunctionType and value.__globals__ is namespace and _is_from(value, written.file)
    ]
    return False if any(_is_stale(function) for function in functions[:_COMPARED]) else None


def _is_from(function, file):
    name = plain(function.__code__.co_filename)
    return name is not None and clean(name) == file


def _is_stale(function):
    place = locate_function(function)
    return place.current is False or (type(place) is Located and any("has changed" in note for note in place.notes))


def _no_text(namespace, name):
    file = plain(stored(namespace, "__file__"))
    if name == "__main__" and file is None:
        return Nowhere("`__main__` has no file: what it holds was typed or evaluated, one piece at a time.", "typed")
    if file is not None and file.endswith((".so", ".pyd")):
        return Nowhere(f"`{name}` is compiled, without Python source.", "built_in", clean(file))
    if file is not None:
        because = f"{clean(file)} cannot be read, or is compiled Python without its source."
        return Nowhere(because, "unknown", clean(file))
    if type_name(stored(namespace, "__path__")) == "_NamespacePath":
        return Nowhere(f"`{name}` is a namespace package: folders that share a name, without code of their own.")
    loader = loader_name(namespace)
    if loader is not None:
        return Nowhere(f"{loader} loaded `{name}`; its text, if there is one, is that code's to give.")
    spec = stored(namespace, "__spec__")
    if spec is ABSENT or spec is None:
        return Nowhere(f"`{name}` was made by code, not loaded from a file.")
    return Nowhere(f"`{name}` is built into the interpreter.", "built_in")
