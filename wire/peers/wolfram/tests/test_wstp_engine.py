"""The engine over a link that plays a kernel from a script: what comes late, wrong, or not at all; and what it sends."""

import json
import os
import random
import threading
import unittest
from collections import deque
from unittest import mock

from imago_wolfram.brackets import closed_lines, incomplete, without_comments
from imago_wolfram.engine import Aborted, Failed, KernelLost, Piece, Quit
from imago_wolfram.link import LinkLost, Name, Packet
from imago_wolfram.wstp_engine import Busy, Stopped, Value, WstpEngine
from imago_wolfram.wstp_source import WstpSource
from tests.doubles import RecordingListener

LONG = os.environ.get("IMAGO_TEST_LONG") == "1"
THREE = {"data": ["i", "3"], "whole": True, "length": 0}
DONE = {"status": "done", "root": 1, "line": 1, "value": THREE, "output": "3", "place": ["Global`", ["System`"]]}


class Scripted:
    """`Link`. Each step is a packet, what is raised, or a function of the link; `answer` stands for the answer."""

    launches = False

    def __init__(self, *steps):
        self.steps = deque(steps)
        self.number = 0
        self.aborts = 0
        self.answers = []

    def evaluate(self, function, text):
        request = json.loads(text)
        self.number = request["id"]
        if request["call"] == "settle":
            self.steps.appendleft(self.returned({}))

    def returned(self, answer, number=None):
        return Packet("ReturnPacket", (json.dumps({"id": number or self.number, "answer": answer}),))

    def answer(self, text):
        self.answers.append(text)

    def abort(self):
        self.aborts += 1

    def receive(self):
        step = self.steps.popleft()
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, dict):
            return self.returned(step)
        return step(self) if callable(step) and not isinstance(step, Packet) else step


class Late(Scripted):
    """A kernel that has finished whenever it is aborted: the abort hits what it evaluates next."""

    def evaluate(self, function, text):
        super().evaluate(function, text)
        if self.aborts:
            self.aborts = 0
            self.steps[0] = ABORTED


ABORTED = Packet("ReturnPacket", (Name("$Aborted"),))


def text_packet(text):
    return Packet("TextPacket", (text,))


class Engine(unittest.TestCase):
    def engine(self, *steps):
        self.link, self.heard = Scripted(*steps), RecordingListener(lambda prompt: "to " + prompt)
        engine = WstpEngine(self.link)
        engine._listener = self.heard
        engine.source = WstpSource(engine._look, ["System`", "Global`"], ("Global`", ("System`",)))
        return engine

    def evaluate(self, *steps, text="1+2"):
        self.it = self.engine(*steps)
        value = self.it.evaluate(Piece(text, text, 1))
        return None if value is None else value.data.value

    def test_prints_and_messages_are_told_apart(self):
        message = Packet("MessagePacket", (Name("System`Power"), "infy"))
        said = text_packet("a\n"), message, text_packet("Power::infy: Infinite.\n"), text_packet("b\n")
        self.assertEqual(self.evaluate(*said, DONE), 3)
        self.assertEqual(self.heard.said, ["a\n", ("Power::infy", "Infinite."), "b\n"])
        # As the fraction of 1/0 comes.
        of_lines = (
            "                                 1\nPower::infy: Infinite expression - encountered.\n"
            "                                 0\n"
        )
        self.assertEqual(self.evaluate(message, text_packet(of_lines), DONE), 3)
        [(name, text)] = self.heard.said
        told = "\n                    1\nInfinite expression - encountered.\n                    0"
        self.assertEqual((name, text), ("Power::infy", told))

    def test_a_question_is_answered_by_who_asked(self):
        self.assertEqual(self.evaluate(Packet("InputStringPacket", ("x? ",)), DONE), 3)
        self.assertEqual(self.link.answers, ["to x? "])

    def test_a_stop_aborts_the_kernel_and_waits_for_its_answer(self):
        with self.assertRaises(Aborted):
            self.evaluate(Stopped(), Stopped(), {"status": "aborted"})
        self.assertEqual(self.link.aborts, 2)
        with self.assertRaises(Aborted):
            self.evaluate(Stopped(), ABORTED)

    def test_an_abort_that_came_too_late_does_not_hit_the_next_request(self):
        engine = self.engine(Stopped(), DONE)
        late = engine._link = Late(*self.link.steps)
        with self.assertRaises(Aborted):
            engine.evaluate(Piece("1", "1", 1))
        late.steps.append(DONE)
        self.assertEqual(engine.evaluate(Piece("2", "2", 1)).data.value, 3)

    def test_the_late_answer_of_an_older_request_is_not_taken(self):
        engine = self.engine(SystemExit())
        with self.assertRaises(SystemExit):
            engine.evaluate(Piece("1", "1", 1))
        self.link.steps.extend([text_packet("old"), ABORTED, text_packet("new"), DONE])
        self.assertEqual(engine.evaluate(Piece("2", "2", 1)).data.value, 3)
        self.assertEqual(self.heard.said, ["new"])

    def test_a_lost_link_is_told_and_is_in_order_where_the_text_quits(self):
        with self.assertRaises(KernelLost):
            self.evaluate(text_packet("a"), LinkLost("it died"))
        self.assertTrue(self.it.is_lost)
        with self.assertRaises(Quit):
            self.evaluate(LinkLost("it died"), text="Quit[]")
        with self.assertRaises(KernelLost):
            self.evaluate(LinkLost("it died"), text="f[(* Quit *)]")

    def test_what_is_no_answer_is_a_failure(self):
        for part in ("{", "[]", '{"id": 1}', "null", None, 5, "[" * 100_000):
            with self.assertRaises(Failed):
                self.evaluate(Packet("ReturnPacket", (part,)))
        with self.assertRaises(Failed):
            self.evaluate({**DONE, "value": {"data": {"x": 1}, "whole": True, "length": 0}})

    def test_a_look_while_the_kernel_evaluates_is_busy(self):
        seen = []

        def look(link):
            def beside():
                try:
                    self.it.source.names()
                except Busy:
                    seen.append("busy")

            self.it = engine
            thread = threading.Thread(target=beside)
            thread.start()
            thread.join(10)
            return link.returned(DONE)

        engine = self.engine(look)
        engine.evaluate(Piece("1", "1", 1))
        self.assertEqual(seen, ["busy"])

    def test_a_line_ends_an_expression_only_where_no_bracket_is_open(self):
        text = 'f[\n1,\n{"]\n"}]\ng\n<|a\n|>; "(" h[")"]\nx] y\n(z\n'
        self.assertEqual(closed_lines(text), [4, 5, 7, 8, 10])

    def test_comments_make_room_for_blanks(self):
        self.assertEqual(without_comments('a(* (* x *)\n *)b "(* s *)"'), 'a              b "(* s *)"')
        self.assertEqual(without_comments("a (* open"), "a (* open")

    def test_what_is_incomplete_is_shown_where_it_is_left_open(self):
        for text, said, line, column in (
            ("q[x_ := 2\nr = 3\n", '"[" is not closed', 1, 2),
            ('f[{1, (* } *)\n "}"], <|a\n', '"<|" is not closed', 2, 8),
            ('a;\n b "s\n', "the string is not closed", 2, 4),
            ("a; (* b *)\n(* c (* d *)\n[", "the comment is not closed", 2, 1),
            ("a = (* b *)\n\n", "more input is needed", 1, None),
        ):
            misread = incomplete("x\n" + text, 2)
            told = misread.message, misread.line, misread.column, misread.source
            self.assertEqual(told, ("It is incomplete: %s." % said, line + 1, column, text.split("\n")[line - 1]))


#: What hostile texts are made of.
PIECES = [*map(chr, range(0x180)), "\u202e", "\ud800", "\ufeff", "\uf8ff", "\U0001d538", '"]', "\\[Alpha]", "Quit[]"]
PIECES += ["(*", "*)", "\\", "\\\\", '\\"', "`", "$Line", "\r\n", "<*1*>", "\\!\\(", "\\u0041", "x" * 300]


def hostile(count, pieces=PIECES):
    """So many texts, drawn by lot."""
    lot = random.Random(1)
    return ["".join(lot.choices(pieces, k=lot.randrange(0, 9))) for _ in range(count)]


class Recorded:
    """`Link`. It keeps what is sent, and says that nothing was found."""

    ANSWERS = {
        "read": {"pieces": []},
        "evaluate": {"status": "done", "null": True},
        "exist": {"exist": [False]},
        "defined": {"defined": [False]},
        "parse": {"data": "Global`x", "whole": True, "length": 0},
        "go": {"place": ["Global`", ["System`"]]},
        "definition": {"missing": True},
        "stored": {"gone": True},
        "look": {"gone": True},
    }

    def __init__(self):
        self.sent = []

    def evaluate(self, function, text):
        self.sent.append((function, text))

    def receive(self):
        request = json.loads(self.sent[-1][1])
        return Packet("ReturnPacket", (json.dumps({"id": request["id"], "answer": self.ANSWERS[request["call"]]}),))


#: Where a request has a text: its name and the parameter, and what of the engine sends it.
TEXTS = {
    ("read", "text"): lambda engine, text: engine.pieces(text),
    ("parse", "text"): lambda engine, text: engine.parsed(text),
    ("evaluate", "text"): lambda engine, text: engine.evaluate(Piece(text, text, 1)),
    ("stored", "name"): lambda engine, text: engine.stored(text),
    ("look", "root"): lambda engine, text: engine.looked(Value(text, (1,), None, False, 9), 0, 9),
    ("definition", "name"): lambda engine, text: engine.source.definition(text),
    ("defined", "names"): lambda engine, text: engine.source.defined([text]),
    ("exist", "names"): lambda engine, text: engine.source.exists(text),
    ("go", "context"): lambda engine, text: engine.enter((text, ())),
    ("go", "path"): lambda engine, text: engine.enter(("Global`", (text,))),
}


class Hostile(unittest.TestCase):
    def test_each_of_thousands_of_texts_in_every_parameter_is_one_call_with_that_text(self):
        texts, link = hostile(10_000 if LONG else 2_000), Recorded()
        engine = WstpEngine(link)
        engine._listener = RecordingListener()
        engine.source = WstpSource(engine._look, ["System`"], ("Global`", ("System`",)))
        # What is no name is not even asked for; here it is.
        with mock.patch("imago_wolfram.wstp_source.is_name", return_value=True):
            for (call, key), send in TEXTS.items():
                for text in texts:
                    engine.source.forget()
                    link.sent.clear()
                    send(engine, text)
                    [(function, sent)] = link.sent
                    request = json.loads(sent)
                    given = without_comments(text) if call == "read" else text
                    where = call, key, text
                    self.assertEqual((function, request["call"]), ("Imago`call", call), where)
                    self.assertIn(request[key], (given, [given]), where)
                    # No character of it is one that a string of Wolfram Language might not carry.
                    self.assertTrue(sent.isascii() and sent.isprintable(), where)


if __name__ == "__main__":
    unittest.main()
