import { type Encoding, isRecord, type Limits } from '../codec/messages.ts'
import { WireError } from '../errors.ts'

/** How a peer introduces itself and its kernel. */
export interface KernelHello {
  readonly role: 'kernel'
  readonly protocol: number
  readonly language: string
  /** For people: `CPython 3.11.7`. */
  readonly implementation: string
  /** Of the peer's own program. */
  readonly version: string
  readonly pid: number
  /** Eight lower-case hexadecimal digits, new for each life of the image. */
  readonly epoch: string
  /** Words of `ABILITIES`; others are kept and mean nothing here. */
  readonly abilities: readonly string[]
  /** What the peer can read and write, besides JSON if it is left out. */
  readonly encodings: readonly string[]
}

/** How a front end introduces itself to the daemon. */
export interface ClientHello {
  /** `client` goes on with frames, `mcp` with lines of MCP. */
  readonly role: 'client' | 'mcp'
  readonly protocol: number
  readonly name: string
  readonly version: string
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly encodings: readonly string[]
  /** What else the front end wants of the daemon; its meaning is theirs. */
  readonly options?: Readonly<Record<string, unknown>>
}

/** The encoding of all that follows, and the limits that both ends keep, in bytes. */
export interface Welcome {
  readonly encoding: Encoding
  readonly credit: number
  readonly chunk: number
  readonly frame: number
  readonly message: number
}

/** What the daemon adds for clients: which life of it this is, its own version, and its process. */
export interface ClientWelcome extends Welcome {
  readonly instance: string
  readonly version: string
  readonly pid: number
}

export interface Refused {
  readonly code: string
  readonly message: string
}

/** msgpack where the other end has it, else JSON. */
export function welcomeTo(hello: { readonly encodings: readonly string[] }, limits: Limits): Welcome {
  return {
    encoding: hello.encodings.includes('msgpack') ? 'msgpack' : 'json',
    credit: limits.creditBytes,
    chunk: limits.chunkBytes,
    frame: limits.frameBytes,
    message: limits.messageBytes,
  }
}

/** The protocol of a hello. Checked first: a hello of another one need have nothing else that we know. */
export function protocolOf(frame: unknown): number {
  return new Fields(isRecord(frame) ? frame.hello : undefined, 'hello').count('protocol')
}

/** Throws `MESSAGE_INVALID`, as do the other parsers here. */
export function parseKernelHello(frame: unknown): KernelHello {
  const hello = new Fields(isRecord(frame) ? frame.hello : undefined, 'hello')
  return {
    role: hello.word('role', ['kernel']),
    protocol: hello.count('protocol'),
    language: hello.text('language'),
    implementation: hello.text('implementation'),
    version: hello.text('version'),
    pid: hello.count('pid'),
    epoch: hello.match('epoch', /^[0-9a-f]{8}$/),
    abilities: hello.texts('abilities'),
    encodings: hello.texts('encodings'),
  }
}

export function parseClientHello(frame: unknown): ClientHello {
  const given = isRecord(frame) && isRecord(frame.hello) ? frame.hello : undefined
  const hello = new Fields(given, 'hello')
  return {
    role: hello.word('role', ['client', 'mcp']),
    protocol: hello.count('protocol'),
    name: hello.text('name'),
    version: hello.text('version'),
    root: hello.text('root'),
    env: hello.textsByName('env'),
    encodings: hello.texts('encodings'),
    ...(isRecord(given?.options) && { options: given.options }),
  }
}

/** What answers a hello. `ParsedWelcome` is how the welcome itself is read: `parseWelcome`, or `parseClientWelcome`. */
export function parseReply<ParsedWelcome>(
  frame: unknown,
  parse: (fields: Fields) => ParsedWelcome,
): { welcome: ParsedWelcome } | { refused: Refused } {
  const refused = refusalIn(frame)
  if (refused !== undefined) return { refused }
  return { welcome: parse(new Fields(isRecord(frame) ? frame.welcome : undefined, 'welcome')) }
}

/** What an end says in place of its hello or its welcome, where it will not have the other; else undefined. */
export function refusalIn(frame: unknown): Refused | undefined {
  if (!isRecord(frame) || frame.refused === undefined) return undefined
  const refused = new Fields(frame.refused, 'refusal')
  return { code: refused.text('code'), message: refused.text('message') }
}

export function parseWelcome(welcome: Fields): Welcome {
  return {
    encoding: welcome.word('encoding', ['json', 'msgpack']),
    credit: welcome.count('credit'),
    chunk: welcome.count('chunk'),
    frame: welcome.count('frame'),
    message: welcome.count('message'),
  }
}

export function parseClientWelcome(welcome: Fields): ClientWelcome {
  return {
    ...parseWelcome(welcome),
    instance: welcome.text('instance'),
    version: welcome.text('version'),
    pid: welcome.count('pid'),
  }
}

/** Typed fields of something that came from outside. */
export class Fields {
  readonly #fields: Readonly<Record<string, unknown>>
  readonly #what: string

  constructor(value: unknown, what: string) {
    if (!isRecord(value))
      throw new WireError('MESSAGE_INVALID', `The other end sent no ${what} where one is due.`)
    this.#fields = value
    this.#what = what
  }

  text(name: string): string {
    const value = this.#fields[name]
    return typeof value === 'string' ? value : this.#wrong(name)
  }

  match(name: string, pattern: RegExp): string {
    const text = this.text(name)
    return pattern.test(text) ? text : this.#wrong(name)
  }

  word<Word extends string>(name: string, words: readonly Word[]): Word {
    const text = this.text(name)
    return words.find(word => word === text) ?? this.#wrong(name)
  }

  count(name: string): number {
    const value = this.#fields[name]
    return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : this.#wrong(name)
  }

  texts(name: string): readonly string[] {
    const value = this.#fields[name]
    const isTexts = Array.isArray(value) && value.every((one): one is string => typeof one === 'string')
    return isTexts ? value : this.#wrong(name)
  }

  textsByName(name: string): Readonly<Record<string, string>> {
    const value = this.#fields[name]
    const isTexts = isRecord(value) && Object.values(value).every(one => typeof one === 'string')
    return isTexts ? (value as Record<string, string>) : this.#wrong(name)
  }

  #wrong(name: string): never {
    throw new WireError(
      'MESSAGE_INVALID',
      `The field ${name} of the other end's ${this.#what} is missing or wrong.`,
    )
  }
}
