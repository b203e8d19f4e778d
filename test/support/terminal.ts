import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { type Rig, until } from './rig.ts'

export const CTRL_C = '\x03'
export const CTRL_D = '\x04'
export const ESCAPE = '\x1b'

/** Lines as a terminal sends a paste of them; the last one ends where it ends. */
export const pasted = (...lines: string[]) => `${ESCAPE}[200~${lines.join('\r')}${ESCAPE}[201~`

/** Each is typed once the text before it has been written. */
export type Steps = readonly (readonly [awaited: string, typed: string])[]

/** Both streams together, and the exit code. */
export interface Seen {
  readonly code: number | null
  readonly text: string
}

/**
 * Runs `imago` with the arguments at a terminal of its own in the project, and types the steps there. The terminal can
 * only print lines; test/support/screen.ts has one with a screen.
 */
export function openTerminal(rig: Rig): (args: readonly string[], steps: Steps) => Promise<Seen> {
  const script = join(PACKAGE_ROOT, 'test/support/terminal.py')
  const imago = [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.cjs')]
  return (args, steps) => ranIn(rig, ['python3', script, JSON.stringify(steps), ...imago, ...args])
}

/** Runs a program to its end, without standard input. */
export async function ranIn(rig: Rig, [program = '', ...args]: readonly string[]): Promise<Seen> {
  const child = spawn(program, args, {
    cwd: rig.project,
    env: { TERM: 'dumb', ...rig.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', data => {
      text += data
    })
  let code: number | null | undefined
  child.on('close', exit => {
    code = exit
  })
  await until(() => code !== undefined, `${program} to end`).catch(error => {
    child.kill('SIGKILL')
    throw new Error(`${error.message}: ${text}`)
  })
  return { code: code ?? null, text }
}
