"""Stacks of threads and tasks: where they stand, what they wait for, and that looking disturbs nothing."""

import asyncio
import contextlib
import gc
import json
import os
import queue
import subprocess
import sys
import threading
import time
import unittest
import weakref

from imago import native
from imago.looking import tasks as looking_tasks
from imago.looking.threads import threads
from tests.daemon import Kernel, KernelCase, until
from tests.looking_support import FIRED, asked, fault_of, hook, hooks


def look(**query):
    looked = threads(None, {"limit": 100, "frames": 30, "locals": True, **query})
    if fault_of("threads", looked) is not None:
        raise AssertionError(fault_of("threads", looked))
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


def until_waiting(name, wanted="threading.Event.wait"):
    """The stack of a thread that was started, once it waits for what is wanted."""
    seen = []

    def is_there():
        # `start` comes back before the thread has its name, and before it does its work.
        seen[:] = [stack for stack in look()["threads"] if name in stack["names"]]
        # The line at which a likely holder is may be another with each look.
        return [(one["state"], (one["waits_for"] or "").partition(" (test_")[0]) for one in seen] == [("waiting", wanted)]

    try:
        until(is_there)
    except AssertionError:
        raise AssertionError(seen) from None
    return seen[0]


def waiting(name, work, wanted):
    """The stack of a thread that runs `work`, once it waits for what is wanted."""
    with standing(name, work):
        return until_waiting(f"{name}-1", wanted)


class Threads(unittest.TestCase):
    def test_code_of_a_function_that_runs_with_a_mapping_for_its_locals_is_shown_without_them(self):
        class Names:
            """The least that `exec` takes."""

            def __init__(self):
                self.held = {}

            def __getitem__(self, name):
                return self.held[name]

            def __setitem__(self, name, value):
                self.held[name] = value

        texts = ("number = 7; free.wait()", "def run():\n    number = 7\n    free.wait()\ncode = run.__code__")
        codes = [compile(text, __file__, "exec") for text in texts]
        made = {}
        exec(codes[1], made)
        for name, code in (("mapped", codes[0]), ("mapped-function", made["code"])):
            stack = waiting(name, lambda free: exec(code, {"free": free}, Names()), "threading.Event.wait")
            self.assertTrue({"run", "<module>"} & {frame["function"] for frame in stack["frames"]})

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
        warm = threading.Event()

        def enters(held):
            with held:
                pass

        def sleeps(free):
            while not free.is_set():
                time.sleep(0.5)

        def sleeps_warm(free):
            # In CPython 3.11 a call that has become warm stands at another instruction.
            for seconds in [0] * 100 + [0.5] * 100:
                if seconds:
                    warm.set()
                if free.is_set():
                    break
                time.sleep(seconds)

        with standing("other", lambda free: free.wait()) as (other,), lock, reentrant:
            waits = {
                "locked": (lambda: enters(lock), "the lock held that MainThread likely holds"),
                "owned": (lambda: enters(reentrant), "the reentrant lock held that MainThread holds"),
                "joining": (other.join, "the end of other-1"),
                "getting": (items.get, "queue.Queue.get"),
            }
            started = [threading.Thread(target=work, name=f"{name}-1") for name, (work, _) in waits.items()]
            for thread in started:
                thread.start()
            for name, (_, wanted) in waits.items():
                until_waiting(f"{name}-1", wanted)
            items.put(None)
        for thread in started:
            thread.join()
        waiting("sleeping", sleeps, "time.sleep")
        with standing("warm", sleeps_warm):
            warm.wait()
            until_waiting("warm-1", "time.sleep")

    def test_stacks_at_the_same_lines_are_told_once(self):
        with standing("pool", lambda free: free.wait(), count=30):
            until(lambda: [one["count"] for one in look(filter="pool-")["threads"]] == [30])
            seen = look(filter="pool-")
        stack = seen["threads"][0]
        self.assertEqual((30, 8, 30), (stack["count"], len(stack["names"]), seen["threads_total"]))
        self.assertEqual(["pool-1", "pool-2", "pool-3"], stack["names"][:3])

    def test_each_frame_says_whether_it_is_the_program_s_or_of_which_library(self):
        stack = waiting("whose", lambda free: free.wait(), "threading.Event.wait")
        told = [(frame["function"].rpartition(".")[2], frame["own"], frame.get("library")) for frame in stack["frames"]]
        self.assertIn(("<lambda>", True, None), told)
        self.assertEqual(("wait", False, "threading"), told[-1])

    def test_the_program_s_own_frames_have_locals_and_those_of_libraries_only_on_request(self):
        code = compile("def held(work, free):\n    mine = 1\n    work(free)\n", "/x/site-packages/lib/a.py", "exec")
        names = {}
        exec(code, names)

        def work(free):
            owned = 7
            free.wait(owned * 100)

        with standing("locals", lambda free: names["held"](work, free)):
            until_waiting("locals-1")
            for query, expected in (({}, []), ({"all": True}, ["work", "free", "mine"])):
                frames = named(look(filter="locals", **query)["threads"], "locals-1")["frames"]
                (held,) = [frame for frame in frames if frame["function"] == "held"]
                self.assertEqual((False, "lib"), (held["own"], held["library"]))
                self.assertEqual(expected, [local["name"] for local in held["locals"]])
                (own,) = [frame for frame in frames if frame["function"].endswith("work")]
                self.assertIn("owned", [local["name"] for local in own["locals"]])

    def test_a_long_stack_loses_frames_of_libraries_first(self):
        code = compile("def down(n, work):\n    down(n - 1, work) if n else work()\n", "/x/site-packages/a.py", "exec")
        others = compile("def side(n, work):\n    down(n, work)\n", "/x/site-packages/b.py", "exec")
        names = {}
        exec(code, names)
        exec(others, names)

        def nested(depth, free):
            if depth == 0:
                free.wait()
            else:
                names["side"](0, lambda: nested(depth - 1, free))

        with standing("long", lambda free: nested(6, free)):
            until_waiting("long-1")
            stack = named(look(filter="long", frames=18)["threads"], "long-1")
        own = [frame["function"].rpartition(".")[2] for frame in stack["frames"] if frame["own"]]
        self.assertGreater(stack["frames_omitted"], 0)
        self.assertEqual(7, own.count("nested"))

    def test_a_filter_is_for_names_functions_and_files(self):
        def needle(free):
            free.wait()

        with standing("haystack", needle):
            until_waiting("haystack-1")
            for wanted in ("HAYSTACK", "needle", "test_looking_threads"):
                self.assertIn("haystack-1", sum((one["names"] for one in look(filter=wanted)["threads"]), []), wanted)
            self.assertEqual(([], 0), (look(filter="no such thing")["threads"], look(filter="no such")["tasks_total"]))

    def test_limits_of_stacks_frames_and_locals_are_kept(self):
        def deep(free, left):
            many = {f"v{at}": at for at in range(50)}
            free.wait() if not left else (lambda: deep(free, left - 1))()
            return many

        with standing("deep", lambda free: deep(free, 100)), standing("other", lambda free: free.wait()):
            until_waiting("deep-1")
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
            until_waiting("recursive-1")
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
            until_waiting("mixed-1")
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


class Tasks(unittest.TestCase):
    def seen(self, main, **query):
        """What a look from another thread finds while the coroutine `main(ready)` waits on its loop."""
        found = []

        async def run():
            ready = asyncio.Event()
            task = asyncio.ensure_future(main(ready))
            await asyncio.wait([asyncio.ensure_future(ready.wait())], timeout=10)
            await asyncio.sleep(0)
            found.append(await asyncio.get_running_loop().run_in_executor(None, lambda: look(**query)))
            task.cancel()
            await asyncio.wait([task])

        asyncio.run(run())
        return found[0]["tasks"]

    def test_a_task_is_followed_through_all_that_it_awaits(self):
        async def numbers():
            yield 1
            await asyncio.sleep(1000)

        async def inner(depth):
            async for number in numbers():
                depth += number

        async def main(ready):
            asyncio.current_task().set_name("outer")
            ready.set()
            await inner(3)

        stack = named(self.seen(main), "outer")
        functions = [frame["function"].rpartition(".")[2] for frame in stack["frames"]]
        self.assertEqual(["main", "inner", "numbers", "sleep"], functions)
        self.assertEqual(("waiting", "asyncio.sleep(1000)"), (stack["state"], stack["waits_for"]))
        local = {row["name"]: row["repr"] for row in stack["frames"][1]["locals"]}
        self.assertEqual("4", local["depth"])

    def test_what_a_task_waits_for_is_told(self):
        async def main(ready):
            # Each at a line of its own: those at the same one would be told together.
            async def await_task(one):
                await one

            async def await_gather(one):
                await one

            async def await_it(one):
                await one

            loop = asyncio.get_running_loop()
            lock, items = asyncio.Lock(), asyncio.Queue()
            await lock.acquire()
            sleeper = loop.create_task(asyncio.sleep(1000), name="sleeper")
            both = asyncio.gather(sleeper, loop.create_future())
            waits = {
                "of lock": lock.acquire(),
                "of queue": items.get(),
                "of task": await_task(sleeper),
                "of gather": await_gather(both),
                "of future": await_it(loop.create_future()),
                "of event": asyncio.Event().wait(),
            }
            started = [loop.create_task(one, name=name) for name, one in waits.items()]
            await asyncio.sleep(0.01)
            ready.set()
            try:
                await asyncio.sleep(1000)
            finally:
                for one in [*started, sleeper]:
                    one.cancel()
                await asyncio.wait(started)

        seen = self.seen(main)
        self.assertEqual(
            {
                "of lock": "asyncio.Lock.acquire whose holder cannot be told",
                "of queue": "asyncio.Queue.get",
                "of task": "the task 'sleeper'",
                "of gather": "asyncio.gather of 2, of which 2 have not ended: sleeper, a future",
                "of future": "a future",
                "of event": "asyncio.Event.wait",
            },
            {
                name: stack["waits_for"].partition(" that ")[0]
                for stack in seen
                for name in stack["names"]
                if name.startswith("of ")
            },
        )

    def test_a_thousand_tasks_at_one_place_are_one_stack(self):
        async def work(number):
            await asyncio.sleep(1000)

        async def main(ready):
            started = [asyncio.ensure_future(work(number)) for number in range(1000)]
            await asyncio.sleep(0.01)
            ready.set()
            try:
                await asyncio.sleep(1000)
            finally:
                for task in started:
                    task.cancel()

        (stack,) = [one for one in self.seen(main, filter="work") if one["count"] > 1]
        self.assertEqual((1000, 8), (stack["count"], len(stack["names"])))

    def test_tasks_are_seen_while_the_loop_is_blocked_and_the_blocking_one_runs(self):
        found = []

        async def idle():
            await asyncio.sleep(1000)

        async def main():
            other = asyncio.ensure_future(idle())
            await asyncio.sleep(0)
            worker = threading.Thread(target=lambda: found.append(look()))
            worker.start()
            while worker.is_alive():
                time.sleep(0.001)
            other.cancel()

        asyncio.run(main())
        stacks = {stack["frames"][0]["function"].rpartition(".")[2]: stack for stack in found[0]["tasks"]}
        self.assertEqual(("running", "waiting"), (stacks["main"]["state"], stacks["idle"]["state"]))

    def test_tasks_written_in_python_and_tasks_of_subclasses_are_seen(self):
        body = {**hooks("__repr__", "get_name"), **asked("_coro"), "__hash__": hook("__hash__", lambda: 5)}
        own_class = type("Own", (asyncio.Task,), body)

        async def main(ready):
            loop = asyncio.get_running_loop()
            pure = asyncio.tasks._PyTask(asyncio.sleep(1000), loop=loop, name="pure")
            own = own_class(asyncio.sleep(1000), loop=loop, name="own")
            await asyncio.sleep(0.01)
            FIRED.clear()
            ready.set()
            try:
                await asyncio.sleep(1000)
            finally:
                pure.cancel()
                own.cancel()

        # asyncio itself asks these for their hashes as it goes on; what counts is that their names were not asked.
        seen = sum((stack["names"] for stack in self.seen(main)), [])
        self.assertLessEqual({"pure", "own"}, set(seen))
        self.assertFalse({"get_name", "_coro", "__repr__"} & set(FIRED))

    def test_looking_keeps_nothing_alive_that_a_task_lets_go_of(self):
        Thing = type("Thing", (), {})
        references = []

        async def main():
            step = asyncio.Event()

            async def work():
                thing = Thing()
                references.append(weakref.ref(thing))
                await asyncio.sleep(0)
                del thing
                await step.wait()

            task = asyncio.ensure_future(work())
            await asyncio.sleep(0)
            await asyncio.get_running_loop().run_in_executor(None, look)
            await asyncio.sleep(0.01)
            gc.collect()
            self.assertIsNone(references[0]())
            step.set()
            await task

        asyncio.run(main())

    def test_where_asyncio_is_not_loaded_there_are_no_tasks(self):
        asyncio_tasks = sys.modules.pop("asyncio.tasks")
        try:
            self.assertIsNone(looking_tasks.Asyncio.loaded())
            self.assertEqual([], look()["tasks"])
        finally:
            sys.modules["asyncio.tasks"] = asyncio_tasks


class InAKernel(KernelCase):
    def threads(self):
        query = {"limit": 50, "frames": 20, "locals": True, "deadline_ms": 60_000}
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
            query = {"limit": 50, "frames": 20, "locals": True, "deadline_ms": 60_000}
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
