"""A program that freezes its clocks, as tests do with freezegun: ours go on, and it is shown as any other."""

import unittest

from tests.guests import ProgramCase
from tests.test_error_record import FAILS, left

try:
    import freezegun
except ImportError:
    freezegun = None

BEFORE = """
import datetime, freezegun, imago
freezegun.freeze_time('2020-01-01').start()
moment = datetime.datetime(2020, 1, 2, 3)
imago.listen()
wait_for_end()
"""
AFTER = """
import datetime, freezegun, imago
moment = datetime.datetime(2020, 1, 2, 3)
imago.listen()
frozen = freezegun.freeze_time('2020-01-01').start()
wait_for_end()
"""


@unittest.skipIf(freezegun is None, 'freezegun is not installed')
class FrozenTime(ProgramCase):
    def test_looks_end_at_their_deadline_and_the_program_keeps_its_time(self):
        for source, shown in ((BEFORE, '<freezegun.api.FakeDatetime>'), (AFTER, 'datetime.datetime(2020, 1, 2, 3, 0)')):
            program = self.program(source)
            self.assertGreater(program.announcement()['announced_at'], '2024')
            link = program.attach()
            self.assertEqual(link.value('__import__("time").time() == 1577836800.0'), 'True')
            link.evaluate('import imago.looking, threading\nstop = threading.Event()\nkept, imago.looking.inspect_static = imago.looking.inspect_static, lambda *_: stop.wait()')
            late = link.call('inspect', expr='moment', deadline_ms=300).answer()
            link.evaluate('stop.set(); imago.looking.inspect_static = kept')
            self.assertEqual(late['type'], 'timed_out')
            seen = link.call('inspect', expr='moment', deadline_ms=60_000).answer()
            self.assertEqual(seen['type'], 'found')
            self.assertEqual(seen['value']['repr']['text'], shown)
            self.assertEqual(link.value('1 + 1'), '2')

    def test_its_last_errors_are_left_with_their_time(self):
        frozen = "import freezegun\nfreezegun.freeze_time('2020-01-01').start()\nraise KeyError('last')"
        record, _ = left(FAILS + "note('first')\n" + frozen)
        self.assertEqual(["'last'", 'first'], [one['error']['message'] for one in record['errors']])
        self.assertGreater(record['ended_at'], '2024')
