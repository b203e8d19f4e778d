"""Runs a program on a terminal of its own: ``terminal.py STEPS COMMAND...``.

STEPS is JSON, a list of ``[awaited, typed]``: once the program has written the text, the other is typed. What the
program wrote goes to standard output, byte for byte, and its exit code is this one's.
"""

import json
import os
import pty
import select
import sys
import time


def main():
    steps = json.loads(sys.argv[1])
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    written = b''
    seen = 0
    deadline = time.monotonic() + 50
    while time.monotonic() < deadline:
        if steps and steps[0][0].encode() in written[seen:]:
            awaited, typed = steps.pop(0)
            seen = written.index(awaited.encode(), seen) + len(awaited.encode())
            os.write(terminal, typed.encode())
            continue
        if not select.select([terminal], [], [], 0.05)[0]:
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        written += data
    sys.stdout.buffer.write(written)
    sys.stdout.buffer.flush()
    if time.monotonic() >= deadline:
        os.kill(child, 9)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


main()
