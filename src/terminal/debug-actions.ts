import type { DebugFrame } from '../../tools/debug-frame.ts'
import type { DebugState } from '../../tools/debug-state.ts'
import { WAIT_SECONDS } from '../front/image.ts'
import type { SuspendedRow } from '../front/protocol.ts'
import type { Context } from './colon.ts'
import { forPerson } from './debug-words.ts'
import { frameSpans, stateSpans } from './suspension-spans.ts'
import type { Named } from './suspensions.ts'

/** What the commands about suspended evaluations and tracepoints do. */

/** How many frames of a stack are shown at once. */
const FRAMES = 40

const DEBUG_USAGE = 'It is :debug [ID] [FROM]: from that frame on, 40 are shown.'

/** The kernel that is spoken to. */
export async function kernelHere({ image }: Context): Promise<string> {
  return image.kernel ?? (await image.row())?.name ?? ''
}

const currentOf = ({ suspended, image }: Context): Named | undefined => suspended.current(image.kernel)

/** The frame that is looked at. */
export function here(context: Context): number {
  const current = currentOf(context)
  return current === undefined ? 0 : context.suspended.frame(current)
}

/** Where none is known here, the daemon takes the caller's newest. */
function argumentsOf(named: Named | undefined, { image }: Context): Readonly<Record<string, unknown>> {
  if (named !== undefined) return { suspension: named.id, kernel: named.kernel }
  return image.kernel === undefined ? {} : { kernel: image.kernel }
}

/** Has code run in it, or has it go on, and shows what that came to. */
export async function act(
  tool: string,
  args: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<void> {
  const { running, suspended, say } = context
  const current = currentOf(context)
  // The newest of the same person may be a shell's, of which nothing was shown here.
  if (current === undefined)
    return say('Nothing of this console is suspended. :suspended lists what is; :debug ID turns to it.')
  // With more than one, which is meant is not to be guessed.
  const several = suspended.mine.filter(one => one.kernel === current.kernel).length > 1
  if (several && args.leave !== true)
    say(`${current.id}${tool === 'debug_eval' ? `, frame ${here(context)}` : ''}:`)
  const called = { ...argumentsOf(current, context), patience: WAIT_SECONDS, ...args }
  const call = () => running.call(tool, called)
  const envelope = await (tool === 'debug_restart' ? suspended.doing(current.id, call) : call())
  if (envelope?.ok === false && envelope.error.code === 'not_found') await forgetGone(current, context)
  await running.ended(envelope && forPerson(envelope))
}

/** It may be a restart that is not there, and not the suspension. */
async function forgetGone({ id }: Named, { image, suspended }: Context): Promise<void> {
  const { suspensions } = await image.request('suspensions', {})
  if (!suspensions.some(row => row.id === id)) suspended.forget(id)
}

/** Calls a tool in the kernel that is spoken to, and shows its answer. Nothing of what is suspended changes by it. */
export async function show(
  tool: string,
  args: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<void> {
  const { running, showing } = context
  const envelope = await running.call(tool, { ...argumentsOf(undefined, context), ...args })
  if (envelope !== undefined) await showing.tool(tool, forPerson(envelope))
}

/** `:debug [ID] [FROM]`: shows restarts and frames of what is meant, which later commands are about from then on. */
export async function showState(operand: string, context: Context): Promise<void> {
  const { running, showing, suspended, say } = context
  const [first = '', second = ''] = words(operand)
  const from = /^\d+$/.test(first) ? first : second
  if ((from === first && second !== '') || !/^\d*$/.test(from)) return say(DEBUG_USAGE)
  const row = first === '' || first === from ? undefined : await rowNamed(first, context)
  if (row === undefined && first !== from) return
  const meant = row ?? currentOf(context)
  const args = { ...argumentsOf(meant, context), count: FRAMES, ...(from !== '' && { from: Number(from) }) }
  const envelope = await running.call('debug_state', args)
  if (envelope === undefined) return
  if (!envelope.ok) {
    if (meant !== undefined) await forgetGone(meant, context)
    return showing.tool('debug_state', forPerson(envelope))
  }
  const state = envelope.result as DebugState
  const named = { id: state.suspension.id, kernel: meant?.kernel ?? (await kernelHere(context)) }
  suspended.choose(named)
  await showing.page(named.id, stateSpans(state, suspended.frame(named)))
}

/** Shows the frame that is `count` further out than the one that is looked at; further in where it is negative. */
export async function moveBy(count: number, context: Context): Promise<void> {
  const at = here(context)
  if (at + count < 0) return context.say('That is the innermost frame.')
  await showFrame(at + count, context)
}

/** Shows a frame, 0 the innermost, which is the one that is looked at from then on. Left out: shows that one anew. */
export async function showFrame(wanted: number | undefined, context: Context): Promise<void> {
  const { running, showing, suspended, spoken } = context
  const current = currentOf(context)
  const frame = wanted ?? here(context)
  const envelope = await running.call('debug_frame', { ...argumentsOf(current, context), frame })
  if (envelope === undefined) return
  if (!envelope.ok) return showing.tool('debug_frame', forPerson(envelope))
  const shown = envelope.result as DebugFrame
  const named = current ?? { id: shown.suspension, kernel: await kernelHere(context) }
  suspended.choose(named)
  suspended.lookAt(named, shown.number)
  await showing.page(`frame ${shown.number}`, frameSpans(shown, spoken.language))
}

/** Gives up the one of that id, or of its beginning. */
export async function leaveNamed(id: string, context: Context): Promise<void> {
  const row = await rowNamed(id, context)
  if (row === undefined) return
  context.suspended.choose(row)
  await act('debug_restart', { leave: true }, context)
}

/** Gives up all of this console’s in the kernel that is spoken to. */
export async function leaveAll({ suspended, image, say }: Context): Promise<void> {
  const mine = suspended.mine.filter(one => one.kernel === image.kernel)
  await suspended.leave(image, mine)
  say(
    mine.length === 0
      ? 'Nothing of this console is suspended here. :suspended lists what is.'
      : `Given up: ${mine.map(one => one.id).join(', ')}`,
  )
}

/** The one of that id, or of its beginning; in the kernel that is spoken to where several begin so. */
export async function rowNamed(given: string, { image, say }: Context): Promise<SuspendedRow | undefined> {
  if (given === '') return void say('Which one? :suspended lists them.')
  const { suspensions } = await image.request('suspensions', {})
  const found = suspensions.filter(({ id }) => id === given || id.startsWith(`${given}@`))
  const row =
    found.find(({ kernel }) => kernel === image.kernel) ?? (found.length === 1 ? found[0] : undefined)
  if (row !== undefined) return row
  const ids = found.map(({ id }) => id).join(', ')
  say(ids === '' ? `Nothing is suspended as ${given}. :suspended lists what is.` : `Which one: ${ids}?`)
  return undefined
}

/** The first word, and all the rest. */
export const words = (text: string): string[] => /^(\S*)\s*([\s\S]*)$/.exec(text.trim())?.slice(1) ?? []
