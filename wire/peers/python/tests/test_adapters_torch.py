"""torch, played by modules of the same names and layout: the library itself is too large for these tests.

What they hold is which parts of torch's interface a look uses, and which it never touches.
"""

import sys
import types
import unittest
from unittest import mock

from tests.adapters_support import Adapters
from tests.looking_support import FIRED, hook, make


class Name:
    """What prints as torch prints its names."""

    def __init__(self, text, **facts):
        self.text = text
        self.__dict__.update(facts)

    def __str__(self):
        return self.text


class Compiled:
    """The getters that torch has compiled in."""

    device = property(lambda self: self.__dict__["_device"])
    dtype = property(lambda self: Name("torch.float32", itemsize=4))
    layout = property(lambda self: Name("torch.strided"))
    grad_fn = property(lambda self: self.__dict__.get("_made_by"))
    requires_grad = property(lambda self: self.__dict__.get("_made_by") is not None)

    @property
    def shape(self):
        cells, shape = self.__dict__["_cells"], []
        while type(cells) is list:
            shape.append(len(cells))
            cells = cells[0] if cells else 0
        return tuple(shape)

    def tolist(self):
        FIRED.append("tolist")
        return self.__dict__["_cells"]


class Tensor(Compiled):
    """What Python code of torch's puts around them."""

    __module__ = "torch"
    __repr__ = hook("__repr__", lambda: "lie")
    __len__ = hook("__len__", lambda: 1)
    __iter__ = hook("__iter__", lambda: iter(()))
    __torch_function__ = hook("__torch_function__")
    item = hook("item")
    cpu = hook("cpu")

    def __init__(self, cells, device="cpu", made_by=None):
        self.__dict__.update(_cells=cells, _device=Name(device, type=device.partition(":")[0]), _made_by=made_by)


class Parameter(Tensor):
    __module__ = "torch.nn.parameter"


class Module:
    """Keeps what it is made of in dicts, and finds attributes in them."""

    __module__ = "torch.nn.modules.module"
    __getattr__ = hook("__getattr__")
    __repr__ = extra_repr = hook("__repr__", lambda: "lie")
    parameters = named_modules = state_dict = hook("parameters", lambda: {})
    __call__ = forward = hook("forward")

    def __init__(self, parameters=None, modules=None, **own):
        self.__dict__.update(training=True, _parameters=parameters or {}, _buffers={}, _modules=modules or {})
        self.__dict__.update(_forward_hooks={}, **own)


class Linear(Module):
    __module__ = "torch.nn.modules.linear"


class Net(Module):
    """A module of the user's."""

    total = property(hook("total"))


class Torch(Adapters):
    def setUp(self):
        super().setUp()
        compiled = dict(
            TensorBase=Compiled,
            _len_torch_function_stack=(0).bit_length,
            _len_torch_dispatch_stack=(0).bit_length,
        )
        modules = {
            "torch": dict(Tensor=Tensor),
            "torch._C": compiled,
            "torch.nn.parameter": dict(Parameter=Parameter),
            "torch.nn.modules.module": dict(Module=Module),
        }
        made = {name: types.ModuleType(name) for name in modules}
        for name, held in modules.items():
            made[name].__dict__.update(held)
        patch = mock.patch.dict(sys.modules, made)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_tensor_is_shown_by_shape_type_device_and_few_cells(self):
        tensor = Tensor([[1.0, 2.0], [3.0, 4.0]])
        text = "<torch.Tensor shape (2, 2), dtype float32, device cpu [[1.0, 2.0], [3.0, 4.0]]>"
        self.assertEqual(text, self.text(tensor))
        seen = self.seen(tensor)
        self.assertEqual(("sequence", {"shape": [2, 2]}), (seen["kind"], seen["size"]))
        self.assertEqual("16 bytes", self.card(tensor)[1])
        made = type("AddBackward0", (), {"name": hook("name"), "__repr__": hook("__repr__")})()
        parameter = Parameter(1.5, made_by=made)
        self.assertIn("torch.nn.Parameter shape (), ", self.text(parameter))
        self.assertIn("requires grad, made by AddBackward0 [1.5]>", self.text(parameter))

    def test_a_tensor_of_a_device_and_a_large_one_are_not_copied(self):
        for tensor in (Tensor([1.0, 2.0], "cuda:0"), Tensor([0.0] * 10_001), Tensor([1.0], "meta")):
            self.assertIn("shape (", self.look_everywhere(tensor))
        self.assertIn("device cuda:0>", self.text(Tensor([1.0], "cuda:0")))

    def test_a_small_tensor_is_summed_up_and_of_a_large_one_it_is_said_what_that_takes(self):
        card = self.card(Tensor([[1.0, float("nan")], [3.0, 5.0]]))
        self.assertIn("min 1, max 5, mean 3, 1 nan", card)
        self.assertIn("all 1 nan", self.card(Tensor([float("nan")])))
        self.assertIn("take a pass over 10,001 cells", self.card(Tensor([0.0] * 10_001))[2])
        self.assertEqual(1, len(self.card(Tensor([]))[1:]))

    def test_while_a_mode_is_on_a_tensor_is_only_named(self):
        sys.modules['torch._C']._len_torch_function_stack = (1).bit_length
        self.assertIn("not read while a mode of torch is on", self.look_everywhere(Tensor([1.0])))

    def test_a_subclass_of_the_users_gets_no_adapter(self):
        class Mine(Tensor):
            shape = property(hook("shape"))

        self.assertNotIn("shape (", self.look_everywhere(Mine([1.0])))

    def test_a_module_is_shown_by_what_it_stores(self):
        inner = Linear({"weight": Parameter([[0.0] * 3] * 2, "cuda"), "bias": None}, in_features=3)
        net = Net({"scale": Parameter([1.0], "cuda")}, {"first": inner, "again": inner}, rate=0.1, held=make())
        net._modules["itself"] = net
        said = self.look_everywhere(net)
        self.assertIn("Net training, 1 module inside, 7 parameters scale=<torch.nn.Parameter shape (1,)", said)
        self.assertIn("first=<torch.nn.modules.linear.Linear training, 6 parameters>", said)
        self.assertIn("rate=0.1", said)

    def test_a_module_with_parts_of_the_users_own_is_not_counted(self):
        class Odd(Parameter):
            shape = property(hook("shape"))

        net = Net({"odd": Odd([1.0])}, {"none": None, "not": make()})
        self.assertNotIn("parameter", self.text(net).partition("odd=")[0])
        self.look_everywhere(net)
        self.look_everywhere(Net.__new__(Net))


if __name__ == "__main__":
    unittest.main()
