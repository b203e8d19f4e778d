"""What a name that was asked for stands for, and of what kind it is."""

import difflib
import functools
import keyword
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)

from imago.looking.attributes import Attribute, TupleField
from imago.looking.expression import parse
from imago.looking.fields import (
    ABSENT,
    FIELD_DESCRIPTORS,
    METHOD_DESCRIPTORS,
    class_lookup,
    class_qualified,
    clean,
    exactly,
    inherits,
    is_class,
    is_dunder,
    own_field,
    plain,
    stored,
    type_name,
)
from imago.looking.limits import NEAREST_MAX_NAMES
from imago.looking.loaded import elsewhere, loaded_module
from imago.looking.outcomes import Malformed, NeedsEvaluation, NotFound
from imago.looking.sections import first_line, stored_doc
from imago.looking.rendering import module_name
from imago.looking.resolution import rooted, rooted_in_loaded, stepped
from imago.looking.unwrapping import as_function, is_wrapper, unwrapped

# What a name stands for, and what it is stored in: the start of every question about a name.

# By how much more a name of a library has to be like what was asked for than one of the program.
_OF_A_LIBRARY = 0.2
_CONSTANTS = ("None", "True", "False", "NotImplemented", "Ellipsis", "__debug__")


class Named:
    """A name and what it stands for.

    `value` is what is stored: of a class, the wrapper or descriptor itself. `holder` is what it is stored in, and
    `held` says what sort of thing that is: `top`, `built_in`, `module`, `class`, `instance` or `nothing`, for a
    handle, an item, or a module by its own name. `name` is the last part, where it has one. `bound` says that a class
    stores it, and that it was read from an instance. `note` is that of `Attribute`.
    """

    __slots__ = ("asked", "bound", "held", "holder", "name", "note", "value")

    def __init__(self, asked, value, held="nothing", holder=None, name=None, note=None, bound=False):
        self.asked = asked
        self.value = value
        self.held = held
        self.holder = holder
        self.name = name
        self.note = note
        self.bound = bound

    @property
    def qualified(self):
        """The dotted name under which it is stored, as far as there is one."""
        if self.held == "module":
            return f"{module_name(self.holder)}.{self.name}"
        if self.held == "class":
            return f"{class_qualified(self.holder)}.{self.name}"
        if self.held == "instance":
            return f"{class_qualified(type(self.holder))}.{self.name}"
        return self.name or self.asked


def named(namespace, source, handles):
    """The `Named` that `source` spells: from the top level, or from a loaded module on. Raises `Unresolved`."""
    word = source.strip() if type(source) is str else ""
    if keyword.iskeyword(word) and word not in _CONSTANTS:
        raise Malformed(f"`{word}` is a word of Python's grammar, and stands for nothing.")
    path = parse(source)
    try:
        return _followed(namespace, path, handles, word)
    except NotFound as unresolved:
        if path.root[0] != "name":
            raise
        found = _from_loaded(namespace, path, word)
        if found is None:
            raise _with_dotted_names(unresolved, path) from None
        return found


def named_here(namespace, source, handles):
    """The `Named` that `source` spells as code at the top level; nothing else is searched. Raises `Unresolved`."""
    return _followed(namespace, parse(source), handles, source)


def _followed(namespace, path, handles, word):
    here, text = rooted(namespace, path, handles)
    if not path.steps:
        if path.root[0] != "name":
            return Named(word, here.value, *(("built_in", None, word) if word in _CONSTANTS else ()))
        top = stored(namespace, path.root[1]) is not ABSENT
        return Named(word, here.value, "top" if top else "built_in", None, path.root[1], here.note)
    return _stepped(here, text, path.steps, word)


def _stepped(here, text, steps, word):
    for step in steps[:-1]:
        here, text = _asked(here, text, step)
    owner, name = here.value, steps[-1][1]
    if steps[-1][0] != "attribute":
        return Named(word, _asked(here, text, steps[-1])[0].value)
    held, holder, entry = _holder(owner, name)
    try:
        attribute = _asked(here, text, steps[-1])[0]
    except NeedsEvaluation:
        if entry is ABSENT:
            raise
        attribute = None
    if attribute is None or (attribute.note != here.note and entry is not ABSENT):
        # What stands in the class is the definition of it all the same.
        attribute = Attribute(entry)
    value = entry if is_wrapper(entry) else attribute.value
    bound = held == "class" and not is_class(owner)
    return Named(word, value, held, holder, name, attribute.note, bound)


def _asked(here, text, step):
    try:
        return stepped(here, text, step)
    except NotFound as unresolved:
        if step[0] != "attribute":
            raise
        nearest = [f"{text}.{name}" for name in unresolved.looked["nearest"]]
        raise NotFound(unresolved.looked["what"], nearest) from None


def _holder(owner, name):
    """`(held, holder, entry)` of an attribute: where Python would find it; the entry is what a class stores."""
    if inherits(owner, ModuleType):
        return "module", owner, ABSENT
    if is_class(owner):
        found = class_lookup(owner, name) or class_lookup(type(owner), name)
        return ("class", *found) if found is not None else ("class", owner, ABSENT)
    found = class_lookup(type(owner), name)
    if found is not None and (is_wrapper(found[1]) or type(found[1]) is GetSetDescriptorType):
        return ("class", *found)
    if own_field(owner, name) is not ABSENT:
        return "instance", owner, ABSENT
    if found is None or type(found[1]) is MemberDescriptorType:
        return "instance", owner, ABSENT
    return ("class", *found)


def _from_loaded(namespace, path, word):
    """What a dotted name stands for that begins with a loaded module, which nobody may have imported here."""
    begun = rooted_in_loaded(namespace, path)
    if begun is None:
        return None
    here, text, steps = begun
    return _stepped(here, text, steps, word) if steps else Named(word, here.value)


def _with_dotted_names(unresolved, path):
    """That nothing has the name, with the names here and elsewhere that end in something like it."""
    looked, root = unresolved.looked, path.root[1]
    if looked["what"] != f"`{root}`" and (looked["nearest"] or loaded_module(root) is ABSENT):
        return unresolved
    last = path.steps[-1][1] if path.steps and path.steps[-1][0] == "attribute" else root
    near = {**dict.fromkeys(looked["nearest"], False), **elsewhere(last)}

    def unlike(name):
        return (_OF_A_LIBRARY if near[name] else 0) - _likeness(last, name.rpartition(".")[2])

    return NotFound(looked["what"], sorted(near, key=unlike)[:NEAREST_MAX_NAMES])


def _likeness(one, other):
    return difflib.SequenceMatcher(None, one.casefold(), other.casefold()).ratio()


# What kind of thing a name stands for, in the contract's words, and the line that says what it is.

_PROPERTIES = (property, functools.cached_property, TupleField, *FIELD_DESCRIPTORS)
_METHODS = (
    MethodType,
    MethodWrapperType,
    *METHOD_DESCRIPTORS,
    staticmethod,
    classmethod,
    functools.partialmethod,
    functools.singledispatchmethod,
)


def kind_of_name(value, name, in_class):
    """One of the contract's kinds of names; `in_class` says that a class stores it."""
    value = as_function(value)
    if is_class(value):
        return "class"
    if inherits(value, ModuleType):
        return "module"
    if exactly(value, _PROPERTIES):
        return "property"
    if exactly(value, _METHODS):
        return "method"
    if type(value) is FunctionType:
        return _kind_of_function(value, in_class)
    if type(value) is BuiltinFunctionType:
        owner = value.__self__
        return "function" if owner is None or inherits(owner, ModuleType) else "method"
    if is_wrapper(value) or _passes_for_a_function(value):
        return "method" if in_class else "function"
    return "constant" if is_constant_name(name, value) else "variable"


def is_constant_name(name, value):
    """Whether a name is written as one that nobody means to change, or is a constant of the language."""
    if value is None or value is NotImplemented or value is ...:
        return name in ("None", "NotImplemented", "Ellipsis")
    if type(name) is not str:
        return False
    return (name.isupper() and not is_dunder(name)) or name in ("True", "False", "__debug__")


def _kind_of_function(function, in_class):
    if own_field(function, "registry") is not ABSENT and own_field(function, "dispatch") is not ABSENT:
        return "method" if in_class else "generic_function"
    if in_class:
        return "method"
    outer = (plain(function.__qualname__) or "").rpartition(".")[0]
    return "method" if outer and not outer.endswith("<locals>") else "function"


def _passes_for_a_function(value):
    if not callable(value) or own_field(value, "__wrapped__") is ABSENT:
        return False
    return exactly(unwrapped(value)[0], (FunctionType, BuiltinFunctionType))


def summary(value):
    """The first line of the documentation that is stored for one thing itself, or None."""
    doc = stored_doc(value)
    if doc is None:
        inside = unwrapped(value)[0]
        doc = None if inside is value else stored_doc(inside)
    return None if doc is None else first_line(doc)


def named_thing(name, value, plain_name, in_class=False):
    """The contract's `NamedThing`; `plain_name` is the last part of `name`."""
    kind = kind_of_name(value, plain_name, in_class)
    return {"name": clean(name), "kind": kind, "type_name": type_name(value), "doc": summary_for(kind, value)}


def summary_for(kind, value):
    """The summary of what has documentation of its own; that of a variable would be its class's."""
    return None if kind in ("variable", "constant") else summary(value)


def is_callable(value):
    """Whether calling it is what a stored thing is for. `callable` asks the type alone, never the object."""
    return callable(value) or (is_wrapper(value) and not exactly(value, (property, functools.cached_property)))
