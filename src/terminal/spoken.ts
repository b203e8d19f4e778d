import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Envelope } from '../../tools/outcome.ts'
import { DEFAULT_LANGUAGE } from '../../wire/languages.ts'
import { type Image, languageOf } from '../front/image.ts'
import { PROMPT } from './editor-view.ts'
import { type Language, type Numbering, terminalLanguage } from './languages.ts'

/** The language of the kernel that the console speaks to at this moment, and where its session stands. */
export interface Spoken {
  readonly language: Language
  /** What stands before a line. */
  readonly prompt: string
  /** Learns it anew: the language where it is another kernel, and the number of the line where that is not known. */
  follow(): Promise<void>
  /** What code was answered with, which tells how far the session is. Without it, that is not known any more. */
  heard(envelope?: Envelope): void
}

/** How long a prompt waits for its number, in milliseconds. */
const ASKING_MS = 300

/** Why there is no number yet: the session is being loaded, or something else runs there. */
const WAITS: ReadonlySet<unknown> = new Set(['loading', 'inspect_timeout'])

const NUMBERED = z.object({ input_line: z.number() })

const STORED = z.object({ repr: z.object({ text: z.string().regex(/^\d{1,15}$/) }) })

/** `changed` is told where the prompt has become another one. */
export function openSpoken(
  image: Pick<Image, 'kernel' | 'request' | 'call' | 'root'>,
  changed: () => void,
): Spoken {
  let language = terminalLanguage(DEFAULT_LANGUAGE.name)
  let kernel: string | undefined
  let last: number | undefined
  let asked = 0

  function know(number: number | undefined) {
    asked++
    last = number
  }

  async function ask(numbering: Numbering) {
    const mine = ++asked
    for (;;) {
      const envelope = await image.call({ tool: 'inspect', args: { expr: numbering.last } })
      if (mine !== asked) return
      if (!envelope.ok && WAITS.has(envelope.error.details.reason)) continue
      know(lastIn(envelope))
      return changed()
    }
  }

  return {
    get language() {
      return language
    },
    get prompt() {
      return language.numbering?.prompt(last === undefined ? undefined : last + 1) ?? PROMPT
    },
    async follow() {
      if (image.kernel !== kernel) {
        const name = await languageOf(image)
        if (name === undefined) return
        kernel = image.kernel
        language = terminalLanguage(name)
        know(undefined)
      }
      const { numbering } = language
      if (numbering === undefined || last !== undefined) return
      await Promise.race([ask(numbering).catch(() => {}), pause(ASKING_MS, undefined, { ref: false })])
    },
    heard(envelope) {
      const read = NUMBERED.safeParse(envelope?.ok ? envelope.result : envelope?.error.details)
      know(read.success ? read.data.input_line : undefined)
    },
  }
}

/** The number of the last line; of a session that begins with the next line, 0. */
function lastIn(envelope: Envelope): number | undefined {
  if (!envelope.ok) return envelope.error.details.reason === 'none_lives' ? 0 : undefined
  const read = STORED.safeParse(envelope.result)
  return read.success ? Number(read.data.repr.text) : undefined
}
