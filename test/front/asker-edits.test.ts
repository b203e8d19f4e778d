import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { numbered, PLAN } from '../support/asked-hunks.ts'
import { assert, suite } from '../support/harness.ts'
import { askLines, editor } from '../support/line-asker.ts'
import { openRig, within } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'

const test = suite('hunks that are edited at the seat that asks line by line')

test('e gives a hunk to an editor, shows what it made of it, and sends that', async () => {
  const { answers, text } = await askLines({
    plans: [PLAN],
    types: ['e', 'y', 'y', 'y'],
    edit: editor(patch => patch.replace('+three', '+drei\n+\u202e')),
  })
  assert.match(text, '| +drei\n| +⟦U+202E⟧\n')
  assert.equal(answers[0]?.choices?.[0], { hunk: 1, decision: 'edit', text: 'drei\n\u202e\n', reason: null })
  assert.match(text, '1 of them as you wrote it')
})

test('an edit that cannot be used says why, and the question stands', async () => {
  const { answers, text, prompts } = await askLines({
    plans: [PLAN],
    types: ['e', 'q'],
    edit: editor(patch => patch.replace('-3\n', '')),
  })
  assert.match(text.replaceAll('\n    ', ''), "To keep a line, make its '-' a ' '")
  assert.equal(prompts, Array(2).fill('(1/3) Apply this hunk? [y,n,q,a,d,A,D,e,j,?] '))
  assert.equal(answers, [])
})

test('e again has what could not be used, with the cause in front, which the next cause replaces', async () => {
  const drafts: string[] = []
  const written = [
    (patch: string) => patch.replace('-3\n', ''),
    (patch: string) => patch.replace('+three', 'three'),
    (patch: string) => patch.replace('\nthree', '\n-3\n+drei'),
  ]
  const { answers, text } = await askLines({
    plans: [PLAN],
    types: ['e', 'e', 'e', 'y', 'y', 'y'],
    edit: async ({ text: draft }) => {
      drafts.push(draft)
      return { type: 'text', text: written[drafts.length - 1]?.(draft) ?? draft }
    },
  })
  assert.match(text.replaceAll('\n    ', ''), 'e goes on with what you wrote.')
  assert.match(
    drafts[1] ?? '',
    /^# This could not be used: The lines with ' ' and '-' are not those of a\.py, from /,
  )
  assert.not.match(drafts[1] ?? '', '\n-3\n')
  const line = (drafts[2] ?? '').split('\n').indexOf('three') + 1
  assert.match(drafts[2] ?? '', `# This could not be used: Line ${line} of the patch begins with none of`)
  assert.is(drafts[2]?.split('could not be used').length, 2)
  assert.equal(answers[0]?.choices?.[0], { hunk: 1, decision: 'edit', text: 'drei\n', reason: null })
})

test('an editor that failed, or left it as it was, decides nothing', async () => {
  const failed = await askLines({
    plans: [PLAN],
    types: ['e', 'q'],
    edit: async () => ({ type: 'failed', why: 'The editor ended with code 1: what it wrote was dropped.' }),
  })
  assert.match(failed.text, 'ended with code 1')
  const unchanged = await askLines({ plans: [PLAN], types: ['e', 'q'], edit: editor(text => text) })
  for (const { prompts } of [failed, unchanged])
    assert.equal(prompts, Array(2).fill('(1/3) Apply this hunk? [y,n,q,a,d,A,D,e,j,?] '))
})

test('a hunk that was edited and is looked at again is accepted as it was edited', async () => {
  const { answers } = await askLines({
    plans: [PLAN],
    types: ['y', 'y', 'e', 'n', 'y', 'y'],
    edit: editor(patch => patch.replace('+seven', '+sieben')),
  })
  assert.equal(answers[0]?.choices?.[2], { hunk: 3, decision: 'edit', text: 'sieben\n', reason: null })
})

test('at a real terminal one hunk is refused, one is edited there, and the caller is told which and why', async () => {
  const rig = openRig({ files: { 'a.py': numbered(1, 40) } })
  const editing = join(rig.folder, 'editor')
  writeFileSync(editing, '#!/bin/sh\nsed -i \'s/^+twenty$/+zwanzig/\' "$1"\n', { mode: 0o700 })
  const env = { EDITOR: editing, VISUAL: '' }
  try {
    await rig.serve()
    const screen = openScreen(rig, { args: ['watch', '--plain'], rows: 60, columns: 100, env })
    await screen.shows(/seat-\d+, terminal/)
    const client = await rig.connect()
    const edits = [
      { path: 'a.py', old_str: '\n3\n', new_str: '\nthree\n' },
      { path: 'a.py', old_str: '\n20\n', new_str: '\ntwenty\n', why: 'words' },
    ]
    const answer = within<Envelope>(
      client.call({ tool: 'propose_file_edit', args: { edits } }),
      'what was proposed',
    )
    await screen.shows('(1/2) Apply this hunk? [y,n,q,a,d,e,j,?]')
    screen.type('n keep it\n')
    await screen.shows('(2/2) Apply this hunk? [y,n,q,a,d,e,K,?]')
    screen.type('e\n')
    await screen.shows('Is that to be done?')
    assert.match(screen.text(), '| +zwanzig')
    screen.type('y\n')
    const told = JSON.stringify(await answer)
    assert.match(told, '"outcome":"refused","reason":"keep it"')
    assert.match(told, '"outcome":"edited"')
    assert.is(
      readFileSync(join(rig.project, 'a.py'), 'utf8'),
      numbered(1, 40).replace('\n20\n', '\nzwanzig\n'),
    )
    screen.close()
  } finally {
    await rig.close()
  }
})
