import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { type Notebook, openNotebook, withImago } from '../support/notebook.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'
import { ranIn } from '../support/terminal.ts'

const test = suite('a notebook', { limitMs: 60_000 })

/** A worker that waits for ever on a lock which its module takes and does not give back. */
const STOCK = `import asyncio
lock = asyncio.Lock()

async def reserve(item):
    await lock.acquire()
    return item.upper()
`

let rig: Rig
let notebook: Notebook

test.before(async () => {
  rig = openRig({ files: { 'stock.py': STOCK } })
  notebook = await openNotebook(rig, 'my orders')
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

test('that does not listen is told apart by its process number, with the line that has it listen', async () => {
  const pid = await notebook.run('import os; os.getpid()')
  const { stdout } = await rig.imago(['call', 'kernels'])
  assert.match(
    stdout,
    `  ${pid}  does not listen  process ${pid}, a notebook\n    It is the kernel of a notebook.`,
  )
  assert.match(
    (await rig.imago(['kernels'])).stdout,
    new RegExp(`Process ${pid} \\(a notebook\\) does not listen: .* %load_ext imago`),
  )
  assert.not.match((await rig.imago(['kernels'], { cwd: '/tmp' })).stdout, pid)
  const refused = await rig.imago(['attach', pid])
  assert.is(refused.code, 4)
  assert.match(
    refused.stderr,
    /lives and does not listen .*\n.*kernel of a notebook\. In a cell of it: %load_ext imago/,
  )
})

test('is attached by %load_ext imago under its own name, and evaluates in the main thread, among the names of the person', async () => {
  await notebook.run('x = {"a": 1}')
  assert.match(await notebook.run('%load_ext imago'), 'imago attach my-orders')
  const attached = await rig.imago(['attach', 'my-orders'])
  assert.is(attached.code, 0, attached.stderr)
  const answer = await call('eval_expr', {
    expr: 'import threading\nprint("for the model")\nx["b"] = threading.current_thread() is threading.main_thread()\nx',
  })
  assert.match(answer, "{'a': 1, 'b': True}")
  assert.match(answer, 'for the model')
  assert.is(await notebook.run('x'), "{'a': 1, 'b': True}")
})

test('keeps its numbers, its outputs and its last value: what a model evaluates is none of the cells of the person', async () => {
  const number = Number(await notebook.run('len(In)'))
  await notebook.run('40 + 2')
  await call('eval_expr', { expr: '"of the model"' })
  assert.is(await notebook.run('_'), '42')
  assert.is(await notebook.run('len(In), max(Out)'), `(${number + 3}, ${number + 1})`)
})

test('tells who ran what: the cells of the person, with their numbers, and the calls of others', async () => {
  await notebook.run('class Order:\n    pass')
  await notebook.run('1 / 0')
  await call('eval_expr', { expr: '6 * 7' })
  const history = await call('get_repl_history')
  assert.match(history, /imago call.*done[\s\S]*6 \* 7[\s\S]*→ 42/)
  assert.match(history, /the person, In \[\d+\].*raised[\s\S]*1 \/ 0[\s\S]*ZeroDivisionError/)
  assert.match(history, /the person, In \[\d+\].*done[\s\S]*class Order/)
  const error = await call('get_last_error')
  assert.match(error, /^ZeroDivisionError: .*\nerror 1 of the program, cell In \[\d+\]: uncaught/)
  assert.not.match(error, 'interactiveshell')
  assert.match(await call('symbol_definition', { symbols: ['Order'] }), 'class Order:')
})

test('tells what its threads and the cells of the person fail with as errors of the program, and whose a cell was', async () => {
  await notebook.run('import threading\nfailed = threading.Thread(target=lambda: {}["tea"], name="till")')
  await notebook.run('failed.start()\nfailed.join()')
  await notebook.run('2 / 0')
  const { stdout } = await rig.imago(['errors', '--kernel', 'my-orders'])
  assert.match(
    stdout,
    /#2 .*thread till {2}KeyError: 'tea'.*\n#3 .*cell In \[\d+\] {2}ZeroDivisionError: .*:1\n$/,
  )
  assert.not.match(await call('get_last_error'), 'evaluated since')
  assert.match(await call('get_last_error', { whose: 'callers' }), /by the person, In \[\d+\]/)
})

test('awaits on the loop of the notebook itself', async () => {
  await notebook.run('import asyncio\nloop = asyncio.get_running_loop()')
  const expr = 'await asyncio.sleep(0.01)\nasyncio.get_running_loop() is loop'
  assert.match(await call('eval_expr', { expr }), 'True')
})

test('is busy while a cell of the person runs: an evaluation waits its turn, and looking works all the while', async () => {
  await notebook.begin('import os, time\nn = 1\nwhile not os.path.exists("go"): time.sleep(0.1)\nn = 2')
  await until(
    async () => (await call('threads', { filter: 'MainThread' })).includes('time.sleep(0.1)'),
    'the cell to run',
  )
  assert.match(await call('list_globals', { filter: 'n' }), /^n: int/m)
  const client = await rig.connect()
  const waiting = await client.call({
    tool: 'eval_expr',
    args: { expr: 'n', kernel: 'my-orders', patience: 0 },
  })
  const { job } = (waiting.ok && waiting.result) as { job: string }
  writeFileSync(join(rig.project, 'go'), '')
  const ended = await client.call({ tool: 'job', args: { job, action: 'wait', seconds: 60 } })
  assert.match(JSON.stringify(ended), '"text":"2"')
})

test('lets go with %unload_ext, and can be attached again', async () => {
  await notebook.run('kept = 1')
  await notebook.run('%unload_ext imago')
  const { kernels } = JSON.parse((await rig.imago(['kernels', '--json'])).stdout).result
  assert.not.ok(kernels.some((row: { state: string }) => row.state === 'ready'))
  await notebook.run('%load_ext imago')
  await rig.imago(['detach', 'my-orders'])
  assert.is((await rig.imago(['attach', 'my-orders'])).code, 0)
  assert.match(await call('eval_expr', { expr: 'kept' }), /^1$/m)
})

test('has its stuck task found, its module mended on disk and in the image, and goes on, whatever becomes of the daemon', async () => {
  await notebook.run('import asyncio, stock')
  await notebook.run(
    'tasks = [asyncio.create_task(stock.reserve(name), name=f"reserve {name}") for name in ("tea", "milk")]',
  )
  let stuck = ''
  await until(async () => {
    stuck = await call('threads', { filter: 'stock.py' })
    return stuck.includes('await lock.acquire()')
  }, 'a task to be stuck')
  assert.match(stuck, 'reserve milk')
  assert.match(await call('inspect', { expr: 'stock.lock' }), /locked/i)

  writeFileSync(
    join(rig.project, 'stock.py'),
    STOCK.replace(
      'await lock.acquire()\n    return item.upper()',
      'async with lock:\n        return item.upper()',
    ),
  )
  assert.match(await call('reload', { module: 'stock' }), 'reserve')
  await call('eval_expr', { expr: 'tasks[1].cancel()' })
  assert.is(await notebook.run('await stock.reserve("tea")'), "'TEA'")

  writeFileSync(
    join(rig.project, 'helpers.py'),
    'import stock\n\nasync def all_of(*items):\n    return [await stock.reserve(item) for item in items]\n\nraise SystemExit\n',
  )
  assert.match(await call('load_file', { path: 'helpers.py', names: ['all_of'] }), 'all_of')
  assert.is(await notebook.run('await all_of("tea", "milk")'), "['TEA', 'MILK']")

  const { pid } = (await rig.connect()).daemon
  process.kill(pid, 'SIGKILL')
  assert.is(await notebook.run('mark = 42; mark'), '42')
  await until(
    async () => (await call('eval_expr', { expr: 'mark' })).includes('42'),
    'the notebook to be joined again',
  )
})

for (const TERM of ['xterm', 'dumb'])
  test(`as an IPython terminal (${TERM}), evaluates in the main thread while the prompt waits, and leaves what is being typed alone`, async () => {
    const steps = [
      [']: ', '%load_ext imago\r'],
      ['imago attach ipython', 'kept = 6 * 7 #'],
      ['seen by the person', '\x15print(f"kept is {kept}")\r'],
      ['kept is 43', 'exit\r'],
    ]
    const script = join(PACKAGE_ROOT, 'test/support/terminal.py')
    const ipython = [venvPython, '-m', 'IPython', '--no-banner', '--quiet']
    const more = { IPYTHONDIR: join(rig.folder, 'ipython'), PROMPT_TOOLKIT_NO_CPR: '1', TERM }
    const place = { ...rig, env: { ...withImago(rig), ...more } }
    const session = ranIn(place, ['python3', script, JSON.stringify(steps), ...ipython])
    await until(async () => (await rig.imago(['attach', 'ipython'])).code === 0, 'the terminal to listen')
    const onIpython = (tool: string, args: object) =>
      rig.imago(['call', tool, JSON.stringify({ kernel: 'ipython', ...args })])
    const main = await onIpython('eval_expr', {
      expr: 'import threading\nkept = 43\nprint("not seen")\nthreading.current_thread() is threading.main_thread()',
    })
    assert.match(main.stdout, /^True$/m)
    assert.match(main.stdout, 'not seen')
    const last = 'import sys\nsys.__stdout__.write("seen by the person\\n")\nsys.__stdout__.flush()'
    await onIpython('eval_expr', { expr: last })
    const { text } = await session
    assert.match(text, 'kept is 43')
    assert.not.match(text, 'not seen')
  })
