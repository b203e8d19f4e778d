"""The types of numpy's cells: what they are called, and which of them can be read without meeting user code."""

from imago.looking.adapters.seeing import bare
from imago.looking.contents import storage_of
from imago.looking.fields import made_by_statement

_WORDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
_BUILT_IN = 24
_STRINGS = 2056
_DEEPEST = 4
_FIELDS = 8
_READ_FIELDS = 100


def dtype_text(dtype, depth=0):
    """`float64`, `<U5`, `datetime64[ns]`, `[id int64, name <U5]`."""
    if depth > _DEEPEST:
        return "…"
    if dtype.num == _STRINGS:
        return "StringDType"
    if dtype.num >= _BUILT_IN:
        return "of a dtype that is not numpy's own"
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        return f"{dtype_text(inner, depth + 1)} {tuple(shape)}"
    parts = fields_of(dtype, _FIELDS)
    if parts is not None:
        texts = [f"{bare(name)} {dtype_text(inner, depth + 1)}" for name, inner in parts]
        more = ["…"] if len(dtype.names) > len(parts) else []
        return f"[{', '.join(texts + more)}]"
    if not dtype.isnative:
        return dtype.str
    if dtype.kind in _WORDS:
        return f"{_WORDS[dtype.kind]}{8 * dtype.itemsize}"
    if dtype.kind == "b":
        return "bool"
    if dtype.kind == "O":
        return "object"
    text = dtype.str.lstrip("|")
    return text.replace("<M8", "datetime64").replace("<m8", "timedelta64")


def fields_of(dtype, most):
    """`(name, dtype)` of `most` fields of a structured dtype; None for any other. Their names are never looked up."""
    if dtype.names is None:
        return None
    held = storage_of(dtype.fields)
    pairs = [] if held is None else held.take(dtype.fields, 0, 2 * most)
    found = []
    for name in dtype.names[:most]:
        inner = next((entry[0] for key, entry in pairs if key is name), None)
        if type(name) is not str or inner is None:
            return []
        found.append((name, inner))
    return found


def is_readable(dtype, depth=0):
    """Whether numpy makes Python values of such cells by itself."""
    if dtype.num == _STRINGS:
        return True
    if dtype.num >= _BUILT_IN or depth > _DEEPEST:
        return False
    if dtype.subdtype is not None:
        return is_readable(dtype.subdtype[0], depth + 1)
    parts = fields_of(dtype, _READ_FIELDS)
    if parts is not None:
        return 0 < len(parts) == len(dtype.names) and all(is_readable(inner, depth + 1) for _, inner in parts)
    return dtype.kind == "V" or not made_by_statement(dtype.type)
