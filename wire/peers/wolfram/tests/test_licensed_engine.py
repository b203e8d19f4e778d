"""The engine over a real kernel. `IMAGO_TEST_WSTP` and `IMAGO_TEST_KERNEL` name its library and its program."""

import ctypes
import os
import threading
import time
import unittest

from tests.page import symbol_definition
from imago_wolfram.engine import Aborted, Failed, Misread, Quit
from imago_wolfram.expressions import Integer, Symbol
from imago_wolfram.forms import input_form
from imago_wolfram.wstp import WstpLink
from imago_wolfram.wstp_engine import Stopped, WstpEngine
from tests import test_specification
from tests.doubles import RecordingListener

LIBRARY, KERNEL = os.environ.get("IMAGO_TEST_WSTP"), os.environ.get("IMAGO_TEST_KERNEL")


@unittest.skipUnless(LIBRARY and KERNEL, "no Wolfram Engine is named by IMAGO_TEST_WSTP and IMAGO_TEST_KERNEL")
class LicensedEngine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.heard = RecordingListener(lambda prompt: "2 + 2")
        cls.link = WstpLink.launch(LIBRARY, KERNEL)
        cls.addClassCleanup(cls.link.close)
        cls.engine = WstpEngine(cls.link)
        cls.engine.load(cls.heard)

    def setUp(self):
        self.heard.said.clear()
        self.heard.prompts.clear()

    def run_in(self, text):
        value = None
        for piece in self.engine.pieces(text):
            value = self.engine.evaluate(piece)
        return value

    def value(self, text):
        value = self.run_in(text)
        return None if value is None else input_form(self.engine, value).text

    def test_values(self):
        self.assertEqual(self.value("1+2"), "3")
        self.assertIsNone(self.value("x = 5;"))
        self.assertEqual(self.value("{x, -2/3, 1.5, \"a\"}"), '{5, -2/3, 1.5, "a"}')
        self.assertEqual(self.value("Range[3]\n4+4\n%"), "8")

    def test_print_and_messages_come_in_order(self):
        self.run_in('Print["a"]; 1/0; Print["b"]')
        self.assertEqual(self.heard.order, ["a\n", "Power::infy", "b\n"])

    def test_what_runs_is_aborted_within_seconds(self):
        of = ctypes.c_ulong(threading.get_ident())
        stop = ctypes.py_object(Stopped)
        timer = threading.Timer(1, lambda: ctypes.pythonapi.PyThreadState_SetAsyncExc(of, stop))
        begun = time.monotonic()
        timer.start()
        with self.assertRaises(Aborted):
            self.run_in("While[True]")
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(self.value("1+2"), "3")

    def test_an_abort_a_throw_and_a_syntax_error_are_told_from_values(self):
        self.assertEqual(self.value("$Aborted"), "$Aborted")
        with self.assertRaises(Aborted):
            self.run_in("Abort[]")
        with self.assertRaises(Failed) as failed:
            self.run_in("Throw[1 + 1]")
        self.assertEqual(failed.exception.name, "Throw::nocatch")
        with self.assertRaises(Misread) as misread:
            self.run_in("1\nf[)")
        self.assertEqual(misread.exception.line, 2)

    def test_input_asks(self):
        self.assertEqual(self.value('Input["x? "]'), "4")
        self.assertEqual(self.heard.prompts, ["x? "])

    def test_definitions_are_those_of_the_specification(self):
        self.assertEqual(symbol_definition(self.engine.source, "Plus"), test_specification.PLUS)
        self.assertEqual(symbol_definition(self.engine.source, "Map"), test_specification.MAP)

    def test_options_are_read_where_they_are_held(self):
        self.run_in("Options[late] = {a -> loose}; trips = 0; loose := trips++")
        self.assertIn("{a -> loose}", symbol_definition(self.engine.source, "late"))
        self.assertEqual(self.value("trips"), "0")

    def test_read_protection_is_read_through_and_stays(self):
        self.run_in("rp[x_] := x^2; SetAttributes[rp, ReadProtected]")
        self.assertIn("rp[x_] := x^2", symbol_definition(self.engine.source, "rp"))
        self.assertEqual(self.value("Attributes[rp]"), "{ReadProtected}")

    def test_a_long_list_is_read_part_by_part(self):
        items = self.engine.items(self.run_in("Range[10^6]"))
        self.assertEqual((len(items), items[999_999].data), (1_000_000, Integer(1_000_000)))
        self.assertEqual(self.engine.head(items[0]), Symbol("System`Integer"))

    def test_quit_ends_a_kernel_in_order(self):
        link = WstpLink.launch(LIBRARY, KERNEL)
        self.addCleanup(link.close)
        engine = WstpEngine(link)
        engine.load(RecordingListener())
        with self.assertRaises(Quit):
            for piece in engine.pieces("Quit[]"):
                engine.evaluate(piece)
        self.assertTrue(engine.is_lost)


if __name__ == "__main__":
    unittest.main()
