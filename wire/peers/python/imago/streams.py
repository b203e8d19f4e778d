"""Standard streams: those of a process of ours, and those of a program, lent to evaluated code."""

import codecs
import io
import os
import sys

from imago.calls import CURRENT


# What stands in for ``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` while the link is there.
#
# The real descriptors 1 and 2 stay what they are, and lead to the daemon too; ``sys.__stdout__`` is on them. In a
# forked child these objects write straight to the descriptors, since the link belongs to the parent.


class Out(io.TextIOBase):
    """A text stream whose writes go to ``write(stream, text)``. It cannot be closed."""

    encoding = 'utf-8'
    errors = 'backslashreplace'
    newlines = None
    mode = 'w'
    line_buffering = False
    write_through = True

    def __init__(self, streams, name, descriptor):
        super().__init__()
        self._streams = streams
        self._stream = name
        self._descriptor = descriptor
        self.name = '<%s>' % name
        self.buffer = _Bytes(self)
        #: What was written last: where ``input`` has just written its prompt, the prompt.
        self.last = ''

    def write(self, text):
        if type(text) is not str:
            if not isinstance(text, str):
                raise TypeError('write() argument must be str, not %s' % type(text).__name__)
            text = str.__str__(text)
        if text:
            self.last = text
            self._streams.write(self._stream, self._descriptor, text)
        return len(text)

    def flush(self):
        """Sends what would else wait a moment for more."""
        self._streams.flush()

    def close(self):
        """Left without effect: ``exit()`` and careless programs close streams that the next evaluation needs."""

    def fileno(self):
        return self._descriptor

    def isatty(self):
        return False

    def writable(self):
        return True

    def reconfigure(self, **_):
        """Accepted for programs that ask for UTF-8 or line buffering; both are so already."""


class _Bytes(io.BufferedIOBase):
    """``sys.stdout.buffer``: bytes are taken for UTF-8, also where a character is split over two writes."""

    def __init__(self, text):
        super().__init__()
        self._text = text
        self._decoder = codecs.getincrementaldecoder('utf-8')('backslashreplace')
        self.raw = self
        self.mode = 'wb'
        self.name = text.name

    def write(self, data):
        data = bytes(data)
        self._text.write(self._decoder.decode(data))
        return len(data)

    def close(self):
        pass

    def fileno(self):
        return self._text.fileno()

    def isatty(self):
        return False

    def writable(self):
        return True


class In(io.TextIOBase):
    """A text stream that asks whoever started the evaluation for lines. ``EOFError`` says why there is none."""

    encoding = 'utf-8'
    errors = 'strict'
    newlines = None
    mode = 'r'
    name = '<stdin>'

    def __init__(self, ask, out):
        super().__init__()
        self._ask = ask
        self._out = out
        self._rest = ''
        self.buffer = io.BufferedReader(_AskedBytes(self))

    def readline(self, size=-1):
        line = self._rest or self._ask(self._prompt(), False) + '\n'
        end = line.find('\n') + 1 or len(line)
        if size is not None and 0 <= size < end:
            end = size
        self._rest = line[end:]
        return line[:end]

    def _prompt(self):
        """The line that stands unfinished on standard output: what ``input`` has just printed."""
        prompt, self._out.last = self._out.last, ''
        return prompt.rpartition('\n')[2][-1000:]

    def read(self, size=-1):
        if size is not None and size >= 0:
            return self.readline(size)
        lines = []
        try:
            while True:
                lines.append(self.readline())
        except EOFError:
            if not lines:
                raise
        return ''.join(lines)

    def close(self):
        """Without effect, as for the other streams."""

    def fileno(self):
        return 0

    def isatty(self):
        return False

    def readable(self):
        return True


class _AskedBytes(io.RawIOBase):
    def __init__(self, text):
        super().__init__()
        self._text = text
        self._rest = b''

    def readinto(self, buffer):
        if not self._rest:
            self._rest = self._text.readline().encode()
        part = self._rest[: len(buffer)]
        buffer[: len(part)] = part
        self._rest = self._rest[len(part) :]
        return len(part)

    def readable(self):
        return True


class Streams:
    """Puts the stand-ins in place, and knows whether this process still is the one that has the link."""

    def __init__(self, output, shield, ask):
        self._output = output
        self._shield = shield
        self._direct = False
        self.out = Out(self, 'stdout', 1)
        self.err = Out(self, 'stderr', 2)
        self._in = In(ask, self.out)
        self._ask = ask

    def install(self):
        import getpass
        import sys

        for real in (sys.__stdout__, sys.__stderr__):
            if hasattr(real, 'reconfigure'):
                real.reconfigure(encoding='utf-8', errors='backslashreplace', line_buffering=True)
        sys.stdin, sys.stdout, sys.stderr = self._in, self.out, self.err

        def ask_secretly(prompt='Password: ', stream=None, **_):
            """Asks whoever started the evaluation, who is told not to show what is typed."""
            return self._ask(prompt, True)

        getpass.getpass = ask_secretly

    def leave_link(self):
        """From here on, text goes straight to the descriptors."""
        self._direct = True

    def write(self, stream, descriptor, text):
        if self._direct:
            _write_all(descriptor, text.encode('utf-8', 'backslashreplace'))
            return
        with self._shield:
            self._output.write(stream, text)

    def flush(self):
        if not self._direct:
            with self._shield:
                self._output.flush()


def _write_all(descriptor, data):
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except OSError:
            return


# What stands in ``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` of an attached program while code is evaluated in it.
#
# The evaluated code, and every task that it starts, prints to whoever asked for it and reads from there. Everybody else
# finds in them what stood there before. When the evaluation is over that is put back, unless the evaluated code itself
# has put something else there; whoever has kept one of the stand-ins goes on with what it stood for.

_MISSING = object()


class Borrowed:
    """The three of them, for one evaluation after the other. ``ask`` is as for ``streams.Streams``."""

    def __init__(self, output, shield, ask):
        self._output = output
        self._shield = shield
        self._running = None
        self._standing = {}
        out = _Out(self, 'stdout', 1)
        self._ours = {'stdin': _In(ask, out), 'stdout': out, 'stderr': _Out(self, 'stderr', 2)}

    def begin(self, evaluation):
        """The evaluation begins, in the context of the caller."""
        self._running = evaluation
        for name, ours in self._ours.items():
            theirs = getattr(sys, name, _MISSING)
            if type(theirs) is StandIn:
                theirs = _theirs(theirs)
            stand_in = self._standing[name] = _unused(_MADE)
            _stand(stand_in, self, ours, theirs)
            setattr(sys, name, stand_in)

    def end(self, evaluation):
        """The evaluation is over, or this is a forked child."""
        self._running = None
        while self._standing:
            name, stand_in = self._standing.popitem()
            if getattr(sys, name, None) is not stand_in:
                continue
            theirs = _theirs(stand_in)
            if theirs is _MISSING:
                delattr(sys, name)
            else:
                setattr(sys, name, theirs)

    def is_running(self):
        """Whether the caller is of the evaluation that runs."""
        running = self._running
        return running is not None and CURRENT.get() is running

    def theirs(self, name):
        """What the program has there."""
        stream = getattr(sys, name, None)
        if type(stream) is StandIn:
            stream = _theirs(stream)
        return None if stream is _MISSING else stream

    # For ``Out``: somebody prints to one of ours, or to a method of it that was kept.

    def write(self, name, descriptor, text):
        if self.is_running():
            with self._shield:
                self._output.write(name, text)
            return
        theirs = self.theirs(name)
        if theirs is not None:
            theirs.write(text)

    def flush(self):
        if self.is_running():
            with self._shield:
                self._output.flush()


class StandIn:
    """One stream of ``sys``: ours to the evaluation that runs, and to all others what stood there."""

    __slots__ = ('_imago',)

    @property
    def __class__(self):
        return type(_of(self))

    def __getattr__(self, name):
        return getattr(_of(self), name)

    def __setattr__(self, name, value):
        setattr(_of(self), name, value)

    def __delattr__(self, name):
        delattr(_of(self), name)

    def __dir__(self):
        return dir(_of(self))

    def __repr__(self):
        return repr(_of(self))

    def __iter__(self):
        return iter(_of(self))

    def __next__(self):
        return next(_of(self))

    def __enter__(self):
        return _of(self).__enter__()

    def __exit__(self, *error):
        return _of(self).__exit__(*error)


def _stand(stand_in, borrowed, ours, theirs):
    object.__setattr__(stand_in, '_imago', (borrowed, ours, theirs))


def _of(stand_in):
    borrowed, ours, theirs = object.__getattribute__(stand_in, '_imago')
    if borrowed.is_running():
        return ours
    return None if theirs is _MISSING else theirs


def _theirs(stand_in):
    return object.__getattribute__(stand_in, '_imago')[2]


#: All that were ever made. They are never freed: until 3.14, ``print`` and others hold what they found in ``sys``
#: without a reference of their own, and one may be in the midst of it when another thread puts back what stood there.
_MADE = []


def _unused(made):
    """One of those that nobody has kept, or one more."""
    for stand_in in made:
        if sys.getrefcount(stand_in) == _HELD_BY_NOBODY:
            return stand_in
    made.append(StandIn())
    return made[-1]


def _count(made):
    for stand_in in made:
        return sys.getrefcount(stand_in)


_HELD_BY_NOBODY = _count([StandIn()])


class _Out(Out):
    def fileno(self):
        """The program's own: children of evaluated code print where the program does."""
        theirs = self._streams.theirs(self._stream)
        if theirs is None:
            raise io.UnsupportedOperation('fileno')
        return theirs.fileno()


class _In(In):
    def fileno(self):
        """There is none: ``input`` must not go to a terminal of the program's."""
        raise io.UnsupportedOperation('fileno')
