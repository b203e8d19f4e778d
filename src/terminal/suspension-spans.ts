import type { DebugFrame, DebugState } from '../../tools/debug-look.ts'
import { termsOf } from '../../tools/languages.ts'
import {
  backtrace,
  conditionLine,
  type NumberedRestart,
  restartChoices,
  type SuspendedDetails,
  suspensionLine,
} from '../../tools/suspension-text.ts'
import { ownerWords } from '../../tools/suspensions.ts'
import { cutNote, duration, oneLine, setIn } from '../../tools/text.ts'
import type { TheirError } from '../../wire/kernel.ts'
import { table } from '../front/print.ts'
import type { SuspendedRow } from '../suspensions/rows.ts'
import type { Language } from './languages.ts'
import { looking, plain, prose, type Span } from './layout.ts'

/**
 * What stands below an error that has just been suspended, with the commands that can be typed; `besides`: of how many
 * others of this console.
 */
export function suspendedSpans(
  { id, how, level, within, restarts, not_held }: SuspendedDetails,
  besides = 0,
): Span[] {
  const turned = besides === 0 ? '' : `. Commands are about it now, and :debug ID turns to another`
  if (how === 'post_mortem') {
    const again = restarts[0] === undefined ? '' : `, :0 ${AGAIN[restarts[0].name] ?? 'takes restart 0'}`
    const ways = `:debug shows them, :in CODE runs code in one${again}, :leave drops them`
    return [
      ...(not_held === undefined ? [] : [prose('hint', `${not_held}\n`)]),
      prose('hint', `frames kept as ${id} · ${ways}${turned}\n`),
    ]
  }
  const nested = level === 1 ? '' : `, level ${level}${within === null ? '' : `, within ${within}`}`
  const take = restarts.length === 0 ? '' : ':0 takes restart 0, '
  const ways = `${take}:debug shows its stack, :in CODE runs code there, :leave gives it up`
  const title = restarts.length === 0 ? [] : [plain('\n'), ...titled('Restarts:')]
  return [
    ...title,
    ...restartSpans(restarts),
    prose('hint', `suspended as ${id}${nested} · ${ways}${turned}\n`),
  ]
}

/** What is known of restarts by their names. */
const AGAIN: Readonly<Record<string, string>> = { retry: 'runs the code again' }

/** `thread-7  thread "repl-thread", in SLIME: case-failure: …` */
export const theirLine = ({ id, where, ...error }: TheirError): string =>
  `${oneLine(id)}  ${oneLine(where)}: ${oneLine(conditionLine(error))}`

const restartSpans = (restarts: readonly NumberedRestart[]): Span[] =>
  restartChoices(restarts).map(line => plain(`${line}\n`))

/** One suspension: its error, its restarts and a page of its stack, in which the frame that is looked at has a mark. */
export function stateSpans(state: DebugState, here: number): Span[] {
  const { suspension, holder, restarts, frames, next, frames_total: total } = state
  const order = termsOf(state).innermostFirst ? 'innermost first' : 'innermost last'
  const stack = backtrace(frames, state).map(line =>
    line.startsWith(`  ${here}: `) ? looking('strong', `> ${line.slice(2)}\n`) : plain(`${line}\n`),
  )
  const more =
    next === null ? '' : `more of ${total === null ? 'them' : total}: :debug ${suspension.id} ${next}\n`
  return [
    looking('failure', `${setIn(conditionLine(suspension))}\n`),
    prose('hint', `${suspensionLine(suspension)}\n`),
    prose('hint', `asked for by ${oneLine(suspension.who)}; it ${ownerWords(holder)}\n`),
    ...(suspension.busy ? [prose('error', 'Code runs in it at this moment.\n')] : []),
    ...titled(restarts.length === 0 ? 'No restarts' : 'Restarts, taken by :0, or :resume NAME'),
    ...restartSpans(restarts),
    ...(frames.length === 0 && total === 0
      ? [prose('hint', 'No frame of the program’s is on its stack. :in CODE runs code in it all the same.\n')]
      : [...titled(`Stack, ${order}; :frame N shows the variables of one`), ...stack]),
    ...(more === '' ? [] : [prose('hint', more)]),
  ]
}

const titled = (text: string): Span[] => [looking('title', `${text}\n`)]

/** A frame with the source around its place and its variables. */
export function frameSpans(frame: DebugFrame, { highlight }: Pick<Language, 'highlight'>): Span[] {
  const { around, line: at, locals, locals_omitted: omitted, notes, can } = frame
  const [head = '', ...source] = backtrace([frame], frame)
  const shown = around === null ? source.map(text => plain(`${text}\n`)) : []
  const width = around === null ? 0 : String(around.first_line + around.lines.length - 1).length
  const lines = (around?.lines ?? []).flatMap((text, index) => {
    const number = (around?.first_line ?? 0) + index
    const margin = `${number === at ? '>' : ' '} ${String(number).padStart(width)} | `
    return [
      looking(number === at ? 'strong' : 'hint', margin),
      ...highlight(oneLine(text.replaceAll('\t', '    '))),
      plain('\n'),
    ]
  })
  const variables = locals.flatMap(({ name, argument, value: { repr, handle } }) => [
    plain(`  ${oneLine(name)}${argument ? ' (argument)' : ''} = `),
    ...highlight(oneLine(repr.text)),
    looking(
      'hint',
      `${repr.truncated ? ` (${cutNote(repr)})` : ''}${handle === undefined ? '' : `  ${handle}`}\n`,
    ),
  ])
  return [
    looking('title', `${head.trim()}\n`),
    ...shown,
    ...lines,
    ...(locals.length === 0 && omitted === 0 ? [looking('hint', 'no variables to be seen\n')] : variables),
    ...(omitted === 0 ? [] : [looking('hint', `  and ${omitted} more\n`)]),
    prose(
      'hint',
      `${can.length === 0 ? 'Nothing can be done here.' : can.map(way => WAYS[way]).join(', ')}\n`,
    ),
    ...notes.map(note => prose('hint', `${oneLine(note)}\n`)),
  ]
}

const WAYS: Readonly<Record<DebugFrame['can'][number], string>> = {
  evaluate: ':in CODE runs code here',
  return: ':return CODE returns its value from it',
  again: ':again calls its function again',
}

/** All that is suspended, newest first of each kernel. */
export function suspendedTable(rows: readonly SuspendedRow[]): string {
  if (rows.length === 0) return 'Nothing is suspended.'
  const cells = rows.map(row => {
    const { id, kernel, level, how, who, holder, expires_in_ms: left, busy } = row
    const state = busy ? 'code runs in it' : how === 'held' ? 'waits' : 'frames kept'
    const whose = { you: 'yours', anyone: 'the agents', other: holder.type === 'other' ? holder.who : '' }
    return {
      cells: [
        id,
        kernel,
        level === 1 ? state : `${state}, level ${level}`,
        duration(left),
        oneLine(whose[holder.type]),
        oneLine(who),
        oneLine(conditionLine(row)).slice(0, ERROR_CHARS),
      ],
      below: [],
    }
  })
  const head = { cells: ['ID', 'KERNEL', 'STATE', 'FOR', 'WHOSE', 'ASKED FOR BY', 'ERROR'], below: [] }
  return table([head, ...cells])
}

const ERROR_CHARS = 120
