import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { keepSecret } from '../journal/redaction.ts'
import { openStateFile } from '../kernels/state-file.ts'
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

/** A session, or a token for one. `until`: milliseconds since 1970. */
interface Known extends Omit<PageSession, 'secret'> {
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
  log(sentence: string, error: unknown): void
}

/**
 * The tokens and the sessions of pages. A token works once, within ten minutes, and is exchanged for a session, whose secret
 * works for a day, also at the next daemon: `page.json` in the state directory has its hash, and the port.
 */
export function openPageSessions({ stateDir, env, log }: PageSessionsOptions) {
  const file = openStateFile<z.output<typeof KEPT>>({
    path: join(stateDir, 'page.json'),
    shape: KEPT,
    none: { port: null, sessions: [] },
    unread: 'The sessions of pages cannot be read; each page asks for a new address.',
    unwritten: 'The sessions of pages cannot be written down; the next daemon does not know them.',
    log,
  })
  const kept = file.read()
  let port = kept.port ?? undefined
  let tokens: readonly Known[] = []
  let sessions = alive(kept.sessions.map(session => ({ ...session, env })))

  const write = () =>
    file.write({
      port: port ?? null,
      sessions: sessions.map(({ id, root, until }) => ({ id, root, until })),
    })

  return {
    /** Where pages of an earlier daemon still look for one; undefined where there is none. */
    port: sessions.length > 0 ? port : undefined,
    /** The daemon listens there now. */
    listens(at: number): void {
      port = at
      write()
    },
    /** A token for a page of that project. */
    open({ root, env }: Pick<Known, 'root' | 'env'>): string {
      const { secret, id, until } = madeFor(TOKEN_MS, 'token of a page')
      tokens = alive([...tokens, { id, root, env, until }])
      return secret
    },
    /** The session that is meant by what a page shows: the secret of one, or a token, which is used up by this. */
    take(shown: string): PageSession | undefined {
      const id = sha256(shown)
      const known = alive(sessions).find(session => session.id === id)
      if (known !== undefined) return known
      const token = alive(tokens).find(token => token.id === id)
      if (token === undefined) return undefined
      tokens = tokens.filter(one => one !== token)
      const made = madeFor(SESSION_MS, 'secret of a page')
      const session = { ...token, id: made.id, until: made.until }
      sessions = alive([...sessions, session])
      write()
      return { ...session, secret: made.secret }
    },
  }
}

export type PageSessions = ReturnType<typeof openPageSessions>

const alive = (all: readonly Known[]): readonly Known[] =>
  all.filter(({ until }) => until > Date.now()).slice(-MOST)

/** No log shows it as long as it works. */
function madeFor(ms: number, name: string) {
  const secret = randomBytes(32).toString('base64url')
  setTimeout(keepSecret(secret, name), ms).unref()
  return { secret, id: sha256(secret), until: Date.now() + ms }
}
