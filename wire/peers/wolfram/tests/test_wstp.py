"""The link to a licensed kernel, on a libWSTP of our own behind which a kernel is played."""

import ctypes
import json
import os
import random
import re
import signal
import tempfile
import threading
import time
import unittest
import unittest.mock
from contextlib import contextmanager

import _ctypes

from imago_wolfram.link import LinkLost, Name, Packet
from imago_wolfram.wstp import WstpLink
from tests import kernel_player


@unittest.skipIf(kernel_player.compiler() is None, "there is no C compiler (cc) for the library of the tests")
class WstpTest(unittest.TestCase):
    """A test on an installation of its own, whose path has a space in it."""

    #: Seconds that a link of a test may last. Where one has not come to its end by then, no other gets as much.
    seconds = 60

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="imago wstp ")
        cls.addClassCleanup(folder.cleanup)
        cls.root = folder.name
        cls.kernel, cls.library = kernel_player.install(folder.name)

    def setUp(self):
        # Last of all, when the links are closed.
        self.addCleanup(self.no_rule_is_broken)

    def no_rule_is_broken(self):
        broken_rule = ctypes.CDLL(self.library).fake_broken_rule
        broken_rule.restype = ctypes.c_char_p
        self.assertIsNone(broken_rule())

    def launched(self):
        link = WstpLink.launch(self.library, self.kernel)
        self.opened(link)
        return link

    def opened(self, link):
        """Opens a link, and closes it when the test ends, or when it has lasted too long."""
        failed = []

        def opening():
            try:
                link.open()
            except LinkLost as lost:
                failed.append(lost)

        def too_long():
            WstpTest.seconds = 1
            link.close()

        thread = threading.Thread(target=opening, daemon=True)
        thread.start()
        thread.join(WstpTest.seconds)
        self.assertFalse(thread.is_alive(), "opening has not ended")
        if failed:
            raise failed[0]
        self.addCleanup(link.close)
        ends = threading.Timer(WstpTest.seconds, too_long)
        ends.daemon = True
        ends.start()
        self.addCleanup(ends.cancel)

    def played(self, link, *steps):
        """What comes of a script, to its return."""
        link.evaluate("play", json.dumps(steps))
        return self.heard(link)

    def heard(self, link):
        packets = [link.receive()]
        while packets[-1].kind != "ReturnPacket":
            packets.append(link.receive())
        return packets

    def counted(self, link):
        link.evaluate("count", "")
        return json.loads(link.receive().parts[0])

    def lost(self, call):
        with self.assertRaises(LinkLost) as caught:
            call()
        return str(caught.exception)

    def unopened(self, link):
        return self.lost(lambda: self.opened(link))

    @contextmanager
    def library_is(self, word):
        with unittest.mock.patch.dict(os.environ, FAKE_WSTP=word):
            yield


class Opening(WstpTest):
    def program(self, name, line):
        path = os.path.join(self.root, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{line}\n")
        os.chmod(path, 0o755)
        return path

    def test_a_kernel_is_ready_when_it_has_named_its_first_input(self):
        link = self.launched()
        link.evaluate("echo", "first")
        self.assertEqual(link.receive(), Packet("ReturnPacket", ("first",)))

    def test_the_signal_that_interrupts_stays_with_python(self):
        # A shell lets what it starts in the background ignore the signal.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        self.launched()
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

    def test_a_file_that_is_no_library_is_named(self):
        for path in (os.path.join(self.root, "none.so"), _ctypes.__file__):
            with self.subTest(path):
                said = self.unopened(WstpLink.launch(path, self.kernel))
                self.assertIn(f"{path} is no WSTP library", said)

    def test_a_library_that_opens_no_link_says_why(self):
        with self.library_is("refuse"):
            said = self.unopened(WstpLink.launch(self.library, self.kernel))
        self.assertIn("the arguments say no link (error 33)", said)

    def test_a_kernel_that_is_not_there_is_told(self):
        said = self.unopened(WstpLink.launch(self.library, self.kernel + "2"))
        self.assertIn("could not be started", said)

    def test_a_kernel_that_dies_while_it_starts_is_told_with_what_to_do(self):
        said = self.unopened(WstpLink.launch(self.library, self.program("dying", "exit 1")))
        self.assertIn("the other side has closed the link (error 11)", said)
        self.assertIn("licence", said)

    def test_what_a_kernel_says_in_place_of_starting_is_told(self):
        # A shell, which has said it long before the time is over, or before it ends.
        with open(os.path.join(self.root, "greeting"), "wb") as file:
            file.write(kernel_player.said_first("TextPacket", "No valid password found."))
        says = 'cat "${0%/*}/greeting" >&3'
        silent = self.program("silent", f"{says}; exec cat <&3 >/dev/null")
        with unittest.mock.patch("imago_wolfram.wstp.OPENING", 2):
            said = self.unopened(WstpLink.launch(self.library, silent))
        self.assertRegex(said, "did not answer within 2 s.* It said: No valid password found.")
        dying = self.program("rejected", f"{says}; exit 1")
        said = self.unopened(WstpLink.launch(self.library, dying))
        self.assertRegex(said, "could not be started.* It said: No valid password found.")

    def test_activating_that_never_ends_is_given_up_and_holds_up_nobody(self):
        with self.library_is("hang"), unittest.mock.patch("imago_wolfram.wstp.OPENING", 0.5):
            link = WstpLink.launch(self.library, self.kernel)
            said = self.unopened(link)
        self.assertIn("did not answer within 0.5 s", said)
        self.assertIn("licence must be activated", said)
        self.assertEqual(self.lost(link.receive), said)
        self.assertEqual(self.lost(lambda: link.evaluate("echo", "")), said)
        with unittest.mock.patch("imago_wolfram.wstp.CLOSING", 0.1):
            link.close()

    def test_an_address_at_which_nobody_listens_is_told(self):
        said = self.unopened(WstpLink.connect(self.library, "127.0.0.1:1"))
        self.assertIn("could not be reached", said)
        self.assertIn("error 10", said)


class Packets(WstpTest):
    def test_what_a_kernel_says_comes_in_order(self):
        said = self.played(
            self.launched(),
            ["send", "TextPacket", "printed\n"],
            ["send", "MessagePacket", {"name": "Power"}, "infy"],
            ["send", "TextPacket", "Power::infy: Infinite expression 1/0 encountered."],
            ["return", {"name": "ComplexInfinity"}],
        )
        self.assertEqual(
            said,
            [
                Packet("TextPacket", ("printed\n",)),
                Packet("MessagePacket", (Name("Power"), "infy")),
                Packet("TextPacket", ("Power::infy: Infinite expression 1/0 encountered.",)),
                Packet("ReturnPacket", (Name("ComplexInfinity"),)),
            ],
        )
        self.assertIsInstance(said[1].parts[0], Name)
        self.assertNotIsInstance(said[1].parts[1], Name)

    def test_parts_come_by_their_type_and_of_all_else_nothing_is_read(self):
        link = self.launched()
        for sent, part in (
            ({"name": "$Aborted"}, Name("$Aborted")),
            ("$Aborted", "$Aborted"),
            ("größer ∞ 𝔸", "größer ∞ 𝔸"),
            ("", ""),
            (2**63 - 1, 2**63 - 1),
            (-(2**63), -(2**63)),
            (2**63, None),
            (10**40, None),
            ({"real": 1.5}, None),
            ({"head": "List", "arguments": [1, {"head": "f", "arguments": ["x"]}]}, None),
        ):
            with self.subTest(str(sent)):
                [packet] = self.played(link, ["return", sent])
                self.assertEqual(packet.parts, (part,))
                self.assertIs(type(packet.parts[0]), type(part))

    def test_a_packet_that_nothing_is_done_about_is_skipped(self):
        said = self.played(
            self.launched(),
            ["send", "NovelPacket", "a", {"head": "b", "arguments": [1]}],
            ["send", "SyntaxPacket", 7],
            ["send", "MenuPacket", 1, "Interrupt> "],
            ["send", "SuspendPacket"],
            ["send", "TextPacket", "next"],
        )
        self.assertEqual(said, [("TextPacket", ("next",)), ("ReturnPacket", ("Null",))])

    def test_a_call_of_the_front_end_is_refused_so_that_the_kernel_goes_on(self):
        said = self.played(self.launched(), ["ask", "CallPacket", {"head": "f", "arguments": []}])
        self.assertEqual(said, [("ReturnPacket", ("ReturnPacket[$Failed]",))])

    def test_input_is_answered_in_the_packet_that_it_wants(self):
        link = self.launched()
        for kind, prompt, answered in (
            ("InputPacket", ["? "], "EnterTextPacket"),
            ("InputStringPacket", ["name: "], "TextPacket"),
            ("InputPacket", [], "EnterTextPacket"),
        ):
            with self.subTest(kind, prompt=prompt):
                link.evaluate("play", json.dumps([["ask", kind, *prompt]]))
                self.assertEqual(link.receive(), (kind, tuple(prompt)))
                link.answer('2 + "2"')
                self.assertEqual(link.receive().parts, (f'{answered}["2 + \\"2\\""]',))

    def test_an_answer_that_is_no_whole_text_is_sent_with_marks_in_it(self):
        link = self.launched()
        link.evaluate("play", json.dumps([["ask", "InputStringPacket", "name: "]]))
        self.assertEqual(link.receive().kind, "InputStringPacket")
        link.answer("a\ud800b")
        self.assertEqual(link.receive().parts, ('TextPacket["a?b"]',))

    def test_a_dialog_is_left_at_once_and_said(self):
        said = self.played(self.launched(), ["ask", "BeginDialogPacket", 1], ["send", "EndDialogPacket", 1])
        self.assertEqual(said[0].kind, "TextPacket")
        self.assertIn("Dialog", said[0].parts[0])
        self.assertEqual(said[1:], [("ReturnPacket", ('EnterTextPacket["Return[]"]',))])

    def test_a_packet_that_comes_after_the_return_is_the_next(self):
        link = self.launched()
        self.played(link, ["late", 0.05, "TextPacket", "late"])
        self.assertEqual(link.receive(), ("TextPacket", ("late",)))
        self.assertEqual(self.played(link), [("ReturnPacket", ("Null",))])

    def test_more_packets_than_are_read_ahead_come_all(self):
        said = self.played(self.launched(), *(["send", "TextPacket", str(n)] for n in range(1000)))
        self.assertEqual([packet.parts[0] for packet in said[:-1]], [str(n) for n in range(1000)])

    def test_a_text_of_10_mb_goes_both_ways(self):
        link = self.launched()
        text = "ä\\\"]\x00" * 2_000_000
        link.evaluate("echo", text)
        self.assertTrue(link.receive().parts == (text,))

    def test_an_error_that_can_be_cleared_costs_the_packet_alone(self):
        said = self.played(self.launched(), ["spoil", 3, "TextPacket", "spoilt"], ["send", "TextPacket", "whole"])
        self.assertEqual(said, [("TextPacket", ()), ("TextPacket", ("whole",)), ("ReturnPacket", ("Null",))])


class Hostile(WstpTest):
    def texts(self):
        pieces = [
            *'"\\[](){}`$#%@;,\n\r\t\x00\x01\x07\x1b\x7f',
            *("\\[Alpha]", "\\[", "\\:0022", "\\n", "\\\"", '"]; Quit[]; f["', "(*", "*)", "\ud800", "\udfff"),
            *("\ue000", "\U0001f6e0", "é", "∞", "\ufeff", "\u2028", "x", "1+1", "EvaluatePacket["),
            *("\r\n", "<<", ">>", "/;", "''"),
        ]
        chance = random.Random(17)
        yield from ("", '"', "\\", "\x00", "\ud800", "]", "\\" * 10_001)
        yield "".join(pieces) * 100_000
        for _ in range(992):
            yield "".join(chance.choices(pieces, k=chance.randrange(1, 40)))

    def test_each_of_1000_texts_is_one_call_with_that_text_and_nothing_else(self):
        link = self.launched()
        for count, text in enumerate(self.texts(), 1):
            link.evaluate("echo", text)
            returned = link.receive()
            # A surrogate alone is no text that could be sent.
            given = re.sub("[\ud800-\udfff]", "?", text)
            self.assertTrue(returned == ("ReturnPacket", (given,)), ascii(text)[:200])
            self.assertIs(type(returned.parts[0]), str)
        self.assertEqual(count, 1000)
        seen = self.counted(link)
        self.assertEqual((seen["calls"], seen["strange"]), (1001, []))


class Stopping(WstpTest):
    def test_an_abort_from_another_thread_ends_what_runs(self):
        link = self.launched()
        threading.Timer(0.1, link.abort).start()
        # One that were not ended would last longer than a link of a test may.
        [packet] = self.played(link, ["pause", 600])
        self.assertEqual(packet, ("ReturnPacket", ("$Aborted",)))
        self.assertIsInstance(packet.parts[0], Name)

    def test_an_abort_goes_after_the_call_that_it_is_for(self):
        link = self.launched()
        for _ in range(50):
            link.evaluate("play", json.dumps([["pause", 60]]))
            link.abort()
            self.assertEqual(link.receive(), ("ReturnPacket", ("$Aborted",)))

    def test_an_abort_that_comes_too_late_stops_nothing_else(self):
        link = self.launched()
        self.assertEqual(self.played(link, ["return", 1]), [("ReturnPacket", (1,))])
        link.abort()
        self.assertEqual(self.played(link, ["pause", 0.1], ["return", 2]), [("ReturnPacket", (2,))])
        threading.Timer(0.05, link.abort).start()
        self.assertEqual(self.played(link, ["last", 0.3], ["return", 3]), [("ReturnPacket", (3,))])

    def test_an_abort_ends_a_question(self):
        link = self.launched()
        link.evaluate("play", json.dumps([["ask", "InputPacket", "? "]]))
        self.assertEqual(link.receive().kind, "InputPacket")
        link.abort()
        self.assertEqual(link.receive(), ("ReturnPacket", ("$Aborted",)))

    def test_aborts_of_many_threads_meet_no_call_of_the_library(self):
        # The library of the tests ends the process where two threads are in it.
        link = self.launched()
        link.evaluate("play", json.dumps([["send", "TextPacket", str(n)] for n in range(2000)]))

        def hammer():
            for _ in range(100):
                link.abort()

        threads = [threading.Thread(target=hammer) for _ in range(4)]
        for thread in threads:
            thread.start()
        self.assertEqual(len(self.heard(link)), 2001)
        for thread in threads:
            thread.join()
        self.assertEqual(self.played(link, ["return", 1]), [("ReturnPacket", (1,))])

    def test_what_is_raised_in_the_thread_ends_the_wait(self):
        link = self.launched()
        link.evaluate("play", json.dumps([["ask", "InputPacket", "? "]]))
        self.assertEqual(link.receive().kind, "InputPacket")
        # Nothing comes before it is answered: only what is raised can end the wait.
        with self.assertRaises(Stop):
            raise_in(threading.get_ident(), after=0.1)
            link.receive()
        link.answer("later")
        self.assertEqual(link.receive(), ("ReturnPacket", ('EnterTextPacket["later"]',)))

    def test_what_is_raised_in_the_thread_loses_no_packet(self):
        link = self.launched()
        steps = [step for n in range(400) for step in (["send", "TextPacket", str(n)], ["last", 0.001])]
        link.evaluate("play", json.dumps(steps))
        seen, stopped, done = [], [], threading.Event()

        def collect():
            while True:
                try:
                    while not seen or seen[-1].kind != "ReturnPacket":
                        seen.append(link.receive())
                    done.set()
                    return
                except Stop:
                    stopped.append(1)

        collecting = threading.Thread(target=collect, daemon=True)
        collecting.start()
        chance = random.Random(17)
        until = time.monotonic() + 60
        while time.monotonic() < until and not done.wait(0.002 + chance.random() / 1000):
            before = len(stopped)
            throw(collecting.ident)
            while time.monotonic() < until and len(stopped) == before and not done.wait(0.0005):
                pass
        self.assertTrue(done.is_set(), f"{len(seen)} packets, and no end")
        self.assertEqual([packet.parts[0] for packet in seen], [*map(str, range(400)), "Null"])
        self.assertGreater(len(stopped), 20)


class Losing(WstpTest):
    def test_a_kernel_that_dies_in_the_middle_of_an_answer_is_lost_after_what_it_has_said(self):
        link = self.launched()
        link.evaluate("play", json.dumps([["send", "TextPacket", "last words"], ["die", "ReturnPacket"]]))
        self.assertEqual(link.receive(), ("TextPacket", ("last words",)))
        said = self.lost(link.receive)
        self.assertIn("lost: the other side has closed the link (error 11)", said)
        self.assertEqual(self.lost(lambda: link.evaluate("echo", "")), said)
        self.assertEqual(self.lost(link.abort), said)
        link.close()

    def test_an_error_that_cannot_be_cleared_loses_the_link(self):
        link = self.launched()
        link.evaluate("play", json.dumps([["spoil", 11, "TextPacket", "spoilt"]]))
        self.assertIn("error 11", self.lost(link.receive))

    def test_closing_ends_a_kernel_that_was_launched_and_whoever_waits(self):
        link = self.launched()
        process = self.counted(link)["process"]
        link.evaluate("play", json.dumps([["last", 60]]))
        threading.Timer(0.1, link.close).start()
        self.assertIn("was closed", self.lost(link.receive))
        link.close()
        with self.assertRaises(ProcessLookupError):
            os.kill(process, 0)

    def test_closing_lets_go_of_a_kernel_of_a_server_and_it_can_be_joined_again(self):
        server = kernel_player.Server()
        serving = threading.Thread(target=server.run, daemon=True)
        serving.start()
        self.addCleanup(server.close)
        for turn in (1, 2, 3):
            link = WstpLink.connect(self.library, f"localhost:{server.port}")
            self.opened(link)
            link.evaluate("count", "")
            packet = link.receive()
            if packet.kind == "InputNamePacket":
                self.assertEqual(turn, 1)
                packet = link.receive()
            self.assertEqual(json.loads(packet.parts[0])["calls"], turn)
            link.close()

    def test_an_abort_that_is_left_to_send_is_sent_before_the_link_closes(self):
        server = kernel_player.Server()
        threading.Thread(target=server.run, daemon=True).start()
        self.addCleanup(server.close)
        with self.library_is("slow"):
            first = WstpLink.connect(self.library, f"localhost:{server.port}")
            self.opened(first)
        first.evaluate("play", json.dumps([["send", "TextPacket", "begun"], ["pause", 600]]))
        while first.receive().kind != "TextPacket":
            pass
        first.abort()
        first.close()
        # The server takes the next client once its kernel is free.
        second = WstpLink.connect(self.library, f"localhost:{server.port}")
        self.opened(second)
        second.evaluate("echo", "free")
        self.assertEqual(second.receive(), ("ReturnPacket", ("free",)))

    def test_a_slow_library_holds_up_no_other_thread(self):
        with self.library_is("slow"):
            link = self.launched()
        link.evaluate("echo", "slow")
        heard = []
        hearing = threading.Thread(target=lambda: heard.append(link.receive()))
        begun, turns = time.monotonic(), 0
        hearing.start()
        while hearing.is_alive():
            time.sleep(0.001)
            turns += 1
        self.assertEqual(heard, [("ReturnPacket", ("slow",))])
        # A call takes 50 ms: were others held up by it, they had one turn in each.
        self.assertGreater(turns, 4 * (time.monotonic() - begun) / 0.05)


class Stop(Exception):
    """Raised in a thread by another one."""


def throw(ident):
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(Stop))


def raise_in(ident, after):
    threading.Timer(after, throw, (ident,)).start()
