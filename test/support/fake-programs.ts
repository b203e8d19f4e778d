import type { WireError } from '../../wire/errors.ts'
import type { Kernel } from '../../wire/kernel.ts'
import { languageAt } from '../../wire/languages.ts'
import type {
  HomeSecret,
  Joining,
  Program,
  ProgramEnd,
  ProgramProcess,
  Programs,
} from '../../wire/programs.ts'
import { IdleKernel } from './fake-launcher.ts'

/** Programs without processes: what is announced, who answers and what joining comes to is as a test says. */
export class FakePrograms implements Programs {
  announced: Program[] = []
  readonly folder = '/run/programs'
  /** What programs have left that ended by an exception. */
  readonly ends: ProgramEnd[] = []
  readonly skipped: { file: string; reason: string }[] = []
  /** Addresses where nobody listens. */
  readonly silent = new Set<string>()
  /** Addresses that were knocked at only to see whether somebody is there. */
  readonly asked: string[] = []
  /** Thrown by the next attempts, in this order; after them, attempts succeed. */
  readonly failures: WireError[] = []
  /** The process that is found by joining one that has not announced itself. */
  seen: ProgramProcess | undefined
  /** Every attempt, and every image that is to be joined again. */
  readonly joinings: (Joining & { epoch?: string; signal?: AbortSignal })[] = []
  readonly kernels: IdleKernel[] = []
  /** What stands in the home directory for Swank servers. */
  secret: HomeSecret = { type: 'missing', path: '/home/user/.slime-secret' }
  /** Processes that live no more, of those that started programs. */
  readonly gone = new Set<number>()
  /** What joining again comes to; left out, it goes on for good. */
  readonly rejoined: (string | 'joined')[] = []

  /** Announces one; `pid` is new unless given. */
  announce(more: Partial<Program> = {}): Program {
    const pid = more.pid ?? 500 + this.announced.length
    const program: Program = {
      name: 'web',
      language: 'python',
      implementation: 'CPython 3.11.7',
      pid,
      started: `boot:${pid}`,
      address: `unix:/run/programs/${pid}.sock`,
      epoch: `000000${pid}`.slice(-8),
      cwd: '/srv/shop',
      program: '/srv/shop/server.py',
      announced_at: '2026-01-01T00:00:00Z',
      keyed: false,
      process: 'lives',
      file: `/run/programs/${pid}.json`,
      ...more,
    }
    this.announced.push(program)
    return program
  }

  /** The one that was joined last, as it is spoken to. */
  get latest(): IdleKernel {
    const kernel = this.kernels.at(-1)
    if (!kernel) throw new Error('nothing was joined')
    return kernel
  }

  /** That process ends, and takes its announcement back. */
  end(pid: number): void {
    this.announced = this.announced.filter(one => one.pid !== pid)
  }

  lives(pid: number): boolean {
    return !this.gone.has(pid)
  }

  version(): string {
    return JSON.stringify([this.announced, this.ends])
  }

  read() {
    return { programs: this.announced, ends: this.ends, skipped: this.skipped }
  }

  homeSecret(): HomeSecret {
    return this.secret
  }

  async isReachable({ address }: Program): Promise<boolean> {
    this.asked.push(address)
    return !this.silent.has(address)
  }

  async attach(joining: Joining): Promise<Kernel> {
    this.joinings.push(joining)
    const failure = this.failures.shift()
    if (failure) throw failure
    if (this.seen !== undefined) joining.found(this.seen)
    return this.#joined(joining)
  }

  async rejoin(joining: Joining & { epoch: string; signal: AbortSignal }): Promise<Kernel | string> {
    this.joinings.push(joining)
    const comes = this.rejoined.shift()
    if (comes === 'joined') return this.#joined(joining)
    if (comes !== undefined) return comes
    return new Promise(resolve =>
      joining.signal.addEventListener('abort', () => resolve('It was let go of.')),
    )
  }

  #joined({ address }: Joining): IdleKernel {
    const kernel = new IdleKernel(this.kernels.length + 1, languageAt(address).name)
    this.kernels.push(kernel)
    return kernel
  }
}
