"""What the tests of looks about names share: an image to look at, modules written for it, and the contract's shapes."""

import importlib.util
import json
import linecache
import os
import sys
import tempfile
import textwrap
import types
import unittest

from imago.compiling import Compiler
from imago.handles import Handles
from imago.looking.completion import complete
from imago.looking.definitions import definition
from imago.looking.description import arglist, describe
from imago.looking.names import apropos, globals_of, symbols

TEXT = {"text", "truncated", "original_len"}
SHAPES = {
    definition: {
        "name",
        "qualified",
        "kind",
        "language",
        "source",
        "because",
        "file",
        "line",
        "end_line",
        "origin",
        "current",
        "wrappers",
        "notes",
    },
    describe: {"name", "qualified", "kind", "type", "doc", "signature", "module", "also", "facts", "file", "line"},
    arglist: {"name", "qualified", "signature", "because", "parameters", "returns", "doc", "file", "line"},
    complete: {"from", "to", "completions", "total", "call", "because"},
    apropos: {"matches", "total", "searched"},
    symbols: {"module", "file", "doc", "symbols", "total"},
    globals_of: {"globals", "total"},
}
OPTIONAL = {describe: {"value", "handle"}, apropos: {"next"}, symbols: {"next"}, globals_of: {"next"}, definition: {"contexts"}}
KINDS = (
    "function method generic_function macro class module property variable constant keyword parameter".split()
)


class ImageCase(unittest.TestCase):
    """Looks at `self.image`, whose namespace is empty at first, and holds each answer to the contract."""

    def setUp(self):
        self.namespace = {"__name__": "__main__"}
        self.image = types.SimpleNamespace(namespace=self.namespace, handles=Handles("abcd1234"))
        self.compiler = Compiler()
        self.addCleanup(_forget_evaluations)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def ask(self, look, **query):
        looked = look(self.image, query)
        json.dumps(looked, allow_nan=False, ensure_ascii=False).encode("utf-8")
        if looked["type"] == "found":
            self.check(look, looked["value"])
        return looked

    def found(self, look, **query):
        looked = self.ask(look, **query)
        self.assertEqual("found", looked["type"], looked)
        return looked["value"]

    def check(self, look, value):
        self.assertEqual(set(), SHAPES[look] - set(value))
        self.assertEqual(set(), set(value) - SHAPES[look] - OPTIONAL.get(look, set()))
        for name in ("line", "end_line"):
            self.assertIn(type(value.get(name)), (int, type(None)), name)
        for part in [value, *value.get("completions", ()), *value.get("matches", ()), *value.get("symbols", ())]:
            self.assertIn(part.get("kind", "class"), KINDS)

    def define(self, name, **query):
        return self.found(definition, name=name, **{"max_length": 1_000_000, **query})

    def source(self, name):
        return self.define(name)["source"]["text"]

    def evaluate(self, source, file=None, line=None):
        """Runs code at the top level, as an evaluation does; returns what the line cache calls its text."""
        statements, expression = self.compiler.compile(textwrap.dedent(source), file, line)
        for code in (statements, expression):
            if code is not None:
                eval(code, self.namespace)
        return (statements or expression).co_filename

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
        spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=search)
        return self.load_spec(spec)

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
