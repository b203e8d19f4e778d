"""The function that a name stands for, where its calls can be taken down; and what then is not seen."""

from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, WrapperDescriptorType

from imago.looking.fields import class_qualified, exactly, is_class
from imago.looking.frames import is_ours
from imago.looking.leaves import function_label
from imago.looking.naming import named
from imago.looking.outcomes import Unresolved, malformed
from imago.looking.unwrapping import unwrapped

_COMPILED = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)
_COROUTINE, _GENERATOR, _ASYNC_GENERATOR = 0x80, 0x20, 0x200


class Target:
    """A function of the program's. ``label`` is its name, and ``notes`` what is not taken down of it."""

    __slots__ = ('function', 'label', 'notes')

    def __init__(self, function, notes):
        self.function = function
        self.label = function_label(function)
        self.notes = notes


def target_of(namespace, source, handles):
    """The ``Target`` that ``source`` names. Raises ``Unresolved``: there is none, or its calls cannot be seen."""
    stands_for = named(namespace, source, handles).value
    value, wrappers = unwrapped(stands_for)
    if type(value) is not FunctionType:
        raise Unresolved(malformed(_why_not(source, value)))
    if is_ours(value.__code__):
        raise Unresolved(malformed('`%s` is a function of Imago itself, which is not traced.' % source))
    return Target(value, [*_of_wrappers(wrappers), *_of_kind(value, stands_for)])


def _why_not(source, value):
    if is_class(value):
        return '`%s` is a class. Name the method whose calls are wanted: `%s.__init__`.' % (source, source)
    if exactly(value, _COMPILED) or (callable(value) and type(value).__name__ == 'cython_function_or_method'):
        return '`%s` is compiled: only the calls of functions that are written in Python can be traced.' % source
    kind = class_qualified(type(value))
    if callable(value):
        return '`%s` is an instance of %s. Name the method that its calls run: `%s.__call__`.' % (source, kind, kind)
    return '`%s` is no function: it is an instance of %s.' % (source, kind)


def _of_wrappers(wrappers):
    plain = ('staticmethod', 'classmethod')
    names = [wrapper['name'] for wrapper in wrappers if wrapper['name'] not in plain]
    if names == ['property']:
        return ['Only what reads the property is seen, and not what sets or deletes it.']
    if not names:
        return []
    return ['It stands inside of %s: calls that this answers itself are not seen.' % ', '.join(names[:4])]


def _of_kind(function, stands_for):
    flags = function.__code__.co_flags
    notes = []
    if type(stands_for) is MethodType:
        notes.append('The calls on all instances are seen, and not only those on this one.')
    if flags & (_GENERATOR | _ASYNC_GENERATOR):
        notes.append('A call is seen once its generator takes its first step, and ends when that is used up or closed.')
    elif flags & _COROUTINE:
        notes.append('A call is seen once its coroutine takes its first step, and its time is that of its waits, too.')
    return notes
