"""numpy's single values, its dtypes and its sources of random numbers."""

from imago.looking.adapters.adapter import Seen, compiled_field
from imago.looking.adapters.cells import dtype_text, is_readable, owner_elsewhere
from imago.looking.fields import class_label, class_name, is_compiled, mro

_LARGEST_CELL = 4096
_NUMBERS = ("int8", "int16", "int32", "int64", "longlong", "uint8", "uint16", "uint32", "uint64", "ulonglong")
_FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
_LONG = ("longdouble", "clongdouble", "float96", "float128", "complex192", "complex256")
_TIMES = ("datetime64", "timedelta64")


def is_dtype(cls):
    """Whether a class is one of numpy's dtypes, none of which can be made by a class statement."""
    return any(class_label(base) == "numpy.dtype" for base in mro(cls))


def see_dtype(dtype):
    return Seen(text=f"dtype({dtype_text(dtype)!r})")


def _see_number(value):
    """`np.int64(5)`, as numpy itself writes it."""
    return Seen(text=f"np.{class_name(type(value))}({type(value).__str__(value)})")


def _see_bool(value):
    return Seen(text=f"np.{bool(_item(value))}_")


def _see_written(value):
    """Numbers that are wider than Python's, and times: numpy writes them itself."""
    return Seen(text=f"np.{class_name(type(value))}('{type(value).__str__(value)}')")


def _see_record(value):
    """One cell of a structured array: its fields are values of any sort."""
    dtype = _generic(value, "dtype")
    if not is_readable(dtype) or dtype.itemsize > _LARGEST_CELL:
        return Seen("numpy.void", dtype_text(dtype))
    array = _array_of(value)
    owner = None if array is None else owner_elsewhere(array)
    if owner is not None:
        return Seen("numpy.void", f"{dtype_text(dtype)}, not read: its memory belongs to {owner}")
    held = _item(value)
    if type(held) is not tuple:
        return Seen("numpy.void", fields=[("value", held)])
    return Seen("numpy.void", fields=list(zip(dtype.names, held)))


def _array_of(record):
    """The array that a record is a cell of; None where it has memory of its own."""
    return next(base for base in mro(type(record)) if class_label(base) == "numpy.void").__dict__["base"].__get__(record)


def _see_random(label):
    """A source of random numbers by the name of what makes them; drawing none."""

    def see(value):
        for name in ("bit_generator", "_bit_generator"):
            made_by = compiled_field(value, name)
            if class_label(type(made_by)).startswith("numpy.random."):
                return Seen(label, class_name(type(made_by)))
        return Seen(label)

    return see


def _item(value):
    return _of_generic(value)["item"].__get__(value)()


def _generic(value, name):
    return _of_generic(value)[name].__get__(value)


def _of_generic(value):
    """What `numpy.generic` defines for all of numpy's single values."""
    return next(base for base in mro(type(value)) if class_name(base) == "generic" and is_compiled(base)).__dict__


TYPES = (
    *(("numpy", name, _see_number, "number") for name in (*_NUMBERS, *_FLOATS)),
    *(("numpy", name, _see_written, "number") for name in _LONG),
    *(("numpy", name, _see_written, None) for name in _TIMES),
    ("numpy", "bool", _see_bool, "bool"),
    ("numpy", "bool_", _see_bool, "bool"),
    ("numpy", "void", _see_record, None),
    ("numpy", "record", _see_record, None),
    ("numpy.random", "Generator", _see_random("numpy.random.Generator"), None),
    ("numpy.random", "RandomState", _see_random("numpy.random.RandomState"), None),
)
