import { conditionLine } from '../../../tools/suspension-text.ts'
import { duration, oneLine } from '../../../tools/wording.ts'
import type { Command } from './colon-table.ts'
import {
  act,
  here,
  kernelHere,
  leave,
  moveBy,
  rowNamed,
  show,
  showFrame,
  showState,
  words,
} from './debug-actions.ts'
import { plain } from './style.ts'
import { suspendedTable } from './suspension-spans.ts'
import { fitted } from './width.ts'

const NO_NUMBER = 'Which frame? :debug lists them, with their numbers.'

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
    usage: 'ID [WHO | back]',
    summary: 'put it before somebody, whom it was taken from, or whoever comes first',
    of: 'suspension',
    async run(operand, context) {
      const { suspended, image, approvals, say } = context
      const [id = '', name = ''] = words(operand)
      const to = unquoted(name)
      const row = await rowNamed(id, context)
      if (row === undefined || !(await approvals.seated())) return
      const named = { kernel: row.kernel, suspension: row.id, ...(to !== '' && { to }) }
      await suspended.doing(row.id, () => image.request('hand', named))
      suspended.forget(row.id)
      const whom = to === '' ? 'whoever comes first' : to === 'back' ? 'whom it was taken from' : oneLine(to)
      say(`${row.id} is before ${whom}, who is told with the next answer.`)
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
    of: 'error',
    async run(operand, context) {
      const { image, approvals, suspended, say } = context
      if (operand === '') return say('Which one? :theirs lists them.')
      if (!(await approvals.seated())) return
      const kernel = await kernelHere(context)
      const { errors } = await image.request('theirs', { kernel })
      const id = errors.find(error => error.id.startsWith(`${operand}@`))?.id ?? operand
      const adopted = await suspended.adopting(() => image.request('adopt', { kernel, id }))
      suspended.choose({ kernel, id: adopted.id })
      say(`It is ${adopted.id} now, before whoever comes first. :take ${adopted.id} makes it yours.`)
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
    async run(tracepoint, context) {
      if (tracepoint === '') return context.say('Which one? :calls lists them.')
      await show('untrace_function', { tracepoint }, context)
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

/** A name as it stands in tables, or as a shell would have it quoted. */
const unquoted = (name: string): string => /^(["'])(.*)\1$/.exec(name.trim())?.[2]?.trim() ?? name.trim()
