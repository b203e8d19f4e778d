import { chmodSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnswerOutcome } from '../../src/approvals/contract.ts'
import type { Envelope } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { LightSignal } from '../../wire/signal.ts'
import { settled } from '../support/calls-rig.ts'
import type { FakeKernel } from '../support/fake-kernel.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { type Happened, invariantsOf, type Line } from '../support/history.ts'
import { random } from '../support/random.ts'
import type { ScriptedSeat } from '../support/seat.ts'
import { changes, Steps, systemError } from '../support/steps.ts'
import { afterwards, type Ground, openGround, openWholePath, type WholePath } from '../support/whole-path.ts'
import { claimOf, leftBehind } from '../support/whole-truth.ts'

const test = suite('the whole path at random', { limitMs: 60_000 })

/** One call, whose mark is nowhere else: where that is found, the call had its effect. */
interface Call {
  readonly name: CallId
  readonly mark: string
  readonly tool: string
  readonly args: unknown
  readonly caller: string
  signal: LightSignal
  answer: Envelope | undefined
  /** How often it was sent. */
  sent: number
}

/** What a caller was told that is not so; that it waits, or that a person changed it, says nothing of its mark. */
function falseIn({ name, answer, sent }: Call, done: boolean): string[] {
  if (answer === undefined) return [`${name} was never answered`]
  const { status, approval } = { ...(answer.ok && (answer.result as { status?: string; approval?: string })) }
  if (status !== undefined || approval !== undefined) return []
  const claim = claimOf(answer)
  if (claim === 'new' && !done) return [`${name} was called a success: ${JSON.stringify(answer)}`]
  // Sent again, it may have been refused by a daemon that did not know the answer of the one before.
  if (claim === 'old' && done && sent === 1)
    return [`${name} was refused, and done: ${JSON.stringify(answer)}`]
  return []
}

/** A call of which nothing ran may be sent again under its name: each time it is an attempt of its own. */
function attempts(lines: readonly Line[]): Line[] {
  const over = new Map<unknown, number>()
  return lines.map(line => {
    const attempt = over.get(line.call) ?? 0
    if (line.type === 'refused' || line.type === 'looked') over.set(line.call, attempt + 1)
    return line.call === undefined ? line : { ...line, call: `${line.call}, attempt ${attempt}` }
  })
}

/** Asked about, so that there are plans that a kernel can make void. */
const POLICY = '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n'

const FILES = ['f0.txt', 'f1.txt', 'f2.txt']

const CALLERS = 3

const HOUR = 3_600_000

/** Another first line of the same length, so that only the bytes tell. */
const theirs = (text: string) => text.replace(/^.*/, line => '*'.repeat(line.length))

/** What somebody else does to a file of the project. */
const MEDDLERS: readonly ((path: string, text: string) => void)[] = [
  (path, text) => {
    const { atime, mtime } = statSync(path)
    writeFileSync(path, theirs(text))
    utimesSync(path, atime, mtime)
  },
  (path, text) => {
    writeFileSync(`${path}.theirs`, theirs(text))
    renameSync(`${path}.theirs`, path)
  },
  path => rmSync(path),
  path => chmodSync(path, 0o600),
]

/**
 * Callers, people, others who write, kernels, clocks and disks, that all do what a seed says, and daemons that follow
 * each other; then what is wrong with all that came of it.
 */
class World {
  readonly #ground: Ground = openGround()
  readonly #seed: number
  #taken = 0
  /** Anew for each step, so that the steps are the same however much each of them draws. */
  #below: (limit: number) => number
  #steps = new Steps()
  #path: WholePath
  #seats: ScriptedSeat[] = []
  readonly #calls: Call[] = []
  readonly #answering: Promise<void>[] = []
  readonly #kernels: FakeKernel[] = []
  /** The marks that each plan was shown to make, and the plans that somebody approved before anybody else answered. */
  readonly #shown = new Map<string, readonly string[]>()
  readonly #approved = new Set<string>()
  /** Marks that were seen in files, each with the plan that it stood in. */
  readonly #seen = new Map<string, string>()
  readonly #wrong: string[] = []
  /** How often each thing was done. */
  readonly did: Record<string, number> = {}

  constructor(seed: number) {
    this.#seed = seed
    this.#below = random(seed).below
    writeFileSync(join(this.#ground.folder, 'config/policy.toml'), POLICY)
    for (const name of FILES) this.#ground.put(name, 'top\nend\n')
    this.#path = this.#open()
    this.#sit()
  }

  async take(): Promise<void> {
    this.#below = random(this.#seed * 1_000_003 + this.#taken++ * 7_919).below
    const [name, act] = this.#drawn()
    this.did[name] = (this.did[name] ?? 0) + 1
    await act.call(this)
    this.#look()
  }

  /** Everybody stops, what waits expires, and the last daemon ends. Answers what is wrong. */
  async end(): Promise<string[]> {
    await this.#quiet()
    await this.#path.close()
    const { lines, problems } = await afterwards(this.#ground)
    const left = leftBehind(this.#ground).map(name => `${name} was left behind`)
    this.#ground.remove()
    return [...this.#wrong, ...problems, ...left, ...this.#wrongIn(lines)]
  }

  /** Effects by now. */
  get effects(): number {
    return this.#effects().length
  }

  #drawn(): readonly [string, (this: World) => void | Promise<void>] {
    let drawn = this.#below(ACTS.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, name, act] of ACTS) {
      drawn -= weight
      if (drawn < 0) return [name, act]
    }
    throw new Error('the weights do not add up')
  }

  #one<Item>(items: readonly Item[]): Item | undefined {
    return items[this.#below(items.length)]
  }

  #open(): WholePath {
    this.#steps = new Steps()
    const path = openWholePath(this.#ground, { steps: this.#steps })
    this.#kernels.push(path.kernel)
    return path
  }

  #sit(): void {
    this.#seats.push(
      this.#path.seat(({ id, body, tool }) => {
        // What a diff only shows around is not what it adds.
        const marks = body.match(tool === 'eval_expr' ? /mark-\d+\./g : /(?<=^\+)mark-\d+\./gm)
        this.#shown.set(id, marks ?? [])
        return undefined
      }),
    )
  }

  propose(): void {
    const mark = `mark-${this.#calls.length}.`
    const kind = this.#below(5)
    const name = this.#one(FILES) ?? ''
    const asked =
      kind === 0
        ? { tool: 'eval_expr', args: { expr: mark } }
        : kind === 1
          ? { tool: 'write_file', args: { path: `new-${this.#below(6)}.txt`, content: `${mark}\nend\n` } }
          : { tool: 'edit_file', args: { path: name, old_str: 'end\n', new_str: `${mark}\nend\n` } }
    const caller = `caller ${this.#below(CALLERS)}`
    const call = { name: `call-${this.#calls.length}` as CallId, mark, caller, ...asked }
    const made: Call = { ...call, signal: new LightSignal(), answer: undefined, sent: 0 }
    this.#calls.push(made)
    this.#send(made)
  }

  #send(call: Call): void {
    const { name, tool, args, caller: id } = call
    call.signal = new LightSignal()
    call.sent++
    const answer = this.#path.run(tool, args, { call: name, caller: { id }, signal: call.signal })
    this.#answering.push(
      answer.then(envelope => {
        call.answer = envelope
      }),
    )
  }

  sendAgain(): void {
    const call = this.#one(this.#calls)
    if (call !== undefined) this.#send(call)
  }

  answer(): void {
    const plan = this.#one(this.#path.approvals.waiting())
    const seat = this.#one(this.#seats)
    if (plan === undefined || seat === undefined) return
    const draw = this.#below(8)
    if (draw === 0) this.#took(seat.answer({ deny: 'no' }, plan.id), plan.id, false)
    else if (draw === 1) seat.answer({ crossed: 'f'.repeat(64) }, plan.id)
    else if (draw === 2 && plan.tool === 'edit_file') {
      const new_str = 'by a person.\nend\n'
      seat.answer({ edit: { path: this.#one(FILES), old_str: 'end\n', new_str } }, plan.id)
    } else this.#took(seat.answer('approve', plan.id), plan.id, true)
  }

  /** Two people in one moment. */
  answerTwice(): void {
    const plan = this.#one(this.#path.approvals.waiting())
    if (plan === undefined) return
    const first = this.#below(2) === 0
    const taken = this.#seats.map((seat, index) => {
      const approves = (index % 2 === 0) === first
      const answer = seat.answer(approves ? 'approve' : 'deny', plan.id)
      this.#took(answer, plan.id, approves)
      return answer.type
    })
    if (taken.filter(type => type === 'taken').length > 1) this.#wrong.push(`${plan.id} was answered twice`)
  }

  answerWithCode(): void {
    const news = this.#one(this.#seats)?.told.findLast(one => one.type === 'plan')
    if (news?.type !== 'plan') return
    const { id: plan, code } = news.plan
    const given = this.#below(2) === 0 ? code : '00000000'
    const taken = this.#path.approvals.answerWithCode({ plan, code: given, decision: 'approve' })
    if (given !== code && taken.type === 'taken') this.#wrong.push(`a wrong code approved ${plan}`)
    this.#took(taken, plan, true)
  }

  #took(taken: AnswerOutcome, plan: string, approves: boolean): void {
    if (taken.type !== 'taken') return
    if (this.#approved.has(plan)) this.#wrong.push(`${plan} was answered after it was approved`)
    if (approves) this.#approved.add(plan)
  }

  sitDown(): void {
    if (this.#seats.length < 3) this.#sit()
  }

  getUp(): void {
    const seat = this.#seats.splice(this.#below(this.#seats.length), 1)
    seat[0]?.leave()
  }

  cancel(): void {
    this.#one(this.#calls)?.signal.abort()
  }

  meddle(): void {
    const name = this.#one(FILES) ?? ''
    const text = this.#ground.text(name)
    // A file without its last line cannot be edited any more.
    if (text === undefined || text.length > 2_000) this.#ground.put(name, 'top\nend\n')
    else this.#one(MEDDLERS)?.(join(this.#ground.project, name), text)
  }

  restartKernel(): void {
    this.#path.restartKernel()
    this.#kernels.push(this.#path.kernel)
  }

  async pass(): Promise<void> {
    await this.#path.clock.pass(this.#one([1, 500, 1_000, 5_000]) ?? 1)
  }

  setClock(): void {
    this.#path.wall.ahead = this.#one([-HOUR, 0, HOUR]) ?? 0
  }

  /** One call on the file system fails, some time later; but none that reads the journal, which a person would have to see to. */
  failDisk(): void {
    const at = 1 + this.#below(300)
    let failed = false
    this.#steps.begin({
      before(step) {
        if (failed || step.number < at || (step.of === 'journal' && !changes(step))) return
        failed = true
        throw systemError('EIO')
      },
    })
  }

  async turn(): Promise<void> {
    for (let turns = this.#below(4); turns >= 0; turns--) await settled()
  }

  /** The daemon ends in order, and the next one begins; whoever sat has to sit down again. */
  async nextDaemon(): Promise<void> {
    await this.#quiet()
    await this.#path.close()
    this.#path = this.#open()
    this.#seats = []
    this.#sit()
  }

  async #quiet(): Promise<void> {
    this.#steps.begin()
    while (this.#path.calls.busy() > 0) {
      // Also for what is only put before a person now.
      this.#path.wall.ahead += HOUR
      await this.#path.clock.pass(1_000)
      this.#look()
      // What a daemon reads of the journal comes in its own time.
      await sleep(1)
    }
    await Promise.all(this.#answering.splice(0))
    this.#look()
  }

  /** Marks that have come into a file since the last look, and how often they stand there. */
  #look(): void {
    for (const name of this.#ground.names()) {
      // What is not in its place yet is no effect.
      if (name.startsWith('.imago-')) continue
      const marks = this.#ground.text(name)?.match(/mark-\d+\./g) ?? []
      for (const mark of marks) {
        if (marks.filter(one => one === mark).length > 1) this.#wrong.push(`${mark} stands in ${name} twice`)
        if (!this.#seen.has(mark)) this.#seen.set(mark, name)
      }
    }
  }

  #effects(): { readonly mark: string; readonly plan: string | undefined }[] {
    const ran = this.#kernels.flatMap(({ asked }) =>
      asked.flatMap(one => (one.method === 'evaluate' ? [one.source] : [])),
    )
    const planOf = (mark: string) =>
      [...this.#shown].findLast(([id, marks]) => this.#approved.has(id) && marks.includes(mark))?.[0]
    return [...this.#seen.keys(), ...ran].map(mark => ({ mark, plan: planOf(mark) }))
  }

  #wrongIn(lines: readonly Line[]): string[] {
    const effects = this.#effects()
    const done = new Set(effects.map(({ mark }) => mark))
    const happened: Happened[] = effects.map(({ mark, plan }) => ({
      change: plan ?? `no plan for ${mark}`,
      path: mark,
    }))
    return [
      ...invariantsOf(attempts(lines), happened).filter(
        each => !each.endsWith('requested, and never decided'),
      ),
      ...effects
        .filter(({ plan }) => plan === undefined)
        .map(({ mark }) => `${mark} was done, and nobody approved it`),
      ...this.#calls.flatMap(call => falseIn(call, done.has(call.mark))),
      ...this.#path.approvals.waiting().map(({ id }) => `${id} still waits`),
    ]
  }
}

type Act = readonly [weight: number, name: string, act: (this: World) => void | Promise<void>]

const { prototype: all } = World

const ACTS: readonly Act[] = [
  [24, 'a call', all.propose],
  [24, 'an answer', all.answer],
  [6, 'two answers at once', all.answerTwice],
  [3, 'an answer with a code', all.answerWithCode],
  [5, 'the same call again', all.sendAgain],
  [4, 'a cancel', all.cancel],
  [8, 'a change by somebody else', all.meddle],
  [3, 'a kernel begun anew', all.restartKernel],
  [4, 'a seat taken', all.sitDown],
  [3, 'a seat left', all.getUp],
  [6, 'time passes', all.pass],
  [2, 'the clock is set', all.setClock],
  [3, 'a failure of the disk', all.failDisk],
  [24, 'a turn', all.turn],
  [1, 'the next daemon', all.nextDaemon],
]

const SEEDS = isLong ? 16 : 1

const STEPS = 500

for (let seed = 1; seed <= SEEDS; seed++)
  test(`${STEPS} things drawn by lot, of seed ${seed}, change what was approved, once, and nothing else (threat 18) (threat 19) (threat 20) (fault 25) (fault 27) (fault 31)`, async () => {
    const world = new World(seed)
    for (let step = 0; step < STEPS; step++) await world.take()
    const wrong = await world.end()
    console.log(`seed ${seed}: ${world.effects} effects of ${JSON.stringify(world.did)}`)
    assert.equal(wrong, [])
    assert.ok(world.effects > 0)
  })
