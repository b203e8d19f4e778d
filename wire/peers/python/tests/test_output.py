"""What evaluated code prints and reads."""

import os
import re
import sys
import threading
import time
import unittest

from tests.daemon import WAIT, Kernel, KernelCase, cost, until


# output

class Output(KernelCase):
    def printed(self, source):
        call = self.link.start(source)
        call.answer()
        return call

    def test_both_streams_come_in_the_order_of_printing(self):
        call = self.printed('import sys\nprint("a")\nprint("b", file=sys.stderr)\nprint("c")')
        pieces = [(event['stream'], event['text']) for event in call.events]
        self.assertEqual(pieces, [('stdout', 'a\n'), ('stderr', 'b\n'), ('stdout', 'c\n')])

    def test_output_comes_before_the_answer_and_while_the_code_runs(self):
        call = self.link.start('import time\nprint("early", end="")\nwhile not globals().get("go"): time.sleep(0.001)')
        call.until_printed('early')
        call.cancel()
        call.answer()

    def test_bytes_written_to_the_buffer_are_text_even_when_split_within_a_character(self):
        source = 'import sys\nfor byte in "é€😀\\n".encode(): sys.stdout.buffer.write(bytes([byte]))'
        self.assertEqual(self.printed(source).output('stdout'), 'é€😀\n')

    def test_threads_print_into_the_evaluation_that_runs(self):
        source = (
            'import threading\nthreads = [threading.Thread(target=print, args=("t%d\\n" % n,), kwargs={"end": ""})'
            ' for n in range(20)]\n[t.start() for t in threads]\n[t.join() for t in threads]'
        )
        lines = self.printed(source).output().split()
        self.assertEqual(sorted(lines), sorted('t%d' % n for n in range(20)))

    def test_what_a_thread_prints_when_nothing_runs_is_a_note(self):
        self.printed(
            'import threading, time\ndef later():\n    time.sleep(0.3)\n    print("afterwards")\n'
            'threading.Thread(target=later).start()'
        )
        note = self.link.notes.get(timeout=WAIT)
        self.assertEqual((note['name'], note['params']), ('output', {'stream': 'stdout', 'text': 'afterwards\n'}))

    def test_the_streams_say_what_they_are(self):
        source = (
            'import sys\nboth = sys.stdout, sys.stderr\n'
            '[(s.isatty(), s.encoding, s.fileno(), s.writable(), s.closed) for s in both]'
        )
        expected = "[(False, 'utf-8', 1, True, False), (False, 'utf-8', 2, True, False)]"
        self.assertEqual(self.link.value(source), expected)

    def test_closing_a_stream_does_not_take_it_from_the_next_evaluation(self):
        self.printed('import sys\nsys.stdout.close(); sys.stderr.close(); sys.stdin.close()')
        self.assertEqual(self.printed('print("still")').output(), 'still\n')

    def test_writing_what_is_no_text_is_a_type_error(self):
        self.assertEqual(self.raised('import sys; sys.stdout.write(b"x")')['type']['name'], 'TypeError')

    def test_replacing_the_streams_is_the_programs_own_business(self):
        source = (
            'import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()) as held: print("in")\n'
            'held.getvalue()'
        )
        call = self.link.start(source)
        self.assertEqual(call.answer()['values'][0]['repr']['text'], repr('in\n'))
        self.assertEqual(call.output(), '')

    def test_a_child_writes_after_what_was_printed_before_it(self):
        call = self.link.start(
            'import subprocess, sys, time\nprint("parent")\n'
            'subprocess.run([sys.executable, "-c", "import time; print(chr(99), flush=True); time.sleep(600)"], timeout=600)'
        )
        call.until_printed('parent')
        until(lambda: b'c\n' in bytes(self.kernel.printed[1]))
        call.cancel()
        self.assertEqual(call.answer()['type'], 'interrupted')

    def test_c_level_output_goes_to_the_real_descriptors(self):
        self.printed('import os; os.write(1, b"raw one\\n"); os.write(2, b"raw two\\n")')
        until(lambda: b'raw one\n' in bytes(self.kernel.printed[1]) and b'raw two\n' in bytes(self.kernel.printed[2]))

    def test_a_finalizer_that_prints_does_no_harm(self):
        source = (
            'import gc, sys\nclass Loud:\n    def __del__(self): sys.stdout.write("gone\\n")\n'
            'for n in range(2000):\n    a = Loud(); a.me = a\n    sys.stdout.write("%d\\n" % n)\ngc.collect(); None'
        )
        lines = self.printed(source).output().split()
        self.assertEqual([line for line in lines if line != 'gone'], [str(n) for n in range(2000)])

    def test_printing_at_the_limit_of_recursion_does_not_tear_the_link(self):
        for _ in range(3):
            source = 'def down(n):\n    print(n)\n    down(n + 1)\ntry: down(0)\nexcept RecursionError: "caught"'
            call = self.link.start(source)
            self.assertIn(call.answer()['type'], ('done', 'raised'))
            self.assertTrue(call.output().startswith('0\n1\n2\n'))
        self.assertEqual(self.link.value('1'), '1')

    def test_a_flood_that_is_consumed_arrives_whole(self):
        source = 'for n in range(60000): print(n, "x" * 40)'
        call = self.printed(source)
        kept = sum(len(event['text']) for event in call.events if event['type'] == 'output')
        lost = sum(event['characters'] for event in call.events if event['type'] == 'dropped')
        self.assertEqual(kept + lost, sum(len('%d %s\n' % (n, 'x' * 40)) for n in range(60000)))


class WithoutCredit(unittest.TestCase):
    def test_fault_24_a_flood_that_nobody_consumes_neither_blocks_nor_grows_memory(self):
        with Kernel() as kernel:
            link = kernel.link
            link.credit = False
            link.value('import resource, sys; line = "x" * 99')
            before = int(link.value('resource.getrusage(resource.RUSAGE_SELF).ru_maxrss'))
            call = link.start('for n in range(300000): print(line)\n"through"')
            until(lambda: link.call('status').answer() == {'running': None, 'queued': 0})
            self.assertEqual(call.answers.qsize(), 0)
            link.send({'type': 'credit', 'id': call.number, 'bytes': 16 * 1024 * 1024})
            self.assertEqual(call.answer()['values'][0]['repr']['text'], "'through'")
            kept = sum(len(event['text']) for event in call.events if event['type'] == 'output')
            self.assertLessEqual(kept, 2 * 1024 * 1024)
            lost = sum(event['characters'] for event in call.events if event['type'] == 'dropped')
            self.assertEqual(kept + lost, 300000 * 100)
            after = int(link.value('resource.getrusage(resource.RUSAGE_SELF).ru_maxrss'))
            unit = 1024 * 1024 if sys.platform == 'darwin' else 1024
            self.assertLess((after - before) / unit, 16)

    def test_credit_that_comes_late_brings_what_was_kept_then_the_count_of_what_was_not(self):
        with Kernel(welcome={'credit': 4096}) as kernel:
            link = kernel.link
            link.credit = False
            call = link.start('print("a" * 3000000, end="")\nprint("printed", end="")\ninput()')
            link.asked.get(timeout=WAIT)
            self.assertEqual(sum(len(event['text']) for event in call.events) // 1024, 3)
            link.credit = True
            link.send({'type': 'credit', 'id': call.number, 'bytes': 10 * 1024 * 1024})
            until(lambda: any(event['type'] == 'dropped' for event in call.events))
            kept = sum(len(event['text']) for event in call.events if event['type'] == 'output')
            dropped = sum(event['characters'] for event in call.events if event['type'] == 'dropped')
            self.assertEqual(kept + dropped, 3000007)
            self.assertEqual(call.events[-1]['type'], 'dropped')
            call.cancel()
            self.assertEqual(call.answer()['type'], 'interrupted')

    def test_events_never_cost_more_than_was_granted(self):
        with Kernel(welcome={'credit': 700}) as kernel:
            link = kernel.link
            link.credit = False
            call = link.start('for n in range(1000): print("é" * 50)\ninput()')
            link.asked.get(timeout=WAIT)
            events = [message for message in link.log if message['type'] == 'event']
            size = sum(map(cost, events))
            self.assertGreater(size, 0)
            self.assertLessEqual(size, 700)
            link.send({'type': 'credit', 'id': call.number, 'bytes': 1024 * 1024})
            call.cancel()
            call.answer()

    def test_an_answer_does_not_wait_for_ever_for_credit(self):
        with Kernel(welcome={'credit': 700}) as kernel:
            kernel.link.credit = False
            call = kernel.link.start('print("x" * 10000); "end"')
            self.assertEqual(call.answer()['values'][0]['repr']['text'], "'end'")

    def test_fault_23_a_daemon_that_stops_reading_does_not_stop_the_code(self):
        with Kernel(welcome={'credit': 64 * 1024 * 1024}) as kernel:
            link = kernel.link
            link.credit = False
            path = kernel.folder + '/done'
            # A daemon that does not read: its reader waits for a lock that this test holds.
            taken = link._take
            gate = threading.Event()
            link._take = lambda message: (gate.wait(WAIT), taken(message))
            link.start('for n in range(200000): print("x" * 99)\nopen(%r, "w").close()' % path)
            until(lambda: os.path.exists(path))
            gate.set()
            self.assertEqual(link.value('1'), '1')

    def test_background_output_is_dropped_and_counted_when_the_daemon_falls_behind(self):
        with Kernel() as kernel:
            link = kernel.link
            gate = threading.Event()
            taken = link._take
            link._take = lambda message: (gate.wait(WAIT), taken(message))
            link.start(
                'import threading, time\ndef flood():\n    time.sleep(0.2)\n'
                '    for n in range(100000): print("x" * 99)\n'
                '    open(%r, "w").close()\nthreading.Thread(target=flood).start()' % (kernel.folder + '/done')
            )
            until(lambda: os.path.exists(kernel.folder + '/done'))
            gate.set()
            self.assertEqual(link.value('1'), '1')
            link.evaluate('import threading, time; threading.Timer(0.1, print, ["last"]).start()')
            seen = ''
            while 'last' not in seen:
                seen += link.notes.get(timeout=WAIT)['params']['text']
            parts = re.split(r'\n\[imago: ([0-9]+) characters of output were dropped\]\n', seen)
            self.assertGreater(len(parts), 1)
            kept, dropped = ''.join(parts[0::2]), sum(map(int, parts[1::2]))
            self.assertEqual(len(kept) + dropped, 100000 * 100 + len('last\n'))


# input

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
