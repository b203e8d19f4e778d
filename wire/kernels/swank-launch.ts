import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { ScriptNews } from '../contract/evaluation.ts'
import { WireError } from '../errors.ts'
import type { KernelEnd } from '../kernel.ts'
import { peerIn } from '../peer-folder.ts'
import { within } from '../signal.ts'
import { connectSwank } from '../swank/connect.ts'
import { write } from '../swank/sexp.ts'
import type { Launched, LaunchLimits, LaunchRequest } from './launch.ts'
import { checkSwank, commandOf, findLisp, swankFolders } from './lisp.ts'
import { kernelEnvironment, OwnedProcess } from './process.ts'
import type { PulseTimes } from './pulse.ts'
import { type SwankKernel, swankKernel } from './swank.ts'
import { type ReconnectingKernel, reconnectingKernel } from './swank-reconnect.ts'

/** What a Lisp of ours is started with: as another kernel, but for the interpreter and the way to it. */
export interface LispRequest
  extends Pick<
    LaunchRequest,
    'name' | 'root' | 'env' | 'pass' | 'script' | 'args' | 'background' | 'doing' | 'scripted' | 'secret'
  > {
  /** The Lisp to use instead of the one that would be found. */
  readonly lisp?: string
  /** The folder of the Swank to use instead of the one that would be found. */
  readonly swank?: string
  readonly pulse?: PulseTimes
  readonly limits?: Partial<LaunchLimits>
}

/** The first start of a Swank compiles it, which is a matter of seconds, and of many on a slow machine. */
const LISP_LAUNCH: LaunchLimits = { startMs: 180_000, stopMs: 5_000, rejoinMs: 10_000 }

/** How long a program may run before it is said that it does, in ms. */
const GRACE_MS = 1_000

/**
 * Starts a Lisp with the user's init file and Swank, and waits until it can be spoken to.
 *
 * It is told a fresh secret on standard input, of which nothing stands in its arguments, its environment or a file,
 * and opens a port of 127.0.0.1 that only that secret opens; it tells us the number on its standard output, behind a
 * word that only it knows. Throws `KERNEL_NOT_FOUND` or `KERNEL_START_FAILED`; the latter says what it was doing, and
 * has its last words.
 */
export async function launchLisp(request: LispRequest): Promise<Launched> {
  const limits = { ...LISP_LAUNCH, ...request.limits }
  const { name, root } = request
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
    throw new WireError('KERNEL_START_FAILED', `${root} is no folder, so no kernel can live there.`)
  const env = kernelEnvironment(request.env, request.pass)
  if (request.swank !== undefined) checkSwank(request.swank)
  const own = peerIn('lisp')
  const lisp = await findLisp({ root, env, lisp: request.lisp })
  const command = commandOf(lisp, { file: join(own, 'start.lisp'), form: '(imago-start::start)' })
  const word = randomBytes(16).toString('hex')
  const secret = randomBytes(32).toString('hex')
  const forget = request.secret?.(secret)
  let child: OwnedProcess | undefined
  try {
    child = await OwnedProcess.start({
      name,
      command,
      cwd: root,
      env,
      own,
      line: invitation({ request, word, secret, home: env.HOME ?? homedir() }),
    })
    const image = new StartingImage({ request, child, reader: new StartNewsReader(word) })
    const launched = await admit({ request, limits, image, child, secret, own })
    void child.ended.then(forget)
    return launched
  } catch (error) {
    child?.kill()
    await child?.ended
    forget?.()
    throw error
  }
}

interface Inviting {
  readonly request: LispRequest
  readonly word: string
  readonly secret: string
  readonly home: string
}

/** The one form that the image reads, as `start.lisp` takes it apart. */
function invitation({ request, word, secret, home }: Inviting): string {
  const { root, swank, script, args = [] } = request
  const others = swankFolders(home)
  return write([
    word,
    secret,
    root,
    swank ?? null,
    others,
    script === undefined ? null : resolve(root, script),
    args,
  ])
}

/** Follows what the process prints, and the news among it. */
class StartingImage {
  readonly #request: LispRequest
  readonly #child: OwnedProcess
  readonly #reader: StartNewsReader
  #doing = 'starting'
  #running: NodeJS.Timeout | undefined
  #ready = false
  readonly listening: Promise<{ readonly port: number; readonly pid: number }>
  #listens: (where: { port: number; pid: number }) => void = () => {}
  #trouble: ((lastWords: string) => string) | undefined

  constructor(parts: { request: LispRequest; child: OwnedProcess; reader: StartNewsReader }) {
    this.#request = parts.request
    this.#child = parts.child
    this.#reader = parts.reader
    this.listening = new Promise(resolve => {
      this.#listens = resolve
    })
    parts.child.hear = (stream, text) => {
      const { printed, news } = stream === 'stdout' ? this.#reader.read(text) : { printed: text, news: [] }
      if (printed !== '') this.#printed(stream, printed)
      for (const one of news) this.#hear(one)
    }
  }

  /** It goes on to that, which whoever waits is told. */
  turnsTo(what: string): void {
    this.#doing = what
    this.#request.doing?.(what)
  }

  /** It can be spoken to: what it prints from now on belongs to no start. */
  begin(): void {
    this.#ready = true
    this.#child.forget()
  }

  /** What it was doing, as a clause. */
  get doing(): string {
    return `It was ${this.#doing}.`
  }

  /** Why it ended before it was ready, as it said itself or as its end tells. */
  whyNot(end: KernelEnd): string {
    const { name } = this.#request
    return this.#trouble?.(this.#child.lastWords) ?? `${name} was not ready yet. ${this.doing} ${end.message}`
  }

  #printed(stream: 'stdout' | 'stderr', text: string): void {
    this.#child.remember(text)
    if (this.#ready) this.#request.background?.(stream, text)
  }

  /** That it runs is news only once it has for a while, as most programs return at once. */
  #tellScript(news: ScriptNews): void {
    const tell = () => this.#request.scripted?.(news)
    clearTimeout(this.#running)
    if (news.state === 'running') this.#running = setTimeout(tell, GRACE_MS).unref()
    // What it said last, at whichever descriptor, is heard before its end is told.
    else setImmediate(tell)
  }

  #hear(news: StartNews): void {
    const { name } = this.#request
    switch (news.type) {
      case 'doing':
        this.turnsTo(news.what)
        break
      case 'listening':
        this.#listens(news)
        break
      case 'no-swank':
        this.#trouble = () => noSwank(name)
        break
      case 'broken':
        this.#trouble = words => `${name} stopped at an error while ${news.why}.${words}`
        break
      case 'script':
        this.#tellScript(news.news)
        break
      default:
        news satisfies never
    }
  }
}

const noSwank = (name: string) =>
  `${name} has no Swank to speak through: its init file loads none, ASDF knows none, and there is none in ~/quicklisp ` +
  'or ~/.emacs.d. Install one: (ql:quickload :swank) in that Lisp, or on Debian apt install cl-swank; or name the ' +
  'folder of SLIME as swank in [kernels] of your config.toml.'

interface Parts {
  readonly request: LispRequest
  readonly limits: LaunchLimits
  readonly image: StartingImage
  readonly child: OwnedProcess
  readonly secret: string
  readonly own: string
}

/** Connects to the image, and ties its life and that of its process together. */
async function admit(parts: Parts): Promise<Launched> {
  const { request, limits, image, child } = parts
  const { name } = request
  let ending: Promise<void> | undefined
  const stop = () => {
    // The end of its standard input has it end in order, with its exit hooks.
    if (ending === undefined) child.hangUp()
    ending ??= child.endInOrder(Promise.resolve(), { kernel, ...limits })
    return ending
  }
  const where = await inTime(parts)
  image.turnsTo('loading the part of Imago that lives in it (the first time, that is compiled)')
  const kernel: ReconnectingKernel = await reconnectingKernel({
    name,
    open: () => openImage({ ...parts, ...where, release: () => stop() }),
    limitMs: limits.rejoinMs,
  })
  void kernel.ended.then(end => {
    // A process that nobody can speak to any more is of no use; one that was let go of is ending in order.
    if (end.reason === 'lost') child.kill()
  })
  void child.ended.then(end =>
    kernel.lose(ending === undefined ? end : { reason: 'closed', message: `${name} was stopped.` }),
  )
  image.begin()
  child.say('go')
  return { kernel, pid: child.pid, stop, kill: () => child.kill() }
}

/** Where it listens. Throws what became of it instead. */
async function inTime({ request, limits, image, child }: Parts): Promise<{ port: number; pid: number }> {
  const fail = (why: string): never => {
    throw new WireError('KERNEL_START_FAILED', why)
  }
  const tooLate = `${request.name} could not be spoken to within ${limits.startMs} ms.`
  const listening = Promise.race([image.listening, child.ended.then(end => fail(image.whyNot(end)))])
  const late = () => fail(`${tooLate} ${image.doing}${child.lastWords}`)
  return await within(limits.startMs, listening, late)
}

interface Opening extends Parts {
  readonly port: number
  readonly pid: number
  release(): Promise<void>
}

/** Throws `KERNEL_START_FAILED` if what answers there is not the image that told us of it. */
async function openImage({ request, port, pid, secret, own, release }: Opening): Promise<SwankKernel> {
  const { name, background, pulse } = request
  const { connection, info } = await connectSwank({ host: '127.0.0.1', port, secret })
  if (info.pid !== pid) {
    connection.end()
    throw new WireError(
      'KERNEL_START_FAILED',
      `What answers at port ${port} is process ${info.pid}, and ${name} is process ${pid}: another program has taken its place.`,
    )
  }
  return swankKernel({
    name,
    connection,
    info,
    attached: false,
    folder: own,
    release,
    ...(background && { background }),
    ...(pulse && { pulse }),
  })
}

/** What an image of ours tells of its start and of its program, in lines among what it prints. */
type StartNews =
  /** What it does now, for whoever waits. */
  | { readonly type: 'doing'; readonly what: string }
  | { readonly type: 'listening'; readonly port: number; readonly pid: number }
  /** There is no Swank to be loaded. */
  | { readonly type: 'no-swank' }
  /** An error that nobody handled, before it was ready. */
  | { readonly type: 'broken'; readonly why: string }
  | { readonly type: 'script'; readonly news: ScriptNews }

const BEGIN = '\x1e'

/** A longer line is none of ours. */
const MOST_CHARACTERS = 4_096

/** Takes the lines of news out of a stream of text. They begin with a word that only the image and we know. */
export class StartNewsReader {
  readonly #mark: string
  #held = ''

  constructor(word: string) {
    this.#mark = `${BEGIN}${word} `
  }

  /** What of the text was printed, and what was told, in order. */
  read(text: string): { readonly printed: string; readonly news: readonly StartNews[] } {
    let rest = this.#held + text
    let printed = ''
    const news: StartNews[] = []
    this.#held = ''
    for (;;) {
      const at = rest.indexOf(BEGIN)
      if (at === -1) return { printed: printed + rest, news }
      printed += rest.slice(0, at)
      rest = rest.slice(at)
      const end = rest.indexOf('\n')
      const isOurs = rest.startsWith(this.#mark) || (end === -1 && this.#mark.startsWith(rest))
      if (isOurs && end !== -1) {
        const told = newsOf(rest.slice(this.#mark.length, end))
        if (told !== undefined) news.push(told)
        rest = rest.slice(end + 1)
      } else if (isOurs && rest.length < MOST_CHARACTERS) {
        this.#held = rest
        return { printed, news }
      } else {
        printed += BEGIN
        rest = rest.slice(BEGIN.length)
      }
    }
  }
}

function newsOf(line: string): StartNews | undefined {
  const [, kind = '', text = ''] = /^(\S+) ?(.*)$/s.exec(line) ?? []
  switch (kind) {
    case 'doing':
      return { type: 'doing', what: text }
    case 'no-swank':
      return { type: 'no-swank' }
    case 'broken':
      return { type: 'broken', why: text }
    case 'listening': {
      const [port = Number.NaN, pid = Number.NaN] = text.split(' ').map(Number)
      return Number.isInteger(port) && Number.isInteger(pid) ? { type: 'listening', port, pid } : undefined
    }
    case 'running':
    case 'returned':
      return { type: 'script', news: { state: kind, message: null } }
    case 'failed':
      return { type: 'script', news: { state: 'failed', message: text } }
    default:
      return undefined
  }
}
