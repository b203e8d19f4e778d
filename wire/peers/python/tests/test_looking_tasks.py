"""Stacks of asyncio tasks: where they are suspended, what they wait for, and that looking disturbs nothing."""

import asyncio
import gc
import sys
import threading
import time
import unittest
import weakref

from imago.looking import tasks as looking_tasks
from tests.looking_support import FIRED, hook
from tests.test_looking_threads import look, named


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
                "of lock": "asyncio.Lock.acquire",
                "of queue": "asyncio.Queue.get",
                "of task": "the task 'sleeper'",
                "of gather": "asyncio.gather of 2, of which 2 have not ended: sleeper, a future",
                "of future": "a future",
                "of event": "asyncio.Event.wait",
            },
            {name: stack["waits_for"] for stack in seen for name in stack["names"] if name.startswith("of ")},
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
        class Own(asyncio.Task):
            __hash__ = hook("__hash__", lambda: 5)
            __repr__ = hook("__repr__", lambda: "lie")
            get_name = hook("get_name", lambda: "lie")
            _coro = property(hook("_coro"))

        async def main(ready):
            loop = asyncio.get_running_loop()
            pure = asyncio.tasks._PyTask(asyncio.sleep(1000), loop=loop, name="pure")
            own = Own(asyncio.sleep(1000), loop=loop, name="own")
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
        class Thing:
            pass

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


if __name__ == "__main__":
    unittest.main()
