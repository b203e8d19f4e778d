"""A small program for the tests of names and of loading: modules in files, imported and forgotten again."""

import gc
import importlib
import os
import shutil
import sys
import tempfile
import textwrap
import types
import unittest

from imago.compiling import Compiler
from imago.handles import Handles


class Program(unittest.TestCase):
    """Tests on a package `shop` of files of their own, which `write` makes and `load` imports."""

    maxDiff = None

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="imago-program-"))
        sys.path.insert(0, self.folder)
        self.addCleanup(self._forget)
        self.before = dict(sys.modules)
        os.mkdir(os.path.join(self.folder, "shop"))
        self.write("__init__", "")
        self.namespace = {"__name__": "__main__"}
        self.image = types.SimpleNamespace(namespace=self.namespace, handles=Handles("abcd1234"))
        self.evaluator = types.SimpleNamespace(namespace=self.namespace, compiler=Compiler())

    def _forget(self):
        sys.path.remove(self.folder)
        for name in [name for name in sys.modules if name not in self.before]:
            if name == "shop" or name.startswith("shop."):
                del sys.modules[name]
        importlib.invalidate_caches()
        shutil.rmtree(self.folder)
        # What is looked for by the collector in the next test is not to be found in the program of this one.
        self.evaluator = self.image = self.namespace = None
        gc.collect()

    def path(self, module):
        return os.path.join(self.folder, "shop", *module.split(".")) + ".py"

    def write(self, module, text):
        with open(self.path(module), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return self.path(module)

    def load(self, module, text):
        """The module, imported from a text."""
        self.write(module, text)
        importlib.invalidate_caches()
        return importlib.import_module("shop." + module)
