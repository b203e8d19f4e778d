"""Where the statement of a class stands: told by the functions in its body, by its line, or by its name."""

import ast
import sys
from time import monotonic
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)

from imago.looking.codes import name_of
from imago.looking.fields import (
    ABSENT,
    class_entries,
    class_entry,
    class_module,
    class_name,
    exactly,
    inherits,
    instance_dict,
    is_class,
    made_by_statement,
    plain,
    stored,
)
from imago.looking.locating import Nowhere, changed_on_disk, doubted, located
from imago.looking.parsing import docstring
from imago.looking.sameness import runs_as, unchanged_since_start
from imago.looking.statements import outline
from imago.looking.texts import is_generated, loader_name, typed_texts, written_for, written_in
from imago.looking.unwrapping import unwrapped

_qualname_of = type.__dict__["__qualname__"].__get__
_COMPILED = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
_OF_EVERY_CLASS = ("__dict__", "__weakref__")
_DEEPEST = 8
_SECONDS = 0.8
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def locate_class(cls):
    """The `Located` of a class statement, or `Nowhere`."""
    name, module = class_name(cls), class_module(cls)
    qualified = plain(_qualname_of(cls)) or name
    namespace = module_dict(module)
    functions = class_functions(cls)
    texts = _texts(functions, module, namespace)
    stale = None
    word, until = qualified.rpartition(".")[2], monotonic() + _SECONDS
    for written in texts:
        if monotonic() > until:
            break
        if word not in written.text:
            continue
        whole = outline(written.text)
        candidates = [one for one in whole.called(qualified) if isinstance(one.node, ast.ClassDef)]
        chosen, known = _right_one(candidates, cls, functions, written)
        if chosen is None:
            continue
        current = True if written.sure else _runs(chosen, functions, cls, whole)
        if current is None and unchanged_since_start(written.file):
            current = True
        here = located(written, chosen, current)
        if not known:
            here.notes.append(f"The text has {len(candidates)} classes of this name; shown is the last of them.")
        if current is not False:
            return changed_on_disk(here, texts) if functions else here
        stale = stale or here
    return _no_statement(name, texts, namespace, module) if stale is None else doubted(stale, namespace)


def is_from_text(cls):
    """Whether a class was made by Python code, rather than compiled into the interpreter or an extension."""
    if not made_by_statement(cls):
        return False
    for _, entry in class_entries(cls):
        if exactly(entry, _COMPILED) and entry.__objclass__ is cls:
            return False
        if type(entry) is GetSetDescriptorType and entry.__objclass__ is cls:
            if plain(entry.__name__) not in _OF_EVERY_CLASS:
                return False
        if type(entry) is BuiltinFunctionType and entry.__self__ is cls:
            return False
    return True


def class_functions(cls):
    """Name -> Python function, of those that stand in the statement of a class, decorators seen through."""
    prefix = (plain(_qualname_of(cls)) or class_name(cls)) + "."
    found = {}
    for name, entry in class_entries(cls):
        if type(name) is not str:
            continue
        function = unwrapped(entry)[0]
        if type(function) is not FunctionType or is_generated(function.__code__):
            continue
        if plain(function.__qualname__) == prefix + name_of(function.__code__):
            found[name] = function
    return found


def module_dict(name):
    """The dict of a loaded module, or None."""
    module = ABSENT if name is None else stored(sys.modules, name)
    return instance_dict(module) if inherits(module, ModuleType) else None


def _texts(functions, module, namespace):
    """The texts in which the statement of a class may stand, likeliest first."""
    if module == "__main__":
        typed = [function for function in functions.values() if written_for(function.__code__)]
        if not typed:
            return [*typed_texts(), *_module_texts(namespace)]
    texts = []
    for function in functions.values():
        for written in written_for(function.__code__, function.__globals__):
            if written.origin != "unknown" and all(written.text != other.text for other in texts):
                texts.append(written)
        if texts and written.sure:
            break
    return texts or _module_texts(namespace)


def _module_texts(namespace):
    file = module_file(namespace)
    return [] if file is None else written_in(file)


def module_file(namespace):
    """The source file that a module says it is from, or None."""
    file = plain(stored(namespace, "__file__")) if inherits(namespace, dict) else None
    return file if file is not None and not file.endswith((".pyc", ".so", ".pyd")) else None


def module_is_compiled(namespace):
    """Whether a module is built in, or loaded from a compiled extension."""
    file = plain(stored(namespace, "__file__"))
    if file is not None:
        return file.endswith((".so", ".pyd"))
    return plain(stored(namespace, "__name__")) in sys.builtin_module_names


def _right_one(candidates, cls, functions, written):
    """`(definition, known)`: which of several class statements of one name made the class; the last, if unknown."""
    moved = written.first - 1
    line = class_entry(cls, "__firstlineno__")
    if type(line) is int:
        for one in candidates:
            if one.first + moved == line:
                return one, True
        if written.sure:
            return None, False
    lines = [function.__code__.co_firstlineno - moved for function in functions.values()]
    for one in reversed(candidates):
        if lines and all(one.first <= number <= one.last for number in lines):
            return one, True
    if not candidates:
        return None, False
    ranked = [(_differences(one.node, cls), -at, one) for at, one in enumerate(candidates)]
    ranked.sort(key=lambda one: one[:2])
    return ranked[0][2], len(ranked) == 1 or ranked[0][0] < ranked[1][0]


def _differences(node, cls, depth=0):
    """How many statements in the body of a class did not leave in it what they say."""
    kept = {name: entry for name, entry in class_entries(cls) if type(name) is str}
    doc = plain(kept.get("__doc__"))
    count = int("".join((docstring(node) or "").split()) != "".join((doc or "").split()))
    for one in node.body:
        if isinstance(one, _FUNCTIONS):
            count += _private(one.name, node.name) not in kept
        elif isinstance(one, ast.ClassDef):
            inner = kept.get(one.name)
            count += _differences(one, inner, depth + 1) if is_class(inner) and depth < _DEEPEST else 1
        elif isinstance(one, ast.Assign) and type(one.targets[0]) is ast.Name:
            value = kept.get(_private(one.targets[0].id, node.name), ABSENT)
            count += value is ABSENT
            if type(one.value) is ast.Constant and type(one.value.value) in (int, str, bool) and value is not ABSENT:
                count += type(value) is not type(one.value.value) or value != one.value.value
    return count


def _runs(definition, functions, cls, whole):
    """Whether the functions of a class statement are those that the class has; None if there are none to compare."""
    written = {}
    for one in definition.chunk.definitions:
        if one.within and one.within[-1] is definition and isinstance(one.node, _FUNCTIONS):
            written.setdefault(one.name, []).append(one)
    kept = {name for name, _ in class_entries(cls) if type(name) is str}
    always = [node.name for node in definition.node.body if isinstance(node, _FUNCTIONS)]
    if not all(_private(name, definition.name) in kept for name in always):
        return False
    verdicts = []
    for function in functions.values():
        code = function.__code__
        ours = [runs_as(one, code, whole.prelude) for one in written.get(name_of(code), ())]
        if True not in ours and None not in ours:
            return False
        verdicts.append(True in ours)
    return True if verdicts and all(verdicts) else None


def _private(name, owner):
    if name.startswith("__") and not name.endswith("__"):
        return f"_{owner.lstrip('_')}{name}"
    return name


def _no_statement(name, texts, namespace, module):
    if inherits(namespace, dict) and module_is_compiled(namespace):
        return Nowhere(f"`{name}` was made by the module {module}, which is compiled.", "built_in")
    if texts:
        file = texts[0].file
        return Nowhere(f"{file} has no class statement for `{name}`.", texts[0].origin, file)
    if module == "__main__":
        return Nowhere(f"No text that defines `{name}` was kept.")
    loader = loader_name(namespace)
    if loader is not None:
        return Nowhere(f"{loader} loaded the module {module}; its text, if there is one, is its own code's to give.")
    return Nowhere(f"The source of the module {module} is not to be had.")
