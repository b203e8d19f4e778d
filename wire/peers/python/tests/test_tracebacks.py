"""That a traceback is bounded in every part, and shows what Python would."""

import sys
import traceback
import unittest

from imago.exceptions import LINE_CHARS, traceback_text
from tests.daemon import KernelCase

#: The longest line of source with its indentation and the marks of a cut.
WIDEST = LINE_CHARS + 10


def caught(source, file='<test>'):
    try:
        exec(compile(source, file, 'exec'), {})
    except BaseException as error:
        return error
    raise AssertionError('nothing was raised')


class Texts(unittest.TestCase):
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
            'import json\njson.loads("{")',
        ):
            error = caught(source)
            trace = error.__traceback__
            self.assertEqual(traceback_text(error, trace), ''.join(traceback.format_exception(type(error), error, trace)))

    @unittest.skipIf(sys.version_info < (3, 11), 'groups came with 3.11')
    def test_a_group_reads_as_python_prints_it(self):
        error = caught('raise ExceptionGroup("all", [ValueError("one"), ExceptionGroup("b", [KeyError("two")])])')
        self.assertEqual(traceback_text(error, error.__traceback__), ''.join(traceback.format_exception(error)))

    def test_a_long_line_that_is_no_python_is_cut_around_its_caret(self):
        for before, after in ((100_000, 100_000), (0, 200_000), (200_000, 0), (100, 100_000)):
            error = caught('x = [' + '1, ' * (before // 3) + '1 $ 2, ' + '1, ' * (after // 3) + ']')
            lines = traceback_text(error, None).splitlines()
            self.assertTrue(all(len(line) <= WIDEST for line in lines), [len(line) for line in lines])
            shown, carets = lines[1:3]
            self.assertEqual(set(carets.strip()), {'^'})
            # Older parsers point at the character, newer ones at what begins there.
            self.assertEqual(shown[carets.index('^')], '$', (shown, carets))

    def test_a_name_as_long_as_the_line_is_not_underlined_as_a_whole(self):
        error = caught('x = ' + 'a' * 200_000 + ' b')
        lines = traceback_text(error, None).splitlines()
        self.assertTrue(all(len(line) <= WIDEST for line in lines), [len(line) for line in lines])

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

    def test_a_line_that_raised_is_cut_too(self):
        error = caught('x = [' + '1, ' * 50_000 + '1 / 0]')
        self.assertLess(len(traceback_text(error, error.__traceback__)), 4 * LINE_CHARS + 1000)


class Reports(KernelCase):
    def test_a_deep_recursion_says_how_many_frames_were_left_out_on_a_line_of_its_own(self):
        exception = self.raised('def even(n):\n    return odd(n + 1)\ndef odd(n):\n    return even(n + 1)\neven(0)')
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

    def test_a_long_line_of_source_that_is_no_python_is_a_short_report(self):
        exception = self.raised('x = [' + '1, ' * 70_000 + '1 $ 2]')
        self.assertLess(len(exception['traceback']), 1000)
        self.assertIn('$', exception['traceback'])
