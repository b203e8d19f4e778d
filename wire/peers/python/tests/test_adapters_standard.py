"""What is shown of the standard library's own values, and that no code of the user's runs for it."""

import array
import asyncio
import collections
import dataclasses
import datetime
import io
import ipaddress
import logging
import os
import queue
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from tests.adapters_support import Adapters
from tests.looking_samples import Delta, Odd, Text, Whole, Zone
from tests.looking_support import FIRED, Keyed, asked, hook, hooks, make


class Standard(Adapters):
    def test_what_stands_in_a_table_of_fields_is_asked_by_no_compiled_getter(self):
        class Raw(io.BytesIO):
            name = property(hook("name"))

        described = io.TextIOWrapper(Raw())
        for table in ({"__attrs_attrs__": (described,)}, {"__dataclass_fields__": {"a": described}}):
            self.look_everywhere(type("Fields", (), table)())
            self.assertEqual([], FIRED)

    def test_zones_are_named(self):
        offset = datetime.timezone(datetime.timedelta(hours=-2, minutes=-30))
        self.assertEqual("<datetime.timezone UTC-02:30>", self.text(offset))
        moment = "datetime.datetime(2020, 1, 1, 0, 0, tzinfo=<datetime.timezone UTC-02:30>)"
        self.assertEqual(moment, self.text(datetime.datetime(2020, 1, 1, tzinfo=offset)))
        if sys.version_info >= (3, 9):
            import zoneinfo

            zone = zoneinfo.ZoneInfo("UTC")
            self.assertEqual("<zoneinfo.ZoneInfo UTC>", self.text(zone))
            self.look_everywhere(zoneinfo.ZoneInfo.from_file(_zone_file(zone), key=Text("key\n")))
        odd = datetime.timezone(Delta(hours=1), Text("a"))
        FIRED.clear()
        for value in (odd, Zone(), datetime.datetime(2020, 1, 1, tzinfo=Zone())):
            self.look_everywhere(value)

    def test_addresses_are_written(self):
        for text in ("1.2.3.4", "::", "::1", "1::", "fe80::1:0:0:2", "2001:db8::8:800:200c:417a", "1:2:3:4:5:6:7:8"):
            for value in (ipaddress.ip_address(text), ipaddress.ip_network(text), ipaddress.ip_interface(text)):
                self.assertEqual(repr(value), self.text(value))
        odd = ipaddress.ip_address("::1")
        odd._ip = Whole(1)
        FIRED.clear()
        self.look_everywhere(odd)

    def test_patterns_and_matches_say_what_they_were_made_of(self):
        self.assertEqual("<re.Pattern re.I|re.M pattern='a+'>", self.text(re.compile("a+", re.I | re.M)))
        self.assertEqual("<re.Match span (1, 3) string='baac'>", self.text(re.search("a+", "baac")))
        odd = str.__new__(Text, "a")
        pattern = re.compile("a")
        match = pattern.search(odd)
        FIRED.clear()
        self.look_everywhere(match)

    def test_containers_say_what_they_hold(self):
        numbers = array.array("d", [0.5, 1])
        self.assertEqual("<array.array 'd' [0.5, 1.0]>", self.text(numbers))
        self.assertEqual(("sequence", ["0.5", "1.0"]), (self.seen(numbers)["kind"], self.sample(numbers)))
        counted = collections.defaultdict(list, a=1)
        self.assertEqual("<collections.defaultdict {'a': 1} default_factory=<class 'list'>>", self.text(counted))
        chain = collections.ChainMap({"a": 1}, {})
        self.assertEqual("<collections.ChainMap [{'a': 1}, {}]>", self.text(chain))
        odd = collections.ChainMap(Odd(), {Keyed(): make()}), collections.defaultdict(make(), key=make())
        FIRED.clear()
        for value in odd:
            self.look_everywhere(value)

    def test_locks_and_events_say_how_they_stand(self):
        lock, again, event = threading.Lock(), threading.RLock(), threading.Event()
        self.assertEqual("<_thread.lock not locked>", self.text(lock))
        self.assertEqual("<_thread.RLock not locked>", self.text(again))
        self.assertEqual("<threading.Event not set>", self.text(event))
        event.set()
        with lock, again:
            self.assertEqual("<_thread.lock locked>", self.text(lock))
            self.assertEqual(f"<_thread.RLock locked, owner {threading.get_ident()}, count 1>", self.text(again))
        self.assertEqual("<threading.Event set>", self.text(event))
        self.assertEqual("<threading.Semaphore value=2>", self.text(threading.Semaphore(2)))

    def test_threads_say_how_far_they_are(self):
        name = property(hook("name"), hook("name"))
        Worker = type("Worker", (threading.Thread,), {"name": name, **hooks("is_alive", "__repr__")})
        free = threading.Event()
        thread = threading.Thread(target=free.wait, name="waits", daemon=True)
        self.assertIn("'waits', not started, daemon target=", self.text(thread))
        thread.start()
        self.assertIn(f"'waits', alive, ident {thread.ident}, daemon", self.text(thread))
        worker = Worker()
        worker.job = 7
        FIRED.clear()
        self.assertIn("not started job=7>", self.look_everywhere(worker))
        free.set()
        thread.join()
        self.assertIn("'waits', ended", self.text(thread))
        ended = threading.Thread(target=int)
        ended.start()
        until = time.monotonic() + 10
        while "ended" not in self.text(ended) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertIn("ended", self.text(ended), "a thread that nobody has joined")
        self.assertIn("alive", self.text(threading.main_thread()))

    def test_a_look_names_no_thread_of_the_users_anew(self):
        before = threading.Thread().name
        self.look_everywhere(threading.Thread(name="a"))
        self.assertEqual(1, int(threading.Thread().name.split("-")[1]) - int(before.split("-")[1]))

    def test_queues_say_what_waits_in_them(self):
        jobs = queue.Queue(3)
        jobs.put("a")
        self.assertEqual("<queue.Queue 1 item ['a'] maxsize=3, unfinished_tasks=1>", self.text(jobs))
        simple = queue.SimpleQueue()
        simple.put(1)
        self.assertEqual("<queue.SimpleQueue 1 item>", self.text(simple))
        ordered = queue.PriorityQueue(Whole(3))
        ordered.queue.append(make())
        FIRED.clear()
        self.look_everywhere(ordered)

    def test_tasks_and_futures_say_how_far_they_are(self):
        async def sleeps():
            await asyncio.sleep(60)

        async def main():
            task = asyncio.ensure_future(sleeps())
            await asyncio.sleep(0)
            done, failed = asyncio.get_running_loop().create_future(), asyncio.get_running_loop().create_future()
            done.set_result(make())
            failed.set_exception(KeyError("no"))
            FIRED.clear()
            texts = [self.look_everywhere(one) and self.text(one) for one in (task, done, failed)]
            self.assertTrue(failed._log_traceback, "looking at a failure does not count as dealing with it")
            failed.exception()
            task.cancel()
            return texts

        task, done, failed = asyncio.run(main())
        self.assertRegex(
            task, r"^<asyncio.Task 'Task-\d+', pending, of .*sleeps at .*:\d+ waits_for=<asyncio.Future pending>>$"
        )
        self.assertRegex(done, r"^<asyncio.Future finished result=<.*>>$")
        self.assertEqual("<asyncio.Future finished exception=<KeyError …>>", failed)

    def test_files_say_what_they_are_open_on(self):
        able, unable = hooks("readable", "writable", result=lambda: True), hooks("seekable", result=lambda: False)
        body = {**able, **unable, **asked("name", "mode", "closed"), **hooks("fileno", "__del__")}
        Raw = type("Raw", (io.RawIOBase,), {**body, "__module__": __name__})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a")
            with open(path, "w+", encoding="utf-8") as file, open(path, "rb") as raw:
                number = file.fileno()
                self.assertEqual(f"<_io.TextIOWrapper fd {number}, mode w+, utf-8 name='{path}'>", self.text(file))
                self.assertEqual(f"<_io.BufferedReader fd {raw.fileno()}, mode rb name='{path}'>", self.text(raw))
            self.assertEqual(f"<_io.TextIOWrapper closed, utf-8 name='{path}'>", self.text(file))
        stream = io.BufferedWriter(Raw())
        text = io.TextIOWrapper(stream, "utf-8")
        bare = io.TextIOWrapper.__new__(io.TextIOWrapper)
        FIRED.clear()
        for value in (stream, text, bare, io.StringIO("a"), io.BytesIO(b"a")):
            self.look_everywhere(value)
        self.assertIn("on <tests.", self.text(stream))
        text.detach()
        stream.detach()

    def test_sockets_say_where_they_lead(self):
        Mine = type("Mine", (socket.socket,), {**hooks("getsockname", "fileno", "__repr__"), **asked("family")})
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)) as client:
                self.assertIn(f"AF_INET, SOCK_STREAM, local ('127.0.0.1', {port})>", self.text(server))
                self.assertIn(f"peer ('127.0.0.1', {port})>", self.text(client))
            self.assertEqual("<socket.socket closed>", self.text(client))
            self.look_everywhere(server)
        mine = Mine()
        FIRED.clear()
        self.look_everywhere(mine)
        socket.socket.close(mine)

    def test_connections_loggers_and_children_say_how_they_stand(self):
        base = sqlite3.connect(":memory:")
        self.assertEqual("<sqlite3.Connection not in a transaction, 0 changes so far>", self.text(base))
        base.close()
        self.assertIn("<sqlite3.Connection closed", self.text(base))
        logger = logging.Logger("app", logging.INFO)
        logger.addHandler(logging.NullHandler())
        self.assertEqual("<logging.Logger level INFO, 1 handler name='app'>", self.text(logger))
        child = subprocess.Popen([sys.executable, "-c", ""])
        self.assertIn(f"<subprocess.Popen pid {child.pid}, not waited for yet args=['", self.text(child))
        child.wait()
        self.assertIn(f"pid {child.pid}, ended with 0", self.text(child))

    def test_declared_fields_come_first_and_those_not_to_be_printed_are_only_named(self):
        @dataclasses.dataclass
        class Order:
            number: int
            names: list
            key: str = dataclasses.field(default="hunter2", repr=False)
            kinds: dataclasses.InitVar[int] = 3
            total = property(hook("total"))
            __repr__ = hook("__repr__", lambda: "lie")

        order = Order(7, ["a"], "opensesame")
        order.late = 1
        self.assertTrue(self.text(order).endswith("Order number=7, names=[…1], key=…, late=1>"), self.text(order))
        self.assertNotIn("opensesame", self.look_everywhere(order))

        def hold(value):
            order.names = value
            return order

        self.look_at_all(hold)

    def test_a_class_of_dataclasses_stands_where_its_own_code_does(self):
        @dataclasses.dataclass
        class Bare:
            number: int

        @dataclasses.dataclass
        class Full:
            number: int

            def total(self):
                return self.number

        first = Full.total.__code__.co_firstlineno - 3
        # Since 3.14 the code of its annotations is in its body.
        own = (__file__, first - 4) if sys.version_info >= (3, 14) else (None, None)
        self.assertEqual(own, self.place(Bare))
        self.assertEqual((__file__, first), self.place(Full))

    def place(self, cls):
        seen = self.seen(cls)["callable"]
        return seen["file"], seen["line"]


def _zone_file(zone):
    """The smallest file of a zone: UTC, in the first version of the format."""
    counts = b"".join(number.to_bytes(4, "big") for number in (0, 0, 0, 0, 1, 4))
    return io.BytesIO(b"TZif" + b"\0" * 16 + counts + b"\0" * 6 + b"UTC\0")


if __name__ == "__main__":
    unittest.main()
