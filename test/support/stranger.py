"""A client by docs/editor-protocol.md alone: `stranger.py SCENE` prints what it saw, as one JSON object."""

import json
import os
import queue
import socket
import struct
import sys
import threading
import uuid

TOPICS = ["kernels", "approvals", "suspensions", "errors", "seats", "calls", "output"]
SOCKET = os.path.join(os.environ["IMAGO_RUNTIME_DIR"], "daemon.sock")


class Link:
    """One connection. Each call has a queue of what comes for it; the daemon's `ask` and `prove` are answered."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(SOCKET)
        self.calls, self.parts, self.opened = {}, {}, []
        self.last_words = queue.Queue()
        hello = {"role": "client", "protocol": 2, "name": "stranger", "version": "1.0", "root": os.getcwd()}
        self.put({"hello": {**hello, "env": {"PATH": os.environ["PATH"]}, "encodings": ["json"]}})
        self.welcome = self.get()["welcome"]
        threading.Thread(target=self.read, daemon=True).start()

    def put(self, message):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def get(self):
        while True:
            message = json.loads(self.exactly(struct.unpack(">I", self.exactly(4))[0]))
            if message.get("type") != "chunk":
                return message
            self.parts[message["stream"]] = self.parts.get(message["stream"], "") + message["data"]
            if message["last"]:
                return json.loads(self.parts.pop(message["stream"]))

    def read(self):
        try:
            while True:
                message = self.get()
                kind, number = message["type"], message.get("id")
                if kind == "ping":
                    self.put({"type": "pong", "n": message["n"]})
                elif kind == "call":
                    self.put({"type": "return", "id": number, "result": self.asked(message)})
                elif kind == "bye":
                    self.last_words.put(message)
                else:
                    self.calls[number].put(message)
                    if kind == "event":
                        size = len(json.dumps(message, ensure_ascii=False).encode())
                        self.put({"type": "credit", "id": number, "bytes": size})
        except (EOFError, OSError):
            for waits in self.calls.values():
                waits.put(None)

    def asked(self, message):
        if message["method"] == "ask":
            return {"answer": "Ada"}
        proof = open(message["params"]["file"], "r+b", buffering=0)
        proof.read(message["params"]["position"])
        self.opened.append(proof)
        return {"pid": os.getpid()}

    def send(self, method, params):
        number = len(self.calls) + 1
        self.calls[number] = queue.Queue()
        self.put({"type": "call", "id": number, "method": method, "params": params})
        return self.calls[number]

    def ask(self, method, params=None, events=None):
        waits = self.send(method, params or {})
        while (message := waits.get(timeout=30))["type"] == "event":
            if events is not None:
                events.append(message["event"])
        return message.get("result", message.get("error"))

    def tool(self, name, events=None, **args):
        named = {"tool": name, "args": args, "call": str(uuid.uuid4()), "follow": events is not None}
        return self.ask("call", named, events)


class Rows:
    """The rows of all topics by topic and key, kept over a break."""

    def __init__(self):
        self.rows, self.rev, self.how = {}, None, []

    def follow(self, link):
        self.waits = link.send("subscribe", {"topics": TOPICS, **({"since": self.rev} if self.rev else {})})

    def until(self, topic, holds):
        """The first row of the topic that it holds of, now or later."""
        while True:
            found = [row for (of, _), row in self.rows.items() if of == topic and holds(row)]
            if found:
                return found[0]
            event = self.waits.get(timeout=30)["event"]
            self.rev = event["rev"]
            self.how.append("snapshot" if "snapshot" in event else "changes")
            if "snapshot" in event:
                self.rows = {}
            for row in event.get("snapshot", event.get("changes")):
                self.rows[row["topic"], row["key"]] = row["value"]
            self.rows = {key: row for key, row in self.rows.items() if row is not None}


def looks(link, rows):
    kernel = link.ask("kernels")["announced"][0]["name"]
    looked = link.tool("inspect", expr="ORDERS")
    events = []
    asked = link.tool("eval_expr", events, expr="[print('x' * 400_000) or input('name? ') for _ in range(5)][-1]")
    rows.until("kernels", lambda row: row["state"] == "ready")
    rows.how.clear()
    link.socket.shutdown(2)
    again = Link()
    fails = "import threading; threading.Thread(target=total, args=(ORDERS[1],)).start()"
    again.tool("eval_expr", expr=fails)
    rows.follow(again)
    return {
        "kernel": kernel,
        "repr": looked["result"]["repr"]["text"],
        "asked": asked["result"]["value_repr"],
        "printed": sum(len(event.get("text", "")) for event in events),
        "error": rows.until("errors", lambda row: True),
        "how": sorted(set(rows.how)),
        "events": [one["name"] for one in again.ask("describe")["operations"] if "event" in one],
        "described": [one["who"] for one in again.ask("describe", {"name": "kernels"})["operations"]],
    }


def answers(link, rows):
    seated = link.send("sit", {"through": "stranger"}).get(timeout=30)["event"]
    first = {"path": "shop.py", "old_str": "'sale': 10", "new_str": "'sale': 20"}
    second = {"path": "shop.py", "old_str": "500", "new_str": "600"}
    edit = {"tool": "propose_file_edit", "args": {"edits": [first, second]}}
    Link().send("call", edit)
    waits = rows.until("approvals", lambda row: row["state"] == "waits")
    plan = link.ask("plan", {"plan": waits["id"]})
    named = {"plan": waits["id"], "hash": waits["hash"]}
    choices = [{"hunk": 1, "decision": "accept"}]
    unfit = link.ask("answer", {**named, "decision": "choose", "choices": choices})
    choices.append({"hunk": 2, "decision": "refuse"})
    taken = link.ask("answer", {**named, "decision": "choose", "choices": choices})
    ended = rows.until("approvals", lambda row: "ended" in row)
    changed = open("shop.py").read()
    undo = Link().send("call", {"tool": "undo_change", "args": {"change": ended["ended"]["undo"]}})
    waits = rows.until("approvals", lambda row: row["state"] == "waits")
    link.ask("answer", {"plan": waits["id"], "hash": waits["hash"], "decision": "approve"})
    return {
        "type": seated["type"],
        "hunks": [[hunk["before"], hunk["after"]] for hunk in plan["hunks"]],
        "unfit": unfit,
        "taken": taken["type"],
        "outcome": ended["outcome"],
        "changed": changed,
        "undone": undo.get(timeout=30)["result"]["ok"],
        "now": open("shop.py").read(),
    }


def resumes(link, rows):
    link.send("sit", {"through": "stranger"}).get(timeout=30)
    other = Link()
    other.tool("eval_expr", expr="total(ORDERS[1])", on_error="suspend")
    row = rows.until("suspensions", lambda row: row["news"]["type"] == "suspended")
    taken = link.ask("take", {"kernel": row["kernel"], "suspension": row["id"]})
    barred = other.tool("debug_restart", suspension=row["id"], leave=True)
    link.tool("debug_eval", suspension=row["id"], expr="order.update(discount='sale')")
    resumed = link.tool("debug_restart", suspension=row["id"], restart=0)
    ended = rows.until("suspensions", lambda row: row["news"]["type"] == "ended")
    return {
        "holder": taken["holder"]["type"],
        "barred": barred["error"]["code"],
        "value": resumed["result"]["value_repr"],
        "news": ended["news"]["how"],
        "own": ended["own"],
    }


def errs(link, rows):
    asked = {
        "tool": ["inspect", {"expr": "ORDERS"}],
        "missing": ["take", {"kernel": "shop"}],
        "seat": ["take", {"kernel": "shop", "suspension": "s1"}],
        "terminal": ["sit", {}],
        "display": ["display", {"path": "/etc/passwd"}],
    }
    said = {name: link.ask(*words) for name, words in asked.items()}
    link.put(b"{{{")
    return {**said, "bye": link.last_words.get(timeout=30)}


link, rows = Link(), Rows()
rows.follow(link)
scenes = {"looks": looks, "answers": answers, "resumes": resumes, "errs": errs}
print(json.dumps(scenes[sys.argv[1]](link, rows)))
