import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { addExtension, Packr, UnpackrStream } from 'msgpackr'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { Differs, PATIENCE_MS } from './steps.ts'

/** A real Neovim without a terminal, whose keys are typed and whose screen is read over its own protocol. */
export interface Neovim {
  readonly pid: number
  /** Where it listens, as in `nvim --server ADDRESS`. */
  readonly address: string
  /** What a chunk of Lua returns there. It waits while Neovim asks its person something. */
  lua(code: string): Promise<unknown>
  /** Keys as a mapping names them: `:edit x.py<CR>`. */
  types(keys: string): Promise<void>
  /** The lines of the screen, without the space at their ends. */
  screen(): string
  /** Resolves with the screen once it matches. Throws `Differs` where it never does. */
  shows(expected: RegExp): Promise<string>
  end(): Promise<void>
}

interface Start {
  readonly cwd: string
  readonly env?: NodeJS.ProcessEnv
  /** A folder where its socket may lie. */
  readonly folder: string
  /** Its init file; neovim.lua where it is left out. */
  readonly init?: string
}

const [COLUMNS, ROWS] = [160, 30]
const INIT = join(PACKAGE_ROOT, 'examples/demos/neovim.lua')
const IMAGO_LSP = JSON.stringify([process.execPath, join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'lsp'])

/** Whether that is a Neovim which has all that neovim.lua asks of it. */
export const isNeovim = (program: string): boolean =>
  spawnSync(program, [
    '--clean',
    '--headless',
    '+lua if not vim.lsp.config then vim.cmd("cquit") end',
    '+quit',
  ]).status === 0

/** Starts one with its init file alone; `command` is its program, behind one that starts it in another way. */
export async function openNeovim(
  command: readonly string[],
  { cwd, env = process.env, folder, init = INIT }: Start,
): Promise<Neovim> {
  const address = join(folder, 'nvim')
  const [program = '', ...words] = command
  const child = spawn(program, [...words, '--clean', '-u', init, '--headless', '--listen', address], {
    cwd,
    env: { ...env, IMAGO_LSP },
    stdio: 'ignore',
    detached: true,
  })
  const ended = once(child, 'exit')
  const socket = await connectTo(address)
  const screen = new Screen()
  const ask = requests(socket, (method, events) => {
    if (method === 'redraw') for (const event of events) screen.draw(event as ScreenEvent)
  })
  await ask('nvim_ui_attach', COLUMNS, ROWS, { ext_linegrid: true })
  return {
    pid: child.pid ?? 0,
    address,
    lua: code => ask('nvim_exec_lua', code, []),
    async types(keys) {
      await ask('nvim_input', keys)
    },
    screen: () => screen.text(),
    async shows(expected) {
      let isDrawn = true
      // It draws hints late, at the next key; while it asks something, this waits.
      const draw = async () => {
        isDrawn = false
        await ask('nvim_command', 'redraw!').catch(() => {})
        isDrawn = true
      }
      await until(
        () => {
          if (isDrawn) void draw()
          return expected.test(screen.text())
        },
        () => `${expected} on the screen of Neovim:\n${screen.text()}`,
      )
      return screen.text()
    },
    async end() {
      socket.destroy()
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Its socket is there a moment before it listens. */
async function connectTo(address: string): Promise<Socket> {
  const begun = performance.now()
  for (;;) {
    const socket = connect(address)
    try {
      await once(socket, 'connect')
      return socket.on('error', () => {})
    } catch (error) {
      if (performance.now() - begun > PATIENCE_MS)
        throw new Differs('there was never Neovim to listen', { cause: error })
      await delay(20)
    }
  }
}

interface Plan {
  readonly title: string
  /** What its text has to show. */
  readonly text: string
  /** Its file, which is opened again afterwards. */
  readonly file: string
  seen?(screen: string): void
}

/** Its person opens a plan by the code action, sees the text, and approves it; all of these are regular expressions. */
export async function approves(neovim: Neovim, { title, text, file, seen = () => {} }: Plan): Promise<void> {
  seen(await neovim.shows(new RegExp(`waits: ${title}`)))
  await neovim.types(':lua vim.lsp.buf.code_action()<CR>')
  const offered = await neovim.shows(new RegExp(`1: Show plan-\\w+: ${title}`))
  const [, plan] = /1: Show (plan-\w+)/.exec(offered) ?? []
  await neovim.types('1<CR>')
  seen(await neovim.shows(new RegExp(`${text}[\\s\\S]*1: Approve`, 'm')))
  await neovim.types('1<CR>')
  // The row of a plan that is taken back is told once more.
  await neovim.shows(new RegExp(`${plan}: ok`))
  await neovim.types(`:edit ${file}<CR>`)
}

type Heard = (method: string, params: readonly unknown[]) => void

// The handles of buffers, windows and tab pages, which nobody here follows.
for (const type of [0, 1, 2]) addExtension({ type, unpack: bytes => bytes })

/** Neovim's protocol: `[0, id, method, params]`, `[1, id, error, result]` and `[2, method, params]`. */
function requests(socket: Socket, heard: Heard) {
  const packr = new Packr({ useRecords: false })
  const waiting = new Map<number, (error: unknown, result: unknown) => void>()
  let last = 0
  socket.pipe(new UnpackrStream({ useRecords: false })).on('data', (message: [number, ...unknown[]]) => {
    const [type, first, second, third] = message
    if (type === 2) heard(String(first), second as unknown[])
    if (type !== 1) return
    waiting.get(first as number)?.(second, third)
    waiting.delete(first as number)
  })
  return (method: string, ...params: readonly unknown[]): Promise<unknown> => {
    socket.write(packr.pack([0, ++last, method, params]))
    return new Promise((resolve, reject) =>
      waiting.set(last, (error, result) =>
        error === null ? resolve(result) : reject(new Error(`${method}: ${JSON.stringify(error)}`)),
      ),
    )
  }
}

/** The name of a change of the screen, and the parameters of each. */
type ScreenEvent = readonly [string, ...(readonly (readonly unknown[])[])]

class Screen {
  #lines: string[][] = []

  draw([name, ...all]: ScreenEvent): void {
    for (const params of all)
      if (name === 'grid_resize') this.#clear(params[1] as number, params[2] as number)
      else if (name === 'grid_clear') this.#clear(this.#lines[0]?.length ?? 0, this.#lines.length)
      else if (name === 'grid_line') this.#put(params as [number, number, number, Cell[]])
      else if (name === 'grid_scroll') this.#scroll(params as readonly number[])
  }

  text(): string {
    return this.#lines.map(line => line.join('').trimEnd()).join('\n')
  }

  #clear(columns: number, rows: number): void {
    this.#lines = Array.from({ length: rows }, () => Array<string>(columns).fill(' '))
  }

  #put([, row, column, cells]: [number, number, number, Cell[]]): void {
    let at = column
    for (const [text, , times = 1] of cells)
      for (let n = 0; n < times; n++) {
        const line = this.#lines[row]
        if (line !== undefined) line[at++] = text
      }
  }

  /** Moves a part of the screen up, or down where `by` is negative. */
  #scroll([, top = 0, bottom = 0, left = 0, right = 0, by = 0]: readonly number[]): void {
    const old = this.#lines.map(line => [...line])
    for (let row = top; row < bottom; row++)
      if (row + by >= top && row + by < bottom)
        this.#lines[row]?.splice(left, right - left, ...(old[row + by]?.slice(left, right) ?? []))
  }
}

type Cell = readonly [text: string, highlight?: number, times?: number]

async function until(isThere: () => boolean, what: string | (() => string)): Promise<void> {
  const begun = performance.now()
  while (!isThere()) {
    if (performance.now() - begun > PATIENCE_MS)
      throw new Differs(`there was never ${typeof what === 'string' ? what : what()}`)
    await delay(20)
  }
}
