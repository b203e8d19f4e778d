"""What stands in for ``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` while the link is there.

The real descriptors 1 and 2 stay what they are, and lead to the daemon too; ``sys.__stdout__`` is on them. In a
forked child these objects write straight to the descriptors, since the link belongs to the parent.
"""

import codecs
import io
import os


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

    def __init__(self, ask, prompt):
        super().__init__()
        self._ask = ask
        self._prompt = prompt
        self._rest = ''
        self.buffer = io.BufferedReader(_AskedBytes(self))

    def readline(self, size=-1):
        line = self._rest or self._ask(self._prompt(), False) + '\n'
        end = line.find('\n') + 1 or len(line)
        if size is not None and 0 <= size < end:
            end = size
        self._rest = line[end:]
        return line[:end]

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
        self._in = In(ask, self._prompt)
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

    def _prompt(self):
        """The line that stands unfinished on standard output: what ``input`` has just printed."""
        prompt, self.out.last = self.out.last, ''
        return prompt.rpartition('\n')[2][-1000:]


def _write_all(descriptor, data):
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except OSError:
            return
