"""Whose output is whose: the program's streams are borrowed while code is evaluated in it, and given back."""

import os
import unittest

from tests.daemon import WAIT, until
from tests.guests import PlainCase, ProgramCase

PLAIN = """
import imago, io, subprocess, sys, threading, time
before = sys.stdin, sys.stdout, sys.stderr
imago.listen()
wait_for_end()
"""

TALKS = """
import imago, sys, threading, time
go_on = threading.Event()
heard = 0
def talk():
    global heard
    while not go_on.wait(0.005):
        print('theirs')
        sys.stderr.write('theirs too\\n')
        sys.stdout.flush()
        heard += 1
talker = threading.Thread(target=talk)
talker.start()
imago.listen()
wait_for_end()
go_on.set()
talker.join()
"""

TASKS = """
import asyncio, imago, sys
async def main():
    global heard
    heard = 0
    imago.listen()
    async def talk():
        global heard
        while True:
            print('theirs', flush=True)
            heard += 1
            await asyncio.sleep(0.005)
    task = asyncio.create_task(talk())
    await asyncio.get_running_loop().run_in_executor(None, lambda: wait_for_end())
asyncio.run(main())
"""

#: A thread looks at the streams once it is let. No evaluation may run meanwhile: they are borrowed then.
LOOKS_LATER = """
import os
def look():
    global seen
    while not os.path.exists("look"): time.sleep(0.005)
    seen = %s
    open("looked", "w").close()
threading.Thread(target=look).start()
"""


def let_look(program):
    open(os.path.join(program.folder, 'look'), 'w').close()
    until(lambda: os.path.exists(os.path.join(program.folder, 'looked')))


class Output(ProgramCase):
    def test_what_evaluated_code_prints_goes_to_whoever_asked_and_what_others_print_goes_where_it_went(self):
        program = self.program(TALKS)
        link = program.attach()
        call = link.start(
            'import time\nbefore = heard\nprint("mine")\n'
            'while heard < before + 20: time.sleep(0.005)\n'
            'print("mine too", file=sys.stderr)'
        )
        call.answer()
        self.assertEqual(call.output('stdout'), 'mine\n')
        self.assertEqual(call.output('stderr'), 'mine too\n')
        heard = int(link.value('heard'))
        self.assertEqual(program.end(), 0)
        out, err = bytes(program.printed[1]).decode(), bytes(program.printed[2]).decode()
        self.assertEqual(set(out.splitlines()), {'theirs'})
        self.assertEqual(set(err.splitlines()), {'theirs too'})
        self.assertGreaterEqual(out.count('theirs'), heard)
        self.assertTrue(link.notes.empty())

    def test_the_same_holds_for_tasks_of_one_event_loop(self):
        for place in ('', 'evaluate="loop"'):
            with self.subTest(place):
                program = self.program(TASKS.replace('listen()', 'listen(%s)' % place))
                link = program.attach()
                call = link.start(
                    'import asyncio\n'
                    'async def work():\n'
                    '    before = heard\n'
                    '    while heard < before + 10:\n'
                    '        print("mine")\n'
                    '        await asyncio.sleep(0.005)\n'
                    'await work()\n'
                    'await asyncio.create_task(work())\n'
                    'print("end")'
                )
                self.assertEqual(call.answer()['type'], 'done')
                self.assertEqual(set(call.output().splitlines()), {'mine', 'end'})
                self.assertEqual(program.end(), 0)
                self.assertEqual(set(bytes(program.printed[1]).decode().splitlines()), {'theirs'})

    def test_what_a_task_prints_after_its_evaluation_is_over_goes_where_the_programs_output_goes(self):
        program = self.program(TASKS)
        link = program.attach()
        call = link.start(
            'async def late():\n'
            '    await asyncio.sleep(0.2)\n'
            '    print("late", flush=True)\n'
            'async def begin():\n'
            '    global task\n'
            '    task = asyncio.create_task(late())\n'
            'await begin()\nprint("on time")'
        )
        call.answer()
        program.until_printed('late')
        self.assertEqual(call.output(), 'on time\n')
        self.assertTrue(link.notes.empty())

    def test_a_flood_of_evaluated_code_is_bounded_and_a_print_of_the_programs_never_waits_for_it(self):
        program = self.program(TALKS)
        link = program.attach()
        link.credit = False
        call = link.start(
            'before = heard\nfor _ in range(400): print("x" * 10000)\nwhile heard < before + 20: time.sleep(0.005)'
        )
        until(lambda: call.events)
        until(lambda: link.call('status').answer()['running'] is None)
        link.send({'type': 'credit', 'id': call.number, 'bytes': 1 << 24})
        self.assertEqual(call.answer()['type'], 'done')
        self.assertLess(len(call.output()), 3000000)
        self.assertTrue(any(event['type'] == 'dropped' for event in call.events))


class Streams(ProgramCase):
    def test_a_program_that_has_replaced_its_streams_keeps_what_it_has_put_there(self):
        # Python itself ends with 120 where it cannot flush what stands there.
        for made, code in (
            ('sys.stdout = sys.stderr = io.StringIO()', 0),
            ('sys.stdout = None; sys.stderr = None; sys.stdin = None', 0),
            ('del sys.stdout, sys.stderr', 0),
            ('class Broken:\n    def __getattr__(self, name): raise RuntimeError(name)\nsys.stdout = Broken()', 120),
            ('sys.stdout = 7; sys.stderr = object()', 120),
        ):
            with self.subTest(made):
                program = self.program(
                    'import imago, io, sys, threading, time\n%s\n'
                    'def streams(): return [sys.__dict__.get(name) for name in ("stdin", "stdout", "stderr")]\n'
                    'before = streams()\n'
                    'def same(): return all(one is other for one, other in zip(before, streams()))\n'
                    'imago.listen()\n'
                    'wait_for_end()' % made
                )
                link = program.attach()
                call = link.start('print("mine")\nprint("mine too", file=sys.stderr)\n7')
                self.assertEqual(call.answer()['values'][0]['repr']['text'], '7')
                self.assertEqual(call.output(), 'mine\nmine too\n')
                link.evaluate(LOOKS_LATER % 'same()')
                let_look(program)
                self.assertEqual(link.value('seen'), 'True')
                self.assertEqual(program.end(), code)
                self.assertEqual(bytes(program.printed[1]), b'')
                self.assertNotIn('imago/', program.said())


class Plain(PlainCase):
    """A program that only listens: each test leaves it with the streams that it has had."""

    source = PLAIN

    def tearDown(self):
        self.assertTrue(self.link.notes.empty())

    def test_what_evaluated_code_keeps_of_the_streams_writes_to_the_programs_own_afterwards(self):
        program, link = self.guest, self.link
        call = link.start(
            'import logging\n'
            'log = logging.getLogger("x"); log.addHandler(logging.StreamHandler())\n'
            'out, write = sys.stdout, sys.stdout.write\n'
            'log.warning("captured"); out.write("too\\n"); write("and this\\n")'
        )
        call.answer()
        self.assertEqual(call.output('stderr'), 'captured\n')
        self.assertEqual(call.output('stdout'), 'too\nand this\n')
        link.evaluate(
            'def later():\n'
            '    log.warning("not captured"); out.write("nor this\\n"); write("nor that\\n"); out.flush()\n'
            'threading.Timer(0.1, later).start()'
        )
        program.until_printed('nor that')
        program.until_printed('not captured', 2)
        self.assertIn(b'nor this', bytes(program.printed[1]))
        self.assertTrue(link.notes.empty())

    def test_children_of_evaluated_code_print_where_the_program_does(self):
        program, link = self.guest, self.link
        call = link.start('subprocess.run(["echo", "child"], stdout=sys.stdout).returncode')
        self.assertEqual(call.answer()['values'][0]['repr']['text'], '0')
        program.until_printed('child')
        self.assertEqual(call.output(), '')

    def test_the_programs_streams_are_its_own_before_and_after_each_evaluation(self):
        link = self.link
        for _ in range(3):
            link.evaluate('print(1)')
            link.evaluate('1/0')
            looked = link.call('inspect', expr='before[1]', deadline_ms=60_000).answer()
            self.assertEqual(looked['value']['type']['name'], 'TextIOWrapper')
        # Seen from a thread of the program's, when nothing is evaluated.
        link.evaluate(LOOKS_LATER % '(sys.stdin, sys.stdout, sys.stderr) == before')
        let_look(self.guest)
        self.assertEqual(link.value('seen'), 'True')

    def test_other_threads_find_the_programs_stream_in_its_place_down_to_its_type(self):
        link = self.link
        found = link.value(
            'def look():\n'
            '    global seen\n'
            '    out = sys.stdout\n'
            '    seen = (isinstance(out, io.TextIOWrapper), out.encoding, out.fileno(),\n'
            '        out.buffer is before[1].buffer, out.name, repr(out) == repr(before[1]),\n'
            '        hasattr(out, "no_such_thing"), sys.stdin.fileno())\n'
            'thread = threading.Thread(target=look); thread.start(); thread.join(); seen'
        )
        self.assertEqual(found, "(True, 'utf-8', 1, True, '<stdout>', True, False, 0)")

    def test_what_evaluated_code_puts_in_their_place_stays_there(self):
        program, link = self.guest, self.link
        link.evaluate('mine = sys.stdout = io.StringIO()')
        link.evaluate('threading.Timer(0, print, ["to mine"]).start()')
        until(lambda: link.value('mine.getvalue()') == "'to mine\\n'")
        link.evaluate('sys.stdout = before[1]')
        link.evaluate('threading.Timer(0.1, print, ["to the program"], {"flush": True}).start()')
        program.until_printed('to the program')

    def test_a_redirection_that_another_thread_ends_after_the_evaluation_does_no_harm(self):
        program, link = self.guest, self.link
        link.evaluate(
            'import contextlib\n'
            'inside, over = threading.Event(), threading.Event()\n'
            'def redirect():\n'
            '    with contextlib.redirect_stdout(io.StringIO()): inside.set(); over.wait(20)\n'
            'thread = threading.Thread(target=redirect); thread.start(); inside.wait(20)'
        )
        link.evaluate('threading.Timer(0.1, over.set).start()')
        until(lambda: link.value('thread.is_alive()') == 'False')
        link.evaluate('threading.Timer(0.1, print, ["afterwards"], {"flush": True}).start()')
        program.until_printed('afterwards')
        call = link.start('print("mine")')
        call.answer()
        self.assertEqual(call.output(), 'mine\n')


class Input(ProgramCase):
    def assert_asks(self, link):
        call = link.start('input("who? ")')
        question = link.asked.get(timeout=WAIT)
        self.assertEqual(question['params']['question'], {'type': 'stdin', 'prompt': 'who? ', 'secret': False})
        link.send({'type': 'return', 'id': question['id'], 'result': {'answer': 'Ada'}})
        self.assertEqual(call.answer()['values'][0]['repr']['text'], "'Ada'")

    def test_evaluated_code_asks_whoever_asked_for_it_and_the_programs_own_input_is_left_alone(self):
        program = self.program(PLAIN.replace('wait_for_end()', 'line = sys.stdin.readline()\nwait_for_end()'))
        link = program.attach()
        self.assert_asks(link)
        program.tell('for the program')
        until(lambda: link.value('globals().get("line")') == "'for the program\\n'")

    @unittest.skipUnless(hasattr(__import__('os'), 'openpty'), 'needs a terminal')
    def test_it_does_not_ask_at_the_programs_terminal(self):
        program = self.program(
            'import imago, os, pty, sys\n'
            'near, far = os.openpty()\n'
            'kept = os.dup(0)\n'
            'for n in (0, 1): os.dup2(far, n)\n'
            'imago.listen()\n'
            'os.read(kept, 1)'
        )
        self.assert_asks(program.attach())
