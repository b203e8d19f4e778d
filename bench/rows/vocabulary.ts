import { sharedGround } from '../ground.ts'
import { interleaved, median, percentile, type Row } from '../row.ts'

/** An image as it is after some work: ten thousand names, the modules that people import, objects with fields. */
const IMAGE = `
import asyncio, collections, datetime, json, logging, os, pathlib, re, subprocess, sys, threading, types
globals().update({f'name_{number:05}': number for number in range(10_000)})
class Order:
    def __init__(self, number):
        self.number, self.customer, self.lines = number, 'Ann', [1, 2]
    def total(self, rate, rounded=True):
        return 0
orders = [Order(number) for number in range(1000)]
table = {f'column_{number}': number for number in range(1000)}
`
const PLACES = [
  'nam',
  'orders[0].cust',
  'os.path.jo',
  "table['column_9",
  'orders[0].total(1, ro',
  'import collections.a',
  'for order in orders:\n    print(order.number, sub',
]

/** One image for both rows: names, objects and tasks. */
const ground = sharedGround(async daemon => {
  await daemon.call('eval_expr', { expr: IMAGE })
  await daemon.call('eval_expr', { expr: TASKS })
  for (const text of PLACES) await daemon.call('complete', { text })
})

export const completion: Row = {
  what: 'completion from the image, p99',
  how: `${PLACES.length} places (a name among 10⁴, attributes, a key among 10³, a parameter, an import), 100 times each in turn, \`complete\` through the daemon; time to the answer`,
  bar: { relation: '≤', limit: 10, unit: 'ms' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const bodies = PLACES.map(text => () => ground.daemon.call('complete', { text }))
    const times = (await interleaved({ blocks: 20, each: 5 }, ...bodies)).flat()
    const [p50_ms, p99_ms] = [median(times) / 1000, percentile(times, 0.99) / 1000]
    return { figure: p99_ms, parts: { p50_ms, p99_ms, worst_ms: Math.max(...times) / 1000 } }
  },
}

/** A loop on a thread with a thousand tasks, which wait at ten places in stacks of three frames. */
const TASKS = `
import asyncio, threading
def _tasks():
    async def wait(place, number):
        await asyncio.sleep(3600)
    async def job(place, number):
        held = {'place': place, 'number': number}
        await wait(place, number)
    async def main(place, number):
        await job(place, number)
    places = []
    for place in range(10):
        scope = {'asyncio': asyncio}
        exec(f'async def stage_{place}(inner, number):\\n    await inner({place}, number)', scope)
        places.append(scope[f'stage_{place}'])
    async def run():
        tasks = [asyncio.ensure_future(places[number % 10](main, number)) for number in range(1000)]
        ready.set()
        await asyncio.gather(*tasks)
    ready = threading.Event()
    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    ready.wait()
_tasks()
`

export const threadsMany: Row = {
  what: '`threads` on 1,000 asyncio tasks',
  how: 'the tasks wait at ten places in stacks of five frames, with locals; 20 times through the daemon, median of the time to the answer',
  bar: { relation: '≤', limit: 50, unit: 'ms' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const [times = []] = await interleaved({ blocks: 1, each: 20 }, () => ground.daemon.call('threads', {}))
    const [p50_ms, worst_ms] = [median(times) / 1000, Math.max(...times) / 1000]
    return { figure: p50_ms, parts: { p50_ms, worst_ms } }
  },
}
