import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { connectDaemon, type DaemonClient } from '../../src/front/client.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { Differs, out, PATIENCE_MS } from './steps.ts'

/** The tea house while it is open. */
export interface House {
  readonly child: ChildProcess
  readonly port: number
  readonly secretFile: string
}

/** Its owner's home has a secret, so that nobody else on the machine gets in. */
export async function openHouse(project: string): Promise<House> {
  cpSync(join(PACKAGE_ROOT, 'examples/demos/tea-house'), project, { recursive: true })
  writeFileSync(join(project, 'imago.toml'), '')
  const home = join(dirname(project), 'home')
  mkdirSync(home)
  const secretFile = join(home, '.slime-secret')
  writeFileSync(secretFile, `${randomBytes(16).toString('hex')}\n`, { mode: 0o600 })
  out('$ sbcl --load start.lisp        # it loads Swank, as any Lisp that SLIME is used with\n')
  const args = ['--noinform', '--no-userinit', '--disable-debugger', '--load', 'start.lisp']
  const child = spawn('sbcl', args, {
    cwd: project,
    env: { ...process.env, HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (/^\d+$/.test(line)) return { child, port: Number(line), secretFile }
  }
  await once(child, 'exit')
  throw new Differs('the tea house did not open')
}

export async function withDaemon(root: string, work: (client: DaemonClient) => Promise<void>): Promise<void> {
  const client = await connectDaemon({ name: 'imago demo', start: 'if-needed', root })
  try {
    await work(client)
  } finally {
    await client.close()
  }
}

export function imago(cwd: string, ...args: string[]): string {
  const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
  return execFileSync(process.execPath, [main, ...args], { cwd, encoding: 'utf8' })
}

/** Runs a command of Imago, prints it and what it says. Throws `Differs` where that does not match. */
export function shows(project: string, words: readonly string[], expects: readonly RegExp[]): void {
  const text = imago(project, ...words)
  out(`\n$ imago ${words.join(' ')}\n${text}`)
  const missing = expects.filter(expected => !expected.test(text))
  if (missing.length > 0) throw new Differs(`expected ${missing.map(String).join(' and ')}`)
}

/** Follows the run to its end. Its model may have to answer meanwhile. */
export async function runEnds(project: string, run: string): Promise<void> {
  const words = [join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'runs', 'show', run, '--follow']
  await promisify(execFile)(process.execPath, words, { cwd: project, timeout: PATIENCE_MS })
}
