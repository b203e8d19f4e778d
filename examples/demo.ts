/**
 * `npm run demo` plays a program with a mistake that tools find; `npm run demo -- attach` does so with a server that
 * runs already, `npm run demo -- lisp` with a Lisp image. `npm run demo -- debugger` has a run of that image go on where
 * an error stopped it, while its owner works in SLIME; `npm run demo -- approve` plays a person who decides of each part
 * of a change; `npm run demo -- wolfram` mends a package on Mathics3; `npm run demo -- web` goes from a 500 of a Django
 * project to the mended answer, `npm run demo -- editor` does so in Neovim, `npm run demo -- family` asks programs of
 * several processes; in `npm run demo -- agent` a failed request wakes a run, which waits for a person, outlives its
 * daemon and goes on; `npm run demo -- editors` has a person answer such a run in Neovim and on the page, and take all of
 * it back in Emacs; in `npm run demo -- hook` Claude Code is put off at a command, and allowed an hour later. Every step is
 * a real call in a temporary folder; one that differs from what it should be ends the demo with exit code 1.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Differs, out } from './demos/steps.ts'

type Demo = (project: string, args: readonly string[]) => Promise<void>

/** By the word after `--`; each is given an empty project, and throws `Differs`. */
const DEMOS: Readonly<Record<string, () => Promise<Demo>>> = {
  program: async () => (await import('./demos/program.ts')).playProgram,
  attach: async () => (await import('./demos/attach.ts')).playAttach,
  lisp: async () => (await import('./demos/lisp.ts')).playLisp,
  debugger: async () => (await import('./demos/debugger.ts')).playDebugger,
  approve: async () => (await import('./demos/approve.ts')).playApprove,
  wolfram: async () => (await import('./demos/wolfram.ts')).playWolfram,
  editor: async () => (await import('./demos/editor.ts')).playEditor,
  web: async () => (await import('./demos/web.ts')).playWeb,
  family: async () => (await import('./demos/family.ts')).playFamily,
  agent: async () => (await import('./demos/agent.ts')).playAgent,
  editors: async () => (await import('./demos/editors.ts')).playEditors,
  hook: async () => (await import('./demos/hook.ts')).playHook,
}

const [wanted = 'program', ...words] = process.argv.slice(2)
// A demo plays in another folder than this one.
const args = words.map(word => (word.includes('/') ? resolve(word) : word))
const load = DEMOS[wanted]
if (load === undefined) {
  out(`There is no demo ${wanted}. There are: ${Object.keys(DEMOS).join(', ')}.\n`)
  process.exitCode = 2
} else process.exitCode = await play(await load())

async function play(demo: Demo): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-demo-'))
  Object.assign(process.env, {
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_STATE_DIR: join(folder, 'state'),
    IMAGO_CONFIG_DIR: join(folder, 'config'),
  })
  try {
    mkdirSync(join(folder, 'project'))
    await demo(join(folder, 'project'), args)
    out('\nEverything was as expected.\n')
    return 0
  } catch (error) {
    if (!(error instanceof Differs)) throw error
    out(`\nThis differs: ${error.message}.\n`)
    return 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
