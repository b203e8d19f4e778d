import type { DebugFrame, DebugState } from '../../tools/debug-look.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { conditionLine } from '../../tools/suspension-text.ts'
import { duration, oneLine } from '../../tools/text.ts'
import { WAIT_SECONDS } from '../front/client.ts'
import type { SuspendedRow } from '../suspensions/rows.ts'
import type { Command, Context } from './colon.ts'
import { fitted, plain } from './layout.ts'
import { frameSpans, stateSpans, suspendedTable, theirLine } from './suspension-spans.ts'
import type { SuspensionName } from './suspensions.ts'

const NO_NUMBER = 'Which frame? :debug lists them, with their numbers.'

type Run = Command['run']

/** A command that does nothing without an operand, and then says what it wants. */
const needing =
  (asks: string, run: Run): Run =>
  async (operand, context) =>
    operand === '' ? context.say(asks) : run(operand, context)

/** A command about the suspended evaluation that its first word names, in short or in full. */
const naming =
  (run: (row: SuspendedRow, rest: string, context: Context) => Promise<unknown>): Run =>
  async (operand, context) => {
    const [id = '', rest = ''] = words(operand)
    const row = await rowNamed(id, context)
    return row && run(row, rest, context)
  }

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
    run: async (operand, context) =>
      /^\d*$/.test(operand)
        ? showFrame(operand === '' ? undefined : Number(operand), context)
        : context.say(NO_NUMBER),
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
    run: needing('What? :in CODE runs code in the frame that is looked at.', async (expr, context) => {
      const [, frame] = /^(\d+)\s+\S/.exec(expr) ?? []
      // A number before code would be code of its own, or none.
      if (frame !== undefined && !isOperator(expr))
        return context.say(
          `Nothing was run. :frame ${frame} turns to that frame; :in CODE runs code in it then.`,
        )
      await runInFrame(expr, context)
    }),
  },
  {
    name: 'resume',
    usage: 'RESTART [VALUE]',
    summary: 'take a restart, by number or name; :0 [VALUE] takes restart 0',
    of: 'restart',
    run: needing('Which one? :debug lists the restarts.', async (operand, context) => {
      const [restart = '', value = ''] = words(operand)
      await act('debug_restart', { restart, ...(value !== '' && { value }) }, context)
    }),
  },
  {
    name: 'return',
    usage: 'CODE',
    summary: 'have that frame return the value of code to its caller',
    run: needing('What? :return CODE returns its value from the frame.', (value, context) =>
      act('debug_restart', { return_from: here(context), value }, context),
    ),
  },
  {
    name: 'again',
    usage: '[N]',
    summary: 'call the function of that frame again, with the same arguments',
    async run(operand, context) {
      if (!/^\d*$/.test(operand)) return context.say(NO_NUMBER)
      const frame = operand === '' ? here(context) : Number(operand)
      await act('debug_restart', { restart_frame: frame }, context)
    },
  },
  {
    name: 'leave',
    usage: '[ID | all]',
    summary: 'give up what is suspended',
    of: 'suspension',
    async run(operand, context) {
      if (operand === 'all') return leaveAll(context)
      if (operand !== '') return leaveNamed(operand, context)
      await act('debug_restart', { leave: true }, context)
    },
  },
  {
    name: 'hold',
    usage: 'CODE',
    summary: 'run code; where it raises, its stack waits there. :hold :in CODE, in the frame',
    run: needing('What? :hold CODE runs it.', (expr, context) => {
      const [, inFrame] = /^:in\s+([\s\S]+)$/.exec(expr) ?? []
      return inFrame === undefined
        ? context.running.run(expr, { hold: true })
        : runInFrame(inFrame, context, { on_error: 'hold' })
    }),
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
    summary: 'take over what somebody else owns',
    of: 'suspension',
    seat: true,
    run: naming(async ({ kernel, id }, _rest, { suspended, image, say }) => {
      const taken = await image.request('take', { kernel, suspension: id })
      suspended.take(taken)
      suspended.choose({ kernel, id })
      const left = duration(taken.expires_in_ms)
      say(
        `${id} is yours now, for ${left} after each look: ${oneLine(conditionLine(taken))} · :debug shows it`,
      )
    }),
  },
  {
    name: 'hand',
    usage: 'ID',
    summary: 'put it before the agents of its project',
    of: 'suspension',
    seat: true,
    run: naming(async ({ kernel, id }, _rest, { suspended, image, say }) => {
      await image.request('hand', { kernel, suspension: id })
      suspended.forget(id)
      say(`${id} is before the agents of its project.`)
    }),
  },
  {
    name: 'theirs',
    usage: '[KERNEL]',
    summary: 'errors that wait in debuggers of your own, such as SLIME’s',
    of: 'kernel',
    seat: true,
    run: async (operand, context) => {
      const { image, say, stage } = context
      const kernel = operand || (await kernelHere(context))
      const { errors } = await image.request('theirs', { kernel })
      if (errors.length === 0) return say(`No error waits in a debugger of yours in ${kernel}.`)
      stage.print([plain(errors.map(error => `${theirLine(error)}\n`).join(''))])
      say(':adopt ID puts one before the agents of its project.')
    },
  },
  {
    name: 'adopt',
    usage: 'ID',
    summary: 'put an error of your own, from :theirs, before the agents',
    of: 'error',
    seat: true,
    run: needing('Which one? :theirs lists them.', async (operand, context) => {
      const { image, suspended, say } = context
      const kernel = await kernelHere(context)
      const { errors } = await image.request('theirs', { kernel })
      const id = errors.find(error => error.id.startsWith(`${operand}@`))?.id ?? operand
      const adopted = await image.request('adopt', { kernel, id })
      suspended.choose({ kernel, id: adopted.id })
      say(`It is ${adopted.id} now, before the agents of its project. :take ${adopted.id} makes it yours.`)
    }),
  },
  {
    name: 'trace',
    usage: 'NAME [COUNT]',
    summary: 'record the next calls of a function',
    run: needing('Of which function? :trace NAME [COUNT]', async (operand, context) => {
      const [name = '', count = ''] = words(operand)
      const set = await show(
        'trace_function',
        { name, ...(count !== '' && { limit: Number(count) }) },
        context,
      )
      if (set?.ok) context.say(':calls ID shows what was recorded by then.')
    }),
  },
  {
    name: 'untrace',
    usage: 'ID',
    summary: 'end that before its time',
    of: 'tracepoint',
    run: needing('Which one? :calls lists them.', (tracepoint, context) =>
      show('untrace_function', { tracepoint }, context),
    ),
  },
  {
    name: 'calls',
    usage: '[ID]',
    summary: 'what was recorded; without an ID, the tracepoints',
    of: 'tracepoint',
    run: (id, context) => show('trace_calls', id === '' ? {} : { tracepoint: id }, context),
  },
]

/** `9 - x`, which is code. */
const isOperator = (code: string): boolean => /^\d+\s+([-+*/%@<>=!&|^,]|(and|or|in|is|not|if)\b)/.test(code)

/** How many frames of a stack are shown at once. */
const FRAMES = 40

const DEBUG_USAGE = 'It is :debug [ID] [FROM]: from that frame on, 40 are shown.'

/** The kernel that is spoken to. */
async function kernelHere({ image }: Context): Promise<string> {
  return image.kernel ?? (await image.row())?.name ?? ''
}

const currentOf = ({ suspended, image }: Context): SuspensionName | undefined =>
  suspended.current(image.kernel)

/** The frame that is looked at. */
function here(context: Context): number {
  const current = currentOf(context)
  return current === undefined ? 0 : context.suspended.frame(current)
}

/** Runs code in the frame that is looked at. */
const runInFrame = (expr: string, context: Context, how: object = {}): Promise<void> =>
  act('debug_eval', { expr, frame: here(context), ...how }, context)

/** Where none is known here, the daemon takes the caller's newest. */
function argumentsOf(
  named: SuspensionName | undefined,
  { image }: Context,
): Readonly<Record<string, unknown>> {
  if (named !== undefined) return { suspension: named.id, kernel: named.kernel }
  return image.kernel === undefined ? {} : { kernel: image.kernel }
}

/** Has code run in it, or has it go on, and shows what that came to. */
async function act(tool: string, args: Readonly<Record<string, unknown>>, context: Context): Promise<void> {
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
  const envelope = await running.call(tool, called)
  if (envelope?.ok === false && envelope.error.code === 'not_found') await forgetGone(current, context)
  await running.ended(envelope && inCommands(envelope))
}

/** It may be a restart that is not there, and not the suspension. */
async function forgetGone({ id }: SuspensionName, { image, suspended }: Context): Promise<void> {
  const { suspensions } = await image.request('suspensions', {})
  if (!suspensions.some(row => row.id === id)) suspended.forget(id)
}

/** Calls a tool in the kernel that is spoken to, and shows its answer. Nothing of what is suspended changes by it. */
async function show(
  tool: string,
  args: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<Envelope | undefined> {
  const { running, showing } = context
  const envelope = await running.call(tool, { ...argumentsOf(undefined, context), ...args })
  if (envelope !== undefined) await showing.tool(tool, inCommands(envelope, TRACED))
  return envelope
}

/** `:debug [ID] [FROM]`: shows restarts and frames of what is meant, which later commands are about from then on. */
async function showState(operand: string, context: Context): Promise<void> {
  const { running, showing, suspended, say } = context
  const [first = '', second = ''] = words(operand)
  const from = /^\d+$/.test(first) ? first : second
  if ((from === first && second !== '') || !/^\d*$/.test(from)) return say(DEBUG_USAGE)
  const row = first === '' || first === from ? undefined : await rowNamed(first, context)
  if (row === undefined && first !== from) return
  const meant = row ?? currentOf(context)
  const args = { ...argumentsOf(meant, context), limit: FRAMES, ...(from !== '' && { from: Number(from) }) }
  const envelope = await running.call('debug_state', args)
  if (envelope === undefined) return
  if (!envelope.ok) {
    if (meant !== undefined) await forgetGone(meant, context)
    return showing.tool('debug_state', inCommands(envelope))
  }
  const state = envelope.result as DebugState
  const named = { id: state.suspension.id, kernel: meant?.kernel ?? (await kernelHere(context)) }
  suspended.choose(named)
  await showing.page(named.id, stateSpans(state, suspended.frame(named)))
}

/** Shows the frame that is `count` further out than the one that is looked at; further in where it is negative. */
async function moveBy(count: number, context: Context): Promise<void> {
  const at = here(context)
  if (at + count < 0) return context.say('That is the innermost frame.')
  await showFrame(at + count, context)
}

/** Shows a frame, 0 the innermost, which is the one that is looked at from then on. Left out: shows that one anew. */
async function showFrame(wanted: number | undefined, context: Context): Promise<void> {
  const { running, showing, suspended, spoken } = context
  const current = currentOf(context)
  const frame = wanted ?? here(context)
  const envelope = await running.call('debug_frame', { ...argumentsOf(current, context), frame })
  if (envelope === undefined) return
  if (!envelope.ok) return showing.tool('debug_frame', inCommands(envelope))
  const shown = envelope.result as DebugFrame
  const named = current ?? { id: shown.suspension, kernel: await kernelHere(context) }
  suspended.choose(named)
  suspended.lookAt(named, shown.number)
  await showing.page(`frame ${shown.number}`, frameSpans(shown, spoken.language))
}

/** Gives up the one of that id, or of its beginning. */
async function leaveNamed(id: string, context: Context): Promise<void> {
  const row = await rowNamed(id, context)
  if (row === undefined) return
  context.suspended.choose(row)
  await act('debug_restart', { leave: true }, context)
}

/** Gives up all of this console’s in the kernel that is spoken to. */
async function leaveAll({ suspended, image, say }: Context): Promise<void> {
  const mine = suspended.mine.filter(one => one.kernel === image.kernel)
  await suspended.leave(image, mine)
  say(
    mine.length === 0
      ? 'Nothing of this console is suspended here. :suspended lists what is.'
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

/** What a person at the console can do where a call about one of these has failed. */
const SUSPENDED = ':debug lists its restarts and frames, :suspended what is suspended.'

const TRACED = ':calls lists the tracepoints.'

/** The answer of a tool as a person is shown it: what can be done next is said in commands, and not in tools. */
export function inCommands(envelope: Envelope, listed = SUSPENDED): Envelope {
  if (envelope.ok) {
    const { next, ...result } = Object(envelope.result) as Readonly<Record<string, unknown>>
    return typeof next === 'string' ? { ok: true, result } : envelope
  }
  const { error } = envelope
  switch (error.code) {
    case 'held_by_other': {
      const id = String(error.details.suspension)
      return failing(envelope, `:take ${id} takes it over. Anybody may look: :debug ${id}.`)
    }
    case 'not_found':
    case 'invalid_args':
      return failing(envelope, listed)
    default:
      return envelope
  }
}

const failing = ({ error }: Extract<Envelope, { ok: false }>, next: string): Envelope => ({
  ok: false,
  error: { ...error, next },
})
