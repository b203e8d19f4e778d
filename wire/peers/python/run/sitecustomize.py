"""Run by every Python that ``imago run`` starts, because PYTHONPATH leads here: has it listen.

A Python too old for Imago comes here as well, so this file is written for all of them. It then runs the
``sitecustomize`` that it hides, and takes its own folder off ``sys.path``: the program finds there what it would find
without Imago.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _listen():
    peers = os.path.dirname(_here)
    sys.path.insert(0, peers)
    try:
        from imago import run

        run.begin()
    finally:
        sys.path.remove(peers)


def _customize():
    """The ``sitecustomize`` of the environment, where it has one. What it raises is shown as ever."""
    ours = sys.modules.pop('sitecustomize', None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, 'name', 'sitecustomize') != 'sitecustomize':
            raise
    finally:
        # Python takes the module that it is loading out of this table once it has run.
        if ours is not None:
            sys.modules.setdefault('sitecustomize', ours)


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or '.') != _here]
try:
    if sys.version_info >= (3, 9):
        _listen()
finally:
    _customize()
