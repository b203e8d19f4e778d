import { spawn } from 'node:child_process'
import { findPaths, type Paths } from '../paths.ts'
import type { Methods } from './protocol.ts'
import { mainProgram } from './reach.ts'

type Key = Methods['keep_key']['params']

/** Keys that are kept; the oldest go first. */
const MOST = 256

/** Goes on with runs of the agent, each in a process of its own: no model's library is loaded here. */
export function openRunProcesses(
  log: (sentence: string, error: unknown) => void,
  paths: Paths = findPaths(),
) {
  const keys = new Map<string, Key>()
  return {
    keepKey(key: Key): void {
      keys.delete(key.run)
      keys.set(key.run, key)
      const [oldest] = keys.keys()
      if (keys.size > MOST && oldest !== undefined) keys.delete(oldest)
    },
    /** Begins the process, which waits for the one that works at the run to end. What it does is in the run's file. */
    resume(run: string): void {
      const { variable, value } = keys.get(run) ?? {}
      const child = spawn(process.execPath, [...mainProgram(), 'runs', 'resume', run], {
        cwd: paths.stateDir,
        detached: true,
        stdio: 'ignore',
        env: { ...process.env, ...(variable && value && { [variable]: value }) },
      })
      child.on('error', error => log(`${run} could not be gone on with`, error))
      child.unref()
    },
  }
}
