"""Signatures as one text, from what a function stores; no wrapper is seen through."""

from types import FunctionType, MethodType

from imago.looking.fields import class_lookup, exactly, is_class
from imago.looking.parameters import COMPILED, compiled_signature, function_parameters


def signature_of(value):
    """`(a, /, b: int = 3, *, c) -> str`, or None where no signature is stored."""
    kind = type(value)
    if kind is FunctionType:
        return function_signature(value)
    if kind is MethodType:
        function = value.__func__
        return function_signature(function, bound=1) if type(function) is FunctionType else None
    if exactly(value, COMPILED):
        return compiled_signature(value)
    function = called_function(value)
    return None if function is None else function_signature(function, bound=1)


def called_function(value):
    """The Python function that a call of a class or of an instance ends in, as stored, or None."""
    if is_class(value):
        if class_lookup(type(value), "__call__")[0] is not type:
            return None
        for name in ("__init__", "__new__"):
            found = class_lookup(value, name)
            if found is not None and found[0] is not object:
                function = found[1]
                if type(function) is staticmethod:
                    function = staticmethod.__dict__["__func__"].__get__(function)
                return function if type(function) is FunctionType else None
        return None
    found = class_lookup(type(value), "__call__")
    return found[1] if found is not None and type(found[1]) is FunctionType else None


def function_signature(function, bound=0):
    """The signature of a Python function; the first `bound` positional parameters are taken already."""
    return function_parameters(function, bound).text
