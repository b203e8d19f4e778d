"""Runs a program on a terminal of its own: ``terminal.py COMMAND...``.

What is read on standard input is typed there, and what the program writes goes to standard output. When standard input
ends the terminal is hung up. It is as large as ``COLUMNS`` and ``LINES`` say, where they do.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios


def main():
    child, terminal = pty.fork()
    if child == 0:
        if 'COLUMNS' in os.environ and 'LINES' in os.environ:
            size = int(os.environ['LINES']), int(os.environ['COLUMNS'])
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', *size, 0, 0))
        os.execvp(sys.argv[1], sys.argv[1:])
    while True:
        for source in select.select([0, terminal], [], [])[0]:
            try:
                data = os.read(source, 65536)
            except OSError:  # Linux says so where the program has left its terminal.
                data = b''
            if not data:
                os.close(terminal)
                return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os.write(terminal if source == 0 else 1, data)


sys.exit(main())
