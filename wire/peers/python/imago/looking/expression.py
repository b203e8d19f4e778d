"""Expressions that can be followed without running anything, and the values that they lead to."""

import ast
import builtins
import re
from itertools import islice

from imago.looking.attributes import Attribute, read_attribute
from imago.looking.contents import length_of, range_parts
from imago.looking.fields import ABSENT, class_label, exactly, instance_dict, steadily, stored
from imago.looking.limits import (
    EXPRESSION_MAX_CHARS,
    EXPRESSION_MAX_DEPTH,
    KEY_SCAN_MAX_ENTRIES,
    NEAREST_MAX_NAMES,
    SLICE_MAX_ITEMS,
    TEXT_KEY_SCAN_MAX_ENTRIES,
)
from imago.looking.loaded import called_so, loaded_module
from imago.looking.outcomes import (
    Malformed,
    NeedsEvaluation,
    NotFound,
    StaleHandle,
    Unresolved,
    nearest,
    stale_handle,
)
from imago.looking.rendering import static_text
from imago.looking.syntax import is_too_deep, parsed_expression

# Expressions that can be followed without running anything: a root, and a path of attributes and indexes from it.
#
# Parsing is Python's own, behind a check that keeps out what would make the parser warn: a warning is printed by
# whatever the program has put in its place, and that would be code.

_HANDLE = re.compile(r"\s*(@[0-9A-Za-z]+\.[0-9]+)(?![0-9A-Za-z_@])")
_STAND_IN = "_"

# The parser warns of a backslash that escapes nothing, of octal escapes over 0o377, and of a number that runs into
# a word. Both patterns may also hit harmless texts, which then need evaluation.
_ESCAPES = re.compile(r'\\(?:[\n\\\'"abfnrtvxNuU]|[0-3]?[0-7]{1,2}(?![0-7]))')
_NUMBER_INTO_WORD = re.compile(r"(?<![\w])[0-9][0-9a-fA-FxXoObB_.]*[eE]?[jJ]?(?:and|else|for|if|in|is|or|not)")

_CODE = {
    ast.Call: "a call",
    ast.BinOp: "an operator",
    ast.UnaryOp: "an operator",
    ast.BoolOp: "an operator",
    ast.Compare: "a comparison",
    ast.Lambda: "a lambda",
    ast.IfExp: "a conditional",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "an assignment",
    ast.Starred: "an unpacking",
    ast.Await: "an await",
    ast.Yield: "a yield",
    ast.YieldFrom: "a yield",
}


class Path:
    """`root` is `('name', text)`, `('handle', text)` or `('literal', value)`.

    Each of `steps` is `('attribute', name)`, `('item', key)` or `('slice', slice)`, with constants for keys.
    """

    __slots__ = ("root", "steps")

    def __init__(self, root, steps):
        self.root = root
        self.steps = steps


def parse(source):
    """The path that `source` spells. Raises `Unresolved`: malformed, or something only running it could answer."""
    handle, rest = _split_handle(source)
    text = rest if handle is None else _STAND_IN + rest
    moved = 0 if handle is None else len(handle) - len(_STAND_IN)
    node = _parse(text, moved)
    nodes = []
    while type(node) is ast.Attribute or type(node) is ast.Subscript:
        nodes.append(node)
        node = node.value
    nodes.reverse()
    root = _root(node, handle)
    steps = [_step(node) for node in nodes]
    return Path(root, steps)


def _split_handle(source):
    """`(handle, rest)`; the handle is None where the source does not begin with one."""
    if type(source) is not str:
        raise Malformed("An expression is a text.")
    match = _HANDLE.match(source)
    if match is None:
        return None, source.strip()
    return match.group(1), source[match.end() :].rstrip()


def _parse(text, moved):
    if not text:
        raise Malformed("The expression is empty.")
    if len(text) > EXPRESSION_MAX_CHARS:
        raise Malformed(f"The expression is longer than {EXPRESSION_MAX_CHARS} characters.")
    if "\0" in text:
        raise Malformed("The expression holds a NUL character.", 1, text.index("\0") + 1 + moved)
    _refuse_depth(text)
    if is_too_deep(text):
        raise Malformed("The expression is nested too deeply.")
    if "\\" in _ESCAPES.sub("", text):
        raise NeedsEvaluation("The expression holds a backslash that may escape nothing.")
    if _NUMBER_INTO_WORD.search(text):
        raise NeedsEvaluation("The expression holds a number that runs into a word.")
    try:
        return parsed_expression(text).body
    except SyntaxError as error:
        column = None if error.offset is None else error.offset + (moved if error.lineno == 1 else 0)
        raise Malformed(f"This is no expression: {error.msg}.", error.lineno, column) from None
    except UnicodeError:
        raise Malformed("The expression holds half of a surrogate pair.") from None
    except (ValueError, OverflowError) as error:
        raise Malformed(f"This is no expression: {error}.") from None
    except (RecursionError, MemoryError):
        raise Malformed("The expression is nested too deeply.") from None


def _refuse_depth(text):
    """Keeps from the parser what could exhaust its stack: brackets and prefix operators, however they are mixed."""
    depth = 0
    for character in text:
        if character in "([{":
            depth += 1
            if depth > EXPRESSION_MAX_DEPTH:
                raise Malformed("The expression is nested too deeply.")
        elif character in ")]}":
            depth -= 1


def _root(node, handle):
    if type(node) is ast.Name:
        return ("handle", handle) if handle is not None else ("name", node.id)
    if handle is not None:
        raise NeedsEvaluation(f"{_named(node)} follows the handle, and only running it could tell.")
    try:
        return "literal", _literal(node)
    except TypeError as error:
        raise NeedsEvaluation(f"Building this literal raises TypeError: {error}.") from None


def _step(node):
    if type(node) is ast.Attribute:
        return "attribute", node.attr
    index = node.slice
    try:
        if type(index) is ast.Slice:
            bounds = [None if part is None else _literal(part) for part in (index.lower, index.upper, index.step)]
            if all(bound is None or type(bound) in (int, bool) for bound in bounds):
                return "slice", slice(*bounds)
            raise NeedsEvaluation("A slice has bounds that are no whole numbers.")
        return "item", _literal(index)
    except (Unresolved, TypeError):
        because = "An index is no constant, and only running the expression could tell its value."
        raise NeedsEvaluation(because) from None


def _literal(node):
    """The value of a literal. Raises `Unresolved` for anything that is none."""
    kind = type(node)
    if kind is ast.Constant:
        return node.value
    if kind is ast.UnaryOp and type(node.op) in (ast.USub, ast.UAdd):
        number = node.operand
        if type(number) is ast.Constant and type(number.value) in (int, float, complex):
            return -number.value if type(node.op) is ast.USub else +number.value
    if kind is ast.BinOp and type(node.op) in (ast.Add, ast.Sub):
        real, imaginary = node.left, node.right
        if type(imaginary) is ast.Constant and type(imaginary.value) is complex and _is_real(real):
            left = _literal(real)
            return left + imaginary.value if type(node.op) is ast.Add else left - imaginary.value
    if kind is ast.Tuple:
        return tuple(_literal(item) for item in node.elts)
    if kind is ast.List:
        return [_literal(item) for item in node.elts]
    if kind is ast.Set:
        return {_literal(item) for item in node.elts}
    if kind is ast.Dict:
        if None in node.keys:
            raise NeedsEvaluation("The expression holds an unpacking, and only running it could tell.")
        return {_literal(key): _literal(value) for key, value in zip(node.keys, node.values)}
    raise NeedsEvaluation(f"The expression holds {_named(node)}, and only running it could tell.")


def _is_real(node):
    if type(node) is ast.UnaryOp:
        node = node.operand
    return type(node) is ast.Constant and type(node.value) in (int, float)


def _named(node):
    return _CODE.get(type(node), "a part that is no literal")


# What an expression stands for, found by following stored fields and built-in containers. Nothing is run.

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
        return Attribute(_global(namespace, root)), root
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
