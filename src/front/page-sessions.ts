import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { keepSecret } from '../journal/redaction.ts'
import { openStateFile, type StateFile } from '../kernels/state-file.ts'
import { sha256 } from '../sha256.ts'

/** Who is behind the connection of a page: one tab of a browser. */
export interface PageSession {
  /** The SHA-256 of its secret. */
  readonly id: string
  readonly root: string
  /** Of the `imago web` that made its token; of the daemon, once that has begun again. */
  readonly env: Readonly<Record<string, string>>
  /** Its secret, where a token was just exchanged for it. */
  readonly secret?: string
}

const KEPT = z.object({
  port: z.int().min(1).max(65_535).nullable(),
  sessions: z.array(z.object({ id: z.string(), root: z.string(), until: z.number() })),
})

type Kept = z.output<typeof KEPT>

interface Known {
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  /** Milliseconds since 1970. */
  readonly until: number
}

const TOKEN_MS = 600_000
const SESSION_MS = 86_400_000

/** Tokens, and sessions, that are known at once; the oldest make room. */
const MOST = 64

interface PageSessionsOptions {
  readonly stateDir: string
  /** What kernels get for a page whose token an earlier daemon made. */
  readonly env: Readonly<Record<string, string>>
  now?(): number
  log(sentence: string, error: unknown): void
}

/**
 * The tokens and the sessions of pages. A token works once, within ten minutes, and is exchanged for a session, whose secret
 * works for a day, also at the next daemon: `page.json` in the state directory has its hash, and the port.
 */
export class PageSessions {
  readonly #tokens = new Map<string, Known>()
  readonly #sessions = new Map<string, Known>()
  readonly #file: StateFile<Kept>
  readonly #now: () => number
  #port: number | null

  constructor({ stateDir, env, log, now = Date.now }: PageSessionsOptions) {
    this.#now = now
    this.#file = openStateFile({
      path: join(stateDir, 'page.json'),
      shape: KEPT,
      none: { port: null, sessions: [] },
      unread: 'The sessions of pages cannot be read; each page asks for a new address.',
      unwritten: 'The sessions of pages cannot be written down; the next daemon does not know them.',
      log,
    })
    const { port, sessions } = this.#file.read()
    this.#port = port
    for (const { id, root, until } of sessions) this.#sessions.set(id, { root, until, env })
    prune(this.#sessions, now())
  }

  /** Where pages of an earlier daemon still look for one; undefined where there is none. */
  get port(): number | undefined {
    prune(this.#sessions, this.#now())
    return this.#sessions.size > 0 ? (this.#port ?? undefined) : undefined
  }

  /** The daemon listens there now. */
  listens(port: number): void {
    this.#port = port
    this.#write()
  }

  /** A token for a page of that project. */
  open({ root, env }: Pick<Known, 'root' | 'env'>): string {
    const token = newSecret()
    this.#remember(this.#tokens, sha256(token), { root, env, until: this.#now() + TOKEN_MS })
    setTimeout(keepSecret(token, 'token of a page'), TOKEN_MS).unref()
    return token
  }

  /** The session that is meant by what a page shows, which is a token that has not been used, or the secret of a session. */
  take(shown: string): PageSession | undefined {
    const now = this.#now()
    prune(this.#tokens, now)
    prune(this.#sessions, now)
    const id = sha256(shown)
    const known = this.#sessions.get(id)
    if (known !== undefined) return { id, ...known }
    const opened = this.#tokens.get(id)
    if (opened === undefined) return undefined
    this.#tokens.delete(id)
    const secret = newSecret()
    setTimeout(keepSecret(secret, 'secret of a page'), SESSION_MS).unref()
    const session = { ...opened, until: now + SESSION_MS }
    this.#remember(this.#sessions, sha256(secret), session)
    this.#write()
    return { id: sha256(secret), ...session, secret }
  }

  #remember(known: Map<string, Known>, id: string, one: Known): void {
    prune(known, this.#now())
    const [oldest] = known.keys()
    if (known.size >= MOST && oldest !== undefined) known.delete(oldest)
    known.set(id, one)
  }

  #write(): void {
    const sessions = [...this.#sessions].map(([id, { root, until }]) => ({ id, root, until }))
    this.#file.write({ port: this.#port, sessions })
  }
}

const newSecret = () => randomBytes(32).toString('base64url')

function prune(known: Map<string, Known>, now: number): void {
  for (const [id, { until }] of known) if (until <= now) known.delete(id)
}
