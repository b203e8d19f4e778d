"""Which one this package is, and what it speaks."""

__version__ = '0.2.0'
#: The version of ``docs/wire.md``.
PROTOCOL = 1
