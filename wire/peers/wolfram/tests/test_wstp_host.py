"""The host over a scripted link: a kernel that is busy, one that is lost, and one that cannot be loaded."""

import io
import sys
import threading
import unittest
from unittest.mock import patch

from imago_wolfram.host import Host
from imago_wolfram.link import LinkLost, Packet
from imago_wolfram.wstp_engine import Package, WstpEngine
from tests.doubles import Served
from tests.test_wstp_engine import DONE, Scripted

HELLO = {
    "version": "14.1.0 for Linux x86 (64-bit)",
    "mark": "1-2-3",
    "contexts": ["System`", "Global`"],
    "place": ["Global`", ["System`", "Global`"]],
}
#: A kernel that has the package already.
LOADED = Packet("ReturnPacket", (Package.read().version,)), HELLO
PIECES = {"pieces": [[0, 3]]}
LOOK = {"name": "System`Plus", "max_length": 100, "deadline_ms": 5_000}


class Link(Scripted):
    def open(self):
        step = self.steps[0]
        if isinstance(step, LinkLost):
            raise self.steps.popleft()

    def evaluate(self, function, text):
        if function == "Imago`call":
            super().evaluate(function, text)


class HostTest(unittest.TestCase):
    def start(self, *steps):
        self.ended = threading.Event()
        self.host = Host(self.ended.set, WstpEngine(Link(*steps)))
        thread = threading.Thread(target=self.host.evaluator.run)
        thread.start()
        self.addCleanup(thread.join, 10)
        self.addCleanup(self.host.close)

    def ask(self, method, **params):
        served = Served()
        self.host.serve(served, method, params)
        self.assertTrue(served.answered.wait(10))
        return served.answer

    def evaluate(self, text="1+2"):
        return self.ask("evaluate", call="call 1", who="me", source=text)

    def test_a_look_while_it_evaluates_tells_what_it_is_busy_with(self):
        seen = []

        def look(link):
            seen.append(self.ask("definition", **LOOK))
            return link.returned(DONE)

        self.start(*LOADED, PIECES, look)
        self.assertEqual(self.evaluate()["type"], "done")
        [busy] = seen
        self.assertEqual((busy["type"], busy["call"]), ("busy", "call 1"))
        self.assertGreaterEqual(busy["elapsed_ms"], 0)
        self.assertFalse(self.ended.is_set())

    def test_a_value_that_the_kernel_has_no_output_form_for_is_shown_without_one(self):
        value = {"data": ["n", "System`List", 1], "whole": True, "length": 1}
        self.start(*LOADED, PIECES, {**DONE, "value": value, "output": None}, {"exist": [False, True]})
        outcome = self.evaluate()
        self.assertEqual([one["repr"]["text"] for one in outcome["values"]], ["{1}"])
        self.assertNotIn("displays", outcome)

    def test_a_kernel_that_is_lost_is_told_and_ends_the_process(self):
        self.start(*LOADED, PIECES, LinkLost("it died"))
        outcome = self.evaluate()
        self.assertEqual(outcome["type"], "raised")
        self.assertEqual(outcome["exception"]["type"]["name"], "LinkObject::linkd")
        self.assertIn("it died", outcome["exception"]["message"])
        self.assertTrue(self.ended.wait(10))

    def test_a_kernel_that_quits_leaves_in_order_and_ends_the_process(self):
        self.start(*LOADED, {"pieces": [[0, 6]]}, LinkLost("closed"))
        self.assertEqual(self.evaluate("Quit[]")["type"], "left")
        self.assertTrue(self.ended.wait(10))

    def test_a_kernel_that_a_look_finds_lost_ends_the_process(self):
        self.start(*LOADED, LinkLost("it died"))
        self.assertTrue(self.host.evaluator.is_loaded.wait(10))
        self.assertEqual(self.ask("definition", **LOOK)["type"], "fault")
        self.assertTrue(self.ended.wait(10))

    def test_a_kernel_that_cannot_be_had_is_told_and_ends_the_process(self):
        self.ended = threading.Event()
        self.host = Host(self.ended.set, WstpEngine(Link(LinkLost("no licence"))))
        self.addCleanup(self.host.close)
        with patch.object(sys, "__stderr__", io.StringIO()) as told:
            self.host.evaluator.run()
        self.assertTrue(self.ended.is_set())
        self.assertIn("no licence", told.getvalue())


if __name__ == "__main__":
    unittest.main()
