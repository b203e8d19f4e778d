import { setTimeout } from 'node:timers/promises'
import { type Report, runFile } from './harness.ts'

/**
 * Runs the test files whose paths it is sent, one after another, and sends back the report of each. Where files share the
 * process, each fails with the name of what it leaves behind for the next: variables of the environment, the current
 * folder, listeners of the process, or anything that would keep the process alive. A file that starts processes may leave
 * such things, and its report says whether it did. Ends when its parent lets go of it.
 */
export interface Task {
  path: string
  shared: boolean
}

// Time for what a file has closed to be gone; less where another process may follow instead.
const ROUNDS = 40
const FEW_ROUNDS = 10
const ROUND_MS = 25

process.on('message', async (task: Task) => {
  const before = surroundings()
  const report = await runFile(task.path)
  // What was not waited for may still fail.
  await setTimeout(task.shared ? 0 : 50)
  const settled = await settles(before, task.shared ? ROUNDS : FEW_ROUNDS)
  if (task.shared && !settled) nameLeft(report, task.path, before)
  process.send?.({ ...report, isAsBefore: settled } satisfies Report)
})
process.on('disconnect', () => process.exit())

type Surroundings = ReturnType<typeof surroundings>

function surroundings() {
  return {
    'the environment': JSON.stringify(process.env),
    'the current folder': process.cwd(),
    'listeners of the process': process
      .eventNames()
      .map(name => `${String(name)} ${process.listenerCount(name)}`)
      .filter(one => !one.endsWith(' 0'))
      .join(),
    'open handles': process.getActiveResourcesInfo().filter(isKept).sort().join(),
  }
}

function isAsBefore(before: Surroundings): boolean {
  return JSON.stringify(surroundings()) === JSON.stringify(before)
}

/** Not what the worker itself uses, or what ends by itself. */
function isKept(resource: string): boolean {
  return !['Immediate', 'TTYWrap', 'FSReqCallback', 'FSReqPromise'].includes(resource)
}

async function settles(before: Surroundings, rounds: number): Promise<boolean> {
  for (let round = 0; round < rounds && !isAsBefore(before); round++) await setTimeout(ROUND_MS)
  return isAsBefore(before)
}

function nameLeft(report: Report, path: string, before: Surroundings): void {
  const after = surroundings()
  for (const what of Object.keys(before) as (keyof Surroundings)[])
    if (after[what] !== before[what])
      report.failed.push(`${path}: leaves ${what} changed, from (${before[what]}) to (${after[what]})`)
}
