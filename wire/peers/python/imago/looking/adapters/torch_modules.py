"""torch: a module, of torch or of the user's, as the tree of what it holds. Nothing of it is called.

All is read from the dicts that `torch.nn.Module` keeps: `_parameters`, `_buffers` and `_modules`, in their order.
"""

from functools import cache

from imago.looking.adapters.adapter import Card, Seen, bare, held_at, in_bytes
from imago.looking.adapters.tensors import bytes_of, exact_tensors, getters, modes_are_on, product
from imago.looking.fields import (
    ABSENT,
    class_label,
    class_lookup,
    class_name,
    entries,
    inherits,
    instance_dict,
    instance_fields,
    mro,
    plain,
)

_PLACE = "torch.nn.modules.module", "Module"
_DEEPEST = 20
_MOST_PARTS = 4000
_MOST_FIELDS = 200
_MOST_SHOWN = 12
_PARTS = ("_parameters", "_buffers", "_modules")


def _see_module(value):
    stored_parts, _ = _stored(value)
    if stored_parts is None:
        return None
    tree = cache(lambda: _Tree(value))
    fields = [(plain(name), held) for part in stored_parts for name, held in part[:_MOST_FIELDS]]
    own = [
        pair for pair in instance_fields(value, _MOST_FIELDS) if not pair[0].startswith("_") and pair[0] != "training"
    ]
    return Seen(
        class_label(type(value)),
        lambda: ", ".join(tree().facts()),
        fields=fields + own,
        own=own,
        card=lambda: Card(tree().lines()),
    )


def stored_part(value, name):
    """What `torch.nn.Module.__getattr__` finds under `name`; `ABSENT` for another `__getattr__`, and for no part."""
    place = class_lookup(type(value), "__getattr__")
    if place is None or held_at(*_PLACE) is not place[0]:
        return ABSENT
    for part in _stored(value)[0] or ():
        for held, one in part:
            if plain(held) == name:
                return one
    return ABSENT


def _stored(module):
    """`(parts, mode)`: the pairs of `_PARTS`, or None where one is missing; `training`, `not training` or None."""
    own = instance_dict(module)
    fields = {} if own is None else {name: held for name, held in entries(own) if type(name) is str}
    training = fields.get("training")
    mode = "training" if training is True else "not training" if training is False else None
    dicts = [fields.get(name) for name in _PARTS]
    if not all(inherits(held, dict) for held in dicts):
        return None, mode
    return [[pair for pair in entries(held) if inherits(pair[0], str)] for held in dicts], mode


class _Node:
    """One module as it was read.

    `tensors` and `buffers` are texts; `numbers` has, by the id of a parameter in it or further inside, how many numbers
    that holds and whether it requires grad.
    """

    __slots__ = ("buffers", "children", "label", "mode", "numbers", "same", "tensors")

    def __init__(self, label, mode=None, same=None):
        self.label, self.mode, self.same = label, mode, same
        self.tensors, self.buffers, self.children, self.numbers = [], [], [], {}


class _Tree:
    """What was read of a module and all inside: `_MOST_PARTS` modules and tensors at most, and `_DEEPEST` levels."""

    def __init__(self, module):
        self._met = {}  # By the id of what is kept alive with it: where it was met first, and the node of a module.
        self._base = held_at(*_PLACE)
        self._left = _MOST_PARTS
        self._too_deep = self._left_out = False
        self._readable = () if modes_are_on() else exact_tensors()
        self._getters = getters() if self._readable else {}
        self._bytes = 0
        self._unread = 0
        self.modules = 0
        self.root = self._read(module, "", 0)

    def facts(self):
        """Its mode, how many modules are inside, the numbers in their parameters, and the bytes, buffers included."""
        root, inside = self.root, self.modules - 1
        more = "at least " if self._left_out or self._too_deep else ""
        facts = [root.mode] if root.mode else []
        facts += [f"{more}{_counted(inside, 'module')} inside"] if inside else []
        if root.numbers or not self._unread:
            facts += [more + _numbers(root), in_bytes(self._bytes)]
        if self._unread:
            while_on = "" if self._readable else " while a mode of torch is on"
            facts.append(f"{_counted(self._unread, 'tensor')} not read{while_on}")
        return facts

    def lines(self):
        """A line for each module, indented by how deep it is; equal ones that follow each other have one."""
        own = _tensors(self.root)
        lines = ([f"  {own}"] if own else []) + _inside(self.root)
        if not lines:
            lines.append("  nothing inside")
        if self._left_out:
            lines.append(f"… not read: all beyond {_MOST_PARTS:,} modules and tensors; look at a part by its path")
        if self._too_deep:
            lines.append(f"… not read: what is more than {_DEEPEST} levels deep; look at a part by its path")
        return lines

    def _read(self, module, path, depth):
        self._left -= 1
        self.modules += 1
        parts, mode = _stored(module)
        node = _Node(bare(class_name(type(module))), mode)
        self._met[id(module)] = (module, path or "the module itself", node)
        if parts is None:
            # One that torch has compiled keeps its parts elsewhere.
            node.label += ", not read"
            self._left_out = True
            return node
        parameters, buffers, inside = parts
        for texts, tensors in ((node.tensors, parameters), (node.buffers, buffers)):
            for name, tensor in tensors:
                if self._is_full():
                    break
                texts.append(self._tensor(node, name, tensor, path, tensors is parameters))
        if depth == _DEEPEST and inside:
            node.label += f" with {_counted(len(inside), 'module')} not read"
            self._too_deep = True
            return node
        for name, one in inside:
            if self._is_full():
                break
            name = bare(plain(name))
            child = self._child(one, f"{path}.{name}" if path else name, depth + 1)
            node.children.append((name, child))
            node.numbers.update(child.numbers)
        return node

    def _is_full(self):
        self._left_out = self._left_out or self._left <= 0
        return self._left <= 0

    def _child(self, one, path, depth):
        if one is None:
            return _Node("None")
        met = self._met.get(id(one))
        if met is not None:
            again = _Node(bare(class_name(type(one))), same=met[1])
            again.numbers = met[2].numbers
            return again
        if not any(base is self._base for base in mro(type(one))):
            return _Node(f"{bare(class_label(type(one)))}, no module")
        return self._read(one, path, depth)

    def _tensor(self, node, name, tensor, path, is_parameter):
        """What to say of a tensor; one that was met before counts as the same."""
        self._left -= 1
        name = bare(plain(name))
        if tensor is None:
            return f"{name} None"
        met = self._met.get(id(tensor))
        if met is None:
            said, numbers = self._measured(tensor, is_parameter)
            self._met[id(tensor)] = (tensor, f"{path}.{name}" if path else name, numbers)
        else:
            said, numbers = f"the same as {met[1]}", met[2]
        if numbers is not None:
            node.numbers[id(tensor)] = numbers
        return f"{name} {said}"

    def _measured(self, tensor, is_parameter):
        """Shape and type of a tensor, and of a parameter `(numbers, requires grad)`; None for one that is not read."""
        if not any(type(tensor) is exact for exact in self._readable):
            self._unread += 1
            return f"{bare(class_label(type(tensor)))}, not read", None

        def read(name):
            return self._getters[name].__get__(tensor)

        shape, device, dtype = tuple(read("shape")), str(read("device")), str(read("dtype"))
        self._bytes += bytes_of(read)
        said = f"{shape} {dtype.replace('torch.', '')}" + ("" if device == "cpu" else f" on {device}")
        if not is_parameter:
            return said, None
        requires_grad = read("requires_grad")
        return said if requires_grad else f"{said} without grad", (product(shape), requires_grad)


def _numbers(node):
    """`1,024 parameters`, and how many of them require grad where that is not all."""
    count = sum(numbers for numbers, _ in node.numbers.values())
    with_grad = sum(numbers for numbers, requires_grad in node.numbers.values() if requires_grad)
    said = _counted(count, "parameter")
    if with_grad == count:
        return said
    return f"{said}, {with_grad:,} of them with grad" if with_grad else f"{said} without grad"


def _tensors(node):
    """The tensors of one module itself, in one line; None where it has none."""
    said = _listed(node.tensors)
    if node.buffers:
        said += f"{'; ' if said else ''}buffers {_listed(node.buffers)}"
    return said


def _listed(texts):
    more = len(texts) - _MOST_SHOWN
    return ", ".join(texts[:_MOST_SHOWN]) + (f", … {more} more" if more > 0 else "")


def _inside(node):
    """The lines for what is inside of a module, without what is above. Equal ones that follow each other have one."""
    groups = []
    for name, child in node.children:
        block = [_described(child, node), *_inside(child)]
        if groups and groups[-1][2] == block:
            groups[-1][1].append(name)
        else:
            groups.append((child, [name], block))
    lines = []
    for child, names, block in groups:
        many = f"{names[0]} to {names[-1]}: {len(names)} times " if len(names) > 1 else f"{names[0]}: "
        lines += [f"  {line}" for line in [many + block[0], *block[1:]]]
    return lines


def _described(node, above):
    """`Linear, 20 parameters: weight (3, 6) float32, …`, without the name."""
    if node.same is not None:
        return f"{node.label}, the same as {node.same}"
    facts = [node.label]
    if node.mode is not None and node.mode != above.mode:
        facts.append(node.mode)
    if node.numbers:
        facts.append(_numbers(node))
    tensors = _tensors(node)
    return ", ".join(facts) + (f": {tensors}" if tensors else "")


def _counted(number, noun):
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


FAMILIES = ((*_PLACE, _see_module),)
