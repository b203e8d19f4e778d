"""Runs a program without any power beyond its user's, whoever runs the tests: ``unprivileged.py COMMAND...``.

Tests may run as root, who can look into every process and type at every terminal. What is started here is of the same
user, and can do what an ordinary user can: all capabilities are gone, and come back with nothing that it runs.
"""

import ctypes
import os
import struct
import sys

PR_CAPBSET_DROP = 24
CAPABILITY_VERSION = 0x20080522


def main():
    if sys.platform.startswith('linux') and os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in range(64):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        libc.capset(struct.pack('Ii', CAPABILITY_VERSION, 0), bytes(24))
    os.execvp(sys.argv[1], sys.argv[1:])


main()
