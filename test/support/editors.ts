import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { type Rig, until } from './rig.ts'

/** A process without a terminal that does what it is told to: test/support/editor-process.ts. */
export interface Editor {
  readonly pid: number
  /** All that it has printed. */
  told(): Record<string, unknown>[]
  does(command: string, params?: unknown): void
  /** Resolves with the first thing printed from now on, or after so many others, that has the key. */
  hears(key: string, value?: unknown, after?: number): Promise<Record<string, unknown>>
  /** Does it, and resolves with what is printed after that and has one of the keys, or has failed. */
  says(command: string, params: unknown, ...keys: readonly string[]): Promise<Record<string, unknown>>
  signal(name: NodeJS.Signals): void
}

export const EDITOR: readonly string[] = [
  process.execPath,
  ...process.execArgv,
  join(PACKAGE_ROOT, 'test/support/editor-process.ts'),
]

const begun = new Set<Editor>()

/** Ends those that were opened here. */
export function closeEditors(): void {
  for (const editor of begun) editor.signal('SIGKILL')
  begun.clear()
}

/** In a session of its own, so that it has no terminal, and with an input that nobody writes to. */
export async function openEditor(rig: Rig): Promise<Editor> {
  const [program = '', ...args] = EDITOR
  const child = spawn(program, args, {
    cwd: rig.project,
    env: rig.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  let written = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    written += text
  })
  const told = () => linesIn(written)
  const hears = async (key: string, value?: unknown, after = 0) => {
    const wanted = () =>
      told()
        .slice(after)
        .find(one => key in one && (value === undefined || one[key] === value))
    await until(() => wanted() !== undefined, `${key} ${value ?? ''}`).catch(error => {
      throw new Error(`${error.message}; it printed: ${written}`)
    })
    return wanted() ?? {}
  }
  const does = (command: string, params?: unknown) =>
    void child.send(params === undefined ? command : `${command} ${JSON.stringify(params)}`)
  const editor: Editor = {
    pid: child.pid ?? 0,
    told,
    does,
    hears,
    async says(command, params, ...keys) {
      const before = told().length
      does(command, params)
      const came = () =>
        told()
          .slice(before)
          .find(one => [...keys, 'failed'].some(key => key in one))
      await until(() => came() !== undefined, `${command} to come to ${keys}: ${written}`)
      return came() ?? {}
    },
    signal: name => {
      try {
        process.kill(-editor.pid, name)
      } catch {
        // It has ended already.
      }
    },
  }
  begun.add(editor)
  await hears('ready')
  return editor
}

export const linesIn = (written: string): Record<string, unknown>[] =>
  [...written.matchAll(/^@(\{.*\})$/gm)].map(([, json = '{}']) => JSON.parse(json))
