import { z } from 'zod'
import {
  type FrameLocal,
  type FrameQuery,
  LOOKS,
  type Of,
  type SuspendedFrame,
  type Suspension,
  suspension,
} from '../wire/kernel.ts'
import type { KernelContext, Ownership } from './contract.ts'
import { defineTool } from './define.ts'
import { type Told, termsOf } from './languages.ts'
import { lookUp, orElsewhere } from './look.ts'
import { type Outcome, ok } from './outcome.ts'
import { framesProved } from './proof.ts'
import { expiring, numberedRestart, ownership } from './shapes.ts'
import { backtrace, conditionLine, numbered, restartChoices, suspensionLine } from './suspension-text.ts'
import { aSuspension, FRAME, type Meant, ownerWords, SUSPENSION, suspensionMeant } from './suspensions.ts'
import { counted, cutNote, dataTokens, fitting, indent, oneLine, setIn } from './text.ts'

const otherSuspension = z.object({
  ...suspension.pick({ id: true, how: true, who: true, within: true, type: true, message: true }).shape,
  holder: ownership,
})

/** What `debug_state` answers with. */
const debugStateAnswer = z.object({
  ...LOOKS.suspension.found.shape,
  suspension: expiring,
  holder: ownership,
  /** The number is that under which one is taken. */
  restarts: z.array(numberedRestart),
  /** No frames are folded in its text. */
  all: z.boolean().exactOptional(),
  /** What else is suspended in the image, newest first; only where no suspension was named. */
  others: z.array(otherSuspension).exactOptional(),
})
export type DebugState = Of<typeof debugStateAnswer> & Told

export const debugState = defineTool({
  name: 'debug_state',
  description:
    'Show an evaluation that an error has suspended: the error, its restarts (the ways to go on) with their ' +
    'numbers, and its stack. Use it when an answer says that something is suspended; for other errors use ' +
    'get_last_error. Runs no code.',
  parameters: {
    suspension: SUSPENSION,
    from: z.int().min(0).max(1_000_000).default(0).describe('The first frame that is shown.'),
    limit: z.int().min(1).max(200).default(20).describe('How many frames are shown at most.'),
    all: z
      .boolean()
      .default(false)
      .describe('Show each frame of a library, too, rather than a line for several.'),
  },
  level: 'safe',
  profile: 'live',
  categories: ['debugging'],
  needs: ['suspensions', 'suspension'],
  result: debugStateAnswer,
  examples: [
    { args: {}, shows: 'what was suspended last, with its restarts and innermost frames' },
    { args: { suspension: 's3', from: 20 }, shows: 'the next frames of a deep stack' },
  ],

  async handler({ suspension: given, from, limit: count, all }, context) {
    const meant = await suspensionMeant(given, context, 'look')
    const state = meant.type === 'failed' ? meant : await stateOf(meant, { from, count }, context)
    const opened = all && state.type === 'ok' ? ok({ ...state.result, all }) : state
    return orElsewhere(opened, { given, look: 'suspensions' }, context)
  },

  show: showState,
})

async function stateOf(
  { id: suspension, all }: Meant,
  page: { readonly from: number; readonly count: number },
  context: KernelContext,
): Promise<Outcome<DebugState>> {
  const words = aSuspension(suspension, context, 'from')
  const looked = await lookUp({ look: 'suspension', query: { suspension, ...page }, words }, context)
  if (looked.type === 'failed') return looked
  const { leases } = context
  leases.looked(suspension)
  const { frames: found, next, restarts, ...state } = looked.result
  const frames = fitting(await framesProved(found, context), dataTokens)
  const last = frames.at(-1)
  return ok<DebugState>({
    ...state,
    suspension: { ...state.suspension, expires_in_ms: leases.expiresInMs(suspension) },
    holder: leases.ownershipOf(suspension) ?? NOBODY,
    restarts: numbered(restarts),
    frames,
    next: frames.length < found.length && last !== undefined ? last.number + 1 : next,
    ...othersOf(suspension, all, context),
  })
}

/** One that this daemon has not seen stop. */
const NOBODY: Ownership = { type: 'other', who: 'nobody here', person: false }

function othersOf(shown: string, all: readonly Suspension[] | undefined, { leases }: KernelContext) {
  const others = all?.filter(({ id }) => id !== shown) ?? []
  if (others.length === 0) return {}
  return {
    others: others.map(({ id, how, who, within, type, message }) => ({
      id,
      how,
      who,
      within,
      type,
      message,
      holder: leases.ownershipOf(id) ?? NOBODY,
    })),
  }
}

function showState(state: DebugState): string {
  const { suspension, holder, restarts, others = [] } = state
  const { who, at, busy, leaving } = suspension
  return [
    setIn(conditionLine(suspension)),
    suspensionLine(suspension),
    `since ${at}, asked for by ${oneLine(who)}; it ${ownerWords(holder)}`,
    ...(leaving !== undefined
      ? [leaving]
      : busy
        ? ['code runs in it at this moment; nothing else can be asked of it until that has ended']
        : []),
    ...(restarts.length === 0
      ? [noRestarts(state)]
      : ['restarts, for debug_restart:', ...restartChoices(restarts)]),
    ...stackOf(state),
    ...others.map(otherLine),
  ].join('\n')
}

/** Where there are no frames either, it looks as if there was nothing to be done. */
function noRestarts({ suspension: { id, how }, frames_total: total }: DebugState): string {
  if (total !== 0) return 'no restarts'
  const inside = how === 'held' ? 'debug_eval runs code in it all the same, and ' : ''
  return `no restarts; ${inside}debug_restart ${JSON.stringify({ suspension: id, leave: true })} gives it up`
}

/** The page of the stack, and how to get the next one. */
function stackOf(state: DebugState): string[] {
  const { frames, next, frames_total: total, all = false } = state
  const [first, last] = [frames[0], frames.at(-1)]
  if (first === undefined || last === undefined)
    return [
      total === null || total === 0 ? 'no frames of the program’s' : `no frames there; there are ${total}`,
    ]
  const order = termsOf(state).innermostFirst ? 'innermost first' : 'innermost last'
  const whole = first.number === 0 && next === null
  const page = whole ? '' : ` ${first.number} to ${last.number}${total === null ? '' : ` of ${total}`}`
  const more = next === null ? '' : `; for more: from ${next}`
  const opened = all ? undefined : 'debug_state {"all": true}'
  return [`frames${page}, ${order}${more}:`, ...backtrace(frames, state, opened)]
}

function otherLine({ id, within, who, holder, ...error }: Of<typeof otherSuspension>): string {
  const nested = within === null ? '' : `, within ${oneLine(within)}`
  return `also suspended: ${oneLine(id)}${nested}, which ${ownerWords(holder)}, asked for by ${oneLine(who)}: ${oneLine(conditionLine(error))}`
}

/** What `debug_frame` answers with. */
const debugFrameAnswer = z.object({ ...LOOKS.frame.found.shape, suspension: z.string() })
export type DebugFrame = Of<typeof debugFrameAnswer> & Told

export const debugFrame = defineTool({
  name: 'debug_frame',
  description:
    'Show one frame of a suspended evaluation: its call, the source where it stands, its arguments and local ' +
    'variables. Runs no code. To calculate with the variables use debug_eval.',
  parameters: { suspension: SUSPENSION, frame: FRAME.default(0) },
  level: 'safe',
  profile: 'live',
  categories: ['debugging'],
  needs: ['suspensions', 'frame'],
  result: debugFrameAnswer,
  examples: [
    { args: {}, shows: 'the place where the last error happened, with its variables' },
    { args: { suspension: 's3', frame: 4 }, shows: 'an outer frame' },
  ],

  async handler({ suspension: given, frame }, context) {
    const meant = await suspensionMeant(given, context, 'look')
    const shown = meant.type === 'failed' ? meant : await frameOf({ suspension: meant.id, frame }, context)
    return orElsewhere(shown, { given, look: 'suspensions' }, context)
  },

  show: showFrame,
})

async function frameOf(
  { suspension, frame }: FrameQuery,
  context: KernelContext,
): Promise<Outcome<DebugFrame>> {
  const query = { suspension, frame }
  const looked = await lookUp({ look: 'frame', query, words: aSuspension(suspension, context) }, context)
  if (looked.type === 'failed') return looked
  context.leases.looked(suspension)
  const [proved = looked.result] = await framesProved([looked.result], context)
  const { locals: found, locals_omitted, ...rest } = proved
  const locals = fitting(found, dataTokens)
  return ok<DebugFrame>({
    suspension,
    ...rest,
    locals,
    locals_omitted: locals_omitted + found.length - locals.length,
  })
}

function showFrame(shown: DebugFrame): string {
  const { suspension, locals, locals_omitted, notes } = shown
  const more = locals_omitted === 0 ? [] : [indent(`and ${counted(locals_omitted, 'variable')} more`)]
  const none = locals.length === 0 && locals_omitted === 0
  return [
    `in ${oneLine(suspension)}, frame`,
    ...backtrace([shown.around === null ? shown : { ...shown, source: null }], shown),
    ...aroundLines(shown),
    ...(none ? ['no variables to be seen'] : ['variables:', ...locals.map(localLine), ...more]),
    canLine(shown),
    ...notes.map(note => `note: ${oneLine(note)}`),
  ].join('\n')
}

/** The lines around the place, numbered, the one where it stands with a mark. */
function aroundLines({ around, line }: SuspendedFrame): string[] {
  if (around === null) return []
  const { first_line, lines } = around
  const width = String(first_line + lines.length - 1).length
  return lines.map((text, index) => {
    const number = first_line + index
    return `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${oneLine(text.replaceAll('\t', '    '))}`
  })
}

/** `order (argument) = #<ORDER 3>  inspect @ab12.4` */
function localLine({ name, argument, value }: FrameLocal): string {
  const { repr, handle } = value
  const notes = [
    ...(repr.truncated ? [cutNote(repr)] : []),
    ...(repr.handle !== undefined && repr.truncated ? [`all of it: read_more ${repr.handle}`] : []),
    ...(handle === undefined ? [] : [`inspect ${handle}`]),
  ]
  const told = notes.length === 0 ? '' : `  (${notes.join(' · ')})`
  return indent(`${oneLine(name)}${argument ? ' (argument)' : ''} = ${oneLine(repr.text)}${told}`)
}

function canLine({ can, number }: DebugFrame): string {
  const ways = {
    evaluate: `debug_eval {"frame":${number}} runs code here`,
    return: `debug_restart {"return_from":${number}, "value":…} returns a value from it`,
    again: `debug_restart {"restart_frame":${number}} calls its function again`,
  }
  return can.length === 0 ? 'nothing can be done in this frame' : can.map(way => ways[way]).join('; ')
}
