import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { OPERATIONS } from '../../src/front/operations/index.ts'
import { TOPICS, type Topic } from '../../src/front/operations/operation.ts'
import { TOPIC_ROWS } from '../../src/front/operations/subscription.ts'
import type { TopicChange } from '../../src/front/subscriptions.ts'
import type { SuspensionTopicRow } from '../../src/suspensions/rows.ts'
import { closeEditors, openEditor } from '../support/editors.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, until } from '../support/rig.ts'

/** What a client hears that follows the topics of a real daemon. */
const test = suite('subscribe', { limitMs: 60_000 })

const rig = openRig()
const over = new AbortController()
let client: DaemonClient
let web: Program

test.before(async () => {
  await rig.serve()
  client = await rig.connect()
  const source =
    'import threading\ndef fail(): threading.Thread(target=lambda: {}["price"], name="till").start()'
  web = await startProgram({ folder: rig.project, runtimeDir: rig.paths.runtimeDir, name: 'web', source })
})

test.after(async () => {
  over.abort()
  web.signal('SIGKILL')
  await web.ended
  await rig.close()
})

/** The rows of topics as somebody has them who follows, and all that they heard. */
function followed(topics: readonly Topic[], of: DaemonClient = client) {
  const rows = new Map<string, unknown>()
  const heard: TopicChange[] = []
  let rev = ''
  void of.subscribe({
    topics: [...topics],
    signal: over.signal,
    heard(event) {
      const changes = 'snapshot' in event ? event.snapshot : event.changes
      rev = event.rev
      heard.push(...changes)
      for (const { key, value } of changes)
        if (value === null) rows.delete(key)
        else rows.set(key, value)
    },
  })
  return { rows, heard, rev: () => rev }
}

/** Keeps a run of the agent, as its process would, that waits for a person. */
function keepRun(run: string, root: string, at: number) {
  const begun = { run, id: run, root, text: 'mend it', guidance: '', model: 'm', profile: 'full' }
  const entries = [
    { type: 'begun', at, ...begun },
    { type: 'waits', at, for: 'Edit a.txt' },
  ]
  const folder = join(rig.paths.stateDir, 'runs')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const text = entries.map(entry => `${JSON.stringify(entry)}\n`).join('')
  writeFileSync(join(folder, `${run}.jsonl`), text, { mode: 0o600 })
}

const stateOf = (row: unknown) => (row as { state?: string } | undefined)?.state
const inImage = (expr: string) => client.call({ tool: 'eval_expr', args: { expr, kernel: 'image' } })

test('a kernel that is started, runs, prints aside and is stopped is heard of in rows', async () => {
  const { rows, heard } = followed(['kernels', 'calls'])
  const printed = followed(['output'])
  await client.request('start', { language: 'python', name: 'image' })
  await until(() => stateOf(rows.get('image')) === 'ready', 'the kernel to be ready')
  const begun = inImage('import time, threading\nwhile True: time.sleep(0.01)')
  await until(() => stateOf(rows.get('image')) === 'busy', 'it to be busy')
  const job = [...rows].find(([key]) => key.startsWith('job-'))
  assert.match(JSON.stringify(job), '"tool":"eval_expr","kernel":"image"')
  await client.request('interrupt', { name: 'image' })
  await begun
  await until(() => ![...rows.keys()].some(key => key.startsWith('job-')), 'the call to be over')
  // What is printed while a call runs is that call's.
  const file = join(rig.project, 'over')
  const prints = [
    'import os',
    'def prints():',
    `    while not os.path.exists(${JSON.stringify(file)}): time.sleep(0.01)`,
    "    print('aside')",
    'threading.Thread(target=prints).start()',
  ]
  await inImage(prints.join('\n'))
  writeFileSync(file, '')
  await until(
    () =>
      [...printed.rows].some(([key, row]) => key.startsWith('image@') && /aside/.test(JSON.stringify(row))),
    'the text that was printed aside',
  )
  await client.request('stop', { name: 'image' })
  await until(() => stateOf(rows.get('image')) === 'ended', 'it to have ended')
  assert.ok(heard.length < 40, `${heard.length}`)
})

test('an error of the program comes as a row, with its place, and counts those that come again', async () => {
  await client.request('attach', { target: 'web' })
  const { rows } = followed(['errors'])
  const fail = () => client.call({ tool: 'eval_expr', args: { expr: 'fail()', kernel: 'web' } })
  await fail()
  await until(() => rows.has('web#1'), 'the error')
  assert.match(JSON.stringify(rows.get('web#1')), `"what":"KeyError: 'price'"`)
  assert.match(JSON.stringify(rows.get('web#1')), '"where":"thread till"')
  for (let n = 0; n < 50; n++) await fail()
  await until(() => (rows.get('web#1') as { times: number }).times === 51, 'all that came again')
})

test('a client in another project hears of no row, whatever it follows', async () => {
  const other = join(rig.folder, 'other')
  mkdirSync(other)
  const stranger = await rig.connect({ root: other })
  const all: Topic[] = [
    'kernels',
    'programs',
    'approvals',
    'suspensions',
    'errors',
    'traces',
    'calls',
    'output',
    'runs',
  ]
  const theirs = followed(all, stranger)
  const ours = followed(['kernels', 'suspensions'])
  await until(() => theirs.rev() !== '', 'the first event')
  await client.request('start', { language: 'python', name: 'secret' })
  await client.call({ tool: 'eval_expr', args: { expr: '1 / 0', on_error: 'suspend', kernel: 'secret' } })
  await until(() => [...ours.rows.keys()].some(key => key.startsWith('secret/')), 'the suspension')
  await stranger.request('start', { language: 'python', name: 'own' })
  await until(() => theirs.rows.has('own'), 'the kernel of the other project')
  assert.equal([...new Set(theirs.heard.map(({ key }) => key))], ['own'])
  await stranger.close()
})

test('a program is a row as it begins to listen, is none once it is joined, and again one after that until it is killed', async () => {
  const nested = join(rig.project, 'nested')
  const elsewhere = join(rig.folder, 'elsewhere')
  for (const folder of [nested, elsewhere]) mkdirSync(folder)
  const stranger = await rig.connect({ root: elsewhere })
  const [ours, theirs] = [followed(['programs']), followed(['programs'], stranger)]
  const runtimeDir = rig.paths.runtimeDir
  const till = await startProgram({ folder: nested, runtimeDir, name: 'till' })
  const other = await startProgram({ folder: elsewhere, runtimeDir, name: 'other' })
  const namesIn = ({ rows }: typeof ours) => [...rows.values()].map(row => (row as { name: string }).name)
  const isTold = (is: boolean, why: string) => until(() => namesIn(ours).includes('till') === is, why)
  await isTold(true, 'the program')
  await until(() => namesIn(theirs).includes('other'), 'the program of the other project')
  await client.request('attach', { target: 'till' })
  await isTold(false, 'the program to be a kernel')
  await client.request('detach', { name: 'till' })
  await isTold(true, 'the program that was let go of')
  till.signal('SIGKILL')
  await isTold(false, 'its end')
  assert.equal([...new Set(theirs.heard.map(({ value }) => (value as { name: string }).name))], ['other'])
  other.signal('SIGKILL')
  await Promise.all([till.ended, other.ended])
  await stranger.close()
})

test('a run of the agent is a row as it is kept, and changes with its file', async () => {
  const { rows } = followed(['runs'])
  keepRun('run-8', '/elsewhere', 1)
  keepRun('run-7', rig.project, 1)
  await until(() => rows.has('run-7'), 'the run')
  assert.match(
    JSON.stringify(rows.get('run-7')),
    '"state":"waits","text":"mend it","waits_for":"Edit a.txt","at":1',
  )
  const over = { type: 'over', at: 2, why: 'done', text: 'mended' }
  writeFileSync(join(rig.paths.stateDir, 'runs', 'run-7.jsonl'), `${JSON.stringify(over)}\n`, { flag: 'a' })
  await until(() => stateOf(rows.get('run-7')) === 'done', 'its end')
  assert.equal([...rows.keys()], ['run-7'])
})

test('what was suspended in a kernel is told to nobody whose project has that name later', async () => {
  const other = join(rig.folder, 'later')
  mkdirSync(other)
  const stranger = await rig.connect({ root: other })
  const ours = followed(['suspensions'])
  const newsOf = (key: string) => (ours.rows.get(key) as { news?: { type: string } } | undefined)?.news?.type
  await client.request('start', { language: 'python', name: 'lion' })
  await client.call({ tool: 'eval_expr', args: { expr: '1 / 0', on_error: 'suspend', kernel: 'lion' } })
  const keyIn = () => [...ours.rows.keys()].find(key => key.startsWith('lion/')) ?? ''
  await until(() => newsOf(keyIn()) === 'suspended', 'the suspension')
  const key = keyIn()
  await client.request('stop', { name: 'lion' })
  await until(() => newsOf(key) === 'ended', 'its end')
  await stranger.request('start', { language: 'python', name: 'lion' })
  const theirs = followed(['suspensions', 'kernels'], stranger)
  await until(() => theirs.rows.has('lion'), 'the kernel of the other project')
  assert.equal([...theirs.rows.keys()], ['lion'])
  await stranger.close()
})

test('a topic that there is not is refused with those that there are', async () => {
  const wrong = client.request('subscribe', { topics: ['everything'] } as never)
  await wrong.then(
    () => assert.unreachable(),
    (error: Error) => assert.match(error.message, /kernels/),
  )
})

test('each event that is sent is what describe says of its operation, and each topic has a row', async () => {
  const { operations } = await client.request('describe', {})
  const withEvents = operations.filter(({ event }) => event !== undefined).map(({ name }) => name)
  assert.equal(withEvents, ['call', 'sit', 'subscribe'])
  const heard: { method: 'call' | 'sit' | 'subscribe'; event: unknown }[] = []
  const on = (event: unknown) => heard.push({ method: 'call', event })
  void client.subscribe({
    topics: [...TOPICS],
    signal: over.signal,
    heard: event => heard.push({ method: 'subscribe', event }),
  })
  const evaluate = (expr: string, more = {}) =>
    client.call({ tool: 'eval_expr', args: { expr, ...more }, on: event => void on(event) })
  await client.request('start', { language: 'python', name: 'told' })
  const { runtimeDir } = rig.paths
  const listens = await startProgram({ folder: rig.project, runtimeDir, name: 'listens' })
  keepRun('run-9', rig.project, 1)
  await evaluate('import threading\nthreading.Timer(0.05, print, ["aside"]).start()', { kernel: 'told' })
  await evaluate('print("hi")\n1 / 0', { kernel: 'told', on_error: 'suspend' })
  await client.call({ tool: 'debug_restart', args: { leave: true, kernel: 'told' } })
  await evaluate('fail()', { kernel: 'web' })
  const [editor, other] = [await openEditor(rig), await openEditor(rig)]
  await editor.says('sit', { through: 'Neovim' }, 'seat')
  await other.says('sit', { through: 'Emacs' }, 'code')
  const edit = client.call({
    tool: 'write_file',
    args: { path: 'a.txt', content: 'a' },
    on: event => void on(event),
  })
  await editor.hears('type', 'plan')
  const isTold = (part: string) => JSON.stringify(heard).includes(part)
  await until(() => isTold('"type":"progress"'), 'word of the plan that waits')
  await editor.says('approve', {}, 'answered')
  await edit
  for (const part of ['aside', '"topic":"errors"', '"how":"left"', '"undo":"plan-'])
    await until(() => isTold(part), part)
  for (const event of [...editor.told(), ...other.told()])
    if (event.type === 'asked' || event.type === 'seated') heard.push({ method: 'sit', event })
  const { type: _, ...wanted } = await editor.hears('type', 'seat_wanted')
  assert.ok(TOPIC_ROWS.seats.safeParse(wanted).success, JSON.stringify(wanted))
  closeEditors()
  for (const { method, event } of heard) {
    const read = OPERATIONS[method].event.safeParse(event)
    assert.ok(read.success, `${method}: ${read.error?.message} ${JSON.stringify(event)}`)
  }
  for (const topic of TOPICS) await until(() => isTold(`"topic":"${topic}"`), topic)
  listens.signal('SIGKILL')
  await listens.ended
  for (const type of ['dispatched', 'output', 'asked', 'seated']) assert.ok(isTold(`"type":"${type}"`), type)
})

test('a suspended evaluation that has ended is not busy, as those hear who follow', async () => {
  const { heard } = followed(['suspensions'])
  await client.request('start', { language: 'python', name: 'over' })
  await client.call({ tool: 'eval_expr', args: { expr: '1 / 0', on_error: 'suspend', kernel: 'over' } })
  await client.call({ tool: 'debug_restart', args: { leave: true, kernel: 'over' } })
  const ends = () =>
    heard
      .filter(({ key, value }) => key.startsWith('over/') && value !== null)
      .map(({ value }) => value as SuspensionTopicRow)
      .filter(({ news }) => news.type === 'ended')
  await until(() => ends().length > 0, 'its end')
  assert.equal([...new Set(ends().map(({ busy }) => busy))], [false])
})
