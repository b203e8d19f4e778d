import { spawn } from 'node:child_process'
import { join } from 'node:path'
import xterm from '@xterm/headless'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { Differs, out, PATIENCE_MS } from './steps.ts'

/** A person at a terminal with a screen of their own, played by a script. */
export interface PersonAtScreen {
  /** Waits until the screen shows that, and prints the screen. Throws `Differs` where it does not come. */
  sees(expected: RegExp): Promise<void>
  /** Presses a key, and goes on once the screen shows that. One that came too early to count is pressed again. */
  presses(key: string, expected: RegExp): Promise<void>
  types(text: string): void
  leaves(): Promise<void>
}

/** How long until they press a key again that did nothing. */
const AGAIN_MS = 5_000

const SIZE = { columns: 100, rows: 30 }

/** Takes a seat in that project with `imago watch`; `editor` is what they edit with. */
export function seatAtScreen(project: string, { editor }: { readonly editor: string }): PersonAtScreen {
  const words = [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'watch']
  return openAtScreen(words, { cwd: project, env: { VISUAL: editor, EDITOR: editor } })
}

/** Starts that program at a terminal. */
export function openAtScreen(
  words: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): PersonAtScreen {
  const relay = join(PACKAGE_ROOT, 'examples/demos/terminal.py')
  const size = { COLUMNS: String(SIZE.columns), LINES: String(SIZE.rows) }
  const child = spawn('python3', [relay, ...words], {
    cwd,
    env: { ...process.env, ...size, TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
  const terminal = new xterm.Terminal({ cols: SIZE.columns, rows: SIZE.rows, allowProposedApi: true })
  let heard = () => {}
  child.stdout.setEncoding('utf8').on('data', (text: string) => terminal.write(text, () => heard()))
  // What a program asks a terminal, the terminal answers by typing.
  terminal.onData(answer => child.stdin.write(answer))

  const rows = () => {
    const { active } = terminal.buffer
    const all = Array.from({ length: SIZE.rows }, (_, row) =>
      (active.getLine(active.baseY + row)?.translateToString(true) ?? '').trimEnd(),
    )
    while (all.at(-1) === '') all.pop()
    return all
  }

  /** Whether the screen comes to show it in that time. */
  function shows(expected: RegExp, ms: number): Promise<boolean> {
    return new Promise(resolve => {
      const end = (seen: boolean) => {
        clearTimeout(late)
        heard = () => {}
        resolve(seen)
      }
      const late = setTimeout(end, ms, false)
      heard = () => {
        if (expected.test(rows().join('\n'))) end(true)
      }
      heard()
    })
  }

  const differs = (expected: RegExp) =>
    new Differs(`the person never saw ${expected}, but:\n${rows().join('\n')}`)

  return {
    async sees(expected) {
      if (!(await shows(expected, PATIENCE_MS))) throw differs(expected)
      out(`${framed(rows())}\n`)
    },
    async presses(key, expected) {
      for (let waited = 0; waited < PATIENCE_MS; waited += AGAIN_MS) {
        child.stdin.write(key)
        if (await shows(expected, AGAIN_MS)) return
      }
      throw differs(expected)
    },
    types: text => void child.stdin.write(text),
    async leaves() {
      child.stdin.end()
      await ended
      terminal.dispose()
    },
  }
}

/** The rows between two lines, and of several empty ones the first. */
function framed(rows: readonly string[]): string {
  const edge = '-'.repeat(SIZE.columns + 2)
  const shown = rows.filter((row, index) => row !== '' || rows[index - 1] !== '')
  return [`    +${edge}+`, ...shown.map(row => `    | ${row}`.trimEnd()), `    +${edge}+`].join('\n')
}
