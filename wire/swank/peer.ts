import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { WireError } from '../errors.ts'
import { peerIn } from '../peer-folder.ts'
import { quote, type Returned, type SwankConnection, textOf } from './connection.ts'
import { type Form, symbol } from './sexp.ts'
import { inShort } from './short.ts'

/** The files of `wire/peers/lisp`, in the order in which each can use what those before it define. */
export const FILES = [
  'json',
  'implementation',
  'calls',
  'texts',
  'files',
  'handles',
  'storage',
  'names',
  'leaves',
  'print',
  'comparing',
  'objects',
  'shown',
  'forms',
  'streams',
  'origins',
  'frames',
  'stacks',
  'unwinding',
  'watching',
  'conditions',
  'in-force',
  'diagnostics',
  'listener',
  'source',
  'interrupt',
  'history',
  'beside',
  'waiting',
  'suspensions',
  'leaving',
  'suspendable',
  'suspended',
  'in-frames',
  'resuming',
  'adopting',
  'threads',
  'facts',
  'subjects',
  'lambda-lists',
  'defining',
  'located',
  'globals',
  'describe',
  'arguments',
  'search',
  'classes',
  'definition',
  'contents',
  'printing',
  'reading',
  'places',
  'accesses',
  'sections',
  'inspect',
  'references',
  'complete',
  'compile',
  'expand',
  'selecting',
  'load',
  'systems',
  'reports',
  'fiveam',
  'parachute',
  'tests',
  'tracing-calls',
  'tracing-targets',
  'tracing',
  'identity',
  'socket',
  'end',
] as const

/** How long an image has to close our connection itself. In milliseconds. */
const LEAVE_MS = 2_000

/** What a call is given: strings, whole numbers, truth and lists of them, by the names of docs/wire.md. */
export type Arguments = Readonly<
  Record<string, string | number | boolean | null | readonly (string | number)[] | undefined>
>

/** Our functions in an image, reached through one connection and gone with it. */
export class SwankPeer {
  readonly #connection: SwankConnection

  constructor(connection: SwankConnection) {
    this.#connection = connection
  }

  /**
   * Makes them, from the sources in `folder`; before that, the connection steps behind the human. Throws
   * `KERNEL_START_FAILED` where the image refuses, with the file that it could not read.
   */
  async install(folder: string): Promise<void> {
    await stepBehind(this.#connection, folder)
    const files = FILES.flatMap(file => [file, textOfFile(folder, file)])
    const made = await this.#connection.rex(run(textOfFile(folder, 'bootstrap'), quote(files)))
    if ('abort' in made || textOf(made.ok) !== '')
      throw refused('abort' in made ? made.abort : textOf(made.ok))
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

const behind = new WeakSet<SwankConnection>()

/**
 * Takes the connection out of those from which Swank chooses one for whatever belongs to none: errors of the user's own
 * threads go where they went before it was made. To be the first request of all; a second time it does nothing. Throws
 * `KERNEL_START_FAILED` where the image refuses.
 */
export async function stepBehind(connection: SwankConnection, folder = peerIn('lisp')): Promise<void> {
  if (behind.has(connection)) return
  // It aborts itself, so that Swank's own work for editors is left out. Only an error has a text for its value.
  const answer = await connection.rex(run(textOfFile(folder, 'behind')))
  if ('ok' in answer ? textOf(answer.ok) !== '' : answer.abort !== 'NIL')
    throw refused('ok' in answer ? textOf(answer.ok) : answer.abort)
  behind.add(connection)
}

const refused = (why: string) =>
  new WireError(
    'KERNEL_START_FAILED',
    `The image refused our functions: ${inShort(why) || 'it did not say why'}\n` +
      'If Imago was installed or built anew while its daemon ran, end that daemon: imago shutdown. Else this Lisp ' +
      'cannot take them; another Lisp, or another version of it, may.',
  )

const textOfFile = (folder: string, file: string) => readFileSync(join(folder, `${file}.lisp`), 'utf8')

/**
 * Calls a lambda expression, whatever the user has set for reading, compiling and printing. It prints nothing, and an
 * error is its value, as text. Macros are expanded within the bindings, or the user's own hook would be called.
 */
function run(lambda: string, ...args: Form[]): Form {
  const nowhere: Form = [symbol('cl:make-broadcast-stream')]
  const bindings: readonly (readonly [string, Form])[] = [
    ['*package*', [symbol('cl:find-package'), 'COMMON-LISP']],
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

/** All of it is function calls with constant arguments, which SBCL evaluates without compiling. */
export function callForm(name: string, args: Arguments): Form {
  const given: Form[] = []
  for (const [key, value] of Object.entries(args)) if (value !== undefined) given.push(key, value)
  const environment: Form = [symbol('swank::connection.env'), symbol('swank::*emacs-connection*')]
  return [symbol('cl:funcall'), [symbol('cl:cdar'), environment], name, quote(given)]
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
