import { assert, suite } from '../support/harness.ts'
import { type Notebook, openNotebook } from '../support/notebook.ts'
import { openRig, type Rig, until } from '../support/rig.ts'

const test = suite('a notebook that imago run has begun', { limitMs: 60_000 })

let rig: Rig
let notebook: Notebook

test.before(async () => {
  rig = openRig()
  notebook = await openNotebook(rig, 'my orders', { run: true })
})
test.after(async () => {
  await notebook.close()
  await rig.close()
})

/** One call of a tool, as a model is shown its answer. */
async function call(tool: string, args: object = {}): Promise<string> {
  const { stdout, stderr } = await rig.imago(['call', tool, JSON.stringify({ kernel: 'my-orders', ...args })])
  return stdout + stderr
}

test('listens under the name of the notebook, and shows what its cells have named', async () => {
  await notebook.run('which = "tea"\nclass Order:\n    pass')
  await until(async () => (await rig.imago(['attach', 'my-orders'])).code === 0, 'the notebook to listen')
  assert.match(await call('inspect', { expr: 'which' }), "'tea'")
  assert.match(await call('symbol_definition', { symbols: ['Order'] }), 'class Order:')
})

test('evaluates between the cells, on the loop of the notebook, and leaves what it keeps to the person', async () => {
  await notebook.run('import asyncio, threading\nloop = asyncio.get_running_loop()')
  await notebook.run('40 + 2')
  const expr =
    'await asyncio.sleep(0)\nasyncio.get_running_loop() is loop, threading.current_thread() is threading.main_thread()'
  assert.match(await call('eval_expr', { expr }), '(True, True)')
  assert.is(await notebook.run('_'), '42')
})

test('tells what a cell has failed with, and none that a person stopped', async () => {
  await notebook.run('raise KeyboardInterrupt')
  assert.match((await rig.imago(['errors'])).stdout, 'No error of the program has reached Imago')
  await notebook.run('1 / 0')
  assert.match(
    (await rig.imago(['errors'])).stdout,
    /^#1 {2}.* {2}cell In \[\d+\] {2}ZeroDivisionError: division by zero {2}\S*:1\n$/,
  )
  const error = await call('get_last_error', { whose: 'callers' })
  assert.match(error, /ZeroDivisionError[\s\S]*the person, In \[\d+\]/)
})

test('lists what the person has named, and says how many names are of IPython', async () => {
  await notebook.run('open = "a name of the person"')
  const names = await call('list_globals')
  assert.match(names, /^which: str$/m)
  assert.match(names, /^open: str$/m)
  assert.match(names, /; \d+ names of IPython are left out/)
  assert.not.match(names, /^(In|Out|_|_i\d*|_\d+|_dh|get_ipython|exit|quit): /m)
  assert.match(
    await call('list_globals', { filter: 'get_ipython' }),
    /^no names; 1 name of IPython is left out$/m,
  )
})

test('is followed by the kernel that takes its place, without a line in it', async () => {
  await notebook.restart()
  await notebook.run('which = "milk"')
  await until(
    async () => (await call('inspect', { expr: 'which' })).includes("'milk'"),
    'the restarted kernel to be followed',
  )
  assert.match(await call('eval_expr', { expr: 'which.upper()' }), "'MILK'")
})
