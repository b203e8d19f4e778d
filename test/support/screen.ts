import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import xterm, { type IBufferCell } from '@xterm/headless'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { type Rig, until } from './rig.ts'

/** A program at a terminal that can be looked at. */
export interface ScreenOf {
  readonly child: ChildProcess
  /** Everything that it has written. */
  readonly written: string
  /** The rows of the screen, without blanks at their ends and without the empty ones at the end. */
  rows(): string[]
  /** The same, and what has scrolled away above. */
  all(): string[]
  text(): string
  /** Where the cursor stands, from 0. */
  cursor(): { readonly row: number; readonly column: number }
  /** The looks of a piece of the screen: `fg:2`, `bold`, `dim`, `inverse`, `underline`. */
  looks(text: string): string[]
  /** Every cell of the screen, row by row. */
  cells(): ReturnType<typeof cellsIn>
  /** Whether the program has asked for pastes to be marked. */
  readonly marksPastes: boolean
  type(keys: string): void
  paste(...lines: string[]): void
  resize(columns: number, rows: number): Promise<void>
  /** Whether the link to the terminal stands still: what the program writes does not come, what is typed goes. */
  holds(still: boolean): void
  /** Resolves once the screen shows it; rejects with the screen if it does not. */
  shows(expected: string | RegExp): Promise<void>
  /** Resolves once the screen does not show it any more. */
  hides(expected: string | RegExp): Promise<void>
  /** Of a console: what is being written is dropped, and nothing but an empty prompt is left to be seen. */
  afresh(): Promise<void>
  readonly ended: Promise<number>
  close(): void
}

export interface ScreenOptions {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  /** Another program than imago. */
  readonly command?: readonly string[]
}

/** Runs `imago` in the project, at a terminal of the given size. */
export function openScreen(rig: Rig, o: ScreenOptions = {}): ScreenOf {
  const { columns = 80, rows = 24, env = {}, args = [] } = o
  const command = o.command ?? [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.cjs'), ...args]
  const relay = join(PACKAGE_ROOT, 'test/support/pty_relay.py')
  const child = spawn('python3', [relay, String(columns), String(rows), ...command], {
    cwd: rig.project,
    env: { ...rig.env, TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  })
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 5_000 })
  let written = ''
  let shown = Promise.resolve()
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    written += text
    const last = shown
    shown = new Promise(resolve => terminal.write(text, () => void last.then(resolve)))
  })
  child.stdin?.on('error', () => {})
  terminal.onData(answer => child.stdin?.write(answer))
  // All that it wrote is on the screen by then.
  const ended = new Promise<number>(resolve =>
    child.on('close', code => void shown.then(() => resolve(code ?? -1))),
  )

  const line = (index: number) =>
    terminal.buffer.active.getLine(index)?.translateToString(true).trimEnd() ?? ''
  const from = (first: number) => {
    const lines = Array.from({ length: terminal.buffer.active.length - first }, (_, index) =>
      line(first + index),
    )
    while (lines.at(-1) === '') lines.pop()
    return lines
  }
  const rowsNow = () => from(terminal.buffer.active.baseY)
  const matches = (expected: string | RegExp) => {
    const text = rowsNow().join('\n')
    return typeof expected === 'string' ? text.includes(expected) : expected.test(text)
  }
  const awaits = async (expected: string | RegExp, wanted: boolean) => {
    try {
      await until(
        async () => {
          await shown
          return matches(expected) === wanted
        },
        `${wanted ? '' : 'no '}${expected}`,
      )
    } catch (error) {
      throw new Error(
        `${error instanceof Error ? error.message : error}; the screen:\n${rowsNow().join('\n')}`,
      )
    }
  }

  return {
    child,
    get written() {
      return written
    },
    rows: rowsNow,
    all: () => from(0),
    text: () => rowsNow().join('\n'),
    cursor: () => ({ row: terminal.buffer.active.cursorY, column: terminal.buffer.active.cursorX }),
    looks(text) {
      const { active } = terminal.buffer
      for (let row = active.length - 1; row >= 0; row--) {
        const column = line(row).indexOf(text)
        const cell = column < 0 ? undefined : active.getLine(row)?.getCell(column)
        if (cell !== undefined) return looksOf(cell)
      }
      return ['absent']
    },
    cells: () => cellsIn(terminal),
    get marksPastes() {
      return terminal.modes.bracketedPasteMode
    },
    type: keys => void child.stdin?.write(keys),
    paste: (...lines) => void child.stdin?.write(`\x1b[200~${lines.join('\r')}\x1b[201~`),
    async resize(toColumns, toRows) {
      await shown
      terminal.resize(toColumns, toRows)
      ;(child.stdio[3] as Writable).write(`${toColumns} ${toRows}\n`)
    },
    holds: still => void (child.stdio[3] as Writable).write(still ? 'hold\n' : 'go\n'),
    shows: expected => awaits(expected, true),
    hides: expected => awaits(expected, false),
    async afresh() {
      // A page may still be there, which would take the key.
      await awaits(/^>>>.*$(?!\n)/m, true)
      child.stdin?.write('\x03')
      await awaits(/\^C\n>>>$/, true)
      child.stdin?.write('\x0c')
      await awaits(/^>>>$/, true)
      terminal.clear()
      written = ''
    },
    ended,
    close() {
      child.kill('SIGKILL')
      terminal.dispose()
    },
  }
}

/** What a test has a console in. */
export interface Shared {
  readonly screen: ScreenOf
  close(): void | Promise<void>
}

/**
 * Opens a console for a test, and lends it to the next one that asks for no options, unless the test failed or the
 * console ended in it.
 */
export function sharedConsole<Parts extends Shared, Options extends object>(
  open: (options: Options) => Promise<Parts>,
): {
  use(options: Options, work: (parts: Parts) => Promise<void>): Promise<void>
  close(): Promise<void>
} {
  let kept: Parts | undefined
  return {
    async use(options, work) {
      const isPlain = Object.keys(options).length === 0
      const lent = isPlain ? kept : undefined
      if (isPlain) kept = undefined
      const parts = lent ?? (await open(options))
      try {
        await lent?.screen.afresh()
        await work(parts)
      } catch (error) {
        await parts.close()
        throw error
      }
      const { exitCode, signalCode } = parts.screen.child
      if (isPlain && exitCode === null && signalCode === null) kept = parts
      else await parts.close()
    },
    async close() {
      await kept?.close()
    },
  }
}

/** The console, and what it showed of what. */
export interface ConsoleOf {
  /** A console that stands at an empty prompt. Without options it is that of the test before, if that ended well. */
  withConsole(options: ScreenOptions, use: (screen: ScreenOf) => Promise<void>): Promise<void>
  /** Enters one line, and waits for the next prompt. */
  run(screen: ScreenOf, code: string): Promise<void>
  /** What stands between the last two prompts. */
  lastAnswer(screen: ScreenOf): string
}

export function openConsole(rig: Rig): ConsoleOf {
  const consoles = sharedConsole(async (options: ScreenOptions) => {
    const screen = openScreen(rig, options)
    await screen.shows(/^>>>/m)
    return { screen, close: () => screen.close() }
  })
  return {
    withConsole: (options, use) => consoles.use(options, ({ screen }) => use(screen)),
    async run(screen, code) {
      const prompts = () => screen.all().filter(row => row.startsWith('>>>')).length
      const last = () => screen.rows().at(-1) ?? ''
      // What the test has waited for may be shown before the prompt is, which then is not yet the one after the code.
      await until(() => last().startsWith('>>>'), `a prompt for ${code}: ${screen.text()}`)
      const before = prompts()
      screen.type(`${code}\r`)
      await until(() => prompts() > before && last() === '>>>', `${code} to be over: ${screen.text()}`)
    },
    lastAnswer: screen =>
      screen.text().split(/^>>>/m).at(-2)?.split('\n').slice(1).join('\n').trimEnd() ?? '',
  }
}

/** Every cell of the screen of a terminal, row by row. */
export function cellsIn({ rows, cols, buffer: { active } }: xterm.Terminal) {
  return Array.from({ length: rows }, (_, row) => {
    const at = active.getLine(active.baseY + row)
    return Array.from({ length: cols }, (_, column) => {
      const cell = at?.getCell(column)
      return { text: cell?.getChars() ?? '', looks: cell === undefined ? [] : looksOf(cell) }
    })
  })
}

function looksOf(cell: IBufferCell): string[] {
  return [
    cell.isFgDefault() ? '' : `fg:${cell.getFgColor()}`,
    cell.isBgDefault() ? '' : `bg:${cell.getBgColor()}`,
    cell.isBold() ? 'bold' : '',
    cell.isDim() ? 'dim' : '',
    cell.isItalic() ? 'italic' : '',
    cell.isInverse() ? 'inverse' : '',
    cell.isUnderline() ? 'underline' : '',
  ].filter(Boolean)
}
