import sys
import unittest

from tests.daemon import Kernel, KernelCase


class Evaluating(KernelCase):
    def test_an_expression_gives_its_value(self):
        outcome = self.link.evaluate('1+2')
        self.assertEqual(outcome['type'], 'done')
        self.assertEqual([value['repr']['text'] for value in outcome['values']], ['3'])
        self.assertIsInstance(outcome['elapsed_ms'], float)

    def test_a_statement_has_no_values(self):
        self.assertEqual(self.link.evaluate('x = 1')['values'], [])

    def test_an_expression_that_is_none_has_the_value_none(self):
        self.assertEqual(self.link.value('None'), 'None')

    def test_the_last_expression_of_several_statements_is_the_value(self):
        self.assertEqual(self.link.value('a = 20\nfor i in range(2):\n    a += 1\na'), '22')

    def test_a_last_statement_after_an_expression_has_no_value(self):
        self.assertEqual(self.link.evaluate('1\nb = 2')['values'], [])

    def test_empty_source_does_nothing(self):
        for source in ('', '   ', '\n\n', '# nothing'):
            self.assertEqual(self.link.evaluate(source)['values'], [], source)

    def test_definitions_last_from_one_evaluation_to_the_next(self):
        self.link.evaluate('def double(n):\n    return 2 * n')
        self.assertEqual(self.link.value('double(21)'), '42')

    def test_the_namespace_is_main_with_nothing_of_imago_in_it(self):
        self.assertEqual(self.link.value('__name__'), "'__main__'")
        names = self.link.value('sorted(n for n in globals() if not n.startswith("__"))')
        self.assertNotIn('imago', names)
        self.assertEqual(self.link.value('import sys; sys.modules["__main__"].__dict__ is globals()'), 'True')
        self.assertEqual(self.link.value('sys.argv, sys.path[0]'), "([''], '')")

    def test_future_statements_stay_in_force(self):
        with Kernel() as kernel:
            kernel.link.evaluate('from __future__ import annotations')
            self.assertEqual(kernel.link.value('def f(x: Undefined): pass\nf.__annotations__'), "{'x': 'Undefined'}")

    def test_typed_in_code_has_retrievable_source(self):
        self.link.evaluate('def first(n):\n    return n + 1')
        self.link.evaluate('def second():\n    pass')
        source = self.link.value('import inspect; inspect.getsource(first)')
        self.assertEqual(source, repr('def first(n):\n    return n + 1\n'))

    def test_code_of_a_file_keeps_its_place(self):
        self.link.evaluate('def placed():\n    return 1 / 0', file='/project/app.py', line=40)
        frame = self.raised('placed()')['frames'][-1]
        self.assertEqual((frame['file'], frame['line'], frame['function']), ('/project/app.py', 41, 'placed'))

    def test_a_syntax_error_of_a_file_keeps_its_place(self):
        traceback = self.raised('def broken(:\n    pass', file='/project/app.py', line=40)['traceback']
        self.assertIn('File "/project/app.py", line 40', traceback)

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

    def test_an_evaluation_runs_on_the_main_thread(self):
        source = 'import threading; threading.current_thread() is threading.main_thread()'
        self.assertEqual(self.link.value(source), 'True')

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
    def assert_raised(self, source, *names):
        self.assertIn(self.raised(source)['type']['name'], names)
        self.assertEqual(self.link.value('"alive"'), "'alive'")

    def test_source_that_is_no_python_is_a_syntax_error_with_a_caret(self):
        exception = self.raised('x = (1,\ny = 2')
        self.assertEqual(exception['type']['name'], 'SyntaxError')
        self.assertIn('^', exception['traceback'])
        self.assertNotIn('evaluator.py', exception['traceback'])
        self.assertEqual(self.raised('  x = 1\n y = 2')['type']['name'], 'IndentationError')

    def test_a_nul_byte_is_refused_by_the_compiler(self):
        self.assert_raised('a = "\0"', 'ValueError', 'SyntaxError')

    def test_a_lone_surrogate_is_refused_by_the_compiler(self):
        self.assert_raised('a = "\ud800"', 'UnicodeEncodeError', 'SyntaxError')

    def test_source_that_nests_too_deep_for_the_compiler_is_refused(self):
        for source in ('(' * 5000 + ')' * 5000, '-' * 100000 + '1', 'a' + '.b' * 100000, 'not ' * 100000 + '1'):
            self.assert_raised(source, 'SyntaxError', 'RecursionError', 'MemoryError')

    def test_a_chain_of_a_million_operators_does_not_exhaust_the_stack(self):
        for source in ('+'.join(['1'] * 1000000), 'a' + '()' * 1000000):
            self.assert_raised(source, 'RecursionError', 'MemoryError')

    def test_ten_megabytes_of_source_are_run(self):
        source = 'big = """%s"""\nlen(big)' % ('x' * (10 * 1024 * 1024))
        self.assertEqual(self.link.value(source), str(10 * 1024 * 1024))

    def test_ten_megabytes_of_broken_source_are_a_short_report(self):
        exception = self.raised('x = (' + '1 ' * (5 * 1024 * 1024))
        self.assertIn(exception['type']['name'], ('SyntaxError', 'MemoryError'))
        self.assertLess(len(exception['traceback']), 64 * 1024)

    def test_recursion_without_end_is_reported_with_its_middle_left_out(self):
        exception = self.raised('def down(n):\n    return down(n + 1)\ndown(0)')
        self.assertEqual(exception['type']['name'], 'RecursionError')
        self.assertGreater(exception['frames_omitted'], 500)
        self.assertLessEqual(len(exception['frames']), 50)
        self.assertLess(len(exception['traceback']), 64 * 1024)
        self.assertEqual(self.link.value('1'), '1')


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

    def test_a_long_or_circular_chain_is_bounded(self):
        self.raised('e = None\nfor n in range(5000):\n    f = ValueError(n)\n    f.__cause__ = e\n    e = f\nraise e')
        self.raised('a = ValueError(); b = ValueError(); a.__cause__ = b; b.__cause__ = a\nraise a')

    @unittest.skipIf(sys.version_info < (3, 11), 'notes came with 3.11')
    def test_notes_are_kept(self):
        exception = self.raised('e = ValueError("v"); e.add_note("look here"); raise e')
        self.assertEqual(exception['notes'], ['look here'])
        self.assertIn('look here', exception['traceback'])

    @unittest.skipIf(sys.version_info < (3, 11), 'groups came with 3.11')
    def test_a_group_is_reported_with_its_members(self):
        traceback = self.raised('raise ExceptionGroup("all", [ValueError("one"), KeyError("two")])')['traceback']
        self.assertIn('ValueError: one', traceback)
        self.assertIn("KeyError: 'two'", traceback)

    def test_an_exception_whose_text_cannot_be_made_is_reported(self):
        for body in ('raise ValueError', 'return 3', 'raise SystemExit'):
            self.link.evaluate('class Sly(Exception):\n    def __str__(self):\n        %s' % body)
            self.assertEqual(self.raised('raise Sly')['type']['name'], 'Sly')
        self.assertEqual(self.link.value('1'), '1')

    def test_an_exception_whose_text_never_comes_is_reported(self):
        self.link.evaluate('class Slow(Exception):\n    def __str__(self):\n        while True: pass')
        exception = self.raised('raise Slow')
        self.assertIn('took longer', exception['message'])

    def test_a_huge_message_is_cut(self):
        self.assertLess(len(self.raised('raise ValueError("x" * 10_000_000)')['message']), 10_000)

    def test_text_that_is_no_unicode_reaches_the_daemon_as_it_is(self):
        call = self.link.start('print("\\ud800 and \\udcff")')
        call.answer()
        self.assertEqual(call.output(), '\ud800 and \udcff\n')
