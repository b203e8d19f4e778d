import type { DebugFrame } from '../../../tools/debug-frame.ts'
import type { DebugState } from '../../../tools/debug-state.ts'
import { conditionLine } from '../../../tools/suspension-text.ts'
import { duration, oneLine } from '../../../tools/wording.ts'
import { WAIT_SECONDS } from '../image.ts'
import type { SuspendedRow } from '../protocol.ts'
import type { Command, Context } from './colon-table.ts'
import { plain } from './style.ts'
import type { Named } from './suspended.ts'
import { frameSpans, stateSpans, suspendedTable } from './suspension-spans.ts'
import { fitted } from './width.ts'

/** How many frames of a stack are shown at once. */
const FRAMES = 40

/** The commands about what an error has suspended, and about tracepoints. */
export const DEBUG_COMMANDS: readonly Command[] = [
  {
    name: 'debug',
    usage: '[ID] [FROM]',
    summary: 'what an error has suspended: its restarts and its stack',
    of: 'suspension',
    run: showState,
  },
  {
    name: 'frame',
    usage: '[N]',
    summary: 'a frame with its variables; from now on the one that is looked at',
    run: (operand, context) => showFrame(operand === '' ? undefined : Number(operand), context),
  },
  {
    name: 'up',
    usage: '[COUNT]',
    summary: 'the frame that called this one',
    run: (operand, context) => moveBy(Number(operand || 1), context),
  },
  {
    name: 'down',
    usage: '[COUNT]',
    summary: 'the frame that this one called',
    run: (operand, context) => moveBy(-Number(operand || 1), context),
  },
  {
    name: 'in',
    usage: 'CODE',
    summary: 'run code in the frame that is looked at',
    async run(expr, context) {
      if (expr === '') return context.say('What? :in CODE runs code in the frame that is looked at.')
      await act('debug_eval', { expr, frame: here(context) }, context)
    },
  },
  {
    name: 'resume',
    usage: 'RESTART [VALUE]',
    summary: 'take a restart, by number or name; :0 [VALUE] takes restart 0',
    of: 'restart',
    async run(operand, context) {
      const [restart = '', value = ''] = words(operand)
      if (restart === '') return context.say('Which one? :debug lists the restarts.')
      await act('debug_restart', { restart, ...(value !== '' && { value }) }, context)
    },
  },
  {
    name: 'return',
    usage: 'CODE',
    summary: 'have that frame return the value of code to its caller',
    async run(value, context) {
      if (value === '') return context.say('What? :return CODE returns its value from the frame.')
      await act('debug_restart', { return_from: here(context), value }, context)
    },
  },
  {
    name: 'again',
    usage: '[N]',
    summary: 'call the function of that frame again, with the same arguments',
    async run(operand, context) {
      const frame = operand === '' ? here(context) : Number(operand)
      await act('debug_restart', { restart_frame: frame }, context)
    },
  },
  {
    name: 'leave',
    usage: '[ID | all]',
    summary: 'give up what is suspended',
    of: 'suspension',
    run: leave,
  },
  {
    name: 'hold',
    usage: 'CODE',
    summary: 'run code; where it raises, its stack waits there (Python)',
    async run(expr, { running, say }) {
      if (expr === '') return say('What? :hold CODE runs it.')
      await running.run(expr, { hold: true })
    },
  },
  {
    name: 'suspended',
    usage: '',
    summary: 'all that is suspended, whose it is, and for how long',
    async run(_operand, { image, showing, stage }) {
      const { suspensions } = await image.request('suspensions', {})
      const lines = suspendedTable(suspensions).split('\n')
      const rows = lines.map(line => plain(`${fitted(line, stage.size.columns)}\n`))
      await showing.page('suspended', rows)
    },
  },
  {
    name: 'take',
    usage: 'ID',
    summary: 'take over what somebody else holds',
    of: 'suspension',
    async run(operand, context) {
      const { suspended, image, approvals, say } = context
      const row = await rowNamed(operand, context)
      if (row === undefined || !(await approvals.seated())) return
      const { kernel, id } = row
      const taken = await suspended.doing(id, () => image.request('take', { kernel, suspension: id }))
      suspended.take(taken)
      suspended.choose({ kernel, id })
      const left =
        taken.expires_in_ms === null ? '' : `, for ${duration(taken.expires_in_ms)} after each look`
      say(`${id} is yours now${left}: ${oneLine(conditionLine(taken))} · :debug shows it`)
    },
  },
  {
    name: 'hand',
    usage: 'ID [WHO]',
    summary: 'put it before somebody, or before whoever comes first',
    of: 'suspension',
    async run(operand, context) {
      const { suspended, image, approvals, say } = context
      const [id = '', to = ''] = words(operand)
      const row = await rowNamed(id, context)
      if (row === undefined || !(await approvals.seated())) return
      const named = { kernel: row.kernel, suspension: row.id, ...(to !== '' && { to }) }
      await suspended.doing(row.id, () => image.request('hand', named))
      suspended.forget(row.id)
      say(`${row.id} is before ${to === '' ? 'whoever comes first' : to}, who is told with the next answer.`)
    },
  },
  {
    name: 'theirs',
    usage: '[KERNEL]',
    summary: 'errors that wait in debuggers of your own, such as SLIME’s',
    of: 'kernel',
    async run(operand, context) {
      const { image, approvals, say, stage } = context
      if (!(await approvals.seated())) return
      const kernel = operand || (await kernelHere(context))
      const { errors } = await image.request('theirs', { kernel })
      if (errors.length === 0) return say(`No error waits in a debugger of yours in ${kernel}.`)
      const lines = errors.map(
        error => `${oneLine(error.id)}  ${oneLine(error.where)}: ${oneLine(conditionLine(error))}\n`,
      )
      stage.print([plain(lines.join(''))])
      say(':adopt ID puts one before whoever comes first.')
    },
  },
  {
    name: 'adopt',
    usage: 'ID',
    summary: 'put an error of your own, from :theirs, before whoever comes first',
    async run(operand, context) {
      const { image, approvals, say } = context
      if (operand === '') return say('Which one? :theirs lists them.')
      if (!(await approvals.seated())) return
      const kernel = await kernelHere(context)
      const { id } = await image.request('adopt', { kernel, id: operand })
      say(`It is ${id} now, before whoever comes first. :take ${id} makes it yours.`)
    },
  },
  {
    name: 'trace',
    usage: 'NAME [COUNT]',
    summary: 'take down the next calls of a function',
    async run(operand, context) {
      const [name = '', count = ''] = words(operand)
      if (name === '') return context.say('Of which function? :trace NAME [COUNT]')
      await show('trace_function', { name, ...(count !== '' && { calls: Number(count) }) }, context)
    },
  },
  {
    name: 'untrace',
    usage: 'ID',
    summary: 'end that before its time',
    of: 'tracepoint',
    async run(remove, context) {
      if (remove === '') return context.say('Which one? :calls lists them.')
      await show('trace_function', { remove }, context)
    },
  },
  {
    name: 'calls',
    usage: '[ID]',
    summary: 'what was taken down; without an ID, the tracepoints',
    of: 'tracepoint',
    run: (id, context) => show('trace_calls', id === '' ? {} : { tracepoint: id }, context),
  },
]

/** The kernel that is spoken to. */
async function kernelHere({ image }: Context): Promise<string> {
  return image.kernel ?? (await image.row())?.name ?? ''
}

const currentOf = ({ suspended, image }: Context): Named | undefined => suspended.current(image.kernel)

/** The frame that is looked at. */
function here(context: Context): number {
  const current = currentOf(context)
  return current === undefined ? 0 : context.suspended.frame(current)
}

/** Where none is known here, the daemon takes the caller's newest. */
function argumentsOf(named: Named | undefined, { image }: Context): Readonly<Record<string, unknown>> {
  if (named !== undefined) return { suspension: named.id, kernel: named.kernel }
  return image.kernel === undefined ? {} : { kernel: image.kernel }
}

/** Has code run in it, or has it go on, and shows what that came to. */
async function act(tool: string, args: Readonly<Record<string, unknown>>, context: Context): Promise<void> {
  const { running, suspended } = context
  const current = currentOf(context)
  const called = { ...argumentsOf(current, context), patience: WAIT_SECONDS, ...args }
  const call = () => running.call(tool, called)
  const envelope = await (tool === 'debug_restart' ? suspended.doing(current?.id, call) : call())
  if (envelope?.ok === false && envelope.error.code === 'not_found' && current !== undefined)
    await forgetGone(current, context)
  await running.ended(envelope)
}

/** It may be a restart that is not there, and not the suspension. */
async function forgetGone({ id }: Named, { image, suspended }: Context): Promise<void> {
  const { suspensions } = await image.request('suspensions', {})
  if (!suspensions.some(row => row.id === id)) suspended.forget(id)
}

async function show(tool: string, args: Readonly<Record<string, unknown>>, context: Context): Promise<void> {
  const { running, showing } = context
  const envelope = await running.call(tool, { ...argumentsOf(undefined, context), ...args })
  if (envelope !== undefined) await showing.tool(tool, envelope)
}

async function showState(operand: string, context: Context): Promise<void> {
  const { running, showing, suspended } = context
  const [first = '', second = ''] = words(operand)
  const from = /^\d+$/.test(first) ? first : second
  const row = first === '' || first === from ? undefined : await rowNamed(first, context)
  if (row === undefined && first !== from) return
  const meant = row ?? currentOf(context)
  const args = { ...argumentsOf(meant, context), count: FRAMES, ...(from !== '' && { from: Number(from) }) }
  const envelope = await running.call('debug_state', args)
  if (envelope === undefined) return
  if (!envelope.ok) {
    if (meant !== undefined) await forgetGone(meant, context)
    return showing.tool('debug_state', envelope)
  }
  const state = envelope.result as DebugState
  const named = { id: state.suspension.id, kernel: meant?.kernel ?? (await kernelHere(context)) }
  suspended.choose(named)
  await showing.page(named.id, stateSpans(state, suspended.frame(named)))
}

async function moveBy(count: number, context: Context): Promise<void> {
  const at = here(context)
  if (at + count < 0) return context.say('That is the innermost frame.')
  await showFrame(at + count, context)
}

async function showFrame(wanted: number | undefined, context: Context): Promise<void> {
  const { running, showing, suspended, spoken } = context
  const current = currentOf(context)
  const frame = wanted ?? here(context)
  const envelope = await running.call('debug_frame', { ...argumentsOf(current, context), frame })
  if (envelope === undefined) return
  if (!envelope.ok) return showing.tool('debug_frame', envelope)
  const shown = envelope.result as DebugFrame
  const named = current ?? { id: shown.suspension, kernel: await kernelHere(context) }
  suspended.choose(named)
  suspended.lookAt(named, shown.number)
  await showing.page(`frame ${shown.number}`, frameSpans(shown, spoken.language))
}

async function leave(operand: string, context: Context): Promise<void> {
  const { suspended, image, say } = context
  if (operand === '') return act('debug_restart', { leave: true }, context)
  if (operand !== 'all') {
    const row = await rowNamed(operand, context)
    if (row === undefined) return
    suspended.choose(row)
    return act('debug_restart', { leave: true }, context)
  }
  const { kernel } = image
  const mine = suspended.mine.filter(one => one.kernel === kernel)
  await suspended.leave(image, mine)
  say(
    mine.length === 0
      ? 'Nothing of yours is suspended here.'
      : `Given up: ${mine.map(one => one.id).join(', ')}`,
  )
}

/** The one of that id, or of its beginning; in the kernel that is spoken to where several begin so. */
async function rowNamed(given: string, { image, say }: Context): Promise<SuspendedRow | undefined> {
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
const words = (text: string): string[] => /^(\S*)\s*([\s\S]*)$/.exec(text.trim())?.slice(1) ?? []
