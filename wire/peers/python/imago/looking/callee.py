"""What a frame is calling at this moment, read off its bytecode: no interpreter says so of compiled functions.

The loads that put the callee on the stack are found by walking back from the call over what pushes its arguments.
Where that is not plain (a conditional among the arguments, an opcode that is not known) nothing is said.
"""

import builtins
import dis
from types import BuiltinFunctionType, MethodDescriptorType, MethodType, ModuleType

from imago.looking.attributes import read_attribute
from imago.looking.codes import exact, instructions
from imago.looking.fields import ABSENT, class_label, class_lookup, inherits, instance_dict, stored
from imago.looking.frames import variables
from imago.looking.leaves import builtin_label
from imago.looking.outcomes import Unresolved

# Opcode -> how many values lie above the callee, besides the arguments that its number counts.
_CALLS = {"CALL_FUNCTION": 0, "CALL_METHOD": 0, "CALL": 0, "CALL_FUNCTION_KW": 1, "CALL_KW": 1}
_WITHS = ("SETUP_WITH", "BEFORE_WITH")
_LOCALS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_NAME")
# Two in one; what is loaded last lies on top.
_PAIRS = ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST_LOAD_FAST")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_JUMPS = frozenset(dis.hasjrel + dis.hasjabs)
_LEAVES = ("YIELD", "SEND", "RETURN", "STORE")
_LONGEST = 200_000


def called(frame):
    """`(label, receiver)` of the compiled function that `frame` stands in, such as `("time.sleep", <module>)`.

    `receiver` is what it was taken from, or `ABSENT`. None where there is no such call, or it cannot be told.
    """
    path = _path(frame)
    if path is None:
        return None
    root, names, entered = path
    try:
        here = _root(frame, root)
        for name in names if entered else names[:-1]:
            here = read_attribute(here, name, name).value
    except Unresolved:
        return None
    if entered:
        return f"{class_label(type(here))}.__enter__", here
    return _labelled(here, names[-1] if names else None)


def _labelled(here, name):
    if name is None:
        return _label(here, ABSENT)
    if inherits(here, ModuleType):
        own = instance_dict(here)
        return _label(ABSENT if own is None else stored(own, name), here)
    own = instance_dict(here)
    value = ABSENT if own is None else stored(own, name)
    if value is ABSENT:
        found = class_lookup(type(here), name)
        value = ABSENT if found is None else found[1]
    return _label(value, here)


def _label(value, receiver):
    if type(value) is MethodType:
        value = value.__func__
    if type(value) is MethodDescriptorType:
        return f"{class_label(value.__objclass__)}.{value.__name__}", receiver
    if type(value) is BuiltinFunctionType:
        owner = value.__self__
        return builtin_label(value), receiver if owner is None or inherits(owner, ModuleType) else owner
    return None


def _root(frame, root):
    name, is_global = root
    value = ABSENT if is_global else stored(variables(frame), name)
    for namespace in (frame.f_globals, builtins.__dict__):
        if value is ABSENT and inherits(namespace, dict):
            value = stored(namespace, name)
    if value is ABSENT:
        raise Unresolved({"type": "not_found"})
    return value


def _path(frame):
    """`((name, is_global), attributes, entered)` of the callee, or of the lock or file that a `with` enters."""
    code, last = frame.f_code, frame.f_lasti
    if last < 0 or len(exact(code.co_code)) > _LONGEST:
        return None
    before = [one for one in instructions(code) if one.offset <= last and one.opname != "CACHE"]
    if not before:
        return None
    at = before.pop()
    if at.opname in _WITHS:
        return _loads(before, True)
    above = _CALLS.get(at.opname)
    if above is None:
        return None
    if before and before[-1].opname == "PRECALL":
        before.pop()
    return _loads(before, False) if _skip(before, above + at.arg) else None


def _skip(before, above):
    """Takes from the end of `before` what pushes the topmost `above` values; false where that is not plain."""
    while before:
        one = before[-1]
        if above == 0 and one.opname != "PUSH_NULL":
            return True
        if one.opcode in _JUMPS or one.opname.startswith(_LEAVES):
            return False
        if above:
            above -= dis.stack_effect(one.opcode, one.arg, jump=False)
            if above < 0:
                return False
        before.pop()
    return False


def _loads(before, entered):
    names = []
    while before:
        one = before.pop()
        if one.opname in _ATTRIBUTES:
            names.insert(0, one.argval)
        elif one.opname == "LOAD_GLOBAL":
            return (one.argval, True), names, entered
        elif one.opname in _LOCALS:
            return (one.argval, False), names, entered
        elif one.opname in _PAIRS:
            return (one.argval[-1], False), names, entered
        else:
            return None
    return None
