import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { venvPython } from '../../test/support/runtimes.ts'

/** An ipykernel driven by its own client library, in the Python of the test set-up. */
export interface Ipykernel {
  /** Microseconds of so many executions, one after another. */
  times(count: number): Promise<number[]>
  close(): void
}

export async function openIpykernel(): Promise<Ipykernel> {
  const script = join(import.meta.dirname, 'ipykernel_loop.py')
  const child = spawn(venvPython, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('ipykernel ended; run `node test/setup.mjs`')
    return value
  }
  await line()
  return {
    async times(count) {
      child.stdin.write(`${count}\n`)
      return JSON.parse(await line()) as number[]
    },
    close: () => void child.stdin.end(),
  }
}
