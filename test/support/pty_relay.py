"""Runs a program on a terminal of its own: ``pty_relay.py COLUMNS ROWS COMMAND...``.

What is read on standard input is typed there, and what the program writes goes to standard output, byte for byte.
Lines on descriptor 3 resize the terminal: ``COLUMNS ROWS``; after ``hold`` nothing that the program writes is read, as
over a link that stands still, until ``go``. The exit code is that of the program, or 128 and the
number of the signal that ended it.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios


def resize(terminal, columns, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


def main():
    columns, rows = int(sys.argv[1]), int(sys.argv[2])
    sized, begin = os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        os.close(3)
        os.close(begin)
        # Nothing is written before the terminal has its size.
        os.read(sized, 1)
        os.execvp(sys.argv[3], sys.argv[3:])
    resize(terminal, columns, rows)
    os.close(begin)
    os.close(sized)
    watched = [0, 3, terminal]
    while True:
        ready = select.select(watched, [], [])[0]
        for source in ready:
            try:
                data = os.read(source, 65536)
            except OSError:
                data = b''
            if source == terminal:
                if not data:
                    _, status = os.waitpid(child, 0)
                    code = os.waitstatus_to_exitcode(status)
                    sys.exit(code if code >= 0 else 128 - code)
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
            elif not data:
                watched.remove(source)
            elif source == 3:
                for line in data.splitlines():
                    if line == b'hold':
                        watched.remove(terminal)
                    elif line == b'go':
                        watched.append(terminal)
                    else:
                        resize(terminal, *map(int, line.split()))
            else:
                while data:
                    data = data[os.write(terminal, data) :]


main()
