"""Suspended evaluations in a program that listens."""

import unittest

from tests.daemon import WAIT, until
from tests.guests import Program

KEPT = 'freed = []\nclass Kept:\n    def __del__(self): freed.append(1)\n'
LISTENS = KEPT + 'import imago\nimago.listen()\nwait_for_end()\n'
FAILS = 'def fails():\n    kept = Kept()\n    1 / 0\nfails()'
#: Fails once the link is gone, and has a thread print when it has come to its end.
FAILS_ALONE = (
    'import imago.guest, sys, threading, time\nkernel = imago.guest._guests[0].kernel\n'
    'def tell():\n    while kernel.evaluator.running is not None: time.sleep(0.005)\n'
    '    print("failed", file=sys.__stdout__, flush=True)\n'
    'print("on")\nwhile kernel.session.link is not None: time.sleep(0.005)\n'
    'threading.Thread(target=tell).start()\n1 / 0'
)
SUSPEND = {}


class Attached(unittest.TestCase):
    def live(self, link):
        answer = link.call('suspensions', deadline_ms=int(WAIT * 1000)).answer()
        return [one['id'] for one in answer['value']['suspensions']]

    def test_all_end_at_once_when_the_link_to_the_daemon_is_lost(self):
        with Program(LISTENS) as program:
            link = program.attach()
            self.assertIn('suspend', link.hello['abilities'])
            self.assertNotIn('hold', link.hello['abilities'])
            for _ in range(3):
                outcome = link.evaluate(FAILS, suspend={**SUSPEND, 'hold': True})
                self.assertEqual((outcome['type'], outcome['suspension']['how']), ('suspended', 'post_mortem'))
            self.assertEqual(len(self.live(link)), 3)
            self.assertEqual(link.value('freed'), '[]')
            link.close()
            link = program.attach()
            until(lambda: self.live(link) == [])
            until(lambda: link.value('freed') == '[1, 1, 1]')

    def test_what_fails_while_nobody_is_attached_does_not_suspend_and_who_comes_back_is_told_why(self):
        with Program(LISTENS) as program:
            link = program.attach()
            call = link.start(FAILS_ALONE, suspend=SUSPEND)
            call.until_printed('on')
            link.close()
            program.until_printed('failed')
            outcome = program.attach().call('recall', call=call.name).answer()
            self.assertEqual(outcome['type'], 'raised')
            self.assertIn('nobody was attached', outcome['exception']['notes'][-1])

    def test_an_error_at_the_prompt_of_python_itself_is_told_of_and_adopted(self):
        program = 'import imago\nimago.listen()\ndef mine(amount): return amount / 0\n'
        with Program(program, options=('-i',)) as program:
            link = program.attach()

            def look(name, **query):
                answer = link.call(name, deadline_ms=int(WAIT * 1000), **query).answer()
                self.assertEqual(answer['type'], 'found', answer)
                return answer['value']

            self.assertEqual(look('theirs'), {'errors': []})
            program.tell('mine(5)')
            until(lambda: look('theirs')['errors'])
            (told,) = look('theirs')['errors']
            self.assertEqual((told['type']['name'], told['message']), ('ZeroDivisionError', 'division by zero'))
            adopted = look('adopt', id=told['id'])
            self.assertEqual((adopted['call'], adopted['who']), (None, 'the person at the prompt'))
            frame = look('frame', suspension=adopted['id'], frame=0)
            self.assertEqual((frame['call'], frame['source']), ('mine(amount=5)', 'def mine(amount): return amount / 0'))
            self.assertEqual(look('theirs')['errors'], [told])
