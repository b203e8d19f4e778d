import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { z } from 'zod'

/** An answer of an MCP server to `tools/call`. */
export interface Answer {
  readonly content: readonly Block[]
  readonly isError?: boolean | undefined
  readonly structuredContent?: unknown
}

type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }

/** What a host shows its model of an answer. */
export interface Shown {
  /** All the text, without what the host writes around it. */
  readonly text: string
  readonly images: number
  /** Whether the host says that it is an error; the others leave that to the text. */
  readonly marked: boolean
  /** Whether all of the text came through. */
  readonly whole: boolean
}

const textsOf = ({ content }: Answer) => content.flatMap(block => (block.type === 'text' ? [block.text] : []))
const imagesOf = ({ content }: Answer) => content.filter(({ type }) => type === 'image').length

interface Host {
  readonly name: string
  /** What it does to an answer. */
  replay(answer: Answer): Shown
}

interface CapturedHost extends Host {
  /** How its requests say what its model is shown, but for what cannot be told there. */
  read(shown: unknown): Omit<Shown, 'whole'>
}

/** Of others it is told that they do this. */
export const TOLD: readonly Host[] = [
  {
    name: 'drops images',
    replay: answer => ({ text: textsOf(answer).join('\n'), images: 0, marked: false, whole: true }),
  },
  {
    name: 'keeps the first block only',
    replay: answer => {
      const [first] = answer.content
      const text = first?.type === 'text' ? first.text : ''
      const whole = textsOf(answer).length <= 1
      return { text, images: first?.type === 'image' ? 1 : 0, marked: false, whole }
    },
  },
  {
    name: 'cuts at 10,000 tokens',
    replay: answer => {
      const text = textsOf(answer).join('\n')
      const whole = countTokens(text) <= 10_000
      return { text: whole ? text : text.slice(0, 10_000), images: imagesOf(answer), marked: false, whole }
    },
  },
]

/** Where there is data, some hosts show that instead of the text. */
const dataOr = ({ structuredContent }: Answer, text: string) =>
  structuredContent === undefined ? text : JSON.stringify(structuredContent)

/** What Claude Code shows of an answer above 50,000 characters, which it keeps as a file: none of it above 25,000 tokens. */
function previewOf({ content }: Answer, text: string): string {
  return countTokens(text) > 25_000 ? '' : `${JSON.stringify(content, null, 2).slice(0, 2_000)}\n...`
}

/** How much was left out is another number there: it cuts twice, and counts the second time. */
function cutInside(text: string, half: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= 2 * half) return text
  return `${bytes.subarray(0, half)}…N tokens truncated…${bytes.subarray(-half)}`
}

const wrapped = (answer: Answer) => `<untrusted_context>\n${textsOf(answer).join('\n')}\n</untrusted_context>`
const unwrapped = (text: string) => text.replaceAll(/<untrusted_context>\n|\n<\/untrusted_context>/g, '')

const BLOCK = z.looseObject({ type: z.string(), text: z.string().optional() })
const CLAUDE = z.object({ content: z.union([z.string(), z.array(BLOCK)]), is_error: z.boolean() })
const CODEX = z.union([z.string(), z.array(BLOCK)])
const GEMINI = z.tuple(
  [z.looseObject({ output: z.string().optional(), error: z.string().optional() })],
  z.unknown(),
)
const GEMINI_ERROR = z.tuple([
  z.object({
    functionResponse: z.object({
      response: z.object({ content: z.tuple([z.object({ type: z.literal('text'), text: z.string() })]) }),
    }),
  }),
])

/** As `captured/` shows it of the versions there. */
export const CAPTURED: readonly CapturedHost[] = [
  {
    name: 'claude-code',
    replay: answer => {
      const text = dataOr(answer, textsOf(answer).join('\n'))
      const marked = answer.isError === true
      if (text.length <= 50_000) return { text, images: imagesOf(answer), marked, whole: true }
      return { text: previewOf(answer, text), images: 0, marked, whole: false }
    },
    read: shown => {
      const { content, is_error } = CLAUDE.parse(shown)
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
      const preview = /Preview \(first 2KB\):\n(.*)\n<\/persisted-output>/s
      const texts = blocks.flatMap(({ text = '' }) =>
        text === '' || /^Error: result .* exceeds maximum allowed tokens\./.test(text)
          ? []
          : [preview.exec(text)?.[1] ?? text],
      )
      const images = blocks.filter(({ type }) => type === 'image').length
      return { text: texts.join('\n'), images, marked: is_error }
    },
  },
  codex({ name: 'codex', half: 23_982 }),
  codex({ name: 'codex-unknown-model', half: 5_982 }),
  {
    name: 'gemini',
    replay: answer => {
      const text = textsOf(answer).join('\n')
      const all = wrapped(answer)
      const left = all.length - 40_000
      const marked = answer.isError === true
      if (left <= 0) return { text, images: imagesOf(answer), marked, whole: true }
      const kept = [
        all.slice(0, 8_000),
        `... [${left.toLocaleString('en')} characters omitted] ...`,
        all.slice(-32_000),
      ]
      return { text: unwrapped(kept.join('\n\n')), images: 0, marked, whole: false }
    },
    read: shown => {
      const [{ output = '', error }, ...others] = GEMINI.parse(shown)
      const failed =
        error === undefined ? undefined : GEMINI_ERROR.parse(JSON.parse(error.slice(error.indexOf('[{'))))
      const text = failed?.[0].functionResponse.response.content[0].text ?? output
      const plain = text.replace(/^Output too large\. .*\n/, '').replace(/\n\[Tool '\w+' provided .*\]$/, '')
      return { text: unwrapped(plain), images: others.length, marked: error !== undefined }
    },
  },
]

const MASK = /^<tool_output_masked>\n|\n\nOutput too large\. Full output available at: FILE\n<.*$/gs
const AS_JSON = /^\{\n {2}"output": "<untrusted_context>\\n|\\n<\/untrusted_context>"\n\}$/g

/** What Gemini CLI leaves, still as JSON, of an answer that it has shown whole and that many others have followed. */
export const GEMINI_LATER: CapturedHost = {
  name: 'gemini, later',
  replay: answer => {
    const json = JSON.stringify({ output: wrapped(answer) }, null, 2)
    if (json.length <= 500) return { text: textsOf(answer).join('\n'), images: 0, marked: false, whole: true }
    const kept = `${json.slice(0, 250)}\n... [TRUNCATED] ...\n${json.slice(-250)}`
    return { text: kept.replaceAll(AS_JSON, ''), images: 0, marked: false, whole: false }
  },
  read: shown => {
    const [{ output = '' }] = GEMINI.parse(shown)
    return { text: output.replaceAll(MASK, '').replaceAll(AS_JSON, ''), images: 0, marked: false }
  },
}

/** `half`: the bytes that it keeps of the beginning of a text, and of its end. */
function codex({ name, half }: { readonly name: string; readonly half: number }): CapturedHost {
  return {
    name,
    replay: answer => {
      const text = dataOr(answer, textsOf(answer).join('\n'))
      const kept = cutInside(text, half)
      return { text: kept, images: imagesOf(answer), marked: false, whole: kept === text }
    },
    read: shown => {
      const output = CODEX.parse(shown)
      const blocks = typeof output === 'string' ? [{ type: 'input_text', text: output }] : output
      const texts = blocks.flatMap(({ text = '' }) => text.replace(/^Wall time: .*\nOutput:\n?/, '') || [])
      const images = blocks.filter(({ type }) => type === 'input_image').length
      return { text: texts.join('\n').replace(/…\d+ tokens/, '…N tokens'), images, marked: false }
    },
  }
}
