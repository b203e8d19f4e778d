"""The history, the last error and the last values."""

import builtins
import re
import sys
import unittest

from imago.history import CONSOLE, KEPT, SOURCE_CHARS, Errors, History, LastValues
from tests.daemon import Kernel, KernelCase
from tests.evaluating import Guest


TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z')


class Looking(KernelCase):
    def look(self, name, **query):
        answer = self.link.call(name, deadline_ms=60_000, **query).answer()
        self.assertEqual(answer['type'], 'found', answer)
        return answer['value']

    def newest(self, limit=1, **query):
        return self.look('history', limit=limit, **query)['entries']

    def test_an_evaluation_is_told_with_who_asked_and_what_came_of_it(self):
        call = self.link.start('6 * 7', file='/app/sums.py', line=3)
        call.answer()
        (entry,) = self.newest()
        self.assertRegex(entry.pop('at'), TIME)
        self.assertGreater(entry.pop('elapsed_ms'), 0)
        self.assertGreater(entry.pop('number'), 0)
        self.assertEqual(
            entry,
            {
                'who': 'a test',
                'call': call.name,
                'source': '6 * 7',
                'truncated': False,
                'place': {'file': '/app/sums.py', 'line': 3},
                'outcome': 'done',
                'result': '42',
            },
        )

    def test_what_runs_is_told_of_while_it_runs_and_what_was_withdrawn_is_not(self):
        call = self.link.start('print("on")\nwhile True: len("")')
        call.until_printed('on')
        waiting = self.link.start('"never"')
        (entry,) = self.newest()
        self.assertEqual((entry['call'], entry['outcome'], entry['elapsed_ms']), (call.name, 'running', None))
        waiting.cancel()
        waiting.answer()
        call.cancel()
        call.answer()
        (entry,) = self.newest()
        self.assertEqual((entry['call'], entry['outcome']), (call.name, 'interrupted'))

    def test_it_is_paged_by_number(self):
        for source in ('0', '1', 'n = 2', '1 / 0'):
            self.link.evaluate(source)
        first = self.newest(2)
        entries = first + self.newest(2, before=first[-1]['number'])
        self.assertEqual([entry['source'] for entry in entries], ['1 / 0', 'n = 2', '1', '0'])
        outcomes = [(entry['outcome'], entry['result'], entry['place']) for entry in entries[:2]]
        self.assertEqual(outcomes, [('raised', 'ZeroDivisionError: division by zero', None), ('done', None, None)])
        self.assertEqual(self.look('history', limit=1)['total'], first[0]['number'])

    def test_the_last_error_is_told_as_it_was_when_it_was_raised(self):
        call = self.link.start('def deep(depth):\n    held = [depth]\n    raise ValueError("too deep")\ndeep(3)')
        call.answer()
        self.link.evaluate('"something else, that went well"')
        last = self.look('last_error')
        self.assertEqual((last['who'], last['call'], last['error']['message']), ('a test', call.name, 'too deep'))
        self.assertRegex(last['at'], TIME)
        names = {local['name']: local['repr'] for local in last['error']['frames'][-1]['locals']}
        self.assertEqual(names, {'depth': '3', 'held': '[3]'})

    def test_what_the_interpreter_keeps_of_an_error_is_read_without_running_any_of_its_code(self):
        self.link.evaluate('1 / 0')
        self.link.evaluate(
            'import sys\nran = []\nclass Trap(Exception):\n    def __str__(self): ran.append("str")\n'
            '    def __bool__(self): ran.append("bool")\n'
            '    __traceback__ = property(lambda self: ran.append("traceback"))\n'
            '    __cause__ = property(lambda self: ran.append("cause"))\n'
            '    __notes__ = property(lambda self: ran.append("notes"))\n'
            'try: raise Trap("left")\nexcept Trap as trap: sys.last_value = trap\n'
            'sys.last_exc = sys.last_value'
        )
        last = self.look('last_error')
        self.assertEqual((last['error']['type']['name'], last['error']['message']), ('Trap', 'left'))
        self.assertEqual((last['who'], last['call'], last['at']), (None, None, None))
        self.assertIn('Trap: left', last['error']['traceback'])
        self.assertEqual(self.link.value('ran'), '[]')
        # What is raised after it is newer.
        self.link.evaluate('int("x")')
        self.assertEqual(self.look('last_error')['error']['type']['name'], 'ValueError')
        self.link.evaluate('del sys.last_value, sys.last_exc')


class Fresh(unittest.TestCase):
    def test_where_nothing_was_raised_it_is_said_where_was_looked(self):
        with Kernel() as kernel:
            last = kernel.link.call('last_error', deadline_ms=60_000).answer()['value']
            self.assertEqual((last['error'], last['who'], last['call'], last['at']), (None, None, None, None))
            self.assertEqual(last['seen'][0], 'evaluations')


class Keeping(unittest.TestCase):
    def test_the_last_thousand_are_kept_and_long_ones_are_cut(self):
        history = History()
        for n in range(KEPT + 5):
            history.add('ada', 'x' * (SOURCE_CHARS + n), outcome='done', result='y' * 10_000)
        page = history.page({'limit': 10_000})
        self.assertEqual((len(page['entries']), page['total']), (KEPT, KEPT + 5))
        entry = page['entries'][-1]
        self.assertEqual((entry['number'], len(entry['source']), entry['truncated']), (6, SOURCE_CHARS, True))
        self.assertLess(len(entry['result']), 1000)

    def test_what_a_person_ran_stands_among_the_evaluations_as_theirs(self):
        guest = Guest()
        guest.evaluator.history.add('ada', 'df.head()', outcome='done', at=1_700_000_000.25, elapsed_ms=3.5)
        (entry,) = guest.evaluator.history.page({'limit': 10})['entries']
        self.assertEqual((entry['who'], entry['call'], entry['at']), ('ada', None, '2023-11-14T22:13:20.250Z'))
        with self.assertRaises(ValueError):
            guest.evaluator.history.add('ada', 'x', outcome='perhaps')

    def test_a_prompt_that_fails_outside_of_us_is_seen_by_what_it_leaves(self):
        errors = Errors()
        self.assertIsNone(errors.last()['error'])
        try:
            raise LookupError('at the prompt')
        except LookupError as error:
            sys.last_value = error
        self.addCleanup(delattr, sys, 'last_value')
        self.assertEqual(errors.last()['error']['message'], 'at the prompt')


class LastValuesTest(unittest.TestCase):
    def setUp(self):
        self.namespace = {}
        self.last = LastValues(self.namespace)

    def shown(self, *values, who=CONSOLE):
        for value in values:
            self.last.keep([value], who)

    def test_the_last_three_values_have_names(self):
        self.shown(1)
        self.assertEqual(self.namespace, {'_': 1})
        self.shown(2, 3, 4)
        self.assertEqual(self.namespace, {'_': 4, '__': 3, '___': 2})

    def test_none_statements_what_others_evaluate_and_names_of_the_program_change_nothing(self):
        self.shown(1, None)
        self.last.keep([], CONSOLE)
        self.shown(2, who='claude-code 2.1')
        self.assertEqual(self.namespace, {'_': 1})

    def test_a_name_that_was_taken_over_is_left_alone_until_it_is_given_back(self):
        self.shown(1, 2)
        self.namespace['_'] = 'mine'
        self.shown(3)
        self.assertEqual(self.namespace, {'_': 'mine', '__': 1})
        del self.namespace['_']
        self.shown(3)
        self.assertEqual(self.namespace, {'_': 3, '__': 2, '___': 1})

    def test_gettext_keeps_its_own(self):
        builtins._ = str
        try:
            self.shown(1)
        finally:
            del builtins._
        self.assertEqual(self.namespace, {})
