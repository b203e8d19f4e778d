"""The far end of Imago in a Python process.

Two lines in a program let an agent look into it while it runs, and evaluate code there once a person allows it::

    import imago
    imago.listen()

A program that the daemon itself starts needs neither: there it is ``python imago/__main__.py`` that runs first.
Everything here is standard library; nothing of it is visible in the namespace that user code sees.
"""

from imago.version import __version__  # noqa: F401

__all__ = ['listen', 'show']


def listen(name=None, *, evaluate='thread', namespace=None, port=None, key=None, errors=True):
    """Lets the user's Imago attach to this program. Returns a ``Listener``: ``.name``, ``.address``, ``.close()``.

    ``name`` is what the program is called there; without it, what its script is called. Names need not differ.
    A number is no name: it means the process of that number.

    ``evaluate`` says where code is evaluated: ``'thread'`` is a thread of its own, from which top-level ``await`` goes
    to the event loop that runs here now, if one does; ``'loop'`` is that loop; a callable is given a function without
    arguments and has it called, soon, wherever the program wants it.

    ``namespace`` is the dictionary whose names evaluated code sees; without it, that of the module that calls this.

    With ``port``, this is a port of the loopback interface (0: any that is free) and not a socket in the user's private
    directory. Whoever knows ``key``, or the environment's ``IMAGO_KEY``, of at least 32 characters, may attach there;
    without either, a key is made, which is found where the program announces itself.

    The last errors that the program has by itself are noted, by hooks that call what stood there before. With
    ``errors=False`` they are not, and none of its hooks is touched.

    Raises ``OSError`` where there is no place to listen, and ``RuntimeError`` where this program already listens in
    another way; called again in the same way, it returns the same listener. A forked child does not listen until it
    calls this itself. A worker of ``multiprocessing`` that only imports the program's modules gets a listener that is
    not there: its ``address`` is ``None``.
    """
    import sys

    from imago import listening

    caller = sys._getframe(1).f_globals
    return listening.listen(name, evaluate=evaluate, namespace=namespace, port=port, key=key, errors=errors, caller=caller)


def show(value):
    """Shows a value to whoever has the present code evaluated, and to the person whose notebook it runs in.

    Returns whether anybody is there: in code that the program runs by itself, nothing happens.
    """
    from imago.calls import CURRENT, Evaluation, latest

    evaluation = CURRENT.get()
    return isinstance(evaluation, Evaluation) and latest(evaluation).show(value)


def load_ipython_extension(shell):
    """``%load_ext imago``: lets Imago attach to a notebook or an IPython terminal, beside the person in it."""
    from imago import ipython

    name = ipython.load(shell).name
    print('Imago listens as %s. In a shell of yours: imago attach %s' % (name, name))


def unload_ipython_extension(shell):
    """``%unload_ext imago``"""
    from imago import ipython

    ipython.unload(shell)
