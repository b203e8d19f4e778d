"""What evaluated code prints and reads."""

import os
import re
import sys
import threading
import unittest

from imago import output as gathering
from tests.daemon import WAIT, Kernel, KernelCase, cost, until


class Gathered(unittest.TestCase):
    def test_what_comes_while_another_thread_sends_is_sent_a_little_later(self):
        due, notes = [], []

        class Clock:
            def after(self, seconds, work):
                due.append(work)

        output = gathering.Output(Clock(), lambda name, params: notes.append(params['text']) or True)
        with output._flushing:
            output.write('stdout', 'afterwards')
            due.pop()()
            self.assertEqual(notes, [])
        due.pop()()
        self.assertEqual((notes, due), (['afterwards'], []))


class Output(KernelCase):
    def printed(self, source):
        call = self.link.start(source)
        call.answer()
        return call

    def test_both_streams_come_in_the_order_of_printing(self):
        call = self.printed('import sys\nprint("a")\nprint("b", file=sys.stderr)\nprint("c")')
        pieces = [(event['stream'], event['text']) for event in call.events]
        self.assertEqual(pieces, [('stdout', 'a\n'), ('stderr', 'b\n'), ('stdout', 'c\n')])

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
            'import os, threading, time\ndef later():\n    while not os.path.exists("after"): time.sleep(0.01)\n'
            '    print("afterwards")\nthreading.Thread(target=later).start()'
        )
        self.kernel.put('after')
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
        self.assertEqual(self.raised('import sys; sys.stdout.write(b"x")')['type']['name'], 'TypeError')
        self.printed('import sys\nsys.stdout.close(); sys.stderr.close(); sys.stdin.close()')
        self.assertEqual(self.printed('print("still")').output(), 'still\n')

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


def kept_and_lost(call):
    """The characters of output that have come, and those that were told to be dropped."""
    kept = len(call.output())
    return kept, sum(event['characters'] for event in call.events if event['type'] == 'dropped')


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
            kept, lost = kept_and_lost(call)
            self.assertLessEqual(kept, 2 * 1024 * 1024)
            self.assertEqual(kept + lost, 300000 * 100)
            after = int(link.value('resource.getrusage(resource.RUSAGE_SELF).ru_maxrss'))
            unit = 1024 * 1024 if sys.platform == 'darwin' else 1024
            self.assertLess((after - before) / unit, 16)

    def test_no_more_is_sent_than_was_granted_then_what_was_kept_and_last_the_count_of_what_was_not(self):
        for credit, source, count in (
            (4096, 'print("a" * 3000000, end="")\nprint("printed", end="")\ninput()', 3000007),
            (700, 'for n in range(1000): print("é" * 50)\ninput()', 51000),
        ):
            with Kernel(welcome={'credit': credit}) as kernel:
                link = kernel.link
                link.credit = False
                call = link.start(source)
                link.asked.get(timeout=WAIT)
                size = sum(cost(message) for message in link.log if message['type'] == 'event')
                self.assertGreater(size, credit // 2)
                self.assertLessEqual(size, credit)
                link.credit = True
                link.send({'type': 'credit', 'id': call.number, 'bytes': 10 * 1024 * 1024})
                until(lambda: sum(kept_and_lost(call)) == count)
                self.assertEqual(call.events[-1]['type'], 'dropped' if count > 1024 * 1024 else 'output')
                call.cancel()
                self.assertEqual(call.answer()['type'], 'interrupted')

    def test_an_answer_does_not_wait_for_ever_for_credit(self):
        with Kernel(welcome={'credit': 700}) as kernel:
            kernel.link.evaluate('import sys; sys.modules["imago.calls"].PATIENCE = 0.5')
            kernel.link.credit = False
            call = kernel.link.start('print("x" * 10000); "end"')
            self.assertEqual(call.answer()['values'][0]['repr']['text'], "'end'")

    def unread(self, link):
        """A daemon that does not read: its reader waits for the event that is returned."""
        taken, gate = link._take, threading.Event()
        link._take = lambda message: (gate.wait(WAIT), taken(message))
        return gate

    def test_fault_23_a_daemon_that_stops_reading_does_not_stop_the_code(self):
        with Kernel(welcome={'credit': 64 * 1024 * 1024}) as kernel:
            kernel.link.credit = False
            gate = self.unread(kernel.link)
            kernel.link.start('for n in range(100000): print("x" * 99)\nopen("done", "w").close()')
            until(lambda: os.path.exists(kernel.folder + '/done'))
            gate.set()
            self.assertEqual(kernel.link.value('1'), '1')

    def test_background_output_is_dropped_and_counted_when_the_daemon_falls_behind(self):
        with Kernel() as kernel:
            link = kernel.link
            link.evaluate(
                'import os, threading, time\ndef wait_for(name):\n    while not os.path.exists(name): time.sleep(0.01)\n'
                'def flood():\n    wait_for("nobody_reads")\n    for n in range(100000): print("x" * 99)\n'
                '    open("done", "w").close()\n    wait_for("all_is_read")\n    print("last")\n'
                'threading.Thread(target=flood).start()'
            )
            gate = self.unread(link)
            kernel.put('nobody_reads')
            until(lambda: kernel.has('done'))
            gate.set()
            self.assertEqual(link.value('1'), '1')
            kernel.put('all_is_read')
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

    def test_each_line_that_is_read_is_a_question_with_its_prompt(self):
        for source, lines, asked, value in (
            ('input("name? ")', ['Ada'], [('name? ', False)], "'Ada'"),
            ('import sys\n[sys.stdin.readline(), input()]', ['one', 'two'], [('', False)] * 2, "['one\\n', 'two']"),
            ('import sys\nsys.stdin.buffer.readline()', ['é'], [('', False)], repr('é\n'.encode())),
            ('import getpass\ngetpass.getpass("key: ")', ['hidden'], [('key: ', True)], "'hidden'"),
            (
                'import threading\ngot = []\nt = threading.Thread(target=lambda: got.append(input()))\nt.start(); t.join(); got',
                ['threaded'],
                [('', False)],
                "['threaded']",
            ),
        ):
            with self.subTest(source):
                questions, outcome = self.answered(source, *lines)
                expected = [{'type': 'stdin', 'prompt': prompt, 'secret': secret} for prompt, secret in asked]
                self.assertEqual((questions, self.value(outcome)), (expected, value))

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

    def test_a_thread_that_asks_when_nothing_runs_is_told_so(self):
        self.link.evaluate(
            'import os, threading, time\ntold = []\ndef ask():\n    while not os.path.exists("ask"): time.sleep(0.01)\n'
            '    try: input()\n    except EOFError as e: told.append(str(e))\n    open("told", "w").close()\n'
            't = threading.Thread(target=ask); t.start()'
        )
        self.kernel.put('ask')
        # Not with an evaluation, which it would ask for.
        until(lambda: self.kernel.has('told'))
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
