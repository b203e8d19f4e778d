"""The value that an expression stands for, found by following stored fields and built-in containers. Nothing is run."""

import builtins
from itertools import islice

from imago.looking.attributes import Attribute, read_attribute
from imago.looking.contents import length_of, range_parts
from imago.looking.expression import parse
from imago.looking.fields import ABSENT, class_label, exactly, instance_dict, steadily, stored
from imago.looking.limits import KEY_SCAN_MAX_ENTRIES, NEAREST_MAX_NAMES, SLICE_MAX_ITEMS, TEXT_KEY_SCAN_MAX_ENTRIES
from imago.looking.loaded import called_so, loaded_module, other_copies
from imago.looking.outcomes import NeedsEvaluation, NotFound, StaleHandle, Unresolved, nearest, stale_handle
from imago.looking.rendering import static_text

_TEXT = 120


def resolve(namespace, source, handles):
    """The `Attribute` that `source` stands for: a value, and a remark if it is shown as its class stores it.

    Raises `Unresolved`, which carries the answer, if there is no such value or only running code could find it.
    """
    path = parse(source)
    try:
        return _along(*rooted(namespace, path, handles), path.steps)
    except NotFound as unresolved:
        begun = rooted_in_loaded(namespace, path)
        if begun is None:
            raise _with_own_modules(unresolved, path) from None
    return _along(*begun)


def _with_own_modules(unresolved, path):
    """That nothing has the name, with what is called exactly so in a module of the program before what is like it."""
    looked, (kind, root) = unresolved.looked, path.root
    if kind != "name" or looked["what"] != f"`{root}`":
        return unresolved
    return NotFound(looked["what"], [*called_so(root), *looked["nearest"]][:NEAREST_MAX_NAMES])


def _along(here, text, steps):
    for step in steps:
        here, text = stepped(here, text, step)
    return here


def rooted_in_loaded(namespace, path):
    """`(Attribute, text, steps left)` of the longest loaded module that a dotted name begins with; None without one.

    Nobody may have imported it where the name is asked for: what is loaded by `shop.models` is known as that. Where
    the top level has something called `shop`, only a path to a name that the module has is taken to begin with that.
    """
    if path.root[0] != "name":
        return None
    names = [path.root[1]]
    for what, step in path.steps:
        if what != "attribute":
            break
        names.append(step)
    shadowed = stored(namespace, names[0]) is not ABSENT or stored(builtins.__dict__, names[0]) is not ABSENT
    for length in range(len(names), 0, -1):
        text = ".".join(names[:length])
        module = loaded_module(text)
        if module is ABSENT:
            continue
        note = None
        if shadowed and length == 1:
            if len(names) == 1 or stored(instance_dict(module) or {}, names[1]) is ABSENT:
                return None
            note = f"`{text}` is the loaded module; at the top level, `{text}` is something else"
        return Attribute(module, None, note), text, path.steps[length - 1 :]
    return None


def rooted(namespace, path, handles):
    """`(Attribute, text)` of the root of a path. Raises `Unresolved`."""
    kind, root = path.root
    if kind == "name":
        return Attribute(_global(namespace, root), None, other_copies(namespace, [root])), root
    if kind == "handle":
        return Attribute(kept(handles, root).value), root
    return Attribute(root), static_text(root, _TEXT)


def stepped(here, text, step):
    """`(Attribute, text)` one step of a path further than `here`, which `text` spells. Raises `Unresolved`."""
    what, which = step
    if what == "attribute":
        text = _tail(f"{text}.{which}")
        found = read_attribute(here.value, which, text)
        return Attribute(found.value, found.remark, found.note or here.note), text
    if what == "item":
        whole, text = text, _tail(f"{text}[{static_text(which, 60)}]")
        return Attribute(_item(here.value, which, whole, text), None, here.note), text
    text = _tail(f"{text}[…:…]")
    return Attribute(_sliced(here.value, which, text), None, here.note), text


def _tail(text):
    return text if len(text) <= 2 * _TEXT else "…" + text[-2 * _TEXT :]


def _global(namespace, name):
    """A name at the top level, or else one of the built-in names."""
    value = stored(namespace, name)
    if value is ABSENT:
        value = stored(builtins.__dict__, name)
    if value is ABSENT:
        names = list(dict.keys(namespace)) + list(builtins.__dict__)
        raise NotFound(f"`{name}`", nearest(name, names))
    return value


def kept(handles, handle):
    """What is kept under a handle. Raises `Unresolved` if it leads nowhere any more."""
    try:
        return handles.find(handle)
    except StaleHandle as stale:
        raise Unresolved(stale_handle(stale)) from None


def _item(value, key, whole, text):
    """`value[key]` for exactly built-in containers and a constant key."""
    if type(value) is dict:
        return _under_key(value, key, whole, text)
    if not exactly(value, (list, tuple, str, bytes, bytearray, range)):
        raise NeedsEvaluation(f"Indexing {_article(value)} calls its `__getitem__`, so `{text}` runs code.")
    if type(key) not in (int, bool):
        raise NotFound(f"`{text}`: {_article(value)} is indexed by whole numbers")
    length = length_of(value)
    if length is None:
        raise NeedsEvaluation(f"The bounds of this range are no plain numbers, so `{text}` runs code.")
    if not -length <= key < length:
        raise NotFound(f"`{text}`: `{whole}` has {length} items")
    return value[key]


def _article(value):
    return f"an instance of {class_label(type(value))}"


def _sliced(value, bounds, text):
    if not exactly(value, (list, tuple, str, bytes, bytearray, range)):
        raise NeedsEvaluation(f"Slicing {_article(value)} calls its `__getitem__`, so `{text}` runs code.")
    if bounds.step == 0:
        raise NotFound(f"`{text}`: the step of a slice is not zero")
    if type(value) is range:
        if range_parts(value) is None:
            raise NeedsEvaluation(f"The bounds of this range are no plain numbers, so `{text}` runs code.")
        return value[bounds]
    count = len(range(*bounds.indices(len(value))))
    if count > SLICE_MAX_ITEMS:
        raise NeedsEvaluation(f"`{text}` would copy {count} items; looking copies {SLICE_MAX_ITEMS} at most.")
    return value[bounds]


def _under_key(mapping, key, whole, text):
    """The value under a key that is equal to `key`, found by comparing built-in keys and no others."""
    if not _is_hashable(key):
        raise NotFound(f"`{text}`: a key of this kind is never in a dict")
    if type(key) is str and len(mapping) <= TEXT_KEY_SCAN_MAX_ENTRIES:
        value = stored(mapping, key)
        if value is not ABSENT:
            return value
    unknown = None
    taken = _first_entries(mapping)
    for other, value in taken:
        if is_comparable(other):
            if _equal(other, key):
                return value
        else:
            unknown = other
    if len(taken) > KEY_SCAN_MAX_ENTRIES:
        because = f"`{whole}` has more than {KEY_SCAN_MAX_ENTRIES} entries; only the dict itself finds a key in time."
        raise NeedsEvaluation(because)
    if unknown is not None:
        label = class_label(type(unknown))
        raise NeedsEvaluation(f"A key of {label} in `{whole}` decides itself what it is equal to.")
    keys = [other for other, _ in taken if type(other) is str] if type(key) is str else []
    raise NotFound(f"`{text}`", nearest(key, keys) if keys else ())


def _first_entries(mapping):
    """The first entries of a dict, one more than are compared."""
    return steadily(lambda: list(islice(dict.items(mapping), KEY_SCAN_MAX_ENTRIES + 1)))


_NUMBERS = (int, float, complex, bool)
_CONSTANTS = (str, bytes, type(None), type(...)) + _NUMBERS


def is_comparable(key, depth=0):
    """Whether a key is a built-in scalar or a tuple of them, which decide nothing themselves."""
    if exactly(key, _CONSTANTS):
        return True
    if type(key) is tuple and depth < 8 and len(key) <= 64:
        return all(is_comparable(part, depth + 1) for part in key)
    return False


def _equal(one, other):
    """Whether two comparable keys are equal. Texts and bytes never meet, which could make Python warn."""
    kind = type(one)
    if kind is tuple:
        if type(other) is not tuple or len(one) != len(other):
            return False
        return all(_equal(*parts) for parts in zip(one, other))
    if kind is type(other):
        return one == other
    return kind in _NUMBERS and type(other) in _NUMBERS and one == other


def _is_hashable(key):
    if type(key) is tuple:
        return all(_is_hashable(part) for part in key)
    return not exactly(key, (list, dict, set))
