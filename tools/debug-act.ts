import { z } from 'zod'
import { loaded, type Of, suspension, type WayOn } from '../wire/kernel.ts'
import type { KernelContext } from './contract.ts'
import { defineTool } from './define.ts'
import { evaluation, evaluationAnswer, showEvaluation } from './evaluate.ts'
import {
  type Done,
  holdRefused,
  lookingBack,
  ON_ERROR,
  type OnError,
  type PrintedOutput,
  printed,
  printedOutput,
  runSuspended,
  showPrinted,
  workOutcome,
} from './execution.ts'
import { type Told, termsOf } from './languages.ts'
import { loadedLines } from './load.ts'
import { lookUp, orElsewhere } from './look.ts'
import { type Failed, failed, type Outcome, ok } from './outcome.ts'
import { SOURCE_LENGTH } from './parameters.ts'
import { conditionLine, type NumberedRestart, numbered, restartText } from './suspension-text.ts'
import {
  FRAME,
  listing,
  proposed,
  SUSPENSION,
  type SuspensionContext,
  type SuspensionPlan,
  type SuspensionState,
  stoppedAt,
  stoppedOf,
  suspensionMeant,
} from './suspensions.ts'
import { duration, oneLine } from './text.ts'

/** What code came to in a frame. */
const inFrameAnswer = z.object({
  ...evaluationAnswer.shape,
  /** The suspension that the frame is of. */
  acted_on: z.string(),
  frame: z.number(),
})

export const debugEval = defineTool({
  name: 'debug_eval',
  description:
    'Run code in a frame of a suspended evaluation: it sees the variables of the frame and, where the language lets ' +
    'it, sets them. The evaluation stays suspended. Use it to find the cause, or to mend data before debug_restart.',
  parameters: {
    suspension: SUSPENSION,
    frame: FRAME.default(0),
    expr: z.string().min(1).max(SOURCE_LENGTH).describe('Source text, in the language of the image.'),
    on_error: z
      .enum(ON_ERROR)
      .default('end')
      .describe(
        'What an error in this code does: `suspend` and `hold` suspend it in turn, one level deeper.',
      ),
  },
  level: 'cautious',
  profile: 'live',
  categories: ['debugging', 'execution'],
  needs: ['suspend', 'suspensions', 'suspension'],
  multiline: ['expr'],
  result: inFrameAnswer,
  examples: [
    { args: { expr: 'len(order.lines)' }, shows: 'a value, where the last error happened' },
    { args: { suspension: 's3', frame: 2, expr: '(setf rate 3)' }, shows: 'a variable of a Lisp frame set' },
  ],

  // A person approves the code itself, and is told where it would run.
  preview: ({ expr, frame }) => ({ title: `Run this code in frame ${frame}`, body: expr }),

  plan: ({ suspension, frame, expr }, context) =>
    proposed(context, async image => {
      const at = await stoppedAt({ given: suspension, frame, parameter: 'frame', to: 'evaluate' }, image)
      if (at.type === 'failed') return at
      return { title: `Run this code in ${at.frame} of ${at.stopped}`, body: expr, what: at.id }
    }),

  async handler({ suspension: given, frame, expr, on_error: onError }, context) {
    const refused = holdRefused(onError, context)
    if (refused !== undefined) return refused
    const meant = await suspensionMeant(given, context, 'evaluate')
    const evaluated =
      meant.type === 'failed'
        ? meant
        : await evaluatedIn({ suspension: meant.id, frame, expr, onError }, context)
    return orElsewhere(evaluated, { given, look: 'suspensions' }, context)
  },

  show({ acted_on, frame, ...evaluated }) {
    return showEvaluation(evaluated, [`in ${acted_on}, frame ${frame}`])
  },
})

interface InFrame {
  readonly suspension: string
  readonly frame: number
  readonly expr: string
  readonly onError: OnError
}

async function evaluatedIn(
  { suspension, frame, expr, onError }: InFrame,
  context: KernelContext,
): Promise<Outcome<Of<typeof inFrameAnswer>>> {
  const evaluated = await runSuspended({ type: 'frame', suspension, frame, source: expr }, context, onError)
  if (evaluated.type === 'failed') return evaluated
  return workOutcome(evaluated, {
    output: context.output,
    done: (done, text) => ({ ...evaluation(done, text), acted_on: suspension, frame }),
    details: { acted_on: suspension },
    raised: lookingBack(context, `${oneLine(suspension)} waits as before`),
    held: onError === 'hold',
    refused: listing(suspension),
  })
}

/** What the evaluation came to in the end: its values, as of `eval_expr`, and what it has loaded. */
const resumeAnswer = z.object({
  ...evaluationAnswer.shape,
  /** The suspension that went on. */
  acted_on: z.string(),
  /** It was an error of a person's own, whose value is shown where they had called. */
  returned_to_owner: z.literal(true).exactOptional(),
  loaded: loaded.exactOptional(),
})
type ResumeAnswer = Of<typeof resumeAnswer>

/** It was given up, or left by a restart that leads to the top level: it has no value. */
const leftAnswer = z.object({
  ...printedOutput.shape,
  status: z.literal('left'),
  acted_on: z.string(),
  message: z.string(),
  /** What is the caller's newest now; null where nothing of theirs is suspended any more. Left out: not known. */
  newest: suspension.pick({ id: true, level: true, type: true, message: true }).nullable().exactOptional(),
  elapsed_ms: z.number(),
})
export type Left = Of<typeof leftAnswer>

export const debugRestart = defineTool({
  name: 'debug_restart',
  description:
    'Resume a suspended evaluation in exactly one of four ways: take a restart, return a value from a frame, ' +
    'call the function of a frame again, or leave, which gives it up. If a function is wrong, define it anew ' +
    'first: what goes on calls the new one. Answers as eval_expr does.',
  parameters: {
    suspension: SUSPENSION,
    restart: z
      .union([z.string().min(1).max(200), z.int().min(0)])
      .optional()
      .describe('A restart by its number or its name, such as `0` or `use-value`; of a name, the innermost.'),
    return_from: FRAME.optional().describe('The number of a frame that is to return `value` to its caller.'),
    restart_frame: FRAME.optional().describe(
      'The number of a frame whose function is called again, with the same arguments.',
    ),
    leave: z.boolean().optional().describe('Give it up: to the top level, without a value.'),
    value: z
      .string()
      .min(1)
      .max(SOURCE_LENGTH)
      .optional()
      .describe('Code whose values a restart is given that takes some, or that a frame returns.'),
  },
  level: 'cautious',
  profile: 'live',
  categories: ['debugging', 'execution'],
  needs: ['suspend', 'suspensions', 'suspension'],
  result: z.union([resumeAnswer, leftAnswer]),
  examples: [
    { args: { restart: 'use-value', value: '42' }, shows: 'a restart by its name, with a value' },
    { args: { suspension: 's3', restart: '1' }, shows: 'a restart by its number' },
    { args: { restart_frame: 2 }, shows: 'a function that was mended, called again' },
    { args: { return_from: 1, value: '(list)' }, shows: 'a frame that returns a value of yours' },
    { args: { leave: true }, shows: 'an evaluation that is not wanted any more' },
  ],

  preview: args => ({ title: 'Resume a suspended evaluation', body: JSON.stringify(args, null, 2) }),

  // A number means what was shown under it, and nothing else.
  plan: ({ suspension, value, ...ways }, context) =>
    proposed(context, async image => {
      const wanted = wantedOf({ ...ways, value })
      if (wanted.type === 'failed') return wanted
      return previewOf(wanted, { given: suspension, value, image })
    }),

  async handler({ suspension: given, value, ...ways }, context) {
    const wanted = wantedOf({ ...ways, value })
    if (wanted.type === 'failed') return wanted
    const found = await resolved(wanted, { given, value }, context)
    if (found.type === 'resolved' && found.reads === true && value === undefined && !context.canAsk)
      return takesValue(ways.restart)
    const outcome = found.type === 'failed' ? found : await wentOn(found, context)
    return orElsewhere(outcome, { given, look: 'suspensions' }, context)
  },

  show: showResumed,
})

async function wentOn(
  { suspension, way, adopted }: Resumption,
  context: KernelContext,
): Promise<Outcome<ResumeAnswer | Left>> {
  // Somebody has had it suspended once, and is not asked again.
  const evaluated = await runSuspended({ type: 'resume', suspension, way }, context, 'suspend')
  if (evaluated.type === 'failed') return evaluated
  const { output } = context
  const parts = {
    output,
    details: { acted_on: suspension },
    raised: lookingBack(context),
    refused: listing(suspension),
  }
  if (evaluated.type !== 'left')
    return workOutcome(evaluated, {
      ...parts,
      done: (done, text) => ({
        ...resumed(done, text),
        acted_on: suspension,
        ...(adopted === true && done.values.length === 0 && { returned_to_owner: true as const }),
      }),
    })
  const { message, elapsed_ms } = evaluated
  const text = printed(output.soFar())
  const newest = await newestNow(suspension, context)
  return ok<Left>({ status: 'left', acted_on: suspension, message, ...newest, ...text, elapsed_ms })
}

/** What the caller is at, now that this one has ended. */
async function newestNow(left: string, context: KernelContext): Promise<Pick<Left, 'newest'>> {
  const looked = await lookUp({ look: 'suspensions', query: {} }, context)
  if (looked.type === 'failed') return {}
  const { leases } = context
  const found = looked.result.suspensions.find(
    ({ id, within }) => id !== left && within !== left && leases.ownershipOf(id)?.type === 'you',
  )
  if (found === undefined) return { newest: null }
  const { id, level, type, message } = found
  return { newest: { id, level, type, message } }
}

/** The one way that the arguments name. */
type Way =
  | { readonly type: 'restart'; readonly name: string }
  | { readonly type: 'return'; readonly frame: number; readonly value: string }
  | { readonly type: 'again'; readonly frame: number }
  | { readonly type: 'leave' }

interface Ways {
  readonly restart?: string | number | undefined
  readonly return_from?: number | undefined
  readonly restart_frame?: number | undefined
  readonly leave?: boolean | undefined
  readonly value?: string | undefined
}

function wantedOf(ways: Ways): Way | Failed {
  const { restart, return_from: from, restart_frame: again, leave, value } = ways
  const all: Way[] = []
  if (restart !== undefined) all.push({ type: 'restart', name: String(restart) })
  if (from !== undefined) all.push({ type: 'return', frame: from, value: value ?? '' })
  if (again !== undefined) all.push({ type: 'again', frame: again })
  if (leave === true) all.push({ type: 'leave' })
  const [wanted] = all
  if (wanted === undefined || all.length > 1)
    return wrong(
      `${all.length === 0 ? 'None of restart, return_from, restart_frame and leave was' : `${all.length} of restart, return_from, restart_frame and leave were`} given; it goes on in exactly one way.`,
    )
  if (wanted.type === 'return' && value === undefined)
    return wrong('return_from needs value: code whose values the frame returns.', 'value')
  if ((wanted.type === 'again' || wanted.type === 'leave') && value !== undefined)
    return wrong('value is for restart and return_from; nothing would be done with it here.', 'value')
  return wanted
}

/** It would ask for its values, and nobody who waits for this call could answer. */
const takesValue = (restart: string | number | undefined): Failed =>
  failed('invalid_args', {
    message: `The restart ${restart} takes a value, and none was given. Nothing was run.`,
    details: { parameter: 'value' },
    next: `Give value as well: code whose values it is given, such as debug_restart ${JSON.stringify({ restart, value: '42' })}.`,
  })

const wrong = (message: string, parameter?: string): Failed =>
  failed('invalid_args', {
    message: `${message} Nothing was run.`,
    ...(parameter !== undefined && { details: { parameter } }),
    next: 'debug_state shows the restarts and frames that there are.',
  })

interface Resumption {
  readonly type: 'resolved'
  readonly suspension: string
  readonly way: WayOn
  /** It is a restart that takes values. */
  readonly reads?: true
  /** It was not suspended by a call to Imago, but put before its callers by a person. */
  readonly adopted?: true
}

/** The suspension, and how it is to go on, with the restart by its number. */
async function resolved(
  wanted: Way,
  { given, value }: { readonly given: string | undefined; readonly value: string | undefined },
  context: SuspensionContext,
): Promise<Resumption | Failed> {
  if (wanted.type !== 'restart') {
    const meant = await suspensionMeant(given, context)
    return meant.type === 'failed' ? meant : { type: 'resolved', suspension: meant.id, way: wanted }
  }
  const found = await stoppedOf({ given, frame: 0, parameter: 'suspension' }, context)
  if (found.type === 'failed') return found
  const { id: suspension, state } = found
  const restart = restartMeant(wanted.name, { suspension, state })
  if ('type' in restart) return restart
  const way = { type: 'restart', restart: restart.number, ...(value !== undefined && { value }) } as const
  return {
    type: 'resolved',
    suspension,
    way,
    ...(restart.reads === true && { reads: true }),
    ...(state.suspension.call === null && { adopted: true }),
  }
}

/** The restart of that number, or the innermost of that name, in whatever case and however it is quoted. */
function restartMeant(
  given: string,
  { suspension, state }: { readonly suspension: string; readonly state: SuspensionState['state'] },
): NumberedRestart | Failed {
  const restarts = numbered(state.restarts)
  const plain = given
    .trim()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^:/, '')
    .toLowerCase()
  const found = /^\d+$/.test(plain)
    ? restarts[Number(plain)]
    : restarts.find(({ name }) => name.toLowerCase() === plain)
  if (found !== undefined) return found
  const there = restarts.map(restart => restartText(restart)).join('\n')
  return failed('not_found', {
    message: `${suspension} has no restart ${JSON.stringify(given)}. ${there === '' ? 'It has none. ' : `It has:\n${there}\n`}Nothing was run.`,
    details: { what: given, nearest: restarts.map(({ name }) => name), restarts },
    next: otherWays(restarts, state),
  })
}

/** Frames can return, or be called again, in some languages only. */
function otherWays(restarts: readonly NumberedRestart[], told: Told): string {
  const frames = termsOf(told).framesReturn
  if (restarts.length > 0)
    return `Give one of those by its number or name, or use ${frames ? 'return_from, restart_frame or ' : ''}leave.`
  return `leave gives it up${frames ? '; debug_state shows whether a frame can return or be called again' : ''}.`
}

/** What is shown to a person: which evaluation, why it stopped, and the way on with all that it means. */
async function previewOf(
  wanted: Way,
  {
    given,
    value,
    image,
  }: {
    readonly given: string | undefined
    readonly value: string | undefined
    readonly image: SuspensionContext
  },
): Promise<SuspensionPlan | Failed> {
  const code = value === undefined ? '' : `\nwith the values of this code:\n${value}`
  if (wanted.type === 'restart' || wanted.type === 'leave') {
    const found = await stoppedOf({ given, frame: 0, parameter: 'suspension' }, image)
    if (found.type === 'failed') return found
    const { id, state, stopped } = found
    if (wanted.type === 'leave')
      return { title: `Give up ${stopped}`, body: 'It leaves to the top level, without a value.', what: id }
    const restart = restartMeant(wanted.name, { suspension: id, state })
    if ('type' in restart) return restart
    return {
      title: `Resume ${stopped}, by the restart ${restart.name}`,
      body: `restart ${restartText(restart)}${code}`,
      what: id,
    }
  }
  const parameter = wanted.type === 'return' ? 'return_from' : 'restart_frame'
  const at = await stoppedAt({ given, frame: wanted.frame, parameter }, image)
  if (at.type === 'failed') return at
  const does =
    wanted.type === 'return'
      ? `${at.frame} returns to its caller`
      : `the function of ${at.frame} is called again, with the same arguments`
  return {
    title: `Resume ${at.stopped}: ${wanted.type === 'return' ? 'return from' : 'call again'} ${at.frame}`,
    body: `${does}${code}`,
    what: at.id,
  }
}

function resumed(done: Done, text: PrintedOutput): Omit<ResumeAnswer, 'acted_on'> {
  const { loaded } = done
  return { ...evaluation(done, text), ...(loaded !== undefined && { loaded }) }
}

/** The values, or that there are none, and which suspension it was. */
function showResumed(result: ResumeAnswer | Left): string {
  if ('status' in result) return showLeft(result)
  const { loaded, elapsed_ms, acted_on, returned_to_owner } = result
  const lines = loaded === undefined ? [] : loadedLines(loaded, elapsed_ms)
  if (returned_to_owner === true)
    return [
      `${acted_on} goes on where its owner had called it; what it comes to is shown there, not here`,
      ...showPrinted(result),
    ].join('\n')
  return [...lines, showEvaluation(result, [`${acted_on} has gone on, and ended`])].join('\n')
}

function showLeft(left: Left): string {
  const { acted_on, message, newest, elapsed_ms } = left
  return [
    `left ${acted_on} (${duration(elapsed_ms)}): ${oneLine(message)}`,
    ...newestLine(newest),
    ...showPrinted(left),
  ].join('\n')
}

function newestLine(newest: Left['newest']): string[] {
  if (newest === undefined) return []
  if (newest === null) return ['nothing of yours is suspended here now']
  const level = newest.level === 1 ? '' : `, level ${newest.level}`
  return [`your newest is now ${newest.id}${level}: ${oneLine(conditionLine(newest))}`]
}
