import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Differs } from './steps.ts'

/** A real Emacs with SLIME, that is spoken to as `emacsclient` does. */
export interface Emacs {
  /** What a form of Emacs Lisp comes to, as it is printed there. */
  eval(form: string): string
  /** Resolves once the form comes to something other than nil. Throws `Differs` after a minute. */
  until(form: string): Promise<void>
  end(): void
}

const PATIENCE_MS = 60_000

/** Starts one whose user lives in `home`. Undefined where there is no Emacs, or none with SLIME. */
export async function openEmacs(home: string): Promise<Emacs | undefined> {
  const env = { ...process.env, HOME: home }
  const load = "(progn (package-initialize) (require 'slime) (slime-setup '(slime-fancy)))"
  const tried = spawnSync('emacs', ['-q', '--batch', '--eval', load], { env, stdio: 'ignore' })
  if (tried.status !== 0) return undefined
  const socket = join(home, 'emacs')
  const child = spawn('emacs', ['-q', `--fg-daemon=${socket}`, '--eval', load], { env, stdio: 'ignore' })
  await there(child, socket)
  const evaluate = (form: string) =>
    execFileSync('emacsclient', ['-s', socket, '--eval', form], { encoding: 'utf8' }).trim()
  return {
    eval: evaluate,
    async until(form) {
      const begun = performance.now()
      while (evaluate(form) === 'nil') {
        if (performance.now() - begun > PATIENCE_MS) throw new Differs(`in Emacs this stays nil: ${form}`)
        await delay(50)
      }
    },
    end: () => void child.kill(),
  }
}

async function there(child: ChildProcess, socket: string): Promise<void> {
  const begun = performance.now()
  while (!existsSync(socket)) {
    if (child.exitCode !== null || performance.now() - begun > PATIENCE_MS)
      throw new Differs('Emacs did not start')
    await delay(50)
  }
}
