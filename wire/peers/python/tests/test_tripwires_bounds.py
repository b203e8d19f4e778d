"""What is very many, very deep or very long ends, fits in an answer, and holds on to nothing."""

import asyncio
import gc
import os
import random
import sys
import threading
import types
import unittest
import weakref

from imago import native
from imago.handles import Handles
from tests.daemon import LONG
from tests.looking_support import FIRED, asked, hooks, make
from tests.looking_samples import Text
from tests.tripwires_support import TripwireCase

#: By how much fewer levels do: in the long run there are more than any compiler takes, and else more than the stack has.
LESS = 1 if LONG else 5
DEEP = {
    "sum": "x = " + "1+" * (190_000 // LESS) + "1",
    "power": "x = " + "1**" * (60_000 // LESS) + "1",
    "signs": "x = " + "-" * (80_000 // LESS) + "1",
    "attributes": "x = a" + ".a" * (80_000 // LESS),
    "calls": "x = a" + "()" * (80_000 // LESS),
    "items": "x = a" + "[0]" * (80_000 // LESS),
    "lambdas": "x = " + "lambda: " * (40_000 // LESS) + "1",
    "conditions": "x = " + "1 if 1 else " * (30_000 // LESS) + "1",
    "refusals": "x = " + "not " * (80_000 // LESS) + "1",
    "branches": "if a: pass\n" + "elif a: pass\n" * (30_000 // LESS),
    "decorator": "def d(a): return a\n@d(" + "a+" * 3000 + "a)\ndef f(): pass",
    "row": "(" * (200_000 // LESS),
}


class Plain:
    pass


class Bounds(TripwireCase):
    def test_sources_that_nest_deeper_than_the_stack_are_not_followed(self):
        folder = self.folder()
        for name, text in DEEP.items():
            path = f"{folder}/{name}.py"
            with open(path, "w") as stream:
                stream.write(text + "\ndef f(): pass\n")
            module = self.module(f"deep_{name}", __file__=path, x=3)
            exec(compile("\ndef f(): pass\n", path, "exec"), module.__dict__)
            module.K = type("K", (), {"__module__": f"deep_{name}"})
            for last in ("f", "x", "K"):
                self.look("definition", name=f"deep_{name}.{last}", max_length=500)

    def test_code_at_a_cursor_and_expressions_may_be_of_any_shape(self):
        for piece in ("(\n", "(#\n", "f(", "a.", "x[", "x()", "f'{", "lambda ", "a(b)(c)", "d['x", "1if ", "\\\n", ";"):
            self.complete(piece * 3000)
        far = "a." * 9000
        for text in ("(" + "\n" * 20_000, f"from {far} import x", f"import {far}", "\ud800.", "\0."):
            self.complete(text)
        signs, dots, items = "-" * 8000 + "1", "a" + ".a" * 4000, "a" + "[0]" * 2700
        for text in (signs, dots, items, "1+" * 4000 + "1", "not " * 2000 + "1", "\ud800"):
            self.look("inspect", expr=text)
            self.look("describe", name=text)

    def test_names_that_are_alike_are_compared_for_a_while_only(self):
        dice = random.Random(1)
        words = ["a" + "".join(dice.choice("ab") for _ in range(190)) for _ in range(500)]
        self.namespace.update(dict.fromkeys(words, 1), table=dict.fromkeys(words, 1))
        missing = words[0][::-1] + "a"
        self.look("describe", name=missing)
        self.look("inspect", expr=f"table[{missing!r}]")
        self.look("symbols", module=missing, internal=True, limit=5)

    def test_a_name_in_a_very_large_namespace_costs_no_walk_for_each_use(self):
        names = [f"name_{at}" for at in range(100_000)]
        self.namespace.update(dict.fromkeys(names, 1))
        exec("def f():\n    return " + "+".join(names[-600:]), self.namespace)
        self.look("definition", name="f", max_length=500, contexts=True)
        self.look("references", name=names[-1], limit=10)

    def test_what_is_imported_from_one_of_many_modules_is_told_in_one_walk(self):
        functions = {f"fn_{at}": types.FunctionType(Bounds.setUp.__code__, {}, f"fn_{at}") for at in range(3000)}
        for function in functions.values():
            function.__module__ = "holds_all"
        self.module("holds_all", **functions)
        for at in range(1000):
            self.module(f"crowd_{at}")
        self.namespace.update(functions)
        self.look("apropos", pattern="fn_", limit=50)
        self.look("describe", name="fn_9999")

    def test_holders_beyond_number_are_followed_for_a_while_only(self):
        target = self.namespace["target"] = Plain()
        self.namespace["pairs"] = [(target, at) for at in range(3000)]
        self.namespace["long"] = [[target, *range(2000)] for _ in range(500)]
        self.look("references", name="target", limit=10)

    def test_classes_of_many_members_or_ancestors_fit_in_an_answer(self):
        below = Plain
        for at in range(300):
            below = type(f"Deep{at}", (below,), {f"a{at}": at})
        many = type("Many", (), {f"attribute_{at}": [1] * 100 for at in range(3000)})
        wide = type("Wide", tuple(type(f"Base{at}", (), {}) for at in range(1500 if LONG else 500)), {})
        named = type("N" * 10**6, (), {"x" * 10**6: 1})
        self.namespace.update(below=below, many=many, wide=wide, one=many(), named=named)
        self.look_everywhere(["below", "many", "wide", "one", "named"])

    def test_what_was_looked_at_dies_when_the_program_lets_go_of_it(self):
        made = {
            "plain": Plain,
            "error": lambda: type("Error", (Exception,), {})(Plain()),
            "function": lambda: lambda a, b=Plain(): a,
            "module": lambda: types.ModuleType("m"),
            "list": lambda: type("List", (list,), {})([Plain()]),
        }
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        self.namespace.update((name, make_one()) for name, make_one in made.items())
        died = {name: weakref.ref(self.namespace[name]) for name in made}
        for name in made:
            self.look_at(name)
            self.look("references", name=name, limit=10)
        self.look_around()
        self.image.handles = Handles("abcd1234")
        for name in made:
            del self.namespace[name]
            self.assertIsNone(died[name](), name)

    def test_names_that_are_kept_for_completion_keep_no_key_alive(self):
        holder = self.namespace["holder"] = Plain()
        first, last = Plain(), Plain()
        holder.__dict__.update({})
        pairs = [(first, 1), *((f"n{at}", at) for at in range(3000)), (last, 1)]
        for key, value in pairs:
            holder.__dict__[key] = value
        self.complete("holder.n1")
        died = weakref.ref(first), weakref.ref(last)
        del first, last, pairs, key, holder.__dict__, holder, self.namespace["holder"]
        self.assertEqual((None, None), (died[0](), died[1]()))


class Running(TripwireCase):
    def test_tasks_and_threads_that_lie_are_told_by_what_they_store(self):
        done, ready = threading.Event(), threading.Event()
        body = hooks("get_name", "get_coro", "get_stack")
        fields = asked("_state", "_coro", "_fut_waiter", "_children")
        compiled = type("Compiled", (asyncio.Task,), {**body, **fields, "__hash__": object.__hash__})
        written = type("Written", (asyncio.tasks._PyTask,), dict(body))
        future = type("Odd", (asyncio.Future,), fields)
        thread = type("Odd", (threading.Thread,), asked("ident", "native_id", "name"))

        async def waits(what):
            self = make()
            await what
            return self

        async def run():
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda *_: None)
            tasks = [compiled(waits(asyncio.sleep(100)), loop=loop), written(waits(asyncio.sleep(100)), loop=loop)]
            odd = [written(waits(asyncio.sleep(100)), loop=loop) for _ in range(2)]
            tasks += [asyncio.ensure_future(waits(future(loop=loop))) for _ in range(2)]
            await asyncio.sleep(0.05)
            tasks[-1].set_name("a\udc80\n" * 1000)
            kept = [dict(one.__dict__) for one in odd]
            odd[0].__dict__["_state"] = make()
            odd[1].__dict__.update(_coro=make(), _fut_waiter=make(), _name=Text("n"))
            self.namespace.update({f"task{at}": task for at, task in enumerate(tasks + odd)})
            ready.set()
            while not done.is_set():
                await asyncio.sleep(0.01)
            for one, before in zip(odd, kept):
                one.__dict__.update(before)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                asyncio.Task.cancel(task) if isinstance(task, asyncio.Task) else asyncio.tasks._PyTask.cancel(task)

        running = threading.Thread(target=lambda: asyncio.run(run()))
        other = thread(target=done.wait)
        for one in (running, other):
            threading.Thread.start(one)
            self.addCleanup(one.join, 10)
        self.addCleanup(done.set)
        other._name = Text("odd")
        self.assertTrue(ready.wait(10))
        threading._active[10**9] = make()
        self.addCleanup(threading._active.pop, 10**9)
        self.namespace["other"] = other
        FIRED.clear()
        self.look_around()
        for name in ("task0", "task1", "task2", "task3", "task4", "task5", "other"):
            self.look("inspect", expr=name)
            self.look("describe", name=name)

    def test_a_program_whose_threads_have_little_stack_is_looked_at_from_threads_with_enough(self):
        self.addCleanup(threading.stack_size, threading.stack_size(64 * 1024))
        self.namespace.update(case=Running, function=os.path.join)
        failed, done = [], native.Event()

        def look():
            try:
                self.look_everywhere(["case", "function", "json.dumps", "missing"])
                self.look("inspect", expr="function" + ".a" * 900)
            except BaseException as error:
                failed.append(error)
            done.set()

        native.start(look, "imago-look")
        self.assertEqual((True, []), (done.wait(30), failed))
        self.assertEqual(64 * 1024, threading.stack_size())

    def test_an_image_that_changes_all_the_time_is_looked_at_all_the_same(self):
        stopped = threading.Event()
        module = self.module("changing")
        self.namespace.update(module=module, kind=type("Kind", (), {}), table={})
        self.namespace.update({f"n{at}": at for at in range(2500)})
        self.namespace["one"] = self.namespace["kind"]()

        def change():
            dice, kind, one = random.Random(1), self.namespace["kind"], self.namespace["one"]
            while not stopped.is_set():
                for mapping in (self.namespace, module.__dict__, one.__dict__, self.namespace["table"]):
                    mapping[f"v{dice.randrange(200)}"] = 1
                    mapping.pop(f"v{dice.randrange(200)}", None)
                sys.modules[f"changing.m{dice.randrange(99)}"] = types.ModuleType("m")
                sys.modules.pop(f"changing.m{dice.randrange(99)}", None)
                setattr(kind, f"x{dice.randrange(200)}", 1)
                type("Below", (kind,), {})
                threading.Thread(target=int).start()

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        self.addCleanup(sys.setswitchinterval, before)
        changing = threading.Thread(target=change)
        changing.start()
        self.addCleanup(lambda: [sys.modules.pop(f"changing.m{at}", None) for at in range(99)])
        self.addCleanup(changing.join, 10)
        self.addCleanup(stopped.set)
        for name in ("module", "kind", "one", "table", "v5", "module.v5"):
            self.look_at(name, ["."])
        self.look_around()


if __name__ == "__main__":
    unittest.main()
