import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { WireError } from '../errors.ts'
import { quote, type Returned, type SwankConnection, textOf } from './connection.ts'
import { type Form, symbol } from './sexp.ts'

/** The files of `wire/peers/lisp`, in the order in which each can use what those before it define. */
const FILES = [
  'json',
  'calls',
  'texts',
  'handles',
  'names',
  'print',
  'places',
  'streams',
  'conditions',
  'listener',
  'history',
  'threads',
  'inspect',
  'globals',
  'describe',
  'search',
  'classes',
  'definition',
  'references',
  'complete',
  'compile',
  'expand',
  'load',
  'systems',
  'tests',
  'script',
  'identity',
  'end',
] as const

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

  /** Makes them, from the sources in `folder`. Throws `KERNEL_START_FAILED` where the image refuses. */
  async install(folder: string): Promise<void> {
    const text = (file: string) => readFileSync(join(folder, `${file}.lisp`), 'utf8')
    const name = `imago-${process.pid}-${Math.random().toString(36).slice(2)}`
    const made = await this.#connection.rex([
      symbol('cl:let'),
      [
        [symbol('cl:*package*'), [symbol('cl:make-package'), name, symbol(':use'), quote(['COMMON-LISP'])]],
        [symbol('cl:*read-eval*'), null],
      ],
      [
        symbol('cl:funcall'),
        [symbol('cl:eval'), [symbol('cl:read-from-string'), text('bootstrap')]],
        quote(FILES.map(text)),
      ],
    ])
    if ('abort' in made)
      throw new WireError('KERNEL_START_FAILED', `The image refused the peer: ${made.abort}`)
  }

  /** What the image answers to a call, as JSON. Throws `REMOTE_FAULT`. */
  async call(name: string, args: Arguments, thread: true | number = true): Promise<unknown> {
    return answerOf(await this.#connection.rex(callForm(name, args), thread), name)
  }
}

/** All of it is function calls with constant arguments, which SBCL evaluates without compiling. */
export function callForm(name: string, args: Arguments): Form {
  const given: Form[] = []
  for (const [key, value] of Object.entries(args)) if (value !== undefined) given.push(key, value)
  const environment: Form = [symbol('swank::connection.env'), symbol('swank::*emacs-connection*')]
  const found: Form = [
    symbol('cl:assoc'),
    'IMAGO-PEER',
    environment,
    symbol(':test'),
    quote(symbol('cl:string=')),
  ]
  return [symbol('cl:funcall'), [symbol('cl:cdr'), found], name, quote(given)]
}

function answerOf(returned: Returned, name: string): unknown {
  if ('abort' in returned)
    throw new WireError('REMOTE_FAULT', `${name} was aborted in the image: ${returned.abort}`)
  const answer: unknown = JSON.parse(textOf(returned.ok))
  if (typeof answer === 'object' && answer !== null && 'fault' in answer)
    throw new WireError('REMOTE_FAULT', `The image could not answer ${name}: ${String(answer.fault)}`)
  return answer
}
