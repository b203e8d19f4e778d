import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Tool } from '../../tools/define.ts'
import type { CallId } from '../../wire/kernel.ts'
import { LightSignal } from '../../wire/signal.ts'
import { settled, toolAt } from '../support/calls-rig.ts'
import { FakeKernel } from '../support/fake-kernel.ts'
import { type FileRig, fileRigsOf } from '../support/file-rigs.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { putTool } from '../support/memory-files.ts'
import { memoryJournal } from '../support/memory-journal.ts'
import type { Reply, ScriptedSeat } from '../support/seat.ts'

const test = suite('the gate at random', { limitMs: isLong ? 600_000 : 50_000 })

const rigs = fileRigsOf(test)

/** What can happen next. Numbers choose among what there is at that moment. */
type Step =
  | { readonly do: 'propose'; readonly file: number; readonly text: number; readonly caller: number }
  | { readonly do: 'run in the kernel' }
  | { readonly do: 'send again'; readonly call: number }
  | { readonly do: 'answer'; readonly seat: number; readonly plan: number; readonly reply: Reply }
  | { readonly do: 'mutate'; readonly file: number; readonly text: number }
  | { readonly do: 'cancel'; readonly call: number }
  | { readonly do: 'restart the kernel' }
  | { readonly do: 'sit' }
  | { readonly do: 'leave'; readonly seat: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'set the clock'; readonly minutes: number }
  | { readonly do: 'write the policy'; readonly decision: string }
  | { readonly do: 'breathe'; readonly turns: number }

const small = fc.nat(3)

const REPLIES: readonly Reply[] = ['approve', 'approve', 'deny', 'twice', { crossed: 'f'.repeat(64) }]

const reply: fc.Arbitrary<Reply> = fc.oneof(
  fc.constantFrom(...REPLIES),
  fc.record({ deny: fc.string({ maxLength: 5 }) }),
  fc.record({ edit: fc.record({ path: fc.constant('f0'), text: fc.constantFrom('e', 'f') }) }),
  fc.constant({ edit: { nonsense: true } }),
)

const of = <Name extends Step['do']>(name: Name, rest: object = {}) =>
  fc.record({ do: fc.constant(name), ...rest }) as unknown as fc.Arbitrary<Step>

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: of('propose', { file: small, text: small, caller: fc.nat(1) }) },
  { weight: 2, arbitrary: of('run in the kernel') },
  { weight: 1, arbitrary: of('send again', { call: fc.nat(20) }) },
  { weight: 8, arbitrary: of('answer', { seat: small, plan: fc.nat(9), reply }) },
  { weight: 2, arbitrary: of('mutate', { file: small, text: small }) },
  { weight: 2, arbitrary: of('cancel', { call: fc.nat(20) }) },
  { weight: 1, arbitrary: of('restart the kernel') },
  { weight: 2, arbitrary: of('sit') },
  { weight: 1, arbitrary: of('leave', { seat: small }) },
  { weight: 2, arbitrary: of('pass', { ms: fc.constantFrom(1, 500, 1_000, 4_000) }) },
  { weight: 1, arbitrary: of('set the clock', { minutes: fc.constantFrom(-60, 0, 60) }) },
  { weight: 1, arbitrary: of('write the policy', { decision: fc.constantFrom('deny', 'allow', 'ask', '') }) },
  { weight: 6, arbitrary: of('breathe', { turns: small }) },
)

/** One run: what is under way, and how each kind of step is taken. */
class World {
  readonly rig: FileRig
  readonly lines: ReturnType<typeof memoryJournal>['lines']
  /** What was shown of each plan, to whoever saw it. */
  readonly shown = new Map<string, string>()
  readonly seats: ScriptedSeat[] = []
  readonly calls: { readonly name: CallId; readonly args: object; readonly signal: LightSignal }[] = []
  readonly answers: Promise<unknown>[] = []
  /** The calls whose code ran. */
  readonly ran: CallId[] = []
  #kernel = new FakeKernel()

  constructor(delays: readonly number[]) {
    let turn = 0
    const pause = async () => {
      for (let left = delays[turn++ % delays.length] ?? 0; left > 0; left--) await settled()
    }
    const { journal, lines } = memoryJournal(pause)
    this.lines = lines
    const living = () => ({ name: 'main', kernel: this.#kernel })
    const { tool } = toolAt('dangerous')
    const counted: Tool = {
      ...tool,
      handler: async (args, context) => {
        this.ran.push(context.call)
        return tool.handler(args, context)
      },
    }
    this.rig = rigs({
      tools: [putTool, counted],
      journalAs: () => journal,
      options: { kernels: { resolve: async () => living(), living }, patienceMs: 3_000 },
    })
    this.rig.files.onStep = pause
    this.sit()
  }

  sit(): void {
    this.seats.push(this.rig.seat(plan => void this.shown.set(plan.id, plan.body)))
  }

  async take(next: Step): Promise<void> {
    const { rig, seats, calls } = this
    switch (next.do) {
      case 'propose':
        return this.#send('put', { path: `f${next.file}`, text: `t${next.text}` }, `caller ${next.caller}`)
      case 'run in the kernel':
        return this.#send('do_dangerous', {}, 'caller 0')
      case 'send again': {
        const call = calls[next.call]
        if (call !== undefined)
          this.answers.push(
            rig.run('path' in call.args ? 'put' : 'do_dangerous', call.args, { call: call.name }),
          )
        return
      }
      case 'answer': {
        const seat = seats[next.seat % seats.length]
        const plans = rig.approvals.waiting()
        seat?.answer(next.reply, (plans[next.plan] ?? plans[0])?.id)
        return
      }
      case 'mutate':
        return rig.files.put(`f${next.file}`, `theirs ${next.text}`)
      case 'cancel':
        return calls[next.call]?.signal.abort()
      case 'restart the kernel':
        this.#kernel.die()
        this.#kernel = new FakeKernel()
        return
      case 'sit':
        return this.sit()
      case 'leave':
        return seats[next.seat]?.leave()
      case 'pass':
        return rig.clock.pass(next.ms)
      case 'set the clock':
        rig.wall.ahead = next.minutes * 60_000
        return
      case 'write the policy': {
        const rule = `[[rule]]\ndecision = "${next.decision}"\ntool = "put"\n`
        return writeFileSync(join(rig.folder, 'policy.toml'), next.decision === '' ? '' : rule)
      }
      case 'breathe':
        for (let left = next.turns; left > 0; left--) await settled()
        return
      default:
        return next satisfies never
    }
  }

  #send(tool: string, args: object, id: string): void {
    const call = { name: `call-${this.calls.length}` as CallId, args, signal: new LightSignal() }
    this.calls.push(call)
    const { name, signal } = call
    this.answers.push(this.rig.run(tool, args, { call: name, signal, caller: { id } }))
  }

  /** Everybody leaves, nobody answers, and all that waits comes to its end. */
  async over(): Promise<void> {
    this.rig.wall.ahead += 24 * 3_600_000
    while (this.rig.calls.busy() > 0) await this.rig.clock.pass(1_000)
    await Promise.all(this.answers)
  }

  /** What is not as it has to be. */
  wrong(): string[] {
    const { effects } = this.rig.files
    const approved = effects.filter(({ change }) => this.shown.has(change))
    const other = approved.filter(
      ({ change, before, text }) => this.shown.get(change) !== `-${before}\n+${text}\n`,
    )
    return [
      ...invariantsOf(attempts(this.lines), effects),
      ...other.map(({ change }) => `${change} did something else than was shown`),
      ...this.ran.filter((call, index) => this.ran.indexOf(call) !== index).map(call => `${call} ran twice`),
      ...this.rig.faults.map(({ message, error }) => `${message}: ${error}`),
      ...this.rig.approvals.waiting().map(({ id }) => `${id} still waits`),
    ]
  }
}

/** A call of which nothing ran may be sent again under its name: each time it is an attempt of its own. */
function attempts(lines: World['lines']): World['lines'] {
  const refused = new Map<unknown, number>()
  return lines.map(line => {
    const attempt = refused.get(line.call) ?? 0
    if (line.type === 'refused') refused.set(line.call, attempt + 1)
    return line.call === undefined ? line : { ...line, call: `${line.call} attempt ${attempt}` }
  })
}

const put: Step = { do: 'propose', file: 0, text: 0, caller: 0 }

const policy = (decision: string): Step => ({ do: 'write the policy', decision })

const later: readonly Step[] = [
  { do: 'pass', ms: 1 },
  { do: 'breathe', turns: 2 },
]

/** Orders in which a call once had two ends: answered and asked again; dispatched, stopped and asked again. */
const TWO_ENDS: [Step[], number[]][] = [
  [
    [policy('allow'), ...Array<Step>(8).fill(put), ...later, put, ...later, { do: 'send again', call: 8 }],
    [0, 0, 0, 0, 0, 0, 0],
  ],
  [
    [policy('allow'), put, put, ...later, policy('deny'), ...later, { do: 'send again', call: 0 }],
    [2, 0, 2, 0, 0, 0, 0],
  ],
]

test('whatever happens in whatever order, what is done is what was approved, once (threat 18) (fault 30)', async () => {
  const steps = fc.array(step, { minLength: 20, maxLength: 120, size: 'max' })
  const delays = fc.array(fc.nat(2), { minLength: 7, maxLength: 7 })
  let effects = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(steps, delays, async (all, waits) => {
      const world = new World(waits)
      for (const next of all) await world.take(next)
      await world.over()
      const wrong = world.wrong()
      assert.equal(wrong, [], wrong.join('\n'))
      effects += world.rig.files.effects.length + world.ran.length
      refused += world.lines.filter(({ type }) => type === 'refused').length
    }),
    { numRuns: isLong ? 400 : 20, seed: 20_261_122, examples: TWO_ENDS },
  )
  assert.ok(effects > 20 && refused > 20, `${effects} effects and ${refused} refusals prove little`)
})
