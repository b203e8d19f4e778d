import { writeSync } from 'node:fs'
import type { Envelope } from '../../tools/outcome.ts'
import { settled, until } from '../support/calls-rig.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { type HeldRig, openHeld } from '../support/held-rig.ts'
import { random } from '../support/random.ts'
import { changes, Steps } from '../support/steps.ts'
import { afterwards, type Ground, openGround } from '../support/whole-path.ts'

/**
 * Daemons that are lost at a drawn step, one after another, while a question is held. From that step on nothing of such a
 * daemon reaches the disk, as nothing does of one that was killed; a write may be cut in the middle.
 */
const test = suite('held questions of daemons that are lost', { limitMs: isLong ? 900_000 : 120_000 })

/** It can be done again and again: each time there is one line more. */
const APPEND = { path: 'a.txt', old_str: 'end', new_str: 'x\nend' }

const timesDone = (ground: Ground) => (ground.text('a.txt')?.match(/^x$/gm) ?? []).length

interface Loss {
  readonly steps: Steps
  /** Whether it has been lost. */
  readonly is: boolean
}

function lostAt(step: number, isCut: boolean): Loss {
  const steps = new Steps()
  const loss = { steps, is: false }
  let count = 0
  steps.begin({
    before(one) {
      if (loss.is) throw new Error('this daemon is lost')
      if (one.of !== 'moment' && !changes(one)) return
      if (++count !== step) return
      loss.is = true
      const [fd, bytes] = one.args
      if (isCut && one.name === 'write' && typeof fd === 'number' && bytes instanceof Uint8Array)
        writeSync(fd, bytes.subarray(0, bytes.length / 2))
      throw new Error('this daemon is lost')
    },
  })
  return loss
}

interface Lived {
  readonly answer: Envelope | undefined
  readonly told: number
}

interface Life {
  readonly isAsked: boolean
  readonly leave: boolean
  readonly isSeated: boolean
}

/** Lives until it is lost, until it has answered, or until it has nothing to do while nobody sits. */
async function live(rig: HeldRig, { isAsked, leave, isSeated }: Life, isLost: () => boolean): Promise<Lived> {
  let answer: Envelope | undefined
  let isOver = false
  rig.held.begin()
  const asking = isAsked ? rig.ask({ args: APPEND, leave, run: 'run-1' }) : undefined
  void asking?.then(given => {
    const isHeld = !given.ok && given.error.code === 'approval_held'
    if (!isHeld && !isLost()) answer = given
    isOver = !isHeld
  })
  if (isSeated) rig.seat(() => 'approve')
  const has = () => isOver || isLost() || rig.settled.length > 0
  if (isSeated && (isAsked || rig.held.list().length > 0)) await until(has)
  else {
    await until(() => has() || rig.calls.busy() === 0)
    for (let turn = 0; turn < 5; turn++) await settled()
  }
  return { answer, told: rig.settled.length }
}

/** Undefined where it was lost as it began. */
function opened(ground: Ground, loss: Loss): HeldRig | undefined {
  try {
    return openHeld(ground, { steps: loss.steps })
  } catch (error) {
    if (loss.is) return undefined
    throw error
  }
}

/** How many daemons were lost, and what the last ones answered. */
interface Came {
  lost: number
  ok: number
  unknown: number
}

/** What is wrong about the question once the last daemon has lived to its end. */
async function wrongWith(seed: number, came: Came): Promise<string[]> {
  const { below } = random(seed)
  const ground = openGround()
  ground.put('a.txt', 'begin\nend\n')
  const wrong: string[] = []
  let isAnswered = false
  const lives = 1 + below(4)
  try {
    for (let number = 0; number <= lives; number++) {
      const isLast = number === lives
      const loss = lostAt(isLast ? 0 : 1 + below(70), below(2) === 0)
      const rig = opened(ground, loss)
      if (rig === undefined) continue
      const life = isLast
        ? { isAsked: true, leave: false, isSeated: true }
        : { isAsked: number === 0 || below(2) === 0, leave: below(2) === 0, isSeated: below(3) > 0 }
      const { answer } = await live(rig, life, () => loss.is)
      isAnswered ||= answer?.ok === true
      if (isLast) {
        const code = answer?.ok === true ? 'ok' : answer?.error.code
        if (code !== 'ok' && code !== 'outcome_unknown') wrong.push(`it ended: ${JSON.stringify(answer)}`)
        if (code === 'ok') isAnswered = true
        came[code === 'ok' ? 'ok' : 'unknown']++
        if (rig.held.list().length > 0) wrong.push('it waits still')
      }
      await rig.close()
      if (loss.is) came.lost++
      const times = timesDone(ground)
      if (times > 1) wrong.push(`it was done ${times} times`)
      if (isAnswered && times !== 1) wrong.push(`it was answered, and was done ${times} times`)
    }
    const { lines, problems } = await afterwards(ground)
    const begun = lines.filter(({ type }) => type === 'dispatched').length
    if (timesDone(ground) > begun) wrong.push('it was done, and not dispatched')
    return [...wrong, ...problems].map(what => `seed ${seed}: ${what}`)
  } finally {
    ground.remove()
  }
}

test('lost at any step, whoever sits and whoever asks, the daemons do it once or not at all, and never twice', async () => {
  const wrong: string[] = []
  const came: Came = { lost: 0, ok: 0, unknown: 0 }
  const seeds = isLong ? 1_000 : 30
  for (let seed = 1; seed <= seeds; seed++) wrong.push(...(await wrongWith(seed, came)))
  console.log(`${seeds} seeds: ${JSON.stringify(came)}`)
  assert.equal(wrong, [])
  assert.ok(came.lost > seeds / 3 && came.ok > 0 && came.unknown > 0)
})
