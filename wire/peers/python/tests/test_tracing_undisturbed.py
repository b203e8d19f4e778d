"""Tracepoints: the program runs as it did before, whatever is passed and whatever comes in between."""

import signal
import threading
import time
import unittest
import weakref
from unittest import mock

from tests.daemon import until
from tests.looking_support import FIRED, hook
from tests.tracing_support import HAS_MONITORING, Traced, WithCodeGivenBack, outcome, texts


class Undisturbed(Traced):
    """The program, whose calls are taken down."""

    def test_no_code_of_a_value_runs_neither_when_it_is_passed_nor_when_it_is_shown(self):
        trap = type('Trap', (), {name: hook(name) for name in (
            '__repr__', '__str__', '__eq__', '__hash__', '__bool__', '__len__', '__iter__', '__getattr__', '__format__'
        )})()

        def trapped(one, *rest, **more):
            raise ValueError(one)

        self.define(trapped=trapped)
        one = self.trace('trapped')
        FIRED.clear()
        with self.assertRaises(ValueError):
            trapped(trap, [trap], {1: trap}, key=trap)
        (call,) = self.calls(one)
        self.assertEqual([], FIRED)
        self.assertIn('Trap', texts(call)['one'])

    def test_objects_end_when_they_would_have_ended(self):
        class Thing:
            pass

        def uses(thing):
            return Thing()

        self.define(uses=uses)
        one = self.trace('uses')
        thing = Thing()
        watched = weakref.ref(thing)
        made = weakref.ref(uses(thing))
        del thing
        self.assertIsNone(watched())
        self.assertIsNone(made())
        (call,) = self.calls(one)
        self.assertNotIn('handle', call['arguments'][0]['value'])

    def test_values_are_shown_as_they_were_and_handles_lead_to_what_they_are(self):
        def grows(items):
            items.append('new')
            return items

        self.define(grows=grows)
        one = self.trace('grows')
        items = ['old']
        grows(items)
        (call,) = self.calls(one)
        self.assertEqual({'items': "['old']"}, texts(call))
        self.assertEqual(["['old', 'new']"], outcome(call))
        self.assertIs(items, self.handles.find(call['arguments'][0]['value']['handle']).value)

    def test_texts_and_arguments_are_bounded(self):
        source = 'def many(%s): pass' % ', '.join('a%d=0' % at for at in range(50))
        exec(source, self.image.namespace)
        one = self.trace('many')
        self.image.namespace['many']('x' * 100_000, [list(range(1000))] * 1000)
        (call,) = self.calls(one)
        self.assertEqual([20, 30], [len(call['arguments']), call['arguments_omitted']])
        for value in list(texts(call).values())[:2]:
            self.assertLess(len(value), 500)

    def test_a_function_that_taking_down_itself_calls_can_be_traced(self):
        from imago.looking import statictext

        def chatty(x):
            return answer_to(x)

        def answer_to(x):
            return x

        # As if a library of the program's stood in the way of showing a value.
        shown = statictext.leaf_text

        def leaf_text(value, room):
            chatty(0)
            return shown(value, room)

        self.define(chatty=chatty)
        one = self.trace('chatty')
        with mock.patch.object(statictext, 'leaf_text', leaf_text):
            chatty(5)
        self.assertEqual([{'x': '5'}], [texts(call) for call in self.calls(one)])

    def test_a_failure_of_ours_never_reaches_the_program(self):
        def area(w):
            return w

        self.define(area=area)
        one = self.trace('area', calls=2)
        with mock.patch('imago.tracing_calls.static_repr', side_effect=ValueError('ours')):
            self.assertEqual(1, area(1))
        with mock.patch('imago.tracing_calls._thread_here', side_effect=RecursionError('ours')):
            self.assertEqual(2, area(2))
        until(lambda: self.state(one) == 'full')
        self.assertEqual([1, 2], [call['number'] for call in self.calls(one)])

    @unittest.skipUnless(hasattr(signal, 'setitimer'), 'there are no such signals')
    def test_signals_whose_handlers_call_the_function_come_in_between(self):
        def beat(x):
            return x

        heard = []
        self.define(beat=beat)
        self.trace('beat', calls=1000)
        before = signal.signal(signal.SIGALRM, lambda *_: heard.append(beat(1)))
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        try:
            deadline = time.monotonic() + 30
            while len(heard) < 100 and time.monotonic() < deadline:
                self.assertEqual(2, beat(2))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertGreaterEqual(len(heard), 100)

    def test_recursion_to_its_end_ends_as_without(self):
        def deep(n):
            return deep(n + 1)

        self.define(deep=deep)
        one = self.trace('deep', calls=3)
        with self.assertRaises(RecursionError):
            deep(0)
        self.assertEqual(['raised'] * 3, [outcome(call) for call in self.calls(one)])

    def test_many_threads_are_taken_down_call_by_call(self):
        def echo(x):
            return x

        self.define(echo=echo)
        one = self.trace('echo', calls=1000)
        wrong = []

        def work(at):
            wrong.extend(n for n in range(300) if echo((at, n)) != (at, n))

        threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], wrong)
        until(lambda: self.state(one) == 'full')
        seen = []
        for first in range(1, 1001, 100):
            query = {'tracepoint': one, 'from': first, 'count': 100}
            seen += self.tracing.traces(self.image, query)['value']['calls']
        self.assertEqual(list(range(1, 1001)), [call['number'] for call in seen])
        self.assertTrue(all(outcome(call) == [texts(call)['x']] for call in seen))


@unittest.skipUnless(HAS_MONITORING, 'as on 3.12')
class UndisturbedByCode(WithCodeGivenBack, Undisturbed):
    pass
