"""What a program of the same user can try in order to approve its own plans. Prints what came of it.

``attacker.py pty COMMAND...``: runs the command at a terminal that it makes.
``attacker.py lost FILE COMMAND...``: the same from a process that has parted from all that started it; FILE gets the
output.
``attacker.py raw SOCKET VERSION PID``: says by hand that it wants a seat, opens the file, and claims to be PID (0: itself).
``attacker.py host FILE VIA COMMAND... -- COMMAND...``: starts the first command as an MCP host starts a server, waits
for its first answer, and tries the second one, VIA ``pty`` or ``lost``, before and after the server has gone.
"""

import json
import os
import pty
import select
import socket
import struct
import subprocess
import sys
import time

DEADLINE = 12


def in_pty(command):
    """All that it writes, until it has a seat, or ends."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(command[0], command)
    written = b''
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline and b'are shown here' not in written and b'Waiting up to' not in written:
        if not select.select([terminal], [], [], 0.05)[0]:
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        written += data
    os.kill(child, 9)
    os.waitpid(child, 0)
    return written.decode()


def lost(command, path):
    """Forks twice and leaves the session, so that nothing tells any more who started it."""
    middle = os.fork()
    if middle == 0:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        while os.getppid() == middle:
            time.sleep(0.01)
        text = in_pty(command)
        with open(path + '.part', 'w') as file:
            file.write(text)
        os.rename(path + '.part', path)
        os._exit(0)
    os.waitpid(middle, 0)
    deadline = time.monotonic() + DEADLINE
    while not os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.02)
    with open(path) as file:
        text = file.read()
    os.unlink(path)
    return text


def raw(path, version, pid):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(DEADLINE)
    link.connect(path)
    say(link, {'hello': hello(version)})
    hear(link)
    say(link, {'type': 'call', 'id': 1, 'method': 'sit', 'params': {}})
    asked = hear(link)
    told = asked['params']
    file = os.open(told['file'], os.O_RDWR)
    os.read(file, told['position'])
    say(link, {'type': 'return', 'id': asked['id'], 'result': {'pid': pid or os.getpid()}})
    answer = hear(link)
    say(link, {'type': 'call', 'id': 2, 'method': 'answer', 'params': answering()})
    return json.dumps([answer, hear(link)])


def answering():
    return {'plan': 'plan-aaaaaaaa', 'hash': '0' * 64, 'decision': 'approve'}


def hello(version):
    return {
        'role': 'client',
        'protocol': 1,
        'name': 'imago watch',
        'version': version,
        'root': '/tmp',
        'env': {},
        'encodings': ['json'],
    }


def say(link, message):
    body = json.dumps(message).encode()
    link.sendall(struct.pack('>I', len(body)) + body)


def hear(link):
    size = struct.unpack('>I', exactly(link, 4))[0]
    return json.loads(exactly(link, size))


def exactly(link, size):
    data = b''
    while len(data) < size:
        more = link.recv(size - len(data))
        if not more:
            raise EOFError('the daemon hung up')
        data += more
    return data


def host(path, via, server, command):
    def attempt():
        return lost(command, path) if via == 'lost' else in_pty(command)

    bridge = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    question = {
        'jsonrpc': '2.0',
        'id': 1,
        'method': 'initialize',
        'params': {
            'protocolVersion': '2025-06-18',
            'capabilities': {},
            'clientInfo': {'name': 'a-host', 'version': '1'},
        },
    }
    bridge.stdin.write(json.dumps(question).encode() + b'\n')
    bridge.stdin.flush()
    bridge.stdout.readline()
    before = attempt()
    bridge.kill()
    bridge.wait()
    return json.dumps([before, attempt()])


def main():
    what, *rest = sys.argv[1:]
    if what == 'pty':
        print(in_pty(rest))
    elif what == 'lost':
        print(lost(rest[1:], rest[0]))
    elif what == 'raw':
        print(raw(rest[0], rest[1], int(rest[2])))
    elif what == 'host':
        split = rest.index('--')
        print(host(rest[0], rest[1], rest[2:split], rest[split + 1 :]))


main()
