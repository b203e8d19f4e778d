import { fileRigsOf } from '../support/file-rigs.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { memoryJournal } from '../support/memory-journal.ts'

const test = suite('the stale preview race', { limitMs: 50_000 })
const rigs = fileRigsOf(test)

const FILES = isLong ? 10_000 : 1_500

test(`${FILES} files that change at a random moment are replaced as they were shown, or not at all (threat 18)`, async () => {
  let wait = 0
  let seed = 1
  const chance = (limit: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % limit
  }
  const pause = async () => {
    if (wait-- === 0) rig.files.put('f', `theirs ${seed}`)
    await Promise.resolve()
  }
  const { journal, lines } = memoryJournal(pause)
  const rig = rigs({ journalAs: () => journal })
  rig.files.onStep = pause
  const shown = new Map<string, string>()
  rig.seat(({ id, body }) => {
    shown.set(id, body)
    return 'approve'
  })
  const codes = new Map<string, number>()
  for (let number = 0; number < FILES; number++) {
    wait = chance(14)
    const envelope = await rig.run('put', { path: 'f', text: `ours ${number}` })
    const code = envelope.ok ? 'ok' : envelope.error.code
    codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  assert.equal([...codes.keys()].sort(), ['ok', 'stale_plan'])
  for (const { change, before, text } of rig.files.effects)
    assert.is(shown.get(change), `-${before}\n+${text}\n`)
  assert.is(rig.files.effects.length, codes.get('ok'))
  assert.equal(invariantsOf(lines, rig.files.effects), [])
})
