"""None"""

from tests.daemon import KernelCase, until

class Awaiting(KernelCase):
    def test_await_at_top_level_gives_the_value(self):
        self.assertEqual(self.link.value('import asyncio\nawait asyncio.sleep(0, "slept")'), "'slept'")

    def test_statements_before_an_awaited_value_and_loops_may_await(self):
        source = 'import asyncio\ntotal = 0\nfor n in range(3):\n    total += await asyncio.sleep(0, n)\ntotal'
        self.assertEqual(self.link.value(source), '3')

    def test_a_task_goes_on_while_nothing_is_evaluated(self):
        self.link.evaluate(
            'import asyncio\nticks = []\nasync def tick():\n    while True:\n        ticks.append(1)\n'
            '        await asyncio.sleep(0.001)\n'
            'async def begin():\n    return asyncio.create_task(tick())\ntask = await begin()'
        )
        before = int(self.link.value('len(ticks)'))
        until(lambda: int(self.link.value('len(ticks)')) > before + 5)
        self.link.evaluate('task.cancel()')

    def test_all_evaluations_share_one_loop(self):
        self.link.evaluate(
            'import asyncio\nasync def which():\n    return asyncio.get_running_loop()\n'
            'first = await which()'
        )
        self.assertEqual(self.link.value('(await which()) is first'), 'True')

    def test_a_last_expression_after_an_await_runs_on_the_loop_too(self):
        source = 'import asyncio\nawait asyncio.sleep(0)\nasyncio.create_task(asyncio.sleep(0, "made"))'
        self.assertIn('Task', self.link.value('task = None\n' + source))
        self.assertEqual(self.link.value(source.replace('asyncio.create', 'task = asyncio.create') + '\nawait task'), "'made'")

    def test_a_future_that_was_made_before_the_first_await_is_run_by_it(self):
        self.link.evaluate('import asyncio\nfuture = asyncio.ensure_future(asyncio.sleep(0, "run"))')
        self.assertEqual(self.link.value('await future'), "'run'")

    def test_asyncio_run_works_beside_it(self):
        self.link.evaluate('import asyncio\nawait asyncio.sleep(0)')
        self.assertEqual(self.link.value('asyncio.run(asyncio.sleep(0, 5))'), '5')
        self.assertEqual(self.link.value('await asyncio.sleep(0, 6)'), '6')

    def test_an_exception_of_awaited_code_names_its_frames_only(self):
        source = (
            'import asyncio\nasync def inner():\n    await asyncio.sleep(0)\n    raise ValueError("v")\n'
            'await inner()'
        )
        functions = [frame['function'] for frame in self.raised(source)['frames']]
        self.assertEqual(functions, ['<module>', 'inner'])

    def test_interrupting_an_awaiting_evaluation_cancels_its_task(self):
        call = self.link.start(
            'import asyncio\ntold = []\nasync def wait():\n    try:\n        print("waiting")\n'
            '        await asyncio.sleep(3600)\n    finally:\n        told.append("finally")\nawait wait()'
        )
        call.until_printed('waiting')
        call.cancel()
        outcome = call.answer()
        self.assertEqual(outcome['type'], 'interrupted')
        self.assertEqual(outcome['exception']['type']['name'], 'KeyboardInterrupt')
        self.assertEqual(self.link.value('told'), "['finally']")
        self.assertEqual(self.link.value('await asyncio.sleep(0, 1)'), '1')

    def test_a_busy_coroutine_can_be_interrupted_too(self):
        call = self.link.start('import asyncio\nasync def busy():\n    print("on")\n    while True: pass\nawait busy()')
        call.until_printed('on')
        call.cancel()
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.assertEqual(self.link.value('await asyncio.sleep(0, 1)'), '1')

    def test_a_task_that_exits_does_not_end_the_kernel(self):
        self.link.evaluate(
            'import asyncio\nasync def leave():\n    raise SystemExit(1)\n'
            'async def begin():\n    global gone\n    gone = asyncio.create_task(leave())\nawait begin()'
        )
        self.assertEqual(self.link.value('1'), '1')
        self.assertEqual(self.link.value('await asyncio.sleep(0, 2)'), '2')

    def test_a_loop_that_user_code_closed_is_made_anew(self):
        self.link.evaluate(
            'import asyncio\nasync def mine():\n    return asyncio.get_running_loop()\n'
            'loop = await mine()'
        )
        self.link.evaluate('loop.call_soon(loop.stop); loop.run_forever(); loop.close()')
        self.assertEqual(self.link.value('await asyncio.sleep(0, 3)'), '3')

    def test_a_busy_task_of_an_earlier_call_is_not_hit_by_interrupts_of_one_that_awaits_beside_it(self):
        self.link.evaluate(
            'import asyncio, time\nasync def toil():\n    while True:\n        began = time.perf_counter()\n'
            '        while time.perf_counter() - began < 0.01: pass\n        await asyncio.sleep(0)\n'
            'async def begin():\n    return asyncio.create_task(toil())\ntask = await begin()'
        )
        for _ in range(20):
            call = self.link.start('print("on")\nawait asyncio.sleep(3600)')
            call.until_printed('on')
            self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
            self.assertEqual(call.answer()['type'], 'interrupted')
            self.assertEqual(self.link.value('task.done()'), 'False')
        self.link.evaluate('task.cancel()')

    def test_busy_tasks_that_an_evaluation_makes_are_interrupted_with_it(self):
        call = self.link.start(
            'import asyncio\nasync def busy():\n    print("on")\n    while True: pass\nawait asyncio.gather(busy())'
        )
        call.until_printed('on')
        self.assertEqual(self.link.call('interrupt', call=call.name).answer()['outcome'], 'stopped')
        self.assertEqual(call.answer()['type'], 'interrupted')
        self.assertEqual(self.link.value('1'), '1')
