"""Drives every look there is at one image, and holds each answer to what a safe look promises.

Nothing may have fired, nothing may be raised, every answer is of plain types that can be sent, bounded in size, and
nothing that was looked at is held on to but by the handles that were given out.
"""

import gc
import json
import sys
import tempfile
import types
import unittest

from imago import looking
from imago.handles import Handles
from imago.history import Errors, History
from imago.service import LOOKS
from tests.looking_support import FIRED, fault_of

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
    ("errors", {"count": 20}),
)


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
        self.image = types.SimpleNamespace(
            namespace=self.namespace, handles=Handles("abcd1234"), history=History(), errors=Errors()
        )
        self.addCleanup(self.namespace.clear)
        # What other tests have left may tell that it is being let go of.
        gc.collect()
        FIRED.clear()

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def module(self, name, module=None, **fields):
        """A loaded module; the dict of one that lies is reached past it."""
        module = types.ModuleType(name) if module is None else module
        types.ModuleType.__dict__["__dict__"].__get__(module).update(fields)
        sys.modules[name] = module
        self.addCleanup(sys.modules.pop, name, None)
        return module

    def quiet(self, what):
        fired, FIRED[:] = list(FIRED), []
        self.assertEqual([], fired, what)

    def look(self, look, **query):
        """One answer, which ran nothing, and can be sent."""
        if look == "inspect":
            looked = looking.inspect_static(self.namespace, query["expr"], self.image.handles)
        else:
            looked = LOOKS[look][1](self.image, query)
        what = f"{look} {str(query)[:200]}"
        self.quiet(what)
        self.assertIsNone(unplain(looked), what)
        sent = json.dumps(looked, allow_nan=False, ensure_ascii=False)
        if look != "complete":
            sent.encode("utf-8")
        self.assertLess(len(sent), ANSWER_MAX_CHARS, what)
        self.assertIsNone(fault_of(look, looked), what)
        for name, section in (looked.get("value") or {}).items() if look == "inspect" else ():
            if type(section) is dict and name != "exprs":
                self.assertNotIn("error", section, what)
        return looked

    def look_at(self, name, endings=ENDINGS, looks=tuple(OF_A_NAME)):
        """All that can be asked about one name, its handle included; or some of it."""
        inspected = self.look("inspect", expr=name)
        described = self.look("describe", name=name)
        if inspected["type"] == described["type"] == "not_found":
            # The other looks would come as far.
            self.complete(name + endings[0])
            return
        for look in looks:
            if look != "describe":
                self.look(look, name=name, **OF_A_NAME[look])
        handle = inspected.get("value", {}).get("handle")
        if handle is not None:
            self.look("more", handle=handle, **{"from": 0, "count": 50})
        for ending in endings:
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
