"""An MCP client that answers for the person. Prints what its call of write_file came to.

``self_approving.py HOW NAME COMMAND ...``: COMMAND is ``imago mcp``, NAME is what it calls itself, and HOW is one of

``alone``: it starts that itself.
``below``: it is started by a program that has such a server of its own, as the shell of an agent is.
``become``: the same, and it puts the server in its own place, so that this stands right below that program.
``silent``: it speaks to the daemon without such a server, so that nobody shows which process it is. COMMAND is then the
socket, the version and the project.
"""

import json
import os
import socket
import struct
import subprocess
import sys

YES = {'action': 'accept', 'content': {'decision': 'approve'}}
CALL = {'name': 'write_file', 'arguments': {'path': 'theirs.txt', 'content': 'theirs\n'}}


class Client:
    def __init__(self, name, reading, writing):
        self.reading, self.writing = reading, writing
        self.asked = []
        self.request(
            1,
            'initialize',
            {
                'protocolVersion': '2025-11-25',
                'capabilities': {'elicitation': {'form': {}}},
                'clientInfo': {'name': name, 'version': '1'},
            },
        )
        self.say({'method': 'notifications/initialized'})

    def say(self, message):
        self.writing.write(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n')
        self.writing.flush()

    def request(self, number, method, params):
        """The answer; whatever it is asked meanwhile is answered with yes."""
        self.say({'id': number, 'method': method, 'params': params})
        for line in self.reading:
            message = json.loads(line)
            if message.get('method') == 'elicitation/create':
                self.asked.append(message['params']['message'])
                self.say({'id': message['id'], 'result': YES})
            elif message.get('id') == number and 'method' not in message:
                return message
        return {}

    def calls(self):
        result = self.request(2, 'tools/call', CALL).get('result', {})
        text = ''.join(block.get('text', '') for block in result.get('content', []))
        return {'asked': len(self.asked), 'failed': result.get('isError', False), 'text': text}


def started(name, command):
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return server, Client(name, server.stdout, server.stdin)


def alone(name, command):
    server, client = started(name, command)
    try:
        return client.calls()
    finally:
        server.kill()
        server.wait()


def below(name, command, how):
    """With a server of its own, and with what its shell runs."""
    server, _ = started('a-host', command)
    try:
        ran = subprocess.run([sys.executable, __file__, how, name, *command], stdout=subprocess.PIPE, check=True)
        return json.loads(ran.stdout)
    finally:
        server.kill()
        server.wait()


def becoming(name, command):
    """A child goes on as the client, and this process becomes the server."""
    to_server, to_client, out = os.pipe(), os.pipe(), os.dup(1)
    if os.fork() == 0:
        os.close(to_server[0])
        os.close(to_client[1])
        os.close(1)
        client = Client(name, os.fdopen(to_client[0], 'rb'), os.fdopen(to_server[1], 'wb'))
        os.write(out, json.dumps(client.calls()).encode())
        os._exit(0)
    os.dup2(to_server[0], 0)
    os.dup2(to_client[1], 1)
    for end in (*to_server, *to_client, out):
        os.close(end)
    os.execvp(command[0], command)


def silent(name, path, version, root):
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    stream = link.makefile('rwb')
    hello = {
        'role': 'mcp',
        'protocol': 2,
        'name': 'imago mcp',
        'version': version,
        'root': root,
        'env': {},
        'encodings': ['json'],
        'options': {'profile': 'full'},
    }
    body = json.dumps({'hello': hello}).encode()
    stream.write(struct.pack('>I', len(body)) + body)
    stream.flush()
    (length,) = struct.unpack('>I', stream.read(4))
    stream.read(length)
    return Client(name, stream, stream).calls()


def main():
    how, name, *command = sys.argv[1:]
    if how == 'becoming':
        becoming(name, command)
    elif how == 'become':
        print(json.dumps(below(name, command, 'becoming')))
    elif how == 'below':
        print(json.dumps(below(name, command, 'alone')))
    elif how == 'silent':
        print(json.dumps(silent(name, *command)))
    else:
        print(json.dumps(alone(name, command)))


main()
