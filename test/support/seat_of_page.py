"""A seat that does only what docs/editor-protocol.md says, and knows nothing else of Imago: ``seat_of_page.py SOCKET ROOT``.

It sits, follows the plans that wait, fetches each, prints a line of JSON about it, and approves it.
"""

import json
import os
import socket
import struct
import sys


class Client:
    def __init__(self, path, root):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.asked = 0
        self.calls = {}
        self.streams = {}
        self.pieces = 0
        hello = {'role': 'client', 'protocol': 2, 'name': 'seat of the page', 'version': '1', 'root': root}
        self.send({'hello': {**hello, 'env': {}, 'encodings': ['json']}})
        self.limits = json.loads(self.frame())['welcome']

    def send(self, message):
        body = json.dumps(message).encode()
        self.socket.sendall(struct.pack('>I', len(body)) + body)

    def bytes(self, count):
        got = b''
        while len(got) < count:
            more = self.socket.recv(count - len(got))
            if not more:
                raise EOFError
            got += more
        return got

    def frame(self):
        (length,) = struct.unpack('>I', self.bytes(4))
        return self.bytes(length).decode()

    def call(self, method, params, on_answer):
        self.asked += 1
        self.calls[self.asked] = on_answer
        self.send({'type': 'call', 'id': self.asked, 'method': method, 'params': params})

    def listen(self, heard):
        while True:
            body = self.frame()
            message = json.loads(body)
            if message['type'] == 'chunk':
                self.pieces += 1
                body = self.streams.pop(message['stream'], '') + message['data']
                if not message['last']:
                    self.streams[message['stream']] = body
                    continue
                message = json.loads(body)
            if message['type'] == 'event':
                self.send({'type': 'credit', 'id': message['id'], 'bytes': len(body.encode())})
                heard(message['event'])
            elif message['type'] == 'return':
                self.calls.pop(message['id'])(message['result'])
            elif message['type'] == 'fail':
                raise SystemExit(json.dumps(message))
            elif message['type'] == 'ping':
                self.send({'type': 'pong', 'n': message['n']})
            elif message['type'] == 'call' and message['method'] == 'prove':
                self.proof = os.open(message['params']['file'], os.O_RDWR)
                os.read(self.proof, message['params']['position'])
                self.send({'type': 'return', 'id': message['id'], 'result': {'pid': os.getpid()}})


def tell(**facts):
    print('\n@' + json.dumps(facts), flush=True)


def main():
    client = Client(*sys.argv[1:])

    seen = set()

    def heard(event):
        if event.get('type') == 'seated':
            tell(seated=event['seat'])
            client.call('subscribe', {'topics': ['approvals']}, lambda _: None)
        for row in event.get('snapshot') or event.get('changes') or []:
            plan = row['value']
            if plan is not None and plan['state'] == 'waits' and plan['id'] not in seen:
                seen.add(plan['id'])
                client.call('plan', {'plan': plan['id']}, lambda shown, plan=plan: answer(plan, shown['body']))

    def answer(plan, body):
        lines = body.rstrip('\n').split('\n')
        size = len(body.encode())
        tell(title=plan['title'], whole=size == plan['bytes'], lines=len(lines), last=lines[-1], pieces=client.pieces)
        given = {'plan': plan['id'], 'hash': plan['hash'], 'decision': 'approve'}
        client.call('answer', given, lambda outcome: tell(answered=outcome['type']))

    client.call('sit', {}, lambda _: None)
    client.listen(heard)


main()
