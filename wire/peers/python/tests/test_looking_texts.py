"""Definitions by where their text is: evaluated, typed in a cell, in a file that may have changed, in an archive."""

import importlib
import importlib.machinery
import importlib.util
import inspect
import linecache
import os
import py_compile
import sys
import unittest
import warnings
import zipfile

from tests.daemon import LONG
from tests.looking_image import ImageCase

_PLACE = ("file", "line", "end_line", "origin", "current")


SEVERAL = """import sys
if sys.platform == "nowhere":
    class Thing:
        def run(self):
            return 1
else:
    class Thing:
        def run(self):
            return 2
def make():
    class Thing:
        def run(self): return 3
    return Thing
Local = make()
class Twice:
    x = 1
First = Twice
class Twice:
    y = 1
"""


class Typed(ImageCase):
    def test_what_was_evaluated_has_its_source(self):
        file = self.evaluate("""
            x = [1,
                 2]
            def twice(a):
                return a * 2
            class Typed:
                field = 1
                def run(self): pass
            class Bare:
                pass
            half = lambda a: a / 2
        """)
        for name, line, end, kind in (
            ("x", 2, 3, "variable"),
            ("twice", 4, 5, "function"),
            ("Typed", 6, 8, "class"),
            ("Typed.run", 8, 8, "method"),
            ("Typed.field", 7, 7, "variable"),
            ("Bare", 9, 10, "class"),
            ("half", 11, 11, "function"),
        ):
            value = self.define(name)
            self.assertEqual(("typed", True, kind), (value["origin"], value["current"], value["kind"]), name)
            self.assertEqual((file, line, end), (value["file"], value["line"], value["end_line"]), name)

    def test_the_newest_of_several_evaluations_counts(self):
        self.evaluate("x = 1\nclass Bare: pass")
        self.evaluate("x = 2\nclass Bare: old = 1")
        self.assertEqual("x = 2", self.source("x"))
        self.assertEqual("class Bare: old = 1", self.source("Bare"))

    def test_what_was_evaluated_with_a_place_stands_there(self):
        path = self.write("app.py", "\n" * 50)
        self.evaluate("def placed():\n    return 1\ny = 5\n", path, 41)
        value = self.define("placed")
        self.assertEqual((path, 41, 42, "file", True), tuple(value[key] for key in _PLACE))
        self.assertEqual("def placed():\n    return 1", value["source"]["text"])
        value = self.define("y")
        self.assertEqual((path, 43, 43, "file", True), tuple(value[key] for key in _PLACE))

    def test_cells_of_ipython_are_typed(self):
        for file in ("<ipython-input-3-0a1b>", "/tmp/ipykernel_77/123.py"):
            self.keep_lines(file, "def cell():\n    return 1\n\nz = 3\n")
            value = self.define("cell")
            self.assertEqual((file, 1, 2, "typed", None), tuple(value[key] for key in _PLACE))
            self.assertEqual({"text": "def cell():\n    return 1\n\nz = 3\n"}, self.found("kept_text", file=file))
            self.assertEqual(("z = 3", file), (self.source("z"), self.define("z")["file"]))

    def test_the_script_of_the_image_is_its_file(self):
        path = self.write("script.py", "rate = 2\n\n\ndef run():\n    return rate\n\n\nclass Bare:\n    pass\n")
        self.namespace["__file__"] = path
        sys.modules["__main__"], before = type(sys)("__main__"), sys.modules["__main__"]
        self.addCleanup(sys.modules.__setitem__, "__main__", before)
        self.image.namespace = self.namespace = sys.modules["__main__"].__dict__
        self.namespace["__file__"] = path
        with open(path) as stream:
            exec(compile(stream.read(), path, "exec"), self.namespace)
        for name, line in (("rate", 1), ("run", 4), ("Bare", 8), ("__main__.run", 4)):
            self.assertEqual((path, line), (self.define(name)["file"], self.define(name)["line"]), name)

    def test_a_variable_that_nothing_assigned_says_why(self):
        self.namespace["odd"] = 5
        value = self.define("odd")
        self.assertEqual((None, "unknown"), (value["source"], value["origin"]))
        self.assertIn("odd", value["because"])


class Files(ImageCase):
    TEXT = "def first():\n    return 1\n\n\nclass Thing:\n    def run(self):\n        return 2\n"

    def test_of_code_from_a_file_it_is_told_what_runs_and_nothing_is_claimed(self):
        module = self.load("changing", self.TEXT)
        for name, what, functions in (
            ("changing.first", "function", ["first"]),
            ("changing.Thing", "class", ["Thing.run"]),
            ("changing.Thing.run", "function", ["Thing.run"]),
            ("changing", "module", ["first"]),
        ):
            value = self.define(name)
            told = value["running"]
            self.assertEqual((None, what, module.__file__), (value["current"], told["what"], told["path"]), name)
            self.assertEqual(functions, [one["qualified"] for one in told["functions"]])
            self.assertEqual(32, len(told["functions"][0]["fingerprint"]))

    def test_what_only_moved_has_its_new_line(self):
        self.load("moving", self.TEXT)
        self.write("moving.py", "import os\n\n\ndef other():\n    pass\n\n\n" + self.TEXT)
        for name, line in (("moving.first", 8), ("moving.Thing", 12), ("moving.Thing.run", 13)):
            self.assertEqual(line, self.define(name)["line"], name)

    def test_what_the_file_does_not_define_any_more_is_said_to_be_gone(self):
        self.load("going", self.TEXT)
        self.write("going.py", "x = 1\n")
        value = self.define("going.first")
        self.assertEqual((None, False), (value["source"], value["current"]))
        self.assertIn("does not define `first` any more; it stood on line 1", value["because"])

    def test_the_text_as_it_was_loaded_is_kept_where_the_line_cache_still_has_it(self):
        module = self.load("cached", self.TEXT)
        self.assertEqual({"text": None}, self.found("kept_text", file=module.__file__))
        linecache.getlines(module.__file__)
        self.write("cached.py", self.TEXT.replace("return 1", "return 3"))
        self.assertEqual({"text": self.TEXT}, self.found("kept_text", file=module.__file__))

    def test_a_mistake_elsewhere_in_the_file_hides_nothing(self):
        self.load("broken", self.TEXT)
        self.write("broken.py", "def ((:\n    x = = 1\n\n\n" + self.TEXT + "\n\nclass Late(:\n")
        value = self.define("broken.first")
        self.assertEqual(5, value["line"])
        self.assertEqual(9, self.define("broken.Thing")["line"])

    def test_the_right_one_of_several_classes_of_one_name(self):
        self.load("several", SEVERAL)
        for name, line in (("Thing", 7), ("Local", 11), ("Twice", 18), ("First", 15)):
            self.assertEqual(line, self.define(f"several.{name}")["line"], name)

    def test_classes_that_nothing_tells_apart_are_said_to_be_several(self):
        self.load("same", "class Same:\n    pass\n\n\nFirst = Same\n\n\nclass Same:\n    pass\n")
        value = self.define("same.First")
        if sys.version_info >= (3, 13):
            self.assertEqual((1, []), (value["line"], value["notes"]))
        else:
            self.assertEqual(8, value["line"])
            self.assertIn("2 classes of this name", value["notes"][0])

    def test_a_table_that_is_too_long_to_be_parsed_has_its_lines(self):
        rows = "".join(f"    ({number}, {'x' * 40!r}),\n" for number in range(10_000))
        self.load("table", f"before = 1\nROWS = [\n{rows}]\nafter = 2\n")
        value = self.define("table.ROWS", max_length=100)
        self.assertEqual((2, 10_003, True), (value["line"], value["end_line"], value["source"]["truncated"]))
        self.assertEqual(10_004, self.define("table.after")["line"])

    def test_compiled_python_without_its_source_has_a_place_and_no_text(self):
        path = self.write("sourceless.py", self.TEXT)
        compiled = os.path.join(self.folder, "sourceless.pyc")
        py_compile.compile(path, compiled, doraise=True)
        os.remove(path)
        loader = importlib.machinery.SourcelessFileLoader("sourceless", compiled)
        self.load_spec(importlib.util.spec_from_file_location("sourceless", compiled, loader=loader))
        value = self.define("sourceless.first")
        self.assertEqual((None, path, 1), (value["source"], value["file"], value["line"]))
        self.assertIn("cannot be read", value["because"])
        self.assertIsNone(self.define("sourceless.Thing")["source"])
        self.assertIsNone(self.define("sourceless")["source"])

    def test_a_module_in_an_archive_has_its_text(self):
        archive = os.path.join(self.folder, "lib.zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("zipped/__init__.py", self.TEXT)
        sys.path.insert(0, archive)
        self.addCleanup(sys.path.remove, archive)
        self.addCleanup(sys.modules.pop, "zipped", None)
        importlib.import_module("zipped")
        value = self.define("zipped.first")
        self.assertEqual(os.path.join(archive, "zipped", "__init__.py"), value["file"])
        self.assertEqual("def first():\n    return 1", value["source"]["text"])
        self.assertEqual({"text": self.TEXT}, self.found("kept_text", file=value["file"]))
        self.assertEqual(5, self.define("zipped.Thing")["line"])

    def test_a_module_of_a_loader_that_is_somebodys_code_says_so(self):
        class Loader:
            def create_module(self, spec):
                return None

            def exec_module(self, module):
                exec("def f(): pass", module.__dict__)

            def get_source(self, name):
                raise AssertionError("was asked")

        self.load_spec(importlib.util.spec_from_loader("strange", Loader()))
        value = self.define("strange")
        self.assertIsNone(value["source"])
        self.assertIn("Loader", value["because"])
        self.assertIsNone(self.define("strange.f")["source"])

    def test_a_text_that_the_compiler_would_warn_of_is_read_without_a_warning(self):
        text = "def odd(x):\n    return '\\d' if x is 1 else f'\\{x}'\n\n\nOTHER = '\\q'\n\n\n"
        text += "def last():\n    return 1if 2else '\\777'\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.load("odd", text)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            self.assertIn("x is 1", self.source("odd.odd"))
            self.assertEqual("OTHER = '\\q'", self.source("odd.OTHER"))
            self.assertIn("777", self.source("odd.last"))
        self.assertEqual([], seen)

    def test_functions_of_the_frozen_library_have_the_text_of_its_file(self):
        value = self.define("os.path.join")
        self.assertTrue(value["file"].endswith("posixpath.py"), value["file"])
        self.assertTrue(value["running"]["older"])


def fixtures():
    """CPython's own fixtures of `inspect`; none where they are left out, as Debian, for one, does."""
    for package in ("test.test_inspect", "test"):
        try:
            return [importlib.import_module(f"{package}.{name}") for name in ("inspect_fodder", "inspect_fodder2")]
        except ImportError:
            continue
    return []


class LikeInspect(ImageCase):
    """The source that `inspect` would give, without asking for it."""

    @classmethod
    def setUpClass(cls):
        names = ("textwrap", "contextlib", "argparse") if LONG else ("textwrap", "contextlib")
        cls.modules = fixtures() + [importlib.import_module(name) for name in names]

    def things(self):
        """`(name, function or class)` of the fixtures, and the methods of each class."""
        for module in self.modules:
            for name, value in vars(module).items():
                if getattr(value, "__module__", None) != module.__name__:
                    continue
                yield f"{module.__name__}.{name}", value
                for inner, method in vars(value).items() if inspect.isclass(value) else ():
                    if inspect.isfunction(method) and method.__qualname__ == f"{value.__qualname__}.{inner}":
                        yield f"{module.__name__}.{name}.{inner}", method

    def test_functions_classes_and_methods_have_the_source_and_the_parameters_that_inspect_finds(self):
        compared = 0
        for name, value in self.things():
            self.found("describe", name=name)
            listed = self.found("arglist", name=name)
            if not inspect.isfunction(value) and not inspect.isclass(value):
                continue
            if inspect.isfunction(value) and not hasattr(value, "__wrapped__"):
                self.assertEqual([*inspect.signature(value).parameters], [one["name"] for one in listed["parameters"]])
            try:
                expected, line = inspect.getsourcelines(inspect.unwrap(value) if callable(value) else value)
            except (OSError, TypeError):
                continue
            found = self.define(name)
            if found["source"] is None or (inspect.isfunction(value) and value.__code__.co_name == "<lambda>"):
                continue
            self.assertEqual(("".join(expected).rstrip(), line), (found["source"]["text"], found["line"]), name)
            self.assertNotEqual(False, found["current"], name)
            compared += 1
        self.assertGreater(compared, 100 if LONG else 60)

    def test_lambdas_are_shown_with_their_statement(self):
        source = "oll = lambda m: m\n\n# A comment.\ntll = lambda g: g and \\\ng and \\\ng\n"
        self.load("of_lambdas", source)
        self.assertEqual("oll = lambda m: m", self.source("of_lambdas.oll"))
        self.assertEqual("tll = lambda g: g and \\\ng and \\\ng", self.source("of_lambdas.tll"))


if __name__ == "__main__":
    unittest.main()
