import { readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  addressOf,
  codeOf,
  IMAGO,
  journalOf,
  openScene,
  type Person,
  type Proposed,
  textOf,
} from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { APPROVE } from '../support/watching.ts'

/**
 * Another program of the same user, while a person sits at a terminal: what it tries in order to have its plan
 * approved by anybody but that person. What succeeds is a test too, and docs/attacks.md names each of them.
 */
const test = suite('attacker, a person sits', { limitMs: 60_000 })
const scene = openScene({ files: { 'notes.txt': 'ours\n' } })
let person: Person
test.before(async () => {
  await scene.begin()
  person = await scene.sits()
})
test.after(() => scene.close())

const { paths, project } = scene.rig
const waits = async (plan: string) =>
  assert.match((await scene.imago('approvals')).text, `${plan}  write_file`)

/** The person says no, and the plan comes to nothing. */
const denies = async (proposed: Proposed) => assert.is(codeOf(await person.denies(proposed)), 'denied')

interface Answer {
  readonly type: string
  readonly result?: unknown
  readonly error?: { readonly code: string; readonly message: string }
}
const makes = async (...calls: readonly (readonly [method: string, params: unknown])[]) =>
  (await scene.intrudes('calls', ...addressOf(scene), JSON.stringify(calls))) as readonly Answer[]

interface Loot {
  readonly files: readonly string[]
  readonly sockets: readonly string[]
  readonly words: readonly string[]
}

test('nothing that lies in the runtime, state and config directories gives a right to approve (threat 5)', async () => {
  await scene.imago('start', 'python', '--name', 'project')
  const proposed = await scene.proposes('theirs.txt')
  await person.asked(proposed.plan)
  const code = /--code ([0-9a-z-]{19})/.exec(person.screen.text())?.[1] ?? 'no code'
  const found = (await scene.intrudes('loot', paths.runtimeDir, paths.stateDir, paths.configDir)) as Loot
  for (const name of ['000001.jsonl', 'daemon.log'])
    assert.ok(found.files.some(path => basename(path) === name))
  for (const path of found.files) assert.not.match(readFileSync(path, 'utf8'), code)
  // The three that look most like codes, and then the plan has none any more.
  const guesses = [
    ...found.words.filter(word => word.length === 19),
    '0000-0000-0000-0000',
    '12345678',
  ].slice(0, 3)
  const answers = await makes(
    ...guesses.map(guess => ['approve', { plan: proposed.plan, code: guess }] as const),
    ['approve', { plan: proposed.plan, code }],
  )
  for (const { result } of answers) assert.equal(result, { type: 'wrong_code' })
  await waits(proposed.plan)
  await denies(proposed)
})

test('no socket that is found lets it in but that of the daemon, as a caller (threat 5)', async () => {
  const { sockets } = (await scene.intrudes('loot', paths.runtimeDir)) as Loot
  const others = sockets.filter(path => path !== paths.socket)
  assert.ok(sockets.includes(paths.socket))
  const heard = (await scene.intrudes('knock', ...others)) as Record<string, string>
  for (const [path, said] of Object.entries(heard))
    assert.not.match(said, /"return"|"welcome"|"result"/, path)
  assert.is((await scene.imago('call', 'list_globals')).code, 0)
})

test('no method approves, whoever a message says that it comes from (threat 4)', async () => {
  const proposed = await scene.proposes('theirs.txt')
  const [unknown, listed] = await makes(['no_such_method', {}], ['approvals', {}])
  const methods = (unknown?.error?.message.split('It has: ')[1] ?? '').replace(/\.$/, '').split(', ')
  assert.ok(methods.includes('answer') && methods.includes('accept_policy'), methods.join())
  const roles = { role: 'approver', seat: 'seat-1', approved: true, token: 'x', by: 'seat-1' }
  for (const { error } of await makes(...methods.map(method => [method, roles] as const)))
    assert.is(error?.code, 'invalid_params')
  const { approvals } = (listed?.result ?? {}) as { approvals: { id: string; hash: string }[] }
  const { id: plan, hash } = approvals.find(({ id }) => id === proposed.plan) ?? { id: '', hash: '' }
  assert.not.match(JSON.stringify(approvals), /"code"|"body"/)
  const answers = await makes(
    ['answer', { plan, hash, decision: 'approve' }],
    ['answer', { plan, hash, decision: 'edit', args: { path: 'x', content: 'x' } }],
    ['plan', { plan }],
    ['admit', { wanted: 'wanted-1', admit: true }],
    ['acknowledge', {}],
    ['sit', {}],
    ['sit', { alone: true }],
  )
  const codes = answers.map(({ error }) => error?.code)
  assert.equal(codes, [...Array(5).fill('no_seat'), 'seat_refused', 'seat_taken'])
  await waits(plan)
  await denies(proposed)
  assert.is(textOf(scene, 'theirs.txt'), undefined)
})

test('whoever makes a terminal while a person sits is put before that person, and gets no seat without them (threat 4)', async () => {
  const watch = scene.lets([
    'python3',
    join(import.meta.dirname, '../support/terminal.py'),
    '[]',
    ...IMAGO,
    'watch',
  ])
  await person.screen.shows(/Somebody else wants to approve, too: terminal \S+ \(process \d+\)/)
  await person.screen.shows(/Is that you\? Let it\? \[y\]es \[n\]o$/)
  person.screen.type('n\n')
  const { text } = await watch.ended
  assert.match(text, /No seat: It was turned away by seat-\d+/)
  await person.screen.shows(/wanted a seat and did not get it/)
  const turned = /"what":"refused","seat":null,"who":"terminal [^"]+","why":"It was turned away/
  await until(() => turned.test(journalOf(scene).join('\n')), 'the line that says so')
})

test('a call that was approved is not run again when it is sent again, and under another name it asks again (threat 19)', async () => {
  const call = { tool: 'write_file', args: { path: 'again.txt', content: 'theirs\n' }, call: 'key-1' }
  const first = makes(['call', call], ['call', call])
  await person.screen.shows(/^Write again\.txt[\s\S]*\[q\]uit \[\?\]$/m)
  person.screen.type('y\n')
  const [one, two] = await first
  assert.match(JSON.stringify(one), '"ok":true')
  assert.equal(two?.result, one?.result)
  writeFileSync(join(project, 'again.txt'), 'ours since\n')
  const [third] = await makes(['call', call])
  assert.is(textOf(scene, 'again.txt'), 'ours since\n', JSON.stringify(third))
  await denies(await scene.proposes('again.txt'))
  assert.is(textOf(scene, 'again.txt'), 'ours since\n')
})

for (const [how, swap] of [
  ['written over', (path: string) => writeFileSync(path, 'swapped\n')],
  [
    'replaced by a rename',
    (path: string) => {
      writeFileSync(`${path}.new`, 'swapped\n')
      renameSync(`${path}.new`, path)
    },
  ],
] as const)
  test(`a file that is ${how} between the preview and the answer is not changed by the approval (threat 18)`, async () => {
    writeFileSync(join(project, 'notes.txt'), 'ours\n')
    const { plan, answer } = await scene.proposes('notes.txt')
    await person.asked(plan)
    swap(join(project, 'notes.txt'))
    person.screen.type('y\n')
    assert.is(codeOf(await answer), 'stale_plan')
    assert.is(textOf(scene, 'notes.txt'), 'swapped\n')
  })

test('typing into the terminal of the person from outside of it is refused by the system, and approves nothing (threat 31)', async () => {
  const proposed = await scene.proposes('theirs.txt')
  await person.asked(proposed.plan)
  const tried = await scene.intrudes('type', readlinkSync(`/proc/${person.pid}/fd/0`), 'y\n')
  assert.match(JSON.stringify(tried), /"refused":/)
  await waits(proposed.plan)
  await denies(proposed)
})

test('an attacker who writes to the terminal of the person succeeds in drawing there, and what it draws is no answer', async () => {
  const proposed = await scene.proposes('theirs.txt')
  await person.asked(proposed.plan)
  const drawn = '\x1b[2J\x1b[H==== plan-aaaaaaaa\r\nNothing much\r\nApprove? [y]es [n]o [q]uit [?] y\r\n'
  await scene.intrudes('draw', readlinkSync(`/proc/${person.pid}/fd/0`), drawn)
  await person.screen.shows(/^==== plan-aaaaaaaa\nNothing much\nApprove\?[^\n]* y$/)
  await waits(proposed.plan)
  // Refused once more, the caller would be put before nobody for a while.
  person.screen.type('y\n')
  assert.is(codeOf(await proposed.answer), 'ok')
  rmSync(join(project, 'theirs.txt'))
})

test('an attacker who ends the watch of the person succeeds in sitting down alone, and its seat is in the journal', async () => {
  const { plan, answer } = await scene.proposes('theirs.txt')
  await person.asked(plan)
  // However many questions there were, the terminal shows them and nothing else.
  assert.not.match(person.screen.written, 'Warning')
  process.kill(person.pid, 'SIGKILL')
  await until(async () => (await scene.imago('approvals')).text.includes('Nobody has a seat'), 'no seat')
  const steps = [
    [`${plan} `, ''],
    [APPROVE, 'y\n'],
    [': approved', '\x03'],
  ] as const
  await scene.atOwnTerminal(steps, 'watch')
  assert.is(codeOf(await answer), 'ok')
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  const lines = journalOf(scene).join('\n')
  assert.match(lines, /"what":"left","seat":"seat-1"/)
  assert.match(lines, /"what":"taken","seat":"seat-2"/)
  assert.match(lines, `"plan":"${plan}","answer":"approved","by":"seat-2"`)
})
