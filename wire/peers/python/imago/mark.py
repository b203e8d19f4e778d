"""A mark on a process and on all that it will ever start, which none of them can take off."""

import os
import sys
from importlib.machinery import BuiltinImporter, PathFinder
from importlib.util import module_from_spec

#: RLIMIT_LOCKS. Linux has kept it and not used it since 2003, so nothing is any poorer for a lower one.
_FILE_LOCKS = 10


def mark():
    """Lowers the limit on file locks, hard and soft.

    Children inherit it, whatever they become and however they part from this process, and without CAP_SYS_RESOURCE it
    cannot be raised again. The daemon gives nobody a seat who bears it: `src/front/seat/processes.ts`.
    """
    if not sys.platform.startswith('linux'):
        return
    try:
        resource = _resource()
        _, hard = resource.getrlimit(_FILE_LOCKS)
        # Once is enough: what a kernel, or a program of ``imago run``, starts is marked already.
        if hard == resource.RLIM_INFINITY:
            resource.setrlimit(_FILE_LOCKS, (2**40, 2**40))
    except (ImportError, OSError, ValueError):
        pass


def _resource():
    """The module of the standard library, whatever else of that name the path has."""
    library = os.path.dirname(os.__file__)
    spec = BuiltinImporter.find_spec('resource') or PathFinder.find_spec(
        'resource', [os.path.join(library, 'lib-dynload'), library]
    )
    if spec is None:
        raise ImportError('this Python has no module resource')
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
