import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, renameSync, statSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SwankConnection } from '../../wire/swank/connection.ts'
import { FaslCache, SwankPeer } from '../../wire/swank/peer.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { atEnd } from './endings.ts'
import { lispCache } from './runtimes.ts'

/** A real Lisp that listens with Swank on a port of its own, as a person would have started it. */
export interface RealSwank {
  readonly port: number
  readonly pid: number
  /** What it has printed so far. */
  readonly printed: () => string
  kill(): void
}

export interface SwankStart {
  /** Run after Swank listens (with style nil, before), each a form as text. */
  readonly forms?: readonly string[]
  /** The last of them does not return, and is not waited for. */
  readonly endless?: true
  /** Its home directory, where it looks for a secret; a folder of the test's own. */
  readonly home?: string
  /** Left out: one that is free. */
  readonly port?: number
  readonly style?: ':spawn' | ':fd-handler' | 'nil'
  readonly lisp?: 'sbcl' | 'ecl'
  /** Megabytes of the heap of an SBCL. */
  readonly heap?: number
  /** Leaves its debugger as it is; else an error that nobody handles ends it. */
  readonly debugger?: true
}

// What a test loads into an image is kept there, too, and not in the home directory of whoever runs the tests.
process.env.XDG_CACHE_HOME = lispCache

/** The installed Swank, or the one whose folder the environment names: for a run by hand with another version. */
const LOAD = process.env.IMAGO_TEST_SWANK
  ? [`(load "${process.env.IMAGO_TEST_SWANK}/swank-loader.lisp")`, '(swank-loader:init)']
  : ['(asdf:load-system :swank)']

const COMMANDS = {
  sbcl: {
    options: ['--noinform', '--no-sysinit', '--no-userinit', '--disable-debugger'],
    load: LOAD,
  },
  ecl: {
    options: ['--norc'],
    // Otherwise each file of Swank goes through a C compiler, which takes half a minute.
    load: ['(ext:install-bytecodes-compiler)', ...LOAD],
  },
} as const

const started = new Set<ChildProcess>()
atEnd(() => {
  for (const child of started) child.kill('SIGKILL')
})

export async function startSwank({
  forms = [],
  endless = undefined,
  home,
  port: given = 0,
  style = ':spawn',
  lisp = 'sbcl',
  debugger: debugs = undefined,
  heap = undefined,
}: SwankStart = {}): Promise<RealSwank> {
  const { options, load } = COMMANDS[lisp]
  const wanted = given || (await freePort())
  const listen = `(swank:create-server :port ${wanted} :dont-close t :style ${style})`
  // With style nil this does not return: it serves.
  const done = '(progn (write-line "forms done") (finish-output))'
  const order = style === 'nil' ? [...forms, listen] : [listen, ...forms, done]
  const wait = style === ':fd-handler' ? '(loop (sb-sys:serve-event 3600))' : '(loop (sleep 3600))'
  const core = lisp === 'sbcl' && process.env.IMAGO_TEST_SWANK === undefined ? [await swankCore()] : []
  const evals = [...(core.length > 0 ? [] : ['(require :asdf)', ...load]), ...order, wait]
  const child = spawn(
    lisp,
    [
      ...core.flatMap(file => ['--core', file]),
      ...(heap === undefined ? [] : ['--dynamic-space-size', `${heap}`]),
      ...options.filter(option => !debugs || option !== '--disable-debugger'),
      ...evals.flatMap(form => ['--eval', form]),
    ],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        ...process.env,
        // ECL fails where it finds the newer ASDF that Debian brings compiled already.
        XDG_CACHE_HOME: lisp === 'ecl' ? mkdtempSync(join(tmpdir(), 'ecl-')) : lispCache,
        ...(home && { HOME: home }),
      },
    },
  )
  started.add(child)
  // With style nil it ends each connection at the end of its standard input.
  if (style !== 'nil') child.stdin.end()
  let printed = ''
  const port = await new Promise<number>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      printed += chunk.toString()
      const found = /Swank started at port: (\d+)/.exec(printed)
      const ready = style === 'nil' || endless || printed.includes('forms done')
      if (found && ready) resolve(Number(found[1]))
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('exit', () => reject(new Error(`${lisp} ended before it listened:\n${printed}`)))
    child.once('error', reject)
  })
  return { port, pid: child.pid ?? 0, printed: () => printed, kill: () => void child.kill('SIGKILL') }
}

/**
 * A port that nobody listens at, below those that systems give to outgoing connections: none of these takes it in the time
 * between two images that listen there, nor does a client that tries it connect to itself.
 */
async function freePort(): Promise<number> {
  const port = 10_000 + randomInt(20_000)
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', resolve)
    })
    return port
  } catch {
    return freePort()
  } finally {
    server.close()
  }
}

let made: Promise<string> | undefined

/** An image of SBCL that has loaded Swank, kept beside the compiled files of Swank. Loading Swank takes a second. */
export function swankCore(): Promise<string> {
  const { paths } = JSON.parse(readFileSync(join(lispCache, '../lisp.json'), 'utf8')) as { paths: string[] }
  const changed = paths.map(path => statSync(path).mtimeMs).join('-')
  const core = join(lispCache, `swank-${changed}.core`)
  made ??= existsSync(core) ? Promise.resolve(core) : saveCore(core)
  return made
}

async function saveCore(core: string): Promise<string> {
  // Another process may be at it, too.
  const own = `${core}.${process.pid}`
  const { options, load } = COMMANDS.sbcl
  const forms = [
    '(require :asdf)',
    ...load,
    '(asdf:clear-configuration)',
    `(sb-ext:save-lisp-and-die ${JSON.stringify(own)})`,
  ]
  const evals = forms.flatMap(form => ['--eval', form])
  await promisify(execFile)('sbcl', [...options, ...evals], {
    env: { ...process.env, XDG_CACHE_HOME: lispCache },
  })
  renameSync(own, core)
  return core
}

const PEER = join(import.meta.dirname, '../../wire/peers/lisp')

/** Where the tests keep our compiled system. */
export const cacheOfTests = () => FaslCache.open()

/** A connection to it with our peer installed, and the messages that answered no request. */
export async function openPeer(swank: RealSwank): Promise<{
  readonly connection: SwankConnection
  readonly peer: SwankPeer
  readonly heard: readonly Sexp[]
}> {
  const socket = connect({ port: swank.port, host: '127.0.0.1', noDelay: true })
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  const heard: Sexp[] = []
  const connection = new SwankConnection({ socket, heard: message => heard.push(message) })
  const peer = new SwankPeer(connection)
  await peer.install(PEER, cacheOfTests())
  return { connection, peer, heard }
}
