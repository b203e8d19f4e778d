"""A client of the daemon in Python: evaluates, lists the kernels, subscribes, and sees a plan come and go.

``pip install websockets``; ``imago serve --web 7777`` names the file that it takes::

    python examples/websocket.py RUNTIME_DIR/web
"""

import itertools
import json
import os
import sys

from websockets.sync.client import connect

numbers = itertools.count(1)
answers = {}


def say(**message):
    socket.send(json.dumps(message))


def ask(method, **params):
    number = next(numbers)
    say(type="call", id=number, method=method, params=params)
    return number


def heard(event):
    for row in event.get("snapshot", []) + event.get("changes", []):
        plan = row["value"]
        if plan and path in plan["title"]:
            print(plan["state"] + ":", plan["title"])
            if plan["state"] == "waits":
                say(type="cancel", id=change)


def answer(number):
    while number not in answers:
        message = json.loads(socket.recv())
        if message.get("type") == "ping":
            say(type="pong", n=message["n"])
        elif message.get("type") == "event":
            heard(message["event"])
        elif message.get("type") in ("return", "fail"):
            answers[message["id"]] = message
    return answers.pop(number)


with open(sys.argv[1], encoding="utf-8") as file:
    web = json.load(file)
headers = {"Authorization": "Bearer " + web["token"]}
with connect(web["address"], subprotocols=["imago.v2.json"], additional_headers=headers) as socket:
    own = {"name": "example", "version": "1", "root": os.getcwd(), "env": {"PATH": os.environ["PATH"]}}
    say(hello={"role": "client", "protocol": 2, "encodings": ["json"], **own})
    print(answer(ask("call", tool="eval_expr", args={"expr": "6 * 7"})))
    print(answer(ask("kernels")))

    path = f"example-{os.getpid()}.txt"
    ask("subscribe", topics=["approvals"])
    change = ask("call", tool="create_file", args={"path": path, "content": "hello\n"})
    print(answer(change))
    # Each answer is awaited with what is heard before it.
    answer(ask("status"))
