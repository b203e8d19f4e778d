"""Locals of functions that threads and tasks are in at this moment."""

import asyncio
import sys
import threading
import unittest

from tests.looking_image import ImageCase


HAS_WHOLE_NAMES = sys.version_info >= (3, 11)


class Opaque:
    def __getattr__(self, name):
        raise AssertionError("was asked")


class LiveFrames(ImageCase):
    def setUp(self):
        super().setUp()
        self.go_on = threading.Event()
        self.threads = []
        self.addCleanup(self.end)

    def end(self):
        self.go_on.set()
        for thread in self.threads:
            thread.join()

    def begin(self, name, work):
        """A thread that is in `work(reached)` once this returns."""
        reached = threading.Event()
        self.threads.append(threading.Thread(target=work, args=(reached,), name=name))
        self.threads[-1].start()
        reached.wait()

    def train(self, reached):
        losses, net = [0.5, 0.25, 0.125], Opaque()
        reached.set()
        self.go_on.wait()
        return losses, net

    def inspect(self, expr, frame=None):
        return self.ask("inspect", expr=expr, **({} if frame is None else {"frame": frame}))

    def test_a_local_is_read_in_the_frame_that_is_named_and_said_to_be_one(self):
        self.begin("trainer", self.train)
        whole = ["LiveFrames.train in trainer"] if HAS_WHOLE_NAMES else []
        for frame in ("train", "train in trainer", *whole):
            found = self.inspect("losses[-2:]", frame)["value"]
            self.assertEqual("[0.25, 0.125]", found["repr"]["text"])
            self.assertRegex(found["note"], r"^`losses` is a local of train in trainer, at .*test_live_frames.py:\d+ at")
        self.assertEqual("module", self.inspect("threading", "train")["value"]["kind"])
        self.assertEqual("needs_evaluation", self.inspect("net.weight", "train")["type"])

    def test_what_is_not_found_names_the_frames_that_have_it(self):
        self.begin("trainer", self.train)
        looked = self.inspect("losses[0]")
        self.assertEqual(("not_found", ["train in trainer"]), (looked["type"], looked["frames"]))
        self.assertEqual([], self.inspect("nothing_of_test")["frames"])

    def test_of_several_stacks_one_has_to_be_named(self):
        for name in ("first", "second"):
            self.begin(name, self.train)
        looked = self.inspect("losses", "train")
        self.assertEqual("`train` as one frame: 2 threads and tasks are in it", looked["what"])
        self.assertEqual(["train in first", "train in second"], sorted(looked["nearest"]))
        self.assertEqual("found", self.inspect("losses", "train in second")["type"])
        self.assertEqual("train in first", self.inspect("losses", "tran in first")["nearest"][0])

    def test_of_a_function_that_is_in_itself_the_innermost_frame_is_meant(self):
        def down(reached, depth=3):
            if depth:
                return down(reached, depth - 1)
            reached.set()
            return self.go_on.wait()

        self.begin("recursive", down)
        self.assertEqual("0", self.inspect("depth", "down in recursive")["value"]["repr"]["text"])

    @unittest.skipUnless(HAS_WHOLE_NAMES, "code does not tell the class of its function")
    def test_a_function_is_told_from_one_of_another_class_in_the_same_stack(self):
        class Inner:
            def run(inner, reached):
                depth = 2
                reached.set()
                return self.go_on.wait(), depth

        class Outer:
            def run(outer, reached):
                depth = 1
                return Inner().run(reached), depth

        self.begin("nested", Outer().run)
        for frame, depth in (("Outer.run", "1"), ("Inner.run in nested", "2"), ("run in nested", "2")):
            self.assertEqual(depth, self.inspect("depth", frame)["value"]["repr"]["text"])

    def test_the_locals_of_a_task_that_waits_are_read(self):
        def serve(reached):
            async def handle():
                order = {"id": 7}
                reached.set()
                while not self.go_on.is_set():
                    await asyncio.sleep(0.01)
                return order

            async def main():
                await asyncio.create_task(handle(), name="request")

            asyncio.run(main())

        self.begin("server", serve)
        looked = self.inspect("order['id']", "handle in request")
        while looked["type"] == "not_found":  # It runs at this moment, and is then in the thread.
            looked = self.inspect("order['id']", "handle")
        self.assertEqual("7", looked["value"]["repr"]["text"])


if __name__ == "__main__":
    unittest.main()
