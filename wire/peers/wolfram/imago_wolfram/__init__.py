"""The far end of Imago for Wolfram Language: a host in Python, with an engine under it. Needs CPython 3.11 or newer."""
