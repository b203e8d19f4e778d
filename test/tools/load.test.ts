import { job as jobTool } from '../../tools/job.ts'
import { loadFile, reload } from '../../tools/load.ts'
import { ok } from '../../tools/outcome.ts'
import { showError } from '../../tools/show.ts'
import type { Evaluated, Evaluation, Loaded, Watcher } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { context, errorOf, job, RAISED, resultOf, run } from './context.ts'

const test = suite('load')

const LOADED: Loaded = {
  module: 'shop.orders',
  file: '/project/shop/orders.py',
  added: ['ship'],
  replaced: ['Order', 'total'],
  kept: ['old_rate'],
  skipped: ['The block under if __name__ == "__main__" was not run.'],
  survivors: [
    { name: 'Order', kind: 'class', instances: 2, held_by: [] },
    { name: 'Gift', kind: 'class', instances: 0, held_by: ['shop.kinds (a list)'] },
    {
      name: 'total',
      kind: 'function',
      instances: null,
      held_by: ['shop.web.handlers (a dict)', 'a closure of late'],
    },
  ],
  omitted: 0,
  complete: true,
}
const DONE: Evaluated = { type: 'done', values: [], elapsed_ms: 3, loaded: LOADED }

/** A kernel that ends whatever it is given like this, having printed a line. */
function ending(evaluated: Evaluated) {
  const seen: Evaluation[] = []
  const evaluate = async (evaluation: Evaluation, watcher: Watcher) => {
    seen.push(evaluation)
    watcher.on?.({ type: 'output', stream: 'stdout', text: 'loading\n' })
    return evaluated
  }
  return { kernel: { evaluate }, seen }
}

test('a file is sent as an absolute path, with the names that were asked for', async () => {
  const { kernel, seen } = ending(DONE)
  await run(loadFile, { path: 'shop/orders.py' }, { kernel })
  await run(loadFile, { path: '/srv/other.py', names: ['total', 'Order'] }, { kernel })
  await run(reload, { module: 'shop.orders' }, { kernel })
  const { call } = context()
  assert.equal(seen, [
    { call, who: 'test', work: { type: 'load', file: '/project/shop/orders.py' } },
    { call, who: 'test', work: { type: 'load', file: '/srv/other.py', names: ['total', 'Order'] } },
    { call, who: 'test', work: { type: 'reload', module: 'shop.orders' } },
  ])
})

test('what was added, replaced, left and skipped is said, and in plain words what of the old lives on', async () => {
  const result = resultOf(await run(loadFile, { path: 'shop/orders.py' }, ending(DONE)))
  assert.equal(result.loaded, LOADED)
  assert.is(result.stdout, 'loading\n')
  assert.is(
    loadFile.show(result),
    [
      'loaded /project/shop/orders.py into shop.orders, 3 ms',
      'added: ship',
      'replaced: Order, total',
      'left as they were, though the new text does not define them: old_rate',
      'not run: The block under if __name__ == "__main__" was not run.',
      'still alive: 2 instances of the old class Order',
      'still alive: the old class Gift is still held by shop.kinds (a list)',
      'still alive: the old function total is still held by shop.web.handlers (a dict); a closure of late',
      'stdout:',
      'loading',
    ].join('\n'),
  )
})

test('what an earlier load has replaced, and still lives on, is said as that', async () => {
  const survivors = [
    { name: 'Order', kind: 'class', instances: 2, held_by: [], loads_ago: 1 },
    { name: 'total', kind: 'function', instances: null, held_by: ['shop.web.total'], loads_ago: 2 },
  ] as const
  const result = resultOf(
    await run(reload, { module: 'shop.orders' }, ending({ ...DONE, loaded: { ...LOADED, survivors } })),
  )
  const shown = reload.show(result)
  assert.match(shown, 'still alive: 2 instances of the old class Order of 1 load before\n')
  assert.match(
    shown,
    'still alive: the old function total of 2 loads before is still held by shop.web.total\n',
  )
})

test('what is not known is said: names left out, a search that was ended early, an image that does not tell', () => {
  const none = { ...LOADED, module: null, added: [], replaced: [], kept: [], skipped: [], survivors: [] }
  const printed = { stdout: '', stderr: '', output: '', truncated: false, elapsed_ms: 3 }
  assert.is(
    reload.show({ loaded: { ...none, omitted: 1, complete: false }, ...printed }),
    'loaded /project/shop/orders.py at the top level, 3 ms\nno name was added or replaced\n' +
      'the search for old objects was ended early; there may be more\n1 more name not shown',
  )
  const { elapsed_ms: _, ...silent } = printed
  assert.is(reload.show({ loaded: null, ...silent, elapsed_ms: 7 }), 'done, 7 ms')
})

test('a file that raises is a failure as of any code, and says what stays done', async () => {
  const error = errorOf(
    await run(loadFile, { path: 'a.py' }, ending({ type: 'raised', exception: RAISED, elapsed_ms: 1 })),
  )
  assert.is(error.code, 'exception')
  assert.match(error.message, 'ZeroDivisionError')
  assert.is(error.details.stdout, 'loading\n')
  assert.match(error.next ?? '', 'stays done')
  const other = errorOf(
    await run(reload, { module: 'm' }, ending({ type: 'raised', exception: RAISED, elapsed_ms: 1 })),
  )
  assert.match(other.next ?? '', 'reload')
  assert.is(errorOf(await run(reload, { module: 'm' }, ending({ type: 'withdrawn' }))).code, 'withdrawn')
})

test('a failure before anything of the file ran does not speak of what ran, and says its one line once', async () => {
  const exception = { ...RAISED, frames: [], traceback: 'ZeroDivisionError: division by zero\n' }
  const error = errorOf(
    await run(loadFile, { path: 'a.py' }, ending({ type: 'raised', exception, elapsed_ms: 1 })),
  )
  assert.is(error.next, null)
  assert.is(showError(error), 'exception: ZeroDivisionError: division by zero\nstdout:\nloading')
})

test('loading runs code, and a person approves the file and the names', () => {
  for (const tool of [loadFile, reload]) assert.is(tool.level, 'cautious')
  assert.match(reload.preview({ module: 'm' }).title, 'Runs the source of m again')
})

test('a load that outlived its caller reads the same as a job', async () => {
  const outcome = await run(loadFile, { path: 'shop/orders.py' }, ending(DONE))
  const ended = job({ tool: 'load_file', outcome: ok(resultOf(outcome)) })
  const result = resultOf(await run(jobTool, { job: 'job-1' }, { jobs: [ended] }))
  assert.match(
    jobTool.show(result),
    /^loaded \/project\/shop\/orders\.py into shop\.orders, 3 ms\nadded: ship/,
  )
})
