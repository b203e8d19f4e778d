"""The sections of a look at one value, from stored fields alone."""

import abc
import collections
import datetime
import decimal
import enum
import fractions
import json
import linecache
import os
import pathlib
import sys
import tempfile
import textwrap
import tracemalloc
import types
import unittest
import uuid

from imago import looking
from imago.handles import Handles


def documented(a, /, b: int = 3, *rest, c='x', **more) -> 'str':
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


class Noisy:
    """Raises, sleeps or lies when it is asked anything."""

    def __init__(self):
        self.id = 7
        self.items = ['a', 'b', 'c']
        self.empty = []
        self._inner = Stack('s', [])

    def __repr__(self):
        raise ValueError('no')

    def __dir__(self):
        raise ValueError('no')

    @property
    def slow(self):
        raise AssertionError('was read')


class Abstract(abc.ABC):
    def run(self, times: int = 1):
        """Runs."""


Point = collections.namedtuple('Point', 'x y')


class Colour(enum.Enum):
    RED = 1


async def coroutine():
    pass


async def async_generator():
    yield 1


def generator():
    yield 1


class Values(unittest.TestCase):
    def look(self, value):
        self.handles = Handles('abcd1234')
        looked = looking.inspect_static({'x': value}, 'x', self.handles)
        self.assertEqual('found', looked['type'])
        json.dumps(looked, allow_nan=False)
        self.assertEqual(looked, looking.inspect_static({'x': value}, 'x', self.handles), 'looking twice differs')
        return looked['value']

    def text(self, value):
        return self.look(value)['repr']['text']

    def test_a_number_is_a_number(self):
        seen = self.look(42)
        self.assertEqual('number', seen['kind'])
        self.assertEqual({'name': 'int', 'module': 'builtins', 'qualified': 'builtins.int'}, seen['type'])
        self.assertEqual({'text': '42', 'truncated': False, 'original_len': 2}, seen['repr'])
        self.assertEqual('static', seen['read'])
        self.assertEqual({'type', 'kind', 'read', 'repr', 'limits'}, set(seen))
        self.assertEqual(4096, seen['limits']['repr_max_chars'])
        self.assertEqual(4096, seen['limits']['doc_max_chars'])
        self.assertEqual(16, seen['limits']['sample_max_items'])
        self.assertEqual(24, seen['limits']['member_max_per_group'])
        self.assertEqual(1200, seen['limits']['source_preview_max_chars'])

    def test_a_list_has_a_size_and_a_sample_that_says_what_it_left_out(self):
        seen = self.look(list(range(20)))
        self.assertEqual('sequence', seen['kind'])
        self.assertEqual({'len': 20}, seen['size'])
        sample = seen['sample']
        self.assertEqual([str(number) for number in range(16)], sample['items'])
        self.assertEqual((16, 20, True), (sample['shown'], sample['total'], sample['truncated']))
        piece = looking.more(self.handles, {'handle': sample['handle'], 'from': 16, 'count': 10})['value']
        self.assertEqual({'type': 'items', 'items': ['16', '17', '18', '19'], 'from': 16, 'total': 20, 'next': None}, piece)
        self.assertIn('append', seen['members']['callables'])
        whole = self.look([1, 2])['sample']
        self.assertEqual({'items': ['1', '2'], 'shown': 2, 'total': 2, 'truncated': False}, whole)

    def test_a_function_has_a_signature_a_place_and_source(self):
        seen = self.look(documented)
        self.assertEqual('callable', seen['kind'])
        called = seen['callable']
        self.assertEqual("(a, /, b: int = 3, *rest, c='x', **more) -> str", called['signature'])
        self.assertEqual('tests.test_looking_values', called['module'])
        self.assertEqual('Says something.', called['doc'])
        self.assertTrue(called['source_preview'].startswith("def documented(a, /, b: int = 3"))
        self.assertTrue(called['source_preview'].endswith('return a'))
        self.assertFalse(called['source_truncated'])
        self.assertTrue(called['file'].endswith('test_looking_values.py'))
        self.assertEqual(documented.__code__.co_firstlineno, called['line'])
        self.assertEqual('Says something.\n\nIn several lines.', seen['doc']['text'])

    def test_signatures_read_as_python_writes_them(self):
        for source in (
            '()',
            '(a)',
            '(a, /)',
            '(a, b=1, /, c=2)',
            '(*, a)',
            '(*args, a=1, **rest)',
            '(a: int, *args: str, b: list[int] = [1], **rest: dict) -> None',
            "(a: 'x' = None)",
        ):
            namespace = {}
            exec(f'def f{source}: pass', namespace)
            expected = source.replace("'x'", 'x') if sys.version_info < (3, 14) else source
            self.assertEqual(expected, self.look(namespace['f'])['callable']['signature'])

    def test_a_function_that_was_typed_in_shows_its_source(self):
        source = 'def next(x):\n    x + 1\n\n\nother = 1\n'
        linecache.cache['<imago-7>'] = (len(source), None, source.splitlines(True), '<imago-7>')
        self.addCleanup(linecache.cache.pop, '<imago-7>')
        namespace = {'__name__': '__main__'}
        exec(compile(source, '<imago-7>', 'exec'), namespace)
        called = self.look(namespace['next'])['callable']
        self.assertEqual('def next(x):\n    x + 1', called['source_preview'])
        self.assertEqual(('<imago-7>', 1, '__main__'), (called['file'], called['line'], called['module']))

    def test_long_source_is_cut_and_says_so(self):
        body = 'def f():\n' + ''.join(f'    name_{number} = {number}\n' for number in range(200))
        linecache.cache['<imago-8>'] = (len(body), None, body.splitlines(True), '<imago-8>')
        self.addCleanup(linecache.cache.pop, '<imago-8>')
        namespace = {}
        exec(compile(body, '<imago-8>', 'exec'), namespace)
        called = self.look(namespace['f'])['callable']
        self.assertEqual((1200, True), (len(called['source_preview']), called['source_truncated']))

    def test_source_that_cannot_be_had_is_null(self):
        for file in ('<nowhere>', '/dev/zero', '/no/such/file.py', '/', 'x\0y'):
            function = types.FunctionType(documented.__code__.replace(co_filename=file), {})
            called = self.look(function)['callable']
            self.assertIsNone(called['source_preview'], file)

    def test_compiled_functions_have_no_source_and_maybe_a_signature(self):
        self.assertEqual('(obj, /)', self.look(len)['callable']['signature'])
        for value in (len, [].append, str.join, dict, max, type, object().__repr__, list.__add__):
            called = self.look(value)['callable']
            self.assertIsNone(called['source_preview'])
            self.assertFalse(called['source_truncated'])
        self.assertIsNone(self.look(max)['callable']['signature'])

    def test_a_class_shows_its_members_and_how_it_is_made(self):
        seen = self.look(Stack)
        self.assertEqual('class', seen['kind'])
        self.assertEqual("<class 'tests.test_looking_values.Stack'>", seen['repr']['text'])
        self.assertEqual('(name, items)', seen['callable']['signature'])
        self.assertTrue(seen['callable']['source_preview'].startswith('class Stack(list):'))
        self.assertIn('push', seen['members']['callables'])
        self.assertEqual('(times: int = 1)', self.look(Abstract().run)['callable']['signature'])

    def test_none_is_none(self):
        seen = self.look(None)
        self.assertEqual(('none', 'None'), (seen['kind'], seen['repr']['text']))
        self.assertNotIn('handle', seen)

    def test_an_exception_has_its_message_and_where_it_was_raised(self):
        def fails():
            raise KeyError('gone')

        try:
            fails()
        except KeyError as error:
            seen = self.look(error)
        facts = seen['exception']
        self.assertEqual(('exception', 'builtins.KeyError', "'gone'"), (seen['kind'], facts['exc_type'], facts['message']))
        self.assertIn('in fails\n    raise KeyError', facts['traceback'])
        self.assertTrue(facts['traceback'].endswith("KeyError: 'gone'"))
        self.assertIsNone(self.look(ValueError('x'))['exception']['traceback'])
        self.assertEqual('x', self.look(ValueError('x'))['exception']['message'])
        self.assertIn('No such file', self.look(self._missing_file())['exception']['message'])
        self.assertEqual('class', self.look(ValueError)['kind'])
        self.assertEqual('builtins.ValueError', self.look(ValueError)['exception']['exc_type'])

    def _missing_file(self):
        try:
            open('/no/such/file')
        except OSError as error:
            return error

    def test_a_deep_traceback_is_cut_in_front(self):
        def deeper(depth):
            return deeper(depth - 1) if depth else 1 / 0

        try:
            deeper(100)
        except ZeroDivisionError as error:
            traceback = self.look(error)['exception']['traceback']
        self.assertIn('outer frames', traceback)
        self.assertEqual(12, traceback.count('  File '))

    def test_containers_that_hold_themselves_are_shown_without_end(self):
        circle = [1]
        circle.append(circle)
        self.assertEqual('[1, [...]]', self.text(circle))
        ring = {'a': 1}
        ring['self'] = ring
        self.assertEqual("{'a': 1, 'self': {...}}", self.text(ring))
        pair = ([],)
        pair[0].append(pair)
        self.assertEqual('([(...)],)', self.text(pair))
        stack = Stack('s', [])
        stack.append(stack)
        self.assertIn('...', self.text(stack))
        nested = []
        for _ in range(10_000):
            nested = [nested]
        self.assertEqual('[[[[[[…1]]]]]]', self.text(nested))

    def test_an_object_that_cannot_be_asked_is_shown_from_its_fields(self):
        seen = self.look(Noisy())
        name = 'tests.test_looking_values'
        self.assertEqual(
            f'<{name}.Noisy id=7, items=[…3], empty=[], _inner=<{name}.Stack …>>',
            seen['repr']['text'],
        )
        self.assertEqual(['_inner', 'empty', 'id', 'items', 'slow'], seen['members']['data'])
        self.assertEqual('object', seen['kind'])
        self.assertEqual('Raises, sleeps or lies when it is asked anything.', seen['doc']['text'])

    def test_subclasses_of_built_in_classes_show_what_they_hold_and_their_fields(self):
        name = 'tests.test_looking_values'
        self.assertEqual(f"<{name}.Stack [1, 2] name='s'>", self.text(Stack('s', [1, 2])))
        self.assertEqual(f'<{name}.Point x=1, y=2>', self.text(Point(1, 2)))
        self.assertEqual("<collections.Counter {'a': 2}>", self.text(collections.Counter('aa')))
        self.assertEqual(
            "<collections.defaultdict {'a': 1} default_factory=<class 'list'>>",
            self.text(collections.defaultdict(list, a=1)),
        )
        self.assertEqual(f'<{name}.Colour.RED: 1>', self.text(Colour.RED))
        text = type('Name', (str,), {'__module__': 'm'})('abc')
        self.assertEqual(("<m.Name 'abc'>", 'string'), (self.text(text), self.look(text)['kind']))

    def test_built_in_values_read_as_python_prints_them(self):
        for value in (
            0, -5, 1.5, float('nan'), float('inf'), 1j, True, None, ..., '', 'a\'b"', '\n\t\0', 'é☃𝄞', b'', b'a\0',
            bytearray(b'x'), [], [1], (), (1,), (1, 2), {}, {'a': [1, {2: 3}]}, set(), {1}, frozenset(), frozenset({1}),
            range(3), range(1, 9, 2), range(10**30), collections.deque([1, 2]), {}.keys(), {'a': 1}.keys(),
            {'a': 1}.values(), {'a': 1}.items(), types.MappingProxyType({'a': 1}), datetime.date(2020, 1, 2),
            datetime.datetime(2020, 1, 2, 3, 4, 5, 6), datetime.timedelta(1), datetime.time(1, 2), decimal.Decimal('1.50'),
            datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc), int, NotImplemented,
        ):
            self.assertEqual(repr(value), self.text(value))

    def test_familiar_values_of_the_standard_library_read_as_what_they_are(self):
        for value in (
            fractions.Fraction(-1, 3),
            uuid.UUID(int=5),
            pathlib.PurePosixPath('/tmp/a b'),
            pathlib.PurePosixPath('a/b'),
            pathlib.PurePosixPath('/'),
            pathlib.PurePosixPath(),
        ):
            self.assertEqual(repr(value), self.text(value))
        self.assertIn("path=PurePosixPath('/tmp')", self.text(types.SimpleNamespace(path=pathlib.PurePosixPath('/tmp'))))

    def test_source_in_another_encoding_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            for encoding, named in (('utf-8', 'utf-8'), ('latin-1', 'latin-1'), ('utf-8-sig', 'utf-8')):
                file = os.path.join(folder, f'{encoding}.py')
                with open(file, 'w', encoding=encoding) as stream:
                    stream.write(f'# -*- coding: {named} -*-\ndef f():\n    return "é"\n')
                code = documented.__code__.replace(co_filename=file, co_firstlineno=2)
                preview = self.look(types.FunctionType(code, {}))['callable']['source_preview']
                self.assertEqual('def f():\n    return "é"', preview)

    def test_an_object_of_very_many_fields_shows_the_first(self):
        value = types.SimpleNamespace(**{f'field_{number}': number for number in range(100)})
        self.assertTrue(self.text(value).endswith('field_23=23, …>'))

    def test_every_kind_is_told_from_the_class_alone(self):
        made = coroutine()
        self.addCleanup(made.close)
        for kind, samples in {
            'none': (None,),
            'bool': (True,),
            'number': (1, 1.0, 1j, decimal.Decimal(1), fractions.Fraction(1, 2)),
            'string': ('a', type('S', (str,), {})()),
            'bytes': (b'', bytearray(), memoryview(b'')),
            'mapping': ({}, collections.OrderedDict(), types.MappingProxyType({}), collections.UserDict()),
            'sequence': ([], (), range(1), collections.deque(), collections.UserList(), Point(1, 2)),
            'set': (set(), frozenset(), {}.keys()),
            'iterator': (iter([]), map(str, []), zip(), enumerate([])),
            'generator': (generator(),),
            'coroutine': (made,),
            'async_generator': (async_generator(),),
            'callable': (len, documented, [].append, lambda: 1),
            'class': (int, Noisy, abc.ABC, type),
            'module': (json,),
            'exception': (ValueError(), KeyboardInterrupt()),
            'object': (Noisy(),),
            'other': (object(), slice(1), documented.__code__),
        }.items():
            for sample in samples:
                self.assertEqual(kind, self.look(sample)['kind'], repr(type(sample)))

    def test_iterators_are_never_advanced(self):
        numbers, produced = iter([1, 2]), generator()
        self.look(numbers)
        self.look(produced)
        self.assertEqual(([1, 2], [1]), (list(numbers), list(produced)))

    def test_a_huge_value_is_not_copied_sorted_or_printed_whole(self):
        size = 10**6
        for value in (
            list(range(size)), tuple(range(size)), dict.fromkeys(range(size)), set(range(size)), frozenset(range(size)),
            'x' * 10**7, b'x' * 10**7, bytearray(10**7), range(10**30), collections.deque(range(size)), 10**100_000,
            memoryview(bytes(10**7)), dict.fromkeys(range(size)).keys(), types.MappingProxyType(dict.fromkeys(range(size))),
            [[0] * size] * size, {'a': 'x' * 10**7},
        ):
            handles = Handles('abcd1234')
            looking.inspect_static({'x': value}, 'x', handles)
            tracemalloc.start()
            looked = looking.inspect_static({'x': value}, 'x', handles)['value']
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            self.assertLess(peak, 200_000, type(value))
            self.assertTrue(looked['repr']['truncated'] or type(value) in (range, memoryview, int), type(value))
            self.assertLessEqual(len(looked['repr']['text']), 4096)

    def test_text_that_cannot_be_sent_is_escaped(self):
        name = type('X', (), {'__module__': '\udc80', '\udc81': 1})
        value = name()
        value.__dict__['\udc82'] = '\udc83'
        for thing in ('\udc80', ['\udc80'], {'\udc80': '\udc80'}, value, name, ValueError('\udc80'), '\udc80' * 9000):
            json.dumps(self.look(thing), ensure_ascii=False).encode('utf-8')

    def test_members_are_sorted_grouped_and_counted(self):
        value = types.SimpleNamespace(**{f'field_{number:02}': number for number in range(30)}, run=len)
        members = self.look(value)['members']
        self.assertEqual([f'field_{number:02}' for number in range(24)], members['data'])
        self.assertEqual(['run'], members['callables'])
        self.assertEqual((24, True), (members['shown_per_group'], members['truncated']))
        self.assertGreater(members['dunder_count'], 10)

    def test_a_module_shows_its_members_and_doc(self):
        seen = self.look(json)
        self.assertEqual("<module 'json'>", seen['repr']['text'])
        self.assertIn('dumps', seen['members']['callables'])
        self.assertTrue(seen['doc']['text'].startswith('JSON (JavaScript Object Notation)'))

    def test_a_long_doc_is_cut(self):
        value = type('X', (), {'__doc__': 'x' * 5000})
        doc = self.look(value)['doc']
        self.assertEqual((4096, True, 5000), (len(doc['text']), doc['truncated'], doc['original_len']))
        piece = looking.more(self.handles, {'handle': doc['handle'], 'from': 4096, 'count': 5000})['value']
        self.assertEqual(('x' * 904, 5000, None), (piece['text'], piece['total'], piece['next']))

    def test_a_class_that_lies_about_its_instances_is_not_believed(self):
        class Liar:
            __class__ = property(lambda self: int)
            __len__ = lambda self: 5  # noqa: E731

        seen = self.look(Liar())
        self.assertEqual(('object', 'Liar'), (seen['kind'], seen['type']['name']))
        self.assertNotIn('size', seen)

    def test_a_section_that_fails_leaves_the_others(self):
        from imago.looking import inspection

        def broken(*_):
            raise ValueError('broken')

        original, inspection.members_section = inspection.members_section, broken
        try:
            seen = looking.inspect_static({'x': [1]}, 'x', Handles('abcd1234'))['value']
        finally:
            inspection.members_section = original
        self.assertEqual({'error': 'ValueError: broken'}, seen['members'])
        self.assertEqual({'len': 1}, seen['size'])

    def test_a_long_text_is_read_on_by_its_handle(self):
        text = 'ab\n' * 5000
        seen = self.look(text)
        printed = seen['repr']
        self.assertEqual((4096, True, None), (len(printed['text']), printed['truncated'], printed['original_len']))
        read, start = '', 0
        while start is not None:
            piece = looking.more(self.handles, {'handle': printed['handle'], 'from': start, 'count': 7000})['value']
            read, start = read + piece['text'], piece['next']
        self.assertEqual(repr(text), read)
        piece = looking.more(self.handles, {'handle': seen['handle'], 'from': 3, 'count': 4})['value']
        self.assertEqual({'type': 'text', 'text': 'ab\na', 'from': 3, 'total': 15000, 'next': 7}, piece)

    def test_source_is_dedented_only_as_it_stands(self):
        preview = self.look(Stack.push)['callable']['source_preview']
        self.assertEqual('def push(self, item):\n    self.append(item)', textwrap.dedent(preview))


if __name__ == '__main__':
    unittest.main()
