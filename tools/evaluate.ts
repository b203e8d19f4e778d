import { z } from 'zod'
import type { Shown } from '../wire/kernel.ts'
import type { KernelContext } from './contract.ts'
import { defineTool } from './define.ts'
import {
  type Diagnosed,
  type Done,
  diagnosed,
  type InForce,
  inForce,
  ON_ERROR,
  type Printed,
  runWork,
  showDiagnosed,
  showInForce,
  showPrinted,
  workOutcome,
} from './execution.ts'
import { termsOf } from './languages.ts'
import { type Failed, failed } from './outcome.ts'
import { IN_PACKAGE, insideWord, PLACED, packageRefused, placeGiven } from './source.ts'
import { cutNote, duration, SOURCE_LENGTH, typeWord } from './text.ts'

/** What an evaluation that ran to its end is answered with. */
export interface Evaluation extends Printed, Diagnosed, InForce {
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
    'printed, and, if the code raised, the exception with its frames and what was printed before; where the answer ' +
    'names a suspension, the error waits there, and debug_state and debug_restart go on from it. ' +
    'Use it to calculate, to verify a guess, or to change something on purpose; to understand a value, a ' +
    'function or a class use inspect, which shows more and runs nothing. Code that takes long is not stopped: ' +
    'it goes on as a job that the answer names.',
  parameters: {
    expr: z.string().min(1).max(SOURCE_LENGTH).describe('Source text, in the language of the image.'),
    ...PLACED,
    package: IN_PACKAGE,
    on_error: z
      .enum(ON_ERROR)
      .default('suspend')
      .describe(
        'What an error does: `suspend` keeps its frames, and in Lisp the call itself, for the debug_ tools; `hold` ' +
          'keeps the call itself alive in Python, too, so that it can go on; `end` keeps nothing.',
      ),
  },
  // As Agent-Q writes it.
  parameterAliases: { form: 'expr' },
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
    { args: { expr: '(floor total 3)', package: 'SHOP' }, shows: 'a Lisp form, with all its values' },
  ],

  // A person approves the code itself, never a summary of it.
  preview: ({ expr, file, line = 1, package: inside }) => ({
    title: `Run this code${file === undefined ? '' : ` as ${file}:${line}`}${insideWord(inside)}`,
    body: expr,
  }),

  async handler({ expr, file, line, package: inside, on_error: onError }, context) {
    const place = placeGiven({ file, line })
    if ('type' in place) return place
    const refused =
      packageRefused(inside, context.kernel) ?? (onError === 'hold' ? holdRefused(context) : undefined)
    if (refused !== undefined) return refused
    const read = inside === undefined ? {} : { package: inside }
    const evaluated = await runWork({ type: 'source', source: expr, ...place, ...read }, context, onError)
    const held = onError === 'hold'
    return workOutcome(evaluated, { output: context.output, done: evaluation, held })
  },

  show: result => showEvaluation(result as Evaluation),
})

/** Why no stack can be held alive here; undefined where it can be, or is anyhow. */
function holdRefused({ kernel: { identity }, kernelName, leases }: KernelContext): Failed | undefined {
  const { abilities, language } = identity
  const holds = abilities.has('hold') || (abilities.has('suspend') && termsOf(identity).suspendsAlive)
  if (holds && leases.leaseMs !== null) return undefined
  const why = holds
    ? 'this client is shown no tool to go on from an error with'
    : `${kernelName} (${identity.implementation}) cannot hold an evaluation alive where an error is raised`
  return failed('invalid_args', {
    message: `on_error is hold, and ${why}. Nothing was run.`,
    details: { parameter: 'on_error', language },
    next: 'Leave on_error out: an error is told with its frames all the same, and suspended where it can be.',
  })
}

export function evaluation(done: Done, text: Printed): Evaluation {
  const { values, elapsed_ms, diagnostics } = done
  const first = values[0]
  const { handle, preview } = first ?? {}
  return {
    value_repr: first?.repr.text ?? null,
    values,
    ...text,
    truncated: text.truncated || values.some(value => value.repr.truncated),
    ...diagnosed(diagnostics),
    elapsed_ms,
    ...inForce(done),
    ...(preview !== undefined && { preview }),
    ...(handle !== undefined && { handle, next: `inspect ${handle}` }),
  }
}

/**
 * Values first: what is printed below them is the program's own text, and could say anything. Between the two stands
 * what a tool has to say besides.
 */
export function showEvaluation(result: Evaluation, besides: readonly string[] = []): string {
  const { values, elapsed_ms } = result
  // `truncated` is of the whole result, and a value that was cut says so itself.
  const truncated = result.truncated && !values.some(value => value.repr.truncated)
  const shown = values.length === 0 ? [`no value, ${duration(elapsed_ms)}`] : values.flatMap(showValue)
  const said = [...showDiagnosed(result), ...showInForce(result)]
  return [...shown, ...besides, ...said, ...showPrinted({ ...result, truncated })].join('\n')
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
