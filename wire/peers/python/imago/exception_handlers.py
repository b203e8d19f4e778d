"""What would catch an exception between two frames, told before it is raised: clauses in their source, and compiled
code."""

import ast
import builtins
import functools
import opcode
import types
from itertools import islice

from imago.looking.fields import ABSENT, class_lookup, inherits, instance_dict, is_class, mro, stored
from imago.looking.frames import LOCALS_PROXY, has_own_names
from imago.looking.source import ByCode, name_of, written_for
from imago.looking.syntax import parsed


# Whether a frame would catch an exception that is raised in it, or in what it calls: told from its source, before.
#
# ``PERHAPS`` where the source is not known, a clause names what cannot be found without running code, or a ``with`` could
# suppress it.

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_INNER = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_TRIES = tuple(getattr(ast, name) for name in ('Try', 'TryStar') if hasattr(ast, name))
#: What Python makes of parts of expressions, in which no statement stands.
_EXPRESSIONS = frozenset(['<lambda>', '<listcomp>', '<setcomp>', '<dictcomp>', '<genexpr>'])

NO, PERHAPS, YES = range(3)

#: What a region catches, where that is not a list of expressions: all that is raised there, or perhaps that.
_ANY, _PERHAPS = 'any', 'perhaps'


class Region:
    """Lines on which exceptions are caught. ``kinds`` are their classes as expressions, ``_ANY`` or ``_PERHAPS``."""

    __slots__ = ('first', 'last', 'kinds')

    def __init__(self, first, last, kinds):
        self.first = first
        self.last = last
        self.kinds = kinds


def catches(frame, line, error):
    """``NO``, ``PERHAPS`` or ``YES``."""
    regions = _regions_of(frame.f_code, frame.f_globals)
    if regions is None:
        return PERHAPS
    found = NO
    for region in regions:
        if region.first <= line <= region.last:
            found = max(found, _of_region(region, frame, error))
    return found


def _of_region(region, frame, error):
    if region.kinds is _ANY:
        return YES
    if region.kinds is _PERHAPS:
        return PERHAPS
    return max(_matches(kind, frame, error) for kind in region.kinds)


def _matches(kind, frame, error):
    """Whether the clause catches it."""
    if isinstance(kind, ast.Tuple):
        return max([NO, *(_matches(one, frame, error) for one in kind.elts)])
    return _covers(value_of(kind, frame), error)


def _covers(value, error):
    if type(value) is tuple:
        return max([NO, *(_covers(one, error) for one in value)])
    if not is_class(value):
        return PERHAPS
    return YES if any(value is one for one in mro(type(error))) else NO


def value_of(node, frame):
    """What a name or an attribute of a module or class stands for, or ``ABSENT``."""
    if isinstance(node, ast.Name):
        return _named(node.id, frame)
    if not isinstance(node, ast.Attribute):
        return ABSENT
    return class_or_module_entry(value_of(node.value, frame), node.attr)


def class_or_module_entry(of, name):
    """What a module or a class has by that name; ``ABSENT`` where it has none, or is neither."""
    if type(of) is types.ModuleType:
        return stored(of.__dict__, name)
    if is_class(of):
        known = class_lookup(of, name)
        return ABSENT if known is None else known[1]
    return ABSENT


def _named(name, frame):
    code = frame.f_code
    if has_own_names(frame):
        if name in code.co_varnames + code.co_cellvars + code.co_freevars:
            return frame.f_locals.get(name, ABSENT)
    elif type(frame.f_locals) is LOCALS_PROXY and name_of(code) == '<module>':
        # From 3.13 on, while a comprehension runs there: its variables alone, the others are globals.
        found = frame.f_locals.get(name, ABSENT)
        if found is not ABSENT:
            return found
    elif type(frame.f_locals) is not dict:
        return ABSENT
    else:
        found = stored(frame.f_locals, name)
        if found is not ABSENT:
            return found
    found = stored(frame.f_globals, name)
    return stored(builtins.__dict__, name) if found is ABSENT else found


def _read(code, namespace):
    if name_of(code) in _EXPRESSIONS:
        return []
    for text in written_for(code, namespace):
        tree = _tree_of(text.text)
        node = None if tree is None else _node(tree, code, text.first)
        if node is not None:
            return [_moved(region, text.first - 1) for region in _walk(node.body)]
    return None


#: The regions of a code object; ``None`` where its source is not known.
_regions_of = ByCode(_read)
#: The tree of a text, or ``None``. The last few stay parsed: code objects of one file come together.
_tree_of = functools.lru_cache(maxsize=8)(parsed)


def _node(tree, code, first):
    """The statement that ``code`` was compiled from, in a text whose first line is number ``first``."""
    name, line = name_of(code), code.co_firstlineno - first + 1
    if name == '<module>':
        return tree
    for node in ast.walk(tree):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and node.name == name:
            begins = [node.lineno, *(one.lineno for one in node.decorator_list)]
            if min(begins) <= line <= node.lineno:
                return node
    return None


def _moved(region, lines):
    return Region(region.first + lines, region.last + lines, region.kinds)


def _walk(body):
    """The regions of statements, those of functions and classes that are defined in them left out."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _INNER):
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, _TRIES):
            yield from _of_try(node)
        elif isinstance(node, (ast.With, ast.AsyncWith)) and not all(map(_is_harmless, node.items)):
            yield Region(node.lineno, node.end_lineno, _PERHAPS)


def _of_try(node):
    if node.handlers:
        bare = any(handler.type is None for handler in node.handlers)
        star = not isinstance(node, ast.Try)
        kinds = _ANY if bare else _PERHAPS if star else [handler.type for handler in node.handlers]
        yield Region(node.body[0].lineno, node.body[-1].end_lineno, kinds)
    if node.finalbody and any(_leaves(one) for one in node.finalbody):
        yield Region(node.body[0].lineno, node.finalbody[0].lineno, _ANY)


def _leaves(statement):
    """Whether a statement of a ``finally`` may leave it, by which the exception is gone."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            return True
        if not isinstance(node, _INNER):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _is_harmless(item):
    """Whether what a ``with`` enters lets exceptions through: a file, as far as that can be told without asking."""
    called = item.context_expr
    return isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == 'open'


# Whether an error goes from a frame straight to the one beneath it, or may meet code between that is not Python's.
#
# What is compiled catches errors of what it calls where no clause tells of it: the end of an old sequence, a property
# where there is a ``__getattr__``, all of a callback. So an error is sure to go through only where an instruction of the
# frame beneath has entered the frame itself: a call of that very function, a step of an iteration over that generator,
# an operator that has that method. Where a call names what cannot be found without running code, its name decides.

_OPTIMIZED = 1
_GENERATORS = 0x20 | 0x80 | 0x200
_COMPREHENSIONS = frozenset(['<listcomp>', '<setcomp>', '<dictcomp>'])
#: Instructions that take what a generator yields, and let through all but its end.
_STEPS = frozenset('FOR_ITER SEND YIELD_FROM UNPACK_SEQUENCE UNPACK_EX LIST_EXTEND SET_UPDATE CONTAINS_OP'.split())
_ARITHMETIC = frozenset(
    '__%s%s__' % (side, name)
    for side in ('', 'r', 'i')
    for name in 'add sub mul truediv floordiv mod pow lshift rshift and or xor matmul'.split()
)
_ITEM = frozenset(['__getitem__', '__class_getitem__', '__missing__', '__hash__', '__eq__'])
_COMPARED = frozenset('__eq__ __ne__ __lt__ __le__ __gt__ __ge__'.split())
_TRUTH = frozenset(['__bool__', '__len__'])
_SHOWN = frozenset(['__format__', '__str__', '__repr__'])
_READS = frozenset('LOAD_ATTR LOAD_METHOD LOAD_SUPER_ATTR'.split())
#: By how an instruction's name begins: the methods that it calls, and none of whose errors it catches.
_METHODS = (
    ('GET_ITER', {'__iter__'}),
    ('FOR_ITER', {'__next__'}),
    ('BINARY_S', _ITEM),
    ('STORE_SUBSCR', {'__setitem__', '__hash__', '__eq__'}),
    ('DELETE_SUBSCR', {'__delitem__', '__hash__', '__eq__'}),
    ('STORE_ATTR', {'__setattr__', '__set__'}),
    ('DELETE_ATTR', {'__delattr__', '__delete__'}),
    ('BINARY_', _ARITHMETIC | _ITEM),
    ('INPLACE_', _ARITHMETIC),
    ('COMPARE_OP', _COMPARED),
    ('CONTAINS_OP', {'__contains__', '__eq__', '__hash__'}),
    ('UNARY_', {'__neg__', '__pos__', '__invert__', *_TRUTH}),
    ('TO_BOOL', _TRUTH),
    ('POP_JUMP_', _TRUTH),
    ('JUMP_IF_', _TRUTH),
    ('FORMAT_', _SHOWN),
    ('CONVERT_VALUE', _SHOWN),
    ('BEFORE_WITH', {'__enter__'}),
    ('SETUP_WITH', {'__enter__'}),
)
#: What is compiled, and catches no error of what it is given to go through or to call.
_CARRIERS = (sum, sorted, min, max, any, all, list, tuple, set, frozenset, functools.reduce)


class Index:
    """The calls of one text by where they end and in its order, and its classes."""

    __slots__ = ('by_end', 'calls', 'classes')

    def __init__(self, tree):
        self.by_end, self.calls, self.classes = {}, [], []
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                given = [*node.args, *(one.value for one in node.keywords)]
                self._add(node, node.end_lineno, node.func, given)
                continue
            for one in getattr(node, 'decorator_list', ()):
                # Before 3.11, it is called on the line of what it decorates.
                self._add(one, node.lineno, one, [])
            if isinstance(node, ast.ClassDef):
                self.classes.append(node)

    def _add(self, node, last, called, given):
        call = node.lineno, last, called, given
        self.calls.append(call)
        self.by_end.setdefault((node.end_lineno, node.end_col_offset), []).append(call)


def lets_through(caller, callee, error):
    """``NO`` where nothing between ``callee`` and the frame that it returns to can catch ``error``; else ``PERHAPS``."""
    code = callee.f_code
    operation = _operation(caller)
    if 'CALL' in operation and 'INTRINSIC' not in operation:
        return NO if _calls(caller, code) else PERHAPS
    if code.co_flags & _GENERATORS:
        return NO if operation in _STEPS else PERHAPS
    if operation in _READS:
        return _read_steps(callee, error)
    name = name_of(code)
    for begins, names in _METHODS:
        if operation.startswith(begins) and name in names:
            return NO
    return NO if operation == 'STORE_ATTR' and _accessor(callee, 'fset') else PERHAPS


def _operation(frame):
    """The name of the instruction that a frame is at, which may be noted as one of the caches behind it."""
    codes, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and codes[at] == 0:
        at -= 2
    return opcode.opname[codes[at]] if at >= 0 else ''


def _read_steps(callee, error):
    """An attribute is read: of an ``AttributeError``, a ``__getattr__`` may make a value."""
    name = name_of(callee.f_code)
    if name == '__getattr__':
        return NO
    if inherits(error, AttributeError):
        first = _first(callee)
        if first is ABSENT or class_lookup(type(first), '__getattr__') is not None:
            return PERHAPS
        return NO if _accessor(callee, 'fget') else PERHAPS
    return NO if name in ('__getattribute__', '__get__') or _accessor(callee, 'fget') else PERHAPS


def _accessor(callee, kind):
    """Whether the frame is that of a property of its first argument."""
    found = class_lookup(type(_first(callee)), name_of(callee.f_code))
    if found is None or type(found[1]) is not property:
        return False
    return _code_of(getattr(found[1], kind)) is callee.f_code


def _first(frame):
    code = frame.f_code
    if not code.co_argcount or not has_own_names(frame):
        return ABSENT
    return frame.f_locals.get(code.co_varnames[0], ABSENT)


# Calls


def _calls(caller, code):
    """Whether the call that a frame is in is of that code itself."""
    name = name_of(code)
    if name in _COMPREHENSIONS:
        return any(one is code for one in caller.f_code.co_consts)
    index, shift = _index_of(caller.f_code, caller.f_globals)
    if index is None:
        return False
    if any(_is_body(node, code, shift) for node in index.classes):
        return True
    return any(_is_of(called, given, caller, code, shift) for called, given in _calls_at(caller, index, shift))


def _is_body(node, code, shift):
    """Whether the code is what stands in that statement of a class."""
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    line = code.co_firstlineno - shift
    return node.name == name_of(code) and first <= line <= node.lineno and not code.co_flags & _OPTIMIZED


def _calls_at(frame, index, shift):
    """What is called, and with what, in the calls that a frame may be in: the one, where Python tells of columns."""
    line, column = frame.f_lineno or 0, None
    if hasattr(frame.f_code, 'co_positions'):
        _, line, _, column = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    if column is not None and line is not None:
        return [call[2:] for call in index.by_end.get((line - shift, column), ())]
    line = (frame.f_lineno or 0) - shift
    return [call[2:] for call in index.calls if call[0] <= line <= call[1]]


def _is_of(called, given, caller, code, shift):
    target = _target(called, caller)
    if target is not ABSENT:
        if any(target is one for one in _CARRIERS):
            return any(_is_given(one, caller, code, shift) for one in given)
        return _enters(target, code)
    name = called.attr if isinstance(called, ast.Attribute) else None
    return name is not None and name == name_of(code)


def _is_given(argument, caller, code, shift):
    """Whether a part of what is given to a call is that code: a generator, or a function."""
    for node in ast.walk(argument):
        if isinstance(node, (ast.Lambda, ast.GeneratorExp)):
            name = '<lambda>' if isinstance(node, ast.Lambda) else '<genexpr>'
            if name == name_of(code) and node.lineno + shift == code.co_firstlineno:
                return True
        elif isinstance(node, (ast.Name, ast.Attribute)):
            target = _target(node, caller)
            if target is not ABSENT and not is_class(target) and _enters(target, code):
                return True
    return False


def _target(node, frame):
    """What an expression that is called stands for, found without running code; or ``ABSENT``."""
    if not isinstance(node, ast.Attribute):
        return value_of(node, frame)
    of = _target(node.value, frame)
    if of is ABSENT:
        return ABSENT
    if type(of) is types.ModuleType or is_class(of):
        return class_or_module_entry(of, node.attr)
    if class_lookup(type(of), '__getattribute__')[1] is not object.__getattribute__:
        return ABSENT
    names = instance_dict(of)
    found = ABSENT if names is None else stored(names, node.attr)
    if found is not ABSENT:
        return found
    known = class_lookup(type(of), node.attr)
    return known[1] if known is not None and _is_callable(known[1]) else ABSENT


def _is_callable(value):
    return type(value) in (types.FunctionType, staticmethod, classmethod) or is_class(value)


def _enters(value, code):
    """Whether a call of the value enters that code first, or what is compiled in Python itself before it."""
    if is_class(value):
        called = class_lookup(type(value), '__call__')[1]
        if called is not _CALL_OF_TYPE:
            return _code_of(called) is code
        return any(
            known is not None and _code_of(known[1]) is code
            for known in (class_lookup(value, '__init__'), class_lookup(value, '__new__'))
        )
    if type(value) is functools.partial:
        return _enters(value.func, code)
    if _code_of(value) is not None:
        return _code_of(value) is code
    known = class_lookup(type(value), '__call__')
    return known is not None and _code_of(known[1]) is code


_CALL_OF_TYPE = type.__dict__['__call__']


def _code_of(value):
    while type(value) in (types.MethodType, staticmethod, classmethod):
        value = value.__func__
    return value.__code__ if type(value) is types.FunctionType else None


def _read_index(code, namespace):
    for text in written_for(code, namespace):
        index = _index_of_text(text.text)
        if index is not None:
            return index, text.first - 1
    return None, 0


@functools.lru_cache(maxsize=8)
def _index_of_text(whole):
    tree = _tree_of(whole)
    return None if tree is None else Index(tree)


#: ``(index, lines that the text stands further down)``; ``(None, 0)`` where the source is not known.
_index_of = ByCode(_read_index)
