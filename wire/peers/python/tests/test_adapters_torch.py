"""torch, played by modules of the same names and layout: the library itself is too large to be installed for tests.

What they hold is which parts of torch's interface a look uses, and which it never touches. Where torch is installed,
the same is asked of it.
"""

import importlib.util
import sys
import types
import unittest
import warnings
from unittest import mock

from imago import looking
from imago.handles import Handles
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
    dtype = property(lambda self: Name("torch.float32"))
    layout = property(lambda self: Name("torch.strided"))
    grad_fn = property(lambda self: self.__dict__.get("_made_by"))
    requires_grad = property(lambda self: self.__dict__["_requires_grad"])
    element_size = lambda self: 4

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

    def __init__(self, cells, device="cpu", made_by=None, requires_grad=False):
        place = Name(device, type=device.partition(":")[0])
        self.__dict__.update(_cells=cells, _device=place, _made_by=made_by, _requires_grad=requires_grad)


class Parameter(Tensor):
    __module__ = "torch.nn.parameter"

    def __init__(self, cells, device="cpu", made_by=None, requires_grad=True):
        super().__init__(cells, device, made_by, requires_grad)


class Module:
    """Keeps what it is made of in dicts, and finds attributes in them."""

    __module__ = "torch.nn.modules.module"
    __getattr__ = hook("__getattr__")
    __repr__ = extra_repr = hook("__repr__", lambda: "lie")
    parameters = named_modules = state_dict = hook("parameters", lambda: {})
    __call__ = forward = hook("forward")

    def __init__(self, parameters=None, modules=None, buffers=None, **own):
        self.__dict__.update(training=True, _parameters=parameters or {}, _modules=modules or {})
        self.__dict__.update(_buffers=buffers or {})
        self.__dict__.update(_forward_hooks={}, **own)


class Linear(Module):
    __module__ = "torch.nn.modules.linear"


class Net(Module):
    """A module of the user's."""

    total = property(hook("total"))

    def forward(self, x):
        """What comes out."""


class Hostile(Module):
    __class__ = property(hook("__class__", lambda: int))
    __getattribute__ = hook("__getattribute__")
    __eq__ = hook("__eq__", lambda: True)
    __hash__ = hook("__hash__", lambda: 1)
    __len__ = hook("__len__", lambda: 1)
    training = property(hook("training"))


def linear(outputs, inputs, **own):
    return Linear({"weight": Parameter([[0.0] * inputs] * outputs), "bias": Parameter([0.0] * outputs)}, **own)


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
        self.assertIn("Net training, 1 module inside, 7 parameters, 28 bytes scale=<torch.nn.Parameter shape (", said)
        self.assertIn("first=<torch.nn.modules.linear.Linear training, 6 parameters, 24 bytes>", said)
        self.assertIn("rate=0.1", said)

    def test_a_closer_look_at_a_module_is_the_tree_of_what_is_inside_in_its_order(self):
        shared = Parameter([[0.0] * 3] * 5)
        frozen = Linear({"weight": Parameter([0.0] * 4, "cuda:0", requires_grad=False), "bias": None})
        frozen.__dict__["training"] = False
        first, second = ({"lin": linear(2, 2), "act": Module()} for _ in range(2))
        body = Module(modules={"0": Net(modules=first), "1": Net(modules=second), "2": frozen})
        net = Net(
            {"scale": Parameter([1.0])},
            {"embed": Linear({"weight": shared}), "body": body, "head": Linear({"weight": shared}), "last": body},
            {"mean": Tensor([0.0, 0.0])},
        )
        tree = f"""\
<{__name__}.Net training, 10 modules inside, 32 parameters, 28 of them with grad, 136 bytes>
  scale (1,) float32; buffers mean (2,) float32
  embed: Linear, 15 parameters: weight (5, 3) float32
  body: Module, 16 parameters, 12 of them with grad
    0 to 1: 2 times Net, 6 parameters
      lin: Linear, 6 parameters: weight (2, 2) float32, bias (2,) float32
      act: Module
    2: Linear, not training, 4 parameters without grad: weight (4,) float32 on cuda:0 without grad, bias None
  head: Linear, 15 parameters: weight the same as embed.weight
  last: Module, the same as body"""
        self.assertEqual(tree.split("\n"), self.card(net))
        self.assert_quiet()

    def test_beside_the_tree_stand_the_fields_and_methods_of_its_class_and_no_source_of_torch(self):
        seen = self.seen(Net({"scale": Parameter([1.0])}, rate=0.1))
        self.assertEqual([{"name": "rate", "type_name": "float", "value": "0.1"}], seen["fields"]["rows"])
        methods = [(row["name"], row["signature"]) for row in seen["methods"]["rows"]]
        self.assertEqual([("total", None), ("forward", "(x)")], methods)
        self.assertNotIn("callable", seen)
        self.assertEqual("object", seen["kind"])
        self.assertEqual("  nothing inside", self.card(Net(rate=0.1))[1])

    def test_a_part_of_a_module_is_found_by_its_path_where_torch_itself_would_look_for_it(self):
        lin = Linear({"bias": Parameter([0.0] * 2, "cuda")})
        net = Net({"scale": Parameter([1.0])}, {"body": Net(modules={"lin": lin})})
        looked = looking.inspect_static({"net": net}, "net.body.lin.bias", Handles("abcd1234"))
        self.assertEqual({"shape": [2]}, looked["value"]["size"])
        for path in ("net.nothing", "net.total"):
            looked = looking.inspect_static({"net": net}, path, Handles("abcd1234"))
            self.assertEqual("needs_evaluation", looked["type"])

        class Finding(Net):
            __getattr__ = hook("__getattr__")

        looked = looking.inspect_static({"net": Finding(modules={"body": net})}, "net.body", Handles("abcd1234"))
        self.assertEqual("needs_evaluation", looked["type"])
        self.assert_quiet()

    def test_nothing_of_a_hostile_module_runs_at_the_top_or_inside(self):
        hostile = Hostile.__new__(Hostile)
        module_dict = Module.__dict__["__dict__"].__get__
        Module.__init__(made := Module(), {"weight": Parameter([1.0])}, {"again": Linear()})
        module_dict(hostile).update(module_dict(made))
        FIRED.clear()
        for one in (hostile, Net(modules={"inner": hostile, "twice": hostile})):
            self.assertIn("Hostile", self.look_everywhere(one))
        self.assertIn("inner: Hostile, 1 parameter: weight (1,) float32", self.card(Net(modules={"inner": hostile}))[1])
        self.look_at_all(lambda value: Net({"odd": value}, {"odd": value}, {"odd": value}, odd=value))
        self.look_at_all(lambda value: Net(modules={"inner": Net({"odd": value}, {"odd": value}, {"odd": value})}), every=3)

    def test_a_name_with_a_line_break_forges_no_line_of_the_tree(self):
        card = self.card(Net({"a\n  b": Parameter([1.0])}, {"c\nd: Linear": Linear()}))
        self.assertEqual(["  'a\\n  b' (1,) float32", "  'c\\nd: Linear': Linear"], card[1:])

    def test_a_long_tree_is_cut_with_a_handle_to_read_on(self):
        net = Net(modules={f"layer{at}": linear(at + 1, 2) for at in range(100)})
        seen = self.seen(net)
        self.assertTrue(seen["repr"]["truncated"])
        rest = looking.more(self.handles, {"handle": seen["repr"]["handle"], "from": 4000, "count": 10_000})["value"]
        self.assertIn("layer99: Linear, 300 parameters", rest["text"])
        self.assertIsNone(rest["next"])

    def test_what_is_too_much_or_too_deep_is_not_read_and_said(self):
        wide = Net(modules={str(at): linear(1, 1) for at in range(3000)})
        self.assertRegex(self.card(wide)[0], r"at least 1,\d+ modules inside, at least 2,\d+ parameters")
        deep = Linear()
        for _ in range(100):
            deep = Net(modules={"inner": deep})
        card = self.card(deep)
        self.assertEqual("… not read: what is more than 20 levels deep; look at a part by its path", card[-1])
        self.assertIn("at least 20 modules inside", card[0])
        self.assertIn("inner: Net with 1 module not read", card[-2])
        self.assertLess(self.cost(lambda: self.seen(wide))[0], 600_000)

    def test_while_a_mode_is_on_only_the_tree_of_a_module_is_shown(self):
        sys.modules["torch._C"]._len_torch_function_stack = (1).bit_length
        net = Net(modules={"lin": linear(2, 2)})
        self.assertIn("2 tensors not read while a mode of torch is on", self.look_everywhere(net))
        self.assertIn("lin: Linear: weight torch.nn.parameter.Parameter, not read", self.card(net)[1].strip()[:64])

    def test_a_module_with_parts_of_the_users_own_is_not_counted(self):
        class Odd(Parameter):
            shape = property(hook("shape"))

        net = Net({"odd": Odd([1.0])}, {"none": None, "not": make()})
        self.assertNotIn("parameter", self.text(net).partition("odd=")[0])
        self.look_everywhere(net)
        self.look_everywhere(Net.__new__(Net))


@unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")
class RealTorch(Adapters):
    """The library itself, whatever its version; tried with 1.13.1 and 2.15.0."""

    def setUp(self):
        super().setUp()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch
        self.torch = torch

    def net(self):
        nn = self.torch.nn

        class Block(nn.Module):
            __repr__ = extra_repr = _get_name = hook("__repr__", lambda: "lie")
            parameters = named_parameters = named_modules = children = hook("parameters", lambda: iter(()))
            total = property(hook("total"))

            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.norm = nn.BatchNorm1d(4)

            def forward(self, x):
                return self.norm(self.lin(x))

        net = nn.Sequential(Block(), Block(), nn.ReLU(), nn.Linear(4, 2, bias=False))
        net[3].weight.requires_grad_(False)
        net(self.torch.ones(8, 4)).sum()
        FIRED.clear()
        return net

    def test_a_module_is_the_tree_of_its_stored_parts_and_nothing_of_it_runs(self):
        net = self.net()
        tree = """\
<torch.nn.modules.container.Sequential training, 8 modules inside, 64 parameters, 56 of them with grad, 336 bytes>
  0 to 1: 2 times Block, 28 parameters
    lin: Linear, 20 parameters: weight (4, 4) float32, bias (4,) float32
    norm: BatchNorm1d, 8 parameters: weight (4,) float32, bias (4,) float32; buffers running_mean (4,) float32, \
running_var (4,) float32, num_batches_tracked () int64
  2: ReLU
  3: Linear, 8 parameters without grad: weight (2, 4) float32 without grad, bias None"""
        self.assertEqual(tree.split("\n"), self.card(net))
        self.assertNotIn("_wrapped_call_impl", self.look_everywhere(net))
        self.assert_quiet()

    def test_a_part_is_found_by_its_path(self):
        net = self.net()
        looked = looking.inspect_static({"net": net._modules["0"]}, "net.lin.weight", Handles("abcd1234"))
        self.assertEqual({"shape": [4, 4]}, looked["value"]["size"])

    def test_a_tensor_is_shown_by_shape_type_device_and_cells(self):
        text = "<torch.Tensor shape (2,), dtype float32, device cpu [1.0, 1.0]>"
        self.assertEqual(text, self.text(self.torch.ones(2)))
        self.assertEqual(["8 bytes", "min 1, max 1, mean 1, 0 nan"], self.card(self.torch.ones(2))[1:])
        self.assertIn("requires grad, made by MulBackward0", self.text(self.torch.nn.Parameter(self.torch.ones(2)) * 2))

    def test_a_mode_of_torch_is_not_asked(self):
        class Mode(self.torch.overrides.TorchFunctionMode):
            __torch_function__ = hook("__torch_function__")

        net, tensor = self.net(), self.torch.ones(2)
        with Mode():
            said = self.text(net) + self.text(tensor)
        self.assert_quiet()
        self.assertIn("tensors not read while a mode of torch is on", said)
        self.assertIn("<torch.Tensor not read while a mode of torch is on>", said)


if __name__ == "__main__":
    unittest.main()
