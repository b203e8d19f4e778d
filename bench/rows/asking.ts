import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Desk } from '../../src/terminal/desk.ts'
import { openPalette } from '../../src/terminal/layout.ts'
import { type CallsRig, openCallsRig, toolAt } from '../../test/support/calls-rig.ts'
import { followNews } from '../../test/support/seat.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

/** Call paths with journals of their own. */
interface Scene {
  /** Somebody sits who says yes at once. */
  readonly asked: CallsRig
  /** Somebody sits at a desk as `imago watch` has it, looks at each plan, and presses y. */
  readonly atDesk: CallsRig
  readonly allowed: CallsRig
}

const ALLOWED = '[[rule]]\ndecision = "allow"\ntool = "do_dangerous"\n'

function openScene(): Scene {
  const tools = [toolAt('dangerous').tool]
  const asked = openCallsRig({ tools })
  const seat = asked.approvals.sit('bench')
  followNews(asked.approvals, news => {
    if (news.type !== 'plan') return
    const { id, hash } = news.plan
    queueMicrotask(() => seat.answer({ plan: id, hash, decision: 'approve' }))
  })
  const atDesk = openCallsRig({ tools })
  sitAtDesk(atDesk)
  return { asked, atDesk, allowed: openCallsRig({ tools, policy: ALLOWED }) }
}

function sitAtDesk({ approvals }: CallsRig): void {
  const desk = new Desk({
    palette: openPalette({ coloured: true }),
    size: { columns: 80, rows: 24 },
    now: 0,
  })
  const seat = approvals.sit('bench')
  followNews(approvals, news => {
    if (news.type !== 'plan') return
    desk.tell(news)
    queueMicrotask(() => {
      desk.paint()
      desk.rested()
      const wish = desk.press({ type: 'text', text: 'y' })
      if (wish?.type !== 'answer') throw new Error('the desk did not answer')
      for (const answer of wish.answers) desk.answered(answer.plan, seat.answer(answer))
      if (desk.waits > 0 || desk.past.length > 100) throw new Error('the desk keeps what it has answered')
    })
  })
}

async function called(rig: CallsRig, text: string): Promise<void> {
  const envelope = await rig.run('do_dangerous', { text })
  if (!envelope.ok) throw new Error(`${envelope.error.code}: ${envelope.error.message}`)
}

let scene: Scene | undefined

let users = 0

let calls = 0

const place = () => {
  if (scene === undefined) throw new Error('the row was not set up')
  return scene
}

const shared = {
  async setUp() {
    users++
    scene ??= openScene()
  },
  async tearDown() {
    if (--users > 0) return
    await Promise.all([scene?.asked.close(), scene?.atDesk.close(), scene?.allowed.close()])
    scene = undefined
  },
}

export const askingCost: Row = {
  what: 'a dangerous call that a person approves at once, against the same one that a rule allows',
  how: 'in process, on a kernel that does nothing, 200 times each in alternating blocks of 10; the whole path, with a plan, a seat, and what of the journal is on the disk before anything happens (once more where somebody decided)',
  bar: { relation: '≤', limit: 3, unit: '×' },
  ...shared,
  async measure() {
    const { asked, allowed } = place()
    const [one = [], other = []] = await interleaved(
      { blocks: 20, each: 10 },
      () => called(asked, `${calls++}`),
      () => called(allowed, `${calls++}`),
    )
    const [asked_us, allowed_us] = [median(one), median(other)]
    return ratio(asked_us, allowed_us, { asked_us, allowed_us })
  },
}

setFlagsFromString('--expose-gc')

const collectGarbage: () => void = runInNewContext('gc')

/** After all that only waited to be thrown away is gone. */
async function heapBytes(): Promise<number> {
  for (let times = 0; times < 3; times++) {
    collectGarbage()
    await new Promise(resolve => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}

const PLANS = 1_000

const PLAN_TEXT = 'x = 1\n'.repeat(16)

export const manyPlans: Row = {
  what: '1,000 plans in a row through one seat: growth of the heap',
  how: 'in process, the whole path of a dangerous call with a person who looks at each at a desk as `imago watch` has it and presses y, after 1,500 others; what lives after a collection, after against before',
  bar: { relation: '≤', limit: 1, unit: 'MiB' },
  ...shared,
  async measure() {
    const { atDesk } = place()
    const put = async (count: number) => {
      for (let plan = 0; plan < count; plan++) await called(atDesk, `${PLAN_TEXT.slice(0, 90)}${calls++}`)
    }
    await put(1_500)
    const before = await heapBytes()
    await put(PLANS)
    const after = await heapBytes()
    if (atDesk.approvals.waiting().length > 0) throw new Error('a plan waits still')
    const growth_mib = (after - before) / 2 ** 20
    return {
      figure: growth_mib,
      parts: { growth_mib, bytes_a_plan: (after - before) / PLANS, heap_mib: after / 2 ** 20 },
    }
  },
}
