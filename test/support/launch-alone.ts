import { execFileSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { launchPython } from '../../wire/kernels/python.ts'
import { evaluate } from './heard.ts'

/**
 * A process of its own that starts kernels, for tests of what happens to it, and to them when it dies.
 *
 * Its argument is JSON: a `Task`. It starts the kernels one after the other, runs the source
 * in each, and says all of it as lines of JSON. It then stays until it is killed or its standard input ends.
 */
export interface Task {
  readonly root: string
  readonly runtimeDir: string
  readonly kernels: number
  readonly source: string
  /** How many descriptors it may have, once it is loaded. */
  readonly descriptors?: number
}

const task = JSON.parse(process.argv[2] ?? '{}') as Task
const say = (line: unknown) => writeSync(1, `${JSON.stringify(line)}\n`)

if (task.descriptors !== undefined) {
  const limit = `--nofile=${task.descriptors}:${task.descriptors}`
  execFileSync('prlimit', ['--pid', String(process.pid), limit])
}

const env = { PATH: process.env.PATH ?? '', HOME: task.root }
for (let number = 1; number <= task.kernels; number++) {
  try {
    const { root, runtimeDir } = task
    const launched = await launchPython({
      name: `python-${number}`,
      root,
      env,
      runtimeDir,
    })
    const heard = evaluate(launched.kernel, task.source)
    const evaluated = await heard.result
    say({ pid: launched.pid, type: evaluated.type, text: heard.text().slice(0, 10_000) })
  } catch (error) {
    say({ code: error instanceof Error && 'code' in error ? error.code : null, message: String(error) })
  }
}
say({ ready: true, terminal: hasTerminal() })
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))

/** Whether this process, unlike its kernels, has a terminal. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r+'))
    return true
  } catch {
    return false
  }
}
