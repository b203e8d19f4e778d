"""A client in Python: evaluates, subscribes, and sees a plan come and go where a person sits.

``python examples/websocket.py [FILE]``, after ``imago serve --web 7777``, which names the FILE.
"""

import json
import os
import sys

from websockets.sync.client import connect

with open(sys.argv[1] if sys.argv[1:] else os.environ["XDG_RUNTIME_DIR"] + "/imago/web") as file:
    web = json.load(file)
headers = {"Authorization": "Bearer " + web["token"]}
own = {"name": "example", "version": "1", "root": os.getcwd(), "env": {"PATH": os.environ["PATH"]}}
new = {"path": f"example-{os.getpid()}.txt", "content": "hello\n"}
with connect(web["address"], subprotocols=["imago.v2.json"], additional_headers=headers) as socket:
    def say(**message):
        socket.send(json.dumps(message))

    say(hello={"role": "client", "protocol": 2, "encodings": ["json"], **own})
    say(type="call", id=1, method="subscribe", params={"topics": ["approvals"]})
    say(type="call", id=2, method="call", params={"tool": "eval_expr", "args": {"expr": "6 * 7"}})
    for message in map(json.loads, socket):
        if message.get("type") == "ping":
            say(type="pong", n=message["n"])
        event = message.get("event", {})
        for plan in [row["value"] for row in event.get("snapshot", []) + event.get("changes", [])]:
            if plan and new["path"] in plan["title"]:
                print(plan["state"] + ":", plan["title"])
                if plan["state"] == "waits":
                    say(type="cancel", id=3)
        if message.get("type") in ("return", "fail"):
            print(message)
            if message["id"] == 2:
                say(type="call", id=3, method="call", params={"tool": "create_file", "args": new})
            if message["id"] == 3:
                say(type="cancel", id=1)  # Answered after its last event.
            if message["id"] == 1:
                break
