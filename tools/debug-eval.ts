import { z } from 'zod'
import { proposed, stoppedAt } from './debug-plans.ts'
import { defineTool, type KernelContext } from './define.ts'
import { type Evaluation, evaluation, showEvaluation } from './evaluate.ts'
import { orElsewhere } from './ids.ts'
import type { Outcome } from './outcome.ts'
import { runWork } from './run-work.ts'
import { SOURCE_LENGTH } from './source.ts'
import { FRAME, heldByOther, listing, SUSPENSION, suspensionMeant } from './suspended.ts'
import { workOutcome } from './work-outcome.ts'

export const debugEval = defineTool({
  name: 'debug_eval',
  description:
    'Run code in a frame of an evaluation that an error has suspended, where it sees that frame’s variables and, as ' +
    'far as the language lets it, can set them. The evaluation stays suspended. Use it to find out why the error ' +
    'happened, or to mend data before debug_restart has it go on; an error in this code is suspended in turn, one ' +
    'level deeper. To look only use debug_frame, which runs nothing; for code that needs no frame use eval_expr.',
  parameters: {
    suspension: SUSPENSION,
    frame: FRAME.default(0),
    expr: z.string().min(1).max(SOURCE_LENGTH).describe('Source text, in the language of the image.'),
  },
  parameterAliases: { form: 'expr' },
  level: 'cautious',
  profile: 'live',
  categories: ['debugging', 'execution'],
  needs: ['suspend', 'suspensions', 'suspension'],
  onlyLiving: true,
  examples: [
    { args: { expr: 'len(order.lines)' }, shows: 'a value, where the last error happened' },
    { args: { suspension: 's3', frame: 2, expr: '(setf rate 3)' }, shows: 'a variable of a Lisp frame set' },
  ],

  // A person approves the code itself, and is told where it would run.
  preview: ({ expr, frame }) => ({ title: `Run this code in frame ${frame}`, body: expr }),

  plan: ({ suspension, frame, expr }, context) =>
    proposed(context, async image => {
      const at = await stoppedAt({ given: suspension, frame }, image)
      if (at.type === 'failed') return at
      return { title: `Run this code in ${at.frame} of ${at.stopped}`, body: expr, what: at.id }
    }),

  async handler({ suspension: given, frame, expr }, context) {
    const meant = await suspensionMeant(given, context)
    const evaluated =
      meant.type === 'failed' ? meant : await evaluatedIn({ suspension: meant.id, frame, expr }, context)
    return orElsewhere(evaluated, { given, look: 'suspensions' }, context)
  },

  show(result) {
    const { acted_on, frame, ...evaluated } = result as EvaluationInFrame
    return showEvaluation(evaluated, [`in ${acted_on}, frame ${frame}`])
  },
})

/** What code came to in a frame. */
interface EvaluationInFrame extends Evaluation {
  /** The suspension that the frame is of. */
  readonly acted_on: string
  readonly frame: number
}

interface InFrame {
  readonly suspension: string
  readonly frame: number
  readonly expr: string
}

async function evaluatedIn(
  { suspension, frame, expr }: InFrame,
  context: KernelContext,
): Promise<Outcome<EvaluationInFrame>> {
  const refused = heldByOther(suspension, context)
  if (refused !== undefined) return refused
  const evaluated = await runWork({ type: 'frame', suspension, frame, source: expr }, context)
  return workOutcome(evaluated, {
    output: context.output,
    done: (done, text) => ({ ...evaluation(done, text), acted_on: suspension, frame }),
    details: { acted_on: suspension },
    refused: listing(suspension),
  })
}
