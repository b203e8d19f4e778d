"""Loading and reloading files: some definitions or all, what changes by that, and what keeps the old ones."""

import ast
import dis
import errno
import gc
import importlib
import importlib.machinery
import importlib.util
import io
import linecache
import os
import stat
import sys
import types
import weakref

from imago.looking.fields import (
    ABSENT,
    class_entries,
    entries,
    inherits,
    instance_dict,
    is_class,
    is_dunder,
    made_by_statement,
    plain,
    stored,
)
from imago.looking.frames import entries_of
from imago.looking.holders import Search, namespaces
from imago.looking.loaded import is_imago, is_library, modules, nearest_modules, programs_first, source_file
from imago.looking.outcomes import nearest
from imago.looking.source import file_marks, loaded_files


# The top-level statements of a file: which of them define given names, and which are the guard of a main program.


def chosen(body, names, file):
    """The statements that bind ``names``, in order. Raises ``NameError`` where the file has no such definition."""
    bound = [(statement, set(_bound(statement))) for statement in body]
    for name in names:
        if not any(name in here for _, here in bound):
            raise NameError(_missing(name, body, bound, file))
    return [statement for statement, here in bound if not here.isdisjoint(names)]


def future_names(body):
    """The features that the ``from __future__`` statements of a file turn on."""
    return [
        alias.name
        for statement in body
        if isinstance(statement, ast.ImportFrom) and statement.module == '__future__' and not statement.level
        for alias in statement.names
    ]


def without_guards(body):
    """``(statements, skipped)``: all but ``if __name__ == '__main__':``, and a sentence for each of those."""
    guards = [statement for statement in body if _is_guard(statement)]
    skipped = ["%s, the `if __name__ == '__main__'` of the running program." % _lines(one) for one in guards]
    return [statement for statement in body if not _is_guard(statement)], skipped


def _bound(statement):
    """The names that one statement binds where it stands."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition('.')[0]
    elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or type(statement).__name__ == 'TypeAlias':
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _missing(name, body, bound, file):
    for statement in body:
        inner = [node for node in ast.walk(statement) if node is not statement and isinstance(node, ast.stmt)]
        if any(name in _bound(node) for node in inner) and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            where = '%s, inside another statement' % _lines(statement)
            return '%s defines %r only in %s: load the whole file' % (file, name, where[0].lower() + where[1:])
    near = nearest(name, [one for _, here in bound for one in here])
    hint = '; it has %s' % ', '.join(near) if near else ''
    return '%s defines no %r at its top level%s' % (file, name, hint)


def _is_guard(statement):
    if not isinstance(statement, ast.If) or not isinstance(statement.test, ast.Compare):
        return False
    test = statement.test
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [test.left, test.comparators[0]]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    texts = [side.value for side in sides if isinstance(side, ast.Constant)]
    return names == ['__name__'] and texts == ['__main__']


def _lines(statement):
    if statement.end_lineno == statement.lineno:
        return 'Line %d' % statement.lineno
    return 'Lines %d to %d' % (statement.lineno, statement.end_lineno)


# Old objects that are still in use after their names have come to stand for new ones, and who holds them.

#: Objects that are told of, and holders of each; seconds that the search may take.
SURVIVORS = 20
#: Modules with an import of something old that are told of.
IMPORTS = 20
HELD_BY = 6
SECONDS = 1.0
#: Objects of earlier loads that are remembered of one module, and modules of which they are.
REMEMBERED = 500
MODULES = 100

# Module -> its Generations, the one that was loaded last at the end.
_generations = {}


class Generations:
    """What the loads of one module have replaced, each by a weak reference alone."""

    def __init__(self):
        self._loads = 0
        self._old = []

    @classmethod
    def of(cls, module):
        """Those of a module by its name; None is the top level."""
        known = _generations[module] = _generations.pop(module, None) or cls()
        for oldest in list(_generations)[: max(0, len(_generations) - MODULES)]:
            del _generations[oldest]
        return known

    def with_earlier(self, gone, namespace):
        """Adds to what a load has replaced what earlier ones have: ``(name, kind, reference, loads ago)``.

        What has been put back since, and stands in the namespace under its name, is not old.
        """
        new = {id(reference()) for _, _, reference in gone}
        old = [(name, kind, reference, 0) for name, kind, reference in gone]
        for name, kind, reference, load in self._old:
            value = reference()
            if value is not None and id(value) not in new and stored(namespace, name) is not value:
                old.append((name, kind, reference, self._loads - load))
        self._remember(gone)
        return old

    def _remember(self, gone):
        alive = [one for one in self._old if one[2]() is not None]
        new = [(*one, self._loads) for one in gone if type(one[2]) is weakref.ref]
        self._old = [*alive, *new][-REMEMBERED:]
        self._loads += 1


def find_survivors(old, top_level):
    """``(survivors, left_out, complete)`` of what ``Generations.with_earlier`` returns.

    ``reference()`` is the object, or None where it is gone.

    What only waits to be collected is collected first: a class always holds itself. Where the program has turned the
    collector off, it stays off, and only what has a known holder is told of.
    """
    if not old:
        return [], 0, True
    collected = gc.isenabled()
    if collected:
        gc.collect()
    alive = [(name, kind, reference(), ago) for name, kind, reference, ago in old]
    alive = [one for one in alive if one[2] is not None]
    if not alive:
        return [], 0, True
    targets = [value for _, _, value, _ in alive]
    search = Search(targets, namespaces(top_level), SECONDS, ignored=[alive, *alive]).run()
    rows = []
    for at, (name, kind, _, ago) in enumerate(alive):
        holders, instances = search.holders[at], search.instances[at]
        if holders or instances or (collected and kind != 'object'):
            row = _row(name, kind, instances if kind == 'class' else None, holders)
            rows.append({**row, 'loads_ago': ago} if ago else row)
    # Of each load, those of which most is known first: classes with instances, then what is held.
    rows.sort(key=lambda row: (row.get('loads_ago', 0), -(row['instances'] or 0), -len(row['held_by'])))
    return rows[:SURVIVORS], max(0, len(rows) - SURVIVORS), search.complete


def old_imports(old, module, namespace):
    """``OldImport`` of each module that has one of the old functions or classes under a name, by an import."""
    if module is None:
        return []
    was = {}
    for name, kind, reference, _ in old:
        value = reference() if kind in ('function', 'class') else None
        if value is not None and stored(namespace, name) is not ABSENT:
            was[id(value)] = (name, value)
    found = []
    for other, _, own in programs_first(modules()):
        if own is namespace or is_imago(other):
            continue
        for name, value in entries(own):
            known = was.get(id(value))
            if known is not None and type(name) is str:
                found.append(_old_import(other, name, known[0], module))
    return found


def _old_import(module, name, old, source):
    rebind = 'import %s, %s; %s.%s = %s.%s' % (module, source, module, name, source, old)
    return {'module': module, 'name': name, 'old': old, 'rebind': rebind}


def _row(name, kind, instances, holders):
    told = [held_by(holder) for holder in holders[:HELD_BY]]
    if len(holders) > HELD_BY:
        told.append('%d more' % (len(holders) - HELD_BY))
    return {'name': name, 'kind': kind, 'instances': instances, 'held_by': told}


def held_by(holder):
    """``shop.web.handlers (a dict)``"""
    return holder.name if holder.container is None else '%s (%s)' % (holder.name, holder.container)


# What running a file or a module has changed in a namespace: names added, replaced and left over.

#: Names of one list that are told; the others are counted.
NAMES = 200

_STORES = ('STORE_NAME', 'STORE_GLOBAL')
_STAR = 2  # The number of the intrinsic function that imports all names, since 3.12.
_HOLDERS = (dict, list, set)


class Before:
    """A namespace as it was. ``changed`` lets go of the old values, except of those that have to be asked after."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.entries = dict(entries(namespace))

    def changed(self):
        """``(added, replaced)``: names, sorted as they stand in the namespace."""
        added, replaced = [], []
        for name, value in entries(self.namespace):
            if type(name) is not str or is_dunder(name):
                continue
            if name not in self.entries:
                added.append(name)
            elif self.entries[name] is not value:
                replaced.append(name)
        return added, replaced

    def put_back(self):
        """Makes the namespace what it was. No name that was there before is missing at any moment."""
        self.namespace.update(self.entries)
        for name in [name for name in self.namespace if name not in self.entries]:
            del self.namespace[name]

    def old(self, names):
        """What the names stood for, as ``(name, kind, reference)``: weak where that can be had, else a function."""
        found = []
        for name in names:
            value = self.entries[name]
            kind = _kind(value)
            if kind is not None:
                found.append((name, kind, _weakly(value)))
        return found


def loaded(before, top_level, report, old=()):
    """The ``Loaded`` of the contract.

    ``report`` has its ``module``, ``file``, ``kept`` and ``skipped``; ``old`` what else was replaced, as
    ``Before.old`` has it.
    """
    added, replaced = before.changed()
    gone = [*before.old(replaced), *old]
    # From here on nothing of ours holds what was replaced.
    before.entries = None
    old = Generations.of(report['module']).with_earlier(gone, before.namespace)
    imports = old_imports(old, report['module'], before.namespace)
    survivors, left_out, complete = find_survivors(old, top_level)
    lists = {'added': added, 'replaced': replaced, 'kept': report['kept'], 'skipped': report['skipped']}
    return {
        'module': report['module'],
        'file': report['file'],
        **{name: names[:NAMES] for name, names in lists.items()},
        'survivors': survivors,
        **({'imports': imports[:IMPORTS]} if imports else {}),
        'omitted': max(0, len(imports) - IMPORTS) + sum(max(0, len(names) - NAMES) for names in lists.values()) + left_out,
        'complete': complete,
    }


def left_over(before, code, file, whole):
    """Names that were there before and that the new code does not bind.

    With ``whole`` these are all names of a module, its submodules left out; else those that came from the file.
    """
    bound, star = bound_by(code)
    own = plain(stored(before, '__name__')) or ''
    kept = []
    for name, value in before.items():
        if type(name) is not str or is_dunder(name) or name in bound:
            continue
        from_file = _is_from(value, file)
        if from_file or (whole and not star and not _is_submodule(value, own)):
            kept.append(name)
    return kept


def bound_by(code):
    """``(names, star)``: the global names that the code of a module binds, and whether it imports all of another."""
    names, star = set(), False
    waiting = [(code, _STORES)]
    while waiting:
        code, stores = waiting.pop()
        for one in dis.get_instructions(code):
            if one.opname in stores:
                names.add(one.argval)
            elif one.opname == 'IMPORT_STAR' or (one.opname == 'CALL_INTRINSIC_1' and one.arg == _STAR):
                star = True
        waiting.extend((one, ('STORE_GLOBAL',)) for one in code.co_consts if type(one) is types.CodeType)
    return names, star


def _kind(value):
    if is_class(value):
        return 'class'
    if inherits(value, types.ModuleType):
        return None
    if callable(value) and not isinstance(value, types.BuiltinFunctionType):
        return 'function'
    return 'object' if made_by_statement(type(value)) or any(type(value) is one for one in _HOLDERS) else None


def _weakly(value):
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _is_from(value, file):
    """Whether a function, or one of the functions of a class, was compiled from a file."""
    if type(value) is types.FunctionType:
        return value.__code__.co_filename == file
    if not is_class(value):
        return False
    functions = [item for _, item in class_entries(value) if type(item) is types.FunctionType]
    return any(function.__code__.co_filename == file for function in functions)


def _is_submodule(value, package):
    if not inherits(value, types.ModuleType):
        return False
    own = instance_dict(value)
    name = None if own is None else plain(stored(own, '__name__'))
    return name is not None and name.startswith(package + '.')


# Running a file, some of its definitions, or a loaded module again in the living image.
#
# Both functions run where evaluations run, exposed to interrupts, and return the ``Loaded`` of the contract, or raise
# what the loaded code raised, with a note on what became of the names.

#: Bytes of the largest file that is loaded.
LARGEST = 64 * 1024 * 1024
_TOLD = 8
_NOT_AGAIN = (
    importlib.machinery.ExtensionFileLoader,
    importlib.machinery.BuiltinImporter,
    importlib.machinery.FrozenImporter,
)


def load(evaluator, file, names=None):
    """Runs a file, or only its top-level definitions of ``names``, in the module that it is the source of."""
    marks = file_marks(file)
    data = _read(file)
    modules = _modules_of(file)
    name, module = modules[0] if modules else (None, None)
    namespace = evaluator.namespace if module is None else instance_dict(module)
    path = _path(module, file)
    linecache.checkcache(path)
    tree = _parsed(evaluator.compiler, data, path)
    futures = future_names(tree.body)
    skipped = [_left_as_it_is(other) for other, _ in modules[1:]]
    if names is not None:
        tree.body = chosen(tree.body, names, path)
    elif name == '__main__':
        tree.body, guards = without_guards(tree.body)
        skipped += guards
    code = evaluator.compiler.of_file(tree, importlib.util.decode_source(data), path, futures)
    before = Before(namespace)
    whole_module = name not in (None, '__main__')
    kept = [] if names is not None else left_over(before.entries, code, path, whole_module)
    try:
        _run(code, namespace, path if module is None else None)
    except BaseException as error:
        _note(error, _how_far(before, error, path))
        raise
    if names is None and len(modules) == 1:
        loaded_files[path] = marks
    report = {'module': None if namespace is evaluator.namespace else name, 'file': path}
    return loaded(before, evaluator.namespace, {**report, 'kept': kept, 'skipped': skipped})


def reload(evaluator, name):
    """Runs the source of a loaded module again, in place. A module that fails at it is put back as it was."""
    module = _loaded_module(name)
    namespace = instance_dict(module)
    file = plain(stored(namespace, '__file__'))
    kept = _kept_by_reload(namespace, file)
    _forget_old_bytecode(file)
    before = Before(namespace)
    marks = file_marks(file)
    try:
        now = importlib.reload(module)
    except BaseException as error:
        before.put_back()
        sys.modules[name] = module
        _note(error, _put_back(name, file))
        raise error.with_traceback(_past_the_import(error.__traceback__))
    if file is not None:
        linecache.checkcache(file)
        loaded_files[file] = marks
    replaced = [] if now is module else [(name, 'object', lambda: module)]
    report = {'module': name, 'file': file, 'kept': kept, 'skipped': []}
    return loaded(before, evaluator.namespace, report, replaced)


def _read(file):
    facts = os.stat(file)
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(errno.EISDIR, 'a directory is not a file that could be loaded', file)
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, 'not a regular file', file)
    if facts.st_size > LARGEST:
        raise OSError(errno.EFBIG, 'larger than the %d MiB that are loaded at most' % (LARGEST >> 20), file)
    with io.open_code(os.path.abspath(file)) as stream:
        return stream.read()


def _parsed(compiler, data, path):
    try:
        if b'\0' in data:
            # Python has another error for this in each version, of another type in some.
            raise SyntaxError('%s holds null bytes; it is no Python source' % path)
        return compiler.parse_file(data, path)
    except SyntaxError as error:
        _note(error, 'Nothing of the file was run.')
        raise


def _modules_of(file):
    """The same, of a file that may be loaded again."""
    found = modules_of(file)
    if any(is_imago(name) for name, _ in found):
        raise ImportError('%s is a part of Imago itself, which runs this: it is not loaded again' % file)
    return found


def modules_of(file):
    """``(name, module)`` of the loaded modules that have this source, the running program first. Runs no code of theirs."""
    names = {os.path.basename(one).casefold() for one in (file, os.path.realpath(file))}
    found = []
    for name, module in entries(sys.modules):
        own = instance_dict(module) if type(name) is str and inherits(module, types.ModuleType) else None
        source = None if own is None else source_file(own)
        if source is None:
            continue
        # A link may have any name. Installed libraries are many, and are known by theirs.
        other = os.path.basename(source).casefold() not in names and is_library(name, own)
        if other or not _is_same(source, file):
            continue
        if all(module is not other for _, other in found):
            found.append((name, module))
    found.sort(key=lambda one: one[0] != '__main__')
    return found


def _is_same(one, other):
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _path(module, file):
    """The file as the module's own code names it, so that breakpoints and tracebacks agree."""
    known = None if module is None else source_file(instance_dict(module))
    return known if known is not None and os.path.isabs(known) else os.path.abspath(file)


def _run(code, namespace, file):
    """Runs the code of a file; where that belongs to no module, ``__file__`` is its path meanwhile."""
    if file is None:
        exec(code, namespace)
        return
    missing = object()
    outer = namespace.get('__file__', missing)
    namespace['__file__'] = file
    try:
        exec(code, namespace)
    finally:
        if namespace.get('__file__') is file:
            if outer is missing:
                del namespace['__file__']
            else:
                namespace['__file__'] = outer


def _left_as_it_is(name):
    return 'The same file is also loaded as the module %s, which was left as it is; reload does that one.' % name


def _how_far(before, error, file):
    """How much of a file had run before it raised, by the line where its own code stood."""
    line = None
    for one in entries_of(error.__traceback__):
        code = one.tb_frame.f_code
        if code.co_filename == file and code.co_name == '<module>':
            line = one.tb_lineno
    added, replaced = before.changed()
    done = [_listed('added', added), _listed('replaced', replaced)]
    names = '; '.join(part for part in done if part) or 'no name was set'
    where = '' if line is None else ' at line %d' % line
    return 'The file was left%s. What ran before that stays done: %s.' % (where, names)


def _listed(word, names):
    if not names:
        return ''
    more = ' and %d more' % (len(names) - _TOLD) if len(names) > _TOLD else ''
    return '%s %s%s' % (word, ', '.join(names[:_TOLD]), more)


def _note(error, text):
    """Adds a note to what was raised, as ``add_note`` does since 3.11."""
    try:
        notes = getattr(error, '__notes__', None)
        error.__notes__ = [*(notes if type(notes) is list else ()), text]
    except Exception:
        # An exception that takes no attributes is reported without it.
        pass


def _loaded_module(name):
    """The module to run again. Raises what says why that cannot be done."""
    if name == '__main__':
        raise ImportError('__main__ is the running program: use load_file with its file, or with names of it')
    if is_imago(name):
        raise ImportError('%s is a part of Imago itself, which runs this' % name)
    module = sys.modules.get(name)
    if module is None:
        near = nearest_modules(name)
        hint = '; loaded are %s' % ', '.join(near) if near else ''
        message = 'no module named %r is loaded, so there is nothing to reload%s' % (name, hint)
        raise ModuleNotFoundError(message, name=name)
    if not inherits(module, types.ModuleType):
        kind = type(module).__name__
        raise TypeError('sys.modules[%r] is no module but a %s, which cannot be reloaded' % (name, kind))
    spec = stored(instance_dict(module), '__spec__')
    loader = getattr(spec, 'loader', None)
    if loader in _NOT_AGAIN or isinstance(loader, _NOT_AGAIN):
        raise ImportError('%s is compiled and has no source to run again; restart the program to load another' % name)
    return module


def _kept_by_reload(namespace, file):
    """Names of a module that its source as it is now does not bind; none where there is no source to be read."""
    if file is None or not file.endswith('.py'):
        return []
    try:
        code = compile(_read(file), file, 'exec', 0, True)
    except (OSError, SyntaxError, ValueError):
        return []
    return left_over(dict(entries(namespace)), code, file, True)


def _forget_old_bytecode(file):
    """Removes compiled code that Python would take for current although the source was written after it.

    It compares times in whole seconds and sizes, which a quick edit does not change.
    """
    if file is None or not file.endswith('.py'):
        return
    try:
        cached = importlib.util.cache_from_source(file)
        if os.stat(cached).st_mtime_ns <= os.stat(file).st_mtime_ns:
            os.remove(cached)
    except (OSError, NotImplementedError):
        pass


def _put_back(name, file):
    gone = file is not None and not os.path.exists(file)
    why = ' Its source %s is gone.' % file if gone else ''
    return (
        '%s was put back: its names stand for what they stood for before. What its code did elsewhere '
        'stays done.%s' % (name, why)
    )


def _past_the_import(trace):
    """The traceback from the first frame on that belongs to what was imported."""
    for inner in entries_of(trace):
        file = inner.tb_frame.f_code.co_filename
        if file not in (__file__, importlib.__file__) and not file.startswith('<frozen importlib'):
            return inner
    return None
