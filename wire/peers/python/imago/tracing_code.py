"""Calls as they are seen before 3.12: the function is given other code, which calls what it was, and tells of it.

The function stays the object that it is, so that whoever holds it calls the other code: its name, defaults, closure
and signature, and whether it makes a coroutine or a generator, are as before. Its own code is run by a private
function that shares all of that. What is seen of it is one more frame on the stack.
"""

import ast
import sys
from types import CodeType, FunctionType

from imago.sources import Exchanged
from imago.tracing_calls import argument_names

BY = 'a changed code object'

_COROUTINE, _GENERATOR, _ASYNC_GENERATOR, _ITERABLE_COROUTINE = 0x80, 0x20, 0x200, 0x100
_HOOK = 'imago: the hook'
#: The hook, what has begun, what was returned: as variables, which must not be those of the function.
_OURS = ('_imago_hook', '_imago_call', '_imago_value', '_imago_error')

_FORM = '''
{define} {name}({parameters}):
    {hook} = {constant!r}
    {call} = {hook}.begin(({values}))
    try:
        {value} = {wait} {hook}.function({passed})
    except BaseException as {error}:
        {hook}.end({call}, error={error})
        raise
    {hook}.end({call}, {value})
    return {value}
'''


def can_change(function):
    """Why the code of that function cannot be exchanged, as the end of a sentence about it; else ``None``."""
    if function.__code__.co_flags & _ASYNC_GENERATOR:
        return 'makes asynchronous generators, whose calls can only be traced from Python 3.12 on'
    if any(name in _OURS or not name.isidentifier() for name in function.__code__.co_varnames):
        return 'has variables of names that no program is written with'
    return None


class Changed(Exchanged):
    """A function with other code, for its ``points``. Its methods ``begin`` and ``end`` are called by that code."""

    by = BY
    notes = ('Each call stands one frame deeper on the stack than it would otherwise.',)

    def __init__(self, recorder, function):
        self._recorder = recorder
        self._changed = function
        self.code = function.__code__
        self.names = argument_names(self.code)
        self.points = ()
        self.function = FunctionType(
            self.code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.function.__qualname__ = function.__qualname__
        self._other = _code_around(self.code, self)

    def install(self):
        self._changed.__code__ = self._other

    def remove(self):
        # Somebody may have given it yet another code, which is theirs.
        if self._changed.__code__ is self._other:
            self._changed.__code__ = self.code

    def changes(self, function):
        return self._changed is function

    def begin(self, values):
        return self._recorder.begin(self, sys._getframe(1), values)

    def end(self, key, *value, error=None):
        if key is not None:
            self._recorder.end(key, *value, error=error)


def _code_around(code, hook):
    """Code with the signature, the name and the place of ``code``, that calls the function of ``hook``."""
    parameters, passed = _parameters(code)
    flags = code.co_flags
    named = dict(zip(('hook', 'call', 'value', 'error'), _OURS))
    text = _FORM.format(
        define='async def' if flags & _COROUTINE else 'def',
        wait='await' if flags & _COROUTINE else 'yield from' if flags & _GENERATOR else '',
        name='traced',
        parameters=', '.join(parameters),
        values=''.join(name.lstrip('*') + ',' for name in argument_names(code)),
        passed=', '.join(passed),
        constant=_HOOK,
        **named,
    )
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if hasattr(node, 'lineno'):
            # All of it stands where the function begins.
            node.lineno = node.end_lineno = code.co_firstlineno
            node.col_offset = node.end_col_offset = 0
    whole = compile(tree, code.co_filename, 'exec', dont_inherit=True, optimize=0)
    made = next(one for one in whole.co_consts if type(one) is CodeType)
    changed = {
        'co_consts': tuple(hook if type(one) is str and one == _HOOK else one for one in made.co_consts),
        'co_freevars': code.co_freevars,
        'co_name': code.co_name,
        'co_flags': made.co_flags | flags & _ITERABLE_COROUTINE,
    }
    if sys.version_info >= (3, 11):
        changed['co_qualname'] = code.co_qualname
    return made.replace(**changed)


def _parameters(code):
    """How the parameters of ``code`` are written, and how each is passed on."""
    names = code.co_varnames
    count = code.co_argcount
    parameters, passed = list(names[:count]), list(names[:count])
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, '/')
    only = names[count : count + code.co_kwonlyargcount]
    count += len(only)
    if code.co_flags & 0x04:
        parameters.append('*' + names[count])
        passed.append('*' + names[count])
        count += 1
    elif only:
        parameters.append('*')
    parameters += only
    passed += ['%s=%s' % (name, name) for name in only]
    if code.co_flags & 0x08:
        parameters.append('**' + names[count])
        passed.append('**' + names[count])
    return parameters, passed
