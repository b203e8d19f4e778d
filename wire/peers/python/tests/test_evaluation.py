"""What is evaluated, what comes of it, and how an error is reported."""

import re
import sys
import traceback
import unittest

from imago.exceptions import LINE_CHARS, traceback_text
from tests.daemon import LONG, Kernel, KernelCase, once


#: What is evaluated in turn in one image, and the value that it has, if any.
VALUES = (
    ('1+2', '3'),
    ('None', 'None'),
    ('x = 1', None),
    ('a = 20\nfor i in range(2):\n    a += 1\na', '22'),
    ('1\nb = 2', None),
    ('', None),
    ('   ', None),
    ('\n\n', None),
    ('# nothing', None),
    ('def double(n):\n    return 2 * n', None),
    ('double(21)', '42'),
    ('__name__', "'__main__'"),
    ('sorted(n for n in globals() if not n.startswith("__"))', "['a', 'b', 'double', 'i', 'x']"),
    ('import sys; sys.modules["__main__"].__dict__ is globals()', 'True'),
    ('sys.argv, sys.path[0]', "([''], '')"),
    ('import threading; threading.current_thread() is threading.main_thread()', 'True'),
    ('import inspect; inspect.getsource(double)', repr('def double(n):\n    return 2 * n\n')),
)


class Evaluating(unittest.TestCase):
    def test_the_value_is_that_of_a_last_expression_and_names_last_in_main(self):
        with Kernel() as kernel:
            for source, value in VALUES:
                with self.subTest(source):
                    self.assertEqual(kernel.link.value(source), value)
            kernel.link.evaluate('from __future__ import annotations')
            self.assertEqual(kernel.link.value('def f(x: Undefined): pass\nf.__annotations__'), "{'x': 'Undefined'}")


class Running(KernelCase):
    def test_code_of_a_file_keeps_its_place(self):
        self.link.evaluate('def placed():\n    return 1 / 0', file='/project/app.py', line=40)
        frame = self.raised('placed()')['frames'][-1]
        self.assertEqual((frame['file'], frame['line'], frame['function']), ('/project/app.py', 41, 'placed'))
        traceback = self.raised('def broken(:\n    pass', file='/project/app.py', line=40)['traceback']
        self.assertIn('File "/project/app.py", line 40', traceback)

    def test_a_loaded_module_that_nobody_imported_is_named_with_its_import(self):
        sources = 'len(xml.dom.minidom.Nothing)', 'def look():\n    return xml.dom.minidom\nlook()'
        for source in sources:
            self.assertNotIn('next', self.link.evaluate('import sys\nsys.modules.pop("xml", None)\n' + source))
        self.link.evaluate('__import__("xml.dom.minidom")')
        for source in sources:
            outcome = self.link.evaluate(source)
            said = 'The module xml.dom.minidom is loaded, and not imported here: code needs `import xml.dom.minidom` first'
            self.assertEqual('raised', outcome['type'], outcome)
            self.assertIn(said, outcome.get('next', ''))

    def test_system_exit_does_not_end_the_kernel(self):
        for source in ('raise SystemExit(3)', 'exit()', 'import sys; sys.exit("no")'):
            self.assertEqual(self.raised(source)['type']['name'], 'SystemExit')
        self.assertEqual(self.link.value('1'), '1')

    def test_evaluations_run_in_the_order_of_asking(self):
        self.link.evaluate('order = []')
        calls = [self.link.start('order.append(%d)' % n) for n in range(200)]
        for call in calls:
            call.answer()
        self.assertEqual(self.link.value('order == list(range(200))'), 'True')

    def test_a_value_whose_printer_raises_or_exits_is_shown_all_the_same(self):
        for what in ('raise ValueError("no")', 'raise SystemExit', 'raise KeyboardInterrupt', 'return 3'):
            self.link.evaluate('class Sly:\n    def __repr__(self):\n        %s' % what)
            self.assertIn(self.link.evaluate('Sly()')['type'], ('done', 'raised', 'interrupted'), what)
        self.assertEqual(self.link.value('1'), '1')

    def test_bad_parameters_are_refused_by_name(self):
        self.assertEqual(self.link.call('evaluate', call='bad', source=3).failure()['code'], 'invalid_params')
        self.assertEqual(self.link.call('evaluate', source='1').failure()['code'], 'invalid_params')
        bad_line = self.link.call('evaluate', call='bad', source='1', file='x', line=-1)
        self.assertEqual(bad_line.failure()['code'], 'invalid_params')
        self.assertEqual(self.link.call('no such method').failure()['code'], 'unknown_method')


class BadSource(KernelCase):
    def test_source_that_is_no_python_is_a_syntax_error_with_a_caret(self):
        exception = self.raised('x = (1,\ny = 2')
        self.assertEqual(exception['type']['name'], 'SyntaxError')
        self.assertIn('^', exception['traceback'])
        self.assertNotIn('evaluator.py', exception['traceback'])
        self.assertEqual(self.raised('  x = 1\n y = 2')['type']['name'], 'IndentationError')

    def test_source_that_the_compiler_refuses_is_reported_as_it_refuses_it(self):
        nested = ('SyntaxError', 'RecursionError', 'MemoryError')
        many = 1_000_000 if LONG else 150_000
        for source, names in (
            ('a = "\0"', ('ValueError', 'SyntaxError')),
            ('a = "\ud800"', ('UnicodeEncodeError', 'SyntaxError')),
            ('(' * 5000 + ')' * 5000, nested),
            ('-' * 100000 + '1', nested),
            ('a' + '.b' * 100000, nested),
            ('not ' * 100000 + '1', nested),
            ('+'.join(['1'] * many), nested),
            ('a' + '()' * many, nested),
        ):
            with self.subTest(source[:10]):
                self.assertIn(self.raised(source)['type']['name'], names)
                self.assertEqual(self.link.value('"alive"'), "'alive'")

    @once
    def test_ten_megabytes_of_source_are_run(self):
        source = 'big = """%s"""\nlen(big)' % ('x' * (10 * 1024 * 1024))
        self.assertEqual(self.link.value(source), str(10 * 1024 * 1024))


class Exceptions(KernelCase):
    def test_frames_name_the_users_code_only_with_source_and_locals(self):
        source = 'def divide(number):\n    half = number / 2\n    return half / 0\ndivide(8)'
        exception = self.raised(source)
        self.assertEqual([frame['function'] for frame in exception['frames']], ['<module>', 'divide'])
        inner = exception['frames'][-1]
        self.assertEqual((inner['line'], inner['source']), (3, 'return half / 0'))
        local = {row['name']: (row['type_name'], row['repr']) for row in inner['locals']}
        self.assertEqual(local, {'number': ('int', '8'), 'half': ('float', '4.0')})
        self.assertIn('division by zero', exception['message'])
        self.assertTrue(exception['traceback'].startswith('Traceback (most recent call last):\n  File "<imago-'))
        self.assertTrue(exception['traceback'].endswith('ZeroDivisionError: %s\n' % exception['message']))
        self.assertNotIn('imago/evaluator', exception['traceback'])

    def test_locals_are_shown_without_running_their_code(self):
        self.link.evaluate(
            'ran = []\nclass Wire:\n    def __repr__(self):\n        ran.append(1)\n        return "?"\n'
            'def trip():\n    wire = Wire()\n    raise ValueError'
        )
        self.raised('trip()')
        self.assertEqual(self.link.value('ran'), '[]')

    def test_many_and_large_locals_are_bounded(self):
        body = ''.join('    v%d = "x" * 10000\n' % n for n in range(50))
        frame = self.raised('def wide():\n%s    raise ValueError\nwide()' % body)['frames'][-1]
        self.assertLessEqual(len(frame['locals']), 20)
        self.assertEqual(frame['locals_omitted'], 50 - len(frame['locals']))
        self.assertTrue(all(len(row['repr']) <= 200 for row in frame['locals']))

    def test_cause_and_context_are_told_apart(self):
        because = self.raised('try:\n    {}["a"]\nexcept KeyError as e:\n    raise ValueError("v") from e')
        self.assertEqual(because['cause']['how'], 'cause')
        self.assertEqual(because['cause']['exception']['type']['name'], 'KeyError')
        during = self.raised('try:\n    {}["a"]\nexcept KeyError:\n    raise ValueError("v")')
        self.assertEqual(during['cause']['how'], 'context')
        alone = self.raised('try:\n    {}["a"]\nexcept KeyError:\n    raise ValueError("v") from None')
        self.assertNotIn('cause', alone)
        # Chains that are long or circular come to an end.
        self.raised('e = None\nfor n in range(5000):\n    f = ValueError(n)\n    f.__cause__ = e\n    e = f\nraise e')
        self.raised('a = ValueError(); b = ValueError(); a.__cause__ = b; b.__cause__ = a\nraise a')

    @unittest.skipIf(sys.version_info < (3, 11), 'notes came with 3.11')
    def test_notes_are_kept(self):
        exception = self.raised('e = ValueError("v"); e.add_note("look here"); raise e')
        self.assertEqual(exception['notes'], ['look here'])
        self.assertIn('look here', exception['traceback'])

    def test_an_exception_whose_text_cannot_be_made_is_reported(self):
        for body in ('raise ValueError', 'return 3', 'raise SystemExit'):
            self.link.evaluate('class Sly(Exception):\n    def __str__(self):\n        %s' % body)
            self.assertEqual(self.raised('raise Sly')['type']['name'], 'Sly')
        self.assertEqual(self.link.value('1'), '1')

    def test_an_exception_whose_text_never_comes_is_reported(self):
        body = '        while True: time.sleep(0.01)'
        self.link.evaluate('import time\nclass Slow(Exception):\n    def __str__(self):\n' + body)
        exception = self.raised('raise Slow')
        self.assertIn('took longer', exception['message'])

    def test_text_that_is_no_unicode_reaches_the_daemon_as_it_is(self):
        call = self.link.start('print("\\ud800 and \\udcff")')
        call.answer()
        self.assertEqual(call.output(), '\ud800 and \udcff\n')

    def test_a_deep_recursion_says_how_many_frames_were_left_out_on_a_line_of_its_own(self):
        exception = self.raised('def even(n):\n    return odd(n + 1)\ndef odd(n):\n    return even(n + 1)\neven(0)')
        self.assertGreater(exception['frames_omitted'], 500)
        self.assertLessEqual(len(exception['frames']), 50)
        self.assertLess(len(exception['traceback']), 64 * 1024)
        mark = '  ... %d frames left out ...' % exception['frames_omitted']
        lines = exception['traceback'].splitlines()
        self.assertEqual(lines.count(mark), 1)
        self.assertNotIn('File "<%d' % exception['frames_omitted'], exception['traceback'])
        self.assertIn('in odd', ''.join(lines[lines.index(mark) + 1 :]))
        self.assertIn('in even', ''.join(lines[: lines.index(mark)]))

    def test_a_huge_message_is_cut_in_the_report_and_in_the_traceback(self):
        exception = self.raised('raise ValueError("a" * 1_000_000 + "z")')
        for text in (exception['message'], exception['traceback']):
            self.assertIn('characters left out', text)
            self.assertLess(len(text), 4500)
            self.assertIn('z', text)
        (handle,) = re.findall(r'left out; all of it: read_more (@\S+) …', exception['message'])
        piece = self.link.call('more', handle=handle, deadline_ms=60_000, **{'from': 1_000_000, 'count': 10}).answer()
        self.assertEqual((piece['value']['text'], piece['value']['total']), ('z', 1_000_001))


# That a traceback is bounded in every part, and shows what Python would.

#: The longest line of source with its indentation and the marks of a cut.
WIDEST = LINE_CHARS + 10


def caught(source, file='<test>'):
    try:
        exec(compile(source, file, 'exec'), {})
    except BaseException as error:
        return error
    raise AssertionError('nothing was raised')


class Tracebacks(unittest.TestCase):
    def test_what_is_short_reads_as_python_prints_it(self):
        for source in (
            '1/0',
            'raise ValueError',
            'raise ValueError("one\\ntwo")',
            'try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise KeyError(3) from e',
            'try:\n    1/0\nexcept ZeroDivisionError:\n    {}["a"]',
            'def broken(:',
            'x = (1,\ny = 2',
            '  x = 1\n y = 2',
        ):
            error = caught(source)
            trace = error.__traceback__
            self.assertEqual(traceback_text(error, trace), ''.join(traceback.format_exception(type(error), error, trace)))

    def test_frames_of_a_library_in_a_row_are_one_line_but_for_where_it_was_raised(self):
        error = caught('import json\njson.loads("{")')
        lines = traceback_text(error, error.__traceback__.tb_next).splitlines()
        self.assertEqual(['  File "<test>", line 2, in <module>', '  … 2 frames of json'], lines[1:3])
        self.assertRegex(lines[3], r'decoder\.py", line \d+, in raw_decode$')
        self.assertEqual(1, sum('decoder.py' in line for line in lines))

    @unittest.skipIf(sys.version_info < (3, 11), 'groups came with 3.11')
    def test_a_group_reads_as_python_prints_it(self):
        error = caught('raise ExceptionGroup("all", [ValueError("one"), ExceptionGroup("b", [KeyError("two")])])')
        self.assertEqual(traceback_text(error, error.__traceback__), ''.join(traceback.format_exception(error)))

    def test_a_long_line_that_is_no_python_is_cut_around_its_caret(self):
        size = 100_000 if LONG else 20_000
        for before, after in ((size, size), (0, 2 * size), (2 * size, 0), (100, size)):
            error = caught('x = [' + '1, ' * (before // 3) + '1 $ 2, ' + '1, ' * (after // 3) + ']')
            lines = traceback_text(error, None).splitlines()
            self.assertTrue(all(len(line) <= WIDEST for line in lines), [len(line) for line in lines])
            shown, carets = lines[1:3]
            self.assertEqual(set(carets.strip()), {'^'})
            # Older parsers point at the character, newer ones at what begins there.
            self.assertEqual(shown[carets.index('^')], '$', (shown, carets))

    def test_a_syntax_error_with_any_fields_has_a_text(self):
        for fields in (
            ('f.py', 1, 5_000_000, 'x' * 300_000),
            ('f.py', 1, None, 'x' * 300_000),
            ('f.py', 1, 0, 'x' * 300_000),
            ('f.py', None, None, None),
            (None, 1, 5, 'short'),
        ):
            text = traceback_text(SyntaxError('odd', fields), None)
            self.assertIn('SyntaxError: odd', text)
            self.assertLess(len(text), 4 * LINE_CHARS)
        if sys.version_info >= (3, 10):
            error = SyntaxError('odd', ('f.py', 1, 1, 'short', 1, 1_000_000))
            self.assertLess(len(traceback_text(error, None)), 4 * LINE_CHARS)

    def test_a_name_as_long_as_the_line_is_not_underlined_as_a_whole_and_a_line_that_raised_is_cut_too(self):
        error = caught('x = ' + 'a' * 200_000 + ' b')
        lines = traceback_text(error, None).splitlines()
        self.assertTrue(all(len(line) <= WIDEST for line in lines), [len(line) for line in lines])
        error = caught('x = [' + '1, ' * 50_000 + '1 / 0]')
        self.assertLess(len(traceback_text(error, error.__traceback__)), 4 * LINE_CHARS + 1000)
