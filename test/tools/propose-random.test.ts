import fc from 'fast-check'
import type { Choice } from '../../tools/contract.ts'
import type { Fate } from '../../tools/hunks.ts'
import { type Asked, proposeFileEdit } from '../../tools/propose.ts'
import { assert, suite } from '../support/harness.ts'
import { chosen, openMemoryFiles } from '../support/project-files.ts'
import { resultOf } from './context.ts'

const test = suite('propose_file_edit, of random files')

interface Block {
  readonly lines: number
  readonly gap: number
  readonly put: readonly string[]
  readonly decision: Choice['decision']
  readonly text: readonly string[]
}

test('whatever is proposed and chosen, in whatever line ends, each file is the splice of what was taken', async () => {
  const put = fc.array(fc.constantFrom('x', 'y = 1', '', '\tz'), { maxLength: 3 })
  const block: fc.Arbitrary<Block> = fc.record({
    lines: fc.integer({ min: 1, max: 3 }),
    gap: fc.integer({ min: 0, max: 3 }),
    put,
    decision: fc.constantFrom('accept', 'refuse', 'edit'),
    text: put,
  })
  const files = fc.array(fc.array(block, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 })
  const newline = fc.constantFrom('\n', '\r\n')
  let done = 0
  await fc.assert(
    fc.asyncProperty(files, newline, fc.boolean(), async (all, ends, reversed) => {
      const made = all.map((blocks, index) => splice({ blocks, path: `${index}.txt` }))
      const edits = made.flatMap(one => one.edits)
      const order = edits.map((_, index) => (reversed ? edits.length - 1 - index : index))
      const numbered = order.map(at => edits[at]).filter(one => one !== undefined)
      const choices = order.map((at, index) => choiceOf(index + 1, edits[at]))
      if (choices.every(({ decision }) => decision === 'refuse')) return
      const spelt = (text: string) => text.replaceAll('\n', ends)
      const rig = openMemoryFiles()
      for (const { path, before } of made) rig.write(path, spelt(before))
      const asked = { edits: numbered.map(({ path, old_str, new_str }) => ({ path, old_str, new_str })) }
      const result = resultOf(await chosen(proposeFileEdit, asked, rig, choices))
      for (const { path, after } of made) assert.is(rig.read(path)?.toString(), spelt(after))
      const told = (result.hunks as Fate[]).map(({ number, outcome }) => [number, outcome === 'refused'])
      assert.equal(
        told,
        choices.map(({ hunk, decision }) => [hunk, decision === 'refuse']),
      )
      done++
    }),
    { numRuns: 300 },
  )
  assert.ok(done > 100, `${done} were done`)
})

type Made = Asked & Pick<Block, 'decision' | 'text'>

/** A file whose lines are all different, edits of some of them, and what it is to be in the end. */
function splice({ blocks, path }: { blocks: readonly Block[]; path: string }) {
  const edits: Made[] = []
  let [before, after, line] = ['', '', 0]
  const next = (count: number) => Array.from({ length: count }, () => `line ${++line} of ${path}\n`).join('')
  const joined = (lines: readonly string[]) => lines.map(one => `${one}\n`).join('')
  for (const { lines, gap, put, decision, text } of blocks) {
    const kept = next(gap)
    const old_str = next(lines)
    edits.push({ path, old_str, new_str: joined(put), decision, text })
    before += kept + old_str
    after += kept + { accept: joined(put), refuse: old_str, edit: joined(text) }[decision]
  }
  const end = next(1)
  return { path, edits, before: before + end, after: after + end }
}

function choiceOf(hunk: number, made: Made | undefined): Choice {
  const decision = made?.decision ?? 'refuse'
  if (decision === 'accept') return { hunk, decision }
  if (decision === 'refuse') return { hunk, decision, reason: 'no' }
  return { hunk, decision, reason: null, text: (made?.text ?? []).map(one => `${one}\n`).join('') }
}
