import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { emacsPaths, lispCache } from '../support/runtimes.ts'
import { NOT_NATIVE } from '../support/slime-emacs.ts'

/** What SLIME says of one of its tests; `FAILED` where it expected otherwise, `failed` where it expected that. */
export type Result = 'passed' | 'failed' | 'FAILED' | 'skipped'

/** One of SLIME's own makefile targets: `core` is `make check`, any other name N is `make -C contrib check-N`. */
export type Target = string

/** Where Emacs runs: `--batch`, as the makefile has it, or with a screen, as a person has it. */
export type Screen = 'batch' | 'terminal'

export interface SuiteRun {
  readonly target: Target
  readonly screen: Screen
  /** A folder in which each Lisp that SLIME starts makes a file `PID.port`, with the port of its second door. */
  readonly doors: string
  /** SLIME begins its first test once this file exists. */
  readonly ready: string
}

/** In milliseconds; the longest target takes half a minute. */
const LIMIT_MS = 300_000

/** Runs SLIME's own tests, as they are, in a real Emacs, and gives what became of each by its name. */
export async function runSuite({ target, screen, doors, ready }: SuiteRun): Promise<Map<string, Result>> {
  const home = mkdtempSync(join(tmpdir(), 'imago-slime-'))
  const told = join(home, 'told')
  mkdirSync(doors, { recursive: true })
  const env = {
    ...process.env,
    HOME: home,
    TERM: 'xterm-256color',
    XDG_CACHE_HOME: lispCache,
    IMAGO_SLIME_DOORS: doors,
    IMAGO_SLIME_READY: ready,
    IMAGO_SLIME_TOLD: told,
  }
  const emacs = [emacsPaths().emacs, '-Q', ...(screen === 'batch' ? ['--batch'] : ['-nw']), ...begin(target)]
  const relay = ['python3', join(PACKAGE_ROOT, 'test/support/pty_relay.py'), '100', '40']
  const [command = '', ...args] = screen === 'batch' ? emacs : [...relay, ...emacs]
  try {
    const child = spawn(command, args, { env, cwd: home, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] })
    const printed = await ended(child)
    return resultsIn(screen === 'batch' ? printed : readFileSync(told, 'utf8'), `${target}, ${screen}`)
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** As in the makefiles of SLIME, and suite.el beside it. */
function begin(target: Target): string[] {
  const { slime } = emacsPaths()
  const contrib = join(slime, 'contrib')
  const folders = [slime, contrib, join(contrib, 'test')].flatMap(folder => ['-L', folder])
  const first =
    target === 'core'
      ? ["(require 'slime-tests)", '(slime-setup)']
      : ["(require 'slime)", `(slime-setup '(slime-${target}))`, `(require 'slime-${target}-tests)`]
  const forms = [
    NOT_NATIVE,
    ...first,
    `(load "${join(import.meta.dirname, 'suite.el')}" nil t)`,
    `(slime-batch-test ${target === 'core' ? 't' : "'(tag contrib)"})`,
  ]
  return [...folders, ...forms.flatMap(form => ['--eval', form])]
}

async function ended(child: ChildProcess): Promise<string> {
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
  await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject))
  clearTimeout(timer)
  return printed
}

/** Reads the lines of ERT: `   passed  1/202  arglist-1 (0.01 sec)`. Throws where the run did not come to its end. */
function resultsIn(printed: string, what: string): Map<string, Result> {
  const lines = printed.matchAll(/^ *(passed|failed|FAILED|skipped) +\d+\/\d+ +(\S+) \(/gm)
  const results = new Map([...lines].map(([, result = '', name = '']) => [name, result as Result]))
  const total = Number(/^Ran (\d+) tests/m.exec(printed)?.[1])
  if (results.size !== total)
    throw new Error(`${what}: of ${total} tests ${results.size} were told:\n${printed.slice(-4_000)}`)
  return results
}
