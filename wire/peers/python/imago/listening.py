"""``imago.listen()``: what a program calls so that it can be attached to."""

import os
import re
import sys

from imago import family, listener, native
from imago.coroutines import running_loop
from imago.guest import Guest, leave_all
from imago.places import place_for

#: A key that somebody has made up is as long as this at least, in characters.
SHORTEST_KEY = 32

#: Where the modules of the interpreter itself are.
_LIBRARY = os.path.dirname(os.__file__) + os.sep

_ANOTHER = re.compile(r'imago-(\d[^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info\Z')

_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z')

#: What ``imago run`` has asked for: it makes room for what the program asks for by itself.
_FOR_RUN = object()

_listening = None
_asked = None
_changing = native.RLock()


class Listener:
    """What ``listen`` returns. As a context manager it is closed at the end."""

    def __init__(self, guest):
        self._guest = guest

    @property
    def name(self):
        """What the program is called; ``None`` if this one does not listen."""
        return None if self._guest is None else self._guest.name

    @property
    def address(self):
        """``unix:/path`` or ``tcp:127.0.0.1:port``; ``None`` if this one does not listen."""
        return None if self._guest is None else self._guest.address

    @property
    def evaluator(self):
        """What runs code here; ``None`` if this one does not listen."""
        return None if self._guest is None else self._guest.kernel.evaluator

    def close(self):
        """Stops listening and takes the announcement back. In a forked child it does nothing."""
        global _listening
        guest, self._guest = self._guest, None
        if guest is not None:
            with _changing:
                if _listening is self:
                    _listening = None
                guest.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        if self._guest is None:
            return '<imago.Listener, which does not listen>'
        return '<imago.Listener %s at %s>' % (self.name, self.address)


def listen(name=None, *, evaluate='thread', namespace=None, port=None, key=None, errors=True, caller=None):
    """See ``imago.listen``, which has the same parameters. ``caller`` is the namespace of whoever has called that."""
    asked = (name, evaluate, None if namespace is None else id(namespace), port, key, errors)
    with _changing:
        if _listening is not None:
            if asked in (_asked, (None, 'thread', None, None, None, True)):
                return _listening
            if _asked is not _FOR_RUN:
                raise RuntimeError('this program listens already, as %s; close that first' % _listening.name)
        if _is_starting_as_a_worker():
            return Listener(None)
        _warn_of_another_distribution()
        guest = Guest(
            _name(name),
            _namespace(namespace, caller),
            place_for(evaluate, running_loop()),
            port=_port(port),
            key=_key(key, port),
            errors=_errors(errors),
        )
        if _listening is not None:
            _listening.close()
        return _open(guest, asked)


def _warn_of_another_distribution():
    """The ``imago`` of PyPI is somebody else's. Installed beside this package it has put its files among these."""
    import warnings

    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        found = [_ANOTHER.match(name) for name in os.listdir(folder)]
        others = [one for one in found if one is not None and not _is_ours(os.path.join(folder, one.group()))]
    except OSError:
        return
    for other in others:
        warnings.warn(
            'another distribution called imago (%s) is installed here, whose files are called like those of Imago. '
            'pip uninstall imago, then install imago-agent again: pip install "$(imago runtime python)"' % other.group(1),
            RuntimeWarning,
            stacklevel=4,
        )


def _is_ours(metadata):
    """Whether it is of this package, under the name that its distribution had before."""
    for name in ('METADATA', 'PKG-INFO'):
        try:
            with open(os.path.join(metadata, name), encoding='utf-8', errors='replace') as file:
                return 'Summary: The far end of Imago' in file.read(4096)
        except OSError:
            pass
    return True


def listen_for_run(name):
    """Listens as ``name``, unless the program listens by itself already; see ``run.py``."""
    with _changing:
        if _listening is None:
            _open(Guest(name, None, place_for('thread', None)), _FOR_RUN)


def listens():
    """Whether this program listens now."""
    return _listening is not None


def _open(guest, asked):
    global _listening, _asked
    guest.open()
    _leave_with_a_worker()
    _listening, _asked = Listener(guest), asked
    return _listening


def _leave_with_a_worker():
    """Takes back what a worker of ``multiprocessing`` makes known, as it ends without what ``atexit`` has."""
    if family.is_told():
        sys.modules['multiprocessing.util'].Finalize(None, leave_all, exitpriority=0)


def _is_starting_as_a_worker():
    """Whether this process is a worker of ``multiprocessing`` that imports the program's modules once more."""
    multiprocessing = sys.modules.get('multiprocessing.process')
    return multiprocessing is not None and getattr(multiprocessing.current_process(), '_inheriting', False)


def _name(name):
    if name is None:
        return listener.name_of(listener.program())
    if not isinstance(name, str):
        raise TypeError('name must be a text, not %s' % type(name).__name__)
    if not _NAME.match(name):
        raise ValueError(
            'name must be up to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit; '
            'not %r' % name[:100]
        )
    if name.isdigit():
        raise ValueError('name must not be a number: %s would mean the process of that number' % name)
    return name


def _namespace(namespace, caller):
    if namespace is None:
        return None if caller is None or _of_a_library(caller) else caller
    if not isinstance(namespace, dict):
        raise TypeError('namespace must be a dict, as vars(module) is, not %s' % type(namespace).__name__)
    return namespace


def _of_a_library(caller):
    """Whether who has called is not the program itself: a pool that was given ``listen`` to begin its workers with."""
    file = caller.get('__file__')
    if type(file) is not str or not file.startswith(_LIBRARY):
        return False
    return file[len(_LIBRARY) :].split(os.sep)[0] not in ('site-packages', 'dist-packages')


def _port(port):
    if port is None:
        return None
    if type(port) is not int:
        raise TypeError('port must be a whole number, not %s' % type(port).__name__)
    if not 0 <= port <= 65535:
        raise ValueError('port must be from 0, for any that is free, to 65535; not %d' % port)
    return port


def _key(key, port):
    if port is None:
        if key is not None:
            raise ValueError('key is for a port; without one, the directory of the socket keeps others out')
        return None
    if key is None:
        key = os.environ.get('IMAGO_KEY') or None
    if key is None:
        return None
    if not isinstance(key, str):
        raise TypeError('key must be a text, not %s' % type(key).__name__)
    if len(key) < SHORTEST_KEY:
        raise ValueError('key must have at least %d characters; this one has %d' % (SHORTEST_KEY, len(key)))
    return key


def _errors(errors):
    if type(errors) is not bool:
        raise TypeError('errors must be True or False, not %s' % type(errors).__name__)
    return errors


def _forget():
    """In a forked child, which does not listen until it calls ``listen`` itself."""
    global _listening, _changing
    _changing = native.RLock()
    listening, _listening = _listening, None
    if listening is not None:
        listening._guest = None


def _register():
    import atexit

    atexit.register(leave_all)
    os.register_at_fork(after_in_child=_forget)


_register()
