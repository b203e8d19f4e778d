"""Tests of the peer for Wolfram Language. From its folder, with a Python that has Mathics3: `python -m unittest`."""
