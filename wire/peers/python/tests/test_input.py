import time
import unittest

from tests.daemon import WAIT, Kernel, KernelCase


class Input(KernelCase):
    def answered(self, source, *lines):
        """Runs code that asks; answers its questions in turn. Returns the questions and the outcome."""
        call = self.link.start(source)
        questions = []
        for line in lines:
            asked = self.link.asked.get(timeout=WAIT)
            self.assertEqual((asked['method'], asked['params']['call']), ('ask', call.name))
            questions.append(asked['params']['question'])
            self.link.send({'type': 'return', 'id': asked['id'], 'result': {'answer': line}})
        return questions, call.answer()

    def value(self, outcome):
        return outcome['values'][0]['repr']['text']

    def test_input_asks_with_its_prompt_and_gets_the_answer(self):
        questions, outcome = self.answered('input("name? ")', 'Ada')
        self.assertEqual(questions, [{'type': 'stdin', 'prompt': 'name? ', 'secret': False}])
        self.assertEqual(self.value(outcome), "'Ada'")

    def test_lines_are_read_one_question_each(self):
        questions, outcome = self.answered('import sys\n[sys.stdin.readline(), input()]', 'one', 'two')
        self.assertEqual([question['prompt'] for question in questions], ['', ''])
        self.assertEqual(self.value(outcome), repr(['one\n', 'two']))

    def test_bytes_can_be_read_too(self):
        _, outcome = self.answered('import sys\nsys.stdin.buffer.readline()', 'é')
        self.assertEqual(self.value(outcome), repr('é\n'.encode()))

    def test_a_password_is_asked_for_as_a_secret(self):
        questions, outcome = self.answered('import getpass\ngetpass.getpass("key: ")', 'hidden')
        self.assertEqual(questions, [{'type': 'stdin', 'prompt': 'key: ', 'secret': True}])
        self.assertEqual(self.value(outcome), "'hidden'")

    def test_a_refused_question_is_an_end_of_file_that_says_why(self):
        call = self.link.start('input()')
        asked = self.link.asked.get(timeout=WAIT)
        refusal = {'code': 'refused', 'message': 'nobody is there to answer'}
        self.link.send({'type': 'fail', 'id': asked['id'], 'error': refusal})
        exception = call.answer()['exception']
        self.assertEqual(exception['type']['name'], 'EOFError')
        self.assertIn('nobody is there to answer', exception['message'])
        self.assertEqual([frame['function'] for frame in exception['frames']], ['<module>'])

    def test_reading_everything_ends_where_an_answer_is_refused(self):
        call = self.link.start('import sys; sys.stdin.read()')
        for line in ('a', 'b'):
            number = self.link.asked.get(timeout=WAIT)['id']
            self.link.send({'type': 'return', 'id': number, 'result': {'answer': line}})
        number = self.link.asked.get(timeout=WAIT)['id']
        self.link.send({'type': 'fail', 'id': number, 'error': {'code': 'refused', 'message': 'no more'}})
        self.assertEqual(self.value(call.answer()), repr('a\nb\n'))

    def test_waiting_for_an_answer_can_be_interrupted_and_a_late_answer_is_ignored(self):
        call = self.link.start('input()')
        asked = self.link.asked.get(timeout=WAIT)
        call.cancel()
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.link.send({'type': 'return', 'id': asked['id'], 'result': {'answer': 'late'}})
        self.assertEqual(self.link.value('1'), '1')

    def test_a_thread_asks_for_the_evaluation_that_runs(self):
        source = (
            'import threading\ngot = []\nt = threading.Thread(target=lambda: got.append(input()))\n'
            't.start(); t.join(); got'
        )
        _, outcome = self.answered(source, 'threaded')
        self.assertEqual(self.value(outcome), "['threaded']")

    def test_a_thread_that_asks_when_nothing_runs_is_told_so(self):
        self.link.evaluate(
            'import threading, time\ntold = []\ndef ask():\n    time.sleep(0.3)\n    try: input()\n'
            '    except EOFError as e: told.append(str(e))\nt = threading.Thread(target=ask); t.start()'
        )
        time.sleep(0.6)
        self.assertIn('no evaluation is running', self.link.value('t.join(); told'))


class Unanswered(unittest.TestCase):
    def test_a_lost_link_is_an_end_of_file_and_not_a_hang(self):
        with Kernel() as kernel:
            kernel.link.start('try: input()\nexcept EOFError as e: told = str(e)', call='asking')
            kernel.link.asked.get(timeout=WAIT)
            kernel.link.close()
            kernel.link = kernel.accept()
            kernel.link.call('recall', call='asking').answer()
            self.assertIn('lost', kernel.link.value('told'))

    def test_a_script_has_nobody_to_ask(self):
        with Kernel(script='try: input("? ")\nexcept EOFError as e: told = str(e)\n') as kernel:
            self.assertIn('no evaluation is running', kernel.link.value('told'))
