import builtins
import unittest

from imago.history import CONSOLE, LastValues


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

    def test_none_and_statements_change_nothing(self):
        self.shown(1, None)
        self.last.keep([], CONSOLE)
        self.assertEqual(self.namespace, {'_': 1})

    def test_what_others_evaluate_changes_nothing(self):
        self.shown(1)
        self.shown(2, who='claude-code 2.1')
        self.assertEqual(self.namespace, {'_': 1})

    def test_a_name_of_the_program_is_left_alone(self):
        self.namespace['_'] = 'mine'
        self.shown(1)
        self.assertEqual(self.namespace, {'_': 'mine'})

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


if __name__ == '__main__':
    unittest.main()
