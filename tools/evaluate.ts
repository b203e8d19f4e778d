import { z } from 'zod'
import type { Shown } from '../wire/kernel.ts'
import { concluded, type Done } from './concluded.ts'
import { defineTool } from './define.ts'
import { failed, type Outcome } from './outcome.ts'
import { type Printed, showPrinted } from './output.ts'
import { SOURCE_LENGTH } from './source.ts'
import { cutNote, duration, typeWord } from './wording.ts'

/** What an evaluation that ran to its end is answered with. */
export interface Evaluation extends Printed {
  /** The first value; null for a statement. */
  readonly value_repr: string | null
  /** All values: none of a statement, one of an expression, any number of a Lisp form. */
  readonly values: readonly Shown[]
  readonly elapsed_ms: number
  /** Leads to the first value, and describes it in a line, where it is worth a closer look. */
  readonly handle?: string
  readonly preview?: string
  readonly next?: string
}

export const evalExpr = defineTool({
  name: 'eval_expr',
  aliases: ['eval_form'],
  description:
    'Run code in the live image, in its own language: one expression or any statements, with top-level await ' +
    'where the language has it. What it defines or changes stays for later calls. Answers with the value, what was ' +
    'printed, and, if the code raised, the exception with its frames and what was printed before. ' +
    'Use it to calculate, to verify a guess, or to change something on purpose; to understand a value, a ' +
    'function or a class use inspect, which shows more and runs nothing. Code that takes long is not stopped: ' +
    'it goes on as a job that the answer names.',
  parameters: {
    expr: z.string().min(1).max(SOURCE_LENGTH).describe('Source text, in the language of the image.'),
    file: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe('The file this code stands in, so that tracebacks and jumps to source lead there.'),
    line: z
      .int()
      .min(1)
      .max(10_000_000)
      .optional()
      .describe('The line of that file on which the code begins; 1 if left out. Only together with file.'),
  },
  level: 'cautious',
  profile: 'core',
  categories: ['execution'],
  needs: ['evaluate'],
  examples: [
    { args: { expr: '1 + 2' }, shows: 'the value of an expression' },
    { args: { expr: 'total = sum(prices)\nprint(total)' }, shows: 'statements; `total` stays defined' },
    {
      args: { expr: 'def next(x):\n    return x + 1', file: 'app.py', line: 3 },
      shows: 'a definition that keeps its place in a file',
    },
  ],

  // A person approves the code itself, never a summary of it.
  preview: ({ expr, file, line = 1 }) => ({
    title: file === undefined ? 'Run this code' : `Run this code as ${file}:${line}`,
    body: expr,
  }),

  async handler({ expr, file, line }, { kernel, call, who, signal, output, ask }) {
    if (line !== undefined && file === undefined) return lineWithoutFile()
    const place = file === undefined ? {} : { place: { file, line: line ?? 1 } }
    const work = { type: 'source', source: expr, ...place } as const
    const evaluated = await kernel.evaluate(
      { call, who, work },
      { signal, on: event => output.add(event), ask: question => ask(question) },
    )
    return concluded(evaluated, { output, done: evaluation })
  },

  show: result => showEvaluation(result as Evaluation),
})

function lineWithoutFile(): Outcome<never> {
  return failed('invalid_args', {
    message: 'line says where in a file the code begins, and no file was given.',
    details: { parameter: 'line' },
    next: 'Give file as well, or leave line out.',
  })
}

function evaluation({ values, elapsed_ms }: Done, text: Printed): Evaluation {
  const first = values[0]
  const { handle, preview } = first ?? {}
  return {
    value_repr: first?.repr.text ?? null,
    values,
    ...text,
    truncated: text.truncated || values.some(value => value.repr.truncated),
    elapsed_ms,
    ...(preview !== undefined && { preview }),
    ...(handle !== undefined && { handle, next: `inspect ${handle}` }),
  }
}

/** Values first: what is printed below them is the program's own text, and could say anything. */
function showEvaluation(result: Evaluation): string {
  const { values, elapsed_ms } = result
  // `truncated` is of the whole result, and a value that was cut says so itself.
  const truncated = result.truncated && !values.some(value => value.repr.truncated)
  const shown = values.length === 0 ? [`no value, ${duration(elapsed_ms)}`] : values.flatMap(showValue)
  return [...shown, ...showPrinted({ ...result, truncated })].join('\n')
}

function showValue({ repr, type, preview, handle }: Shown): string[] {
  const notes = []
  const said = preview?.startsWith(typeWord(type)) ?? handle === undefined
  if (!said) notes.push(typeWord(type))
  if (preview !== undefined) notes.push(preview)
  if (repr.truncated) notes.push(cutNote(repr))
  if (repr.handle !== undefined && repr.truncated) notes.push(`all of it: read_more ${repr.handle}`)
  if (repr.error !== undefined) notes.push(`its own printer was not used: ${repr.error}`)
  if (handle !== undefined) notes.push(`inspect ${handle}`)
  return notes.length === 0 ? [repr.text] : [repr.text, `(${notes.join(' · ')})`]
}
