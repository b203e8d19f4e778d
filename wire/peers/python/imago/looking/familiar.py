"""Texts of a few classes of the standard library that are written in Python and store their value in odd places.

They are told by their name and read from their stored fields like any other object: a class that only pretends to be
one of them can make its own instances look odd, and runs nothing.
"""

from imago.looking.contents import storage_of
from imago.looking.fields import class_module, class_name, exactly, instance_fields
from imago.looking.leaves import string_text

_PATHS = ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")


def familiar_text(value, room):
    """`PosixPath('/tmp')`, `Fraction(1, 3)` or `UUID('…')`; None for anything else."""
    module, name = class_module(type(value)), class_name(type(value))
    if module == "pathlib" or module == "pathlib._local":
        return _path_text(name, value, room)
    if module == "fractions" and name == "Fraction":
        fields = dict(instance_fields(value))
        parts = [fields.get("_numerator"), fields.get("_denominator")]
        if all(type(part) is int and part.bit_length() < 2000 for part in parts):
            return f"Fraction({parts[0]}, {parts[1]})"
    if module == "uuid" and name == "UUID":
        number = dict(instance_fields(value)).get("int")
        if type(number) is int and 0 <= number < 2**128:
            digits = f"{number:032x}"
            return f"UUID('{'-'.join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))}')"
    return None


def _path_text(name, value, room):
    if name not in _PATHS:
        return None
    fields = dict(instance_fields(value))
    parts = fields.get("_parts", fields.get("_raw_paths"))
    if type(parts) is not list:
        return None
    texts = storage_of(parts).take(parts, 0, 100)
    if not all(exactly(text, (str,)) for text in texts):
        return None
    anchor = "".join(text for text in (fields.get("_drv"), fields.get("_root")) if type(text) is str)
    if "_parts" in fields and anchor and texts:
        return f"{name}({string_text(anchor + '/'.join(texts[1:]), room)})"
    return f"{name}({string_text('/'.join(texts) or '.', room)})"
