"""What evaluated code draws and displays comes back with it, and failing to draw fails nothing."""

import base64
import importlib.util
import threading
import unittest

import imago
from imago import displays
from imago.handles import Handles
from imago.looking import inspect_static
from imago.places import OwnThread
from tests.evaluating import Guest

HOOKS = '''
import time

class Printing:
    def _repr_html_(self):
        print("from the hook")
        return "<b>bold</b>", {"isolated": True}

class Raising:
    def _repr_png_(self):
        raise ValueError("no ink")

class Leaving:
    def _repr_html_(self):
        raise SystemExit

class Endless:
    def _repr_html_(self):
        while True:
            time.sleep(0.01)

class Stranger:
    def _repr_png_(self):
        return b"GIF89a" + bytes(100)

class Wide:
    def _repr_png_(self):
        return b"\\x89PNG\\r\\n\\x1a\\n" + bytes(8) + (10 ** 5).to_bytes(4, "big") * 2

class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "a bundle", "text/html": "<i>a bundle</i>", "application/x": object()}

class Odd:
    def __getattr__(self, name):
        return lambda *_: "<b>invented</b>"
'''


class Displayed(unittest.TestCase):
    def setUp(self):
        self.guest = Guest(OwnThread())
        self.addCleanup(self.guest.evaluator.stop)

    def done(self, source):
        outcome = self.guest.evaluate(source)
        self.assertEqual(outcome['type'], 'done', outcome)
        return outcome

    def displayed(self, source):
        return self.done(source).get('displays', [])


class Values(Displayed):
    def setUp(self):
        super().setUp()
        self.done(HOOKS)

    def only(self, source):
        (one,) = self.displayed(source)
        return one

    def test_a_value_with_a_picture_or_a_page_of_its_own_brings_them(self):
        self.assertEqual(self.only('Printing()'), {'what': 'Printing', 'html': '<b>bold</b>'})
        self.assertEqual(self.only('Bundle()')['html'], '<i>a bundle</i>')

    def test_other_values_bring_nothing(self):
        for source in ('1', 'None', '"text"', '[Printing()]', 'Printing', 'Odd()', 'x = 1'):
            with self.subTest(source):
                self.assertNotIn('displays', self.done(source))

    def test_a_hook_that_fails_leaves_a_note_and_the_value(self):
        for source, note in (
            ('Raising()', 'ValueError: no ink'),
            ('Leaving()', 'SystemExit'),
            ('Stranger()', 'no PNG'),
            ('Wide()', 'too large'),
        ):
            with self.subTest(source):
                outcome = self.done(source)
                self.assertIn(note, outcome['displays'][0]['note'])
                self.assertNotIn('png', outcome['displays'][0])
                self.assertEqual(len(outcome['values']), 1)

    def test_a_hook_that_never_ends_is_ended(self):
        self.assertIn('longer than', self.only('Endless()')['note'])
        self.assertEqual(self.guest.value('1 + 1'), '2')

    def test_a_look_calls_no_hook(self):
        self.done('seen = []\nclass Seen:\n    def _repr_html_(self):\n        seen.append(1)\nkept = Seen()')
        inspect_static(self.guest.namespace, 'kept', Handles('0123abcd'))
        self.assertEqual(self.guest.value('seen'), '[]')

    def test_code_can_have_any_value_displayed(self):
        (one,) = self.displayed('import imago\nimago.show([1, 2])\nNone')
        self.assertEqual(one['shown']['repr']['text'], '[1, 2]')
        self.assertIn('handle', one['shown'])
        self.assertFalse(imago.show(1))

    def test_only_the_last_few_evaluations_keep_what_they_displayed(self):
        asked = [self.guest.start('Printing()') for _ in range(displays.REMEMBERED + 1)]
        for one in asked:
            one.answer()
        self.done('1')
        first, last = (self.guest.evaluator._calls.find(one.name).outcome for one in (asked[0], asked[-1]))
        self.assertIn('made room', first['displays'][0]['note'])
        self.assertEqual(last['displays'][0]['html'], '<b>bold</b>')


@unittest.skipIf(importlib.util.find_spec('matplotlib') is None, 'matplotlib is not installed')
class Figures(Displayed):
    def setUp(self):
        super().setUp()
        self.done('import matplotlib\nmatplotlib.use("agg")\nimport matplotlib.pyplot as plt\nplt.close("all")')

    def test_a_figure_that_code_drew_comes_back_as_png_and_is_closed(self):
        (one,) = self.displayed('plt.figure(figsize=(3, 2), dpi=100)\nplt.plot([1, 4, 9])\nplt.show()')
        picture = base64.b64decode(one['png'])
        self.assertEqual(picture[:8], b'\x89PNG\r\n\x1a\n')
        size = int.from_bytes(picture[16:20], 'big'), int.from_bytes(picture[20:24], 'big')
        self.assertEqual((one['what'], size), ('figure 1', (300, 200)))
        self.assertEqual(self.guest.value('plt.get_fignums()'), '[]')

    def test_a_figure_as_the_value_comes_back_once_and_closed_ones_again(self):
        self.assertEqual(len(self.displayed('fig = plt.figure()\nfig')), 1)
        self.assertIn('png', self.displayed('fig')[0])

    def test_figures_come_back_of_code_that_raises_too(self):
        outcome = self.guest.evaluate('plt.plot([1])\n1 / 0')
        self.assertEqual((outcome['type'], 'png' in outcome['displays'][0]), ('raised', True))

    def test_a_figure_of_the_program_is_neither_taken_nor_closed(self):
        self.guest.namespace['drawn'] = drawn = threading.Event()
        self.guest.namespace['begun'] = begun = threading.Event()

        def program():
            import matplotlib.pyplot as plt

            begun.wait(20)
            plt.figure('of the program')
            drawn.set()

        thread = threading.Thread(target=program)
        thread.start()
        (one,) = self.displayed('begun.set()\ndrawn.wait(20)\nplt.figure("of the caller")\nNone')
        thread.join()
        self.assertIn('png', one)
        self.assertEqual(self.guest.value('plt.get_figlabels()'), "['of the program']")
        self.assertNotIn('displays', self.done('plt.figure("of the program").number'))
        self.assertEqual(self.guest.value('plt.get_figlabels()'), "['of the program']")

    def test_nothing_of_ours_stays_in_matplotlib(self):
        self.done('plt.figure()')
        name = self.guest.value('__import__("matplotlib._pylab_helpers")._pylab_helpers.Gcf.set_active.__name__')
        # While this runs it is noted what it makes.
        self.assertEqual(name, "'noted'")
        from matplotlib._pylab_helpers import Gcf

        self.assertEqual(Gcf.set_active.__name__, 'set_active')

    def test_the_first_few_come_back_and_the_rest_are_counted(self):
        outcome = self.done('for n in range(7):\n    plt.figure(figsize=(1, 1))')
        self.assertEqual((len(outcome['displays']), outcome['displays_omitted']), (4, 3))
        self.assertEqual(self.guest.value('plt.get_fignums()'), '[]')

    def test_a_figure_of_1e8_pixels_is_drawn_smaller(self):
        (one,) = self.displayed('plt.figure(figsize=(100, 100), dpi=100)\nNone')
        self.assertIn('10,000 × 10,000 pixels', one['note'])
        self.assertLess(len(one['png']), 3_000_000)

    def test_a_label_far_away_makes_no_picture_larger(self):
        source = 'matplotlib.rcParams["savefig.bbox"] = "tight"\nplt.figure(figsize=(1, 1))\nplt.text(1e4, 1e4, "far")\nNone'
        (one,) = self.displayed(source)
        self.assertLess(len(one['png']), 100_000)

    def test_a_figure_that_cannot_be_drawn_leaves_a_note_and_the_value(self):
        outcome = self.done('fig = plt.figure()\nfig.savefig = 1\n42')
        self.assertIn('TypeError', outcome['displays'][0]['note'])
        self.assertEqual(outcome['values'][0]['repr']['text'], '42')
        self.assertEqual(self.guest.value('plt.get_fignums()'), '[]')

    def test_code_that_was_stopped_is_not_drawn_any_more_and_its_figures_are_closed(self):
        self.guest.namespace['running'] = running = threading.Event()
        asked = self.guest.start('plt.figure()\nrunning.set()\nwhile True:\n    pass')
        self.assertTrue(running.wait(20))
        self.guest.interrupt(asked)
        outcome = asked.answer()
        self.assertEqual((outcome['type'], 'displays' in outcome), ('interrupted', False))
        self.assertEqual(self.guest.value('plt.get_fignums()'), '[]')

    def test_drawing_can_be_interrupted_and_the_value_stays(self):
        self.guest.namespace['drawing'] = drawing = threading.Event()
        source = (
            'class Slow(plt.Figure):\n'
            '    def savefig(self, *_, **__):\n'
            '        drawing.set()\n'
            '        while True:\n'
            '            pass\n'
            'plt.figure(FigureClass=Slow)\n'
            '42'
        )
        asked = self.guest.start(source)
        self.assertTrue(drawing.wait(20))
        self.guest.interrupt(asked)
        outcome = asked.answer()
        self.assertEqual(outcome['type'], 'done')
        self.assertIn('stopped on request', outcome['displays'][0]['note'])


if __name__ == '__main__':
    unittest.main()
