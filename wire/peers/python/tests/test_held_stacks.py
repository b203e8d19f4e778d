"""Stacks that are held where an error was raised."""

import json
import os
import unittest

from tests.daemon import WAIT, Kernel, KernelCase, until


# holding

HOLD = {'hold': True}
SHOP = (
    'log = []\nclass Order:\n    def __init__(self): self.id = 7\n'
    'def total(order, tax=2):\n    try:\n        return order.price * tax\n'
    '    finally:\n        log.append("finally")\n'
    'def go():\n    order = Order()\n    try:\n        return total(order)\n    except KeyError:\n        return None\n'
)


class HoldingCase(KernelCase):
    def setUp(self):
        # Others may have left a price.
        self.link.evaluate(SHOP)

    def tearDown(self):
        for one in self.look('suspensions')['suspensions']:
            self.resume(one['id'], 'leave')
        self.assertEqual(self.look('suspensions')['suspensions'], [])
        while not self.link.notes.empty():
            self.link.notes.get()

    def look(self, name, **query):
        answer = self.link.call(name, deadline_ms=int(WAIT * 1000), **query).answer()
        self.assertEqual(answer['type'], 'found', answer)
        return answer['value']

    def held(self, source='go()', **more):
        outcome = self.link.evaluate(source, suspend={**HOLD, **more})
        self.assertEqual(outcome['type'], 'suspended', outcome)
        self.assertEqual(outcome['suspension']['how'], 'held')
        return outcome['suspension']['id']

    def begin(self, **params):
        name = 'c-%d' % self.link._last
        asked = self.link.call('evaluate', call=name, who='a test', **params)
        asked.name = name
        return asked

    def resume(self, name, way, **more):
        if way == 'leave':
            return self.begin(resume=name, way=way, **more).answer()
        return self.begin_restart(name, way, **more).answer()

    def begin_restart(self, name, restart, **more):
        restarts = self.look('suspension', suspension=name, **{'from': 0, 'count': 0})['restarts']
        number = [one['name'] for one in restarts].index(restart)
        return self.begin(resume=name, way='restart', restart=number, **more)

    def assert_stopped(self, call):
        self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')

    def ended(self, count):
        """How as many suspensions have ended."""
        found = []
        while len(found) < count:
            note = self.link.notes.get(timeout=WAIT)
            if note['name'] == 'suspension':
                found.append((note['params']['id'], note['params']['how']))
        return found


class Holding(HoldingCase):
    def test_the_stack_is_alive_where_the_error_was_raised(self):
        self.assertIn('hold', self.link.hello['abilities'])
        name = self.held()
        state = self.look('suspension', suspension=name, **{'from': 0, 'count': 50})
        self.assertEqual([one['name'] for one in state['restarts']], ['continue', 'retry', 'abort'])
        self.assertEqual(
            [(frame['function'], frame['line']) for frame in state['frames']],
            [('total', 6), ('go', 12), ('<module>', 1)],
        )
        self.assertEqual(self.link.value('log'), '[]')
        frame = self.look('frame', suspension=name, frame=0)
        self.assertEqual([row['name'] for row in frame['locals']], ['order', 'tax'])
        inner = self.begin(suspension=name, frame=0, source='order.id * tax').answer()
        self.assertEqual(inner['values'][0]['repr']['text'], '14')
        self.assertEqual(self.link.call('status').answer(), {'running': None, 'queued': 0})

    def test_it_goes_on_as_python_does(self):
        name = self.held()
        outcome = self.resume(name, 'continue', suspend=HOLD)
        self.assertEqual((outcome['type'], outcome['exception']['type']['name']), ('raised', 'AttributeError'))
        self.assertEqual(self.link.value('log'), "['finally']")
        self.assertEqual(self.ended(1), [(name, 'resumed')])

    def test_it_is_run_again_with_what_was_mended(self):
        first = self.link.start('print("begun")\ngo()', suspend=HOLD)
        name = first.answer()['suspension']['id']
        self.link.evaluate('Order.price = 21')
        going = self.begin_restart(name, 'retry')
        self.assertEqual(going.answer()['values'][0]['repr']['text'], '42')
        self.assertEqual((first.output(), going.output()), ('begun\n', 'begun\n'))
        self.assertEqual(self.link.value('log'), "['finally', 'finally']")
        (entry,) = self.look('history', limit=2)['entries'][1:]
        self.assertEqual((entry['call'], entry['outcome'], entry['result']), (going.name, 'done', '42'))

    def test_an_error_of_what_is_run_again_holds_again_where_that_is_asked_for(self):
        again = self.resume(self.held(), 'retry', suspend=HOLD)
        self.assertEqual((again['type'], again['suspension']['how']), ('suspended', 'held'))
        last = self.resume(again['suspension']['id'], 'retry')
        self.assertEqual(last['type'], 'raised')

    def test_errors_while_it_unwinds_do_not_suspend_again(self):
        source = 'def f():\n    try: go()\n    finally: raise ValueError("unwinding")\nf()'
        for restart in ('abort', 'retry'):
            outcome = self.resume(self.held(source), restart, suspend=HOLD)
            self.assertEqual((outcome['type'], outcome['exception']['message']), ('raised', 'unwinding'))

    def test_an_outer_one_that_goes_on_ends_those_above_it_first(self):
        outer, middle, inner = self.held(), self.held(), self.held()
        levels = [(one['level'], one['within']) for one in self.look('suspensions')['suspensions']]
        self.assertEqual(levels, [(3, middle), (2, outer), (1, None)])
        self.link.evaluate('Order.price = 1')
        self.assertEqual(self.resume(middle, 'retry')['values'][0]['repr']['text'], '2')
        self.assertEqual(self.ended(2), [(inner, 'within'), (middle, 'resumed')])
        self.assertEqual([one['id'] for one in self.look('suspensions')['suspensions']], [outer])
        self.assertEqual(self.resume(outer, 'retry')['type'], 'done')

    def test_an_error_in_a_frame_is_held_one_level_deeper_and_goes_with_it(self):
        outer = self.held()
        inner = self.begin(suspension=outer, frame=0, source='tax / 0', suspend=HOLD).answer()['suspension']
        self.assertEqual((inner['how'], inner['level'], inner['within']), ('held', 2, outer))
        after_death = self.begin(
            suspension=outer, frame=0, source='tax / 0', suspend={}
        ).answer()['suspension']
        self.assertEqual((after_death['how'], after_death['within']), ('post_mortem', outer))
        self.assertEqual(self.resume(outer, 'leave')['type'], 'left')
        within = [(inner['id'], 'within'), (after_death['id'], 'within')]
        self.assertEqual(sorted(self.ended(3)), sorted([*within, (outer, 'left')]))

    def test_interrupts_hit_what_runs_above_it_and_what_goes_on_in_it(self):
        self.link.evaluate('mended = False')
        name = self.held('def f():\n    if not mended: 1 / 0\n    print("looping")\n    while True: pass\nf()')
        above = self.link.start('print("above")\nwhile True: pass')
        above.until_printed('above')
        self.assert_stopped(above)
        self.link.evaluate('mended = True')
        going = self.begin_restart(name, 'retry', suspend=HOLD)
        going.until_printed('looping')
        self.assertEqual(self.link.call('status').answer()['running']['call'], going.name)
        self.assert_stopped(going)
        self.assertEqual(self.link.value('1'), '1')

    def test_what_unwinds_can_be_interrupted(self):
        cleans = 'print("cleaning")\n        while True: pass'
        name = self.held('def f():\n    try: 1 / 0\n    finally:\n        %s\nf()' % cleans)
        leaving = self.begin(resume=name, way='leave')
        leaving.until_printed('cleaning')
        self.assert_stopped(leaving)

    def test_nothing_is_watched_once_it_has_ended_and_nothing_of_it_is_kept(self):
        self.link.evaluate(
            'import gc, sys, weakref\nmade = []\nclass Kept: pass\n'
            'def hold():\n    kept = Kept()\n    made.append(weakref.ref(kept))\n    1 / 0'
        )
        for restart in ('abort', 'continue', 'retry'):
            name = self.held('hold()')
            self.look('frame', suspension=name, frame=0)
            self.assertEqual(self.link.value('made[-1]() is not None'), 'True')
            self.resume(name, restart)
        self.assertEqual(self.link.value('gc.collect() * 0, [one() for one in made]'), '(0, [None, None, None, None])')
        tools = '[sys.monitoring.get_tool(tool) for tool in range(6)]' if self.monitors() else '[sys.gettrace()]'
        self.assertEqual(set(json.loads(self.link.value(tools).replace('None', 'null'))), {None})

    def monitors(self):
        return self.link.value('hasattr(__import__("sys"), "monitoring")') == 'True'

    def test_an_exception_that_guesses_wrong_who_catches_it_goes_on_by_continue(self):
        odd = 'class Odd:\n    @property\n    def p(self): raise AttributeError\n    class Same: p = getattr\n'
        name = self.held(odd + '[Odd.Same][0].p(Odd(), "p", 1)')
        self.assertEqual(self.resume(name, 'continue')['values'][0]['repr']['text'], '1')


class AtTheEnd(unittest.TestCase):
    def test_an_image_that_is_stopped_unwinds_what_it_holds(self):
        with Kernel() as kernel:
            tells = 'sys.__stdout__.write("unwound %d\\n" % n)'
            kernel.link.evaluate('import sys\ndef f(n):\n    try: 1 / 0\n    finally: %s' % tells)
            for n in range(3):
                outcome = kernel.link.evaluate('f(%d)' % n, suspend=HOLD)
                self.assertEqual(outcome['suspension']['how'], 'held')
            kernel.link.call('stop')
            kernel.process.wait(WAIT)
        self.assertEqual(kernel.printed[1].decode().split('\n'), ['unwound 2', 'unwound 1', 'unwound 0', ''])

    def test_a_script_that_holds_the_main_thread_has_errors_kept_post_mortem(self):
        with Kernel(script='import time\nwhile True: time.sleep(0.01)\n') as kernel:
            outcome = kernel.link.evaluate('1 / 0', suspend=HOLD)
            self.assertEqual(outcome['suspension']['how'], 'post_mortem')


# What stands between the frames of an error that is to be held: only what surely lets it through.

PROGRAM = '''
import contextlib, ctypes, functools, gc, weakref
class Seq:
    def __getitem__(self, i):
        if i > 2: raise IndexError(i)
        return i
class Falls:
    @property
    def p(self): raise AttributeError('inner')
    def __getattr__(self, name): return 32
class Lacks:
    @property
    def p(self): raise AttributeError('p')
class Cached:
    @functools.cached_property
    def p(self): raise AttributeError('p')
    def __getattr__(self, name): return 32
class Hinted:
    def __iter__(self): return iter([1])
    def __length_hint__(self): raise TypeError
class Sized:
    def __iter__(self): return iter([1])
    def __len__(self): raise TypeError
class Dies:
    def __del__(self): bad()
class Kept: pass
def bad(*args): raise ValueError(5)
look_up = getattr
class Swallows(contextlib.ContextDecorator):
    def __enter__(self): pass
    def __exit__(self, *error): return True
@Swallows()
def swallowed(): bad()
'''

#: Caught by the program, and by Python itself, with the value that it goes on with.
VALUES = (
    ('def f():\n    try: go()\n    except AttributeError: return 1\nf()', '1'),
    ('def f():\n    try: go()\n    except (KeyError, LookupError, Exception): return 1\nf()', '1'),
    ('def f():\n    try: go()\n    except: return 1\nf()', '1'),
    ('import builtins\ndef f():\n    try: go()\n    except builtins.Exception: return 1\nf()', '1'),
    ('def f():\n    try: go()\n    finally: return 1\nf()', '1'),
    ('import contextlib\ndef f():\n    with contextlib.suppress(Exception): go()\n    return 1\nf()', '1'),
    ('list(iter([1]))[next(iter([0]))]', '1'),
    ('class P:\n    @property\n    def p(self): return self.q\n1 if not hasattr(P(), "p") else 0', '1'),
    ('class Q:\n    def __getattr__(self, name): raise AttributeError(name)\ngetattr(Q(), "q", 1)', '1'),
    ('def numbers():\n    yield 1\nfor last in numbers(): pass\nlast', '1'),
    ('list(Seq())', '[0, 1, 2]'),
    ('[one for one in Seq()]', '[0, 1, 2]'),
    ('found = []\nfor one in Seq(): found.append(one)\nfound', '[0, 1, 2]'),
    ('9 in Seq()', 'False'),
    ('a, *b = Seq()\nb', '[1, 2]'),
    ('(lambda *them: them)(*Seq())', '(0, 1, 2)'),
    ('[*Seq()]', '[0, 1, 2]'),
    ('sorted(Seq(), key=lambda one: -one)', '[2, 1, 0]'),
    ('Falls().p', '32'),
    ('Cached().p', '32'),
    ('getattr(Lacks(), "p", 5)', '5'),
    ('look_up(Lacks(), "p", 5)', '5'),
    ('[getattr][0](Lacks(), "p", 5)', '5'),
    ('(hasattr)(Lacks(), "p")', 'False'),
    ('list(Hinted()) + list(Sized())', '[1, 1]'),
    ('kept = Kept()\nwatched = weakref.ref(kept, bad)\ndel kept\n9', '9'),
    ('kept = Kept()\nwatched = weakref.ref(kept, bad)\nkept = 9\nkept', '9'),
    ('dies = Dies()\ndel dies\n9', '9'),
    ('def leaves():\n    kept = Kept()\n    return weakref.ref(kept, bad)\nleaves() and 9', '9'),
    ('gc.callbacks.append(bad)\ngc.collect()\ngc.callbacks.remove(bad)\n9', '9'),
    ('ctypes.CFUNCTYPE(None)(bad)()\n9', '9'),
    ('swallowed()\n9', '9'),
)

HELD = (
    'def f():\n    try: go()\n    except (KeyError, OSError): return 1\nf()',
    'def f():\n    try: return 1\n    finally: go()\nf()',
    'def f():\n    try: 1 / 0\n    except ZeroDivisionError: go()\nf()',
    'def f():\n    try: 1 / 0\n    except ZeroDivisionError: raise\nf()',
    'sum(1 / n for n in [0])',
    'sorted([2, 1], key=lambda n: n.missing)',
    'class Loud:\n    def __init__(self): raise ValueError(5)\nLoud()',
    'for n in [0]:\n    1 / n',
    'bad()',
    'bad(\n    1,\n    2)',
    'class Deep:\n    def go(self): return self.on()\n    def on(self): bad()\nDeep().go()',
    'class Calls:\n    def __init__(self, to): self.to = to\n    def go(self): return self.to(1)\nCalls(bad).go()',
    'class Calls:\n    def __call__(self): bad()\ncalls = Calls()\ncalls()',
    '[Deep()][0].go()',
    'class Other(Deep):\n    def on(self): super().on()\nOther().go()',
    'class Bodied:\n    x = bad()',
    '@bad\ndef f(): pass',
    '[bad(n) for n in [1]]',
    'def steps():\n    yield 1\n    bad()\nfor n in steps(): pass',
    'def steps():\n    yield 1\n    bad()\n[*steps()]',
    'list(steps())',
    'list(map(bad, [1]))',
    'sum(bad(n) for n in [1])',
    'max([1, 2], key=lambda n: bad(n))',
    'later = functools.partial(bad, 1)\nlater()',
    'class Adds:\n    def __add__(self, other): bad()\nAdds() + 1',
    'class Item:\n    def __getitem__(self, i): raise IndexError(i)\nItem()[5]',
    'Lacks().p',
    'class Sets:\n    @property\n    def p(self): pass\n    @p.setter\n    def p(self, value): bad()\nSets().p = 1',
    'class Made(type):\n    def __call__(cls): bad()\nclass Makes(metaclass=Made): pass\nMakes()',
    'def wraps(f):\n    @functools.wraps(f)\n    def wrapper(*args): return f(*args)\n    return wrapper\nwrapped = wraps(bad)\nwrapped(1)',
)


class Entering(HoldingCase):
    def setUp(self):
        super().setUp()
        self.link.evaluate(PROGRAM)

    def test_what_is_caught_by_the_program_or_by_python_itself_is_not_held(self):
        for source, value in VALUES:
            with self.subTest(source):
                outcome = self.link.evaluate(source, suspend=HOLD)
                self.assertEqual(outcome['type'], 'done', source)
                self.assertEqual(outcome['values'][0]['repr']['text'], value)

    def test_what_no_clause_names_and_goes_through_calls_of_the_program_alone_is_held(self):
        for source in HELD:
            with self.subTest(source):
                self.resume(self.held(source), 'abort')

    def test_where_it_cannot_be_told_who_catches_it_is_kept_post_mortem(self):
        for source in (
            'exec(compile("1 / 0", "<nowhere>", "exec"))',
            'kinds = [KeyError]\ndef f():\n    try: go()\n    except kinds[0]: return 1\nf()',
            'import threading\ndef f():\n    with threading.Condition(): go()\nf()',
            'import asyncio\nasync def f(): go()\nawait f()',
            'def endless(): return endless()\nendless()',
            '[getattr][0](Lacks(), "p")',
            'look_up(Lacks(), "p")',
            'functools.lru_cache()(bad)(1)',
        ):
            outcome = self.link.evaluate(source, suspend=HOLD)
            self.assertEqual((outcome['type'], outcome['suspension']['how']), ('suspended', 'post_mortem'), source)

    def test_while_asyncio_is_being_imported_errors_are_held_or_let_be_as_ever(self):
        begun = (
            'import sys, types\nwhole = sys.modules.get("asyncio")\nsys.modules["asyncio"] = types.ModuleType("asyncio")\n'
            'try: bad()\nexcept ValueError: pass\n'
        )
        asked = self.link.start(begun, suspend=HOLD)
        self.assertEqual(asked.answer()['type'], 'done')
        self.resume(self.held('bad()'), 'abort')
        self.link.evaluate('sys.modules.pop("asyncio")\nif whole: sys.modules["asyncio"] = whole')
        self.assertEqual(asked.output(), '')

    @unittest.skipUnless(hasattr(os, 'fork'), 'there is no fork here')
    def test_a_forked_child_holds_nothing_and_keeps_nothing(self):
        child = (
            'import os, warnings\nwarnings.simplefilter("ignore")\npid = os.fork()\nif pid == 0:\n    try: %s\n'
            '    finally: os._exit(8)\nos.waitpid(pid, 0)[1] >> 8'
        )
        # One by one: alone, and on top of a stack that is held.
        for _ in range(2):
            outcome = self.link.evaluate(child % 'bad()', suspend=HOLD)
            self.assertEqual(outcome['values'][0]['repr']['text'], '8')
            self.held('bad()')
        ends = 'import os\npid = os.fork()\nif pid == 0: bad()\nos.waitpid(pid, 0)[1] >> 8'
        self.assertEqual(self.link.evaluate(ends, suspend=HOLD)['values'][0]['repr']['text'], '1')
        self.assertEqual(len(self.look('suspensions')['suspensions']), 2)
