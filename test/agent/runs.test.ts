import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Entry } from '../../src/agent/entries.ts'
import { keptRun } from '../../src/agent/run-file.ts'
import { assert, suite } from '../support/harness.ts'
import { MAIN, openRig, type Ran, type Rig, until } from '../support/rig.ts'
import { openScriptedModel, type Script, type ScriptedModel } from '../support/scripted-model.ts'

/** `imago runs` as a person uses it. */
const test = suite('imago runs', { limitMs: 120_000 })

let server: ScriptedModel
let rig: Rig
test.before(async () => {
  server = await openScriptedModel()
  rig = openRig({
    config: `[agent]\nurl = "${server.url}"\nmodel = "scripted"\nprofile = "core"\nkeep_days = 2\n`,
  })
  await rig.serve()
})
test.after(async () => {
  await rig.close()
  await server.close()
})

const FOLDER = () => join(rig.paths.stateDir, 'runs')
const DAY = 86_400_000

interface Drawn {
  readonly run: string
  readonly agoMs?: number
  readonly over?: Extract<Entry, { type: 'over' }>['why']
  readonly entries?: readonly Entry[]
}

/** The file of a run as an earlier process left it. */
function drawn({ run, agoMs = 0, over, entries = [] }: Drawn): void {
  mkdirSync(FOLDER(), { recursive: true, mode: 0o700 })
  const at = Date.now() - agoMs
  const begun: Entry = {
    type: 'begun',
    at,
    run,
    id: `${run}-abc`,
    root: rig.project,
    text: `the question of ${run}`,
    guidance: 'You are Imago.',
    model: 'scripted',
    profile: 'core',
  }
  const all = [
    begun,
    ...entries,
    ...(over ? [{ type: 'over' as const, at, why: over, text: 'So it is.' }] : []),
  ]
  writeFileSync(join(FOLDER(), `${run}.jsonl`), all.map(entry => `${JSON.stringify(entry)}\n`).join(''), {
    mode: 0o600,
  })
}

const never: Script = () => ({ text: 'Never.', after: new Promise(() => undefined) })

/** One that waits for its model. */
async function atWork() {
  server.play(never)
  const before = server.told.length
  const asked = rig.begin(['ask', 'a long one'])
  await until(() => server.told.length > before, 'the request')
  const run = readdirSync(FOLDER())
    .map(name => /^(run-\d+)\.lock\./.exec(name)?.[1])
    .find(name => name !== undefined)
  return { asked, run: run ?? '' }
}

test('runs are listed, the newest first, with their state; those that are over for long are removed, and no others', async () => {
  drawn({ run: 'run-1', agoMs: 3 * DAY, over: 'done' })
  drawn({ run: 'run-2', agoMs: 3 * DAY })
  drawn({ run: 'run-3', agoMs: DAY, over: 'failed' })
  drawn({ run: 'run-4', over: 'done' })
  writeFileSync(join(FOLDER(), 'run-5.jsonl'), 'edited\n', { mode: 0o600 })
  const { stdout } = await rig.imago(['runs'])
  const lines = stdout.trimEnd().split('\n')
  assert.equal(
    lines.map(line => line.split(/\s+/).slice(0, 2)),
    [
      ['run-5', 'unusable'],
      ['run-4', 'done'],
      ['run-3', 'failed'],
      ['run-2', 'stopped'],
    ],
  )
  assert.match(lines[1] ?? '', /the question of run-4/)
  const { stdout: json } = await rig.imago(['runs', '--json'])
  assert.equal(
    json
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).state),
    ['unusable', 'done', 'failed', 'stopped'],
  )
  const open = await rig.imago(['runs', 'remove', 'run-2'])
  const words = 'imago: run-2 is not over, and was not removed. First: imago runs cancel run-2\n'
  assert.equal([open.code, open.stderr], [1, words])
  assert.is((await rig.imago(['runs', 'cancel', 'run-2'])).code, 0)
  for (const run of ['run-5', 'run-4', 'run-3', 'run-2']) {
    const { code, stdout: said } = await rig.imago(['runs', 'remove', run])
    assert.equal([code, said], [0, `${run} was removed.\n`])
  }
  assert.equal(readdirSync(FOLDER()), [])
})

test('a run is shown with its question, its calls, their results and its answer', async () => {
  server.play(({ results }) =>
    results.length === 0
      ? { text: 'I look.', calls: [{ tool: 'eval_expr', args: { expr: '6 * 7' } }] }
      : { text: 'It is 42.' },
  )
  assert.is((await rig.imago(['ask', 'how many?'])).code, 0)
  const { stdout } = await rig.imago(['runs', 'show', 'run-1'])
  for (const words of [
    'run-1: how many?\n',
    'I look.\n> eval_expr {"expr":"6 * 7"}\n',
    '  42\n',
    'done\nIt is 42.\n',
  ])
    assert.ok(stdout.includes(words), stdout)
  assert.not.match(stdout, /<\/?output/)
  const { stdout: json } = await rig.imago(['runs', 'show', 'run-1', '--json'])
  const parsed = (text: string) =>
    text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
  assert.equal(parsed(json), parsed(readFileSync(join(FOLDER(), 'run-1.jsonl'), 'utf8')))
})

test('no control of a terminal comes out of a run', async () => {
  const ugly = '\u001b]0;owned\u0007\u202eevil'
  server.play(({ results }) =>
    results.length === 0
      ? { text: ugly, calls: [{ tool: 'eval_expr', args: { expr: `"${ugly}"` } }] }
      : { text: ugly },
  )
  const ran = await rig.imago(['ask', ugly])
  const shown = await rig.imago(['runs', 'show', 'run-2'])
  const listed = await rig.imago(['runs'])
  for (const { stdout, stderr } of [ran, shown, listed]) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are looked for.
    assert.not.match(`${stdout}${stderr}`, /[\u001b\u0007\u202e]/)
  }
})

test('one that works is followed to its end, resumed by nobody, removed by nobody, and cancelled', async () => {
  const { asked, run } = await atWork()
  assert.match((await rig.imago(['runs'])).stdout, new RegExp(`^${run} +works `, 'm'))
  const followed = rig.begin(['runs', 'show', run, '--follow'])
  await followed.says(/a long one/)
  const [resumed, removed] = [
    await rig.imago(['runs', 'resume', run]),
    await rig.imago(['runs', 'remove', run]),
  ]
  assert.equal([resumed.code, removed.code], [1, 1])
  assert.match(resumed.stderr, new RegExp(`${run} is at work already, in process ${asked.child.pid}`))
  assert.match(removed.stderr, new RegExp(`${run} is at work, in process ${asked.child.pid}`))
  const cancelled = await rig.imago(['runs', 'cancel', run])
  assert.equal([cancelled.code, cancelled.stdout], [0, `${run} was cancelled.\n`])
  assert.is((await asked.ended).code, 1)
  assert.match((await followed.ended).stdout, /cancelled\n/)
  const again = await rig.imago(['runs', 'cancel', run])
  assert.equal([again.code, again.stderr], [1, `imago: ${run} is over already.\n`])
})

test('one that nobody works at is cancelled in its file', async () => {
  const { asked, run } = await atWork()
  asked.child.kill('SIGKILL')
  await asked.ended
  assert.match((await rig.imago(['runs'])).stdout, new RegExp(`^${run} +stopped `, 'm'))
  assert.is((await rig.imago(['runs', 'cancel', run])).code, 0)
  assert.is(keptRun(rig.paths.stateDir, run).entries.at(-1)?.type, 'over')
  assert.match((await rig.imago(['runs'])).stdout, new RegExp(`^${run} +cancelled `, 'm'))
})

test('one that is followed and stops says so, and how to go on with it', async () => {
  const { asked, run } = await atWork()
  const followed = rig.begin(['runs', 'show', run, '--follow'])
  await followed.says(/a long one/)
  asked.child.kill('SIGKILL')
  await asked.ended
  const ended = await followed.ended
  const words = `${run} has stopped. Go on with: imago runs resume ${run}\n`
  assert.equal([ended.code, ended.stderr], [1, words])
  await rig.imago(['runs', 'cancel', run])
})

test('a run that goes on with another model says with which; one whose settings cannot be read is not lost', async () => {
  const { asked, run } = await atWork()
  asked.child.kill('SIGKILL')
  await asked.ended
  const path = join(rig.paths.configDir, 'config.toml')
  const settings = readFileSync(path, 'utf8')
  writeFileSync(path, `${settings}\nnonsense = 1\n`)
  assert.match((await rig.imago(['runs', 'resume', run])).stderr, /config\.toml: /)
  const last = keptRun(rig.paths.stateDir, run).entries.at(-1)
  assert.match(last?.type === 'over' && last.why === 'failed' ? last.text : '', /config\.toml: /)
  writeFileSync(path, settings.replace(/model = "[^"]*"/, 'model = "another"'))
  server.play(() => ({ text: 'So it is.' }))
  assert.is((await rig.imago(['runs', 'resume', run])).stdout, 'So it is.\n')
  assert.match((await rig.imago(['runs', 'show', run])).stdout, /goes on with another\n/)
  writeFileSync(path, settings)
})

test('two that resume one run at once: one goes on with it, the other is refused', async () => {
  drawn({ run: 'run-50' })
  let refused: Promise<unknown> = Promise.resolve()
  server.play(() => ({ text: 'Here.', after: refused }))
  const begun = [1, 2].map(() => rig.begin(['runs', 'resume', 'run-50']))
  refused = Promise.race(begun.map(({ ended }) => ended))
  const both = await Promise.all(begun.map(({ ended }) => ended))
  assert.equal(
    keptRun(rig.paths.stateDir, 'run-50').entries.map(({ type }) => type),
    ['begun', 'asked', 'answered', 'over'],
  )
  assert.is(both.filter(({ stdout }) => stdout === 'Here.\n').length, 1)
  assert.is(both.filter(({ stderr }) => /is at work already/.test(stderr)).length, 1)
})

test('a run of ten thousand messages goes on', async () => {
  const entries = Array.from({ length: 5_000 }, (_, at): Entry[] => {
    const [step, call] = [at + 1, `run-60-abc.${at + 1}.1`]
    const part = { type: 'call' as const, id: `c${at}`, call, tool: 'inspect', args: { expr: `name_${at}` } }
    const tokens = { input: 10, output: 10 }
    return [
      { type: 'asked', at, step, messages: 2 * at + 2 },
      { type: 'answered', at, step, content: [part], said: '', finish: 'tool-calls', tokens },
      { type: 'called', at, call },
      { type: 'ended', at, call, outcome: 'ok', text: `result ${at}` },
    ]
  }).flat()
  drawn({ run: 'run-60', entries })
  writeFileSync(
    join(rig.paths.configDir, 'config.toml'),
    `[agent]\nurl = "${server.url}"\nmodel = "scripted"\nsteps = 6000\ncontext_tokens = 1000000\n`,
  )
  server.play(({ results }) => ({ text: `${results.length} results, the last is ${results.at(-1)}.` }))
  const ran = await rig.imago(['runs', 'resume', 'run-60'])
  assert.equal([ran.code, ran.stdout], [0, '5000 results, the last is result 4999.\n'])
})

/** `imago ask` where a file can have no more than so many kilobytes: what a full disk does to it, at any byte. */
function askWithin(kilobytes: number): Promise<Ran> {
  const line = `ulimit -f ${kilobytes}; exec "$0" "$@"`
  const child = spawn('bash', ['-c', line, process.execPath, MAIN, 'ask', 'x'.repeat(900)], {
    cwd: rig.project,
    env: { ...rig.env, NODE_DISABLE_COMPILE_CACHE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const so = { stdout: '', stderr: '' }
  child.stdout.on('data', text => {
    so.stdout += text
  })
  child.stderr.on('data', text => {
    so.stderr += text
  })
  return new Promise(resolve => child.on('close', code => resolve({ code, ...so })))
}

test('on a full disk a run ends with the reason, nothing runs that is not written down, and it goes on where there is room', async () => {
  await rig.imago(['eval', 'made = []'])
  const script: Script = ({ results }) =>
    results.length === 3
      ? { text: results.join(' ').replace(/\s+/g, ' ') }
      : { text: 'y'.repeat(700), calls: [{ tool: 'eval_expr', args: { expr: 'made.append(1); len(made)' } }] }
  server.play(script)
  const before = new Set(readdirSync(FOLDER()))
  for (const kilobytes of [1, 4, 5, 6]) {
    const ran = await askWithin(kilobytes)
    assert.is(ran.code, 1, `${kilobytes}: ${ran.stdout}${ran.stderr}`)
    assert.match(ran.stderr, /run-\d+\.jsonl cannot be written: .*Nothing more was done/)
    const run = /(run-\d+)\.jsonl/.exec(ran.stderr)?.[1] ?? ''
    if (kilobytes === 1) {
      assert.equal(
        readdirSync(FOLDER()).filter(name => !before.has(name)),
        [],
      )
      continue
    }
    const resumed = await rig.imago(['runs', 'resume', run])
    assert.is(resumed.code, 0, `${kilobytes}: ${resumed.stdout}${resumed.stderr}`)
    const { stdout } = await rig.imago(['eval', 'made.count(1), made.clear()'])
    assert.match(stdout, /^\(3, None\)/, `${kilobytes}: ${resumed.stdout}`)
  }
})
