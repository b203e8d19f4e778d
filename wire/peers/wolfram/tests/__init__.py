"""Tests of the peer for Wolfram Language. From its folder, with a Python that has Mathics3: `python -m unittest`."""

import sys
from pathlib import Path

# The Python peer lies beside this one, as `__main__.py` has it.
sys.path.append(str(Path(__file__).parents[2] / "python"))
