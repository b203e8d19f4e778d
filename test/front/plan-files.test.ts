import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PlanEnd } from '../../src/approvals/contract.ts'
import type { PlanRow } from '../../src/front/protocol.ts'
import { newsOf } from '../../src/front/topic-news.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, within } from '../support/rig.ts'
import { codeOf, openSeatTerminal, type SeatTerminal } from '../support/watching.ts'

/** What an editor on a seat is given of a plan, and told of what came of it: real daemon, real terminal. */
const test = suite('files of plans', { limitMs: 60_000 })
const rig = openRig()
let seat: SeatTerminal

const at = (name: string) => join(rig.project, name)
const text = (name: string) => readFileSync(at(name), 'utf8')

test.before(async () => {
  await rig.serve()
  seat = await openSeatTerminal(rig)
  await seat.says('sit')
})
test.after(async () => {
  seat.screen.close()
  await rig.close()
})

interface Waiting {
  readonly id: string
  readonly hash: string
}

/** Plans that the seat was shown and that no test has taken yet. */
let seen = 0
async function nextPlan(): Promise<Waiting> {
  const plans = () => seat.told().filter(({ type }) => type === 'plan')
  await seat.hears('type', 'plan')
  while (plans().length <= seen) await new Promise(resolve => setTimeout(resolve, 20))
  return plans()[seen++]?.plan as Waiting
}

/** Calls the tool, and shows the files of the plan that it comes to. */
async function planned(tool: string, args: object) {
  const client = await rig.connect()
  const answer = within(client.call({ tool, args }), `the answer of ${tool}`)
  const plan = await within(nextPlan(), `the plan of ${tool}`)
  type Shown = Record<'files' | 'hunks', object[]>
  const { plan: shown } = (await seat.says('plan', { plan: plan.id })) as { plan: Shown }
  return { plan, answer, ...shown }
}

const answers = ({ id, hash }: Waiting, more: object) => seat.says('answer', { plan: id, hash, ...more })
const endOf = async ({ id }: Waiting) => {
  const client = await rig.connect()
  const over = new AbortController()
  const ended = await within(
    new Promise<PlanEnd['ended']>(resolve => {
      const heard = newsOf<PlanRow>(({ row }) => {
        if (row?.state === 'ended' && row.id === id && row.ended !== undefined) resolve(row.ended)
      })
      void client.subscribe({ topics: ['approvals'], signal: over.signal, heard })
    }),
    'what came of it',
  )
  over.abort()
  await client.close()
  return ended
}

test('an edit of one place has its file, both texts to the last character, and its one hunk; its undo is told', async () => {
  writeFileSync(at('crlf.py'), 'a = 1\r\nb = 2\r\nc = 3')
  const { plan, answer, files } = await planned('edit_file', {
    path: 'crlf.py',
    old_str: 'c = 3',
    new_str: 'c = 4',
  })
  const [before, after] = ['a = 1\r\nb = 2\r\nc = 3', 'a = 1\r\nb = 2\r\nc = 4']
  const row = { path: at('crlf.py'), shown: 'crlf.py', kind: 'edit', to: null, before, after }
  assert.equal(files, [{ ...row, hunks: [{ line: 3, before: 'c = 3', after: 'c = 4' }] }])
  await answers(plan, { decision: 'approve' })
  assert.is(codeOf(await answer), 'ok')
  const { outcome, undo } = (await endOf(plan)) ?? {}
  assert.is(outcome, 'ok')
  const undoing = rig.imago(['undo', String(undo)])
  const back = await within(nextPlan(), 'the plan of the undo')
  await answers(back, { decision: 'approve' })
  assert.is((await undoing).code, 0)
  assert.is(text('crlf.py'), before)
})

test('a file whose name has a character that is not seen is named as its hunks are, with a mark', async () => {
  const name = 'a\u202eb.py'
  writeFileSync(at(name), 'a = 1\n')
  const edits = [{ path: name, old_str: 'a = 1', new_str: 'a = 2' }]
  const { plan, answer, files, hunks } = await planned('propose_file_edit', { edits })
  const named = (rows: readonly object[]) => rows.map(row => (row as { shown: string }).shown)
  assert.equal([...named(files), ...named(hunks)], ['a⟦U+202E⟧b.py', 'a⟦U+202E⟧b.py'])
  await answers(plan, { decision: 'deny', reason: 'it is a test' })
  await answer
})

test('a new file of 10,000 lines has all of them', async () => {
  const content = Array.from({ length: 10_000 }, (_, line) => `line ${line}\n`).join('')
  const { plan, answer, files } = await planned('write_file', { path: 'long.txt', content })
  const hunks = [{ line: 1, before: '', after: content }]
  const row = { path: at('long.txt'), shown: 'long.txt', kind: 'create', to: null, before: null }
  assert.equal(files, [{ ...row, after: content, hunks }])
  await answers(plan, { decision: 'deny' })
  assert.is(codeOf(await answer), 'denied')
})

test('a move is one row with its target, a file that goes has no text after, and bytes are told by their size', async () => {
  writeFileSync(at('bytes.bin'), new Uint8Array([0, 1, 2]))
  writeFileSync(at('old.py'), 'x = 1\n')
  const moved = await planned('move_file', { source: 'bytes.bin', destination: 'other.bin' })
  const bytes = { left_out: 'binary', bytes: 3 }
  assert.equal(moved.files, [
    {
      path: at('bytes.bin'),
      shown: 'bytes.bin',
      kind: 'move',
      to: at('other.bin'),
      before: bytes,
      after: bytes,
      hunks: [],
    },
  ])
  await answers(moved.plan, { decision: 'deny' })
  await moved.answer
  const gone = await planned('delete_file', { path: 'old.py' })
  const hunks = [{ line: 1, before: 'x = 1\n', after: '' }]
  assert.equal(gone.files, [
    {
      path: at('old.py'),
      shown: 'old.py',
      kind: 'delete',
      to: null,
      before: 'x = 1\n',
      after: null,
      hunks,
    },
  ])
  await answers(gone.plan, { decision: 'approve' })
  await gone.answer
  assert.not.ok(existsSync(at('old.py')))
})

test('of an answer with other arguments, both plans are told the name to undo it by', async () => {
  writeFileSync(at('shop.py'), 'rate = 1\n')
  const args = { path: 'shop.py', old_str: 'rate = 1', new_str: 'rate = 2' }
  const { plan, answer } = await planned('edit_file', args)
  await answers(plan, { decision: 'edit', args: { ...args, new_str: 'rate = 3' } })
  const second = await within(nextPlan(), 'the plan of the other arguments')
  await answers(second, { decision: 'approve' })
  assert.is(codeOf(await answer), 'ok')
  const [first, other] = [await endOf(plan), await endOf(second)]
  assert.equal([first, typeof first?.undo], [other, 'string'])
})

test('of a part that was chosen, the name to undo it by is told, and is in the list of plans that have ended', async () => {
  writeFileSync(at('two.py'), 'a = 1\nb = 1\n')
  const edits = ['a', 'b'].map(name => ({ path: 'two.py', old_str: `${name} = 1`, new_str: `${name} = 2` }))
  const { plan, answer } = await planned('propose_file_edit', { edits })
  const choices = [
    { hunk: 1, decision: 'accept' },
    { hunk: 2, decision: 'refuse', reason: null },
  ]
  await answers(plan, { decision: 'choose', choices })
  const told = await answer
  assert.is(told.ok && (told.result as { undo: string }).undo, (await endOf(plan))?.undo)
  const client = await rig.connect()
  const { ends } = await client.request('approvals', {})
  assert.equal(ends.find(({ id }) => id === plan.id)?.ended, await endOf(plan))
  assert.is(text('two.py'), 'a = 2\nb = 1\n')
})
