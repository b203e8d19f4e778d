"""What an expression stands for, found by following stored fields and built-in containers. Nothing is run."""

import builtins

from ..handles import StaleHandle
from .attributes import Attribute, exactly, read_attribute
from .contents import length_of, range_parts
from .expression import parse
from .fields import ABSENT, class_label, inherits, stored
from .limits import KEY_SCAN_MAX_ENTRIES, SLICE_MAX_ITEMS
from .nearest import nearest
from .outcomes import Unresolved, needs_evaluation, not_found, stale_handle
from .statictext import static_text

_TEXT = 120


def resolve(namespace, source, handles):
    """The `Attribute` that `source` stands for: a value, and a remark if it is shown as its class stores it.

    Raises `Unresolved`, which carries the answer, if there is no such value or only running code could find it.
    """
    path = parse(source)
    kind, root = path.root
    if kind == 'name':
        here, text = Attribute(_global(namespace, root)), root
    elif kind == 'handle':
        here, text = Attribute(kept(handles, root)), root
    else:
        here, text = Attribute(root), static_text(root, _TEXT)
    for what, step in path.steps:
        if what == 'attribute':
            text = _tail(f'{text}.{step}')
            here = read_attribute(here.value, step, text)
        elif what == 'item':
            whole, text = text, _tail(f'{text}[{static_text(step, 60)}]')
            here = Attribute(_item(here.value, step, whole, text))
        else:
            text = _tail(f'{text}[…:…]')
            here = Attribute(_sliced(here.value, step, text))
    return here


def _tail(text):
    return text if len(text) <= 2 * _TEXT else '…' + text[-2 * _TEXT :]


def _global(namespace, name):
    """A name at the top level, or else one of the built-in names."""
    value = stored(namespace, name)
    if value is ABSENT:
        value = stored(builtins.__dict__, name)
    if value is ABSENT:
        names = list(dict.keys(namespace)) + list(builtins.__dict__)
        raise Unresolved(not_found(f'`{name}`', nearest(name, names)))
    return value


def kept(handles, handle):
    """The value behind a handle. Raises `Unresolved` if it leads nowhere any more."""
    try:
        return handles.find(handle).value
    except StaleHandle as stale:
        raise Unresolved(stale_handle(stale)) from None


def _item(value, key, whole, text):
    """`value[key]` for exactly built-in containers and a constant key."""
    if type(value) is dict:
        return _under_key(value, key, whole, text)
    if not exactly(value, (list, tuple, str, bytes, bytearray, range)):
        raise Unresolved(
            needs_evaluation(f'Indexing {_article(value)} calls its `__getitem__`, so `{text}` runs code.')
        )
    if type(key) not in (int, bool):
        raise Unresolved(not_found(f'`{text}`: {_article(value)} is indexed by whole numbers'))
    length = length_of(value)
    if length is None:
        raise Unresolved(needs_evaluation(f'The bounds of this range are no plain numbers, so `{text}` runs code.'))
    if not -length <= key < length:
        raise Unresolved(not_found(f'`{text}`: `{whole}` has {length} items'))
    return value[key]


def _article(value):
    return f'an instance of {class_label(type(value))}'


def _sliced(value, bounds, text):
    if not exactly(value, (list, tuple, str, bytes, bytearray, range)):
        raise Unresolved(
            needs_evaluation(f'Slicing {_article(value)} calls its `__getitem__`, so `{text}` runs code.')
        )
    if bounds.step == 0:
        raise Unresolved(not_found(f'`{text}`: the step of a slice is not zero'))
    if type(value) is range:
        if range_parts(value) is None:
            raise Unresolved(needs_evaluation(f'The bounds of this range are no plain numbers, so `{text}` runs code.'))
        return value[bounds]
    count = len(range(*bounds.indices(len(value))))
    if count > SLICE_MAX_ITEMS:
        raise Unresolved(needs_evaluation(f'`{text}` would copy {count} items; looking copies {SLICE_MAX_ITEMS} at most.'))
    return value[bounds]


def _under_key(mapping, key, whole, text):
    """The value under a key that is equal to `key`, found by comparing built-in keys and no others."""
    if not _is_hashable(key):
        raise Unresolved(not_found(f'`{text}`: a key of this kind is never in a dict'))
    unknown = None
    scanned = 0
    for other, value in _bounded_items(mapping):
        scanned += 1
        if scanned > KEY_SCAN_MAX_ENTRIES:
            because = f'`{whole}` has more than {KEY_SCAN_MAX_ENTRIES} entries; only the dict itself finds a key in time.'
            raise Unresolved(needs_evaluation(because))
        if type(other) is str:
            if type(key) is str and other == key:
                return value
        elif _is_comparable(other):
            if other == key:
                return value
        else:
            unknown = other
    if unknown is not None:
        label = class_label(type(unknown))
        raise Unresolved(needs_evaluation(f'A key of {label} in `{whole}` decides itself what it is equal to.'))
    keys = [other for other, _ in _bounded_items(mapping) if type(other) is str] if type(key) is str else []
    raise Unresolved(not_found(f'`{text}`', nearest(key, keys) if keys else ()))


def _bounded_items(mapping):
    """The first entries, one more than may be compared; taken at once, so that a running program may go on."""
    from_start = iter(dict.items(mapping))
    taken = []
    try:
        for pair in from_start:
            taken.append(pair)
            if len(taken) > KEY_SCAN_MAX_ENTRIES:
                break
    except RuntimeError:
        return list(dict.items(mapping))[: KEY_SCAN_MAX_ENTRIES + 1]
    return taken


_COMPARABLE = (str, int, float, complex, bool, bytes, type(None), type(...))


def _is_comparable(key, depth=0):
    """Whether comparing this with a constant runs no user code: built-in scalars, and tuples of them."""
    if exactly(key, _COMPARABLE):
        return True
    if type(key) is tuple and depth < 8 and tuple.__len__(key) <= 64:
        return all(_is_comparable(part, depth + 1) for part in key)
    return False


def _is_hashable(key):
    if type(key) is tuple:
        return all(_is_hashable(part) for part in key)
    return not inherits(key, (list, dict, set))
