"""What stands between the frames of an error that is to be held: only what surely lets it through."""

import os
import unittest

from tests.test_holding import HOLD, HoldingCase

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

VALUES = (
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

    def test_what_python_itself_catches_is_not_held(self):
        for source, value in VALUES:
            with self.subTest(source):
                outcome = self.link.evaluate(source, suspend=HOLD)
                self.assertEqual(outcome['type'], 'done', source)
                self.assertEqual(outcome['values'][0]['repr']['text'], value)

    def test_what_goes_through_calls_of_the_program_alone_is_held(self):
        for source in HELD:
            with self.subTest(source):
                self.resume(self.held(source), 'abort')

    def test_what_python_could_have_caught_and_has_not_is_kept_post_mortem(self):
        for source in ('[getattr][0](Lacks(), "p")', 'look_up(Lacks(), "p")', 'functools.lru_cache()(bad)(1)'):
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
