import { z } from 'zod'
import type { OpenBuffer } from '../../tools/contract.ts'
import type { OpenBuffers } from '../calls/context.ts'
import type { ServeContext } from './server.ts'

/** How long an editor may take to answer, in milliseconds; then its text is passed over. */
const ANSWER_MS = 1_000

const ANSWER = z.object({ text: z.string().nullable() })

/** The clients that offer the texts which their editors have open. */
export class Buffers implements OpenBuffers {
  readonly #offers = new Set<ServeContext>()

  /** Returns how the offer ends. */
  offer(context: ServeContext): () => void {
    this.#offers.add(context)
    return () => void this.#offers.delete(context)
  }

  /** All are asked at once; of several, the one that offered last is taken. */
  async at(path: string, root: string): Promise<OpenBuffer | undefined> {
    const offers = [...this.#offers].filter(({ session }) => session.root === root).reverse()
    const found = await Promise.all(offers.map(offer => asked(offer, path)))
    return found.find(one => one !== undefined)
  }
}

async function asked({ link, session }: ServeContext, path: string): Promise<OpenBuffer | undefined> {
  try {
    const { text } = ANSWER.parse(await link.call('buffer', { path }, { deadlineMs: ANSWER_MS }))
    return text === null ? undefined : { editor: session.name, text }
  } catch {
    // It has gone, or hangs, or has something else there: as if it had no such file.
    return undefined
  }
}
