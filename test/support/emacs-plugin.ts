import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import xterm from '@xterm/headless'
import type { ShownPlan } from '../../src/approvals/contract.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import { hunkHead, planHeading } from '../../src/front/lsp/plan-lines.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { serveBriskly } from './brisk-daemon.ts'
import { type Program, startProgram } from './program.ts'
import { MAIN, openRig, type Rig, until } from './rig.ts'
import { openSlimeEmacs, type SlimeEmacs } from './slime-emacs.ts'

/** The package of editors/emacs, as it lies there. */
export const EMACS_PLUGIN = join(PACKAGE_ROOT, 'editors/emacs')

/** A form: Emacs sits in the project of the buffer that is looked at. */
export const SITS = '(and (imago-project-seat (imago-project)) t)'

/** The file that Emacs looks at when it starts. */
export const ORDERS = Array.from({ length: 40 }, (_, n) => `line${n} = ${n}\n`).join('')

/** An edit of one line of it. */
export const at = (line: number, put: string) => ({
  path: 'orders.py',
  old_str: `line${line} = ${line}\n`,
  new_str: put,
})

/** A real Emacs with the package, which has connected and sits. */
export interface EmacsPlugin extends SlimeEmacs {
  /** M-x and this. */
  command(name: string): void
  /** Waits until the mode line says how many plans wait. */
  signed(plans: number): Promise<void>
  /** Waits until the buffer that is looked at has this. */
  shows(expected: string): Promise<void>
  /** Waits until the line above the buffer that is looked at is this. */
  heads(expected: RegExp): Promise<void>
  /** Waits until the echo area has this. */
  echoes(expected: string): Promise<void>
  /** Types this once the minibuffer asks for something. */
  replies(keys: string): Promise<void>
  /** Looks at this file alone, as it is on the disk, once no plan waits; those that were shown are gone. */
  visit(file: string): Promise<void>
  /** Opens the plan that waits. */
  opens(): Promise<void>
  /** Goes on from the last decision: sends what will be applied. */
  sends(): Promise<void>
  /** All that it has written to its terminal. */
  written(): string
  /** The rows of that terminal now, once it has drawn all. */
  rows(): Promise<string[]>
}

/** Opens one that looks at `file` of the project. */
export async function openEmacsPlugin(rig: Rig, file: string): Promise<EmacsPlugin> {
  const command = [process.execPath, MAIN, 'lsp'].map(word => JSON.stringify(word)).join(' ')
  const words = ['-L', EMACS_PLUGIN, '-l', 'imago', '--eval', `(setq imago-command (list ${command}))`]
  const terminal = new xterm.Terminal({ cols: 100, rows: 40, allowProposedApi: true, scrollback: 0 })
  let written = ''
  let drawings = 0
  const emacs = await openSlimeEmacs({
    cwd: rig.project,
    env: rig.env,
    words: [...words, '--eval', '(global-imago-mode)'],
    hears(text) {
      written += text
      terminal.write(text)
    },
  })
  const text = () => emacs.text('(buffer-substring-no-properties (point-min) (point-max))')
  const types = (name: string) => emacs.type(`\u001bx${name}\r`)
  const shows = (expected: string) =>
    until(async () => (await text()).includes(expected), expected).catch(async (error: Error) => {
      throw new Error(`${error.message}; it shows: ${await text()}`)
    })
  const header = () => emacs.text('(substring-no-properties (format-mode-line header-line-format))')
  const signed = async (plans: number) => {
    const sign = () => emacs.text('(substring-no-properties (format-mode-line mode-line-misc-info))')
    const expected = plans === 1 ? /\[imago: 1 plan waits\]/ : /^(?!.*plan)/
    await until(async () => expected.test(await sign()), `${plans} in the mode line`)
  }
  const visit = async (name: string) => {
    // One that has ended would be opened as the next one.
    await signed(0)
    const path = JSON.stringify(join(rig.project, name))
    // Not `find-file`: it asks where the file has changed.
    await emacs.eval(`(progn (kill-matching-buffers "^\\\\*imago plan" nil t)
      (switch-to-buffer (or (get-file-buffer ${path}) (find-file-noselect ${path})))
      (set-buffer-modified-p nil) (revert-buffer t t) (delete-other-windows) t)`)
  }
  await visit(file)
  await emacs.until(SITS)
  return {
    ...emacs,
    visit,
    command: types,
    signed,
    shows,
    heads: expected => until(async () => expected.test(await header()), String(expected)),
    echoes: expected =>
      until(async () => (await emacs.text('(or (current-message) "")')).includes(expected), expected),
    async replies(keys) {
      await emacs.until('(active-minibuffer-window)')
      emacs.type(keys)
    },
    async opens() {
      await signed(1)
      types('imago-plans')
      await shows('━ ')
    },
    async sends() {
      await shows('What will be applied')
      emacs.type('y')
    },
    written: () => written,
    async rows() {
      // What comes before the title was drawn before it.
      const title = `\u001b]2;drawn ${++drawings}\u0007`
      await emacs.eval(
        `(progn (redraw-display) (redisplay t) (send-string-to-terminal ${JSON.stringify(title)}) t)`,
      )
      await until(() => written.includes(title), 'the screen')
      await new Promise<void>(resolve => terminal.write('', resolve))
      const { active } = terminal.buffer
      return Array.from({ length: 40 }, (_, row) => active.getLine(row)?.translateToString(true) ?? '')
    },
  }
}

/** A project with a daemon, a program and an Emacs that looks at `orders.py`. */
export interface EmacsScene {
  readonly rig: Rig
  readonly emacs: EmacsPlugin
  readonly program: Program
  /** Of an agent; another one once the daemon has ended. */
  client: DaemonClient
  /** `orders.py` as it is on the disk. */
  file(): string
  propose(...edits: readonly object[]): Promise<Envelope>
  close(): Promise<void>
}

export interface EmacsSceneOptions {
  readonly files?: Readonly<Record<string, string>>
  /** Of the program `shop`. */
  readonly source: string
  /** How long a connection to the daemon may be silent; as usual, if left out. */
  readonly heartbeatMs?: number
}

export async function openEmacsScene(options: EmacsSceneOptions): Promise<EmacsScene> {
  const rig = openRig({ files: { 'orders.py': ORDERS, 'imago.toml': '', ...options.files } })
  if (options.heartbeatMs === undefined) await rig.serve()
  else await serveBriskly(rig, options.heartbeatMs)
  const { project: folder, paths } = rig
  const program = await startProgram({
    folder,
    runtimeDir: paths.runtimeDir,
    name: 'shop',
    source: options.source,
  })
  const emacs = await openEmacsPlugin(rig, 'orders.py')
  const scene: EmacsScene = {
    rig,
    emacs,
    program,
    client: await rig.connect(),
    file: () => readFileSync(join(folder, 'orders.py'), 'utf8'),
    propose: (...edits) => scene.client.call({ tool: 'propose_file_edit', args: { edits } }),
    async close() {
      await emacs.kill().catch(() => {})
      program.signal('SIGKILL')
      await program.ended
      await rig.close()
    },
  }
  return scene
}

/** A plan as Emacs draws it, in lines. */
export interface Drawn {
  readonly waits: readonly string[]
  readonly refused: readonly string[]
  readonly edited: readonly string[]
  readonly over: readonly string[]
}

/** These plans as the person sees them, where `raw` is what they give as a reason and write in place of each hunk. */
export async function drawnInEmacs(
  { emacs, rig }: EmacsScene,
  plans: readonly (ShownPlan & { readonly raw: string })[],
): Promise<Drawn[]> {
  const file = join(rig.folder, 'plans.json')
  const told = plans.map(plan => ({
    ...plan,
    heading: planHeading(plan, plan),
    hunks: plan.hunks.map(hunk => ({ ...hunk, head: hunkHead(hunk, plan.hunks.length) })),
  }))
  // As `imago lsp` does it: Emacs takes no half of a character, and no NUL.
  const text = JSON.stringify(told, (_, value) =>
    typeof value === 'string' ? String(Buffer.from(value)).replaceAll('\0', '\ufffd') : value,
  )
  writeFileSync(file, text)
  const load = `(load ${JSON.stringify(join(PACKAGE_ROOT, 'test/support/emacs-plans.el'))} nil t)`
  await emacs.eval(`(progn ${load} (imago-test-draw ${JSON.stringify(file)}) t)`)
  return JSON.parse(readFileSync(file, 'utf8')) as Drawn[]
}
