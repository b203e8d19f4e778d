import { createHash, randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cacheFolder, openCache } from '../cache-folder.ts'
import { WireError } from '../errors.ts'
import { peerIn } from '../peer-folder.ts'
import { isAtom, quote, type Returned, type SwankConnection, textOf } from './connection.ts'
import { type Form, type Sexp, symbol } from './sexp.ts'
import { inShort } from './short.ts'

/** The package of our functions in an image. */
const PACKAGE = 'IMAGO-PEER'

/** A symbol in it that marks it as ours. Its value is the version that is loaded. */
const MARK = '*IMAGO-VERSION*'

/** How long an image has to close our connection itself. In milliseconds. */
const LEAVE_MS = 2_000

/** What a call is given: strings, whole numbers, truth and lists of them, by the names of docs/wire.md. */
export type Arguments = Readonly<
  Record<string, string | number | boolean | null | readonly (string | number)[] | undefined>
>

/** Our functions in an image, for one connection. */
export class SwankPeer {
  readonly #connection: SwankConnection

  constructor(connection: SwankConnection) {
    this.#connection = connection
  }

  /**
   * Opens a session over this connection. The first time in the life of an image, our system is loaded there, from
   * `folder` or from what `cache` has of it. Throws `KERNEL_START_FAILED` where the image refuses: with the file that it
   * could not load, or because another version is in use there, or another package has the name of ours.
   */
  async install(folder: string, cache: FaslCache | undefined = FaslCache.open()): Promise<void> {
    await beginConnection(this.#connection, folder)
    const system = systemIn(folder)
    if (!(await this.#openSession(system))) {
      await this.#load(system, cache)
      if (!(await this.#openSession(system))) throw refused('another version was loaded meanwhile')
    }
  }

  /** Whether that version of our system was loaded. */
  async #openSession({ version }: System): Promise<boolean> {
    const opened = await this.#ask(ifOurs(ifThere('OPEN-SESSION', null, version)))
    if (isAtom(opened) && opened.atom === 't') return true
    if (opened === null) return false
    throw refused(textOf(opened))
  }

  async #load(system: System, cache: FaslCache | undefined): Promise<void> {
    const { folder, version } = system
    const lisp = await this.#lisp()
    const files = filesFor(system, lisp[0])
    const fasl = cache?.path('imago-peer', ...lisp, version.replace(/^imago /, ''))
    const build = cache?.beginBuild()
    try {
      const how = await this.#runLoader(system, {
        fasl: fasl ?? null,
        build: build?.folder ?? null,
        files: files.map(({ name }) => join(folder, `${name}.lisp`)),
      })
      if (how === ':compiled' && fasl !== undefined) build?.keep(fasl, files.length)
      if (how === ':texts') await this.#runLoader(system, { texts: textsOf(folder, files) })
    } finally {
      build?.end()
    }
  }

  /** What our loader answers: a keyword. Throws `KERNEL_START_FAILED` with the text that it answers instead. */
  async #runLoader({ folder, version }: System, how: Readonly<Record<string, Form>>): Promise<string> {
    const loaded = await this.#ask(ifOurs(runLoader(folder, version, how)))
    if (isAtom(loaded)) return loaded.atom
    throw refused(textOf(loaded))
  }

  /** What a compiled file depends on, besides our own version: first of all, the name of the Lisp. */
  async #lisp(): Promise<string[]> {
    const told = await this.#ask([
      symbol('cl:list'),
      [symbol('cl:lisp-implementation-type')],
      [symbol('cl:lisp-implementation-version')],
      [symbol('cl:machine-type')],
      symbol('swank::*swank-wire-protocol-version*'),
    ])
    return (Array.isArray(told) ? (told as readonly Sexp[]) : []).map(textOf)
  }

  async #ask(form: Form): Promise<Sexp> {
    const answer = await this.#connection.rex(form)
    if ('abort' in answer) throw refused(answer.abort)
    return answer.ok
  }

  /**
   * Ends the connection from the other end, which there leaves nothing behind and prints nothing, or from this one where
   * that is not seen to happen. Never rejects.
   */
  async leave(): Promise<void> {
    // Only with style `spawn` can a server close a connection from within; the others answer null.
    const left = this.call('leave', {}).then(
      closing => (closing === true ? this.#connection.closed : undefined),
      () => undefined,
    )
    const patience = new AbortController()
    await Promise.race([left, delay(LEAVE_MS, undefined, { signal: patience.signal }).catch(() => {})])
    patience.abort()
    this.#connection.end()
  }

  /** What the image answers to a call, as JSON. Throws `REMOTE_FAULT`. */
  async call(name: string, args: Arguments, thread: true | number = true): Promise<unknown> {
    return answerOf(await this.#connection.rex(callForm(name, args), thread), name)
  }
}

/** What an image without Swank answers first of all; the message of the fault for it. */
export const NO_SWANK = 'This server has no package SWANK.'

const begun = new WeakSet<SwankConnection>()

/**
 * Takes the connection out of those from which Swank chooses one for whatever belongs to none: errors of the user's own
 * threads go where they went before it was made. To be the first request of all; a second time it does nothing. Throws
 * `KERNEL_START_FAILED` where the image refuses.
 */
export async function beginConnection(connection: SwankConnection, folder = peerIn('lisp')): Promise<void> {
  if (begun.has(connection)) return
  const firstFiles = systemIn(folder).files.filter(({ name }) => FIRST_FILES.test(name))
  const load = runLoader(folder, null, { begin: true, texts: textsOf(folder, firstFiles) })
  // It aborts itself, so that Swank's own work for editors is left out. A value is the text of an error.
  // A server without Swank is left as it is: no package of ours is made there.
  const swank: Form = [symbol('cl:find-package'), 'SWANK']
  const form: Form = [symbol('cl:if'), swank, ifOurs(ifThere('BEGIN-CONNECTION', load)), NO_SWANK]
  const answer = await connection.rex(form)
  if ('ok' in answer && textOf(answer.ok) === NO_SWANK) throw new WireError('REMOTE_FAULT', NO_SWANK)
  if ('ok' in answer ? textOf(answer.ok) !== '' : answer.abort !== 'NIL')
    throw refused('ok' in answer ? textOf(answer.ok) : answer.abort)
  begun.add(connection)
}

const refused = (why: string) =>
  new WireError(
    'KERNEL_START_FAILED',
    `The image refused our functions: ${inShort(why) || 'it did not say why'}\n` +
      'If Imago was installed or built anew while its daemon ran, end that daemon: imago shutdown. Else this Lisp ' +
      'cannot take them; another Lisp, or another version of it, may.',
  )

/** Our system, as it is in a folder: what `imago-peer.asd` there says. */
interface System {
  readonly folder: string
  /** Of the system: that of Imago, and a digest of its files. */
  readonly version: string
  /** In the order in which they are loaded. */
  readonly files: readonly SystemFile[]
}

interface SystemFile {
  /** Without `.lisp`. */
  readonly name: string
  /** The Lisp that alone loads it, in lower case; undefined where each does. */
  readonly lisp: string | undefined
}

/** What a connection needs before our system is there. */
const FIRST_FILES = /^(packages|(\w+-)?connection)$/

export function systemIn(folder: string): System {
  const definition = readFileSync(join(folder, 'imago-peer.asd'), 'utf8')
  const found = definition.matchAll(/\(:file "([\w-]+)"(?: :if-feature :(\w+))?\)/g)
  const files = [...found].map(([, name = '', lisp]) => ({ name, lisp }))
  const digest = createHash('sha256')
  for (const { name } of files) digest.update(textOfFile(folder, name))
  return { folder, version: `imago ${digest.digest('hex').slice(0, 32)}`, files }
}

const filesFor = ({ files }: System, lisp = ''): readonly SystemFile[] =>
  files.filter(file => file.lisp === undefined || file.lisp === lisp.toLowerCase())

const textOfFile = (folder: string, file: string) => readFileSync(join(folder, `${file}.lisp`), 'utf8')

/** As the loader takes them: names, texts and features in turn. */
const textsOf = (folder: string, files: readonly SystemFile[]): readonly Form[] =>
  files.flatMap(({ name, lisp }) => [`${name}.lisp`, textOfFile(folder, name), lisp ?? null])

// All forms below are made of calls with constant arguments and of `cl:if`, which SBCL evaluates without compiling.

const inPackage = (name: string): Form => [symbol('cl:find-symbol'), name, PACKAGE]

/** Makes the package, unless somebody does at this moment, and answers whether it is ours. */
const MAKE_PACKAGE = `(lambda ()
  (ignore-errors (intern "${MARK}" (make-package "${PACKAGE}" :use '("COMMON-LISP"))))
  (do ((count 0 (1+ count)))
      ((or (find-symbol "${MARK}" "${PACKAGE}") (= count 50))
       (and (find-symbol "${MARK}" "${PACKAGE}") t))
    (sleep 1/100)))`

/**
 * Evaluates `form` where the package of our name is ours, or there was none: then it is made. A package of that name
 * that is not ours is left alone.
 */
function ifOurs(form: Form): Form {
  const nil = symbol('cl:nil')
  const marked: Form = [symbol('cl:if'), [symbol('cl:find-package'), PACKAGE], inPackage(MARK), nil]
  const ours: Form = [symbol('cl:if'), marked, true, run('COMMON-LISP', MAKE_PACKAGE)]
  const foreign = `It has a package ${PACKAGE} that is not Imago's, which is left alone.`
  return [symbol('cl:if'), ours, form, foreign]
}

/** Calls our function of that name, if it is there; else `otherwise`. */
function ifThere(name: string, otherwise: Form, ...args: Form[]): Form {
  const there: Form = [
    symbol('cl:if'),
    inPackage(name),
    [symbol('cl:fboundp'), inPackage(name)],
    symbol('cl:nil'),
  ]
  return [symbol('cl:if'), there, [symbol('cl:funcall'), inPackage(name), ...args], otherwise]
}

/** Runs loader.lisp, with its keyword arguments. */
function runLoader(folder: string, version: string | null, how: Readonly<Record<string, Form>>): Form {
  const args = Object.entries(how).flatMap(([key, value]) => [
    symbol(`:${key}`),
    Array.isArray(value) ? quote(value) : value,
  ])
  return run(PACKAGE, textOfFile(folder, 'loader'), version, ...args)
}

/**
 * Calls a lambda expression that is read in the package `home`, whatever the user has set for reading, compiling and
 * printing. It prints nothing, and an error is its value, as text. Macros are expanded within the bindings, or the
 * user's own hook would be called.
 */
function run(home: string, lambda: string, ...args: Form[]): Form {
  const nowhere: Form = [symbol('cl:make-broadcast-stream')]
  const bindings: readonly (readonly [string, Form])[] = [
    ['*package*', [symbol('cl:find-package'), home]],
    ['*read-base*', 10],
    ['*read-suppress*', null],
    ['*read-eval*', null],
    ['*macroexpand-hook*', quote(symbol('cl:funcall'))],
    ['*break-on-signals*', null],
    ['*gensym-counter*', 0],
    ['*compile-verbose*', null],
    ['*compile-print*', null],
    ['*standard-output*', nowhere],
    ['*error-output*', nowhere],
    ['*trace-output*', nowhere],
  ]
  const standard: Form = [symbol('cl:copy-readtable'), null]
  const read: Form = [
    symbol('cl:let'),
    [[symbol('cl:*readtable*'), standard]],
    [symbol('cl:read-from-string'), lambda],
  ]
  const call: Form = [symbol('cl:funcall'), [symbol('cl:eval'), read], ...args]
  const failed: Form = [
    symbol('cl:error'),
    [symbol('cl:condition')],
    [symbol('cl:princ-to-string'), symbol('cl:condition')],
  ]
  return [
    symbol('cl:let'),
    bindings.map(([name, value]) => [symbol(`cl:${name}`), value]),
    [symbol('cl:eval'), quote([symbol('cl:handler-case'), call, failed])],
  ]
}

/** A call of our peer. */
export function callForm(name: string, args: Arguments): Form {
  const given: Form[] = []
  for (const [key, value] of Object.entries(args)) if (value !== undefined) given.push(key, value)
  return [symbol('imago-peer:dispatch'), name, quote(given)]
}

function answerOf(returned: Returned, name: string): unknown {
  if ('abort' in returned) {
    const message = inShort(returned.abort)
    const remote = { code: 'aborted', message, data: null }
    throw new WireError('REMOTE_FAULT', `${name} was aborted in the image: ${message}`, { remote })
  }
  const answer = parsed(textOf(returned.ok), name)
  if (typeof answer === 'object' && answer !== null && 'fault' in answer)
    throw new WireError(
      'REMOTE_FAULT',
      `The image could not answer ${name}: ${inShort(String(answer.fault))}`,
    )
  return answer
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const message = `The image answered ${name} with what is no JSON: ${inShort(text, 100) || 'no text'}`
    throw new WireError('MESSAGE_INVALID', message, { cause })
  }
}

/**
 * Where the compiled form of our Lisp system is kept, one file for each Lisp, Swank and version of the system. Whoever
 * can write there can run code in every Lisp that is attached to: so the folder is ours and closed to others, or it is
 * not used.
 */
export class FaslCache {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Makes the folder. Undefined where it cannot be made, or is not safe: then nothing is kept. */
  static open(folder: string = join(cacheFolder(), 'lisp')): FaslCache | undefined {
    const made = openCache(folder)
    return made === undefined ? undefined : new FaslCache(made)
  }

  /** The file that has what is named by these texts. */
  path(...names: readonly string[]): string {
    return join(this.#folder, `${names.join('-').replace(/[^\w.-]+/g, '_')}.fasl`)
  }

  /** A new folder of a name that nobody can guess, for the files of one build: `0.fasl`, `1.fasl` and so on. */
  beginBuild(): Build {
    const folder = join(this.#folder, `build-${randomBytes(16).toString('hex')}`)
    mkdirSync(folder, { mode: 0o700 })
    return {
      folder,
      keep(path, count) {
        const whole = join(folder, 'whole.fasl')
        writeFileSync(whole, '', { mode: 0o600, flag: 'wx' })
        for (let number = 0; number < count; number++)
          appendFileSync(whole, readFileSync(join(folder, `${number}.fasl`)))
        renameSync(whole, path)
      },
      end() {
        rmSync(folder, { recursive: true, force: true })
      },
    }
  }
}

interface Build {
  readonly folder: string
  /** Puts the first so many files together as the file `path`, all at once. Throws what the system throws. */
  keep(path: string, count: number): void
  /** Removes the folder. */
  end(): void
}
