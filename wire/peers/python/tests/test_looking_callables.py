"""Callables: what wraps them, and how they are called."""

import abc
import inspect
import json
import linecache
import os
import sys
import tempfile
import textwrap
import types
import unittest

from imago import looking
from imago.handles import Handles
from tests.looking_image import ImageCase


# What a look tells of functions, classes and exceptions, from stored fields alone.

def documented(a, /, b: int = 3, *rest, c="x", **more) -> "str":
    """Says something.

    In several lines.
    """
    return a


class Stack(list):
    """A list with a name."""

    def __init__(self, name, items):
        super().__init__(items)
        self.name = name

    def push(self, item):
        self.append(item)


class Abstract(abc.ABC):
    def run(self, times: int = 1):
        """Runs."""


class Callables(unittest.TestCase):
    def look(self, value):
        self.handles = Handles("abcd1234")
        looked = looking.inspect_static({"x": value}, "x", self.handles)
        self.assertEqual("found", looked["type"])
        json.dumps(looked, allow_nan=False)
        self.assertEqual(looked, looking.inspect_static({"x": value}, "x", self.handles), "looking twice differs")
        return looked["value"]

    def text(self, value):
        return self.look(value)["repr"]["text"]

    def test_a_function_has_a_signature_a_place_and_source(self):
        seen = self.look(documented)
        self.assertEqual("callable", seen["kind"])
        called = seen["callable"]
        self.assertEqual("(a, /, b: int = 3, *rest, c='x', **more) -> str", called["signature"])
        self.assertEqual("tests.test_looking_callables", called["module"])
        self.assertEqual("Says something.", called["doc"])
        self.assertTrue(called["source_preview"].startswith("def documented(a, /, b: int = 3"))
        self.assertTrue(called["source_preview"].endswith("return a"))
        self.assertFalse(called["source_truncated"])
        self.assertTrue(called["file"].endswith("test_looking_callables.py"))
        self.assertEqual(documented.__code__.co_firstlineno, called["line"])
        self.assertEqual("Says something.\n\nIn several lines.", seen["doc"]["text"])

    def test_signatures_read_as_python_writes_them(self):
        for source in (
            "()",
            "(a)",
            "(a, /)",
            "(a, b=1, /, c=2)",
            "(*, a)",
            "(*args, a=1, **rest)",
            "(a: int, *args: str, b: list[int] = [1], **rest: dict) -> None",
            "(a: 'x' = None)",
        ):
            namespace = {}
            exec(f"def f{source}: pass", namespace)
            expected = source.replace("'x'", "x") if sys.version_info < (3, 14) else source
            self.assertEqual(expected, self.look(namespace["f"])["callable"]["signature"])

    def test_a_function_that_was_typed_in_shows_its_source(self):
        source = "def next(x):\n    x + 1\n\n\nother = 1\n"
        linecache.cache["<imago-7>"] = (len(source), None, source.splitlines(True), "<imago-7>")
        self.addCleanup(linecache.cache.pop, "<imago-7>")
        namespace = {"__name__": "__main__"}
        exec(compile(source, "<imago-7>", "exec"), namespace)
        called = self.look(namespace["next"])["callable"]
        self.assertEqual("def next(x):\n    x + 1", called["source_preview"])
        self.assertEqual(("<imago-7>", 1, "__main__"), (called["file"], called["line"], called["module"]))

    def test_long_source_is_cut_and_says_so(self):
        body = "def f():\n" + "".join(f"    name_{number} = {number}\n" for number in range(200))
        linecache.cache["<imago-8>"] = (len(body), None, body.splitlines(True), "<imago-8>")
        self.addCleanup(linecache.cache.pop, "<imago-8>")
        namespace = {}
        exec(compile(body, "<imago-8>", "exec"), namespace)
        called = self.look(namespace["f"])["callable"]
        self.assertEqual((1200, True), (len(called["source_preview"]), called["source_truncated"]))

    def test_source_that_cannot_be_had_is_null(self):
        for file in ("<nowhere>", "/dev/zero", "/no/such/file.py", "/", "x\0y"):
            function = types.FunctionType(documented.__code__.replace(co_filename=file), {})
            called = self.look(function)["callable"]
            self.assertIsNone(called["source_preview"], file)

    def test_compiled_functions_have_no_source_and_maybe_a_signature(self):
        self.assertEqual("(obj, /)", self.look(len)["callable"]["signature"])
        for value in (len, [].append, str.join, dict, max, type, object().__repr__, list.__add__):
            called = self.look(value)["callable"]
            self.assertIsNone(called["source_preview"])
            self.assertFalse(called["source_truncated"])
        self.assertIsNone(self.look(max)["callable"]["signature"])

    def test_compiled_methods_take_self_until_they_are_bound(self):
        for method in (list.append, str.upper, dict.get, list.__add__, object.__repr__, list.__init__):
            self.assertEqual(str(inspect.signature(method)), self.look(method)["callable"]["signature"])
        for method, signature in (([].append, "(object, /)"), ("".upper, "()"), ([].__add__, "(value, /)")):
            self.assertEqual(signature, self.look(method)["callable"]["signature"])
        self.assertEqual("(iterable, value=None, /)", self.look(dict.fromkeys)["callable"]["signature"])

    def test_a_class_shows_its_members_and_how_it_is_made(self):
        seen = self.look(Stack)
        self.assertEqual("class", seen["kind"])
        self.assertEqual("<class 'tests.test_looking_callables.Stack'>", seen["repr"]["text"])
        self.assertEqual("(name, items)", seen["callable"]["signature"])
        self.assertTrue(seen["callable"]["source_preview"].startswith("class Stack(list):"))
        self.assertIn("push", seen["members"]["callables"])
        self.assertEqual("(times: int = 1)", self.look(Abstract().run)["callable"]["signature"])

    def test_an_exception_has_its_message_and_where_it_was_raised(self):
        def fails():
            raise KeyError("gone")

        try:
            fails()
        except KeyError as error:
            seen = self.look(error)
        facts = seen["exception"]
        self.assertEqual(
            ("exception", "builtins.KeyError", "'gone'"), (seen["kind"], facts["exc_type"], facts["message"])
        )
        self.assertIn("in fails\n    raise KeyError", facts["traceback"])
        self.assertTrue(facts["traceback"].endswith("KeyError: 'gone'"))
        self.assertIsNone(self.look(ValueError("x"))["exception"]["traceback"])
        self.assertEqual("x", self.look(ValueError("x"))["exception"]["message"])
        self.assertIn("No such file", self.look(self._missing_file())["exception"]["message"])
        self.assertEqual("class", self.look(ValueError)["kind"])
        self.assertEqual("builtins.ValueError", self.look(ValueError)["exception"]["exc_type"])

    def _missing_file(self):
        try:
            open("/no/such/file")
        except OSError as error:
            return error

    def test_a_deep_traceback_is_cut_in_front(self):
        def deeper(depth):
            return deeper(depth - 1) if depth else 1 / 0

        try:
            deeper(100)
        except ZeroDivisionError as error:
            traceback = self.look(error)["exception"]["traceback"]
        self.assertIn("outer frames", traceback)
        self.assertEqual(12, traceback.count("  File "))

    def test_source_in_another_encoding_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            for encoding, named in (("utf-8", "utf-8"), ("latin-1", "latin-1"), ("utf-8-sig", "utf-8")):
                file = os.path.join(folder, f"{encoding}.py")
                with open(file, "w", encoding=encoding) as stream:
                    stream.write(f'# -*- coding: {named} -*-\ndef f():\n    return "é"\n')
                code = documented.__code__.replace(co_filename=file, co_firstlineno=2)
                preview = self.look(types.FunctionType(code, {}))["callable"]["source_preview"]
                self.assertEqual('def f():\n    return "é"', preview)

    def test_source_is_dedented_only_as_it_stands(self):
        preview = self.look(Stack.push)["callable"]["source_preview"]
        self.assertEqual("def push(self, item):\n    self.append(item)", textwrap.dedent(preview))


# Definitions of what is wrapped, generated or compiled: what is seen through is said, and so is what has no text.

class Wrappers(ImageCase):
    def setUp(self):
        super().setUp()
        self.module = self.load(
            "wrapping",
            '''
            import contextlib
            import functools


            def logged(function):
                @functools.wraps(function)
                def inner(*args, **kwargs):
                    return function(*args, **kwargs)
                return inner


            def copied(function):
                def inner(*args):
                    return function(*args)
                inner.__name__ = function.__name__
                inner.__qualname__ = function.__qualname__
                return inner


            def replaced(function):
                def instead():
                    return 1
                return instead


            class Counted:
                def __init__(self, function):
                    functools.update_wrapper(self, function)

                def __call__(self):
                    return 1


            @logged
            @functools.lru_cache(maxsize=None)
            def cached(x):
                return x


            @contextlib.contextmanager
            def opened(x):
                yield x


            @copied
            def quiet(x):
                return x


            @replaced
            def gone(x):
                return x


            @Counted
            def counted():
                return 2


            def add(a, b, c=3):
                return a + b


            three = functools.partial(add, 1, c=4)


            class Holder:
                @functools.cached_property
                def slow(self):
                    return 1

                half = functools.partialmethod(add, 2)


            @functools.singledispatch
            def show(x):
                return x
            ''',
        )

    def names(self, name):
        value = self.define(name)
        return [wrapper["name"] for wrapper in value["wrappers"]], value

    def test_decorators_are_seen_through_outermost_first_and_said(self):
        names, value = self.names("wrapping.cached")
        self.assertEqual(["wrapping.logged", "functools.lru_cache"], names)
        self.assertTrue(value["source"]["text"].startswith("@logged\n@functools.lru_cache(maxsize=None)\ndef cached"))
        self.assertEqual((self.module.__file__, 7), (value["wrappers"][0]["file"], value["wrappers"][0]["line"]))
        self.assertEqual("function", value["kind"])

    def test_other_wrappers_are_said_by_name(self):
        for name, wrapper in {
            "opened": "contextlib.contextmanager",
            "quiet": "wrapping.copied",
            "counted": "wrapping.Counted",
            "three": "functools.partial",
            "Holder.slow": "functools.cached_property",
            "Holder.half": "functools.partialmethod",
            "show": "functools.singledispatch",
        }.items():
            names, value = self.names(f"wrapping.{name}")
            self.assertEqual([wrapper], names, name)
            self.assertIn("def", value["source"]["text"])
            self.assertEqual(self.module.__file__, value["file"])

    def test_a_partial_application_says_what_it_gives(self):
        value = self.define("wrapping.three")
        self.assertEqual(("wrapping.add", "function"), (value["qualified"], value["kind"]))
        self.assertIn("The partial application gives it (1, c=4).", value["notes"])

    def test_a_function_that_was_put_in_the_place_of_another_says_so(self):
        value = self.define("wrapping.gone")
        self.assertEqual("wrapping.replaced.<locals>.instead", value["qualified"])
        self.assertIn("defines `gone` under replaced", value["notes"][0])

    def test_a_circle_of_wrappers_ends(self):
        def one():
            pass

        def two():
            pass

        one.__wrapped__, two.__wrapped__ = two, one
        self.namespace["one"] = one
        self.assertEqual(1, len(self.define("one")["wrappers"]))


class Generated(ImageCase):
    def setUp(self):
        super().setUp()
        self.load(
            "made",
            '''
            import dataclasses
            import enum
            import typing
            from collections import namedtuple


            @dataclasses.dataclass
            class Item:
                name: str
                price: int = 1


            class Pair(namedtuple("Pair", "a b")):
                pass


            class Colour(enum.Enum):
                RED = 1
                BLUE = 2


            @typing.overload
            def size(x: int) -> int: ...
            @typing.overload
            def size(x: str) -> str: ...
            def size(x):
                return x


            space = {}
            exec("def hidden(): pass", space)
            hidden = space["hidden"]
            ''',
        )

    def test_a_generated_method_shows_its_class_and_says_so(self):
        value = self.define("made.Item.__init__")
        self.assertTrue(value["source"]["text"].startswith("@dataclasses.dataclass\nclass Item:"))
        self.assertIn("`__init__` has no text of its own: dataclasses generated it", value["notes"][0])

    def test_a_field_of_a_dataclass_is_found_from_its_instance(self):
        self.namespace["item"] = sys.modules["made"].Item("a")
        self.assertEqual("    name: str", self.source("item.name"))

    def test_a_member_of_an_enumeration_is_a_constant_of_its_class(self):
        value = self.define("made.Colour.BLUE")
        self.assertEqual(("constant", "    BLUE = 2"), (value["kind"], value["source"]["text"]))

    def test_an_overloaded_function_shows_what_runs_and_where_the_declarations_are(self):
        value = self.define("made.size")
        self.assertEqual("def size(x):\n    return x", value["source"]["text"])
        self.assertIn("It is overloaded: the declarations stand on lines 23, 25.", value["notes"])

    def test_code_whose_text_nobody_kept_says_why_there_is_no_source(self):
        value = self.define("made.hidden")
        self.assertEqual((None, "unknown", None), (value["source"], value["origin"], value["current"]))
        self.assertIn("<string>", value["because"])

    def test_what_is_compiled_is_built_in(self):
        for name in ("len", "list.append", "dict", "sys", "int.real", "object.__repr__", "None", "functools.partial"):
            value = self.define(name)
            self.assertEqual((None, "built_in"), (value["source"], value["origin"]), name)
            self.assertTrue(value["because"], name)

    def test_attributes_that_a_library_generates_in_the_line_cache_are_shown(self):
        file = "<made generated init>"
        source = "def __init__(self):\n    self.x = 1\n"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        self.addCleanup(linecache.cache.pop, file)
        exec(compile(source, file, "exec"), self.namespace)
        value = self.define("__init__")
        self.assertEqual((source.rstrip(), "unknown"), (value["source"]["text"], value["origin"]))
