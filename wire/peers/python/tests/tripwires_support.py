"""Drives every look there is at one image, and holds each answer to what a safe look promises.

Nothing may have fired, nothing may be raised, every answer is of plain types that can be sent, bounded in size, and
nothing that was looked at is held on to but by the handles that were given out.
"""

import gc
import json
import types
import unittest

from imago import looking
from imago.handles import Handles
from imago.history import Errors, History
from imago.service import LOOKS
from tests.looking_support import FIRED

#: Characters of JSON that one answer may have, whatever was looked at.
ANSWER_MAX_CHARS = 1_500_000
PATHS = ("", ".field", ".missing", ".key", ".__class__", ".__dict__", ".__doc__", ".__name__", "[0]", "['key']")
ENDINGS = (".", ".k", "['", "['k", "[", "(", "(a, ", ".missing", " + f(", ".key.")
_PLAIN = (str, int, float, bool, type(None))

#: Looks that are asked of one name, with what else they are asked.
OF_A_NAME = {
    "definition": {"max_length": 500, "contexts": True},
    "describe": {},
    "arglist": {},
    "slots": {"limit": 50},
    "hierarchy": {"limit": 50},
}
OF_THE_IMAGE = (
    ("globals", {"modules": True, "limit": 1000}),
    ("globals", {"modules": False, "limit": 3, "filter": "K", "after": "c"}),
    ("apropos", {"pattern": "e", "limit": 200}),
    ("apropos", {"pattern": "trapped.", "limit": 200, "after": "key"}),
    ("threads", {"limit": 500, "frames": 50, "locals": True}),
    ("threads", {"limit": 500, "frames": 50, "locals": False, "filter": "e"}),
    ("history", {"limit": 50}),
    ("last_error", {}),
)


def image(namespace):
    return types.SimpleNamespace(
        namespace=namespace, handles=Handles("abcd1234"), history=History(), errors=Errors()
    )


def ask(of, look, **query):
    """The answer of one look, by its name on the wire."""
    if look == "inspect":
        return looking.inspect_static(of.namespace, query["expr"], of.handles)
    return LOOKS[look][1](of, query)


def unplain(answer):
    """The first part of an answer that is no plain value of JSON, or None."""
    waiting = [answer]
    while waiting:
        one = waiting.pop()
        if type(one) is dict:
            waiting += [*one.keys(), *one.values()]
        elif type(one) is list or type(one) is tuple:
            waiting += one
        elif not any(type(one) is kind for kind in _PLAIN):
            return type(one)
    return None


class TripwireCase(unittest.TestCase):
    """`self.namespace` is the top level of `self.image`."""

    def setUp(self):
        self.namespace = {"__name__": "__main__"}
        self.image = image(self.namespace)
        self.addCleanup(self.namespace.clear)
        # What other tests have left may tell that it is being let go of.
        gc.collect()
        FIRED.clear()

    def quiet(self, what):
        fired, FIRED[:] = list(FIRED), []
        self.assertEqual([], fired, what)

    def look(self, look, **query):
        """One answer, which ran nothing, and can be sent."""
        looked = ask(self.image, look, **query)
        what = f"{look} {str(query)[:200]}"
        self.quiet(what)
        self.assertIsNone(unplain(looked), what)
        sent = json.dumps(looked, allow_nan=False, ensure_ascii=False)
        if look != "complete":
            sent.encode("utf-8")
        self.assertLess(len(sent), ANSWER_MAX_CHARS, what)
        for section in (looked.get("value") or {}).values() if look == "inspect" else ():
            if type(section) is dict:
                self.assertNotIn("error", section, what)
        return looked

    def look_at(self, name):
        """All that can be asked about one name, its handle included."""
        inspected = self.look("inspect", expr=name)
        for look, query in OF_A_NAME.items():
            self.look(look, name=name, **query)
        handle = inspected.get("value", {}).get("handle")
        if handle is not None:
            self.look("more", handle=handle, **{"from": 0, "count": 50})
        for ending in ENDINGS:
            self.complete(name + ending)

    def complete(self, text):
        return self.look("complete", text=text, cursor=len(text), limit=50)

    def look_around(self):
        """All that can be asked of the image as a whole."""
        for look, query in OF_THE_IMAGE:
            self.look(look, **query)

    def look_everywhere(self, names=None, paths=("",)):
        for name in list(self.namespace) if names is None else names:
            if type(name) is str and name.isidentifier():
                for path in paths:
                    self.look_at(name + path)
        self.look_around()
