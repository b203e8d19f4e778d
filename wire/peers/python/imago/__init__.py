"""The far end of Imago in a Python process.

A daemon starts ``python imago/__main__.py``, hands it an address and a secret on standard input, and is connected
to. From then on it evaluates code in this process, looks at values without running any, and interrupts what runs.
Everything here is standard library; nothing of it is visible in the namespace that user code sees.
"""

__version__ = '0.1.0'

#: The version of ``docs/wire.md`` that this package speaks.
PROTOCOL = 1
