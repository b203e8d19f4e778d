import { conditionLine } from '../../tools/suspension-text.ts'
import { duration, oneLine } from '../../tools/wording.ts'
import type { SuspendedRow } from '../front/protocol.ts'
import type { Command, Context } from './colon.ts'
import {
  act,
  here,
  kernelHere,
  leaveAll,
  leaveNamed,
  moveBy,
  rowNamed,
  show,
  showFrame,
  showState,
  words,
} from './debug-actions.ts'
import { fitted, plain } from './layout.ts'
import { suspendedTable, theirLine } from './suspension-spans.ts'

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
      await act('debug_eval', { expr, frame: here(context) }, context)
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
    summary: 'run code; where it raises, its stack waits there (Python)',
    run: needing('What? :hold CODE runs it.', (expr, { running }) => running.run(expr, { hold: true })),
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
    seat: true,
    run: naming(async ({ kernel, id }, _rest, { suspended, image, say }) => {
      const taken = await suspended.doing(id, () => image.request('take', { kernel, suspension: id }))
      suspended.take(taken)
      suspended.choose({ kernel, id })
      const left =
        taken.expires_in_ms === null ? '' : `, for ${duration(taken.expires_in_ms)} after each look`
      say(`${id} is yours now${left}: ${oneLine(conditionLine(taken))} · :debug shows it`)
    }),
  },
  {
    name: 'hand',
    usage: 'ID [WHO | back]',
    summary: 'put it before somebody, whom it was taken from, or whoever comes first',
    of: 'suspension',
    seat: true,
    run: naming(async ({ kernel, id }, who, { suspended, image, say }) => {
      const to = unquoted(who)
      const named = { kernel, suspension: id, ...(to !== '' && { to }) }
      await suspended.doing(id, () => image.request('hand', named))
      suspended.forget(id)
      const whom = to === '' ? 'whoever comes first' : to === 'back' ? 'whom it was taken from' : oneLine(to)
      say(`${id} is before ${whom}, who is told with the next answer.`)
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
      say(':adopt ID puts one before whoever comes first.')
    },
  },
  {
    name: 'adopt',
    usage: 'ID',
    summary: 'put an error of your own, from :theirs, before whoever comes first',
    of: 'error',
    seat: true,
    run: needing('Which one? :theirs lists them.', async (operand, context) => {
      const { image, suspended, say } = context
      const kernel = await kernelHere(context)
      const { errors } = await image.request('theirs', { kernel })
      const id = errors.find(error => error.id.startsWith(`${operand}@`))?.id ?? operand
      const adopted = await suspended.adopting(() => image.request('adopt', { kernel, id }))
      suspended.choose({ kernel, id: adopted.id })
      say(`It is ${adopted.id} now, before whoever comes first. :take ${adopted.id} makes it yours.`)
    }),
  },
  {
    name: 'trace',
    usage: 'NAME [COUNT]',
    summary: 'take down the next calls of a function',
    run: needing('Of which function? :trace NAME [COUNT]', (operand, context) => {
      const [name = '', count = ''] = words(operand)
      return show('trace_function', { name, ...(count !== '' && { calls: Number(count) }) }, context)
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
    summary: 'what was taken down; without an ID, the tracepoints',
    of: 'tracepoint',
    run: (id, context) => show('trace_calls', id === '' ? {} : { tracepoint: id }, context),
  },
]

/** A name as it stands in tables, or as a shell would have it quoted. */
const unquoted = (name: string): string => /^(["'])(.*)\1$/.exec(name.trim())?.[2]?.trim() ?? name.trim()

/** `9 - x`, which is code. */
const isOperator = (code: string): boolean => /^\d+\s+([-+*/%@<>=!&|^,]|(and|or|in|is|not|if)\b)/.test(code)
