"""Tracepoints: each leaves nothing behind, however it ends."""

import gc
import os
import sys
import threading
import unittest
import weakref
from unittest import mock

from tests.daemon import until
from tests.tracing_support import HAS_MONITORING, Traced, WithCodeGivenBack


class Ends(Traced):
    """A tracepoint leaves nothing behind, however it ends."""

    def setUp(self):
        super().setUp()

        def area(w):
            return w

        self.area, self.code = area, area.__code__
        self.define(area=area)

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
        self.session.link = object()
        other = self.trace('area')
        self.tracing.lost(link)
        self.assertEqual(['removed', 'on'], [self.state(one), self.state(other)])
        self.tracing.lost(self.session.link)
        self.assertIsBack()

    def test_with_a_link_that_ends_while_it_is_set(self):
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
