import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { resultOf } from '../support/calls-rig.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import type { Happened } from '../support/history.ts'
import { type Acting, changes, needsRoom, type Step, Steps, systemError } from '../support/steps.ts'
import { openGround, openWholePath, type WholePath } from '../support/whole-path.ts'
import { type Fate, falseIn, holdsOf, leftBehind, wrongInJournal } from '../support/whole-truth.ts'

const test = suite('whole path on a failing disk', { limitMs: 60_000 })

/** A call that changes files, after what has to be there for it. */
interface FailingChange {
  readonly what: string
  readonly tool: string
  /** Of each file that it changes. */
  readonly fates: readonly Fate[]
  /** What happens on a disk that is in order, and the arguments then. */
  prepare(path: Pick<WholePath, 'run'>): Promise<unknown>
}

/** What `a.txt` holds before. */
const BEFORE = 'one\ntwo\nthree\n'

/** What the disk does at the Nth of the steps that can fail so; `failed` is to be called when that comes about. */
interface Failing {
  which(step: Step): boolean
  acting(isNth: (step: Step) => boolean, failed: () => void): Acting
}

const any = () => true

/** Throws in place of the step, or after it; with `lasting`, in place of all that come later too. */
function failing(
  code: string,
  o: Partial<Pick<Failing, 'which'>> & { after?: true; lasting?: true } = {},
): Failing {
  const { which = any, after, lasting } = o
  return {
    which,
    acting(isNth, failed) {
      let begun = false
      const fail = (step: Step) => {
        const now = isNth(step)
        if (!now && !(begun && lasting && which(step))) return
        begun = true
        failed()
        throw systemError(code)
      }
      return after ? { after: fail } : { before: fail }
    },
  }
}

/** Lets a write have that many of its bytes; `full`: and nothing that comes after it has any room. */
function short(taken: (bytes: number) => number, { full = false } = {}): Failing {
  return {
    which: ({ name }) => name === 'write',
    acting(isNth, failed) {
      let begun = false
      return {
        before(step) {
          if (begun && full && needsRoom(step)) throw systemError('ENOSPC')
        },
        taken(step, bytes) {
          if (!isNth(step)) return bytes
          begun = true
          failed()
          return taken(bytes)
        },
      }
    },
  }
}

const half = (bytes: number) => Math.floor(bytes / 2)

/** A journal that fails goes on in another segment, for which it has more to do: one day would never end. */
const aLook = (step: Step) => step.of === 'files' && !changes(step)

const FAILINGS: Readonly<Record<string, Failing>> = {
  'fails with EIO': failing('EIO', { which: step => !aLook(step) }),
  'is carried out and fails with EIO': failing('EIO', { after: true, which: changes }),
  'finds the disk full': failing('ENOSPC', { which: needsRoom }),
  'finds the disk full, which it stays': failing('ENOSPC', { which: needsRoom, lasting: true }),
  'writes half, and then the disk is full': short(half, { full: true }),
  'writes half': short(half),
  'writes one byte': short(() => 1),
  'writes nothing': short(() => 0),
}

/** One daemon, and all that it has changed. */
function openDay() {
  const ground = openGround()
  const steps = new Steps()
  const path = openWholePath(ground, { steps })
  const { plans } = path.seat(() => 'approve')
  const effects: Happened[] = []
  return {
    ground,
    steps,
    path,
    run: path.run,
    /** The plan that was approved last has changed the files. */
    changed: (fates: readonly Fate[]) =>
      effects.push({
        change: plans.at(-1)?.id ?? 'nobody was asked',
        path: fates.map(({ name }) => name).join(' and '),
      }),
    /** What the next daemon finds wrong. */
    async end(): Promise<string[]> {
      await path.close()
      return wrongInJournal(ground, { effects, lossy: true })
    },
  }
}

type Day = ReturnType<typeof openDay>

/** The Nth of the steps that can fail does, and then the disk is in order again. */
async function tried(day: Day, { change, n, how }: { change: FailingChange; n: number; how: Failing }) {
  const { ground, steps, run } = day
  const { tool, fates } = change
  for (const name of ground.names()) rmSync(join(ground.project, name), { recursive: true })
  ground.put('a.txt', BEFORE)
  const args = await change.prepare(day)
  if (holdsOf(ground, ...fates) !== 'old') throw new Error('it was not prepared')
  let failed = false
  let count = 0
  const isNth = (step: Step) => how.which(step) && ++count === n
  const failNow = () => {
    failed = true
  }
  steps.begin(how.acting(isNth, failNow))
  const answer = await run(tool, args)
  steps.begin()
  const holds = holdsOf(ground, ...fates)
  if (holds === 'new') day.changed(fates)
  const wrong = [...falseIn(answer, holds), ...leftBehind(ground).map(name => `${name} was left behind`)]
  if (holds === 'neither')
    wrong.push(`there is ${JSON.stringify(fates.map(({ name }) => [name, ground.text(name)]))}`)
  return { failed, answer, args, wrong }
}

/** On a disk that is in order again: what failed succeeds, and what was done can be taken back. */
async function recovered(
  day: Day,
  o: { change: FailingChange; args: unknown; answer: Envelope },
): Promise<string[]> {
  const { ground, run } = day
  const { change, args, answer } = o
  const { fates, tool } = change
  if (answer.ok) {
    const back = await run('undo_change', { change: resultOf(answer).undo })
    if (back.ok && holdsOf(ground, ...fates) === 'old') return []
    return [`it was not taken back: ${JSON.stringify(back)}`]
  }
  if (holdsOf(ground, ...fates) === 'new') return []
  const again = await run(tool, args)
  day.changed(fates)
  return again.ok && holdsOf(ground, ...fates) === 'new'
    ? []
    : [`it failed afterwards: ${JSON.stringify(again)}`]
}

const CHANGES: readonly FailingChange[] = [
  {
    what: 'an edit',
    tool: 'edit_file',
    fates: [{ name: 'a.txt', old: BEFORE, new: 'one\n2\nthree\n' }],
    prepare: async () => ({ path: 'a.txt', old_str: 'two', new_str: '2' }),
  },
  {
    what: 'a new file',
    tool: 'write_file',
    fates: [{ name: 'new.txt', old: undefined, new: 'new\n' }],
    prepare: async () => ({ path: 'new.txt', content: 'new\n' }),
  },
  {
    what: 'taking back a new file',
    tool: 'undo_change',
    fates: [{ name: 'new.txt', old: 'new\n', new: undefined }],
    async prepare({ run }) {
      const { undo } = resultOf(await run('write_file', { path: 'new.txt', content: 'new\n' }))
      return { change: undo }
    },
  },
  {
    what: 'a move',
    tool: 'move_file',
    fates: [
      { name: 'a.txt', old: BEFORE, new: undefined },
      { name: 'b.txt', old: undefined, new: BEFORE },
    ],
    prepare: async () => ({ source: 'a.txt', destination: 'b.txt' }),
  },
  {
    what: 'a deletion',
    tool: 'delete_file',
    fates: [{ name: 'a.txt', old: BEFORE, new: undefined }],
    prepare: async () => ({ path: 'a.txt' }),
  },
  {
    what: 'a new file in a new folder',
    tool: 'create_file',
    fates: [{ name: 'lib/new.txt', old: undefined, new: 'new\n' }],
    prepare: async () => ({ path: 'lib/new.txt', content: 'new\n' }),
  },
]

interface Share {
  readonly first: number
  readonly stride: number
}

const ALL: Share = { first: 1, stride: 1 }

/** From the first step on, with that stride, until so many steps are not reached any more. */
async function forEachStep(
  what: string,
  { first, stride }: Share,
  attempt: (n: number) => Promise<{ failed: boolean; answer: Envelope }>,
) {
  const answers: Record<string, number> = {}
  let n = first
  for (; ; n += stride) {
    const { failed, answer } = await attempt(n)
    if (!failed) break
    const said = answer.ok ? 'ok' : answer.error.code
    answers[said] = (answers[said] ?? 0) + 1
  }
  console.log(`${what}: up to step ${n - stride}, answered with ${JSON.stringify(answers)}`)
  assert.ok(n > 4)
}

for (const change of CHANGES)
  test(`${change.what}, where the Nth look at a file fails with EIO, happens whole or not at all (fault 12)`, async () => {
    const wrong: string[] = []
    const day = openDay()
    await forEachStep(`${change.what}, looks`, ALL, async n => {
      const tries = await tried(day, { change, n, how: failing('EIO', { which: aLook }) })
      wrong.push(...tries.wrong.map(each => `${n}: ${each}`))
      rmSync(join(day.ground.stateDir, 'undo'), { recursive: true, force: true })
      return tries
    })
    wrong.push(...(await day.end()))
    day.ground.remove()
    assert.equal(wrong, [])
  })

/** In the normal run the ways to fail share the steps of a change between them: each step fails in two or three ways. */
const STRIDE = 3

for (const [number, change] of CHANGES.entries())
  for (const [turn, [what, how]] of Object.entries(FAILINGS).entries())
    test(`${change.what}, where the Nth call that may change the disk ${what}, happens whole or not at all, and then again (fault 11) (fault 12)`, async () => {
      const wrong: string[] = []
      const share = isLong ? ALL : { first: 1 + ((number + turn) % STRIDE), stride: STRIDE }
      await forEachStep(`${change.what} ${what}`, share, async n => {
        const day = openDay()
        const tries = await tried(day, { change, n, how })
        const after = await recovered(day, { change, ...tries })
        wrong.push(...[...tries.wrong, ...after, ...(await day.end())].map(each => `${n}: ${each}`))
        day.ground.remove()
        return tries
      })
      assert.equal(wrong, [])
    })
