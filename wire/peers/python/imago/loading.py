"""Running a file, some of its definitions, or a loaded module again in the living image.

Both functions run where evaluations run, exposed to interrupts, and return the ``Loaded`` of the contract, or raise
what the loaded code raised, with a note on what became of the names.
"""

import errno
import importlib
import importlib.machinery
import importlib.util
import io
import linecache
import os
import stat
import sys
import types

from imago.changes import Before, left_over, loaded
from imago.looking.fields import entries, inherits, instance_dict, plain, stored
from imago.looking.loaded import is_imago, nearest_modules
from imago.toplevel import chosen, future_names, without_guards

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
    try:
        now = importlib.reload(module)
    except BaseException as error:
        before.put_back()
        sys.modules[name] = module
        _note(error, _put_back(name, file))
        raise error.with_traceback(_past_the_import(error.__traceback__))
    if file is not None:
        linecache.checkcache(file)
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
    """``(name, module)`` of the loaded modules that have this source, the running program first."""
    names = {os.path.basename(one).casefold() for one in (file, os.path.realpath(file))}
    found = []
    for name, module in entries(sys.modules):
        own = instance_dict(module) if type(name) is str and inherits(module, types.ModuleType) else None
        source = None if own is None else plain(stored(own, '__file__'))
        if source is None or os.path.basename(source).casefold() not in names or not _is_same(source, file):
            continue
        if all(module is not other for _, other in found):
            found.append((name, module))
    if any(is_imago(name) for name, _ in found):
        raise ImportError('%s is a part of Imago itself, which runs this: it is not loaded again' % file)
    found.sort(key=lambda one: one[0] != '__main__')
    return found


def _is_same(one, other):
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _path(module, file):
    """The file as the module's own code names it, so that breakpoints and tracebacks agree."""
    known = None if module is None else plain(stored(instance_dict(module), '__file__'))
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
    trace, line = error.__traceback__, None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == file and code.co_name == '<module>':
            line = trace.tb_lineno
        trace = trace.tb_next
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
    inner = trace
    while inner is not None:
        file = inner.tb_frame.f_code.co_filename
        if file not in (__file__, importlib.__file__) and not file.startswith('<frozen importlib'):
            return inner
        inner = inner.tb_next
    return None
