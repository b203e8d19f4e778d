import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { painted, storyPieces } from '../../src/front/log/lines.ts'
import { EVERYTHING, showStories } from '../../src/front/log/stories.ts'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { assert, suite } from '../support/harness.ts'
import { dangerous, id, planned } from '../support/journal-sample.ts'

const test = suite('what a person chose, in imago log')

/** What `imago log` says of these entries. */
async function said(entries: readonly JournalEntry[], long = false): Promise<string[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'imago-log-chosen-'))
  try {
    const journal = openJournal({ stateDir, version: 'test' })
    for (const entry of entries) journal.write(entry)
    await journal.close()
    const found: string[] = []
    await showStories(
      { dir: join(stateDir, 'journal'), signal: new AbortController().signal },
      {
        filter: EVERYTHING,
        show: story => {
          if (story.type === 'call')
            found.push(painted(storyPieces(story, { columns: undefined, long }), { coloured: false }))
        },
      },
    )
    return found
  } finally {
    rmSync(stateDir, { recursive: true, force: true })
  }
}

const call = id('a')

const on = { call, tool: 'propose_file_edit', args: { edits: [] }, ...dangerous } as const

const requested = { type: 'requested', ...on, plan: planned('plan-asked', 'Edit 2 files: 3 hunks') } as const

const decided = { type: 'decided', call, plan: 'plan-asked', by: 'seat-1', reason: null } as const

const CHOSEN: readonly JournalEntry[] = [
  requested,
  {
    ...decided,
    answer: 'chosen',
    choices: [
      { hunk: 1, decision: 'accept' },
      { hunk: 2, decision: 'refuse', reason: 'not\x1b[31m now' },
      { hunk: 3, decision: 'edit', reason: 'shorter', sha256: 's', bytes: 25 },
    ],
    becomes: { plan: 'plan-made', hash: 'h' },
  },
  { type: 'dispatched', ...on, plan: 'plan-made', decision: 'ask' },
  { type: 'ended', call, outcome: 'ok', elapsed_ms: 3, undo: 'plan-made' },
]

test('one line says how many hunks were taken, of which plan, and the name that takes them back', async () => {
  const [line = '', ...others] = await said(CHOSEN)
  assert.equal(others, [])
  assert.match(line, 'Edit 2 files: 3 hunks')
  assert.match(line, '[plan-asked, chosen by seat-1: 2 of 3 hunks, 1 of them edited]  undo plan-made')
})

test('a hunk that was split stands there as taken in part, and not as edited', async () => {
  const part = { hunk: 1, decision: 'edit', reason: 'no B', sha256: 's', bytes: 2, in_part: true } as const
  const entries: readonly JournalEntry[] = [
    requested,
    { ...decided, answer: 'chosen', choices: [part], becomes: { plan: 'plan-made', hash: 'h' } },
    { type: 'dispatched', ...on, plan: 'plan-made', decision: 'ask' },
    { type: 'ended', call, outcome: 'ok', elapsed_ms: 3, undo: 'plan-made' },
  ]
  assert.match((await said(entries))[0] ?? '', 'chosen by seat-1: 1 of 1 hunk, 1 in part]')
  assert.match((await said(entries, true))[0] ?? '', 'hunks: 1 in part (2 bytes: no B)')
})

test('the long form says of each hunk what was decided and why, and nothing that steers a terminal', async () => {
  const [line = ''] = await said(CHOSEN, true)
  assert.match(line, 'hunks: 1 accepted, 2 refused (not\\u001b[31m now), 3 edited (25 bytes: shorter)')
  assert.not.match(line, /[^\P{Cc}\n]/u)
  assert.match(line, '"plan": "plan-made"')
})

test('all hunks refused is a denial of none of them', async () => {
  const choices = [1, 2].map(hunk => ({ hunk, decision: 'refuse', reason: null }) as const)
  const [line = ''] = await said([
    requested,
    { ...decided, answer: 'denied', choices },
    { type: 'refused', ...on, decision: 'ask', outcome: 'denied' },
  ])
  assert.match(line, /^! .* denied .*\[plan-asked, denied by seat-1: 0 of 2 hunks\]/)
})

test('choices of another version are left out, and the rest of the line is read', async () => {
  const odd = { ...decided, answer: 'chosen', choices: 'some', becomes: 7 } as unknown as JournalEntry
  const [line = ''] = await said([requested, odd])
  assert.match(line, '[plan-asked, chosen by seat-1]')
})
