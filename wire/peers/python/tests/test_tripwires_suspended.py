"""Looking at suspended evaluations runs no code of the program's, whatever it has put into its frames and errors."""

import gc
import json
import sys
import types
import unittest

from imago.places import place_for
from tests.evaluating import Guest
from tests.looking_samples import values
from tests.looking_support import FIRED, hook
from tests.looking_samples import Row, Text, recoded
from tests.tripwires_support import unplain

HOSTILE = (
    'class Hostile(Exception):\n'
    '    __str__ = __repr__ = hook("str", lambda: "lie")\n'
    '    __traceback__ = property(hook("traceback"))\n'
    '    __cause__ = property(hook("cause"))\n'
    '    __notes__ = property(hook("notes"))\n'
    'class Names(dict):\n'
    '    __getitem__ = hook("names", lambda: 1)\n'
    '    items = keys = __iter__ = hook("names", lambda: iter(()))\n'
    'class Meta(type):\n'
    '    def __prepare__(name, bases): return Names()\n'
    'def hostile(value, *rest, **more):\n'
    '    held = [value]\n'
    '    1 / 0\n'
)


class Tripwires(unittest.TestCase):
    def setUp(self):
        self.guest = Guest(place_for('thread'))
        self.guest.namespace.update(values=values(), hook=hook, recoded=recoded, Row=Row, Text=Text)
        self.assertEqual(self.guest.evaluate(HOSTILE)['type'], 'done')
        self.addCleanup(self.guest.evaluator.stop)
        self.addCleanup(self.guest.evaluator.suspensions.lose, True, 'The test is over.')
        gc.collect()
        FIRED.clear()

    def suspended(self, source):
        outcome = self.guest.evaluate(source, suspend={})
        self.assertEqual(outcome['type'], 'suspended', outcome)
        FIRED.clear()
        return outcome['suspension']['id']

    def look(self, look, **query):
        looked = self.guest.look(look, **query)
        self.assertEqual(([], None), (FIRED, unplain(looked)), look)
        self.assertEqual('found', looked['type'])
        json.dumps(looked, allow_nan=False, ensure_ascii=False).encode('utf-8')
        return looked['value']

    def look_at(self, name):
        self.look('suspensions')
        state = self.look('suspension', suspension=name, **{'from': 0, 'count': 50})
        frames = [self.look('frame', suspension=name, frame=one['number']) for one in state['frames']]
        for row in [row for frame in frames for row in frame['locals']]:
            if 'handle' in row['value']:
                self.look('more', handle=row['value']['handle'], **{'from': 0, 'count': 20})
        return frames

    def test_values_in_frames_are_not_asked(self):
        for key in self.guest.namespace['values']:
            name = self.suspended('hostile(values[%r], values[%r], key=values[%r])' % (key, key, key))
            rows = self.look_at(name)[0]['locals']
            self.assertEqual(['value', 'rest', 'more', 'held'], [row['name'] for row in rows])
            self.guest.do(resume=name, way='leave').answer()
            FIRED.clear()

    def test_code_in_a_frame_leaves_names_that_are_not_asked_either(self):
        name = self.suspended('hostile(1)')
        self.guest.do(suspension=name, frame=0, source='value = values').answer()
        FIRED.clear()
        self.look_at(name)

    def test_errors_code_objects_and_namespaces_of_the_programs_own_are_not_asked(self):
        for source in (
            'raise Hostile(Text("no"))',
            'class Made(metaclass=Meta): 1 / 0',
            'recoded(hostile, co_name=Text("told"))(1)',
            'exec(compile("1 / 0", "/nowhere.py", "exec"), {Text("key"): 1})',
        ):
            self.look_at(self.suspended(source))

    def test_the_error_of_the_person_is_told_of_and_adopted_without_asking_it(self):
        # As a prompt leaves it, whose code is not evaluated by us.
        scope = dict(self.guest.namespace)
        try:
            exec(compile('def mine(value): raise Hostile(value)\nmine(values["error"])', '<stdin>', 'exec'), scope)
        except BaseException as error:
            sys.last_value = sys.last_exc = error
        self.addCleanup(sys.__dict__.pop, 'last_value')
        self.addCleanup(sys.__dict__.pop, 'last_exc')
        FIRED.clear()
        (told,) = self.look('theirs')['errors']
        self.look_at(self.look('adopt', id=told['id'])['id'])

    def test_the_traps_do_go_off(self):
        self.assertIsInstance(recoded(hook, co_name='x'), types.FunctionType)
        repr(self.guest.namespace['Hostile']())
        self.assertEqual(['str'], FIRED)
        FIRED.clear()
