import { openRegistry } from '../../src/registry/registry.ts'
import type { Call, SyntaxName, TextSyntax } from '../../src/syntax/syntax.ts'
import { SYNTAXES } from '../../src/syntax/syntaxes.ts'
import { TOOLS } from '../../tools/index.ts'
import { median, type Round, type Row } from '../row.ts'

const registry = openRegistry(TOOLS)
const PIECE = 4_096
const MEGABYTE = 1 << 20

/** What a model says in a long session: sentences, and calls with short and with long arguments. */
const CALLS: readonly Call[] = [
  { tool: 'inspect', args: { expr: 'orders[0].customer' } },
  {
    tool: 'eval_expr',
    args: { expr: 'for order in orders:\n    print(f"{order.total:.2f}")\n'.repeat(12), line: 3 },
  },
  { tool: 'write_file', args: { path: 'shop/rates.py', content: 'RATES = {"winter": 0.2}\n'.repeat(160) } },
]

function transcript(syntax: TextSyntax, bytes: number): string {
  const turn = CALLS.map(
    call => `I look at what is there, and then I go on.\n${syntax.renderCall(call, registry)}\n`,
  ).join('')
  return turn.repeat(Math.ceil(bytes / turn.length))
}

/** Milliseconds in which a text is read that comes in pieces, and nothing of it is wrong. */
function readAll(syntax: TextSyntax, text: string): number {
  const begun = performance.now()
  const reader = syntax.reader(registry)
  let calls = 0
  for (let at = 0; at < text.length; at += PIECE)
    for (const { type } of reader.push(text.slice(at, at + PIECE))) if (type === 'call') calls++
  if (reader.end().length > 0 || calls % CALLS.length !== 0)
    throw new Error(`${syntax.name} read ${calls} calls`)
  return performance.now() - begun
}

const timed = (what: () => unknown): number => {
  const begun = performance.now()
  what()
  return performance.now() - begun
}

/** Each text is used once: V8 keeps the flat form of one that it has read. */
function measure(syntax: TextSyntax): Round {
  const json = JSON.stringify(Array(Math.ceil((10 * MEGABYTE) / JSON.stringify(CALLS).length)).fill(CALLS))
  const [small, large, parse]: [number[], number[], number[]] = [[], [], []]
  for (let turn = 0; turn < 3; turn++) {
    const [short, long] = [transcript(syntax, MEGABYTE), transcript(syntax, 10 * MEGABYTE)]
    small.push(short.length / readAll(syntax, short) / 1_000)
    large.push(long.length / readAll(syntax, long) / 1_000)
    parse.push(json.length / timed(() => JSON.parse(json)) / 1_000)
  }
  const [read_mb_per_s, read_1_mb_per_s, parse_mb_per_s] = [median(large), median(small), median(parse)]
  return { figure: read_mb_per_s, parts: { read_1_mb_per_s, parse_mb_per_s } }
}

const row = (name: SyntaxName): Row => ({
  what: `a model’s text with calls in the syntax ${name}, 10 MB, beside \`JSON.parse\``,
  how: 'sentences and calls of 20 to 4,000 characters, in pieces of 4 kB, read to calls; the same calls as JSON, parsed; 3 times in turn; `read_1_mb_per_s` is the speed at 1 MB',
  bar: { relation: '≥', limit: 10, unit: 'MB/s' },
  async measure() {
    return measure(SYNTAXES[name])
  },
})

export const emojiText = row('emoji')
export const hermesText = row('hermes')
export const pythonicText = row('pythonic')

export const textsLinear: Row = {
  what: 'a model’s text with calls, 10 MB against 1 MB: time per byte, the worst of the three syntaxes',
  how: 'the same texts; 1 is linear',
  bar: { relation: '≤', limit: 1.5, unit: '×' },
  async measure() {
    const worst = Object.values(SYNTAXES).map(syntax => {
      const { figure, parts } = measure(syntax)
      return [syntax.name, (parts.read_1_mb_per_s ?? Number.NaN) / figure] as const
    })
    return { figure: Math.max(...worst.map(([, share]) => share)), parts: Object.fromEntries(worst) }
  },
}
