"""What a program of the same user can try with a daemon and a person's seat. Prints what came of it, as JSON.

``intruder.py loot DIRECTORY...``: reads all that lies there.
``intruder.py calls SOCKET VERSION ROOT CALLS``: makes the calls, ``[[method, params], ...]``, one after the other.
``intruder.py flood SOCKET VERSION ROOT CONNECTIONS CALLS``: so many calls of write_file on each of so many connections.
``intruder.py knock SOCKET...``: says hello, and what a kernel might be told, to whoever listens there.
``intruder.py memory PID PATTERN``: looks for the pattern in all that a process has in its memory.
``intruder.py type TERMINAL TEXT``: types there, as TIOCSTI has it.
``intruder.py draw TERMINAL TEXT``: writes there.
``intruder.py instead SOCKET VERSION BODY``: is a daemon at that place, and asks whoever sits down about BODY.
``intruder.py between SOCKET HIDDEN BODY``: stands between clients and the daemon, which it moves to HIDDEN, and shows
BODY in the place of every plan.
``intruder.py pty COMMAND...``: runs the command at a terminal that it makes.
``intruder.py lost FILE COMMAND...``: the same from a process that has parted from all that started it, by way of FILE.
``intruder.py host FILE VIA COMMAND... -- COMMAND...``: starts the first command as an MCP host starts a server, waits
for its first answer, and tries the second one, VIA ``pty`` or ``lost``, before and after the server has gone.
"""

import fcntl
import json
import os
import pty
import re
import select
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

DEADLINE = 12
# What a code of a plan looks like, and what a token might.
SECRETS = rb'[0-9a-z]{4}(?:-[0-9a-z]{4}){3}|[0-9a-f]{32,}'


def loot(directories):
    found = {'files': [], 'sockets': [], 'words': set()}
    for directory in directories:
        for folder, _, names in os.walk(directory):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    with open(path, 'rb') as file:
                        text = file.read()
                except OSError:
                    found['sockets'].append(path)
                    continue
                found['files'].append(path)
                found['words'].update(word.decode() for word in re.findall(SECRETS, text))
    return {**found, 'words': sorted(found['words'])}


class Client:
    """A client as docs/editor-protocol.md has them."""

    def __init__(self, path, version, root):
        self.link = dial(path)
        say(self.link, {'hello': hello(version, root)})
        self.welcome = hear(self.link)
        self.made = 0

    def begin(self, method, params):
        self.made += 1
        say(self.link, {'type': 'call', 'id': self.made, 'method': method, 'params': params})
        return self.made

    def next(self):
        """The next answer; whatever the daemon asks meanwhile is done as well as can be."""
        while True:
            message = hear(self.link)
            if message['type'] in ('return', 'fail'):
                return message
            if message['type'] == 'call':
                say(self.link, {'type': 'return', 'id': message['id'], 'result': prove(message['params'])})


def prove(told):
    file = os.open(told['file'], os.O_RDWR)
    os.read(file, told['position'])
    return {'pid': os.getpid()}


def calls(path, version, root, wanted):
    client = Client(path, version, root)
    answers = []
    for method, params in json.loads(wanted):
        client.begin(method, params)
        answers.append(client.next())
    return answers


def flood(path, version, root, connections, each):
    """How many of the calls wait for a person, and how many were answered without one."""
    clients = [Client(path, version, root) for _ in range(int(connections))]
    answers = []
    for client in clients:
        for number in range(int(each)):
            args = {'path': f'flood-{len(answers)}-{number}.txt', 'content': 'x\n'}
            client.begin('call', {'tool': 'write_file', 'args': args})
        threading.Thread(target=collect, args=(client, answers), daemon=True).start()
    asking = Client(path, version, root)
    deadline = time.monotonic() + DEADLINE
    while True:
        asking.begin('approvals', {})
        waiting = len(asking.next()['result']['approvals'])
        if waiting + len(answers) >= int(connections) * int(each) or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return {'waiting': waiting, 'answered': sorted(codeOf(answer) for answer in answers)}


def collect(client, answers):
    try:
        while True:
            answers.append(client.next())
    except EOFError:
        pass


def codeOf(answer):
    if answer['type'] == 'fail':
        return answer['error']['code']
    return 'ok' if answer['result']['ok'] else answer['result']['error']['code']


def knock(paths):
    """All that is said in answer, until they hang up or say no more."""
    heard = {}
    for path in paths:
        link = dial(path, 2)
        said = b''
        try:
            say(link, hello('0', '/tmp'))
            say(link, {'type': 'call', 'id': 1, 'method': 'evaluate', 'params': {'code': '1'}})
            while True:
                data = link.recv(65536)
                if not data:
                    break
                said += data
        except OSError:
            pass
        heard[path] = said.decode('latin-1')
    return heard


def memory(pid, pattern):
    found = set()
    try:
        with open(f'/proc/{pid}/mem', 'rb', 0) as memory, open(f'/proc/{pid}/maps') as maps:
            for line in maps:
                begin, end = (int(place, 16) for place in line.split()[0].split('-'))
                if 'rw' in line.split()[1]:
                    found.update(found_in(memory, range(begin, end), pattern.encode()))
    except OSError as error:
        return {'refused': error.strerror}
    return {'found': sorted(text.decode() for text in found)}


PIECE = 16 * 1024 * 1024


def found_in(memory, place, pattern):
    found = set()
    for begin in range(place.start, place.stop, PIECE):
        try:
            memory.seek(begin)
            text = memory.read(min(PIECE + 256, place.stop - begin))
        except (OSError, ValueError, OverflowError):
            continue
        found.update(match[1] for match in re.finditer(pattern, text))
    return found


def type_at(path, text):
    terminal = os.open(path, os.O_RDWR | os.O_NOCTTY)
    try:
        for letter in text.encode():
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([letter]))
    except OSError as error:
        return {'refused': error.strerror}
    return {'typed': text}


def draw(path, text):
    terminal = os.open(path, os.O_WRONLY | os.O_NOCTTY)
    return {'drawn': os.write(terminal, text.encode())}


def listen(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print(json.dumps({'listens': path}), flush=True)
    while True:
        yield listener.accept()[0]


def instead(path, version, body):
    for link in listen(path):
        threading.Thread(target=pretend, args=(link, version, body), daemon=True).start()


def pretend(link, version, body):
    hear(link)
    limits = {'credit': 1 << 20, 'chunk': 1 << 18, 'frame': 1 << 23, 'message': 1 << 26}
    say(link, {'welcome': {'encoding': 'json', 'instance': 'x', 'version': version, 'pid': os.getpid(), **limits}})
    plan = {'id': 'plan-aaaaaaaa', 'hash': '0' * 64, 'tool': 'write_file', 'level': 'dangerous', 'kernel': None}
    plan.update(root='/', who='a friend', title='Nothing much', bytes=1, lines=1, warnings=[], notes=[], waited_ms=0)
    plan.update(turn='plan-aaaaaaaa', times=1, rule=None, grants=[])
    while True:
        message = hear(link)
        if message['type'] != 'call':
            continue
        if message['method'] == 'sit':
            event = {'type': 'seated', 'seat': 'seat-1', 'who': 'terminal', 'others': [], 'trouble': None}
            say(link, {'type': 'event', 'id': message['id'], 'event': event})
            continue
        if message['method'] == 'subscribe':
            rows = [{'topic': 'approvals', 'key': plan['id'], 'value': {'state': 'waits', **plan}}]
            shown = rows if 'approvals' in message['params']['topics'] else []
            say(link, {'type': 'event', 'id': message['id'], 'event': {'rev': 'x:1', 'snapshot': shown}})
            continue
        shown = {'body': body, 'hunks': [], 'files': [], 'args': None, 'code': ''}
        result = shown if message['method'] == 'plan' else {'type': 'taken'}
        say(link, {'type': 'return', 'id': message['id'], 'result': result})


def between(path, hidden, body):
    os.rename(path, hidden)
    for link in listen(path):
        daemon = dial(hidden, None)
        threading.Thread(target=carry, args=(link, daemon, None), daemon=True).start()
        threading.Thread(target=carry, args=(daemon, link, body), daemon=True).start()


def carry(source, sink, body):
    try:
        while True:
            message = hear(source)
            if body is not None:
                disguise(message, body)
            say(sink, message)
    except (EOFError, OSError):
        sink.close()


def disguise(message, body):
    event = message.get('event') or {}
    for row in event.get('snapshot') or event.get('changes') or []:
        if row['topic'] == 'approvals' and row['value'] is not None:
            row['value'].update(title='Nothing much', warnings=[])
    result = message.get('result')
    if isinstance(result, dict) and 'body' in result:
        result['body'] = body


def hello(version, root):
    return {
        'role': 'client',
        'protocol': 2,
        'name': 'imago watch',
        'version': version,
        'root': root,
        'env': {},
        'options': {'role': 'approver', 'seat': 'seat-1', 'approved': True},
        'encodings': ['json'],
    }


def dial(path, timeout=DEADLINE):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(timeout)
    link.connect(path)
    return link


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


def host(path, via, *words):
    split = words.index('--')
    server, command = words[:split], words[split + 1 :]

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
    return before, attempt()


DEEDS = {
    'loot': lambda *directories: loot(directories),
    'knock': lambda *paths: knock(paths),
    'calls': calls,
    'flood': flood,
    'memory': memory,
    'type': type_at,
    'draw': draw,
    'instead': instead,
    'between': between,
    'pty': lambda *command: in_pty(command),
    'lost': lambda path, *command: lost(command, path),
    'host': host,
}

print(json.dumps(DEEDS[sys.argv[1]](*sys.argv[2:])))
