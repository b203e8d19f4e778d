"""Processes that user code forked off this one."""

import os
import sys


def end_child(error, report):
    """Ends a forked child that has come to the end of the code it was forked in, as a program of its own would end.

    ``error`` is what that code raised, or ``None``; ``report(error)`` is its text.
    """
    status = 0
    if isinstance(error, SystemExit):
        status = _status(error.code)
    elif error is not None:
        status = 1
        sys.stderr.write(report(error))
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            stream.flush()
    os._exit(status)


def _status(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write('%s\n' % (code,))
    return 1
