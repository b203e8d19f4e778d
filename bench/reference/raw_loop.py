"""The least possible program: one thread, one socket, length-prefixed JSON in and out.

It evaluates what it is sent and answers with the repr. No output capture, no errors, no interrupt, no memory of
what ran: whatever Imago costs more than this is the price of those.

    python raw_loop.py SOCKET
"""

import json
import socket
import struct
import sys


def main() -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(1)
    print("listening", flush=True)
    connection, _ = listener.accept()
    stream = connection.makefile("rb")
    namespace: dict = {}
    while header := stream.read(4):
        source = json.loads(stream.read(struct.unpack(">I", header)[0]))["source"]
        body = json.dumps({"value": repr(eval(source, namespace))}).encode()
        connection.sendall(struct.pack(">I", len(body)) + body)


main()
