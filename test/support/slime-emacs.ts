import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { emacsPaths, lispCache } from './runtimes.ts'

/** A real Emacs on a terminal of its own, with SLIME and all of its usual contribs loaded. */
export interface SlimeEmacs {
  readonly pid: number
  /** What a form of Emacs Lisp comes to, printed. Rejects with the message of an error. */
  eval(form: string): Promise<string>
  /** The text that a form of Emacs Lisp comes to. */
  text(form: string): Promise<string>
  /** Resolves once the form is true. */
  until(form: string): Promise<void>
  /** As typed at its keyboard. */
  type(keys: string): void
  /** Connects to a Swank server with `slime-connect`, and waits until the REPL of that connection has its prompt. */
  connect(port: number): Promise<void>
  /** As `slime-disconnect` does it, and waits until nothing is left of the connection in Emacs. */
  disconnect(): Promise<void>
  /** Types a line into the REPL, and waits until it has been sent. */
  enter(line: string): Promise<void>
  /** The same, and gives what stands below it once the next prompt is there. */
  repl(line: string): Promise<string>
  /** Ends it as `kill -9` does. */
  kill(): Promise<void>
}

interface Answer {
  readonly id?: number
  readonly pid?: number
  readonly value?: string
  readonly error?: string
}

/** An Emacs that compiles to machine code does so at every start under a new home, for a minute. */
export const NOT_NATIVE = '(setq native-comp-deferred-compilation nil native-comp-jit-compilation nil)'

const inRepl = (form: string) => `(with-current-buffer (slime-output-buffer) ${form})`
const AT_PROMPT = inRepl(
  '(and (not (slime-rex-continuations)) (= slime-repl-input-start-mark (point-max))' +
    ' (string-match-p "> $" (buffer-substring-no-properties (line-beginning-position 0) (point-max))))',
)

interface Start {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Words for Emacs besides. */
  readonly words?: readonly string[]
  /** Is told all that Emacs writes to its terminal. */
  hears?(text: string): void
}

export async function openSlimeEmacs({ cwd, env = {}, words = [], hears }: Start = {}): Promise<SlimeEmacs> {
  const { emacs, slime } = emacsPaths()
  const home = mkdtempSync(join(tmpdir(), 'emacs-'))
  const path = join(home, 'asking')
  const server = createServer().listen(path)
  const begin = [
    ['--eval', NOT_NATIVE],
    ['-L', slime, '-L', join(slime, 'contrib'), '--eval', "(require 'slime)", '--eval', '(slime-setup)'],
    ['-l', join(PACKAGE_ROOT, 'test/support/slime-emacs.el')],
  ].flat()
  const relay = join(PACKAGE_ROOT, 'test/support/pty_relay.py')
  const child = spawn('python3', [relay, '100', '40', emacs, '-Q', '-nw', ...begin, ...words], {
    // A terminal that is not asked what it can do: nobody would answer.
    env: {
      ...process.env,
      HOME: home,
      TERM: 'vt100',
      XDG_CACHE_HOME: lispCache,
      IMAGO_TEST_EMACS: path,
      ...env,
    },
    cwd: cwd ?? home,
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  }) as ChildProcessByStdio<Writable, Readable, null>
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen = (screen + text).slice(-4_000)
    hears?.(text)
  })
  child.stdin.on('error', () => {})
  const gone = new Promise<never>((_, reject) => {
    child.once('close', () => reject(new Error(`Emacs has ended; the last of its screen: ${screen}`)))
  })
  gone.catch(() => {})

  const socket = await Promise.race([
    new Promise<Socket>(resolve => server.once('connection', resolve)),
    gone,
  ])
  socket.on('error', () => {})
  const lines = createInterface({ input: socket })
  lines.on('error', () => {})
  const waiting = new Map<number, (answer: Answer) => void>()
  const pid = await new Promise<number>(resolve => {
    lines.on('line', line => {
      const answer = JSON.parse(line) as Answer
      if (answer.pid !== undefined) resolve(answer.pid)
      if (answer.id === undefined) return
      waiting.get(answer.id)?.(answer)
      waiting.delete(answer.id)
    })
  })
  process.once('exit', () => endQuietly(pid))
  let asked = 0

  const evaluate = async (form: string): Promise<string> => {
    const id = ++asked
    const answered = new Promise<Answer>(resolve => waiting.set(id, resolve))
    // A text of JSON without control characters is one of Emacs Lisp.
    socket.write(`(${id} ${JSON.stringify(form.replaceAll('\n', ' '))})\n`)
    const { value, error } = await Promise.race([answered, gone])
    if (value === undefined) throw new Error(`${form}: ${error}`)
    return value
  }
  const until = async (form: string) => {
    while ((await evaluate(form)) === 'nil') await new Promise(resolve => setTimeout(resolve, 10))
  }
  const text = async (form: string) => (await evaluate(form)).slice(1, -1).replace(/\\(["\\])/g, '$1')
  const type = (keys: string) => void child.stdin.write(keys)
  /** Where in the REPL the line begins. */
  const enter = async (line: string) => {
    await evaluate(`(progn (switch-to-buffer (slime-output-buffer)) (goto-char (point-max)) t)`)
    const from = await evaluate(inRepl('(marker-position slime-repl-input-start-mark)'))
    type(`${line}\r`)
    await until(inRepl(`(string-match-p "\\n" (buffer-substring-no-properties ${from} (point-max)))`))
    return from
  }
  return {
    pid,
    eval: evaluate,
    text,
    until,
    type,
    async connect(port) {
      // The REPL of a connection that has ended would still be taken for that of the one to use.
      await evaluate(`(progn (switch-to-buffer "*scratch*") (slime-connect "127.0.0.1" ${port}) t)`)
      await until(`(and (slime-connected-p) (slime-output-buffer t) ${AT_PROMPT})`)
    },
    async disconnect() {
      await evaluate('(progn (slime-disconnect) t)')
      await until('(null slime-net-processes)')
    },
    enter: async line => void (await enter(line)),
    async repl(line) {
      const from = await enter(line)
      await until(AT_PROMPT)
      return (await text(inRepl(`(buffer-substring-no-properties ${from} (point-max))`)))
        .split('\n')
        .slice(1, -1)
        .join('\n')
    },
    async kill() {
      endQuietly(pid)
      child.stdin.end()
      await gone.catch(() => {})
      server.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

function endQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
