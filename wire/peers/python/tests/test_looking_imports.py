"""Looks asked of a real process: they answer beside what runs there, and import nothing.

The import of a program may be code of its own, and so may the finders that it asks.
"""

import os
import subprocess
import sys
import unittest
import zipfile

from tests.daemon import WAIT, Kernel, once
from tests.looking_support import fault_of
from tests.tripwires_support import ENDINGS, OF_A_NAME, OF_THE_IMAGE

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

SOURCES = {
    "plain.py": b"def add(a, b=1):\n    'Adds.'\n    return a + b\n\nclass Order:\n    'An order.'\n    number = 1\n"
    b"    def total(self):\n        self.paid = add(1)\n        return 'caf\\N{LATIN SMALL LETTER E WITH ACUTE}'\n",
    "latin.py": b"# coding: latin-1\ndef caf\xe9(\xfc=1): return add(\xfc)\n",
    "marked.py": b"# coding: utf-8\ndef caf\xc3\xa9(\xc3\xbc=1):\n    'Adds.'\n    return \xc3\xbc\n",
    "other.py": b"# coding: cp1252\ndef price(): return '\x80'\n",
}
#: From here on each import and each finder that is asked is told of, on any thread but that of evaluations.
ARMED = """
import builtins, _thread, sys
imports, own, real = [], _thread.get_ident(), builtins.__import__

def told(name, *rest, **more):
    if _thread.get_ident() != own:
        imports.append(name)
    return real(name, *rest, **more)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if _thread.get_ident() != own:
            imports.append("finder: " + name)

builtins.__import__ = told
sys.meta_path.insert(0, Finder())
"""
MADE = """
import asyncio, sys, threading
sys.path.insert(0, %r)
sys.path.insert(0, %r)
sys.path.insert(0, sys.path[0] + "/packed.zip")
import plain, latin, marked, other, packed
from tests.looking_samples import values
from plain import add, Order
held = values()
globals().update({name: value for name, value in held.items() if name.isidentifier()})
for module in ("tests", "tests.looking_samples", "tests.looking_support"):
    sys.modules.pop(module)
caf\u00e9 = latin.caf\u00e9

def wait(order=Order(), stop=threading.Event()):
    stop.wait()

threading.Thread(target=wait, daemon=True).start()
"""


class Imports(unittest.TestCase):
    maxDiff = None

    def test_the_first_source_that_is_read_imports_nothing_and_looks_answer_while_code_runs(self):
        with Kernel() as kernel:
            kernel.link.evaluate("import textwrap\n" + ARMED)
            for name in ("textwrap", "textwrap.dedent"):
                query = {"name": name, "max_length": 500, "contexts": True, "deadline_ms": int(WAIT * 1000)}
                self.assertEqual("found", kernel.link.call("definition", **query).answer()["type"])
            self.assertEqual("[]", kernel.link.value("[*{*imports}]"))
            running = kernel.link.start("import time\nprint('on', flush=True)\nwhile True: time.sleep(0.01)")
            running.until_printed("on")
            described = kernel.link.call("describe", name="textwrap.dedent", deadline_ms=int(WAIT * 1000)).answer()
            self.assertEqual("textwrap.dedent", described["value"]["qualified"])
            kernel.link.call("interrupt", call=running.name).answer()
            running.answer()

    @once
    def test_no_look_imports_anything(self):
        with Kernel() as kernel:
            folder = os.path.join(kernel.folder, "sources")
            os.mkdir(folder)
            for name, text in SOURCES.items():
                with open(os.path.join(folder, name), "wb") as stream:
                    stream.write(text)
            with zipfile.ZipFile(os.path.join(folder, "packed.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("packed.py", "def unpack(): return 'packed'\n" * 9)
            link = kernel.link
            self.assertEqual("done", link.evaluate(MADE % (HERE, folder))["type"])
            armed = link.evaluate(ARMED)
            self.assertEqual("done", armed["type"], armed)

            def look(which, **query):
                answer = link.call(which, deadline_ms=int(WAIT * 1000), **query).answer()
                self.assertNotEqual("timed_out", answer["type"])
                self.assertIsNone(fault_of(which, answer))
                return answer

            names = ["plain", "latin", "marked", "other", "add", "Order", "caf\u00e9", "marked.caf\u00e9", "other.price"]
            names += ["packed.unpack", "Order()", "Order.total", "wait"]
            names += [name for name in link.value("' '.join(held)").strip("'").split() if name.isidentifier()]
            unpack = look("definition", name="packed.unpack", max_length=50, contexts=False)
            self.assertIn("return 'packed'", str(unpack))
            for name in names:
                look("inspect", expr=name)
                for which, query in OF_A_NAME.items():
                    look(which, name=name, **query)
                for ending in ENDINGS[:2]:
                    look("complete", text=name + ending, cursor=len(name + ending), limit=20)
            for name in ("add", "Order", "Order.total", "packed.unpack", "object", "holder"):
                look("references", name=name, limit=20)
            for module in ("plain", "latin", "marked", "other"):
                look("symbols", module=module, internal=True, limit=50)
            for which, query in OF_THE_IMAGE:
                look(which, **query)
            outcome = link.evaluate("marked.caf\u00e9(add(1, None))", suspend={})
            name = outcome["suspension"]["id"]
            for frame in look("suspension", suspension=name, **{"from": 0, "count": 50})["value"]["frames"]:
                look("frame", suspension=name, frame=frame["number"])
            look("last_error")
            look("history", limit=50)
            self.assertEqual("[]", link.value("[*{*imports}]"))

    def test_the_looks_themselves_bring_in_no_large_library(self):
        script = (
            "import sys; from imago import looking\n"
            "print([name for name in ('numpy', 'pandas', 'torch', 'asyncio', 'socket', 'sqlite3') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, universal_newlines=True, check=True)
        self.assertEqual("[]\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
