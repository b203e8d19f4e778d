"""Hostile texts in every text that the daemon sends, on Mathics3: each is answered, and none is evaluated where nothing is
to be. What is sent to a licensed kernel of such texts is in ``test_wstp_engine``; here they meet what reads and looks.
"""

import os
import random
import tempfile
import threading
import time
import unittest
from itertools import cycle
from pathlib import Path

from imago.codec import encodings
from imago_wolfram.host import Host
from imago_wolfram.mathics_engine import MathicsEngine
from tests.doubles import Served

LONG = os.environ.get("IMAGO_TEST_LONG") == "1"
TEXTS = 10_000 if LONG else 1_000
#: Of the processor.
SECONDS = 100 if LONG else 10
FRAGMENTS = (
    *("Quit[]", "Run[\"false\"]", "trip", "trip[]", "x/;trip", "Print[trip]", "ToExpression[\"trip\"]", "##&@@{trip}"),
    *("Evaluate[trip]", "(trip)", "trip;", "{trip}", "trip::usage", "trip`", "`trip", "Global`trip", "a`b`", "`", "``"),
    *('"', "\\", "\\[", "\\[Alpha]", "\\[Nope]", "\\:0041", "\\.41", "\\|01f600", "\\n", "(*", "*)", "]", "[", "{", "}"),
    *("[[", "]]", "<|", "|>", "<<", ">>", "%", "%%", "%5", "@", "@@", "@1234.1", "#", "&", "_", "__", "?", "*", "**"),
    *(";;", "/.", ":=", "=.", "^:=", "::", "//", "\n", "\r", "\t", "\0", "\x1b[31m", "\x7f", "\u200b", "\u202e", "\ufeff"),
    *("\u2028", "\u00a0", "\uf74d", "\ud800", "é", "λ", "名", "😀", "$", "0", "16^^ff", "1.5*^-7", " ", "'", "a" * 3000),
    *("2^^12", "<<a\\", ";;\\[Rule]", "\\(", "\\)", "\\*", "1.*^99999999"),
    *("-->", "```", "](x)", "</script>", "{\"type\": \"found\"}", "../../etc/passwd", "Sin", "System`", "In[1]"),
)

#: For each method its parameters, with where the text goes; whatever else it takes is harmless.
LOOKS = {
    "inspect": [{"expr": str}],
    "globals": [
        {"modules": True, "limit": 5, "module": str},
        {"modules": True, "limit": 5, "after": str},
        {"modules": True, "limit": 5, "filter": str},
    ],
    "more": [{"handle": str, "from": 0, "count": 5}],
    "definition": [{"name": str, "max_length": 50}, {"name": str, "max_length": 1, "contexts": True, "include": ["json"]}],
    "describe": [{"name": str}],
    "arglist": [{"name": str}],
    "complete": [{"text": str, "cursor": 10**6, "limit": 5}, {"text": str, "cursor": 3, "limit": 5}],
    "apropos": [
        {"pattern": str, "limit": 5},
        {"pattern": "a", "module": str, "limit": 5},
        {"pattern": "a", "after": str, "limit": 5},
    ],
    "symbols": [
        {"module": str, "internal": True, "limit": 5},
        {"module": "Global`", "internal": False, "filter": str, "limit": 5},
        {"module": "Global`", "internal": False, "after": str, "limit": 5},
    ],
    "references": [{"name": str, "limit": 5}],
}
LOOKED = {"found", "not_found", "malformed", "needs_evaluation", "stale_handle", "raised", "timed_out"}
EVALUATED = {"done", "raised", "left", "refused", "not_found", "malformed"}


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ended = threading.Event()
        cls.kernel = Host(cls.ended.set, MathicsEngine())
        threading.Thread(target=cls.kernel.evaluator.run, daemon=True).start()
        cls.kernel.evaluator.is_loaded.wait(60)
        cls.calls = iter(range(10**9))
        cls.source = cls.kernel.engine.source
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.kernel.close)

    def ask(self, method, params):
        served = Served()
        self.kernel.serve(served, method, {"deadline_ms": 20_000, **params})
        self.assertTrue(served.answered.wait(30), (method, params))
        # As far as the link would carry it.
        encodings()["json"].encode(served.answer)
        return served.answer

    def evaluate(self, **params):
        return self.ask("evaluate", {"call": str(next(self.calls)), "who": "test", **params})

    def value(self, source):
        return self.evaluate(source=source)["values"][0]["repr"]["text"]

    def setUp(self):
        self.evaluate(source="Clear[trip]; Format[trip] := (fired = fired + 1; x); trip := (fired = fired + 1); fired = 0")

    def test_hostile_texts_in_all_texts_of_the_looks_evaluate_nothing_and_make_no_symbol(self):
        drawn = random.Random(17)
        before, begun = set(self.source.names()), time.process_time()
        ways = [(method, params) for method, all_of in LOOKS.items() for params in all_of]
        for _, (method, params) in zip(range(TEXTS), cycle(ways)):
            text = hostile(drawn)
            answer = self.ask(method, {key: text if value is str else value for key, value in params.items()})
            with self.subTest(method, text=text[:200]):
                self.assertIn(answer.get("type"), LOOKED, answer)
                self.assertNotEqual(answer["type"], "timed_out")
                said = [answer.get(key) or "" for key in ("message", "because", "page")]
                self.assertEqual([one for one in "".join(said) if not one.isprintable() and one != "\n"], [], said)
        self.assertLess(time.process_time() - begun, SECONDS)
        self.assertEqual(set(self.source.names()) - before, set())
        self.assertEqual(self.value("fired"), "0")
        self.assertFalse(self.ended.is_set())

    def test_texts_in_what_is_loaded_are_names_and_files_and_run_nothing(self):
        drawn = random.Random(18)
        file = Path(self.folder.name, "one.wl")
        file.write_text("one = 1\n")
        for _ in range(300):
            text = hostile(drawn)
            for params in ({"load": text}, {"load": str(file), "names": [text]}):
                with self.subTest(**params):
                    self.assertIn(self.evaluate(**params)["type"], EVALUATED)
        self.assertEqual(self.value("fired"), "0")

    def test_texts_that_are_evaluated_or_loaded_are_answered_and_the_kernel_goes_on(self):
        drawn = random.Random(19)
        file = Path(self.folder.name, "two.wl")
        for turn in range(300):
            # These end the process, as they are to; and what is set is no longer the same session.
            text = hostile(drawn).replace("Quit", "Wait").replace("Run[", "Walk[")
            if turn % 2:
                file.write_bytes(text.encode("utf-8", "surrogatepass"))
            with self.subTest(text=text[:200]):
                answer = self.evaluate(load=str(file)) if turn % 2 else self.evaluate(source=text)
                self.assertIn(answer["type"], EVALUATED, answer)
                if answer["type"] == "raised":
                    # Not by the host: it names no error of Python.
                    self.assertEqual(answer["exception"]["type"]["module"], "System`", answer)
        self.assertEqual(self.value("1 + 1"), "2")
        self.assertFalse(self.ended.is_set())


def hostile(drawn):
    return "".join(drawn.choice(FRAGMENTS) for _ in range(drawn.randint(0, 6)))
