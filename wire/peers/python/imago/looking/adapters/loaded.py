"""Classes of libraries that are loaded. Nothing is imported, and no module is asked for anything."""

import sys
from types import ModuleType

from imago.looking.fields import ABSENT, class_name, inherits, instance_dict, is_compiled, stored

_LOADED = sys.modules
_ARRAYS = ("numpy", "pandas", "pandas.arrays", "pandas.core.arrays.string_", "pandas.core.arrays.string_arrow")

# By the id of a class, which is kept alive with it: the name under which its library holds it.
_known = {}


def held_at(module, name):
    """What a loaded module holds under a name, or `ABSENT`."""
    found = stored(_LOADED, module)
    own = instance_dict(found) if inherits(found, ModuleType) else None
    return ABSENT if own is None else stored(own, name)


def array_name(obj):
    """The name of the real type of `obj` if it is one of numpy's or pandas' own that they hold under it; else None."""
    cls = type(obj)
    known = _known.get(id(cls))
    if known is not None:
        return known[1]
    name = class_name(cls)
    for module in _ARRAYS:
        if held_at(module, name) is cls and (module != "numpy" or is_compiled(cls)):
            _known[id(cls)] = (cls, name)
            return name
    return None
