"""Traces of functions and tracepoints."""

import asyncio
import functools
import gc
import inspect
import os
import signal
import sys
import threading
import time
import types
import unittest
import weakref
from unittest import mock

from imago import tracing_monitoring
from imago.clock import Clock
from imago.handles import Handles
from imago.tracing import Tracing
from tests.daemon import until
from tests.looking_support import FIRED, hook

HAS_MONITORING = hasattr(sys, 'monitoring')


class Line:
    """A link to a daemon, which looks when it is told something."""

    open = True
    keeps_up = True

    def __init__(self):
        self.refused = 0
        self.looks = lambda: None
        self.seen = []

    def note(self, _name, _params):
        if self.keeps_up:
            self.seen.append(self.looks())
        else:
            self.refused += 1
        return self.keeps_up


class Traced(unittest.TestCase):
    """A namespace with functions, and the tracepoints of a kernel that has nothing else."""


    def setUp(self):
        self.clock = Clock()
        self.session = types.SimpleNamespace(link=Line())
        self.handles = Handles('abcd1234')
        self.tracing = Tracing(self.handles, self.clock, self.session)
        self.image = types.SimpleNamespace(namespace={'__name__': 'app'})
        self.addCleanup(self.clock.stop)
        self.addCleanup(self.tracing.close)

    def define(self, **names):
        self.image.namespace.update(names)

    def defined(self, source):
        """The function that a line of source defines."""
        exec(source, self.image.namespace)
        return self.image.namespace[source.split('(')[0].split()[-1]]

    def looked(self, name, calls=10, expires_ms=600_000):
        query = {'name': name, 'calls': calls, 'expires_ms': expires_ms, 'who': 'test'}
        return self.tracing.trace(self.image, query)

    def trace(self, name, **more):
        looked = self.looked(name, **more)
        self.assertEqual('found', looked['type'], looked)
        return looked['value']['id']

    def untrace(self, name):
        return self.tracing.untrace(self.image, {'tracepoint': name})['value']

    def page(self, name):
        return self.tracing.traces(self.image, {'tracepoint': name, 'from': 1, 'count': 100})['value']

    def calls(self, name):
        return self.page(name)['calls']

    def state(self, name):
        return self.page(name)['tracepoints'][0]['state']

    def assertIsOut(self):
        """Nothing of ours is in the program."""
        if HAS_MONITORING:
            self.assertEqual([None] * 6, [sys.monitoring.get_tool(tool) for tool in range(6)])


def texts(call):
    return {one['name']: one['value']['repr']['text'] for one in call['arguments']}


def outcome(call):
    one = call['outcome']
    return [value['repr']['text'] for value in one['values']] if one['type'] == 'returned' else one['type']


class WithCodeGivenBack:
    """The same, as it is done before 3.12, or where all tool ids are taken."""

    def setUp(self):
        patch = mock.patch.object(tracing_monitoring, 'TOOLS', ())
        patch.start()
        self.addCleanup(patch.stop)
        super().setUp()


# Tracepoints: what is taken down of each kind of function.

class Kinds(Traced):
    """What is seen of each kind of function, however it is done."""

    def test_every_kind_of_parameter_has_its_name_and_value(self):
        def area(w, h=2, *rest, scale=1, **more):
            return w * h * scale

        def placed(a, b=[1], /, c=3, *, d, e=5):
            return [a, b, c, d, e]

        before = inspect.signature(area)
        self.define(area=area)
        one = self.trace('area')
        self.assertEqual(before, inspect.signature(area))
        self.assertEqual(24, area(2, 3, 'x', scale=4, deep=True))
        self.assertEqual(6, area(w=3))
        with self.assertRaises(TypeError):
            area()
        first, second = self.calls(one)
        given = {'w': '2', 'h': '3', 'scale': '4', '*rest': "('x',)", '**more': "{'deep': True}"}
        self.assertEqual(given, texts(first))
        self.assertEqual({'w': '3', 'h': '2', 'scale': '1', '*rest': '()', '**more': '{}'}, texts(second))
        self.assertEqual([['24'], ['6']], [outcome(first), outcome(second)])
        self.define(placed=placed)
        other = self.trace('placed')
        placed.__defaults__ = (8, 9)
        self.assertEqual([0, 8, 9, 4, 5], placed(0, d=4))
        self.assertEqual(['0', '8', '9', '4', '5'], list(texts(self.calls(other)[0]).values()))

    def test_methods_of_all_kinds_are_seen_on_all_their_objects(self):
        class Older:
            def hello(self):
                return 'base'

        class Thing(Older):
            def hello(self):
                return super().hello() + type(self).__name__

            @staticmethod
            def still(x):
                return x

            @classmethod
            def made(cls, x):
                return cls, x

            @property
            def size(self):
                return 7

            @functools.lru_cache(None)
            def kept(x):
                return x

        thing = Thing()
        self.define(Thing=Thing, thing=thing)
        names = ['Thing.hello', 'Thing.still', 'Thing.made', 'Thing.size', 'Thing.kept', 'thing.hello']
        ones = [self.trace(name) for name in names]
        for _ in range(2):
            self.assertEqual(['baseThing', 1, (Thing, 2), 7, 3], [
                thing.hello(), thing.still(1), thing.made(2), thing.size, Thing.kept(3)
            ])
        self.assertEqual([2, 2, 2, 2, 1, 2], [len(self.calls(one)) for one in ones])

    def test_a_decorated_function_is_the_one_that_was_written(self):
        def doubled(function):
            @functools.wraps(function)
            def wrapper(*args):
                return 2 * function(*args)

            return wrapper

        @doubled
        def area(w, h):
            return w * h

        self.define(area=area, half=functools.partial(area, 2))
        one, other = self.trace('area'), self.trace('half')
        self.assertEqual([12, 12], [area(2, 3), self.image.namespace['half'](3)])
        self.assertEqual([{'w': '2', 'h': '3'}] * 2, [texts(call) for call in self.calls(one)])
        self.assertEqual(2, len(self.calls(other)))
        self.assertIn('It stands inside of', self.page(one)['tracepoints'][0]['notes'][0])

    def test_generators_are_seen_from_their_first_step_to_their_end(self):
        def numbers(count):
            got = yield count
            yield got
            return 'end'

        self.define(numbers=numbers)
        one = self.trace('numbers')
        self.assertTrue(inspect.isgeneratorfunction(numbers))
        steps = numbers(1)
        self.assertEqual([], self.calls(one))
        self.assertEqual([1, 'sent'], [next(steps), steps.send('sent')])
        self.assertEqual('running', outcome(self.calls(one)[0]))
        with self.assertRaises(StopIteration) as stopped:
            next(steps)
        self.assertEqual('end', stopped.exception.value)
        failing = numbers(2)
        next(failing)
        with self.assertRaises(KeyError):
            failing.throw(KeyError('thrown'))
        self.assertEqual([["'end'"], 'raised'], [outcome(call) for call in self.calls(one)])

    def test_coroutines_are_seen_to_their_end_and_stay_coroutines(self):
        async def waits(x):
            await asyncio.sleep(0)
            return x

        @types.coroutine
        def old(x):
            yield from asyncio.sleep(0).__await__()
            return x

        async def both():
            return await asyncio.gather(waits(1), waits(2)) + [await old(3)]

        self.define(waits=waits, old=old)
        one, other = self.trace('waits'), self.trace('old')
        self.assertTrue(asyncio.iscoroutinefunction(waits))
        self.assertEqual([1, 2, 3], asyncio.run(both()))
        self.assertEqual(['3'], outcome(self.calls(other)[0]))
        self.assertEqual([['1'], ['2']], [outcome(call) for call in self.calls(one)])
        self.assertEqual([0, 0], [call['depth'] for call in self.calls(one)])

    def test_what_a_function_raises_is_the_same_object_on_its_way_from_the_same_line(self):
        wrong = ValueError('wrong')

        def fails():
            raise wrong

        self.define(fails=fails)
        one = self.trace('fails')
        try:
            fails()
        except ValueError as error:
            self.assertIs(wrong, error)
            trace = error.__traceback__
            while trace.tb_next is not None:
                trace = trace.tb_next
            self.assertEqual('fails', trace.tb_frame.f_code.co_name)
            self.assertIsNone(error.__context__)
        (call,) = self.calls(one)
        self.assertEqual('wrong', call['outcome']['exception']['message'])

    def test_calls_within_calls_are_told_as_such_across_functions(self):
        count = 0

        def inner(x):
            # A cell, which stays what it is.
            nonlocal count
            count += 1
            return x

        def outer(x):
            return inner(x) + inner(x + 1)

        self.define(inner=inner, outer=outer)
        one, other = self.trace('outer'), self.trace('inner')
        outer(1)
        inner(9)
        self.assertEqual(3, count)
        self.assertEqual([0], [call['depth'] for call in self.calls(one)])
        self.assertEqual([1, 1, 0], [call['depth'] for call in self.calls(other)])
        self.assertTrue(self.calls(other)[0]['caller']['function'].endswith('outer'))


class KindsByCode(WithCodeGivenBack, Kinds):
    def test_it_says_how_it_is_done_and_what_it_cannot_do(self):
        def area():
            return sys._getframe(1).f_code.co_name

        async def steps():
            yield 1

        self.define(area=area, steps=steps)
        looked = self.looked('area')
        self.assertEqual('a changed code object', looked['value']['by'])
        self.assertIn('asynchronous generators', self.looked('steps')['message'])


@unittest.skipUnless(HAS_MONITORING, 'sys.monitoring is there from 3.12 on')
class Monitoring(Traced):
    def test_asynchronous_generators_and_functions_of_one_definition_are_seen(self):
        async def steps(n):
            for at in range(n):
                yield at

        def make(by):
            def times(x):
                return x * by

            return times

        async def all_of(n):
            return [at async for at in steps(n)]

        twice, thrice = make(2), make(3)
        self.define(steps=steps, twice=twice)
        one, other = self.trace('steps'), self.trace('twice')
        self.assertEqual([0, 1], asyncio.run(all_of(2)))
        self.assertEqual([4, 6], [twice(2), thrice(2)])
        self.assertEqual([1, 2], [len(self.calls(one)), len(self.calls(other))])
        self.assertIn('definition', ' '.join(self.page(other)['tracepoints'][0]['notes']))

    def test_what_a_function_lets_go_of_ends_while_it_runs(self):
        class Thing:
            pass

        def lets_go(thing):
            watched = weakref.ref(thing)
            del thing
            return watched() is None

        self.define(lets_go=lets_go)
        one = self.trace('lets_go')
        self.assertTrue(lets_go(Thing()))
        self.assertEqual(1, len(self.calls(one)))

    def test_tools_of_the_program_stay_another_id_is_taken_and_where_none_is_left_the_code_is_changed(self):
        area = self.defined('def area(): return 1')
        for taken, ours, by in (([3], 4, None), ([3, 4, 5], None, 'a changed code object')):
            for tool in taken:
                sys.monitoring.use_tool_id(tool, 'theirs')
            try:
                one = self.trace('area')
                area()
                self.assertEqual(1, len(self.calls(one)))
                if by is not None:
                    self.assertEqual(by, self.page(one)['tracepoints'][0]['by'])
                found = [sys.monitoring.get_tool(tool) for tool in taken + [ours or 2]]
                self.assertEqual(['theirs'] * len(taken) + ['imago' if ours else None], found)
                self.untrace(one)
                self.assertEqual('theirs', sys.monitoring.get_tool(3))
                self.assertIsNone(sys.monitoring.get_tool(ours or 2))
            finally:
                for tool in taken:
                    sys.monitoring.free_tool_id(tool)



# Tracepoints: each leaves nothing behind, however it ends.

class Ends(Traced):
    """A tracepoint leaves nothing behind, however it ends."""

    def setUp(self):
        super().setUp()
        self.area = self.defined('def area(w): return w')
        self.code = self.area.__code__

    def assertIsBack(self):
        self.assertIs(self.code, self.area.__code__)
        self.assertIsOut()

    def test_in_its_time_and_when_it_is_full_with_nobody_looking(self):
        self.trace('area', expires_ms=20)
        self.trace('area', calls=1)
        self.area(1)
        until(lambda: not any(point.state == 'on' or point.hook.points for point in self.tracing._points.values()))
        self.assertIsBack()
        self.assertEqual(1, self.area(1))

    def test_with_the_link_that_it_was_asked_for_on(self):
        link = self.session.link
        one = self.trace('area')
        self.session.link = Line()
        other = self.trace('area')
        self.tracing.lost(link)
        self.assertEqual(['removed', 'on'], [self.state(one), self.state(other)])
        self.tracing.lost(self.session.link)
        self.assertIsBack()
        # Or while it is set.
        set_it = self.tracing._set

        def and_lose(*given):
            point = set_it(*given)
            self.tracing.lost(self.session.link)
            self.session.link = None
            return point

        with mock.patch.object(self.tracing, '_set', and_lose):
            self.looked('area')
        self.assertIsBack()

    @unittest.skipUnless(hasattr(os, 'fork'), 'there is no fork')
    def test_in_a_forked_child_at_once(self):
        self.trace('area')
        self.area(1)
        child = os.fork()
        if child == 0:
            try:
                tools = [sys.monitoring.get_tool(tool) for tool in range(6)] if HAS_MONITORING else []
                fine = self.area.__code__ is self.code and not any(tools) and self.area(2) == 2
                os._exit(0 if fine else 1)
            finally:
                os._exit(2)
        self.assertEqual(0, os.waitpid(child, 0)[1])
        self.assertEqual(1, self.area(1))

    @unittest.skipUnless(hasattr(os, 'fork'), 'there is no fork')
    def test_in_a_child_that_is_forked_in_a_call_while_the_clock_is_busy(self):
        held, free = threading.Event(), threading.Event()

        def busy():
            with self.clock._changing:
                held.set()
                free.wait(30)

        def forks():
            child = os.fork()
            if child == 0:
                # As the owner of the link does.
                self.session.link = None
                signal.alarm(20)
            return child

        self.define(forks=forks)
        self.trace('forks')
        thread = threading.Thread(target=busy)
        thread.start()
        held.wait(30)
        threading.Timer(0.2, free.set).start()
        child = forks()
        if child == 0:
            os._exit(0)
        self.assertEqual(0, os.waitpid(child, 0)[1])
        thread.join()

    def test_code_that_somebody_else_has_given_the_function_stays(self):
        one = self.trace('area')

        def other(w):
            return w + 1

        self.area.__code__ = other.__code__
        self.untrace(one)
        self.assertEqual(3, self.area(2))
        self.assertIsOut()

    def test_calls_that_run_meanwhile_end_as_they_would(self):
        free, within = threading.Event(), threading.Event()

        def waits(x):
            within.set()
            free.wait(30)
            return x

        self.define(waits=waits)
        one = self.trace('waits')
        got = []
        thread = threading.Thread(target=lambda: got.append(waits(5)))
        thread.start()
        within.wait(30)
        self.untrace(one)
        free.set()
        thread.join()
        self.assertEqual([5], got)
        self.assertIsOut()

    def test_the_daemon_is_told_few_times_and_once_after_the_last_call(self):
        one = self.trace('area', calls=1000)
        self.session.link.looks = lambda: self.state(one)
        for number in range(1000):
            self.area(number)
        until(lambda: 'full' in self.session.link.seen)
        self.assertLess(len(self.session.link.seen), 100)

    def test_the_daemon_is_told_once_it_keeps_up(self):
        line = self.session.link
        line.keeps_up = False
        self.trace('area')
        self.area(1)
        until(lambda: line.refused > 1)
        line.keeps_up = True
        until(lambda: line.seen)

    def test_values_that_were_kept_for_handles_are_let_go_of(self):
        class Thing:
            pass

        thing = Thing()
        gone = weakref.ref(thing)
        self.trace('area')
        self.area([thing])
        del thing
        self.tracing.close()
        self.handles.let_go()
        gc.collect()
        self.assertIsNone(gone())


@unittest.skipUnless(HAS_MONITORING, 'as on 3.12')
class EndsByCode(WithCodeGivenBack, Ends):
    pass


# Tracepoints: the program runs as it did before, whatever is passed and whatever comes in between.

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

        self.define(Thing=Thing)
        uses = self.defined('def uses(thing): return Thing()')
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
        from imago.looking import rendering

        def chatty(x):
            return answer_to(x)

        def answer_to(x):
            return x

        # As if a library of the program's stood in the way of showing a value.
        shown = rendering.leaf_text

        def leaf_text(value, room):
            chatty(0)
            return shown(value, room)

        self.define(chatty=chatty)
        one = self.trace('chatty')
        with mock.patch.object(rendering, 'leaf_text', leaf_text):
            chatty(5)
        self.assertEqual([{'x': '5'}], [texts(call) for call in self.calls(one)])

    def test_a_failure_of_ours_never_reaches_the_program(self):
        area = self.defined('def area(w): return w')
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
        deep = self.defined('def deep(n): return deep(n + 1)')
        one = self.trace('deep', calls=3)
        with self.assertRaises(RecursionError):
            deep(0)
        self.assertEqual(['raised'] * 3, [outcome(call) for call in self.calls(one)])

    def test_many_threads_are_taken_down_call_by_call(self):
        echo = self.defined('def echo(x): return x')
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
