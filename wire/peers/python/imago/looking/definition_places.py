"""Where functions, classes and modules are defined.

Told from texts alone, without compiling any: whether a text is what runs is for the daemon to prove (`running.py`).
"""

import sys
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType

from imago.native import monotonic
from imago.sources import is_evaluated
from imago.looking.fields import (
    ABSENT,
    METHOD_DESCRIPTORS,
    class_entries,
    class_entry,
    class_module,
    class_name,
    class_path,
    clean,
    cut,
    entries,
    exactly,
    inherits,
    instance_dict,
    is_class,
    made_by_statement,
    plain,
    stored,
    type_name,
)
from imago.looking.loaded import module_dict, source_file
from imago.looking.source import (
    FILE_MAX_CHARS,
    block,
    is_generated,
    loader_name,
    name_of,
    qualified_of,
    shown_file,
    typed_texts,
    written_for,
    written_in,
)
from imago.looking.statements import OUTLINED_MAX_CHARS, documentation, literal, outline, targets
from imago.looking.rendering import module_name
from imago.looking.syntax import NAME, OPERATOR
from imago.looking.unwrapping import unwrapped

# Where the definition of a function stands, and whether its text is what runs.

_LAMBDA = "<lambda>"
_BLOCK_MAX_LINES = 2000
_BLOCK_MAX_CHARS = 200_000
_SENTENCE_MAX_CHARS = 1000


class Located:
    """Lines `first` to `last` of a text. `current` and `origin` are as the contract has them.

    `definition` is the one of the text's outline, for functions and classes that were found there.
    """

    __slots__ = ("current", "definition", "first", "last", "notes", "written")

    def __init__(self, written, first, last, current, definition=None):
        self.written = written
        self.definition = definition
        self.first = first
        self.last = last
        self.current = current
        self.notes = []

    @property
    def origin(self):
        return self.written.origin

    @property
    def file(self):
        return self.written.file

    @property
    def text(self):
        return self.written.between(self.first, self.last)


class Nowhere:
    """There is no text to be had; `because` says why, in a sentence."""

    __slots__ = ("because", "current", "file", "first", "origin")

    def __init__(self, because, origin="unknown", file=None, first=None, current=None):
        self.because = cut(because, _SENTENCE_MAX_CHARS)
        self.origin = origin
        self.file = None if file is None else cut(file, FILE_MAX_CHARS)
        self.first = first
        self.current = current


def locate_function(function):
    """The `Located` of a Python function, or `Nowhere`."""
    qualified = plain(function.__qualname__)
    return locate_code(function.__code__, function.__globals__, qualified)


def locate_code(code, namespace, qualified=None):
    """The same of a code object; `namespace` is that of its module, `qualified` what it is called where that helps."""
    texts = written_for(code, namespace)
    if not texts:
        return _no_text(code, namespace)
    for written in texts:
        found = _definition(written, code, qualified)
        if found is not None:
            return located(written, found, is_evaluated(code) or None)
    return _block(texts[0], code, namespace)


def _definition(written, code, qualified):
    """The definition of the code in one text, where it is there: by its name, and by its line."""
    whole = outline(written.text)
    moved = written.first - 1
    name = name_of(code)
    here = whole.at(code.co_firstlineno - moved, name)
    if written.sure and len(here) == 1:
        return here[0]
    known = qualified_of(code) or qualified
    same = [one for one in here if one.qualified == known] or here
    if known is not None and name != _LAMBDA and not written.sure:
        # It may have moved, and something of its name may stand in its place.
        near = sorted(whole.called(known), key=lambda one: abs(one.first + moved - code.co_firstlineno))
        same = near + same
    return same[0] if same else None


def located(written, definition, current):
    """A `Definition` of a text, as `Located`: a lambda with the statement around it, a block with its last comments."""
    moved = written.first - 1
    first, last = definition.first, definition.last
    if definition.name == _LAMBDA:
        first, last = _statement_around(definition)
    elif definition.statement.is_block and definition.statement.body:
        last += _comments_after(written.lines[last:], definition.statement.body[0].column)
    return Located(written, first + moved, last + moved, current, definition)


def _statement_around(definition):
    """The lines of the innermost simple statement that a lambda is a part of, or else its own."""
    statement = definition.statement
    if statement.body or statement.is_block or statement.word == "@":
        return definition.first, definition.last
    return statement.first, statement.last


def _comments_after(lines, margin):
    """How many lines belong to a block that ended just before, being comments that stand as far in as it does."""
    count = 0
    for at, line in enumerate(lines, 1):
        bare = line.lstrip()
        if bare and not (bare.startswith("#") and len(line[: -len(bare)].expandtabs()) >= margin):
            break
        count = at if bare else count
    return count


def _block(written, code, namespace):
    """What stands on the line of the code, in a text that is too long to be cut into statements."""
    first = code.co_firstlineno
    if not written.sure and len(written.text) <= OUTLINED_MAX_CHARS:
        return _gone(written, code)
    lines = written.lines[first - written.first :][:_BLOCK_MAX_LINES]
    text = block(["".join(lines)[:_BLOCK_MAX_CHARS]]) if lines else ""
    if not text.strip():
        return _gone(written, code)
    here = Located(written, first, first + text.rstrip("\n").count("\n"), is_evaluated(code) or None)
    if not written.sure:
        here.notes.append("The text around it is too long to be read through: told by its line alone.")
    return here


def _gone(written, code):
    name = clean(name_of(code))
    because = f"{written.file} does not define `{name}` any more; it stood on line {code.co_firstlineno} of it."
    return Nowhere(because, written.origin, written.file, None, False)


def _no_text(code, namespace):
    file = plain(code.co_filename)
    shown = None if file is None else shown_file(code)
    line = code.co_firstlineno if code.co_firstlineno > 0 else None
    if file is None or file.startswith("<"):
        because = f"It was compiled from a text named {shown}, and nobody has kept that text."
        return Nowhere(because, "unknown", shown, line)
    loader = loader_name(namespace)
    if loader is not None:
        because = f"{shown} cannot be read as a file; {loader}, which loaded it, might have its text, but is code."
        return Nowhere(because, "unknown", shown, line)
    return Nowhere(f"{shown} cannot be read: the source is not there, or not any more.", "unknown", shown, line)


# Where the statement of a class stands: told by the functions in its body, by its line, or by its name.

_OF_EVERY_CLASS = ("__dict__", "__weakref__")
_DEEPEST = 8
_SECONDS = 0.8


def locate_class(cls):
    """The `Located` of a class statement, or `Nowhere`."""
    name, module = class_name(cls), class_module(cls)
    qualified = class_path(cls)
    namespace = module_dict(module)
    functions = class_functions(cls)
    texts = _texts(functions, module, namespace)
    word, until = qualified.rpartition(".")[2], monotonic() + _SECONDS
    for written in texts:
        if monotonic() > until:
            break
        if word not in written.text:
            continue
        candidates = [one for one in outline(written.text).called(qualified) if one.is_class]
        chosen, known = _right_one(candidates, cls, functions, written)
        if chosen is None:
            continue
        here = located(written, chosen, True if written.ours else None)
        if not known:
            here.notes.append(f"The text has {len(candidates)} classes of this name; shown is the last of them.")
        return here
    return _no_statement(name, texts, namespace, module)


def is_from_text(cls):
    """Whether a class was made by Python code, rather than compiled into the interpreter or an extension."""
    if not made_by_statement(cls):
        return False
    for _, entry in class_entries(cls):
        if exactly(entry, METHOD_DESCRIPTORS) and entry.__objclass__ is cls:
            return False
        if type(entry) is GetSetDescriptorType and entry.__objclass__ is cls:
            if plain(entry.__name__) not in _OF_EVERY_CLASS:
                return False
        if type(entry) is BuiltinFunctionType and entry.__self__ is cls:
            return False
    return True


def class_functions(cls):
    """Name -> Python function, of those that stand in the statement of a class, decorators seen through."""
    prefix = class_path(cls) + "."
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
    file = source_file(namespace) if inherits(namespace, dict) else None
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
    ranked = [(_differences(one.statement, cls), -at, one) for at, one in enumerate(candidates)]
    ranked.sort(key=lambda one: one[:2])
    return ranked[0][2], len(ranked) == 1 or ranked[0][0] < ranked[1][0]


def _differences(statement, cls, depth=0):
    """How many statements in the body of a class did not leave in it what they say."""
    kept = {name: entry for name, entry in class_entries(cls) if type(name) is str}
    doc, said = plain(kept.get("__doc__")), documentation(statement)
    count = int(said is not None and "".join(said.split()) != "".join((doc or "").split()))
    for one in statement.body:
        if one.word == "def":
            count += _private(one.name, statement.name) not in kept
        elif one.word == "class":
            inner = kept.get(one.name)
            count += _differences(one, inner, depth + 1) if is_class(inner) and depth < _DEEPEST else 1
        else:
            assigned, is_declared = targets(one)
            if is_declared or not assigned or len(assigned[0]) != 1 or assigned[0][0][0] != NAME:
                continue
            value = kept.get(_private(assigned[0][0][1], statement.name), ABSENT)
            count += value is ABSENT
            written = literal(one.words[len(assigned[0]) + 1 :]) if one.words[1] == (OPERATOR, "=") else None
            if written is not None and value is not ABSENT:
                count += type(value) is not type(written) or value != written
    return count


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


# Where a module stands: its whole file.

_COMPARED_IN_MODULE = 40


def locate_module(module):
    """The `Located` of a module's whole text, or `Nowhere`."""
    namespace = instance_dict(module)
    if namespace is None:
        return Nowhere("The module hides what it holds.")
    file = module_file(namespace)
    texts = [] if file is None else written_in(file)
    if not texts:
        return _no_module_text(namespace, module_name(module))
    written = texts[0]
    return Located(written, 1, max(1, len(written.lines)), True if written.ours else None)


def module_functions(module, written):
    """The functions that a module has from its own text, as many as are compared."""
    namespace = instance_dict(module)
    functions = [
        value
        for _, value in entries(namespace)
        if type(value) is FunctionType and value.__globals__ is namespace and _is_from(value, written.file)
    ]
    return functions[:_COMPARED_IN_MODULE]


def _is_from(function, file):
    name = plain(function.__code__.co_filename)
    return name is not None and clean(name) == file


def _no_module_text(namespace, name):
    file = source_file(namespace)
    if name == "__main__" and file is None:
        return Nowhere("`__main__` has no file: what it holds was typed or evaluated, one piece at a time.", "typed")
    if file is not None and file.endswith((".so", ".pyd")):
        return Nowhere(f"`{name}` is compiled, without Python source.", "built_in", clean(file))
    if file is not None:
        because = f"{clean(file)} cannot be read, or is compiled Python without its source."
        return Nowhere(because, "unknown", clean(file))
    if type_name(stored(namespace, "__path__")) == "_NamespacePath":
        return Nowhere(f"`{name}` is a namespace package: folders that share a name, without code of their own.")
    loader = loader_name(namespace)
    if loader is not None:
        return Nowhere(f"{loader} loaded `{name}`; its text, if there is one, is that code's to give.")
    spec = stored(namespace, "__spec__")
    if spec is ABSENT or spec is None:
        return Nowhere(f"`{name}` was made by code, not loaded from a file.")
    return Nowhere(f"`{name}` is built into the interpreter.", "built_in")
