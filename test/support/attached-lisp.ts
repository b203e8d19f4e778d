import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { SYSTEM_CLOCK } from '../../src/clock.ts'
import { openFiles } from '../../src/files/files.ts'
import type { Kernel } from '../../wire/kernel.ts'
import { openPrograms } from '../../wire/kernels/programs.ts'
import type { Programs } from '../../wire/programs.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import { type SwankConnection, textOf } from '../../wire/swank/connection.ts'
import { type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { type CallsRig, openCallsRig, type RigOptions } from './calls-rig.ts'
import { openKernels } from './kernels-alone.ts'
import { startSwank } from './swank.ts'

const SECRET = 'a secret of a test'

/** A look may take as long as a busy machine needs: none of them is to end for its time. In milliseconds. */
const LOOK_MS = 15_000

/**
 * A person's own SBCL, which listens with Swank and asks for a secret, and in front of it the one path for every call,
 * made of what the daemon is made of: registry, policy, journal, approvals, files, and kernels by name.
 */
export interface AttachedLisp {
  readonly rig: CallsRig
  /** The project, to whose calls the image answers as `lisp`. */
  readonly root: string
  readonly kernel: Kernel
  run: CallsRig['run']
  /** Writes a file of the project, and gives its path. */
  put(name: string, text: string): string
  /** What a form comes to, as it prints, over a connection that is the person's. */
  ask(form: string): Promise<string>
  /** What became of our connection and of the image since it was attached: nothing, as long as both are well. */
  news(): readonly string[]
  close(): Promise<void>
}

export interface AttachedOptions extends RigOptions {
  /** Evaluated in the image before anybody connects. */
  readonly forms?: readonly string[]
}

export async function openAttachedLisp({ forms = [], ...more }: AttachedOptions = {}): Promise<AttachedLisp> {
  const home = mkdtempSync(join(tmpdir(), 'imago-lisp-home-'))
  writeFileSync(join(home, '.slime-secret'), `${SECRET}\n`, { mode: 0o600 })
  const swank = await startSwank({ forms, home })
  const news: string[] = []
  const kernels = openKernels({
    launch: () => Promise.reject(new Error('nothing is started here')),
    programs: overheard(openPrograms({ runtimeDir: home }), why => news.push(why)),
    home,
    noted: ({ what }) => {
      if (what !== 'attached') news.push(what)
    },
  })
  const rig = openCallsRig({
    projectFiles: () => openFiles({ protected: [home], stateDir: home }),
    ...more,
    options: { kernels, clock: SYSTEM_CLOCK, lookMs: LOOK_MS, ...more.options },
  })
  const target = `swank://127.0.0.1:${swank.port}`
  await kernels.attach({ target, name: 'lisp', root: rig.root, key: SECRET })
  const { kernel } = await kernels.resolve({ name: 'lisp', root: rig.root, env: {} })
  const person = await connectSwank({ host: '127.0.0.1', port: swank.port, secret: SECRET })
  return {
    rig,
    root: rig.root,
    kernel,
    run: rig.run,
    put(name, text) {
      const path = join(rig.root, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
      return path
    },
    ask: form => evaluated(person.connection, form),
    news: () => news,
    async close() {
      person.connection.end()
      await kernels.close()
      await rig.close()
      swank.kill()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Tells when a connection breaks. */
function overheard(programs: Programs, heard: (why: string) => void): Programs {
  return {
    ...programs,
    attach: joining =>
      programs.attach({
        ...joining,
        away: why => {
          if (why !== null) heard(why)
          joining.away(why)
        },
      }),
  }
}

async function evaluated(connection: SwankConnection, form: string): Promise<string> {
  const answer = await connection.rex([symbol('swank:eval-and-grab-output'), form])
  if ('abort' in answer) throw new Error(`${form}: ${answer.abort}`)
  const [, values] = Array.isArray(answer.ok) ? (answer.ok as readonly Sexp[]) : []
  return textOf(values)
}
