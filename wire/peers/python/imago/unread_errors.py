"""Exceptions that finished futures and tasks hold, and that no ``result()`` has raised: they are printed nowhere, or late.

The collector's objects are gone over once, by exact types; no code of the program is run.
"""

import gc
from itertools import islice

from imago.looking.fields import ABSENT, class_lookup, is_compiled, own_field, read_member, stored
from imago.looking.frames import entries_of, traceback_of
from imago.looking.loaded import module_dict
from imago.native import time
from imago.program_errors import one_line

#: How many are named.
NAMED = 5
#: Seconds that going over the objects may take.
PATIENCE = 0.5
#: Objects that are looked at between two looks at the clock.
_STRIDE = 10_000
#: Entries of a traceback that are gone through.
_DEEPEST = 1000


def unread(namespace, handles):
    """``{"count", "named", "cut"}`` with ``what`` and ``expr`` of each; ``None`` where all was gone over and there are none.

    ``expr`` is what ``inspect`` is to be given: where a variable of ``namespace`` leads to it, that, and else a handle.
    Whoever asks again and again takes no more than a twentieth of the program's time, and is told what was found before.
    """
    global _last
    ended, took, found = _last
    began = time.monotonic()
    if began - ended >= 20 * took:
        found = _looked_for(namespace, handles)
        ended = time.monotonic()
        _last = ended, ended - began, found
    return found


#: When it was looked last, how long that took in seconds, and what was found.
_last = 0.0, 0.0, None


def _looked_for(namespace, handles):
    readers = _readers()
    if not readers:
        return None
    found, until, is_cut = [], time.monotonic() + PATIENCE, False
    for at, one in enumerate(gc.get_objects()):
        if at % _STRIDE == 0 and time.monotonic() > until:
            is_cut = True
            break
        read = readers.get(type(one))
        error = None if read is None else read(one)
        if error is not None:
            found.append((one, error))
    if not found and not is_cut:
        return None
    paths = _paths(namespace, {id(one) for one, _ in found})
    named = [
        {'what': one_line(error), 'expr': paths.get(id(one)) or handles.keep_value(one)} for one, error in found[:NAMED]
    ]
    return {'count': len(found), 'named': named, 'cut': is_cut}


def _readers():
    """By exact class: what tells the exception in one of its instances that nobody has asked for, or ``None``."""
    readers = {}
    kind = stored(module_dict('concurrent.futures._base') or {}, 'Future')
    if type(kind) is type:
        takes = [class_lookup(kind, name) for name in ('result', '_Future__get_result')]
        codes = [found[1].__code__ for found in takes if found is not None and hasattr(found[1], '__code__')]
        readers[kind] = lambda one: _of_pool(one, codes)
    for module, name in (
        ('_asyncio', 'Task'), ('_asyncio', 'Future'), ('asyncio.tasks', '_PyTask'), ('asyncio.futures', '_PyFuture'),
    ):  # fmt: skip
        kind = stored(module_dict(module) or {}, name)
        if type(kind) is type:
            readers[kind] = _of_asyncio
    return readers


def _of_pool(future, codes):
    """It keeps no note of who has asked. Where ``result()`` has raised it, its traceback leads through there."""
    error = own_field(future, '_exception')
    if not issubclass(type(error), BaseException) or own_field(future, '_done_callbacks') != []:
        return None
    steps = islice(entries_of(traceback_of(error)), _DEEPEST)
    return None if any(one.tb_frame.f_code is code for one in steps for code in codes) else error


def _of_asyncio(future):
    if _field(future, '_log_traceback', '_Future__log_traceback', '_PyFuture__log_traceback') is not True:
        return None
    error = _field(future, '_exception')
    return error if issubclass(type(error), BaseException) else None


def _field(future, *names):
    for name in names:
        if is_compiled(type(future)):
            found = class_lookup(type(future), name)
            value = ABSENT if found is None else read_member(found[1], future)
        else:
            value = own_field(future, name)
        if value is not ABSENT:
            return value
    return ABSENT


def _paths(namespace, wanted):
    """By the number of an object: ``pool``, ``kept[3]`` or ``jobs['tea']``, where the top level has it so."""
    paths = {}
    for name, value in list(namespace.items()) if type(namespace) is dict else ():
        if type(name) is not str:
            continue
        inside = {name: value}
        if type(value) in (list, tuple):
            inside = {'%s[%d]' % (name, at): one for at, one in enumerate(value[:_DEEPEST])}
        elif type(value) is dict:
            inside = {'%s[%r]' % (name, key): one for key, one in list(value.items())[:_DEEPEST] if type(key) in (str, int)}
        for path, one in inside.items():
            if id(one) in wanted:
                paths.setdefault(id(one), path)
    return paths
