"""Starts a kernel: ``python imago_wolfram/__main__.py``, with one line of JSON on standard input.

The daemon names this file by its path. The Python peer lies beside this one, and neither is installed.
"""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if entry != here]
wolfram = os.path.dirname(here)
sys.path[:0] = [wolfram, os.path.join(os.path.dirname(wolfram), 'python')]

from imago_wolfram import host  # noqa: E402

if __name__ == '__main__':
    host.main()
    sys.stdout.flush()
    sys.stderr.flush()
    # To take a session of an engine apart takes seconds, and whoever calls next waits for that.
    os._exit(0)
