"""The source of a name, and what its code refers to."""

import builtins
from functools import partial
from types import FunctionType, ModuleType

from imago.looking.assignments import place_of
from imago.looking.definition_places import (
    Located,
    class_functions,
    locate_code,
    locate_function,
    module_file,
    module_functions,
)
from imago.looking.fields import (
    ABSENT,
    Lookups,
    class_label,
    class_module,
    clean,
    inherits,
    instance_dict,
    is_class,
    plain,
    read_member,
)
from imago.looking.limits import KEPT_MAX_CHARS, SIGNATURE_MAX_CHARS
from imago.looking.loaded import home_of, module_dict
from imago.looking.name_lookup import kind_of_name, named
from imago.looking.outcomes import found, look
from imago.looking.running import running
from imago.looking.source import inner_codes, instructions, name_of, written_in
from imago.looking.statements import decorator_text, outline
from imago.looking.rendering import module_name, static_text
from imago.looking.unwrapping import code_label, partial_parts, unwrapped, wrapping_functions

# Which modules the names belong to that a definition uses, as its code objects and its module tell.

_MOST_NAMES = 500
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


def contexts_of(value):
    """Module -> sorted names of it that a function, or the functions of a class, use; `{}` where none is known."""
    functions = [value] if type(value) is FunctionType else []
    if is_class(value):
        functions = list(class_functions(value).values())
    found, lookups = {}, Lookups()
    for function in functions:
        namespace = function.__globals__
        if inherits(namespace, dict):
            for module, name in _used(function.__code__, namespace, lookups):
                found.setdefault(module, set()).add(name)
    return {clean(module): sorted(clean(name) for name in names) for module, names in sorted(found.items())}


def _used(code, namespace, lookups):
    """`(module, name)` of the globals that a code object loads; of a module, the attribute that is taken from it."""
    left = _MOST_NAMES
    for one in inner_codes(code):
        parts = [part for part in instructions(one) if part.opname != "CACHE"]
        for at, part in enumerate(parts):
            if part.opname not in _GLOBALS or type(part.argval) is not str:
                continue
            left -= 1
            if left < 0:
                return
            name = part.argval
            value = lookups.stored(namespace, name)
            if value is ABSENT:
                if lookups.stored(builtins.__dict__, name) is not ABSENT:
                    yield "builtins", name
            elif inherits(value, ModuleType):
                after = parts[at + 1] if at + 1 < len(parts) else None
                taken = after is not None and after.opname in _ATTRIBUTES and type(after.argval) is str
                yield module_name(value), after.argval if taken else name
            else:
                yield home_of(value) or plain(lookups.stored(namespace, "__name__")) or "?", name


# The look `definition`: the source of one name, where it stands, and what is known of the code that runs.

_LONGEST = 1_000_000
_MOST_WRAPPING = 4


@look
def definition(image, query):
    """A `Looked<Definition>`. Runs no user code, and imports nothing."""
    name = named(image.namespace, query["name"], image.handles)
    inside, wrappers = unwrapped(name.value)
    place, qualified = place_of(image.namespace, name, inside)
    answer = {
        "name": clean(name.asked),
        "qualified": clean(qualified),
        "kind": kind_of_name(name.value, name.name, name.held == "class"),
        "language": "python",
        "source": None,
        "because": None,
        "file": place.file,
        "line": place.first,
        "end_line": None,
        "origin": place.origin,
        "current": place.current,
        "wrappers": wrappers,
        "notes": _notes(name, inside, place),
    }
    limit = max(1, min(query.get("max_length", 10_000), _LONGEST))
    if isinstance(place, Located):
        answer.update(source=_cut(place.text.rstrip("\n"), limit, image.handles), end_line=place.last)
    else:
        answer["because"] = clean(place.because)
    runs = _running(inside, place)
    if runs is not None:
        answer["running"] = runs
    around = [_wrapping(one, limit, image.handles) for one in wrapping_functions(name.value)[:_MOST_WRAPPING]]
    if around:
        answer["parts"] = around
    if query.get("contexts"):
        answer["contexts"] = contexts_of(inside)
    return found(answer)


def _running(inside, place):
    """The contract's `Running` of what has code of its own; None where there is none, or no file to compare it with."""
    if place.origin == "built_in" or (place.current is True and not _is_in_file(place)):
        return None
    if type(inside) is FunctionType:
        return running("function", [inside], inside.__globals__, place.file)
    if not isinstance(place, Located):
        return None
    if is_class(inside):
        return running("class", list(class_functions(inside).values()), module_dict(class_module(inside)), place.file)
    if inherits(inside, ModuleType):
        return running("module", module_functions(inside, place.written), instance_dict(inside), place.file)
    return None


def _is_in_file(place):
    """Whether a text that was evaluated is one of a file, which may have another by now."""
    return place.origin == "file" and place.file is not None and not place.file.startswith("<")


def _wrapping(function, limit, handles):
    """The contract's `DefinitionPart` of a function that stands around another one."""
    place = locate_code(function.__code__, function.__globals__)
    part = {
        "name": code_label(function.__code__, function.__globals__),
        "kind": "function",
        "wraps": True,
        "source": None,
        "because": None,
        "file": place.file,
        "line": place.first,
    }
    if isinstance(place, Located):
        part["source"] = _cut(place.text.rstrip("\n"), limit, handles)
    else:
        part["because"] = clean(place.because)
    runs = _running(function, place)
    return part if runs is None else {**part, "running": runs}


def _cut(text, limit, handles):
    """The contract's `Text` of a source, with a handle for what was cut."""
    whole = clean(text)
    answer = {"text": whole[:limit], "truncated": len(whole) > limit, "original_len": len(whole)}
    if answer["truncated"]:
        answer["handle"] = handles.keep_text(whole[:KEPT_MAX_CHARS])
    return answer


def _notes(name, inside, place):
    notes = list(getattr(place, "notes", ()))
    if type(name.value) is property:
        notes += _accessors(name.value)
    notes += _partial(name.value)
    if type(inside) is FunctionType and isinstance(place, Located):
        notes += _overloads(place)
        notes += _replaced(name, inside)
    if name.held in ("top", "module", "instance", "class") and _is_plain(name, inside):
        notes.append(f"It holds an instance of {class_label(type(name.value))}.")
    return [clean(note) for note in notes]


def _is_plain(name, inside):
    return kind_of_name(name.value, name.name, name.held == "class") in ("variable", "constant")


def _accessors(value):
    """Where the setter and the deleter of a property stand."""
    for word, slot in (("setter", "fset"), ("deleter", "fdel")):
        function = read_member(property.__dict__[slot], value)
        function = unwrapped(function)[0]
        if type(function) is FunctionType:
            place = locate_function(function)
            where = "" if place.file is None else f", on line {place.first} of {place.file}"
            yield f"It has a {word}{where}."


def _partial(value):
    if type(value) is not partial:
        return
    _, arguments, keywords = partial_parts(value)
    given = [static_text(one, 60) for one in arguments]
    given += [f"{key}={static_text(one, 60)}" for key, one in dict.items(keywords) if type(key) is str]
    yield f"The partial application gives it ({', '.join(given)})"[:SIGNATURE_MAX_CHARS] + "."


def _overloads(place):
    """The declarations of the same function for a type checker that stand before it."""
    if place.definition is None:
        return
    same = outline(place.written.text).called(place.definition.qualified)
    lines = [one.first + place.written.first - 1 for one in same if _is_overload(one.statement)]
    if lines:
        yield f"It is overloaded: the declarations stand on line{'s' if len(lines) > 1 else ''} {_listed(lines)}."


def _is_overload(statement):
    return any(decorator_text(one).rpartition(".")[2] == "overload" for one in statement.decorators)


def _replaced(name, function):
    """A definition of the very name in the module that holds it, if a decorator has put something else there."""
    if name.held != "module" or name_of(function.__code__) in (name.name, "<lambda>"):
        return
    namespace = instance_dict(name.holder)
    file = module_file(namespace)
    for written in [] if file is None else written_in(file)[:1]:
        for one in outline(written.text).called(name.name)[-1:]:
            decorators = [decorator_text(each)[:100] for each in one.statement.decorators]
            if decorators:
                yield (
                    f"Line {one.first} of {written.file} defines `{name.name}` under {', '.join(decorators)}; "
                    "the name stands for what came of that."
                )


def _listed(lines):
    return ", ".join(str(line) for line in lines[:8]) + (" …" if len(lines) > 8 else "")
