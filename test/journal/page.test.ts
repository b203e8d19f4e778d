import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JournalEntry, JournalNote } from '../../src/journal/entries.ts'
import { type JournalOptions, openJournal } from '../../src/journal/journal.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { textOf } from '../support/imports.ts'

const test = suite('docs/journal.md')

const page = textOf('docs/journal.md')

let folder = ''

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-journal-page-'))
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

type Line = Readonly<Record<string, unknown>>

const blocks = (words: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${words}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text)

const examples = (words: string): Line[] => blocks(words).map(text => JSON.parse(text))

const dir = () => join(folder, 'journal')

const filesIn = () => readdirSync(dir()).sort()

const lines = (): Line[] =>
  filesIn().flatMap(name =>
    readFileSync(join(dir(), name), 'utf8')
      .split('\n')
      .flatMap(line => {
        try {
          return [JSON.parse(line) as Line]
        } catch {
          return []
        }
      }),
  )

/** Opens it, writes the entries, lets it look at what was there before, and closes it. */
async function written(entries: readonly JournalEntry[], options: Partial<JournalOptions> = {}) {
  const journal = openJournal({ stateDir: folder, version: '0.1.0', ...options })
  for (const entry of entries) journal.write(entry)
  await journal.verified
  return journal
}

const call = 'c' as CallId

const args = { path: 'p' }

const on = { tool: 't', level: 'dangerous', kernel: null, epoch: null, caller: 'c', who: 'w', args } as const

const plan = { id: 'p', hash: 'h', title: 't', preview_sha256: 's', preview_bytes: 1, paths: ['/p'] }

/** One of each type, with all members that it can have, by the types of the code. */
const ENTRIES: { readonly [Type in JournalEntry['type']]: JournalEntry & { readonly type: Type } } = {
  requested: { type: 'requested', call, ...on, plan },
  decided: {
    type: 'decided',
    call,
    plan: 'p',
    answer: 'chosen',
    by: null,
    reason: null,
    choices: [{ hunk: 1, decision: 'accept' }],
    becomes: { plan: 'q', hash: 'h' },
  },
  dispatched: { type: 'dispatched', call, ...on, decision: 'ask', plan: 'p' },
  ended: { type: 'ended', call, outcome: 'ok', elapsed_ms: 1, undo: 'u' },
  looked: {
    type: 'looked',
    call,
    ...on,
    members: [{ kernel: 'k', epoch: 'e' }],
    decision: 'allow',
    outcome: 'ok',
    elapsed_ms: 1,
  },
  refused: { type: 'refused', call, ...on, decision: null, outcome: 'denied' },
  seat: { type: 'seat', what: 'taken', seat: null, who: 'w', why: null },
  policy: { type: 'policy', file: 'f', sha256: 's', what: 'w' },
  kernel: { type: 'kernel', kernel: 'k', epoch: null, what: 'w' },
  recalled: { type: 'recalled', call, outcome: 'ok' },
  suspension: {
    type: 'suspension',
    what: 'handed',
    suspension: 's',
    kernel: 'k',
    epoch: 'e',
    root: 'r',
    call,
    who: 'w',
    holder: null,
    by: null,
    why: 'w',
  },
  lost: { type: 'lost', lines: 1 },
}

for (const entry of Object.values(ENTRIES))
  test(`${entry.type} has on the page the members that are written, and no others`, async () => {
    const journal = await written([entry])
    await journal.close()
    const line = lines().find(({ type }) => type === entry.type) ?? {}
    const [v, time, ...members] = Object.keys(line)
    assert.equal([v, time, members.pop()], ['v', 'time', 'chain'])
    const shown = examples('json entry').filter(({ type }) => type === entry.type)
    assert.ok(shown.length > 0)
    const all = new Set(shown.flatMap(example => Object.keys(example)))
    assert.equal([...all].sort(), members.sort())
    for (const example of shown)
      if ('plan' in example) assert.equal(shapeOf(example.plan), shapeOf(line.plan))
  })

/** How each of them comes about. */
const NOTES: { readonly [Type in JournalNote['type']]: () => Promise<void> } = {
  segment: damaged,
  quarantined: damaged,
  async recovered() {
    await (await written([ENTRIES.dispatched])).close()
    appendFileSync(join(dir(), '000001.jsonl'), '{"v":2,"time":"20')
    await (await written([])).close()
  },
  async acknowledged() {
    await damaged()
    const journal = await written([])
    await journal.acknowledge('seat-1')
    await journal.close()
  },
  async removed() {
    const small = { segmentBytes: 400, kept: { bytes: 500, ms: 1e9 } }
    const entries = Array.from({ length: 9 }, () => ENTRIES.lost)
    await (await written(entries, small)).close()
    await (await written([ENTRIES.lost], small)).close()
  },
}

/** A call is open, and a line before it was changed. */
async function damaged() {
  await (await written([ENTRIES.lost, ENTRIES.dispatched])).close()
  const [file = ''] = filesIn()
  const path = join(dir(), file)
  writeFileSync(path, readFileSync(path, 'utf8').replace('"lines":1', '"lines":7'))
  await (await written([])).close()
}

for (const [type, comesAbout] of Object.entries(NOTES))
  test(`${type} has on the page the members that are written, and no others`, async () => {
    await comesAbout()
    const [shown, ...others] = examples('json note').filter(line => line.type === type)
    assert.is(others.length, 0)
    const line = lines().findLast(found => found.type === type) ?? {}
    assert.equal(['v', 'time', ...Object.keys(shown ?? {}), 'chain'], Object.keys(line))
    for (const [name, value] of Object.entries(shown ?? {}))
      assert.is(typeof line[name], typeof value, `${type}.${name}`)
  })

test('the page has an example of every type, and of no other', () => {
  assert.equal(
    [...new Set(examples('json entry').map(({ type }) => type))].sort(),
    Object.keys(ENTRIES).sort(),
  )
  assert.equal(
    examples('json note')
      .map(({ type }) => type)
      .sort(),
    Object.keys(NOTES).sort(),
  )
})

test('the program of the page agrees to files that are what was written, and to no others', async () => {
  const journal = await written(
    Array.from({ length: 30 }, () => ENTRIES.looked),
    { segmentBytes: 1_500 },
  )
  await journal.close()
  const script = join(folder, 'verify.py')
  writeFileSync(script, blocks('python')[0] ?? '')
  const verified = (name: string) => spawnSync('python3', [script, join(dir(), name)], { encoding: 'utf8' })
  const files = filesIn()
  assert.ok(files.length > 2)
  for (const name of files) assert.equal([verified(name).status, verified(name).stdout], [0, 'ok\n'])
  const [, second = ''] = files
  const path = join(dir(), second)
  writeFileSync(path, readFileSync(path, 'utf8').replace('"tool":"t"', '"tool":"u"'))
  assert.equal([verified(second).status, verified(second).stderr], [1, 'line 2 is not what was written\n'])
})

const shapeOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? Object.keys(value) : typeof value
