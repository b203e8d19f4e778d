import { z } from 'zod'
import { type Of, shown } from '../wire/kernel.ts'
import type { KernelContext } from './contract.ts'
import { defineTool } from './define.ts'
import {
  type Done,
  diagnosed,
  holdRefused,
  IN_PACKAGE,
  inForce,
  insideWord,
  lookingBack,
  ON_ERROR,
  PLACED,
  type PrintedOutput,
  packageInForce,
  placeGiven,
  ranAnswer,
  runWork,
  showDiagnosed,
  showInForce,
  showPrinted,
  showValue,
  workOutcome,
} from './execution.ts'
import { packageRefused } from './outcome.ts'
import { SOURCE_LENGTH } from './parameters.ts'
import { namesOf, scopeOfCode } from './scope.ts'
import { duration } from './text.ts'

/** What an evaluation that ran to its end is answered with. */
export const evaluationAnswer = z.object({
  ...ranAnswer.shape,
  ...packageInForce.shape,
  /** The first value; null for a statement. */
  value_repr: z.string().nullable(),
  /** All values: none of a statement, one of an expression, any number of a Lisp form. */
  values: z.array(shown),
  /** Leads to the first value, and describes it in a line, where it is worth a closer look. */
  handle: z.string().exactOptional(),
  preview: z.string().exactOptional(),
  next: z.string().exactOptional(),
  /** The number by which the session keeps the value, where its language does so. */
  input_line: z.number().exactOptional(),
})
export type Evaluation = Of<typeof evaluationAnswer>

export const evalExpr = defineTool({
  name: 'eval_expr',
  aliases: ['eval_form'],
  description:
    'Run code in the live image: one expression or any statements, with top-level await. What it defines or ' +
    'changes stays. Answers with the value, what was printed, and the exception if one was raised. To understand ' +
    'a value, a function or a class use inspect, which runs nothing. Code that takes long goes on as a job that ' +
    'the answer names.',
  parameters: {
    expr: z.string().min(1).max(SOURCE_LENGTH).describe('Source text, in the language of the image.'),
    ...PLACED,
    package: IN_PACKAGE,
    on_error: z
      .enum(ON_ERROR)
      .optional()
      .describe(
        'An error ends the call (`end`), or suspends it for the debug_ tools: `suspend` keeps its frames, and in Lisp, ' +
          'where it is usual, the call itself; `hold` keeps the call in Python, too.',
      ),
  },
  // As Agent-Q writes it.
  level: 'cautious',
  profile: 'core',
  categories: ['execution'],
  needs: ['evaluate'],
  starts: true,
  multiline: ['expr'],
  result: evaluationAnswer,
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

  async handler({ expr, file, line, package: named, on_error: onError }, context) {
    const place = placeGiven({ file, line })
    if ('type' in place) return place
    const scope = await scopeOfCode({ file, package: named, line }, context)
    const { package: inside } = scope
    const refused = packageRefused(inside, context.kernel) ?? holdRefused(onError, context)
    if (refused !== undefined) return refused
    const read = inside === undefined ? {} : { package: inside }
    const evaluated = await runWork({ type: 'source', source: expr, ...place, ...read }, context, onError)
    const names = namesOf(scope, file)
    const parts = {
      output: context.output,
      done: (done: Done, text: PrintedOutput) => ({ ...evaluation(done, text), ...names }),
      details: names,
      held: onError === 'hold',
    }
    if (evaluated.type !== 'raised') return workOutcome(evaluated, parts)
    const raised = lookingBack(context, onError === undefined ? keepingOpen(context) : '')
    return workOutcome(evaluated, { ...parts, raised })
  },

  show: showEvaluation,
})

/** How the next error can be kept open, where none is unless that is asked for. */
function keepingOpen({ kernel: { identity } }: KernelContext): string {
  const asked = identity.abilities.has('suspend') && !identity.errorsSuspend
  return asked ? 'on_error: "suspend" keeps such an evaluation open' : ''
}

export function evaluation(done: Done, text: PrintedOutput): Evaluation {
  const { values, elapsed_ms, diagnostics, input_line } = done
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
    ...(input_line !== undefined && { input_line }),
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
