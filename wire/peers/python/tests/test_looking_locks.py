"""Which lock a thread or task waits for, who holds it, and where they wait for each other."""

import json
import os
import subprocess
import sys
import unittest

from tests.looking_support import fault_of

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Looks until all that is wanted is in what it finds, and ends with threads that never would.
BEFORE = """import asyncio, json, os, sys, threading, time
from imago.looking.threads import threads
both = threading.Barrier(2)
def begin(*works):
    for work in works:
        threading.Thread(target=work, name=work.__name__, daemon=True).start()
"""
AFTER = """
until = time.monotonic() + 60
while True:
    looked = threads(None, {'limit': 50, 'frames': 30, 'locals': False})
    said = json.dumps(looked)
    if all(one in said for one in wanted) or time.monotonic() > until:
        break
print(said, flush=True)
os._exit(0)
"""


class Locks(unittest.TestCase):
    def seen(self, program, *wanted):
        """What a look finds in a program once it has all that is wanted: `(deadlocks, likely ones too, waits by name)`."""
        script = f"{BEFORE}{program}\nwanted = {list(wanted)!r}{AFTER}"
        command = [sys.executable, "-W", "ignore", "-c", script]
        ran = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, check=True, timeout=120)
        looked = json.loads(ran.stdout.decode().splitlines()[-1])
        self.assertIsNone(fault_of("threads", looked))
        value = looked["value"]
        for one in wanted:
            self.assertIn(one, json.dumps(value))
        stacks = value["threads"] + value["tasks"]
        self.notes = value["notes"]
        self.certain = value["deadlocks"]
        return self.certain + value["likely_deadlocks"], {name: stack["waits_for"] for stack in stacks for name in stack["names"]}

    def test_two_threads_that_wait_for_each_other_are_a_deadlock(self):
        program = """
a, b = threading.Lock(), threading.RLock()
def one():
    with a:
        both.wait()
        with b: pass
def two():
    with b:
        both.wait()
        with a: pass
begin(one, two)"""
        circles, waits = self.seen(program, "reentrant lock b", "the lock a")
        self.assertEqual([["one", "two"]], [sorted(circle) for circle in circles])
        self.assertEqual([], self.certain, "a lock without an owner")
        self.assertEqual("the reentrant lock b that two holds", waits["one"])
        self.assertRegex(waits["two"], r"^the lock a that one likely holds \(<string>:\d+ in one\)$")

    def test_a_circle_of_locks_that_know_their_owners_is_certain(self):
        program = """
class Account:
    def __init__(self):
        self.lock = threading.RLock()
def moves(here, there):
    with here.lock:
        both.wait()
        with there.lock: pass
mine, yours = Account(), Account()
def there(): moves(mine, yours)
def back(): moves(yours, mine)
begin(there, back)"""
        circles, waits = self.seen(program, "that back holds", "that there holds")
        self.assertEqual([["back", "there"]], [sorted(circle) for circle in self.certain])
        self.assertEqual("the reentrant lock there.lock that back holds", waits["there"])

    def test_a_thread_that_waits_for_itself_is_a_deadlock(self):
        program = """
lock = threading.Lock()
def again():
    with lock:
        with lock: pass
begin(again)"""
        circles, waits = self.seen(program, "the lock lock")
        self.assertIn("that it likely holds itself", waits["again"])
        self.assertEqual([["again"]], circles)

    def test_nobody_is_named_who_may_have_released_the_lock_within_its_with(self):
        program = """
lock, other, go_on = threading.Lock(), threading.Lock(), threading.Event()
ready = threading.Condition(lock)
rest, left = threading.Lock(), threading.Lock()
def has_left():
    try:
        with left:
            return 1
    finally:
        both.wait()
        go_on.wait()
def released():
    with other:
        other.release()
        both.wait()
        go_on.wait()
        other.acquire()
def bound_again():
    mine = rest
    with mine:
        mine = threading.Lock()
        both.wait()
        go_on.wait()
def waits():
    with lock:
        both.wait()
        ready.wait()
def wants():
    with lock: pass
def wants_other():
    with other: pass
def wants_rest():
    with rest: pass
def wants_left():
    with left: pass
for one in (has_left, released, bound_again, waits):
    begin(one)
    both.wait()
for one in (lock, other, left):
    one.acquire()
begin(wants, wants_other, wants_rest, wants_left)"""
        circles, waits = self.seen(program, "the lock lock", "the lock other", "the lock rest", "the lock left")
        self.assertEqual([], circles)
        for name, lock in (("wants", "lock"), ("wants_other", "other"), ("wants_rest", "rest"), ("wants_left", "left")):
            self.assertEqual(f"the lock {lock} whose holder cannot be told", waits[name])

    def test_who_gives_up_by_itself_is_in_no_deadlock(self):
        program = """
a, b = threading.Lock(), threading.RLock()
def one():
    with a:
        both.wait()
        b.acquire(timeout=1000)
def two():
    with b:
        both.wait()
        with a: pass
begin(one, two)"""
        circles, waits = self.seen(program, "reentrant lock b", "the lock a")
        self.assertEqual([], circles)
        self.assertEqual("the reentrant lock b that two holds", waits["one"])

    def test_a_with_whose_object_cannot_be_told_is_waited_for(self):
        program = """
locks = [threading.Lock()]
locks[0].acquire()
def wants():
    both.wait()
    with locks[0]: pass
def comes():
    both.wait()
begin(wants, comes)"""
        _, waits = self.seen(program, "cannot be told")
        self.assertEqual("what its `with` enters, which cannot be told", waits["wants"])

    def test_who_has_acquired_without_a_with_is_not_told(self):
        program = """
lock, go_on = threading.Lock(), threading.Event()
def holds():
    lock.acquire()
    try:
        both.wait()
        go_on.wait()
    finally:
        lock.release()
def wants():
    lock.acquire()
begin(holds)
both.wait()
begin(wants)"""
        circles, waits = self.seen(program, "the lock lock")
        self.assertEqual([], circles)
        self.assertEqual("the lock lock whose holder cannot be told", waits["wants"])

    def test_who_has_left_a_with_or_released_is_no_holder(self):
        program = """
lock, go_on = threading.Lock(), threading.Event()
def had():
    with lock:
        pass
    lock.acquire()
    lock.release()
    both.wait()
    go_on.wait()
begin(had)
both.wait()
lock.acquire()
def wants():
    with lock: pass
begin(wants)"""
        _, waits = self.seen(program, "the lock lock")
        self.assertNotIn("had", waits["wants"])

    def test_conditions_have_holders_and_semaphores_and_events_have_none(self):
        program = """
ready, few, event = threading.Condition(), threading.Semaphore(1), threading.Event()
def holds():
    with ready, few:
        both.wait()
        event.wait()
def wants_condition():
    with ready: pass
def wants_semaphore():
    with few: pass
begin(holds)
both.wait()
begin(wants_condition, wants_semaphore)"""
        _, waits = self.seen(program, "Condition.__enter__ that", "Semaphore.acquire", "Event.wait")
        self.assertEqual("threading.Condition.__enter__ that holds holds", waits["wants_condition"])
        self.assertEqual("threading.Semaphore.acquire", waits["wants_semaphore"])
        self.assertEqual("threading.Event.wait", waits["holds"])

    def test_a_lock_whose_owner_has_ended_says_so(self):
        program = """
lock, begun, end = threading.RLock(), threading.Event(), threading.Event()
def gone():
    lock.acquire()
    both.wait()
    end.wait()
def wants():
    begun.set()
    with lock: pass
thread = threading.Thread(target=gone)
thread.start()
both.wait()
# While both live they have different numbers.
begin(wants)
begun.wait()
end.set()
thread.join()"""
        _, waits = self.seen(program, "reentrant lock")
        self.assertEqual("the reentrant lock lock that a thread which has ended holds", waits["wants"])

    def test_a_thread_with_the_number_of_an_owner_that_has_ended_is_not_said_to_hold_its_lock(self):
        program = """
lock, has_ended = threading.RLock(), False
def gone():
    lock.acquire()
    return threading.get_ident()
def wants(last, looked):
    global has_ended
    has_ended = threading.get_ident() == last
    looked.set()
    if has_ended: end.wait()
def waits():
    with lock: pass
end, seen = threading.Event(), []
first = threading.Thread(target=lambda: seen.append(gone()))
first.start()
first.join()
while not has_ended:
    looked = threading.Event()
    threading.Thread(target=wants, args=(*seen, looked), name='wants', daemon=True).start()
    looked.wait()
begin(waits)"""
        _, waits = self.seen(program, "reentrant lock")
        self.assertEqual("the reentrant lock lock that wants holds, or one before it that has ended", waits["waits"])

    def test_tasks_name_the_task_that_holds_their_lock_and_a_blocked_loop_is_said_to_be(self):
        program = """
async def holds(lock):
    async with lock:
        await asyncio.sleep(0)
        time.sleep(1000)
async def wants(lock):
    async with lock: pass
async def wants_too(lock):
    await lock.acquire()
async def main():
    lock = asyncio.Lock()
    made = [holds(lock), wants(lock), wants_too(lock)]
    await asyncio.gather(*[asyncio.ensure_future(one) for one in made])
def serves(): asyncio.run(main())
begin(serves)"""
        _, waits = self.seen(program, "asyncio.Lock.acquire", "is blocked")
        blocked = "The event loop of serves is blocked: its task 'Task-2' is in time.sleep, which does not await. "
        self.assertEqual([f"{blocked}Of 4 tasks no other runs."], self.notes)
        for name in ("Task-3", "Task-4"):
            self.assertRegex(waits[name], r"^asyncio.Lock.acquire that Task-2 likely holds \(<string>:\d+ in holds\)$")

    def test_tasks_that_wait_for_each_other_are_a_deadlock_unless_they_give_up(self):
        program = """
async def holds(mine, its, within):
    async with mine:
        await asyncio.sleep(0)
        if within:
            await asyncio.wait_for(its.acquire(), within)
        else:
            async with its: pass
async def main(within):
    a, b = asyncio.Lock(), asyncio.Lock()
    await asyncio.gather(holds(a, b, None), holds(b, a, within))
def hangs(): asyncio.run(main(%s))
begin(hangs)"""
        circles, waits = self.seen(program % None, "Task-2 likely", "Task-3 likely")
        self.assertEqual([["Task-2", "Task-3"]], [sorted(circle) for circle in circles])
        circles, _ = self.seen(program % 1000, "Task-2 likely", "Task-3 likely")
        self.assertEqual([], circles)


if __name__ == "__main__":
    unittest.main()
