import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { MAIN, type Rig, until } from './rig.ts'
import { openSlimeEmacs, type SlimeEmacs } from './slime-emacs.ts'

/** The package of editors/emacs, as it lies there. */
export const EMACS_PLUGIN = join(PACKAGE_ROOT, 'editors/emacs')

/** A form: Emacs sits in the project of the buffer that is looked at. */
export const SITS = '(and (imago-project-seat (imago-project)) t)'

/** A real Emacs with the package, which has connected and sits. */
export interface EmacsPlugin extends SlimeEmacs {
  /** M-x and this. */
  command(name: string): void
  /** Waits until the mode line says how many plans wait. */
  signed(plans: number): Promise<void>
  /** Waits until the buffer that is looked at has this. */
  shows(expected: string): Promise<void>
  /** Waits until the echo area has this. */
  echoes(expected: string): Promise<void>
  /** Looks at this file alone, as it is on the disk; plans that were shown are gone. */
  visit(file: string): Promise<void>
}

/** Opens one that looks at `file` of the project. */
export async function openEmacsPlugin(rig: Rig, file: string): Promise<EmacsPlugin> {
  const command = [process.execPath, MAIN, 'lsp'].map(word => JSON.stringify(word)).join(' ')
  const words = ['-L', EMACS_PLUGIN, '-l', 'imago', '--eval', `(setq imago-command (list ${command}))`]
  const emacs = await openSlimeEmacs({
    cwd: rig.project,
    env: rig.env,
    words: [...words, '--eval', '(global-imago-mode)'],
  })
  const text = () => emacs.text('(buffer-substring-no-properties (point-min) (point-max))')
  const visit = async (name: string) => {
    const path = JSON.stringify(join(rig.project, name))
    await emacs.eval(`(progn (kill-matching-buffers "^\\\\*imago plan" nil t) (find-file ${path})
      (set-buffer-modified-p nil) (revert-buffer t t) (delete-other-windows) t)`)
  }
  await visit(file)
  await emacs.until(SITS)
  return {
    ...emacs,
    visit,
    command: name => emacs.type(`\u001bx${name}\r`),
    async signed(plans) {
      const sign = () => emacs.text('(substring-no-properties (format-mode-line mode-line-misc-info))')
      const expected = plans === 1 ? /\[imago: 1 plan waits\]/ : /^(?!.*plan)/
      await until(async () => expected.test(await sign()), `${plans} in the mode line`)
    },
    echoes: expected =>
      until(async () => (await emacs.text('(or (current-message) "")')).includes(expected), expected),
    shows: expected =>
      until(async () => (await text()).includes(expected), expected).catch(async (error: Error) => {
        throw new Error(`${error.message}; it shows: ${await text()}`)
      }),
  }
}
