import { badName, nameTaken } from './refusals.ts'
import type { NamedKernel } from './rows.ts'

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}$/u

/** Kernels that ended and whose name is another's by now, which somebody may still have chosen: the latest ones. */
const MOST_FORMER = 100

/**
 * Kernels by their names, in the order in which they were named. A name goes on to another program; a key does not: it is
 * of one program, its next lives included.
 */
export class KernelNames extends Map<string, NamedKernel> {
  readonly #keys = new WeakMap<NamedKernel, string>()
  readonly #former = new Map<string, NamedKernel>()
  /** The images that calls began by themselves, by their roots. */
  readonly #images = new Map<string, NamedKernel>()
  /** How many programs have had that name. */
  readonly #counts = new Map<string, number>()

  override set(name: string, kernel: NamedKernel): this {
    const before = this.get(name)
    const key = this.#keys.get(kernel) ?? this.#keyAfter(before, kernel)
    this.#keys.set(kernel, key)
    this.#former.delete(key)
    if (before !== undefined && this.keyOf(name) !== key) this.delete(name)
    // Set again, it would keep its place.
    super.delete(name)
    return super.set(name, kernel)
  }

  override delete(name: string): boolean {
    const kernel = this.get(name)
    if (kernel?.alive === false) this.#former.set(this.keyOf(name), kernel)
    const [oldest] = this.#former.keys()
    if (this.#former.size > MOST_FORMER && oldest !== undefined) this.#former.delete(oldest)
    return super.delete(name)
  }

  /** A person lets go of it: nobody has chosen it any more. */
  forget(kernel: NamedKernel): void {
    super.delete(kernel.name)
    this.#keys.delete(kernel)
  }

  /** The key of the kernel that bears the name now; without one, the name. */
  keyOf(name: string): string {
    const kernel = this.get(name)
    return (kernel && this.#keys.get(kernel)) ?? name
  }

  /** The kernel of that key, also where it has ended and its name is another's. */
  of(key: string | undefined): NamedKernel | undefined {
    if (key === undefined) return undefined
    const named = this.get(key.split(' ', 1)[0] ?? '')
    return named !== undefined && this.#keys.get(named) === key ? named : this.#former.get(key)
  }

  /** Kernels that live, of the program of one that has ended, and have begun after its end. */
  livesAfter(held: NamedKernel): NamedKernel[] {
    if (held.alive) return []
    const { program, endedOn = '' } = held
    const isNext = (one: NamedKernel) => one.alive && one.program === program && (one.begunOn ?? '') > endedOn
    return this.in(held.root).filter(isNext)
  }

  /** Those of a root, which is without links. */
  in(root: string): NamedKernel[] {
    return [...this.values()].filter(kernel => kernel.root === root)
  }

  /** The image that calls of the root began by themselves, if they did and it is there. */
  imageOf(root: string): NamedKernel | undefined {
    const image = this.#images.get(root)
    return image !== undefined && this.get(image.name) === image ? image : undefined
  }

  /** Calls of its root have begun it by themselves. */
  begun(image: NamedKernel): void {
    this.#images.set(image.root, image)
  }

  /** `stem`, or `stem-2` and so on where that is taken; an image of `root` that has ended leaves its name to the next. */
  free(stem: string, root?: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? stem : `${stem}-${number}`
      const known = this.get(name)
      if (known === undefined || (known.root === root && !known.alive && !known.hasProgram)) return name
    }
  }

  /** A name for a person's new kernel; one of a kernel that has ended may be taken over. Throws `KernelError`. */
  checked(name: string): string {
    if (!NAME.test(name)) throw badName(name)
    if (this.get(name)?.alive) throw nameTaken(name)
    return name
  }

  #keyAfter(before: NamedKernel | undefined, kernel: NamedKernel): string {
    if (before !== undefined && before.program === kernel.program) return this.keyOf(before.name)
    const count = (this.#counts.get(kernel.name) ?? 0) + 1
    this.#counts.set(kernel.name, count)
    return count === 1 ? kernel.name : `${kernel.name} ${count}`
  }
}
