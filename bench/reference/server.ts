import { spawn } from 'node:child_process'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type BenchDaemon, pause } from '../daemon.ts'

const script = join(import.meta.dirname, 'server.py')
const peer = join(import.meta.dirname, '../../wire/peers/python')

/** A small HTTP server in Python under load, which can be made to listen for Imago while it runs. */
export interface Server {
  readonly pid: number
  /** Makes it listen, under the name `bench-server`; `deaf`: without looking for errors of its own. */
  listen(deaf?: 'deaf'): Promise<void>
  /** Asks for so many pages a second, evenly, for so long; the milliseconds that each took. */
  load(options: Load): Promise<number[]>
  close(): Promise<void>
}

interface Load {
  readonly rate: number
  readonly seconds: number
  /** Every so many requests one fails. */
  readonly failing?: number
}

/** Starts in the folder of the daemon, so that the daemon may attach to the server without asking. */
export async function openServer({ env, folder }: Pick<BenchDaemon, 'env' | 'folder'>): Promise<Server> {
  const child = spawn('python3', [script, peer], { env, cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const port = Number(
    await new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).once('line', resolve)
      child.once('exit', code => reject(new Error(`the server ended with ${code}`)))
    }),
  )
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const ask = (path: string) =>
    new Promise<void>((resolve, reject) => {
      get({ agent, port, host: '127.0.0.1', path }, response => {
        response.resume().once('end', resolve).once('error', reject)
      }).once('error', reject)
    })
  return {
    pid: child.pid ?? 0,
    listen: deaf => ask(deaf === undefined ? '/listen' : '/listen-deaf'),
    load: options =>
      evenly(options, number =>
        ask(`/${options.failing && number % options.failing === 0 ? 'missing' : 'orders'}/${number}`),
      ),
    async close() {
      agent.destroy()
      child.kill('SIGTERM')
      await gone
    },
  }
}

/** An open loop: each begins at its time, whether or not those before it have been answered, and counts from then. */
async function evenly({ rate, seconds }: Load, body: (number: number) => Promise<void>): Promise<number[]> {
  const times: number[] = []
  const under: Promise<void>[] = []
  const begun = performance.now()
  for (let number = 0; number < rate * seconds; number++) {
    const due = begun + (number * 1000) / rate
    const wait = due - performance.now()
    if (wait > 1) await pause(wait)
    const from = Math.max(due, performance.now() - 1)
    under.push(body(number).then(() => void times.push(performance.now() - from)))
  }
  await Promise.all(under)
  return times
}
