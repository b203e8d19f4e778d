"""An image to look at, with modules written for it; each answer is held to the contract."""

import importlib.util
import json
import linecache
import os
import sys
import tempfile
import textwrap
import types
import unittest

from imago import looking
from imago.compiling import Compiler
from imago.handles import Handles
from imago.service import LOOKS
from tests.looking_support import fault_of


class ImageCase(unittest.TestCase):
    """Looks at `self.image`, whose namespace is empty at first."""

    maxDiff = None

    def setUp(self):
        self.namespace = {"__name__": "__main__"}
        self.handles = Handles("abcd1234")
        self.image = types.SimpleNamespace(namespace=self.namespace, handles=self.handles)
        self.compiler = Compiler()
        self.addCleanup(_forget_evaluations)

    # Answers, by the names that looks have on the wire.

    def ask(self, look, **query):
        if look == "inspect":
            looked = looking.inspect_static(self.namespace, query["expr"], self.handles, query.get("frame"))
        else:
            looked = LOOKS[look][1](self.image, query)
        json.dumps(looked, allow_nan=False, ensure_ascii=False).encode("utf-8")
        self.assertIsNone(fault_of(look, looked), query)
        return looked

    def found(self, look, **query):
        looked = self.ask(look, **query)
        self.assertEqual("found", looked["type"], looked)
        return looked["value"]

    def assert_not_found(self, look, nearest=None, **query):
        looked = self.ask(look, **query)
        self.assertEqual("not_found", looked["type"], looked)
        if nearest is not None:
            self.assertEqual(nearest, looked["nearest"][0])
        return looked

    def seen(self, value):
        """The sections of a look at one value, which are the same when it is looked at again."""
        self.namespace["x"] = value
        seen = self.found("inspect", expr="x")
        self.assertEqual(seen, self.found("inspect", expr="x"), "looking twice differs")
        return seen

    def text(self, value):
        return self.seen(value)["repr"]["text"]

    def more(self, handle, start, count):
        looked = self.ask("more", handle=handle, **{"from": start, "count": count})
        return looked.get("value", looked)

    def define(self, name, **query):
        return self.found("definition", name=name, **{"max_length": 1_000_000, **query})

    def source(self, name):
        return self.define(name)["source"]["text"]

    # What there is to look at.

    def evaluate(self, source, file=None, line=None):
        """Runs code at the top level, as an evaluation does; returns what the line cache calls its text."""
        statements, expression = self.compiler.compile(textwrap.dedent(source), file, line)
        for code in (statements, expression):
            if code is not None:
                eval(code, self.namespace)
        return (statements or expression).co_filename

    def keep_lines(self, file, source):
        """Puts a text into the line cache, and runs it at the top level."""
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        self.addCleanup(linecache.cache.pop, file)
        exec(compile(source, file, "exec"), self.namespace)

    @property
    def folder(self):
        """A folder of this test."""
        if not hasattr(self, "_folder"):
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            self._folder = os.path.realpath(folder.name)
        return self._folder

    def write(self, name, text):
        """A file in the folder of this test; returns its path."""
        path = os.path.join(self.folder, *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(textwrap.dedent(text))
        self.addCleanup(linecache.cache.pop, path, None)
        return path

    def load(self, name, text, file=None):
        """A module that is loaded from a file of this test, and is in `sys.modules`."""
        path = self.write(file or name.replace(".", "/") + ".py", text)
        search = [os.path.dirname(path)] if path.endswith("__init__.py") else None
        return self.load_spec(importlib.util.spec_from_file_location(name, path, submodule_search_locations=search))

    def load_spec(self, spec):
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        self.addCleanup(sys.modules.pop, spec.name, None)
        spec.loader.exec_module(module)
        outer, _, last = spec.name.rpartition(".")
        if outer in sys.modules:
            setattr(sys.modules[outer], last, module)
        return module


def _forget_evaluations():
    for name in [name for name in linecache.cache if name.startswith("<imago-")]:
        del linecache.cache[name]
