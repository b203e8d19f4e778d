"""What is public says what it is."""

import ast
import os
import unittest

import imago

PACKAGE = os.path.dirname(imago.__file__)


class Docstrings(unittest.TestCase):
    def test_every_module_and_every_public_class_of_the_peer_has_one(self):
        without = []
        for name in sorted(os.listdir(PACKAGE)):
            if not name.endswith('.py'):
                continue
            with open(os.path.join(PACKAGE, name), encoding='utf-8') as file:
                tree = ast.parse(file.read())
            classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != '_']
            without += [(name, getattr(node, 'name', None)) for node in [tree, *classes] if not ast.get_docstring(node)]
        self.assertEqual(without, [])
