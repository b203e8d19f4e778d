"""What newer Pythons compute late, read without computing it: annotations since 3.14, lazy imports since 3.15."""

import dataclasses
import importlib
import os
import subprocess
import sys
import tempfile
import types
import typing
import unittest

from tests.looking_image import ImageCase
from tests.test_process import LOOKS

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OF_NAMES = ('describe', 'arglist', 'definition', 'slots', 'hierarchy', 'references')


def loud(*_):
    raise AssertionError('an annotation was computed')


@unittest.skipIf(sys.version_info < (3, 14), 'annotations are computed at once')
class Annotations(ImageCase):
    def signature(self, function):
        self.namespace['f'] = function
        return self.found('arglist', name='f')['signature']

    def test_annotations_are_told_as_they_were_written_and_are_not_computed(self):
        def f(a: loud(), b: list[typing.Callable[[int, ...], 'Order']] | None = None, *c: typing.Literal['x', 1]) -> tuple[()]:
            pass

        told = "(a: …, b: list[typing.Callable[[int, ...], 'Order']] | None = None, *c: typing.Literal['x', 1]) -> tuple[()]"
        self.assertEqual(told, self.signature(f))

    def test_the_source_of_a_function_is_proved_without_computing_them(self):
        def f(a: loud()):
            pass

        self.namespace['f'] = f
        (told,) = self.found('definition', name='f')['running']['functions']
        self.assertIs(True, told['annotated'])

    def test_declared_fields_of_a_class_are_listed_before_anything_has_asked_for_them(self):
        class Order:
            number: int
            note: 'str' = loud
            late: typing.Annotated[int, loud()]

        self.namespace['Order'] = Order
        rows = self.found('slots', name='Order', limit=9)['slots']
        told = [(row['name'], row['annotation']) for row in rows]
        self.assertEqual([('number', 'int'), ('note', "'str'"), ('late', 'typing.Annotated[int, …]')], told)

    def test_a_named_tuple_and_a_dataclass_keep_their_types(self):
        class Point(typing.NamedTuple):
            x: int

        @dataclasses.dataclass
        class Item:
            name: str = ''

        self.assertEqual("(name: str = '') -> None", self.signature(Item))
        self.namespace['Point'] = Point
        self.assertEqual('int', self.found('slots', name='Point', limit=9)['slots'][0]['annotation'])

    def test_annotations_of_somebodys_own_making_are_left_out(self):
        def f(a):
            pass

        for annotate in (loud, lambda kind: loud(), types.FunctionType(loud.__code__.replace(co_name='__annotate__'), {})):
            f.__annotate__ = annotate
            self.assertEqual('(a)', self.signature(f))


LAZY = 'lazy import late\nlazy from late import price as cost\ndef half(): return cost\n'


@unittest.skipIf(sys.version_info < (3, 15), 'no import is lazy')
class LazyImports(ImageCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with open(os.path.join(folder.name, 'late.py'), 'w') as file:
            file.write('price = 7\n')
        sys.path.insert(0, folder.name)
        self.addCleanup(sys.path.remove, folder.name)
        self.addCleanup(sys.modules.pop, 'late', None)
        self.shop = types.ModuleType('lazyshop')
        sys.modules['lazyshop'] = self.shop
        self.addCleanup(sys.modules.pop, 'lazyshop')
        for namespace in (self.namespace, self.shop.__dict__):
            exec(LAZY, namespace)
        self.namespace['shop'] = self.shop

    def test_a_lazy_import_is_shown_as_such(self):
        for expr, text in {'late': "<lazy_import 'late'>", 'shop.cost': "<lazy_import 'late.price'>"}.items():
            self.assertEqual(text, self.found('inspect', expr=expr)['repr']['text'])

    def test_what_lies_behind_a_lazy_import_needs_evaluation(self):
        for expr in ('late.price', 'shop.late.price', 'cost.real', 'late.resolve'):
            self.assertEqual('needs_evaluation', self.ask('inspect', expr=expr)['type'], expr)

    def test_where_a_name_is_imported_lazily_is_told_by_its_line(self):
        with open(os.path.join(sys.path[0], 'lazyfile.py'), 'w') as file:
            file.write(LAZY)
        self.addCleanup(sys.modules.pop, 'lazyfile', None)
        self.namespace['lazyfile'] = importlib.import_module('lazyfile')
        for name, line in {'lazyfile.late': 1, 'lazyfile.cost': 2}.items():
            place = self.found('definition', name=name, max_length=1000)
            self.assertEqual([line, LAZY.splitlines()[line - 1]], [place['line'], place['source']['text'].strip()], place)
        self.assertNotIn('late', sys.modules)

    def test_no_look_imports_what_a_program_imports_lazily(self):
        for look, query in LOOKS:
            if look not in ('history', 'errors', 'last_error') and not query.get('evaluate'):
                self.ask(look, **{key: value for key, value in query.items() if key != 'evaluate'})
        for name in ('late', 'cost', 'shop', 'shop.late', 'shop.cost', 'late.price', 'half', 'lazyshop'):
            self.ask('inspect', expr=name)
            for look in OF_NAMES:
                self.ask(look, name=name, limit=9, max_length=1000)
            for text in (name, name + '.', 'from %s import ' % name):
                self.ask('complete', text=text, cursor=len(text), limit=9)
        self.ask('symbols', module='lazyshop', internal=True, limit=9)
        self.assertNotIn('late', sys.modules)

    def test_imago_itself_imports_nothing_lazily_once_a_program_listens(self):
        code = (
            'import imago, sys, types\nimago.listen()\n'
            'held = [(module.__name__, name) for module in list(sys.modules.values()) if module.__name__.startswith("imago")\n'
            '  for name, value in module.__dict__.items() if type(value) is types.LazyImportType]\n'
            'import traceback\n'
            'print(held, [name for name, value in traceback.__dict__.items() if type(value) is types.LazyImportType])\n'
        )
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, 'PYTHONPATH': HERE, 'PYTHON_LAZY_IMPORTS': 'all', 'IMAGO_RUNTIME_DIR': folder}
            done = subprocess.run([sys.executable, '-c', code], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual('[] []', done.stdout.strip(), done.stderr)
