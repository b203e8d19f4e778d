import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The raw loop of `raw_loop.py`, behind the bare hop of `hop.mjs`. */
export interface RawLoop {
  /** One evaluation, answered. */
  evaluate(source: string): Promise<string>
  close(): void
}

export async function openRawLoop(): Promise<RawLoop> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-raw-'))
  const direct = join(folder, 'raw.sock')
  const loop = await listening('python3', [join(import.meta.dirname, 'raw_loop.py'), direct])
  const front = join(folder, 'hop.sock')
  const hop = await listening(process.execPath, [join(import.meta.dirname, 'hop.mjs'), front, direct])
  const socket = connect(front)
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return {
    ...exchange(socket),
    close() {
      socket.destroy()
      for (const child of [loop, hop]) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function exchange(socket: Socket): Pick<RawLoop, 'evaluate'> {
  const pending: ((value: string) => void)[] = []
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
  return {
    evaluate: source =>
      new Promise(resolve => {
        pending.push(resolve)
        socket.write(frame({ source }))
      }),
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
