import type { Image } from '../front/image.ts'
import { newsText } from '../front/suspension-news.ts'
import type { SuspendedRow, SuspensionEvent } from '../suspensions/rows.ts'

/** One suspended evaluation, by its kernel and its id. */
export interface SuspensionName {
  readonly kernel: string
  readonly id: string
}

/** What is suspended that this console may have go on. */
export interface Mine extends SuspensionName, Pick<SuspendedRow, 'how' | 'level' | 'within'> {
  /** It was a call of this console, and ends with it; else a person has taken it, or was handed it. */
  readonly ours: boolean
}

interface ConsoleSuspensionsOptions {
  /** Whether this console has made that call. */
  made(call: string): boolean
  /** A line of news, above what is being written. */
  tell(text: string): void
  /** What is this console's has changed. */
  changed(): void
  /** A call of this console was suspended in that kernel. */
  stopped(kernel: string): void
}

/** What is suspended as far as this console has to do with it: what is its own, and where the person looks now. */
export class ConsoleSuspensions {
  readonly #options: ConsoleSuspensionsOptions
  /** In the order in which they came. */
  readonly #mine = new Map<string, Mine>()
  /** The frame that is looked at, of each. */
  readonly #frames = new Map<string, number>()
  #chosen: SuspensionName | undefined

  constructor(options: ConsoleSuspensionsOptions) {
    this.#options = options
  }

  /** A connection begins: what an earlier one owned is not this one's. */
  begin = (): void => {
    this.#mine.clear()
    this.#chosen = undefined
    this.#options.changed()
  }

  heard = (event: SuspensionEvent): void => {
    const { suspension } = event
    switch (event.type) {
      case 'suspended':
        if (suspension.call === null || !this.#options.made(suspension.call)) break
        // The answer to the call tells of it.
        this.#stopped(suspension)
        return
      case 'ended':
        this.#end(suspension.id)
        break
      case 'taken':
      case 'handed':
        if (suspension.holder.type === 'you') this.take(suspension)
        else this.#mine.delete(suspension.id)
        break
      case 'adopted':
        break
      default:
        event satisfies never
    }
    this.#options.changed()
    // What the person does themselves is no news here.
    const text = event.own ? undefined : newsText(event)
    if (text !== undefined) this.#options.tell(text)
  }

  /** A call of this console was suspended. */
  #stopped(row: SuspendedRow): void {
    const { id, kernel } = row
    this.#keep({ ...mineOf(row), ours: true })
    this.choose({ kernel, id })
    this.#options.stopped(kernel)
  }

  /** The person owns it from now on. */
  take(row: SuspendedRow): void {
    this.#keep({ ...mineOf(row), ours: this.#mine.get(row.id)?.ours ?? false })
  }

  /** The image knows of no such one. */
  forget(id: string): void {
    this.#end(id)
    this.#options.changed()
  }

  /** All that is this console's, oldest first. */
  get mine(): readonly Mine[] {
    return [...this.#mine.values()]
  }

  /** How many stacks of this console's wait in that kernel. What is only kept to be looked at waits for nothing. */
  waiting(kernel: string | undefined): number {
    return this.mine.filter(one => one.how === 'held' && one.kernel === kernel).length
  }

  /** What commands are about: what was looked at last, else the newest of this console's in that kernel. */
  current(kernel: string | undefined): SuspensionName | undefined {
    if (this.#chosen !== undefined && this.#chosen.kernel === kernel) return this.#chosen
    return this.mine.findLast(one => one.kernel === kernel)
  }

  choose(named: SuspensionName): void {
    this.#chosen = named
    this.#options.changed()
  }

  frame({ id }: SuspensionName): number {
    return this.#frames.get(id) ?? 0
  }

  lookAt({ id }: SuspensionName, frame: number): void {
    this.#frames.set(id, frame)
  }

  /** Frames of earlier errors at the prompt that make room for those of the last one. */
  spare(kernel: string): readonly Mine[] {
    const kept = this.mine.filter(
      one => one.ours && one.kernel === kernel && one.how === 'post_mortem' && one.level === 1,
    )
    return kept.slice(0, -1).filter(({ id }) => id !== this.#chosen?.id)
  }

  /** Gives up those: the outermost alone, with which ends what stands on them. */
  async leave(image: Pick<Image, 'call'>, some: readonly Mine[]): Promise<void> {
    const ids = new Set(some.map(({ id }) => id))
    const outermost = some.filter(({ within }) => within === null || !ids.has(within))
    const give = ({ id, kernel }: Mine) =>
      image.call({ tool: 'debug_restart', args: { suspension: id, kernel, leave: true } })
    await Promise.all(outermost.map(give))
  }

  #keep(one: Mine): void {
    this.#mine.set(one.id, one)
    this.#options.changed()
  }

  #end(id: string): void {
    this.#mine.delete(id)
    this.#frames.delete(id)
    if (this.#chosen?.id === id) this.#chosen = undefined
  }
}

const mineOf = ({ kernel, id, how, level, within }: SuspendedRow): Omit<Mine, 'ours'> => ({
  kernel,
  id,
  how,
  level,
  within,
})
