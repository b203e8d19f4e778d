import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const EVERY_MS = 200

interface Process {
  readonly parent: string
  /** Of it and of the children for which it has waited, in clock ticks. */
  readonly ticks: number
}

/**
 * The processor time of a process and of all that it starts, daemons that leave it too: those have its temporary folder
 * in their environment. Linux. What lives for less than a fifth of a second, and is waited for by nobody, is missed.
 */
export class ProcessorTime {
  readonly #folder: string
  readonly #known = new Map<string, Process>()
  readonly #others = new Set<string>()
  readonly #timer: NodeJS.Timeout
  #gone = 0

  constructor(pid: number, folder: string) {
    this.#folder = folder
    this.#known.set(String(pid), { parent: '', ticks: 0 })
    this.#look()
    // A process that runs one file after another has taken some before, and so has what it started then and still uses.
    this.#gone = -this.#taken()
    this.#timer = setInterval(() => this.#look(), EVERY_MS)
  }

  /** The seconds until now; it looks no longer. */
  end(): number {
    clearInterval(this.#timer)
    this.#look()
    return (this.#gone + this.#taken()) / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  }

  #taken(): number {
    return [...this.#known.values()].reduce((sum, one) => sum + one.ticks, 0)
  }

  #look(): void {
    const running = new Set(readdirSync('/proc').filter(name => /^\d+$/.test(name)))
    for (const [pid, { parent, ticks }] of this.#known)
      if (!running.has(pid)) {
        this.#known.delete(pid)
        // A parent that is still there has waited for it, and counts its time as its own.
        if (!running.has(parent) || !this.#known.has(parent)) this.#gone += ticks
      }
    for (const pid of [...running].filter(pid => !this.#others.has(pid))) {
      const seen = read(pid)
      if (seen === undefined) continue
      if (this.#known.has(pid) || this.#known.has(seen.parent) || this.#isOfFolder(pid))
        this.#known.set(pid, seen)
      else this.#others.add(pid)
    }
  }

  #isOfFolder(pid: string): boolean {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(this.#folder)
    } catch {
      return false
    }
  }
}

function read(pid: string): Process | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before may hold blanks and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return { parent: fields[1] ?? '', ticks }
  } catch {
    return undefined
  }
}
