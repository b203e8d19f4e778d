"""What a text defines and assigns is read from its words, and is what Python's own parser finds in it."""

import ast
import os
import unittest

from imago.looking.statements import Outline, documentation, imported, in_class, literal, on_self
from tests.daemon import LONG

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_FILES = ("ast.py", "dataclasses.py", "typing.py", "tokenize.py", "logging/__init__.py", "asyncio/base_events.py")

ODD = '''
@deco(key=lambda: [1,
                   2])
def one(a, b=lambda c=lambda: 1: 2, *, d: "x:y" = {1: 2}) -> {3: 4}: pass
class Odd(Base, metaclass=lambda *a: 1): x = 1; y: int = 2; z: str
if one: two = three = lambda: 4; (four, [five, *six]) = 1, (2, 3)
for seven, (eight) in [(i, i) for i in x if (lambda: i)]:
\tnine[ten] = eleven.twelve = 1
\twith a as b, c() as (d, e): pass
from .pack . age import (f as g,
    h)
import i.j, k.l as m
type = match = case = 1
match.x = case[1] = 2
(p or q)["r"] = 1
if (s := 1): t += 1
async def u():
    global v
    v = """
def no(): pass
"""
    async with w as y:
        return lambda: (lambda: 1)
x = 1 if y else \\
    2
print(f"{x = }, {lambda_!r:>{y}} def no2(): {(lambda: 3)()}")
class Late:
    def __init__(me, k):
        me.a, me.b[1], me.c.d = 1, 2, 3
        me.e: int = 4
        (me or you).f = 5
'''


def parsed(text):
    """`(qualified, first, last, is a class)` of what a text defines, by Python's parser."""
    found = []

    def walk(node, prefix):
        inner = prefix
        outside = []
        if isinstance(node, _FUNCTIONS) or isinstance(node, ast.ClassDef):
            name = getattr(node, "name", "<lambda>")
            lines = [node.lineno] + [one.lineno for one in getattr(node, "decorator_list", ())]
            found.append((prefix + name, min(lines), node.end_lineno, isinstance(node, ast.ClassDef)))
            inner += name + ("." if isinstance(node, ast.ClassDef) else ".<locals>.")
            outside = [*getattr(node, "decorator_list", ()), *getattr(node, "bases", ()), *getattr(node, "keywords", ())]
            if isinstance(node, _FUNCTIONS):
                outside += [one for one in node.args.defaults + node.args.kw_defaults if one is not None]
                outside += [one.annotation for one in node.args.args + node.args.kwonlyargs if one.annotation]
        for child in outside:
            walk(child, prefix)
        for child in ast.iter_child_nodes(node):
            if isinstance(node, _FUNCTIONS) and isinstance(child, ast.arguments):
                continue
            if all(child is not one for one in outside):
                walk(child, inner)

    walk(ast.parse(text), "")
    return sorted(found)


def read(text):
    chunks = Outline(text).chunks
    return sorted((one.qualified, one.first, one.last, one.is_class) for chunk in chunks for one in chunk.definitions)


def assigned(text, name):
    return [(one.kind, one.first, one.last) for one in Outline(text).assignments(name)]


class Statements(unittest.TestCase):
    maxDiff = None

    def test_definitions_are_those_that_the_parser_finds(self):
        for file in _FILES:
            with open(os.path.join(os.path.dirname(os.__file__), file), encoding="utf-8") as stream:
                text = stream.read()
            self.assertEqual(read(text), parsed(text), file)
        self.assertEqual(read(ODD), parsed(ODD))

    def test_assignments_are_found_wherever_a_statement_binds_a_name(self):
        for name, kind, line in (
            *((name, "assigned", 6) for name in ("two", "three", "four", "five", "six")),
            *((name, "bound", 7) for name in ("seven", "eight")),
            *((name, "imported", 10) for name in ("g", "h")),
            *((name, "imported", 12) for name in ("i", "m")),
            *((name, "assigned", 13) for name in ("type", "match", "case")),
            *((name, "assigned", 16) for name in ("s", "t")),
            ("v", "global", 19),
        ):
            self.assertEqual(assigned(ODD, name)[:1], [(kind, line, assigned(ODD, name)[0][2])], name)
        for name in ("nine", "ten", "eleven", "twelve", "f", "j", "l", "p", "q", "r", "lambda_", "no"):
            self.assertEqual(assigned(ODD, name), [], name)
        self.assertEqual(assigned(ODD, "b"), [("bound", 9, 9)])

    def test_fields_of_classes_and_instances_are_told_apart(self):
        whole = Outline(ODD)
        odd, late = whole.called("Odd")[0], whole.called("Late")[0]
        self.assertEqual([one.kind for name in "xyz" for one in in_class(odd, name)], ["assigned", "assigned", "declared"])
        self.assertEqual([len(on_self(late, name)) for name in "abcdef"], [1, 0, 0, 0, 1, 0])

    def test_imports_and_literals_are_read(self):
        pairs = [one for chunk in Outline(ODD).chunks for one in chunk.body if one.word in ("from", "import")]
        self.assertEqual(
            [imported(one) for one in pairs],
            [("pack.age", 1, [("f", "g"), ("h", "h")]), (None, None, [("i.j", "i"), ("k.l", "m")])],
        )
        for text, value in (("1", 1), ("True", True), ("'a' \"b\"", "ab"), ("r'\\d'", "\\d"), ("'\\n'", None), ("-1", None)):
            (statement,) = Outline(text).chunks[0].body
            self.assertEqual(literal(statement.words), value, text)
        (statement,) = Outline('class A:\n    """Said."""\n').chunks[0].body
        self.assertEqual(documentation(statement), "Said.")

    def test_no_text_takes_long_or_fails(self):
        many = 50_000 if LONG else 10_000
        for text in ("lambda: " * many, "lambda a=" * many, "else: " * many, "(" * many + "a,", "@" * many):
            read(text)
            assigned(text, "a")
        for end in range(len(ODD)):
            read(ODD[:end])


if __name__ == "__main__":
    unittest.main()
