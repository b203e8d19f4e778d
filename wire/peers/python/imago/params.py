"""What the daemon sends with a call, read once and checked: each reader raises ``Fail`` with what is wrong."""

from imago.link import Fail

#: An error keeps the stack alive where it is raised, and not only its frames.
HOLD = 'hold'


def text(params, name):
    value = params.get(name)
    if not isinstance(value, str):
        raise Fail('invalid_params', '%s must be a text' % name)
    return value


def flag(params, name):
    value = params.get(name)
    if not isinstance(value, bool):
        raise Fail('invalid_params', '%s must be true or false' % name)
    return value


def count(params, name, least=0, most=None):
    value = params.get(name)
    # A float is what a codec may make of a whole number.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or value < least or (most is not None and value > most):
        raise Fail('invalid_params', '%s must be a whole number, %d or more' % (name, least))
    return value


def texts(params, name):
    value = params.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Fail('invalid_params', '%s must be a list of texts' % name)
    return value


def optional(read):
    """A reader of a parameter that may be left out, and is then not in the query."""

    def reader(params, name):
        return None if params.get(name) is None else read(params, name)

    return reader


def query(readers, params):
    """The parameters that ``readers`` names, each as its reader returns it; what is left out is left out."""
    found = {name: read(params, name) for name, read in readers.items()}
    return {name: value for name, value in found.items() if value is not None}


def suspending(params):
    """``'hold'`` or ``'keep'``: what an error is to do with the stack, where it is to suspend; else ``None``."""
    suspend = params.get('suspend')
    if suspend is None:
        return None
    if not isinstance(suspend, dict):
        raise Fail('invalid_params', 'suspend must be an object')
    return HOLD if suspend.get('hold') is not None and flag(suspend, 'hold') else 'keep'
