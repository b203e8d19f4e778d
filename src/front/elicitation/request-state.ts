import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { z } from 'zod'

const STATE = z.strictObject({
  /** Names this one state among all: it is used up by that. */
  nonce: z.string(),
  call: z.string(),
  plan: z.string(),
  /** Of the plan. */
  hash: z.string(),
  /** The connection that it was given to, what the client there calls itself, and its project. */
  session: z.string(),
  client: z.string(),
  root: z.string(),
  /** What the request called, and the SHA-256 of its arguments. */
  tool: z.string(),
  args: z.string(),
  /** In milliseconds of `performance.now()` of this daemon. */
  expires: z.number(),
})

/** What a client carries from a question to its answer. */
export type RequestState = z.output<typeof STATE>

/** Makes states unreadable and unchangeable for the client that carries them. */
export interface Seals {
  seal(state: RequestState): string
  /** Undefined for what was not sealed here, or was changed since. */
  open(text: string): RequestState | undefined
}

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
/** So that nothing sealed for another purpose is ever taken for one of these. */
const PURPOSE = Buffer.from('imago requestState 1')
/** Far more than any state has. */
const MOST_CHARS = 16 * 1024

/** With a key that is made now, and known to this daemon alone: no state outlives it. */
export function openSeals(): Seals {
  const key = randomBytes(32)
  return {
    seal(state) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(PURPOSE)
      const sealed = Buffer.concat([cipher.update(JSON.stringify(state), 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    open(text) {
      if (text.length > MOST_CHARS) return undefined
      const bytes = Buffer.from(text, 'base64url')
      // Other spellings of the same bytes are not what was given out.
      if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== text) return undefined
      try {
        const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES))
          .setAAD(PURPOSE)
          .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
        const opened = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES))
        return STATE.parse(JSON.parse(Buffer.concat([opened, decipher.final()]).toString('utf8')))
      } catch {
        return undefined
      }
    },
  }
}
