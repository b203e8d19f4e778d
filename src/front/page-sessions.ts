import { randomBytes } from 'node:crypto'
import { keepSecret } from '../journal/redaction.ts'
import { sha256 } from '../sha256.ts'

/** Who is behind the connection of a page: one tab of a browser. */
export interface PageSession {
  /** The SHA-256 of its secret. */
  readonly id: string
  readonly root: string
  /** Of the `imago web` that made its token: what kernels get that this page starts. */
  readonly env: Readonly<Record<string, string>>
  /** Its secret, where a token was just exchanged for it. */
  readonly secret?: string
}

/** A session, or a token for one. `until`: milliseconds since 1970. */
interface Known extends Omit<PageSession, 'secret'> {
  readonly until: number
}

const TOKEN_MS = 600_000
const SESSION_MS = 86_400_000

/** Tokens, and sessions, that are known at once; the oldest make room. */
const MOST = 64

/**
 * The tokens and the sessions of pages. A token works once, within ten minutes, and is exchanged for a session, whose secret
 * works for a day. All of them end with the daemon: a page whose daemon has gone shows its secret to the program that
 * listens at that port next, which can do nothing with it. `used` is called when a token was used up.
 */
export function openPageSessions({ used }: { used(): void }) {
  let tokens: readonly Known[] = []
  let sessions: readonly Known[] = []

  return {
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
      used()
      const made = madeFor(SESSION_MS, 'secret of a page')
      const session = { ...token, id: made.id, until: made.until }
      sessions = alive([...sessions, session])
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
