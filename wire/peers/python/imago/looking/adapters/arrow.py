"""Columns that pyarrow stores. Only cells that pyarrow itself makes into Python values are read.

A type that a program has registered with pyarrow comes with a class of its own for its cells.
"""

from imago.looking.adapters.adapter import Unreadable, compiled_field, held_at
from imago.looking.fields import class_module, made_by_statement

# Arrow's numbers of its types, which are part of its format: null, bool, whole and floating numbers, texts and bytes.
_READABLE = {
    0: "null",
    1: "bool",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "uint32",
    7: "int32",
    8: "uint64",
    9: "int64",
    10: "halffloat",
    11: "float",
    12: "double",
    13: "string",
    14: "binary",
    34: "large_string",
    35: "large_binary",
    39: "string_view",
}
_OTHER = "arrow type"


def is_readable(dtype):
    """Whether cells of an arrow type, as the program has it in Python, are made by pyarrow alone.

    Chunks are never asked for their type: for one that the program has registered, pyarrow calls the program back.
    """
    return type_text(dtype) != _OTHER


def type_text(dtype):
    if class_module(type(dtype)) != "pyarrow.lib" or made_by_statement(type(dtype)):
        return _OTHER
    return _READABLE.get(compiled_field(dtype, "id"), _OTHER)


def chunks_of(held):
    """A `pyarrow.ChunkedArray`. Raises `Unreadable` for anything else."""
    if held_at("pyarrow.lib", "ChunkedArray") is not type(held) or made_by_statement(type(held)):
        raise Unreadable("chunks")
    return held


def cells_of(chunks, start, count):
    return chunks.slice(start, count).to_pylist()
