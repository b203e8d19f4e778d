"""torch: tensors by their shape, and modules by what they store.

The cells of a tensor are read only if it is small and in the memory of the processor: anything else would wait for a
device, or copy from it. While a mode of torch is on in this thread, which could run code for each getter, a tensor is
only named.
"""

from types import BuiltinFunctionType

from imago.looking.adapters.adapter import Card, Seen, counted, held_at, in_bytes, listed
from imago.looking.fields import (
    ABSENT,
    class_label,
    class_name,
    entries,
    inherits,
    instance_dict,
    instance_fields,
    stored,
)

_MOST_CELLS = 10_000
_MOST_MODULES = 1000
_MOST_FIELDS = 200
_PARTS = ("_parameters", "_buffers", "_modules")
_MODES = ("_len_torch_function_stack", "_len_torch_dispatch_stack")


def _see_tensor(value):
    """A tensor or a parameter by the getters of the compiled class underneath."""
    label = f"torch.{'nn.' if class_name(type(value)) == 'Parameter' else ''}{class_name(type(value))}"
    if _modes_are_on():
        return Seen(label, "not read while a mode of torch is on")
    read = _reader(value)
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
    elif device.type == "cpu" and _product(shape) <= _MOST_CELLS:
        cells = listed(shape[0] if shape else 1, lambda *some: _cells(read, *some))
        figures = lambda: _figures_of(read("tolist")())
    elif _product(shape) > 0:
        figures = lambda: [_NO_PASS.format(_product(shape))]
    size = _product(shape) * read("dtype").itemsize
    return Seen(
        label, ", ".join(facts), shape=list(shape), storage=cells, card=lambda: Card([in_bytes(size), *figures()])
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
    exact = any(held_at(module, name) is type(value) for module, name, _, _ in TYPES)
    if not exact or _modes_are_on():
        return None
    read = _reader(value)
    return _product(tuple(read("shape"))) * read("dtype").itemsize


def _cells(read, start, count):
    """The cells as lists in lists, which is how torch itself hands them out."""
    held = read("tolist")()
    return (held if type(held) is list else [held])[start : start + count]


def _reader(tensor):
    own = held_at("torch._C", "TensorBase")
    own = (held_at("torch._C", "_TensorBase") if own is ABSENT else own).__dict__
    return lambda name: own[name].__get__(tensor)


def _modes_are_on():
    """Whether something is in force in this thread that torch asks before it answers for a tensor."""
    for name in _MODES:
        count = held_at("torch._C", name)
        # Where somebody has put something of their own there, nobody can tell.
        if count is not ABSENT and (type(count) is not BuiltinFunctionType or count() > 0):
            return True
    return False


def _product(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def _see_module(value):
    """A module, of torch or of the user's: its structure as it is stored. Nothing of it is called."""
    own = instance_dict(value)
    parts = [stored(own, name) for name in _PARTS]
    if not all(inherits(part, dict) for part in parts):
        return None
    modules, numbers = _counts(value)
    facts = ["training" if stored(own, "training") is True else "not training"]
    facts += [] if modules == 1 else [counted(modules - 1, "module") + " inside"]
    facts += [] if numbers is None else [counted(numbers, "parameter")]
    fields = [pair for part in parts for pair in entries(part)[:_MOST_FIELDS] if type(pair[0]) is str]
    fields += [
        pair for pair in instance_fields(value, _MOST_FIELDS) if not pair[0].startswith("_") and pair[0] != "training"
    ]
    return Seen(class_label(type(value)), ", ".join(facts), fields=fields)


def _counts(module):
    """How many modules there are, this one included, and how many numbers their parameters hold, or None."""
    waiting, met, numbers = [module], set(), 0
    known = not _modes_are_on()
    while waiting and len(met) < _MOST_MODULES:
        one = waiting.pop()
        own = instance_dict(one)
        if id(one) in met or own is None:
            continue
        met.add(id(one))
        parameters, modules = stored(own, "_parameters"), stored(own, "_modules")
        for _, held in entries(parameters) if inherits(parameters, dict) else ():
            if held is None:
                continue
            if known and type(held) is held_at("torch.nn.parameter", "Parameter"):
                numbers += _product(_reader(held)("shape"))
            else:
                known = False
        waiting += [inner for _, inner in entries(modules)] if inherits(modules, dict) else []
    return len(met), numbers if known and not waiting else None


TYPES = (
    ("torch", "Tensor", _see_tensor, "sequence"),
    ("torch.nn.parameter", "Parameter", _see_tensor, "sequence"),
)

FAMILIES = (("torch.nn.modules.module", "Module", _see_module),)
