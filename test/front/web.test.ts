import { cpSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { dirname, join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { type Begun, openRig, type Rig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** Web servers as people start them, under `imago run`: reloaders, and workers that come and go. */
const test = suite('web servers', { limitMs: 120_000 })

let rig: Rig
let client: DaemonClient
let server: Begun | undefined
test.before.each(async () => {
  rig = openRig({ policy: '[[rule]]\ndecision = "allow"\ntool = "edit_file"\n' })
  await rig.serve()
  client = await rig.connect()
})
test.after.each(async () => {
  server?.child.kill('SIGTERM')
  await server?.ended
  await rig.close()
})

/** One call that names no kernel, as whoever made it is shown it. */
async function asked(tool: string, args: Readonly<Record<string, unknown>> = {}) {
  const envelope = await client.call({ tool, args })
  const { text } = await client.request('show', { tool, envelope })
  return { ok: envelope.ok, text }
}

const write = (name: string, source: string) => writeFileSync(join(rig.project, name), source)

/**
 * Has such a server run at a port of the system's choice, and waits until it answers; its answer, and what asks it for a
 * path, where it has said last that it is.
 */
async function served(words: readonly string[], path: string) {
  const begun = rig.begin(['run', '--', venvPython, ...words], { env: { PYTHONUNBUFFERED: '1' } })
  server = begun
  const ask = async (path: string) => {
    const said = [...`${begun.so.stdout}${begun.so.stderr}`.matchAll(/http:\/\/127\.0\.0\.1:(\d+)/g)]
    const port = said.at(-1)?.[1]
    return port === undefined ? undefined : answerOf(Number(port), path)
  }
  let answer: string | undefined
  await until(async () => {
    answer = await ask(path)
    return answer !== undefined
  }, 'the server to answer')
  return { ask, answer }
}

/** Status and text of the answer; undefined where nobody gives one. */
function answerOf(port: number, path: string): Promise<string | undefined> {
  return new Promise(resolve => {
    const request = get({ port, path, host: '127.0.0.1', agent: false, timeout: 30_000 }, response => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.on('end', () => resolve(`${response.statusCode} ${body}`))
      response.on('error', () => resolve(undefined))
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(undefined))
  })
}

/** Calls until that is what is shown. */
async function comesToShow(expected: RegExp, tool: string, args: Readonly<Record<string, unknown>> = {}) {
  let last = ''
  await until(async () => {
    last = (await asked(tool, args)).text
    return expected.test(last)
  }, `${tool} to show ${expected}`).catch(({ message }) => {
    throw new Error(`${message}; it showed: ${last}; the server said: ${server?.so.stderr}`)
  })
  return last
}

const SOURCE = { symbols: ['app.total'] }

test('uvicorn --reload: the child that serves is the program, and is followed; a reload that fails says why', async () => {
  const app = (result: string) =>
    [
      'from fastapi import FastAPI',
      '',
      'app = FastAPI()',
      '',
      '@app.get("/total")',
      'async def show(n: int):',
      '    return total(n)',
      '',
      'def total(n):',
      `    return ${result}`,
      '',
    ].join('\n')
  write('app.py', app('n * 2'))
  const { ask } = await served(
    ['-m', 'uvicorn', 'app:app', '--reload', '--reload-delay', '0.1', '--port', '0'],
    '/total?n=2',
  )
  const listed = await asked('kernels')
  assert.match(listed.text, /^ +project-\d+ +starts the program again/m)
  assert.match(listed.text, /^ +project +listens, not attached/m)
  const before = await asked('symbol_definition', SOURCE)
  assert.match(before.text, /n \* 2/)
  assert.match(before.text, /was attached/)

  // Of another length: Python takes bytecode for that of a source of the same second and the same length.
  write('app.py', app('n + n + n'))
  await until(async () => (await ask('/total?n=2')) === '200 6', 'uvicorn to reload')
  const after = await asked('symbol_definition', SOURCE)
  assert.match(after.text, /n \+ n \+ n/)
  assert.match(after.text, /another process since your last call/)

  write('app.py', app('n *'))
  const failed = await comesToShow(/did not come back: SyntaxError/, 'symbol_definition', SOURCE)
  assert.match(failed, /app\.py:10/)
  assert.match((await asked('read_file', { path: 'app.py' })).text, /return n \*$/m)

  // One that is joined before it fails says why as well.
  const late = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nraise ValueError('late')\n"
  write('app.py', app('n * 5') + late)
  await comesToShow(/n \* 5/, 'symbol_definition', SOURCE)
  write('go', '')
  await comesToShow(/did not come back: ValueError: late/, 'symbol_definition', SOURCE)

  write('app.py', app('n * 4'))
  await comesToShow(/n \* 4/, 'symbol_definition', SOURCE)
  assert.match((await asked('kernels')).text, /^\* project +ready/m)
})

test('uvicorn main:app: the module is looked at though the launcher has a function main, and code awaits on its loop', async () => {
  write(
    'main.py',
    [
      'import asyncio',
      'queue, seen = asyncio.Queue(), []',
      'async def send(n):',
      '    done = asyncio.get_running_loop().create_future()',
      '    await queue.put((n, done))',
      '    return await done',
      'async def work():',
      '    while True:',
      '        n, done = await queue.get()',
      '        done.set_result(f"sent {n}")',
      'async def app(scope, receive, send):',
      '    if scope["type"] == "lifespan":',
      '        seen.append(asyncio.create_task(work()))',
      '        await receive()',
      '        await send({"type": "lifespan.startup.complete"})',
      '        await receive()',
      '    else:',
      '        await send({"type": "http.response.start", "status": 200, "headers": []})',
      '        await send({"type": "http.response.body", "body": b"served"})',
      '',
    ].join('\n'),
  )
  await served([join(dirname(venvPython), 'uvicorn'), 'main:app', '--port', '0'], '/')
  assert.match((await asked('inspect', { expr: 'main.seen' })).text, /^list[\s\S]*len 1/)
  assert.match((await asked('symbol_definition', { names: ['main.send'] })).text, 'create_future')
  assert.match((await asked('list_globals')).text, /modules that have names: main\n/)
  assert.match((await asked('eval_expr', { expr: 'import main\nawait main.send(3)' })).text, "'sent 3'")
})

const LOADS = 'load_file {"path":"main.py","names":["app"]} loads app.'

for (const [how, more, loads] of [
  ['once', '', `: ${LOADS}`],
  [
    'with a reloader, whose child serves',
    ', reload=True',
    ' until started again, which a reloader does by itself.',
  ],
] as const)
  test(`a main.py that has uvicorn load it again (${how}) has its names told apart from those that serve`, async () => {
    write(
      'main.py',
      [
        'import uvicorn',
        'hits = [0]',
        'async def app(scope, receive, send):',
        '    hits[0] += 1',
        '    await send({"type": "http.response.start", "status": 200, "headers": []})',
        '    await send({"type": "http.response.body", "body": b"served"})',
        'if __name__ == "__main__":',
        `    uvicorn.run("main:app", port=0, lifespan="off"${more})`,
        '',
      ].join('\n'),
    )
    await served(['main.py'], '/')
    const own = (await asked('inspect', { expr: 'hits[0]' })).text
    assert.match(own, /`main\.hits` is another one: `__main__` and `main` are one file[\s\S]*repr: 0/)
    const serving = (await asked('inspect', { expr: 'main.hits[0]' })).text
    assert.match(serving, /repr: [1-9]/)
    assert.not.match(serving, 'another one')
    assert.match((await asked('describe_symbol', { name: 'app' })).text, '`main.app` is another one')
    assert.not.match((await asked('inspect', { expr: 'uvicorn' })).text, 'another one')
    const twice = 'one: `__main__` and `main` are one file, which is loaded twice'
    const ran = (await asked('eval_expr', { expr: 'hits[0]' })).text
    assert.match(ran, `note: \`main.hits\` is another ${twice}`)
    const raised = (await asked('eval_expr', { expr: '(lambda: hits.add(1))()' })).text
    assert.match(raised, /AttributeError[\s\S]*`main\.hits` is another one/)
    for (const expr of ['1 + 1', 'uvicorn', '"".hits if 0 else 1', 'import main\nmain.hits'])
      assert.not.match((await asked('eval_expr', { expr })).text, 'another one', expr)
    const shell = await rig.imago(['eval', '[hits, app]'])
    assert.match(shell.stderr, '`main.hits`, `main.app` are others: `__main__` and `main` are one file')
    const supervisor = Number(
      /project-(\d+) +starts the program/.exec((await asked('kernels')).text)?.[1] ?? 0,
    )
    assert.is(supervisor !== 0, more !== '')
    // So that the notice comes before the reload.
    if (supervisor !== 0) process.kill(supervisor, 'SIGSTOP')
    const edit = { path: 'main.py', old_str: 'b"served"', new_str: 'b"sold"' }
    const edited = await asked('edit_file', edit).finally(
      () => supervisor !== 0 && process.kill(supervisor, 'SIGCONT'),
    )
    assert.match(edited.text, `runs what it loaded before of main.py${loads}`)
  })

test('of two gunicorn workers the one that was chosen is followed when it is recycled, and not to the other', async () => {
  write(
    'app.py',
    [
      'def app(environ, start_response):',
      '    start_response("200 OK", [])',
      '    return [b"served"]',
      '',
    ].join('\n'),
  )
  await served(['-m', 'gunicorn', 'app:app', '-w', '2', '-b', '127.0.0.1:0'], '/')
  const workers = await comesToShow(/listens[\s\S]*listens/, 'kernels')
  const [first = '', second = ''] = [...workers.matchAll(/^ +(project-\d+) +listens/gm)].map(
    ([, name]) => name,
  )
  const ownPid = { expr: '__import__("os").getpid()' }
  const unsure = await asked('eval_expr', ownPid)
  assert.is(unsure.ok, false)
  assert.match(unsure.text, first)
  assert.match(unsure.text, second)
  assert.match((await asked('threads')).text, 'Attached for this call: project (process')

  const [chosen, other] = [first, second].map(name => Number(name.split('-')[1]))
  assert.match((await asked('attach', { name: first })).text, `process ${chosen}`)
  assert.match((await asked('eval_expr', ownPid)).text, new RegExp(`^${chosen}$`, 'm'))
  process.kill(chosen ?? 0, 'SIGTERM')
  const next = await comesToShow(new RegExp(`^(?!${chosen}$)\\d+$`, 'm'), 'eval_expr', ownPid)
  assert.match(next, /another process since your last call/)
  assert.not.match(next, new RegExp(`^${other}$`, 'm'))
})

/** The processes of the kernels that live, by their names. */
async function pids(): Promise<Readonly<Record<string, number>>> {
  const envelope = await client.call({ tool: 'kernels', args: {} })
  if (!envelope.ok) throw new Error(envelope.error.message)
  const { kernels } = envelope.result as { kernels: { name: string; state: string; pid: number | null }[] }
  const living = kernels.filter(({ state }) => state !== 'supervisor' && state !== 'ended')
  return Object.fromEntries(living.map(({ name, pid }) => [name, pid ?? 0]))
}

/** Both workers, once neither is one of those. */
async function bothBut(...before: readonly number[]): Promise<readonly [number, number]> {
  let [first = 0, second = 0]: readonly number[] = []
  await until(
    async () => {
      const { project = 0, 'project/2': other = 0 } = await pids()
      ;[first, second] = [project, other]
      return [first, second].every(pid => pid !== 0 && !before.includes(pid))
    },
    `both to be others than ${before.join(', ')}`,
  )
  return [first, second]
}

const ALL = { kernel: 'project/*' }

test('two gunicorn workers are asked and traced at once; one that is recycled is followed while the other lives on, and so are both at once', async () => {
  write(
    'app.py',
    [
      'import os',
      'pid, rate = os.getpid(), 2',
      'def app(environ, start_response):',
      '    start_response("200 OK", [])',
      '    return [str(pid).encode()]',
      '',
    ].join('\n'),
  )
  const words = ['-m', 'gunicorn', 'app:app', '-w', '2', '--max-requests', '1']
  const { ask, answer } = await served([...words, '-b', '127.0.0.1:0'], '/')
  // Its first answer recycles one of them, which may live on for a moment.
  const gone = Number(answer?.split(' ')[1])
  await until(async () => {
    const living = Object.values(await pids())
    return living.length === 2 && !living.includes(gone)
  }, 'both to listen')
  assert.match((await asked('kernels')).text, 'look at all of project')
  const begun = await asked('inspect', { expr: 'app.pid' })
  assert.match(
    begun.text,
    /notice: Attached for this call: project \(process \d+\), project\/2 \(process \d+\)\./,
  )
  const [first, second] = await bothBut()
  assert.match(
    begun.text,
    new RegExp(`^project:\\n[^]*${first}[^]*^project/2:\\n[^]*${second}[^]*^the same in all 2:`, 'm'),
  )
  assert.match(
    (await asked('inspect', { expr: 'app.rate', ...ALL })).text,
    'the same in all 2 (project, project/2):',
  )
  assert.match(
    (await asked('eval_expr', { expr: '1', ...ALL })).text,
    /stands for all of them: project, project\/2/,
  )

  assert.match(
    (await asked('edit_file', { path: 'app.py', old_str: ', 2', new_str: ', 3' })).text,
    'project, project/2 still run what they loaded before of app.py: load_file {"path":"app.py","kernel":"project"} loads the file.',
  )

  assert.is((await asked('trace_function', { name: 'app.app', ...ALL })).ok, true)
  const answered = Number((await ask('/'))?.split(' ')[1])
  assert.ok([first, second].includes(answered))
  const lives = answered === first ? second : first
  await until(
    async () => !Object.values(await pids()).includes(answered),
    'the one that answered to be recycled',
  )
  const [third, fourth] = await bothBut(answered)
  assert.is(answered === first ? fourth : third, lives)
  const traces = await asked('trace_calls', ALL)
  assert.match(traces.text, 'no tracepoints')
  assert.match(traces.text, 'on, 0 calls of 10 so far')
  assert.match(traces.text, `(${answered} has ended, `)
  assert.not.match(traces.text, `(${lives} has ended, `)
  const untraced = await asked('untrace_function', { tracepoint: 't1', ...ALL })
  assert.match(untraced.text, 'removed, 0 calls of 10')
  assert.match(untraced.text, /not_found: There is no tracepoint t1/)

  const parent = (await client.call({ tool: 'kernels', args: {} })) as {
    result?: { kernels: readonly { state: string; pid: number }[] }
  }
  const master = parent.result?.kernels.find(({ state }) => state === 'supervisor')?.pid
  process.kill(master ?? 0, 'SIGHUP')
  const both = await bothBut(third, fourth)
  assert.is(new Set(both).size, 2)
  const now = await asked('inspect', { expr: 'app.pid', ...ALL })
  assert.match(now.text, new RegExp(`^project:\\n[^]*${both[0]}[^]*^project/2:\\n[^]*${both[1]}`, 'm'))
  for (const [index, before] of [third, fourth].entries())
    assert.match(now.text, `(${before} has ended, ${both[index]} took its place)`)
})

test('Django’s runserver: a request that fails is told, and a reload that fails as the error of its thread', async () => {
  cpSync(join(PACKAGE_ROOT, 'examples/demos/web'), rig.project, { recursive: true })
  const { ask } = await served(['manage.py', 'runserver', '127.0.0.1:0'], '/orders/7')
  assert.match((await ask('/orders/8')) ?? '', /^500 /)
  const error = await asked('get_last_error')
  assert.match(error.text, /KeyError: None/)
  assert.match(error.text, 'request GET /orders/8')
  assert.match((await asked('kernels')).text, /starts the program again/)

  write('shop/orders.py', 'def total(order) return 1\n')
  const failed = /thread django-main-thread has ended with SyntaxError: /
  await comesToShow(failed, 'inspect', { expr: 'shop.orders.total' })
  await comesToShow(/SyntaxError[\s\S]*thread django-main-thread[\s\S]*orders\.py", line 1/, 'get_last_error')
  // What is saved before Django's reloader has looked at the file that failed, it does not notice.
  const isLookedAt = `any("orders.py" in str(path) for frame in __import__("sys")._current_frames().values()
    for path in list(frame.f_locals.get("mtimes", ())))`
  await comesToShow(/^True$/m, 'eval_expr', { expr: isLookedAt })
  write('shop/orders.py', 'def total(order): return 1\ndef show(request, number): return 1 / 0\n')
  await until(async () => (await ask('/orders/7'))?.startsWith('500') === true, 'Django to be back')
  assert.match((await asked('get_last_error')).text, /ZeroDivisionError/)
  assert.match((await asked('kernels')).text, /^\* project +ready/m)
})
