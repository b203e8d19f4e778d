"""Whether a frame would catch an exception that is raised in it, or in what it calls: told from its source, before.

What may catch it between two frames is told by ``entering.py``.
``PERHAPS`` where the source is not known, a clause names what cannot be found without running code, or a ``with`` could
suppress it.
"""

import ast
import builtins
import sys
import types
from weakref import ref

from imago.looking.codes import name_of
from imago.looking.fields import ABSENT, class_lookup, is_class, mro, stored
from imago.looking.frames import has_own_names
from imago.looking.parsing import parsed
from imago.looking.texts import written_for

_KEPT = 4096
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_INNER = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_TRIES = tuple(getattr(ast, name) for name in ('Try', 'TryStar') if hasattr(ast, name))
#: What Python makes of parts of expressions, in which no statement stands.
_EXPRESSIONS = frozenset(['<lambda>', '<listcomp>', '<setcomp>', '<dictcomp>', '<genexpr>'])

#: What Python 3.13 has in the place of a dict of variables.
_PROXY = (lambda: type(sys._getframe().f_locals))() if sys.version_info >= (3, 13) else None

NO, PERHAPS, YES = range(3)

#: What a region catches, where that is not a list of expressions: all that is raised there, or perhaps that.
_ANY, _PERHAPS = 'any', 'perhaps'
_regions = {}
_trees = {}


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
    elif type(frame.f_locals) is _PROXY and name_of(code) == '<module>':
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


def _regions_of(code, namespace):
    """The regions of a code object; ``None`` where its source is not known."""
    known = _regions.get(id(code))
    if known is None or known[0]() is not code:
        if len(_regions) >= _KEPT:
            _regions.clear()
        known = _regions[id(code)] = (ref(code), _read(code, namespace))
    return known[1]


def _read(code, namespace):
    if name_of(code) in _EXPRESSIONS:
        return []
    for text in written_for(code, namespace):
        tree = tree_of(text)
        node = None if tree is None else _node(tree, code, text.first)
        if node is not None:
            return [_moved(region, text.first - 1) for region in _walk(node.body)]
    return None


def tree_of(text):
    """A ``Written`` parsed, or ``None``. The last few texts stay parsed: code objects of one file come together."""
    whole = text.text
    if whole not in _trees:
        if len(_trees) >= 8:
            _trees.clear()
        _trees[whole] = parsed(whole)
    return _trees[whole]


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
