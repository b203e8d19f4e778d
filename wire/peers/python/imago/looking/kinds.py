"""What sort of thing a value is, in the words of the contract, judged by its real class alone."""

import decimal
from collections import abc, deque
from fractions import Fraction
from types import (
    AsyncGeneratorType,
    CoroutineType,
    GeneratorType,
    MappingProxyType,
    ModuleType,
)

from imago.looking.adapters import kind_by_adapter
from imago.looking.contents import storage_of
from imago.looking.fields import (
    class_lookup,
    inherits,
    is_class,
    made_by_statement,
    mro,
)

_BY_BASE = (
    (BaseException, "exception"),
    ((int, float, complex, decimal.Decimal), "number"),
    (str, "string"),
    ((bytes, bytearray, memoryview), "bytes"),
    ((dict, MappingProxyType), "mapping"),
    ((list, tuple, deque, range), "sequence"),
    ((set, frozenset), "set"),
    (GeneratorType, "generator"),
    (CoroutineType, "coroutine"),
    (AsyncGeneratorType, "async_generator"),
)

# These have metaclasses, so that `issubclass` would ask them; their place in the real order says the same.
_BY_ORDER = ((abc.Mapping, "mapping"), (abc.Sequence, "sequence"), (abc.Set, "set"), (Fraction, "number"))


def kind_of(value):
    """One of the contract's kinds."""
    if value is None:
        return "none"
    if value is True or value is False:
        return "bool"
    if is_class(value):
        return "class"
    if inherits(value, ModuleType):
        return "module"
    kind = kind_by_adapter(value)
    if kind is not None:
        return kind
    for base, kind in _BY_BASE:
        if inherits(value, base):
            return kind
    storage = storage_of(value)
    if storage is not None:
        return storage.shape
    cls = type(value)
    for base in mro(cls):
        for known, kind in _BY_ORDER:
            if base is known:
                return kind
    if class_lookup(cls, "__next__") is not None:
        return "iterator"
    if callable(value):
        return "callable"
    return "object" if made_by_statement(cls) else "other"
