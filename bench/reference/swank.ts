import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { BenchDaemon } from '../daemon.ts'

/** A real SBCL that listens with Swank, as a person would have started it. */
export interface SwankImage {
  readonly port: number
  readonly pid: number
  close(): void
}

/** `forms` are evaluated before it listens. */
export async function openSwankImage(forms: readonly string[] = []): Promise<SwankImage> {
  const evals = [
    '(require :asdf)',
    '(asdf:load-system :swank)',
    ...forms,
    '(swank:create-server :port 0 :dont-close t)',
    '(loop (sleep 3600))',
  ]
  const options = ['--noinform', '--no-sysinit', '--no-userinit', '--disable-debugger']
  const child = spawn('sbcl', [...options, ...evals.flatMap(form => ['--eval', form])], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  for await (const line of createInterface({ input: child.stderr })) {
    const port = /Swank started at port: (\d+)/.exec(line)?.[1]
    if (port === undefined) continue
    child.stderr.resume()
    return { port: Number(port), pid: child.pid ?? 0, close: () => void child.kill('SIGKILL') }
  }
  throw new Error('SBCL ended before it listened; is the package cl-swank there?')
}

/** The least client of Swank that there can be, behind the bare hop of `hop.mjs`: requests, and no look at answers. */
export interface BareSwank {
  /** Sends `(:emacs-rex FORM …)` and resolves with the text of its `:return`; rejects where that signals an error. */
  ask(form: string): Promise<string>
  /** Sends one that signals an error; resolves, once it was told of the debugger, with what leaves that again. */
  err(form: string): Promise<() => Promise<void>>
  close(): void
}

interface Pending {
  readonly resolve: (answer: string) => void
  readonly reject: (why: Error) => void
}

export async function openBareSwank({ port }: SwankImage): Promise<BareSwank> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-swank-'))
  const front = join(folder, 'hop.sock')
  const hop = await listening(front, port)
  const socket = connect(front)
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  let last = 0
  let rest: Buffer = Buffer.alloc(0)
  const pending = new Map<number, Pending>()
  let entered: ((thread: number) => void) | undefined
  socket.on('data', data => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data])
    while (rest.length >= 6) {
      const end = 6 + Number.parseInt(rest.toString('latin1', 0, 6), 16)
      if (rest.length < end) return
      const message = rest.toString('utf8', 6, end)
      rest = rest.subarray(end)
      const thread = /^\(:debug (\d+) /.exec(message)?.[1]
      if (thread !== undefined) {
        if (entered !== undefined) entered(Number(thread))
        else for (const { reject } of pending.values()) reject(new Error(message.slice(0, 500)))
      }
      const id = /^\(:return [\s\S]* (\d+)\)$/.exec(message)?.[1]
      pending.get(Number(id))?.resolve(message)
      pending.delete(Number(id))
    }
  })
  const ask = (form: string, thread: number | 't' = 't') => {
    const id = ++last
    return new Promise<string>((resolve, reject) => {
      pending.set(id, { resolve, reject })
      const text = `(:emacs-rex ${form} nil ${thread} ${id})`
      socket.write(Buffer.byteLength(text).toString(16).padStart(6, '0') + text)
    })
  }
  return {
    ask,
    async err(form) {
      const told = new Promise<number>(resolve => {
        entered = resolve
      })
      const answered = ask(form)
      const thread = await told
      entered = undefined
      return async () => {
        await ask('(swank:throw-to-toplevel)', thread)
        await answered
      }
    },
    close() {
      socket.destroy()
      hop.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** An image that the daemon is attached to under that name, with a bare client of it beside; `end` ends both. */
export async function attachedSwank(
  daemon: BenchDaemon,
  { name, forms }: { readonly name: string; readonly forms?: readonly string[] },
) {
  const image = await openSwankImage(forms)
  const client = await openBareSwank(image)
  await daemon.link.call('attach', { target: `swank://127.0.0.1:${image.port}`, name, no_secret: true })
  const end = () => {
    client.close()
    image.close()
  }
  return { client, end }
}

function listening(front: string, port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'hop.mjs'), front, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the hop ended with ${code}`)))
    child.stdout.once('data', () => resolve(child))
  })
}
