import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Entry } from '../../src/agent/entries.ts'
import { journalLines } from '../support/calls-rig.ts'
import { closeEditors, openEditor } from '../support/editors.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { type Daemon, openRig, type Rig, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { openScriptedModel, type Said, type Script, type ScriptedModel } from '../support/scripted-model.ts'
import { openWatch } from '../support/watching.ts'

/** Runs that wait for a person, as they are seen: the real program, seats at terminals, a model that answers by a script. */
const test = suite('a run that waits for a person', { limitMs: 120_000 })

const SECRET = 'sk-canary-held-51'
const KEYS = { OPENAI_API_KEY: SECRET }
const KEYED = { env: KEYS }
const [OLD, NEW] = ['one\ntwo\nthree\n', 'one\n2\nthree\n']

let server: ScriptedModel
test.before(async () => {
  server = await openScriptedModel()
})
test.after(() => server.close())

const edit: Said = {
  calls: [{ tool: 'edit_file', args: { path: 'a.txt', old_str: 'two', new_str: '2' } }],
}

/** Edits, and says what came of it in the words that it reads. */
const edits: Script = ({ results }) =>
  results.length === 0 ? edit : { text: `It came to: ${results[0] ?? 'nothing'}` }

interface Waiting {
  readonly rig: Rig
  readonly daemon: Daemon
}

/** Files of questions that are whole: one that is written has another name until then. */
const held = (rig: Rig) =>
  readdirSync(join(rig.paths.stateDir, 'held')).filter(name => name.endsWith('.json')).length

/** A run that has asked to edit a file, and whose process has ended, since nobody sits. */
async function waiting(
  use: (parts: Waiting) => Promise<void>,
  { more = '', env = {} }: { more?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  const rig = openRig({ files: { 'a.txt': OLD } })
  const usual = `url = "${server.url}"\nmodel = "scripted"\nprofile = "full"`
  mkdirSync(rig.paths.configDir, { recursive: true })
  writeFileSync(join(rig.paths.configDir, 'config.toml'), `[agent]\napi = "openai"\n${usual}\n${more}\n`)
  server.play(edits)
  try {
    const daemon = await rig.serve()
    const ran = await rig.imago(['ask', 'fix it'], { env })
    assert.equal([ran.code, ran.stdout], [5, ''])
    assert.match(ran.stderr, /run-1 waits for a person: Edit a\.txt/)
    await use({ rig, daemon })
  } finally {
    closeEditors()
    await rig.close()
  }
}

const entriesOf = (rig: Rig, run = 'run-1'): Entry[] =>
  readFileSync(join(rig.paths.stateDir, 'runs', `${run}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

async function over(rig: Rig, run?: string): Promise<string> {
  let last: Entry | undefined
  await until(() => {
    last = entriesOf(rig, run).at(-1)
    return last?.type === 'over'
  }, 'the end of the run').catch(error => {
    throw new Error(`${error.message}: ${JSON.stringify(entriesOf(rig, run).slice(-3))}`)
  })
  return last?.type === 'over' ? `${last.why}: ${last.text}` : ''
}

const text = (rig: Rig) => readFileSync(join(rig.project, 'a.txt'), 'utf8')

const dispatched = (rig: Rig) =>
  journalLines(rig.paths.stateDir).filter(({ type }) => type === 'dispatched').length

const files = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

test('it waits without a daemon; the plan is drawn again from the file as it is then, and the run goes on by itself', () =>
  waiting(async ({ rig }) => {
    assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
    const listed = await rig.imago(['runs'])
    assert.match(listed.stdout, /^run-1 +waits +Edit a\.txt, asked .* ago\n$/)
    writeFileSync(join(rig.project, 'a.txt'), `zero\n${OLD}`)
    await rig.serve()
    const { screen } = await openWatch(rig)
    await screen.shows(/zero[\s\S]*\[y\]es \[n\]o/)
    screen.type('y\n')
    assert.match(await over(rig), /^done: It came to: [\s\S]*a\.txt/)
    assert.equal([text(rig), dispatched(rig)], [`zero\n${NEW}`, 1])
    const shown = await rig.imago(['runs', 'show', 'run-1'])
    assert.match(shown.stdout, /waits for Edit a\.txt[\s\S]*done\nIt came to/)
    screen.close()
  }))

test('refused with a reason, the run goes on, and its model reads the reason', () =>
  waiting(async ({ rig }) => {
    const { screen } = await openWatch(rig)
    await screen.shows(/\[y\]es \[n\]o/)
    screen.type('n two is right\n')
    assert.match(await over(rig), /^done: It came to: [\s\S]*two is right/)
    assert.equal([text(rig), dispatched(rig)], [OLD, 0])
    screen.close()
  }))

test('imago runs cancel takes the question back, without a daemon as well', () =>
  waiting(async ({ rig }) => {
    await rig.imago(['shutdown', '--force'])
    const cancelled = await rig.imago(['runs', 'cancel', 'run-1'])
    assert.equal([cancelled.code, cancelled.stdout], [0, 'run-1 was cancelled.\n'])
    assert.equal(readdirSync(join(rig.paths.stateDir, 'held')), [])
    await using client = await rig.connect()
    assert.equal((await client.request('approvals', {})).held, [])
    assert.match((await rig.imago(['runs'])).stdout, /^run-1 +cancelled/)
  }))

test('two seats, an editor and a code answer one held question: there is one effect', () =>
  waiting(async ({ rig }) => {
    const editor = await openEditor(rig)
    await editor.says('sit', { through: 'Neovim' }, 'seat')
    const { plan } = (await editor.hears('type', 'plan')) as { plan: { id: string } }
    const shown = (await editor.says('plan', { plan: plan.id }, 'body', 'plan')) as { plan: { code: string } }
    const screen = openScreen(rig, { columns: 100, rows: 60, args: ['watch', '--plain'] })
    const { id } = await editor.hears('type', 'seat_wanted')
    await editor.says('admit', { wanted: id, admit: true }, 'admit')
    await screen.shows(/\[y\]es \[n\]o/)
    const coded = rig.imago(['approve', plan.id, '--code', shown.plan.code])
    screen.type('y\n')
    const [{ answered }, { code: exit }] = await Promise.all([editor.says('approve', {}, 'answered'), coded])
    await screen.shows(new RegExp(`${plan.id}[\\s\\S]*(?:approved|answered|came too late)`))
    const others = [(answered as { type: string }).type === 'taken', exit === 0]
    assert.ok(others.filter(Boolean).length <= 1, JSON.stringify({ answered, exit }))
    screen.close()
    assert.match(await over(rig), /^done/)
    assert.equal([text(rig), dispatched(rig)], [NEW, 1])
  }))

test('the key is in the environment of no daemon and in no file, no other project replaces it, and the run goes on with it', () =>
  waiting(async ({ rig, daemon }) => {
    const environ = readFileSync(`/proc/${daemon.pid}/environ`, 'utf8')
    assert.not.match(environ, SECRET)
    // A client in another project gives a key to no run of this one.
    await using other = await rig.connect({ root: rig.folder })
    await other.request('keep_key', { run: 'run-1', variable: 'OPENAI_API_KEY', value: 'sk-theirs' })
    const { screen } = await openWatch(rig)
    await screen.shows(/\[y\]es \[n\]o/)
    screen.type('y\n')
    assert.match(await over(rig), /^done/)
    assert.is(server.told.at(-1)?.headers.authorization, `Bearer ${SECRET}`)
    // The lock of the run goes with its process.
    const isAtWork = () =>
      files(rig.paths.stateDir).some(path => path.includes('.lock.') && path.includes('run-'))
    await until(() => !isAtWork(), 'the process of the run to end')
    const kept = files(rig.paths.stateDir).filter(path => readFileSync(path, 'utf8').includes(SECRET))
    assert.equal(kept, [])
    screen.close()
  }, KEYED))

test('after a restart of the daemon the run says which key it waits for, and goes on with it', () =>
  waiting(async ({ rig }) => {
    await rig.imago(['shutdown', '--force'])
    await rig.serve()
    const { screen } = await openWatch(rig)
    await screen.shows(/\[y\]es \[n\]o/)
    screen.type('y\n')
    await until(() => entriesOf(rig).at(-1)?.type === 'waits' && text(rig) === NEW, 'the run to wait')
    const waits = () => entriesOf(rig).flatMap(entry => (entry.type === 'waits' ? [entry.for] : []))
    await until(() => waits().at(-1) === 'OPENAI_API_KEY', 'a run that waits for its key')
    assert.match((await rig.imago(['runs'])).stdout, /^run-1 +waits +OPENAI_API_KEY/)
    const resumed = await rig.imago(['runs', 'resume', 'run-1'], { env: KEYS })
    assert.is(resumed.code, 0, resumed.stderr)
    assert.match(resumed.stdout, /It came to/)
    assert.equal([text(rig), dispatched(rig)], [NEW, 1])
    screen.close()
  }, KEYED))

test('without a seat, imago approvals and the topic approvals show what waits; with one, it is a plan', () =>
  waiting(async ({ rig }) => {
    const { stdout } = await rig.imago(['approvals'])
    assert.match(stdout, /RUN +HELD QUESTION[\s\S]*run-1 +edit_file +.* ago +imago ask/)
    await using client = await rig.connect()
    const heard: unknown[] = []
    const leave = new AbortController()
    const following = client.subscribe({
      topics: ['approvals'],
      signal: leave.signal,
      heard: event => heard.push(event),
    })
    await until(() => JSON.stringify(heard).includes('"state":"held"'), 'a held question')
    assert.match(JSON.stringify(heard), /"run":"run-1"/)
    assert.not.match(JSON.stringify(heard), /new_str/)
    const editor = await openEditor(rig)
    await editor.says('sit', { through: 'Neovim' }, 'seat')
    await until(() => JSON.stringify(heard).includes('"state":"waits"'), 'a plan')
    leave.abort()
    await following
  }))

test('[watch] command is run once, with its text as one argument that no shell reads', () => {
  const script = `require('fs').appendFileSync(process.env.HOME + '/told', JSON.stringify(process.argv.slice(1)) + '\\n')`
  const command = JSON.stringify([process.execPath, '-e', script])
  return waiting(
    async ({ rig }) => {
      const told = join(rig.folder, 'home/told')
      await until(() => existsSync(told), 'the command to be run')
      assert.is((await rig.imago(['runs', 'resume', 'run-1'])).code, 5)
      assert.is(readFileSync(told, 'utf8'), '["imago ask, run-1 asks in project: Edit a.txt"]\n')
    },
    { more: `[watch]\ncommand = ${command}` },
  )
})

test('imago ask --wait waits until somebody has answered, however late they sit', () =>
  waiting(async ({ rig }) => {
    const asking = rig.begin(['ask', 'fix it', '--wait'])
    const words = 'run-2 waits for a person, at imago watch: Edit a.txt'
    await until(() => asking.so.stderr.includes(words), words)
    await until(() => held(rig) === 2, 'two questions')
    assert.is(asking.child.exitCode, null)
    const editor = await openEditor(rig)
    await editor.says('sit', { through: 'Neovim' }, 'seat')
    const plans = () =>
      editor.told().flatMap(one => (one.type === 'plan' ? [one.plan as { id: string; hash: string }] : []))
    await until(() => plans().length === 2, 'two plans')
    const answers = [{ decision: 'deny', reason: 'once is enough' }, { decision: 'approve' }]
    for (const [at, { id, hash }] of plans().entries())
      await editor.says('answer', { plan: id, hash, ...answers[at] }, 'answer')
    const ended = await asking.ended
    assert.is(ended.code, 0, ended.stderr)
    assert.match(ended.stdout, /^It came to/)
    await over(rig)
    assert.equal([text(rig), dispatched(rig)], [NEW, 1])
  }))

/** `imago ask` at a terminal, once it asks there. */
async function askAtTerminal(rig: Rig): Promise<ScreenOf> {
  const screen = openScreen(rig, { columns: 100, rows: 60, args: ['ask', 'fix it'] })
  await screen.shows(/imago ask, run-2[\s\S]*\[y\]es \[n\]o/)
  return screen
}

test('at a terminal the question is asked there: y does it, and q leaves it to others', () =>
  waiting(async ({ rig }) => {
    await rig.imago(['runs', 'cancel', 'run-1'])
    const first = await askAtTerminal(rig)
    first.type('q\n')
    await first.shows(/run-2 waits for a person/)
    assert.equal([held(rig), text(rig)], [1, OLD])
    const { screen } = await openWatch(rig)
    await screen.shows(/imago ask, run-2[\s\S]*\[y\]es \[n\]o/)
    screen.type('y\n')
    assert.match(await over(rig, 'run-2'), /^done/)
    assert.equal([text(rig), dispatched(rig)], [NEW, 1])
    for (const one of [first, screen]) one.close()
  }))

test('Ctrl-C where the question is asked cancels the run, and nobody is asked any more', () =>
  waiting(async ({ rig }) => {
    await rig.imago(['runs', 'cancel', 'run-1'])
    const screen = await askAtTerminal(rig)
    screen.type('\x03')
    assert.match(await over(rig, 'run-2'), /^cancelled/)
    await until(() => held(rig) === 0, 'the question to be taken back')
    assert.equal([text(rig), dispatched(rig)], [OLD, 0])
    screen.close()
  }))

test('a caller that cancels what runs is answered, and its question is taken back', () =>
  waiting(async ({ rig }) => {
    await using client = await rig.connect()
    const cancel = new AbortController()
    const answer = client.call({
      tool: 'eval_expr',
      args: { expr: 'open("ran", "w").close(); __import__("time").sleep(600)' },
      held: { leave: true },
      signal: cancel.signal,
    })
    await until(() => existsSync(join(rig.project, 'ran')), 'code that runs')
    cancel.abort()
    const ended = await answer
    assert.is(ended.ok ? 'ok' : ended.error.code, 'interrupted')
  }))

for (const isSeated of [false, true])
  test(`a run whose process and daemon are killed while it waits${isSeated ? ' and is asked' : ''} goes on by itself once it is answered, and acts once`, () =>
    waiting(async ({ rig, daemon }) => {
      await rig.imago(['runs', 'cancel', 'run-1'])
      const asking = rig.begin(['ask', 'fix it', '--wait'])
      await until(() => held(rig) === 1, 'a question')
      if (isSeated) {
        const { screen } = await openWatch(rig)
        await screen.shows(/\[y\]es \[n\]o/)
        screen.close()
      }
      process.kill(daemon.pid, 'SIGKILL')
      asking.child.kill('SIGKILL')
      await Promise.all([asking.ended, daemon.process.ended])
      await rig.serve()
      const { screen } = await openWatch(rig)
      await screen.shows(/\[y\]es \[n\]o/)
      screen.type('y\n')
      assert.match(await over(rig, 'run-2'), /^done: It came to/)
      assert.equal([text(rig), dispatched(rig)], [NEW, 1])
      screen.close()
    }))

test('a question about a program that is not there goes on waiting while somebody sits, and is asked once it is', async () => {
  const policy = '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n'
  const config = `[agent]\nurl = "${server.url}"\nmodel = "scripted"\n`
  const rig = openRig({ config, policy, files: { 'pyproject.toml': '' } })
  const { project: folder, paths } = rig
  const start = () =>
    startProgram({ folder, runtimeDir: paths.runtimeDir, name: 'shop', source: 'tea = 450' })
  const evaluate = { tool: 'eval_expr', args: { expr: 'tea + 1', kernel: 'shop' } }
  server.play(({ results }) => (results.length === 0 ? { calls: [evaluate] } : { text: `${results[0]}` }))
  const programs: Program[] = []
  try {
    await rig.serve()
    programs.push(await start())
    assert.is((await rig.imago(['ask', 'what is tea?'])).code, 5)
    programs[0]?.signal('SIGKILL')
    await programs[0]?.ended
    const { screen } = await openWatch(rig)
    const missed = () =>
      journalLines(paths.stateDir).some(
        ({ type, outcome }) => type === 'refused' && MISSES.test(`${outcome}`),
      )
    await until(missed, 'the program to be missed')
    assert.is(held(rig), 1)
    programs.push(await start())
    await rig.imago(['inspect', 'tea', '--kernel', 'shop'])
    await screen.shows(/tea \+ 1[\s\S]*\[y\]es \[n\]o/)
    screen.type('y\n')
    assert.match(await over(rig), /^done: [\s\S]*451/)
    screen.close()
  } finally {
    for (const one of programs) one.signal('SIGKILL')
    await rig.close()
  }
})

const MISSES = /^(no_such_kernel|kernel_unavailable)$/
