import type { Answer } from './replay.ts'

/** A red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

const text = (words: string) => ({ type: 'text' as const, text: words })

/** So many lines of 36 characters, numbered. */
const lined = (lines: number): string =>
  Array.from(
    { length: lines },
    (_, at) => `line ${String(at).padStart(5, '0')} of an answer that is long`,
  ).join('\n')

/** Such lines one below another in short: `{lines 0 to 41}`. */
export function inShort(words: string): string {
  return words.replaceAll(
    /line \d{5} of an answer that is long(?:(?:\n|\\n)line \d{5} of an answer that is long)+/g,
    run => {
      const numbers = [...run.matchAll(/line (\d{5})/g)].map(([, number]) => Number(number))
      return `{lines ${numbers[0]} to ${numbers.at(-1)}}`
    },
  )
}

/** By the name of the tool: one answer of each kind that hosts treat in their own way. */
const ANSWERS: Readonly<Record<string, (args: Readonly<Record<string, unknown>>) => Answer>> = {
  image: () => ({ content: [text('before the image'), { type: 'image', data: PNG, mimeType: 'image/png' }] }),
  blocks: () => ({ content: [text('first block'), text('second block'), text('third block')] }),
  error: () => ({ content: [text('denied: a person refused it.\nNext: stop here.')], isError: true }),
  both: () => ({ content: [text('as text')], structuredContent: { as: 'data' } }),
  long: ({ lines }) => ({ content: [text(lined(Number(lines)))] }),
  grow: () => ({ content: [text('there is one tool more')] }),
  grown: () => ({ content: [text('the tool that came later')] }),
}

export const PROBE_TOOLS = Object.keys(ANSWERS)

/** What `probe.mjs` answers to a call. */
export function answerOf(name: string, args: Readonly<Record<string, unknown>>): Answer {
  return ANSWERS[name]?.(args) ?? { content: [text(`There is no tool ${name}.`)], isError: true }
}
