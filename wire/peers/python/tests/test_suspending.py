"""Suspended evaluations, and errors of the person."""

import gc
import sys
import unittest
import weakref

from imago.places import place_for
from tests.daemon import WAIT, until
from tests.evaluating import Guest

SUSPEND = {}
SHOP = (
    'class Order:\n    def __init__(self): self.id = 7\n'
    'def total(order, *rest, tax=2, **more):\n    lines = list(range(1000))\n    return order.price * tax\n'
    'def go():\n    order = Order()\n    return total(order)\n'
)


class SuspendingCase(unittest.TestCase):
    """An image in the test's own process, in which errors are kept post mortem."""

    maxDiff = None

    def setUp(self):
        self.guest = Guest(place_for('thread'))
        self.guest.evaluate(SHOP)
        self.addCleanup(self.guest.evaluator.stop)
        self.addCleanup(self.guest.evaluator.suspensions.lose, True, 'The test is over.')

    def suspend(self, source='go()', **more):
        outcome = self.guest.evaluate(source, suspend=SUSPEND, **more)
        self.assertEqual(outcome['type'], 'suspended', outcome)
        return outcome['suspension']['id']

    def state(self, name, start=0, count=50):
        answer = self.guest.look('suspension', suspension=name, **{'from': start, 'count': count})
        self.assertEqual(answer['type'], 'found', answer)
        return answer['value']

    def frame(self, name, number=0):
        answer = self.guest.look('frame', suspension=name, frame=number)
        self.assertEqual(answer['type'], 'found', answer)
        return answer['value']

    def in_frame(self, name, source, number=0, **more):
        return self.guest.do(suspension=name, frame=number, source=source, **more).answer()

    def value_in(self, name, source, number=0):
        outcome = self.in_frame(name, source, number)
        self.assertEqual(outcome['type'], 'done', outcome)
        return outcome['values'][0]['repr']['text']

    def resume(self, name, way='leave', **more):
        return self.guest.do(resume=name, way=way, **more).answer()

    def live(self):
        return [one['id'] for one in self.guest.look('suspensions')['value']['suspensions']]

    def ended(self):
        """How the next suspension has ended; waits for it."""
        end = self.guest.ends.get(timeout=WAIT)
        return end['id'], end['how']


class Suspending(SuspendingCase):
    def test_an_error_suspends_only_where_that_was_asked_for(self):
        self.assertEqual(self.guest.evaluate('go()')['type'], 'raised')
        asked = self.guest.start('go()', who='ada', suspend=SUSPEND)
        outcome = asked.answer()
        suspension = outcome['suspension']
        self.assertEqual(outcome['exception']['frames'][-1]['function'], 'total')
        self.assertTrue(suspension.pop('at').endswith('Z'))
        self.assertEqual(
            suspension,
            {
                'id': 's1@0123',
                'call': asked.name,
                'who': 'ada',
                'how': 'post_mortem',
                'level': 1,
                'within': None,
                'type': {'name': 'AttributeError', 'module': 'builtins', 'qualified': 'builtins.AttributeError'},
                'message': "'Order' object has no attribute 'price'",
                'busy': False,
            },
        )
        (entry,) = self.guest.look('history', limit=1)['value']['entries']
        self.assertEqual(entry['outcome'], 'suspended')
        self.assertIn('AttributeError', entry['result'])
        self.assertIn('price', self.guest.look('last_error')['value']['error']['message'])
        self.assertEqual(self.guest.value('1 + 1'), '2')

    def test_the_stack_is_told_from_where_the_error_happened(self):
        state = self.state(self.suspend())
        self.assertEqual([restart['name'] for restart in state['restarts']], ['retry', 'abort'])
        inner, caller, top = state['frames']
        self.assertEqual(inner['call'], 'total(order=<__main__.Order id=7>, tax=2, rest=(), more={})')
        self.assertEqual((inner['number'], inner['line'], inner['source']), (0, 5, 'return order.price * tax'))
        self.assertEqual((caller['function'], caller['call'], caller['line']), ('go', 'go()', 8))
        self.assertEqual((top['function'], top['call']), ('<module>', None))
        self.assertEqual((state['next'], state['frames_total']), (None, 3))

    def test_a_frame_shows_its_variables_and_the_lines_around(self):
        name = self.suspend()
        frame = self.frame(name)
        rows = {row['name']: row for row in frame['locals']}
        self.assertEqual(list(rows), ['order', 'tax', 'rest', 'more', 'lines'])
        self.assertEqual([name for name, row in rows.items() if not row['argument']], ['lines'])
        self.assertEqual(rows['lines']['value']['preview'], 'list, len 1000')
        found = self.guest.look('more', handle=rows['lines']['value']['handle'], **{'from': 998, 'count': 5})
        self.assertEqual(found['value']['items'], ['998', '999'])
        self.assertEqual(frame['around']['first_line'], 1)
        self.assertEqual(frame['around']['lines'][4], '    return order.price * tax')
        self.assertEqual(frame['can'], ['evaluate'])
        self.assertEqual(sum('Python cannot' in note for note in frame['notes']), 2)
        top = self.frame(name, 2)
        self.assertEqual(top['locals'], [])
        self.assertIn('globals', top['notes'][0])
        source = 'def placed():\n    one = 1\n    return one / 0\nplaced()'
        around = self.frame(self.suspend(source, file='/project/app.py', line=40))['around']
        self.assertEqual(around, {'first_line': 40, 'lines': source.split('\n')})
        chained = 'def f():\n    try: 1 / 0\n    except ZeroDivisionError as e: raise KeyError(1) from e\nf()'
        self.assertIn('ZeroDivisionError', self.frame(self.suspend(chained))['notes'][0])

    def test_a_deep_stack_is_told_by_pages_and_frames_of_libraries_are_told_from_the_programs(self):
        state = self.state(self.suspend('import json; json.loads("{")'))
        self.assertTrue(state['frames'][0]['implementation'])
        self.assertNotIn('implementation', state['frames'][-1])
        endless = self.suspend('def endless(n): return endless(n + 1)\nendless(0)')
        self.assertGreater(self.state(endless)['frames_total'], 500)
        limit = 'import sys\nsys.setrecursionlimit(12000)\n'
        deep = limit + 'def deep(n):\n    return deep(n - 1) if n else 1 / 0\ndeep(%d)'
        self.addCleanup(sys.setrecursionlimit, sys.getrecursionlimit())
        name = self.suspend(deep % 5000)
        first = self.state(name, 0, 100)
        self.assertEqual((len(first['frames']), first['next'], first['frames_total']), (100, 100, 5002))
        self.assertEqual(first['frames'][1]['call'], 'deep(n=1)')
        last = self.state(name, 4990, 100)
        self.assertEqual((last['frames'][-1]['number'], last['next']), (5001, None))
        self.assertEqual(self.state(name, 9000, 5)['frames'], [])
        self.assertEqual(len(self.state(name, 0, 100_000)['frames']), 200)

    def test_what_has_no_frames_or_ends_a_program_is_raised_as_ever(self):
        for source in ('1 +', 'raise SystemExit', 'raise KeyboardInterrupt', 'exit()'):
            outcome = self.guest.evaluate(source, suspend=SUSPEND)
            self.assertEqual(outcome['type'], 'raised', source)
        full = self.guest.evaluate('def much(): raise MemoryError\nmuch()', suspend=SUSPEND)
        self.assertIn('memory', full['exception']['notes'][-1])
        self.assertEqual(self.live(), [])

    def test_the_ninth_is_raised_and_says_why(self):
        names = [self.suspend() for _ in range(8)]
        self.assertEqual(self.live(), names[::-1])
        ninth = self.guest.evaluate('go()', suspend=SUSPEND)
        self.assertEqual(ninth['type'], 'raised')
        self.assertIn('8 errors wait', ninth['exception']['notes'][-1])
        self.resume(names[0])
        self.suspend()

    def test_an_awaiting_evaluation_suspends_with_its_coroutines(self):
        source = 'import asyncio\nasync def wait(n):\n    await asyncio.sleep(0)\n    return n / 0\nawait wait(5)'
        name = self.suspend(source)
        self.assertEqual(self.state(name)['frames'][0]['call'], 'wait(n=5)')
        self.assertEqual(self.value_in(name, 'await asyncio.sleep(0, n + 1)'), '6')


class InFrames(SuspendingCase):
    def test_code_in_a_frame_sees_its_variables_and_sets_them(self):
        name = self.suspend()
        self.assertEqual(self.value_in(name, 'order.id + tax'), '9')
        self.assertEqual(self.value_in(name, '[x for x in lines if x < tax]'), '[0, 1]')
        self.assertEqual(self.value_in(name, 'any(map(lambda x: x == tax, lines))'), 'True')
        self.assertEqual(self.in_frame(name, 'tax = 50\nnew = 1')['type'], 'done')
        self.assertEqual(self.value_in(name, '(tax, new, (lambda: tax)())'), '(50, 1, 50)')
        rows = {row['name']: row['value']['repr']['text'] for row in self.frame(name)['locals']}
        self.assertEqual((rows['tax'], rows['new']), ('50', '1'))
        self.assertNotIn('tax', self.guest.namespace)
        self.in_frame(name, 'global tax_of_all\ntax_of_all = tax')
        self.assertEqual(self.guest.value('tax_of_all'), '50')

    def test_what_is_set_is_set_for_closures_where_python_can_do_that_and_else_it_is_said(self):
        source = 'def f():\n    n = 1\n    def read(): return n\n    1 / 0\nf()'
        name = self.suspend(source)
        self.in_frame(name, 'n = 2')
        written = sys.version_info >= (3, 13)
        self.assertEqual(self.value_in(name, 'read()'), '2' if written else '1')
        self.assertEqual(any('before Python 3.13' in note for note in self.frame(name)['notes']), not written)

    def test_code_at_the_top_level_and_in_a_class_body_sets_their_names(self):
        name = self.suspend('class Broken:\n    size = 3\n    1 / 0')
        self.assertEqual(self.value_in(name, 'size'), '3')
        self.in_frame(name, 'size = 4')
        rows = {row['name']: row['value']['repr']['text'] for row in self.frame(name)['locals']}
        self.assertEqual(rows['size'], '4')
        self.in_frame(name, 'at_the_top = 5', 1)
        self.assertEqual(self.guest.value('at_the_top'), '5')

    def test_an_error_in_a_frame_suspends_one_level_deeper(self):
        outer = self.suspend()
        inner = self.in_frame(outer, 'tax / 0', suspend=SUSPEND)['suspension']
        self.assertEqual((inner['level'], inner['within']), (2, outer))
        again = self.resume(inner['id'], 'restart', restart=0, suspend=SUSPEND)['suspension']
        self.assertEqual((again['level'], again['within']), (2, outer))
        self.assertEqual(self.ended(), (inner['id'], 'resumed'))
        self.assertEqual(self.in_frame(outer, 'tax / 0')['type'], 'raised')
        self.assertEqual(self.resume(outer)['type'], 'left')
        (entry,) = self.guest.look('history', limit=1)['value']['entries']
        self.assertEqual((entry['outcome'], entry['source']), ('left', 'resume %s: leave' % outer))
        self.assertEqual([self.ended(), self.ended()], [(again['id'], 'within'), (outer, 'left')])
        self.assertEqual(self.live(), [])

    def test_what_is_not_there_is_refused_and_nothing_is_remembered_of_it(self):
        name = self.suspend()
        total = self.guest.look('history', limit=1)['value']['total']
        for refused in (self.in_frame('s99@0123', '1'), self.resume('nonsense')):
            self.assertEqual((refused['type'], refused['reason'], refused['nearest']), ('refused', 'not_found', [name]))
        for refused in (
            self.in_frame(name, '1', 3),
            self.resume(name, 'restart', restart=0, value='1'),
            self.resume(name, 'return', frame=0, value='1'),
            self.resume(name, 'again', frame=0),
        ):
            self.assertEqual((refused['type'], refused['reason']), ('refused', 'malformed'))
        refused = self.resume(name, 'restart', restart=2)
        self.assertEqual((refused['type'], refused['reason'], refused['what']), ('refused', 'not_found', '2'))
        self.assertEqual(refused['nearest'], ['0 retry', '1 abort'])
        self.assertEqual(self.guest.look('frame', suspension=name, frame=3)['type'], 'malformed')
        self.assertEqual(self.guest.look('history', limit=1)['value']['total'], total)
        self.assertEqual((self.live(), self.guest.ends.empty()), ([name], True))

    def test_while_code_runs_in_it_it_is_busy(self):
        self.guest.namespace['go_on'] = go_on = self.guest.namespace['threading'].Event()
        self.guest.namespace['begun'] = begun = self.guest.namespace['threading'].Event()
        name = self.suspend()
        asked = self.guest.do(suspension=name, frame=0, source='begun.set(), go_on.wait()')
        self.assertTrue(begun.wait(WAIT))
        busy = self.guest.look('frame', suspension=name, frame=0)
        self.assertEqual((busy['type'], busy['call']), ('busy', asked.name))
        self.assertTrue(self.guest.look('suspensions')['value']['suspensions'][0]['busy'])
        go_on.set()
        self.assertEqual(asked.answer()['type'], 'done')
        self.assertEqual(self.live(), [name])


class Ending(SuspendingCase):
    def test_the_same_code_is_run_again_with_what_is_defined_now(self):
        name = self.suspend()
        self.guest.evaluate('Order.price = 3')
        self.assertEqual(self.resume(name, 'restart', restart=0)['values'][0]['repr']['text'], '6')
        self.assertEqual(self.ended(), (name, 'resumed'))
        self.assertEqual(self.resume(name)['reason'], 'not_found')

    def test_nothing_of_it_is_kept_alive_when_it_has_ended(self):
        def watched():
            self.guest.evaluate(
                'class Kept: pass\ndef hold():\n    kept = Kept()\n    made.append(ref(kept))\n    1 / 0\n'
                'from weakref import ref\nmade = []'
            )
            name = self.suspend('hold()')
            handle = self.frame(name)['locals'][0]['value']['handle']
            self.assertEqual(self.in_frame(name, 'kept.self = kept', suspend=SUSPEND)['type'], 'done')
            self.assertEqual(self.in_frame(name, '1 / 0', suspend=SUSPEND)['type'], 'suspended')
            return name, handle, self.guest.namespace['made'][0]

        for end in (
            self.resume,
            lambda name: self.guest.evaluator.suspensions.lose(True, 'The link was lost.'),
        ):
            name, handle, kept = watched()
            gc.collect()
            self.assertIsInstance(kept, weakref.ref)
            self.assertIsNotNone(kept())
            end(name)
            until(lambda: gc.collect() is not None and kept() is None)
            stale = self.guest.look('more', handle=handle, **{'from': 0, 'count': 1})
            self.assertEqual(stale['because'], 'it was of %s, which has ended' % name)

    def test_a_value_that_was_also_a_result_keeps_its_handle(self):
        name = self.suspend()
        lent = [row for row in self.frame(name)['locals'] if row['name'] == 'lines'][0]['value']['handle']
        shown = self.in_frame(name, 'lines')['values'][0]['handle']
        self.assertEqual(lent, shown)
        self.resume(name)
        self.assertEqual(self.guest.look('more', handle=shown, **{'from': 0, 'count': 1})['type'], 'found')

    def test_finalizers_run_where_evaluations_run(self):
        self.guest.evaluate(
            'where = []\nclass Tells:\n    def __del__(self): where.append(threading.get_ident())\n'
            'def hold():\n    tells = Tells()\n    1 / 0'
        )
        name = self.suspend('hold()')
        self.guest.evaluator.suspensions.lose(True, 'The link was lost.')
        self.assertEqual(self.ended(), (name, 'lost'))
        until(lambda: self.guest.namespace['where'])
        self.assertEqual(self.guest.value('where == [threading.get_ident()]'), 'True')

    def test_an_image_that_nobody_is_attached_to_does_not_suspend(self):
        self.guest.evaluator.suspensions.heard = lambda: False
        outcome = self.guest.evaluate('go()', suspend=SUSPEND)
        self.assertEqual(outcome['type'], 'raised')
        self.assertIn('nobody was attached', outcome['exception']['notes'][-1])


class Theirs(SuspendingCase):
    def tearDown(self):
        for name in ('last_exc', 'last_value'):
            sys.__dict__.pop(name, None)

    def leave_behind(self):
        def mine(amount):
            raise LookupError('at the prompt')

        try:
            mine(5)
        except LookupError as error:
            sys.last_value = error

    def test_an_error_at_the_persons_prompt_is_told_of_and_adopted_on_their_word(self):
        self.assertEqual(self.guest.look('theirs')['value'], {'errors': []})
        self.leave_behind()
        (told,) = self.guest.look('theirs')['value']['errors']
        self.assertEqual((told['type']['name'], told['message']), ('LookupError', 'at the prompt'))
        self.assertEqual(self.live(), [])
        adopted = self.guest.look('adopt', id=told['id'])['value']
        self.assertEqual((adopted['call'], adopted['how']), (None, 'post_mortem'))
        self.assertEqual(self.guest.look('adopt', id=told['id'])['value']['id'], adopted['id'])
        self.assertEqual(self.value_in(adopted['id'], 'amount + 1'), '6')
        self.assertEqual([one['name'] for one in self.state(adopted['id'])['restarts']], ['abort'])
        self.leave_behind()
        gone = self.guest.look('adopt', id=told['id'])
        self.assertEqual((gone['type'], len(gone['nearest'])), ('not_found', 1))

    def test_what_was_raised_in_an_evaluation_of_imagos_is_not_theirs(self):
        self.guest.evaluate('import sys\ntry: 1 / 0\nexcept ZeroDivisionError as error: sys.last_value = error')
        self.assertEqual(self.guest.look('theirs')['value'], {'errors': []})
