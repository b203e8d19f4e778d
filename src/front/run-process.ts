import { spawn } from 'node:child_process'
import type { HeldQuestion } from '../calls/held.ts'
import type { Paths } from '../paths.ts'
import { sessionOf } from './operations/calls.ts'
import type { Methods } from './protocol.ts'
import { mainProgram } from './reach.ts'

/** Of a run of that project. */
type Key = Methods['keep_key']['params'] & { readonly root: string }

/** Keys that are kept; the oldest go first. */
const MOST = 256

interface RunProcessesOptions {
  /** Goes on with a session of Claude Code, whose name is its last argument. Undefined: a person does. */
  readonly command: readonly string[] | undefined
  readonly paths: Pick<Paths, 'stateDir'>
  log(sentence: string, error: unknown): void
}

/** What a client in another project keeps or asks for is of another run. */
const runOf = ({ run, root }: Pick<Key, 'run' | 'root'>) => JSON.stringify([root, run])

/** Goes on with runs once their questions are answered, each in a process of its own: no model's library is loaded here. */
export function openRunProcesses({ command, paths, log }: RunProcessesOptions) {
  const keys = new Map<string, Key>()

  function begin(words: readonly string[], { cwd, key }: { cwd: string; key?: Key | undefined }): void {
    const [program = '', ...args] = words
    const env = { ...process.env, ...(key && { [key.variable]: key.value }) }
    const child = spawn(program, args, { cwd, detached: true, stdio: 'ignore', env })
    child.on('error', error => log(`${program} could not go on`, error))
    child.on('exit', code => code && log(`${words.join(' ')} ended with code ${code}`, undefined))
    child.unref()
  }

  return {
    keepKey(key: Key): void {
      if (command === undefined && sessionOf(key.run) !== undefined) return
      const of = runOf(key)
      keys.delete(of)
      keys.set(of, key)
      const [oldest] = keys.keys()
      if (keys.size > MOST && oldest !== undefined) keys.delete(oldest)
    },
    cancel: ({ run }: Pick<Key, 'run'>): void =>
      begin([process.execPath, ...mainProgram(), 'runs', 'cancel', run], { cwd: paths.stateDir }),
    /** Begins the process, which waits for the one that works at the run to end. What it does is in the run's file. */
    resume({ run, root }: Pick<HeldQuestion, 'run' | 'root'>): void {
      if (run === undefined) return
      const [session, key] = [sessionOf(run), keys.get(runOf({ run, root }))]
      if (session === undefined)
        begin([process.execPath, ...mainProgram(), 'runs', 'resume', run], { cwd: paths.stateDir, key })
      else if (command !== undefined) begin([...command, session], { cwd: root, key })
    },
  }
}
