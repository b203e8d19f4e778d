"""The looks about names, asked of a real process over the link."""

import os
import shutil
import tempfile
import unittest

from tests.daemon import KernelCase

SHOP = 'def checkout(order, *, fast=False):\n    """Pays."""\n    return order\n'


class Names(KernelCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp(prefix="imago-names-")
        cls.file = os.path.join(cls.folder, "bakery.py")
        with open(cls.file, "w", encoding="utf-8") as file:
            file.write(SHOP)
        cls.link.evaluate(f"import sys; sys.path.insert(0, {cls.folder!r}); import bakery")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)
        super().tearDownClass()

    def look(self, method, **query):
        answer = self.link.call(method, deadline_ms=10_000, **query).answer()
        self.assertEqual("found", answer["type"], answer)
        return answer["value"]

    def test_a_definition_of_a_file_and_one_that_was_typed(self):
        value = self.look("definition", name="bakery.checkout", max_length=1000)
        self.assertEqual((SHOP.rstrip(), self.file, True), (value["source"]["text"], value["file"], value["current"]))
        self.link.evaluate("def typed():\n    return 1")
        value = self.look("definition", name="typed", max_length=1000, contexts=True)
        self.assertEqual(("def typed():\n    return 1", "typed"), (value["source"]["text"], value["origin"]))
        self.assertEqual({}, value["contexts"])

    def test_the_other_looks_answer_too(self):
        self.assertEqual("Pays.", self.look("describe", name="bakery.checkout")["doc"]["text"])
        self.assertEqual("(order, *, fast=False)", self.look("arglist", name="bakery.checkout")["signature"])
        code = "bakery.checkout(1, fa"
        value = self.look("complete", text=code, cursor=len(code), limit=10)
        self.assertEqual("fast=", value["completions"][0]["text"])
        matches = self.look("apropos", pattern="CHECKOUT", limit=10)["matches"]
        self.assertEqual(["bakery.checkout"], [one["name"] for one in matches])
        listed = self.look("symbols", module="bakery", internal=False, limit=10)["symbols"]
        self.assertEqual(["checkout"], [one["name"] for one in listed])
        page = self.look("globals", module="bakery", modules=False, limit=10)
        self.assertIn("checkout", [one["name"] for one in page["globals"]])

    def test_looking_works_while_an_evaluation_runs(self):
        running = self.link.start("import time\nprint('on', flush=True)\nwhile not globals().get('go'): time.sleep(0.01)")
        running.until_printed("on")
        self.assertEqual("bakery.checkout", self.look("describe", name="bakery.checkout")["qualified"])
        self.link.call("interrupt", call=running.name).answer()
        running.answer()


if __name__ == "__main__":
    unittest.main()
