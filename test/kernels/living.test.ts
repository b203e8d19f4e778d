import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Starts } from '../../src/kernels/contract.ts'
import { KernelError } from '../../src/kernels/kernel-error.ts'
import type { Kernels } from '../../src/kernels/kernels.ts'
import type { Wanted } from '../../src/kernels/wanted.ts'
import { FakeLauncher, type IdleKernel } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { openKernels } from '../support/kernels-alone.ts'

/** The short way to a kernel that lives, `living`, and the rules that a call is held to, `meant`, beside `resolve`. */
const test = suite('kernels that answer at once', { limitMs: isLong ? 600_000 : 50_000 })

const ROLES = ['main', 'main', undefined, 'serves', 'helper'] as const

/** What can happen next. Numbers choose among what there is at that moment. */
type Step =
  | { do: 'listen'; name: string; role: number; parent: number; keyed: boolean; folder: string }
  | { do: 'end'; which: number; crashes: boolean }
  | { do: 'break'; which: number }
  | { do: 'look'; onlyLiving: boolean }
  | { do: 'start'; script: boolean }
  | { do: 'stop'; which: number }
  | { do: 'die'; which: number }
  | { do: 'choose'; which: number }
  | { do: 'configure'; attach: boolean; begins: boolean }

const of = <Name extends Step['do']>(name: Name, rest: object = {}) =>
  fc.record({ do: fc.constant(name), ...rest }) as unknown as fc.Arbitrary<Step>

const which = fc.nat(5)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: of('listen', {
      name: fc.constantFrom('web', 'jobs'),
      role: fc.nat(ROLES.length - 1),
      parent: which,
      keyed: fc.nat(4).map(one => one === 0),
      folder: fc.constantFrom('shop', 'shop/web', 'mail'),
    }),
  },
  { weight: 3, arbitrary: of('end', { which, crashes: fc.boolean() }) },
  { weight: 1, arbitrary: of('break', { which }) },
  { weight: 5, arbitrary: of('look', { onlyLiving: fc.boolean() }) },
  { weight: 1, arbitrary: of('start', { script: fc.boolean() }) },
  { weight: 1, arbitrary: of('stop', { which }) },
  { weight: 1, arbitrary: of('die', { which }) },
  { weight: 1, arbitrary: of('choose', { which }) },
  { weight: 1, arbitrary: of('configure', { attach: fc.boolean(), begins: fc.boolean() }) },
)

const turn = () => new Promise(resolve => setImmediate(resolve))

/** A project with programs and images to which all that happens. */
class Shop {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-living-')))
  readonly #root = join(this.#folder, 'shop')
  readonly #launcher = new FakeLauncher()
  readonly #programs = new FakePrograms()
  readonly #kernels: Kernels
  #lately: string | undefined
  #chosen: string | undefined
  #starts: Starts = { attach: [], waiting: [], begins: true }
  #time = 0

  constructor() {
    for (const name of ['shop/web', 'mail', 'home']) mkdirSync(join(this.#folder, name), { recursive: true })
    writeFileSync(join(this.#root, 'report.py'), '')
    this.#kernels = openKernels({
      launch: this.#launcher.launch,
      home: join(this.#folder, 'home'),
      programs: this.#programs,
      startsOf: () => this.#starts,
    })
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'listen': {
        const { announced } = this.#programs
        const parent = announced.length === 0 ? 3 : (announced[step.parent % announced.length]?.pid ?? 3)
        const role = ROLES[step.role]
        const announced_at = new Date(Date.UTC(2026, 0, 1) + 1000 * ++this.#time).toISOString()
        const pid = 500 + this.#time
        const { name, keyed, folder } = step
        const more = { ...(role !== undefined && { role }), cwd: join(this.#folder, folder) }
        this.#programs.announce({ name, pid, parent, keyed, announced_at, ...more })
        return
      }
      case 'end': {
        const program = one(this.#programs.announced, step.which)
        if (program === undefined) return
        this.#programs.end(program.pid)
        this.#programs.gone.add(program.pid)
        if (step.crashes) this.#programs.ends.push({ program, ended: 'KeyError: 5' })
        for (const [at, { address }] of this.#programs.joinings.entries())
          if (address === program.address)
            this.#programs.kernels[at]?.die({ reason: 'exited', message: 'web has ended.' })
        return void (await turn())
      }
      case 'break':
        return one(this.#programs.joinings, step.which)?.away('the connection broke')
      case 'look':
        return void (await this.#answer(this.#wanted(step.onlyLiving)))
      case 'start': {
        const script = step.script ? { script: 'report.py' } : {}
        return void (await this.#kernels.start({ ...this.#wanted(false), language: 'python', ...script }))
      }
      case 'stop': {
        const own = this.#kernels.list().filter(row => row.attached === null)
        const name = one(own, step.which)?.name
        return name === undefined ? undefined : void (await this.#kernels.stop(name))
      }
      case 'die':
        one<IdleKernel>(this.#launcher.kernels, step.which)?.die({
          reason: 'killed',
          message: 'It was killed.',
        })
        return void (await turn())
      case 'choose':
        this.#chosen = one(
          [undefined, ...this.#kernels.list().map(({ name }) => this.#kernels.keyOf(name))],
          step.which,
        )
        return
      case 'configure':
        this.#starts = {
          attach: step.attach ? ['swank://127.0.0.1:4005'] : [],
          waiting: [],
          begins: step.begins,
        }
        return
      default:
        return step satisfies never
    }
  }

  /** What answers at once is what would be found, with the same said of others that could be meant. */
  async check(): Promise<void> {
    for (const onlyLiving of [true, false]) {
      const wanted = this.#wanted(onlyLiving)
      const atOnce = this.#kernels.living(wanted)
      if (atOnce === undefined) continue
      const found = await this.#answer(wanted)
      assert.equal(
        found instanceof KernelError
          ? found.message
          : [found.name, found.kernel.identity.epoch, found.besides],
        [atOnce.name, atOnce.kernel.identity.epoch, atOnce.besides],
      )
    }
  }

  async close(): Promise<void> {
    await this.#kernels.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #wanted(onlyLiving: boolean): Wanted {
    const choice = { ...(this.#chosen !== undefined && { chosen: this.#chosen }), lately: this.#lately }
    return { root: this.#root, env: {}, patienceMs: 1, onlyLiving, ...choice }
  }

  /** What answers is the kernel whose rules the call was held to. */
  async #answer(wanted: Wanted) {
    const ruled = this.#kernels.meant(wanted)
    try {
      const found = await this.#kernels.resolve(wanted)
      this.#lately = this.#kernels.keyOf(found.name)
      assert.is(ruled?.name, found.name)
      assert.is(this.#kernels.living({ ...wanted, lately: this.#lately })?.name, found.name)
      return found
    } catch (error) {
      if (error instanceof KernelError) return error
      throw error
    }
  }
}

const one = <Value>(all: readonly Value[], which: number): Value | undefined => all[which % all.length]

test('the kernel that answers at once is the one that a search finds and rules are held to, in every order of starts, ends, broken links and choices', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14, size: 'max' }), async steps => {
      const shop = new Shop()
      try {
        for (const step of steps) {
          await shop.take(step)
          await shop.check()
        }
      } finally {
        await shop.close()
      }
    }),
    { numRuns: isLong ? 20_000 : 500, seed: 20_261_130 },
  )
})
