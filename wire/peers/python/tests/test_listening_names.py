"""Whose names code sees that is evaluated in a program which listens."""

from tests.guests import ProgramCase


class Names(ProgramCase):
    def test_evaluated_code_sees_the_names_of_main_or_those_of_the_given_namespace(self):
        source = 'import imago\nmine = 1\nnames = {"other": 2}\nimago.listen(%s)\nwait_for_end()'
        self.assertEqual(self.program(source % '').attach().value('mine'), '1')
        link = self.program(source % 'namespace=names').attach()
        self.assertEqual(link.value('other'), '2')
        self.assertEqual(link.evaluate('mine')['type'], 'raised')

    def test_without_a_namespace_evaluated_code_sees_the_module_that_listens_whoever_runs_it(self):
        source = (
            'import types, sys\n'
            'app = types.ModuleType("webapp")\n'
            'sys.modules["webapp"] = app\n'
            'exec("import imago\\nhits = 7\\ndef begin():\\n    return imago.listen()", vars(app))\n'
            'app.begin()\nwait_for_end()\n'
        )
        link = self.program(source).attach()
        self.assertEqual(link.value('hits, __name__'), "(7, 'webapp')")

    def test_a_pool_of_the_standard_library_that_calls_it_is_not_the_program(self):
        source = 'import imago, threading\nkept = 5\nthreading.Thread(target=imago.listen).start()\nwait_for_end()\n'
        self.assertEqual(self.program(source).attach().value('kept'), '5')
