"""Starts a kernel: ``python imago/__main__.py``, with one line of JSON on standard input.

The daemon names this file by its path, so that nothing has to be installed. Python has then put this directory
first on ``sys.path``, where its modules would shadow the user's: it is taken off before anything else happens. The
folder that the kernel works in comes on it last, in ``boot.py``: a project's ``resource.py`` is none of our modules.
"""

import sys

if not __package__:
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path.insert(0, os.path.dirname(here))
    try:
        import imago.boot
    finally:
        del sys.path[0]
else:
    import imago.boot

if __name__ == '__main__':
    imago.boot.main()
