import { createHash } from 'node:crypto'
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

/** Text of which a character costs most tokens, by its kind: so many characters, or so many lines. */
const DENSE: Readonly<Record<string, (size: number) => string>> = {
  hex: size =>
    Array.from({ length: Math.ceil(size / 64) }, (_, at) =>
      createHash('sha256').update(String(at)).digest('hex'),
    )
      .join('')
      .slice(0, size),
  cjk: size =>
    Array.from({ length: size }, (_, at) => String.fromCharCode(0x4e00 + ((at * 7919) % 20902))).join(''),
  lines: size => Array.from({ length: size }, (_, at) => `${at % 7}\n`).join(''),
}

/** Python that prints such text without an end that any host would show. */
export const PRINTS: Readonly<Record<string, string>> = {
  hex: "import hashlib; print(''.join(hashlib.sha256(str(at).encode()).hexdigest() for at in range(4_000)))",
  cjk: "print(''.join(chr(0x4e00 + at * 7919 % 20902) for at in range(100_000)))",
  lines: 'for at in range(10**6): print(at % 7)',
}

const RUNS = [
  [/[0-9a-f]{100,}/g, 'of hex'],
  [/[\u4e00-\u9fff]{100,}/g, 'of CJK'],
  [/(?:[0-6](?:\n|\\n)){50,}/g, 'of short lines'],
] as const

/**
 * What is long in short, such that two that differ do so in short, too: numbered lines one below another as
 * `{lines 0 to 41}`, dense text by its length and its hash.
 */
export function inShort(words: string): string {
  const numbered = linesInShort(words)
  return RUNS.reduce(
    (text, [run, kind]) => text.replaceAll(run, all => `{${all.length} characters ${kind}, ${hashed(all)}}`),
    numbered,
  )
}

const hashed = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)

function linesInShort(words: string): string {
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
  dense: ({ kind, size }) => ({ content: [text(DENSE[String(kind)]?.(Number(size)) ?? '')] }),
  grow: () => ({ content: [text('there is one tool more')] }),
  grown: () => ({ content: [text('the tool that came later')] }),
}

export const PROBE_TOOLS = Object.keys(ANSWERS)

/** What `probe.mjs` answers to a call. */
export function answerOf(name: string, args: Readonly<Record<string, unknown>>): Answer {
  return ANSWERS[name]?.(args) ?? { content: [text(`There is no tool ${name}.`)], isError: true }
}
