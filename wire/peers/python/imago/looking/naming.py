"""What a name stands for, and what it is stored in: the start of every question about a name."""

import difflib
import keyword
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType

from imago.looking.attributes import Attribute
from imago.looking.expression import parse
from imago.looking.fields import (
    ABSENT,
    class_lookup,
    class_qualified,
    inherits,
    instance_dict,
    is_class,
    stored,
)
from imago.looking.leaves import module_name
from imago.looking.limits import NEAREST_MAX_NAMES
from imago.looking.loaded import elsewhere, loaded_module
from imago.looking.outcomes import Unresolved, malformed, not_found
from imago.looking.resolve import rooted, stepped
from imago.looking.unwrapping import is_wrapper

# By how much more a name of a library has to be like what was asked for than one of the program.
_OF_A_LIBRARY = 0.2
_CONSTANTS = ("None", "True", "False", "NotImplemented", "Ellipsis", "__debug__")


class Named:
    """A name and what it stands for.

    `value` is what is stored: of a class, the wrapper or descriptor itself. `holder` is what it is stored in, and
    `held` says what sort of thing that is: `top`, `built_in`, `module`, `class`, `instance` or `nothing`, for a
    handle, an item, or a module by its own name. `name` is the last part, where it has one. `bound` says that a class
    stores it, and that it was read from an instance.
    """

    __slots__ = ("asked", "bound", "held", "holder", "name", "remark", "value")

    def __init__(self, asked, value, held="nothing", holder=None, name=None, remark=None, bound=False):
        self.asked = asked
        self.value = value
        self.held = held
        self.holder = holder
        self.name = name
        self.remark = remark
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
        raise Unresolved(malformed(f"`{word}` is a word of Python's grammar, and stands for nothing."))
    path = parse(source)
    try:
        return _followed(namespace, path, handles, word)
    except Unresolved as unresolved:
        if unresolved.looked["type"] != "not_found" or path.root[0] != "name":
            raise
        found = _from_loaded(path, word)
        if found is None:
            raise Unresolved(_with_dotted_names(unresolved.looked, path)) from None
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
        return Named(word, here.value, "top" if top else "built_in", None, path.root[1])
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
    except Unresolved as unresolved:
        # Reading it would run code. What stands in the class is the definition of it all the same.
        if unresolved.looked["type"] != "needs_evaluation" or entry is ABSENT:
            raise
        attribute = Attribute(entry)
    value = entry if is_wrapper(entry) else attribute.value
    bound = held == "class" and not is_class(owner)
    return Named(word, value, held, holder, name, attribute.remark, bound)


def _asked(here, text, step):
    try:
        return stepped(here, text, step)
    except Unresolved as unresolved:
        looked = unresolved.looked
        if looked["type"] == "not_found" and step[0] == "attribute":
            looked = {**looked, "nearest": [f"{text}.{name}" for name in looked["nearest"]]}
        raise Unresolved(looked) from None


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
    own = instance_dict(owner)
    if own is not None and stored(own, name) is not ABSENT:
        return "instance", owner, ABSENT
    if found is None or type(found[1]) is MemberDescriptorType:
        return "instance", owner, ABSENT
    return ("class", *found)


def _from_loaded(path, word):
    """What a dotted name stands for that begins with a loaded module, which nobody may have imported here."""
    names = [path.root[1]]
    for what, step in path.steps:
        if what != "attribute":
            break
        names.append(step)
    for length in range(len(names), 0, -1):
        module = loaded_module(".".join(names[:length]))
        if module is not ABSENT:
            steps = path.steps[length - 1 :]
            text = ".".join(names[:length])
            return _stepped(Attribute(module), text, steps, word) if steps else Named(word, module)
    return None


def _with_dotted_names(looked, path):
    """The answer that nothing has the name, with the names here and elsewhere that end in something like it."""
    root = path.root[1]
    if looked["what"] != f"`{root}`" and (looked["nearest"] or loaded_module(root) is ABSENT):
        return looked
    last = path.steps[-1][1] if path.steps and path.steps[-1][0] == "attribute" else root
    near = {**dict.fromkeys(looked["nearest"], False), **elsewhere(last)}

    def unlike(name):
        return (_OF_A_LIBRARY if near[name] else 0) - _likeness(last, name.rpartition(".")[2])

    liked = sorted(near, key=unlike)
    return not_found(looked["what"], liked[:NEAREST_MAX_NAMES])


def _likeness(one, other):
    return difflib.SequenceMatcher(None, one.casefold(), other.casefold()).ratio()
