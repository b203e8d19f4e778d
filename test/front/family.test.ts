import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import type { Program } from '../../wire/programs.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { type Begun, openRig, type Rig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** Programs with the processes that they start, under `imago run`: which of them a call is for. */
const test = suite('families of processes', { limitMs: 150_000 })

let rig: Rig
let client: DaemonClient
test.before.each(async () => {
  rig = openRig()
  await rig.serve()
  client = await rig.connect()
})
test.after.each(() => rig.close())

const write = (name: string, lines: readonly string[]) =>
  writeFileSync(join(rig.project, name), `${lines.join('\n')}\n`)
const python = (...words: string[]): Begun => rig.begin(['run', '--', venvPython, ...words])
const announced = () =>
  readAnnouncements(rig.paths.runtimeDir).programs.filter(one => one.process === 'lives')

/** Those that listen, once there are so many, without one after the other what differs by chance. */
async function listening(count: number): Promise<readonly Program[]> {
  await until(() => announced().length === count, `${count} processes to listen`)
  return announced()
}

const roles = (programs: readonly Program[]) => programs.map(({ name, role }) => `${name} ${role}`).sort()

/** One call, as whoever made it is shown it. */
async function asked(tool: string, args: Readonly<Record<string, unknown>> = {}) {
  const envelope = await client.call({ tool, args })
  const { text } = await client.request('show', { tool, envelope })
  return text
}

const shownIn = (text: string) => Number(/repr: (-?\d+)/.exec(text)?.[1])

/** The states of the processes of the project, by name. */
async function statesOf(): Promise<readonly string[]> {
  const envelope = await client.call({ tool: 'kernels', args: {} })
  if (!envelope.ok) throw new Error(envelope.error.message)
  const { kernels } = envelope.result as { kernels: readonly { name: string; state: string }[] }
  return kernels.map(({ name, state }) => `${name} ${state}`)
}

for (const method of ['fork', 'spawn', 'forkserver'])
  test(`a trainer answers beside its loader (${method}), which is its helper; once it is killed, nobody answers in its place`, async () => {
    write('train.py', [
      'import multiprocessing as mp, time',
      'def load(queue):',
      '    number = 0',
      '    while True:',
      '        queue.put(number)',
      '        number += 1',
      'step = 0',
      'if __name__ == "__main__":',
      `    mp.set_start_method("${method}")`,
      '    queue = mp.Queue(4)',
      '    mp.Process(target=load, args=(queue,), daemon=True).start()',
      '    while True:',
      '        queue.get()',
      '        step += 1',
      '        time.sleep(0.01)',
    ])
    python('train.py')
    const both = await listening(2)
    assert.equal(roles(both), ['project main', 'project-worker helper'])
    const trainer = both.find(({ role }) => role === 'main')
    let first = 0
    await until(async () => {
      first = shownIn(await asked('inspect', { expr: 'step' }))
      return first > 0
    }, 'the trainer to have begun')
    await until(async () => shownIn(await asked('inspect', { expr: 'step' })) > first, 'the step to grow')
    const said = await asked('inspect', { expr: 'step' })
    assert.match(said, `notice: From project (process ${trainer?.pid}), and not from project-worker-`)
    assert.match(await asked('inspect', { expr: 'step', kernel: 'project/*' }), /^project-worker:$/m)
    process.kill(trainer?.pid ?? 0, 'SIGKILL')
    await until(async () => (await statesOf()).includes('project ended'), 'the trainer to have ended')
    assert.match(await asked('inspect', { expr: 'step' }), /^kernel_unavailable: project has ended/)
    // A helper that notices may end as well.
    const left = (await asked('kernels')).includes('project-worker ')
    if (left && announced().length > 0)
      assert.match(await asked('kernels'), `It was left over by project (process ${trainer?.pid})`)
  })

test('the workers of joblib and of a pool are helpers; what they start beside them is announced by nobody', async () => {
  write('search.py', [
    'import concurrent.futures, joblib, threading, time',
    'def work(number):',
    '    time.sleep(600)',
    'if __name__ == "__main__":',
    '    pool = concurrent.futures.ProcessPoolExecutor(1)',
    '    pool.submit(work, 0)',
    '    joblib.Parallel(2)(joblib.delayed(work)(number) for number in range(2))',
  ])
  python('search.py')
  assert.equal(roles(await listening(4)), [
    'project main',
    'project-worker helper',
    'project-worker helper',
    'project-worker helper',
  ])
  const worker = announced().find(({ role }) => role === 'helper')
  const ofWorker = await asked('threads', { kernel: `project-worker-${worker?.pid}` })
  assert.match(ofWorker, / listens in .* and was attached\.$/m)
  const byShared = (await asked('inspect', { expr: '__name__', kernel: 'project-worker' })).split('\n').at(-1)
  assert.match(byShared ?? '', /From project-worker \(process \d+\), and not from project-worker-\d+/)
  const ofAll = await asked('threads')
  assert.match(ofAll, 'search.py:7 in <module>')
  assert.match(ofAll, 'and was attached. Calls without a kernel go there.')
  await asked('attach', { name: `project-worker-${worker?.pid}` })
  const ofChosen = new RegExp(`From project-worker\\S* \\(process ${worker?.pid}\\), and not from .*project`)
  assert.match(await asked('inspect', { expr: '__name__' }), ofChosen)
})

test('the kernel of a notebook of marimo does the work of its server: calls go there, and none to the server', async () => {
  write('marimo.py', [
    'import multiprocessing, time',
    'def launch_kernel():',
    '    import __main__',
    '    __main__.losses = [3]',
    '    time.sleep(600)',
    'def edit():',
    '    multiprocessing.get_context("spawn").Process(target=launch_kernel, daemon=True).start()',
    '    time.sleep(600)',
  ])
  write('edit.py', ['if __name__ == "__main__":', '    import marimo', '    marimo.edit()'])
  python('edit.py')
  assert.equal(roles(await listening(2)), ['project main', 'project serves'])
  assert.match(await asked('inspect', { expr: 'losses[0]' }), /repr: 3/)
  assert.equal(
    [...(await statesOf())].sort(),
    ['project ready', `project-${announced()[0]?.pid} supervisor`].sort(),
  )
})

test('a process that replaces itself twice is listed once, and calls go to what it has become', async () => {
  write('again.py', [
    'import os, sys, time',
    'turn = int(os.environ.get("TURN", "0"))',
    'while turn < 2 and not os.path.exists(f"go-{turn}"):',
    '    time.sleep(0.02)',
    'if turn < 2:',
    '    os.environ["TURN"] = str(turn + 1)',
    '    os.execv(sys.executable, [sys.executable, *sys.argv])',
    'time.sleep(600)',
  ])
  python('again.py')
  const [before] = await listening(1)
  for (const turn of [0, 1, 2]) {
    await until(async () => shownIn(await asked('inspect', { expr: 'turn' })) === turn, `turn ${turn}`)
    assert.equal(await statesOf(), ['project ready'])
    write(`go-${turn}`, [])
  }
  const [after, ...others] = announced()
  assert.equal([after?.pid, after?.role, others], [before?.pid, 'main', []])
})

test('two workers are asked at once by looks that name none, at the shell too; what a person has attached is asked by the next command', async () => {
  write('app.py', ['def app(environ, start):', '    start("200 OK", [])', '    return [b"1"]'])
  python('-m', 'gunicorn', '-w', '2', '-b', '127.0.0.1:0', 'app:app')
  await listening(3)
  const both = await rig.imago(['threads'])
  assert.is(both.code, 0)
  assert.match(both.stdout, /project:$|\(project, project\/2\)/m)
  assert.equal((await rig.imago(['errors'])).code, 0)
  assert.is((await rig.imago(['eval', '1'])).code, 4)
  const attached = await rig.imago(['attach', 'project/2'])
  const pid = announced().find(one => attached.stdout.includes(` ${one.pid} `))?.pid
  const ownPid = ['eval', '__import__("os").getpid()']
  assert.equal(await rig.imago(ownPid), { code: 0, stdout: `${pid}\n`, stderr: '' })
  assert.not.match((await rig.imago(['threads'])).stdout, 'project:')
})

test('workers that are replaced at once are followed one and all, under calls that go on meanwhile', async () => {
  // Each of another length: Python takes a compiled file of the same second and length for that of the new text.
  const source = (version: number) => [
    `VERSION = ${version} ${'#'.repeat(version)}`,
    'def app(environ, start):',
    '    start("200 OK", [])',
    '    return [b"1"]',
  ]
  write('app.py', source(0))
  python('-m', 'gunicorn', '-w', '3', '-b', '127.0.0.1:0', 'app:app')
  const arbiter = (await listening(4)).find(({ role }) => role === 'main')?.pid
  const all = { expr: 'app.VERSION', kernel: 'project/*' }
  // Each takes a moment more where other tests run.
  for (let version = 0; version <= (isLong ? 24 : 4); version++) {
    if (version > 0) {
      write('app.py', source(version))
      if (arbiter !== undefined) process.kill(arbiter, 'SIGHUP')
    }
    let answer = ''
    await until(async () => {
      answer = await asked('inspect', all)
      assert.not.match(answer, /another daemon|Several could/)
      return new RegExp(`the same in all 3 .*\\n[^]*repr: ${version}$`, 'm').test(answer)
    }, `all to have version ${version}`).catch(error => {
      throw new Error(`${error.message}: ${answer}`)
    })
    // In the order in which they came.
    const states = (await statesOf()).map(state => state.split(' ').at(-1)).sort()
    assert.equal(
      states.filter(state => state !== 'ended'),
      ['ready', 'ready', 'ready', 'supervisor'],
    )
  }
})

/** Runs a program to its end whose children do not hold its output open. */
async function ran(name: string, forking: readonly string[]): Promise<void> {
  const quiet = 'for fd in (0, 1, 2): os.dup2(os.open(os.devnull, os.O_RDWR), fd)'
  write(name, ['import os, time', 'V = "main"', ...forking, 'V = "child"', quiet, 'time.sleep(600)'])
  assert.is((await rig.imago(['run', '--', venvPython, name])).code, 0)
}

test('the forks that a run has left over are no programs: the next run answers, and the list says whose they were', async () => {
  await ran('fk.py', ['if os.fork():', '    os._exit(0)', 'os.fork()'])
  const left = await listening(2)
  assert.equal(roles(left), ['project fork', 'project fork'])
  assert.match(await asked('inspect', { expr: 'V' }), /^no_such_kernel: No program of .* listens/)
  const whose = /left over by project \(process \d+\), which has ended/g
  assert.is((await asked('kernels')).match(whose)?.length, 2)
  write('tr.py', ['import time', 'V = "fresh"', 'time.sleep(600)'])
  python('tr.py')
  await listening(3)
  assert.match(await asked('inspect', { expr: 'V' }), "repr: 'fresh'")
  assert.equal(await rig.imago(['eval', 'V']), { code: 0, stdout: "'fresh'\n", stderr: '' })
  const first = left.find(one => left.some(({ parent }) => parent === one.pid))
  assert.match(await asked('inspect', { expr: 'V', kernel: `project-${first?.pid}` }), "repr: 'child'")
  assert.match(await asked('kernels'), `left over by project (process ${first?.parent}), which has ended`)
  assert.match(await asked('inspect', { expr: 'V' }), "repr: 'fresh'")
})

test('a fork with a session of its own is the program, as a server is that its start has left', async () => {
  const forking = ['if os.fork():', '    os._exit(0)', 'os.setsid()', 'if os.fork():', '    os._exit(0)']
  await ran('server.py', forking)
  assert.equal(roles(await listening(1)), ['project undefined'])
  assert.match(await asked('inspect', { expr: 'V' }), "repr: 'child'")
})

test('imago trace --follow of a group prints the calls of each member, by its name', async () => {
  write('beat.py', [
    'import os, time',
    'def beat(n):',
    '    return n',
    'os.fork()',
    'while True:',
    '    beat(7)',
    '    time.sleep(.05)',
  ])
  python('beat.py')
  await listening(2)
  const group = ['--kernel', 'project/*']
  const plain = rig.begin(['trace', 'beat', '--follow', ...group])
  await plain.says(/^project:\n#\d+ __main__\.beat\(n=7\) → 7/m)
  await plain.says(/^project\/2:\n#\d+ __main__\.beat\(n=7\) → 7/m)
  const json = rig.begin(['trace', 'beat', '--follow', '--json', ...group])
  await json.says(/^\{"kernel":"project\/2",/m)
  for (const one of [plain, json]) one.child.kill('SIGINT')
  assert.equal([(await plain.ended).code, (await json.ended).code], [0, 0])
})

test('imago trace --follow of a group looks at nothing while nothing calls, and at one member where that alone is called', async () => {
  write('bell.py', [
    'import os, time',
    'def ring(n):',
    '    return n',
    'os.fork()',
    'n = 0',
    'while True:',
    '    if any(os.path.exists("%s-%d" % (name, n)) for name in ("all", os.getpid())):',
    '        ring(n)',
    '        n += 1',
    '    time.sleep(.01)',
  ])
  python('bell.py')
  const pids = (await listening(2)).map(({ pid }) => pid)
  const followed = rig.begin(['trace', 'ring', '--follow', '--kernel', 'project/*'])
  await until(() => followed.so.stderr.split('Ctrl-C').length === 3, 'both tracepoints')
  write('all-0', [])
  for (const name of ['project', 'project/2'])
    await followed.says(new RegExp(`^${name}:\\n#1 __main__\\.ring\\(n=0\\)`, 'm'))
  const looks = async () => {
    const { stdout } = await rig.imago(['log', '--json', '--tool', 'trace_calls', '--count', 'all'])
    return stdout.split('\n').flatMap(line => /"type":"looked".*"kernel":"([^"]+)"/.exec(line)?.[1] ?? [])
  }
  const waits = { expr: '__import__("time").sleep(1.5)', kernel: 'project' }
  await asked('eval_expr', waits)
  const before = await looks()
  await asked('eval_expr', waits)
  assert.equal(await looks(), before)
  for (const n of [1, 2, 3]) {
    write(`${pids[1]}-${n}`, [])
    await followed.says(new RegExp(`:\\n#${n + 1} __main__\\.ring\\(n=${n}\\)`))
  }
  // The journal has a look once that is only repeated.
  assert.ok((await looks()).length <= before.length + 1, 'looks at a member that was not called')
})

const CHILDREN = isLong ? 200 : 70
test(`${CHILDREN} children that are forked at once are each announced, and the program answers meanwhile`, async () => {
  write('storm.py', [
    'import multiprocessing, time',
    'count = 0',
    'if __name__ == "__main__":',
    '    context = multiprocessing.get_context("fork")',
    `    for _ in range(${CHILDREN}):`,
    '        context.Process(target=time.sleep, args=(600,), daemon=True).start()',
    '        count += 1',
    '    time.sleep(600)',
  ])
  python('storm.py')
  await until(
    async () => shownIn(await asked('inspect', { expr: 'count' })) === CHILDREN,
    'all to be started',
  )
  assert.is((await listening(CHILDREN + 1)).filter(({ role }) => role === 'helper').length, CHILDREN)
  const said = await asked('inspect', { expr: 'count' })
  assert.match(said, new RegExp(`and not from (project-worker-\\d+, ){3}${CHILDREN - 3} more\\.`))
})

test('what imago run has started answers a look without a kernel where too many have forked from it, and says so', async () => {
  write('storm.py', [
    'import os, time',
    'step = 7',
    'for _ in range(70):',
    '    if os.fork() == 0:',
    '        step = 8',
    '        break',
    'time.sleep(600)',
  ])
  python('storm.py')
  const main = (await listening(71)).find(({ role }) => role === 'main')
  await until(async () => shownIn(await asked('inspect', { expr: 'step' })) === 7, 'the program to answer')
  const said = await asked('inspect', { expr: 'step' })
  assert.match(said, `From project (process ${main?.pid}), and not from project-`)
  assert.match(said, /(project-\d+, ){3}67 more\./)
  const all = await asked('inspect', { expr: 'step', kernel: 'project/*' })
  assert.match(all, /71 live that are called project; 64 is the most/)
})
