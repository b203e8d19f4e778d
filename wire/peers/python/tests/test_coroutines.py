"""Awaiting at the top level of a kernel: all evaluations share one loop, which is interrupted with each alone."""

from tests.daemon import LONG, KernelCase, until

WAITS = """async def wait():
    try:
        print("on")
        await asyncio.sleep(3600)
    finally:
        told.append("finally")
told = []
await wait()"""
BUSY = 'async def busy():\n    print("on")\n    while True: pass\n'
TOIL = """import time
async def toil():
    while True:
        began = time.perf_counter()
        while time.perf_counter() - began < 0.01: pass
        await asyncio.sleep(0)
async def begin():
    return asyncio.create_task(toil())
task = await begin()"""


class Awaiting(KernelCase):
    def setUp(self):
        self.link.evaluate('import asyncio')

    def test_what_is_awaited_at_top_level_gives_its_value(self):
        which = 'async def which():\n    return asyncio.get_running_loop()\nfirst = await which()'
        for before, source, value in (
            ('', 'await asyncio.sleep(0, "slept")', "'slept'"),
            ('', 'total = 0\nfor n in range(3):\n    total += await asyncio.sleep(0, n)\ntotal', '3'),
            ('', 'await asyncio.sleep(0)\ntask = asyncio.create_task(asyncio.sleep(0, "made"))\nawait task', "'made'"),
            ('future = asyncio.ensure_future(asyncio.sleep(0, "run"))', 'await future', "'run'"),
            (which, '(await which()) is first', 'True'),
            # A loop of its own beside it; and one that user code has closed is made anew.
            ('', 'asyncio.run(asyncio.sleep(0, 5))', '5'),
            ('first.call_soon(first.stop); first.run_forever(); first.close()', 'await asyncio.sleep(0, 3)', '3'),
        ):
            with self.subTest(source):
                self.link.evaluate(before)
                self.assertEqual(self.link.value(source), value)
        # The last expression after an await runs on the loop, too.
        self.assertIn('Task', self.link.value('await asyncio.sleep(0)\nasyncio.create_task(asyncio.sleep(0))'))

    def test_a_task_goes_on_while_nothing_is_evaluated(self):
        self.link.evaluate(
            'ticks = []\nasync def tick():\n    while True:\n        ticks.append(1)\n'
            '        await asyncio.sleep(0.001)\n'
            'async def begin():\n    return asyncio.create_task(tick())\ntask = await begin()'
        )
        before = int(self.link.value('len(ticks)'))
        until(lambda: int(self.link.value('len(ticks)')) > before + 5)
        self.link.evaluate('task.cancel()')

    def test_an_exception_of_awaited_code_names_its_frames_only(self):
        source = 'async def inner():\n    await asyncio.sleep(0)\n    raise ValueError("v")\nawait inner()'
        functions = [frame['function'] for frame in self.raised(source)['frames']]
        self.assertEqual(functions, ['<module>', 'inner'])

    def test_interrupting_an_evaluation_cancels_what_it_awaits_or_has_made(self):
        for source in (WAITS, BUSY + 'await busy()', BUSY + 'await asyncio.gather(busy())'):
            with self.subTest(source):
                call = self.link.start(source)
                call.until_printed('on')
                self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
                outcome = call.answer()
                self.assertEqual(outcome['type'], 'interrupted')
                self.assertEqual(outcome['exception']['type']['name'], 'KeyboardInterrupt')
                self.assertEqual(self.link.value('await asyncio.sleep(0, 1)'), '1')
        self.assertEqual(self.link.value('told'), "['finally']")

    def test_a_task_that_exits_does_not_end_the_kernel(self):
        self.link.evaluate(
            'async def leave():\n    raise SystemExit(1)\n'
            'async def begin():\n    global gone\n    gone = asyncio.create_task(leave())\nawait begin()'
        )
        self.assertEqual(self.link.value('await asyncio.sleep(0, 2)'), '2')

    def test_a_busy_task_of_an_earlier_call_is_not_hit_by_interrupts_of_one_that_awaits_beside_it(self):
        self.link.evaluate(TOIL)
        for _ in range(10 if LONG else 3):
            call = self.link.start('print("on")\nawait asyncio.sleep(3600)')
            call.until_printed('on')
            self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
            self.assertEqual(call.answer()['type'], 'interrupted')
            self.assertEqual(self.link.value('task.done()'), 'False')
        self.link.evaluate('task.cancel()')
