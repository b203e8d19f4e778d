"""A kernel behind ``kernel_player.py`` that starts at once: it answers what a host asks first, and evaluates ``$ProcessID``.

All else that it is to evaluate prints ``started``, and lasts until it is aborted.
"""

import json
import os
from typing import Any

from tests.kernel_player import Name, Session

_PLACE = {"place": ["Global`", ["System`", "Global`"]]}


def evaluate(function: str, text: str, session: Session) -> Any:
    if function != "Imago`call":
        return "" if "NameQ" in text else Name("Null")
    request = json.loads(text)
    return json.dumps({"id": request["id"], "answer": _answer(request, session)})


def _answer(request: dict, session: Session) -> dict:
    match request["call"]:
        case "hello":
            return {"version": "14.0.0 for Tests (none)", "mark": "small", "contexts": ["System`", "Global`"], **_PLACE}
        case "read":
            return {"pieces": [[0, len(request["text"])]]}
        case "exist":
            return {"exist": [name.startswith("System`") for name in request["names"]]}
        case "names":
            return {"names": ["Plus"]}
        case "evaluate" if request["text"] == "$ProcessID":
            value = {"data": ["i", str(os.getpid())], "whole": True, "length": 0}
            return {"status": "done", "line": 1, "root": 1, "value": value, "output": str(os.getpid()), **_PLACE}
        case "evaluate":
            session.send("TextPacket", "started")
            session.pause(600)
    return _PLACE
