import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The raw loop of `raw_loop.py`, reached directly or through the bare hop of `hop.mjs`. */
export interface RawLoop {
  /** One evaluation, answered. */
  evaluate(source: string): Promise<string>
  /** Sends them all at once and resolves when the last is answered. */
  pipeline(sources: readonly string[]): Promise<void>
  close(): void
}

export async function openRawLoop({ hop }: { readonly hop: boolean }): Promise<RawLoop> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-raw-'))
  const direct = join(folder, 'raw.sock')
  const processes = [await listening('python3', [join(import.meta.dirname, 'raw_loop.py'), direct])]
  const front = join(folder, 'hop.sock')
  if (hop)
    processes.push(await listening(process.execPath, [join(import.meta.dirname, 'hop.mjs'), front, direct]))
  const socket = connect(hop ? front : direct)
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return {
    ...exchange(socket),
    close() {
      socket.destroy()
      for (const child of processes) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function exchange(socket: Socket): Pick<RawLoop, 'evaluate' | 'pipeline'> {
  let pending: ((value: string) => void)[] = []
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', data => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data])
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
      const end = 4 + rest.readUInt32BE(0)
      const { value } = JSON.parse(rest.toString('utf8', 4, end)) as { value: string }
      rest = rest.subarray(end)
      pending.shift()?.(value)
    }
  })
  const evaluate = (source: string) =>
    new Promise<string>(resolve => {
      pending.push(resolve)
      socket.write(frame({ source }))
    })
  return {
    evaluate,
    async pipeline(sources) {
      pending = []
      await Promise.all(sources.map(evaluate))
    },
  }
}

function frame(value: unknown): Buffer {
  const body = JSON.stringify(value)
  const bytes = Buffer.allocUnsafe(4 + Buffer.byteLength(body))
  bytes.writeUInt32BE(bytes.length - 4, 0)
  bytes.write(body, 4)
  return bytes
}

/** Starts a program and waits for its first line. */
function listening(command: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${command} ended with ${code}`)))
    child.stdout?.once('data', () => resolve(child))
  })
}
