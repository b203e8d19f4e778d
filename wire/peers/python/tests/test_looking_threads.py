"""Stacks of threads: where they stand, what they wait for, and that looking disturbs nothing."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
import unittest

from imago import native
from imago.looking.threads import threads
from tests.daemon import Kernel, KernelCase, until
from tests.looking_support import FIRED, hook, make


def look(**query):
    looked = threads(None, {"limit": 100, "frames": 30, "locals": True, **query})
    json.dumps(looked, ensure_ascii=False, allow_nan=False).encode("utf-8")
    return looked["value"]


def named(stacks, name):
    """The one stack that has a name."""
    (found,) = [stack for stack in stacks if name in stack["names"]]
    return found


@contextlib.contextmanager
def standing(name, work, count=1):
    """Threads that run `work(free)`, all of them inside of it; they are expected to end once `free` is set."""
    free = threading.Event()
    started = [threading.Thread(target=work, args=(free,), name=f"{name}-{at + 1}") for at in range(count)]
    for thread in started:
        thread.start()
    try:
        yield started
    finally:
        free.set()
        for thread in started:
            thread.join()


def waiting(name, work, wanted):
    """The stack of a thread that runs `work`, once it waits for what is wanted."""
    with standing(name, work):
        seen = []

        def is_there():
            seen[:] = [named(look()["threads"], f"{name}-1")]
            return seen[0]["state"] == "waiting" and seen[0]["waits_for"] == wanted

        try:
            until(is_there)
        except AssertionError:
            raise AssertionError(seen) from None
        return seen[0]


class Threads(unittest.TestCase):
    def test_a_stack_has_its_frames_innermost_last_with_file_line_source_and_locals(self):
        def inner(free, number):
            free.wait()  # here

        def work(free):
            inner(free, 7)

        stack = waiting("framed", work, "threading.Event.wait")
        frame = [one for one in stack["frames"] if one["function"].rpartition(".")[2] == "inner"][0]
        self.assertEqual((__file__, "free.wait()  # here"), (frame["file"], frame["source"]))
        self.assertIn({"name": "number", "type_name": "int", "repr": "7"}, frame["locals"])
        self.assertTrue(stack["frames"][-1]["function"].endswith("wait"))
        self.assertEqual(("user", 1, 0), (stack["role"], stack["count"], stack["frames_omitted"]))

    def test_what_a_thread_waits_for_is_told(self):
        lock, reentrant, items = threading.Lock(), threading.RLock(), queue.Queue()

        def of_lock(free):
            with lock:
                pass

        def of_reentrant(free):
            with reentrant:
                pass

        def of_sleep(free):
            while not free.is_set():
                time.sleep(0.5)

        with lock:
            waiting_lock = threading.Thread(target=of_lock, args=(None,), name="locked-1")
            waiting_lock.start()
            until(lambda: named(look()["threads"], "locked-1")["waits_for"] == "a lock")
        waiting_lock.join()
        with reentrant:
            owned = threading.Thread(target=of_reentrant, args=(None,), name="owned-1")
            owned.start()
            wanted = f"a reentrant lock that {threading.main_thread().name} holds"
            until(lambda: named(look()["threads"], "owned-1")["waits_for"] == wanted)
        owned.join()
        with standing("other", lambda free: free.wait()) as (other,):
            joining = threading.Thread(target=other.join, name="joining-1")
            joining.start()
            until(lambda: named(look()["threads"], "joining-1")["waits_for"] == "the end of other-1")
        joining.join()
        waiting("sleeping", of_sleep, "time.sleep")
        getter = threading.Thread(target=items.get, name="getting-1")
        getter.start()
        until(lambda: named(look()["threads"], "getting-1")["waits_for"] == "queue.Queue.get")
        items.put(None)
        getter.join()

    def test_a_busy_thread_is_running(self):
        def work(free):
            while not free.is_set():
                pass

        with standing("busy", work):
            stack = named(look()["threads"], "busy-1")
        self.assertEqual(("running", None), (stack["state"], stack["waits_for"]))

    def test_stacks_at_the_same_lines_are_told_once(self):
        with standing("pool", lambda free: free.wait(), count=30):
            until(lambda: len(look(filter="pool-")["threads"]) == 1)
            seen = look(filter="pool-")
        stack = seen["threads"][0]
        self.assertEqual((30, 8, 30), (stack["count"], len(stack["names"]), seen["threads_total"]))
        self.assertEqual(["pool-1", "pool-2", "pool-3"], stack["names"][:3])

    def test_a_filter_is_for_names_functions_and_files(self):
        def needle(free):
            free.wait()

        with standing("haystack", needle):
            until(lambda: look(filter="haystack-1")["threads_total"] == 1)
            for wanted in ("HAYSTACK", "needle", "test_looking_threads"):
                self.assertIn("haystack-1", sum((one["names"] for one in look(filter=wanted)["threads"]), []), wanted)
            self.assertEqual(([], 0), (look(filter="no such thing")["threads"], look(filter="no such")["tasks_total"]))

    def test_limits_of_stacks_frames_and_locals_are_kept(self):
        def deep(free, left):
            many = {f"v{at}": at for at in range(50)}
            free.wait() if not left else (lambda: deep(free, left - 1))()
            return many

        with standing("deep", lambda free: deep(free, 100)), standing("other", lambda free: free.wait()):
            until(lambda: named(look()["threads"], "deep-1")["waits_for"] is not None)
            seen = look(filter="deep", frames=10)["threads"][0]
            self.assertEqual(10, len(seen["frames"]))
            self.assertGreater(seen["frames_omitted"], 90)
            self.assertTrue(seen["frames"][-1]["function"].endswith("wait"))
            whole = look(limit=1)
            self.assertEqual(1, len(whole["threads"]))
            self.assertGreaterEqual(whole["omitted"], 2)
            bare = look(filter="deep", locals=False)["threads"][0]
            self.assertEqual([], sum((frame["locals"] for frame in bare["frames"]), []))

    def test_frames_in_a_row_at_one_line_are_told_once_with_their_number_and_the_innermost_locals(self):
        def down(free, left):
            if left:
                down(free, left - 1)
            else:
                free.wait()

        with standing("recursive", lambda free: down(free, 300)):
            until(lambda: named(look()["threads"], "recursive-1")["waits_for"] is not None)
            stack = named(look(filter="recursive", frames=24)["threads"], "recursive-1")
        run, last = [frame for frame in stack["frames"] if frame["function"].endswith("down")]
        self.assertEqual((300, 0), (run["repeated"], stack["frames_omitted"]))
        self.assertEqual(["1", "0"], [one["repr"] for one in run["locals"] + last["locals"] if one["name"] == "left"])
        self.assertNotIn("repeated", last)

    def test_frames_of_a_run_that_is_left_out_are_all_counted(self):
        def even(free, left):
            odd(free, left) if left % 9 else even(free, left - 1)

        def odd(free, left):
            even(free, left - 1) if left > 1 else free.wait()

        with standing("mixed", lambda free: even(free, 60)):
            until(lambda: named(look()["threads"], "mixed-1")["waits_for"] is not None)
            whole = named(look(filter="mixed", frames=200)["threads"], "mixed-1")["frames"]
            seen = look(filter="mixed", frames=18)
        stack = seen["threads"][0]
        count = sum(frame.get("repeated", 1) for frame in stack["frames"])
        self.assertEqual(sum(frame.get("repeated", 1) for frame in whole), count + stack["frames_omitted"])
        self.assertIn("Locals are shown of the innermost 8 frames", seen["notes"][-1])

    def test_threads_of_imago_are_told_and_not_counted(self):
        free = native.Event()
        native.start(free.wait, "imago-test")
        try:
            until(lambda: any("imago-test" in one["names"] for one in look()["threads"]))
            seen = look()
            self.assertEqual("imago", named(seen["threads"], "imago-test")["role"])
            program = [one["count"] for one in seen["threads"] if one["role"] != "imago"]
            self.assertEqual(sum(program), seen["threads_total"])
        finally:
            free.set()

    def test_no_code_of_a_thread_or_of_its_locals_is_run(self):
        class Odd(threading.Thread):
            name = property(hook("name", lambda: "lie"), lambda self, value: None)
            ident = property(hook("ident", lambda: 1))
            __hash__ = hook("__hash__", lambda: 1)
            __eq__ = hook("__eq__", lambda: True)

            def run(self):
                trap, field = make(), [make(dict)]  # noqa: F841
                free.wait()

        free = threading.Event()
        thread = Odd.__new__(Odd)
        threading.Thread.__init__(thread, name="honest")
        thread.start()
        try:
            until(lambda: "free.wait()" in json.dumps(look()))
            FIRED.clear()
            look()
            self.assertEqual([], FIRED)
        finally:
            free.set()
            thread.join()

    def test_threads_that_come_and_go_do_not_stop_a_look(self):
        stop = threading.Event()

        def churn():
            while not stop.is_set():
                started = [threading.Thread(target=time.sleep, args=(0.0001,)) for _ in range(5)]
                for thread in started:
                    thread.start()
                for thread in started:
                    thread.join()

        with standing("churn", lambda free: churn()):
            try:
                for _ in range(30):
                    look()
            finally:
                stop.set()


    def test_the_main_thread_is_known_by_its_first_frame_where_threading_counts_otherwise(self):
        # As gevent does, once it has put greenlets in the place of threads.
        script = (
            "import threading, sys\nmain = threading.main_thread()\nmain._ident += 1\nthreading._active.clear()\n"
            "from imago.looking.threads import threads\n"
            "seen = threads(None, {'limit': 9, 'frames': 9, 'locals': False})['value']['threads']\n"
            "print([(one['names'], one['role']) for one in seen])\nsys.stdout.flush()\nimport os; os._exit(0)\n"
        )
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        said = subprocess.run([sys.executable, "-c", script], cwd=here, stdout=subprocess.PIPE, check=True, timeout=60)
        self.assertEqual("[(['MainThread'], 'main')]", said.stdout.decode().strip())


class InAKernel(KernelCase):
    def threads(self):
        query = {"limit": 50, "frames": 20, "locals": True, "deadline_ms": 10_000}
        return self.link.call("threads", **query).answer()["value"]

    def test_an_idle_kernel_waits_for_something_to_evaluate(self):
        self.link.value("1")
        stack = named(self.threads()["threads"], "MainThread")
        self.assertEqual(
            ("main", "waiting", "something to evaluate", []),
            tuple(stack[key] for key in ("role", "state", "waits_for", "frames")),
        )

    def test_the_stack_of_an_evaluation_is_seen_while_it_is_stuck(self):
        for stuck, state in (("while True: pass", "running"), ("import time; time.sleep(1000)", "waiting")):
            call = self.link.start(f"def spin(secret):\n    print('on')\n    {stuck}\nspin('s3')")
            call.until_printed("on")
            until(lambda: named(self.threads()["threads"], "MainThread")["state"] == state)
            stack = named(self.threads()["threads"], "MainThread")
            self.assertEqual(("evaluating", "spin"), (stack["role"], stack["frames"][-1]["function"]))
            self.assertEqual(["<module>", "spin"], [frame["function"] for frame in stack["frames"]])
            self.assertEqual("'s3'", stack["frames"][-1]["locals"][0]["repr"])
            call.cancel()
            call.answer()

    def test_imago_s_own_threads_are_told_without_their_locals(self):
        own = [stack for stack in self.threads()["threads"] if stack["role"] == "imago"]
        self.assertLessEqual({"imago-link", "imago-look"}, set(sum((stack["names"] for stack in own), [])))
        self.assertEqual([], [frame["locals"] for stack in own for frame in stack["frames"] if frame["locals"]])


class BesideAScript(unittest.TestCase):
    def test_a_script_that_never_returns_is_seen_where_it_stands(self):
        script = "def loop(n):\n    print('on', flush=True)\n    while True: pass\nloop(1)\n"
        with Kernel(script=script) as kernel:
            query = {"limit": 50, "frames": 20, "locals": True, "deadline_ms": 10_000}
            seen = []

            def is_there():
                seen[:] = [named(kernel.link.call("threads", **query).answer()["value"]["threads"], "MainThread")]
                # "waiting" is true as well while the loop's first line is still being printed.
                return seen[0]["state"] == "running" and seen[0]["frames"][-1]["function"] == "loop"

            until(is_there)
            self.assertEqual("main", seen[0]["role"])
            self.assertEqual(["<module>", "loop"], [frame["function"] for frame in seen[0]["frames"]])


if __name__ == "__main__":
    unittest.main()
