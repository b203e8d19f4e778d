"""Models of pydantic and classes of attrs: their fields as they are stored, in the order that they are declared in."""

import unittest

from tests.adapters_support import Adapters
from tests.looking_support import FIRED, hook, hooks, make

try:
    import attr
    import pydantic
except ImportError:
    pydantic = None


@unittest.skipIf(pydantic is None, "pydantic and attrs are not installed")
class Models(Adapters):
    def test_a_model_is_shown_by_its_fields(self):
        class Order(pydantic.BaseModel):
            model_config = {"extra": "allow"}
            number: int
            names: list = []
            key: pydantic.SecretStr = pydantic.SecretStr("hunter2")
            token: str = pydantic.Field("hunter2", repr=False)

        order = Order(names=["a"], number=7, more=1)
        text = "number=7, names=[…1], key=SecretStr('**********'), token=…, more=1>"
        self.assertTrue(self.text(order).endswith(f"Order {text}"), self.text(order))
        self.assertNotIn("hunter2", self.look_everywhere(order))

    def test_what_a_model_computes_is_not_asked(self):
        lies = hooks("__repr__", "__str__", "__rich_repr__", "__repr_args__", "__eq__", "__iter__", "__getattr__")

        class Order(type("Liar", (), lies), pydantic.BaseModel):
            model_config = {"arbitrary_types_allowed": True}
            held: object = None

            @pydantic.computed_field
            @property
            def total(self) -> int:
                FIRED.append("total")
                return 1

            @pydantic.field_serializer("held")
            def write(self, held):
                FIRED.append("serializer")

        def hold(value):
            order = Order.model_construct()
            order.__dict__["held"] = value
            return order

        self.look_at_all(hold)

    def test_a_class_of_attrs_is_shown_by_its_fields(self):
        @attr.s(slots=True, auto_attribs=True)
        class Slotted:
            b: int = 1
            a: str = "x"
            key: str = attr.ib(default="hunter2", repr=False)

        @attr.s(auto_attribs=True)
        class Open:
            held: object = None
            written: object = attr.ib(default=None, repr=hook("repr"))
            total = property(hook("total"))
            __repr__ = hook("__repr__", lambda: "lie")

        self.assertTrue(self.text(Slotted()).endswith("Slotted b=1, a='x', key=…>"), self.text(Slotted()))

        def hold(value):
            one = Open(value, make())
            one.late = value
            return one

        self.look_at_all(hold)

    def test_what_is_called_a_model_and_is_not_is_shown_like_any_object(self):
        fake = type("BaseModel", (), {"__module__": "pydantic.main", "__pydantic_fields__": {"a": make()}})
        fields = type("Fields", (), {"__attrs_attrs__": (make(), make()), "__dataclass_fields__": {"a": make()}})
        FIRED.clear()
        for cls in (fake, fields):
            one = cls()
            one.a = make()
            self.look_everywhere(one)


if __name__ == "__main__":
    unittest.main()
