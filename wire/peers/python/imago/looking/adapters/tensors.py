"""torch: tensors by their shape.

The cells of a tensor are read only if it is small and in the memory of the processor: anything else would wait for a
device, or copy from it. While a mode of torch is on in this thread, which could run code for each getter, a tensor is
only named.
"""

from types import BuiltinFunctionType

from imago.looking.adapters.adapter import Card, Seen, held_at, in_bytes, listed
from imago.looking.fields import ABSENT, class_name

_MOST_CELLS = 10_000
_MODES = ("_len_torch_function_stack", "_len_torch_dispatch_stack")


def _see_tensor(value):
    """A tensor or a parameter by the getters of the compiled class underneath."""
    label = f"torch.{'nn.' if class_name(type(value)) == 'Parameter' else ''}{class_name(type(value))}"
    if modes_are_on():
        return Seen(label, "not read while a mode of torch is on")
    read = reader(value)
    shape, device, dtype = tuple(read("shape")), read("device"), str(read("dtype"))
    facts = [f"shape {shape}", f"dtype {dtype.replace('torch.', '')}", f"device {device!s}"]
    if read("requires_grad"):
        facts.append("requires grad")
    made_by = read("grad_fn")
    if made_by is not None:
        facts.append(f"made by {class_name(type(made_by))}")
    layout, cells, figures = str(read("layout")), None, list
    if layout != "torch.strided":
        facts.append(layout.replace("torch.", ""))
    elif device.type == "cpu" and product(shape) <= _MOST_CELLS:
        cells = listed(shape[0] if shape else 1, lambda *some: _cells(read, *some))
        figures = lambda: _figures_of(read("tolist")())
    elif product(shape) > 0:
        figures = lambda: [_NO_PASS.format(product(shape))]
    return Seen(
        label,
        ", ".join(facts),
        shape=list(shape),
        storage=cells,
        card=lambda: Card([in_bytes(bytes_of(read)), *figures()]),
    )


_NO_PASS = (
    "min, max, mean and nan take a pass over {:,} cells, which a look does not make; "
    "run (x.min(), x.max(), x.mean(), x.isnan().sum()) for them"
)


def _figures_of(held):
    """A line with the smallest and the largest number, their mean, and how many are none."""
    cells, waiting = [], [held]
    while waiting:
        one = waiting.pop()
        if type(one) is list:
            waiting += one
        elif type(one) in (int, float):
            cells.append(one)
        else:
            return []
    numbers = [cell for cell in cells if cell == cell]
    if not numbers:
        return [f"all {len(cells)} nan"] if cells else []
    mean = sum(numbers) / len(numbers)
    return [f"min {min(numbers):.6g}, max {max(numbers):.6g}, mean {mean:.6g}, {len(cells) - len(numbers)} nan"]


def tensor_bytes(value):
    """The memory of the cells of an exact tensor or parameter, or None where it is not to be had."""
    exact = any(one is type(value) for one in exact_tensors())
    return None if not exact or modes_are_on() else bytes_of(reader(value))


def exact_tensors():
    """The classes whose own getters may be asked; a subclass may have put code of its own in front of them."""
    return [held_at(module, name) for module, name, _, _ in TYPES]


def bytes_of(read):
    """The memory of the cells. A `dtype` has had its `itemsize` since 2.1 only."""
    return product(tuple(read("shape"))) * read("element_size")()


def _cells(read, start, count):
    """The cells as lists in lists, which is how torch itself hands them out."""
    held = read("tolist")()
    return (held if type(held) is list else [held])[start : start + count]


def reader(tensor):
    """Reads getters and methods of the compiled class underneath an exact tensor, by their names."""
    own = getters()
    return lambda name: own[name].__get__(tensor)


def getters():
    """What the compiled class underneath all tensors stores. `torch._C` is large: ask once for many tensors."""
    own = held_at("torch._C", "TensorBase")
    return (held_at("torch._C", "_TensorBase") if own is ABSENT else own).__dict__


def modes_are_on():
    """Whether something is in force in this thread that torch asks before it answers for a tensor."""
    for name in _MODES:
        count = held_at("torch._C", name)
        # Where somebody has put something of their own there, nobody can tell.
        if count is not ABSENT and (type(count) is not BuiltinFunctionType or count() > 0):
            return True
    return False


def product(shape):
    """How many cells a shape has."""
    count = 1
    for extent in shape:
        count *= extent
    return count


TYPES = (
    ("torch", "Tensor", _see_tensor, "sequence"),
    ("torch.nn.parameter", "Parameter", _see_tensor, "sequence"),
)
