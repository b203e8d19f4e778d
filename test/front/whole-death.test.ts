import { dieAt, dieAtSteps, type Wanted } from '../support/deaths.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import type { Ground } from '../support/whole-path.ts'

const test = suite('a daemon that is killed', { limitMs: isLong ? 600_000 : 120_000 })

const [OLD, NEW] = ['one\ntwo\nthree\n', 'one\n2\nthree\n']
const RUN = 'with open("ran.txt", "a") as ran: ran.write("x")'

const edit = (path: string) => ({ path, old_str: 'two', new_str: '2' })

/** Whether the file is old or new; throws where it is neither. */
function isNew(ground: Ground, name: string): boolean {
  const text = ground.text(name)
  if (text !== OLD && text !== NEW) throw new Error(`${name} holds ${text}`)
  return text === NEW
}

const EDITED: Wanted = {
  tool: 'edit_file',
  args: edit('a.txt'),
  kind: 'change',
  prepare: ground => ground.put('a.txt', OLD),
  timesDone: ground => (isNew(ground, 'a.txt') ? 1 : 0),
}

const MADE: Wanted = {
  tool: 'write_file',
  args: { path: 'new.txt', content: NEW },
  kind: 'change',
  prepare: () => undefined,
  timesDone: ground => (ground.text('new.txt') === undefined || !isNew(ground, 'new.txt') ? 0 : 1),
}

/** The person approves the first of two. */
const CHOSEN: Wanted = {
  tool: 'propose_file_edit',
  args: { edits: [edit('a.txt'), edit('b.txt')] },
  kind: 'change',
  prepare(ground) {
    for (const name of ['a.txt', 'b.txt']) ground.put(name, OLD)
  },
  timesDone(ground) {
    if (isNew(ground, 'b.txt')) throw new Error('what was not chosen was done')
    return isNew(ground, 'a.txt') ? 1 : 0
  },
}

const evaluated = (expr: string): Wanted => ({
  tool: 'eval_expr',
  args: { expr },
  kind: 'evaluation',
  prepare: () => undefined,
  timesDone: ground => ground.text('ran.txt')?.length ?? 0,
})

/**
 * Each death costs two daemons. The normal run has one in so many steps die; `core/files-killed` has every call die that
 * changes the disk, and `npm run test:long` has every step die here.
 */
const DEATHS: readonly (readonly [
  what: string,
  wanted: Wanted,
  first: number,
  stride: number,
  steps: number,
])[] = [
  ['an approved edit', EDITED, 1, 4, 20],
  ['making an approved file', MADE, 3, 4, 20],
  ['carrying out what a person chose', CHOSEN, 2, 8, 20],
  ['a cautious call', evaluated(RUN), 1, 2, 3],
]

for (const [what, wanted, first, stride, steps] of DEATHS)
  test(`killed at a step of ${what}, it has done it or not, and the next daemon does not do it again (fault 7)`, async () => {
    const share = isLong ? { first: 1, stride: 1 } : { first, stride }
    const { deaths, answers, wrong } = await dieAtSteps(wanted, share)
    console.log(`${what}: ${deaths} deaths, then answered with ${JSON.stringify(answers)}`)
    assert.equal(wrong, [])
    assert.ok(deaths * share.stride > steps)
  })

test('killed while code runs, it leaves a call of which nobody knows how it ended (fault 7)', async () => {
  const { said, wrong } = await dieAt(0, {
    ...evaluated(`${RUN}\nimport time\ntime.sleep(60)`),
    endsWhen: ground => ground.text('ran.txt') === 'x',
  })
  assert.equal([said, wrong], ['outcome_unknown (outcome_unknown)', []])
})
