import { type Disk, NODE_DISK, type OpenMode } from '../../src/files/disk.ts'
import { type JournalFiles, NODE_FILES } from '../../src/journal/files.ts'

/** One call on the file system, of the journal or of the files of a project, or a moment that a test names: from 1. */
export interface Step {
  readonly number: number
  readonly of: 'files' | 'journal' | 'moment'
  readonly name: string
  readonly args: readonly unknown[]
}

/** What is done about a step. What `before` throws happens in its place; what `after` throws, although it was done. */
export interface Acting {
  before?(step: Step): void
  after?(step: Step): void
  /** How many of so many bytes a write is let have; all of them unless given. */
  taken?(step: Step, bytes: number): number
}

export interface StepsOptions {
  /** Whether a sync reaches the disk. Without, it takes one turn of the loop: enough where no machine fails. */
  readonly synced: boolean
}

/** The file system for one daemon, with something done before and after each call. */
export class Steps {
  /** How many there were. */
  count = 0
  acting: Acting = {}
  readonly disk: Disk
  readonly journal: JournalFiles

  constructor({ synced }: StepsOptions = { synced: false }) {
    const soon = () => new Promise<void>(resolve => setImmediate(resolve))
    this.disk = this.#stepped('files', synced ? NODE_DISK : { ...NODE_DISK, sync: soon })
    this.journal = this.#stepped(
      'journal',
      synced ? NODE_FILES : { ...NODE_FILES, sync: soon, syncDirectory: soon },
    )
  }

  /** Begins to count anew. */
  begin(acting: Acting = {}): void {
    this.count = 0
    this.acting = acting
  }

  /** Something happens that is no call on the file system. */
  moment(name: string): void {
    this.#take({ of: 'moment', name, args: [], call: () => undefined })
  }

  #stepped<Target extends object>(of: Step['of'], target: Target): Target {
    return new Proxy(target, {
      get: (_, name) => {
        const call = Reflect.get(target, name) as (...args: unknown[]) => unknown
        return (...args: unknown[]) => this.#take({ of, name: String(name), args, call })
      },
    })
  }

  #take(o: Pick<Step, 'of' | 'name' | 'args'> & { call(...args: readonly unknown[]): unknown }): unknown {
    const { call, ...about } = o
    const step = { number: ++this.count, ...about }
    const work = () => {
      this.acting.before?.(step)
      return call(...this.#given(step))
    }
    if (!LATER.has(step.name)) {
      const result = work()
      this.acting.after?.(step)
      return result
    }
    return (async () => {
      const result = await work()
      this.acting.after?.(step)
      return result
    })()
  }

  #given(step: Step): readonly unknown[] {
    const { name, args } = step
    const [fd, bytes] = args
    if (name !== 'write' || !(bytes instanceof Uint8Array) || this.acting.taken === undefined) return args
    return [fd, bytes.subarray(0, this.acting.taken(step, bytes.length))]
  }
}

const LATER = new Set(['sync', 'syncDirectory', 'readLater', 'remove'])

/** Whether the disk is another one afterwards, or may be. */
export function changes({ name, args }: Step): boolean {
  return CHANGES.has(name) || (name === 'open' && (args[1] as OpenMode | undefined)?.for === 'making')
}

/** Whether it fails on a disk that is full. */
export const needsRoom = (step: Step) => changes(step) && !GIVES_BACK.has(step.name)

const CHANGES = new Set(
  'mkdir makeDirectory create write truncate chmod chown rename link unlink remove rmdir sync syncDirectory'.split(
    ' ',
  ),
)

const GIVES_BACK = new Set(['unlink', 'remove', 'rmdir', 'truncate', 'chmod', 'chown'])

/** As the system says it. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by a test`), { code })
}
