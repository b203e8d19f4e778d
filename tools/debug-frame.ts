import type { FrameLocal, FrameQuery, SuspendedFrame } from '../wire/kernel.ts'
import { defineTool, type KernelContext } from './define.ts'
import { dataSize, fitting } from './fit.ts'
import { orElsewhere } from './ids.ts'
import type { Told } from './languages.ts'
import { lookUp } from './looked.ts'
import { counted } from './naming.ts'
import { type Outcome, ok } from './outcome.ts'
import { aSuspension, FRAME, SUSPENSION, suspensionMeant } from './suspended.ts'
import { backtrace } from './suspension-text.ts'
import { cutNote, indent, oneLine } from './wording.ts'

/** What `debug_frame` answers with. */
export interface DebugFrame extends SuspendedFrame, Told {
  readonly suspension: string
}

export const debugFrame = defineTool({
  name: 'debug_frame',
  description:
    'Show one frame of an evaluation that an error has suspended: its call, the source around the place where it ' +
    'stands, and its arguments and local variables with handles that inspect accepts, and what can be done there. ' +
    'Runs no code. The numbers of frames are in debug_state. To calculate with the variables, or to set one, use ' +
    'debug_eval; to return from the frame, or to call its function again, use debug_restart.',
  parameters: { suspension: SUSPENSION, frame: FRAME.default(0) },
  level: 'safe',
  profile: 'live',
  categories: ['debugging'],
  needs: ['suspensions', 'frame'],
  onlyLiving: true,
  examples: [
    { args: {}, shows: 'the place where the last error happened, with its variables' },
    { args: { suspension: 's3', frame: 4 }, shows: 'an outer frame' },
  ],

  async handler({ suspension: given, frame }, context) {
    const meant = await suspensionMeant(given, context, 'look')
    const shown = meant.type === 'failed' ? meant : await frameOf({ suspension: meant.id, frame }, context)
    return orElsewhere(shown, { given, look: 'suspensions' }, context)
  },

  show: result => showFrame(result as DebugFrame),
})

async function frameOf(query: FrameQuery, context: KernelContext): Promise<Outcome<DebugFrame>> {
  const { suspension } = query
  const looked = await lookUp({ look: 'frame', query, words: aSuspension(suspension, context) }, context)
  if (looked.type === 'failed') return looked
  const { locals: found, locals_omitted, ...rest } = looked.result
  const locals = fitting(found, dataSize)
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
