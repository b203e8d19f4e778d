"""Definitions of what is wrapped, generated or compiled: what is seen through is said, and so is what has no text."""

import linecache
import sys
import unittest

from tests.looking_image import ImageCase


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


if __name__ == "__main__":
    unittest.main()
