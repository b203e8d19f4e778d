import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { compiledAnswer } from '../contract/compiling.ts'
import type { CompiledText, CompileRequest } from '../kernel.ts'
import { adapterOf } from './languages.ts'

/** Compiles texts beside the images, each with the interpreter of the image that it is asked for. */
export interface Compiler {
  /** Never rejects: what cannot be found out is `failed`. */
  compile(request: CompileRequest): Promise<CompiledText>
  /** Ends its processes. */
  close(): void
}

export interface CompilerLimits {
  /** How long a process is kept that has nothing to do, and how long it has for one text, in ms. */
  readonly warmMs: number
  readonly textMs: number
  readonly textBytes: number
  /** Processes at one time. */
  readonly most: number
}

const LIMITS: CompilerLimits = { warmMs: 60_000, textMs: 5_000, textBytes: 2 * 1024 * 1024, most: 4 }

/** Of one answer, in characters. */
const MOST_ANSWER = 16 * 1024 * 1024

export function openCompiler(given: Partial<CompilerLimits> = {}): Compiler {
  const limits = { ...LIMITS, ...given }
  /** By interpreter; the one that was used last is last. */
  const workers = new Map<string, Worker>()

  function workerFor(interpreter: string, command: readonly string[]): Worker {
    const worker = workers.get(interpreter) ?? new Worker(command, limits)
    workers.delete(interpreter)
    workers.set(interpreter, worker)
    for (const [name, old] of workers) {
      if (workers.size <= limits.most) break
      old.close()
      workers.delete(name)
    }
    return worker
  }

  return {
    async compile({ language, pid, interpreter, version, optimize, futures, bytes }) {
      if (bytes.length > limits.textBytes)
        return notKnown(`it is larger than ${limits.textBytes} bytes, and is not compiled`)
      const command = adapterOf(language).compiler?.({ interpreter, pid })
      if (command === undefined) return notKnown('texts of this language are not compiled beside its images')
      if (typeof command === 'string') return notKnown(command)
      const worker = workerFor(interpreter, command)
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      const asked = JSON.stringify({ bytes: text.toString('base64'), optimize, flags: futures })
      try {
        return compiledFrom(await worker.ask(asked, version), text)
      } catch (error) {
        return notKnown(error instanceof Error ? error.message : String(error))
      }
    },
    close() {
      for (const worker of workers.values()) worker.close()
      workers.clear()
    },
  }
}

const notKnown = (because: string): CompiledText => ({ type: 'failed', because })

function compiledFrom(line: string, bytes: Buffer): CompiledText {
  const answer = compiledAnswer.parse(JSON.parse(line))
  if ('error' in answer) return { type: 'invalid', fault: answer.fault, error: answer.error }
  const text = answer.text ?? bytes.toString('utf8').replace(/^\ufeff/, '')
  const lines = text.split(/\r\n|\r|\n/)
  if (lines.at(-1) === '') lines.pop()
  return { type: 'compiled', parts: answer.functions, lines }
}

type Child = ChildProcessByStdio<Writable, Readable, null>

/** A process of one interpreter: begun when it is asked, ended when nobody has asked for a while. */
class Worker {
  readonly #command: readonly string[]
  readonly #limits: CompilerLimits
  #child: Child | undefined
  #version: string | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #cooling: NodeJS.Timeout | undefined
  /** Who waits for the next line; told what is wrong where there will be none. */
  #waiting: { line(text: string): void; lost(why: string): void } | undefined

  constructor(command: readonly string[], limits: CompilerLimits) {
    this.#command = command
    this.#limits = limits
  }

  /** The answer to one line. Rejects with a clause for people where there is none, or none of that version. */
  ask(line: string, version: string): Promise<string> {
    const answered = this.#turn.then(() => this.#ask(line, version))
    this.#turn = answered.catch(() => undefined)
    return answered
  }

  close(): void {
    clearTimeout(this.#cooling)
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }

  async #ask(line: string, version: string): Promise<string> {
    clearTimeout(this.#cooling)
    try {
      if (this.#child === undefined) {
        const greeting = this.#next()
        this.#child = this.#begin()
        this.#version = versionIn(await greeting)
      }
      if (this.#version !== version) throw new Error('the interpreter is another version now')
      const answer = this.#next()
      this.#child?.stdin.write(`${line}\n`)
      return await answer
    } catch (error) {
      this.close()
      throw error
    } finally {
      this.#cooling = setTimeout(() => this.close(), this.#limits.warmMs)
      this.#cooling.unref()
    }
  }

  #next(): Promise<string> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        this.#waiting = undefined
        settle()
      }
      const lost = (why: string) => end(() => reject(new Error(why)))
      const timer = setTimeout(
        () => lost(`compiling it took longer than ${this.#limits.textMs / 1_000} s`),
        this.#limits.textMs,
      )
      this.#waiting = { line: text => end(() => resolve(text)), lost }
    })
  }

  #begin(): Child {
    const [program = '', ...args] = this.#command
    const { LD_LIBRARY_PATH } = process.env
    const env = LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }
    const child = spawn(program, args, { cwd: '/', env, stdio: ['pipe', 'pipe', 'ignore'] })
    let text = ''
    child.stdin.on('error', () => {})
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      const end = text.indexOf('\n')
      if (end < 0 && text.length <= MOST_ANSWER) return
      const line = text.slice(0, Math.max(0, end))
      text = text.slice(end + 1)
      if (this.#child !== undefined && this.#child !== child) return
      if (end < 0) this.#waiting?.lost('what it compiles to is too much')
      else this.#waiting?.line(line)
    })
    const gone = (why: string) => {
      if (this.#child !== undefined && this.#child !== child) return
      this.#child = undefined
      this.#waiting?.lost(why)
    }
    child.on('error', () => gone('its interpreter cannot be started'))
    child.on('close', () => gone('the compiler did not survive it'))
    return child
  }
}

function versionIn(line: string): string | undefined {
  const greeting: unknown = JSON.parse(line)
  return typeof greeting === 'object' && greeting !== null && 'version' in greeting
    ? String(greeting.version)
    : undefined
}
