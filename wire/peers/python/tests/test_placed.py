"""Code that is evaluated with its place in a file shows what it was compiled from, and not what the file holds."""

import gc
import linecache
import os
import shutil
import tempfile
import unittest

from imago import looking, sources
from imago.compiling import Compiler
from imago.handles import Handles
from tests.daemon import KernelCase

ON_DISK = 'x=1\ndef stale(): pass\nREAL_OTHER_LINE = 3\n\n\ndef kept():\n    return 1/0  # on disk\n'
TYPED = 'def g():\n    return 1/0\ng()'


class Placed(KernelCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp(prefix='imago-placed-')
        cls.file = os.path.join(cls.folder, 'app.py')
        cls.missing = os.path.join(cls.folder, 'unsaved.py')
        with open(cls.file, 'w', encoding='utf-8') as file:
            file.write(ON_DISK)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)
        super().tearDownClass()

    def preview(self, expr):
        call = self.link.call('inspect', expr=expr, deadline_ms=60_000)
        return call.answer()['value']['callable']['source_preview']

    def test_a_traceback_and_a_look_show_the_lines_that_were_sent(self):
        for file in (self.file, self.missing):
            exception = self.raised(TYPED, file=file, line=1)
            self.assertEqual([frame['source'] for frame in exception['frames']], ['g()', 'return 1/0'])
            self.assertIn('in g\n    return 1/0\n', exception['traceback'])
            self.assertIn('in <module>\n    g()\n', exception['traceback'])
            self.assertNotIn('stale', exception['traceback'])
            self.assertNotIn('REAL_OTHER_LINE', exception['traceback'])
            self.assertEqual(self.preview('g'), 'def g():\n    return 1/0')

    def test_the_lines_are_those_of_the_place_and_not_of_the_text(self):
        # Characters that end lines of a text only do not move lines of code.
        odd = 's = "a\u2028b\x0cc\x1dd"\r\ndef g():\r\n    return 1/0\r\ng()'
        for source, line, lines in (('\n' + TYPED, 40, (43, 42)), (odd, 3, (6, 5))):
            frames = self.raised(source, file=self.missing, line=line)['frames']
            places = [(frame['line'], frame['source']) for frame in frames]
            self.assertEqual(places, [(lines[0], 'g()'), (lines[1], 'return 1/0')])

    def test_functions_and_classes_within_show_theirs(self):
        self.link.evaluate(
            'def outer():\n    def inner():\n        return [1/0 for _ in "a"]\n    return inner\n\n\n'
            'class Shape:\n    def area(self):\n        return 0\n\n    class Side:\n        def length(self): pass\n'
            'inner = outer()',
            file=self.file,
            line=1,
        )
        self.assertEqual(self.preview('inner').split(), 'def inner(): return [1/0 for _ in "a"]'.split())
        self.assertTrue(self.preview('Shape').startswith('class Shape:\n    def area(self):'))
        self.assertTrue(self.preview('Shape').endswith('def length(self): pass'))
        self.assertTrue(self.preview('Shape.area').strip().startswith('def area(self):'))
        self.assertTrue(self.preview('Shape.Side').strip().startswith('class Side:'))
        self.assertEqual(self.raised('inner()')['frames'][-1]['source'], 'return [1/0 for _ in "a"]')

    def test_code_that_is_the_files_own_shows_the_file(self):
        self.raised(TYPED, file=self.file, line=6)
        self.link.evaluate('exec(compile(open(%r).read(), %r, "exec"))' % (self.file, self.file))
        self.assertEqual(self.preview('kept'), 'def kept():\n    return 1/0  # on disk')
        exception = self.raised('kept()')
        self.assertEqual(exception['frames'][-1]['source'], 'return 1/0  # on disk')
        self.assertIn('return 1/0  # on disk', exception['traceback'])
        self.assertEqual(self.preview('g'), 'def g():\n    return 1/0')

    def test_what_was_evaluated_later_at_a_place_does_not_change_what_is_older(self):
        self.link.evaluate('def first():\n    return 1/0', file=self.file, line=1)
        self.link.evaluate('def second():\n    return {}["a"]', file=self.file, line=1)
        self.assertEqual(self.preview('first'), 'def first():\n    return 1/0')
        self.assertEqual(self.preview('second'), 'def second():\n    return {}["a"]')
        self.assertIn('    return 1/0\n', self.raised('first()')['traceback'])
        self.assertIn('    return {}["a"]\n', self.raised('second()')['traceback'])

    def test_what_an_exception_was_raised_from_shows_its_lines_too(self):
        source = 'try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise KeyError from e'
        exception = self.raised(source, file=self.file, line=1)
        self.assertIn('in <module>\n    1/0\n', exception['traceback'])
        self.assertEqual(exception['cause']['exception']['frames'][-1]['source'], '1/0')

    def test_an_expression_over_several_lines_is_shown_from_its_first(self):
        exception = self.raised('value = (\n    1\n    /\n    0\n)', file=self.file, line=1)
        self.assertIn('    1\n', exception['traceback'])
        self.assertNotIn('stale', exception['traceback'])

    def test_an_error_that_the_compiler_finds_late_shows_the_line_that_was_sent(self):
        for source in ('y = 1\nreturn 2', 'y = 1\nbreak  # out', 'y = 1\ndef f(a, a): pass', 'y = 1\nz = (1 $ 2)'):
            traceback = self.raised(source, file=self.file, line=1)['traceback']
            self.assertIn('    %s\n' % source.split('\n')[1], traceback)
            self.assertNotIn('stale', traceback)


class Bounds(unittest.TestCase):
    def test_placed_and_named_sources_are_bounded_together_and_the_oldest_go_first(self):
        most, sources.SOURCES_KEPT = sources.SOURCES_KEPT, 100
        self.addCleanup(setattr, sources, 'SOURCES_KEPT', most)
        compiler = Compiler()
        old, _ = compiler.compile('def f(): pass', 'nowhere.py', 1)
        self.assertEqual(sources.lines_of(old, 1), ['def f(): pass\n'])
        young, _ = compiler.compile('def g(): pass', 'nowhere.py', 1)
        compiler.compile('x = "%s"' % ('x' * 80))
        self.assertEqual(sources.lines_of(old, 1), [])
        self.assertEqual(sources.lines_of(young, 1), ['def g(): pass\n'])

    def test_no_more_than_so_many_texts_are_kept_however_short(self):
        most, sources.TEXTS_KEPT = sources.TEXTS_KEPT, 10
        self.addCleanup(setattr, sources, 'TEXTS_KEPT', most)
        compiler = Compiler()
        names = [compiler.compile('x = %d' % number)[0].co_filename for number in range(30)]
        self.assertEqual([name for name in names if name in linecache.cache], names[-10:])

    def test_source_that_is_no_longer_kept_is_not_taken_from_the_file_instead(self):
        compiler = Compiler()
        code, _ = compiler.compile('def f(): pass', __file__, 1)
        namespace = {}
        exec(code, namespace)
        sources._placed[id(namespace['f'].__code__)][1].lines = []
        looked = looking.inspect_static(namespace, 'f', Handles('abcd1234'))
        self.assertIsNone(looked['value']['callable']['source_preview'])

    def test_nothing_is_remembered_of_code_that_is_gone(self):
        gc.collect()
        before = len(sources._placed)
        codes = Compiler().compile('def f():\n    def g(): pass', 'nowhere.py', 1)
        self.assertEqual(len(sources._placed), before + 3)
        del codes
        gc.collect()
        self.assertEqual(len(sources._placed), before)
