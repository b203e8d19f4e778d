"""A mark on this process and on all that it will ever start, which none of them can take off."""

import sys

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
        import resource

        _, hard = resource.getrlimit(_FILE_LOCKS)
        lower = 2**40 if hard == resource.RLIM_INFINITY else max(hard - 1, 0)
        resource.setrlimit(_FILE_LOCKS, (lower, lower))
    except (ImportError, OSError, ValueError):
        pass
