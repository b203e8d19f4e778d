/** What a compiler beside the daemon says of a text: it runs nothing, and no image takes part. */
import { z } from 'zod'
import { count, type Of, orNull, parameterDefault, text } from './values.ts'

/** A function or a class body that a text defines, or the whole of it, which is called `<module>`. */
export const compiledPart = z.object({
  name: text,
  qualified: text,
  /** From its first decorator on. */
  line: count,
  last: count,
  /** As in `Running`, and so are the lines and the defaults. */
  fingerprint: text,
  lines: text,
  defaults: orNull(z.array(parameterDefault)),
  /** What else its definition says, which code does not tell: `decorators`, `annotations`, `computed defaults`. */
  beside: z.array(text),
  /** Else it is the body of a class or module. */
  function: z.boolean(),
})
export type CompiledPart = Of<typeof compiledPart>

/** One answer; `text` is there where the bytes are not UTF-8. */
export const compiledAnswer = z.union([
  z.object({ functions: z.array(compiledPart), text: text.exactOptional() }),
  z.object({ error: text, fault: z.enum(['encoding', 'syntax']) }),
])

export type CompiledText =
  | { readonly type: 'compiled'; readonly parts: readonly CompiledPart[]; readonly lines: readonly string[] }
  /** No compiler takes it: it is no text in its encoding, or none of the language. */
  | { readonly type: 'invalid'; readonly fault: 'encoding' | 'syntax'; readonly error: string }
  /** That could not be found out; a clause. */
  | { readonly type: 'failed'; readonly because: string }

/** A text to be compiled as the code of an image was. */
export interface CompileRequest {
  readonly language: string
  /** The process whose code it is compared with. */
  readonly pid: number
  readonly interpreter: string
  readonly version: string
  readonly optimize: number
  readonly futures: number
  readonly bytes: Uint8Array
}
