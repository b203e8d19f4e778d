import type { Restart, StackFrame, Suspension } from '../wire/kernel.ts'
import { type Told, termsOf } from './languages.ts'
import type { Expiring, NumberedRestart } from './shapes.ts'
import {
  duration,
  foldedRun,
  foldedWords,
  indent,
  isOwn,
  oneLine,
  placeOf,
  runsOf,
  sinceWord,
  typeWord,
} from './text.ts'

export type { NumberedRestart } from './shapes.ts'

export const numbered = (restarts: readonly Restart[]): readonly NumberedRestart[] =>
  restarts.map((restart, number) => ({ number, ...restart }))

/** What the answer of an evaluation says of its suspension. */
export interface SuspendedDetails
  extends Pick<Expiring, 'id' | 'how' | 'level' | 'within' | 'expires_in_ms'> {
  readonly restarts: readonly NumberedRestart[]
  /** Why its stack is not held alive, where that was asked for. */
  readonly not_held?: string
}

export function suspendedDetails(
  { id, how, level, within, expires_in_ms }: Expiring,
  { restarts = [], held }: { readonly restarts?: readonly Restart[] | undefined; readonly held: boolean },
): SuspendedDetails {
  const unheld = held && how === 'post_mortem'
  return {
    id,
    how,
    level,
    within,
    expires_in_ms,
    restarts: numbered(restarts),
    ...(unheld && { not_held: NOT_HELD }),
  }
}

const NOT_HELD =
  'It could not be held alive at the raise: that is done only where no frame is seen to catch the error, all of them ' +
  'have their source, and no event loop runs them (a top-level await has one run them). Its frames are kept instead.'

export function isSuspendedDetails(value: unknown): value is SuspendedDetails {
  return typeof value === 'object' && value !== null && 'id' in value && 'restarts' in value
}

/** `suspended as s3@ab12, level 2, within s2@ab12: held where it happened; kept for 10 min after each look at it` */
export function suspensionLine(suspension: Omit<SuspendedDetails, 'restarts'>): string {
  const { id, how, level, within, expires_in_ms } = suspension
  const nested = level === 1 ? '' : `, level ${level}${within === null ? '' : `, within ${oneLine(within)}`}`
  return `suspended as ${oneLine(id)}${nested}: ${HOW[how]}; ends in ${duration(expires_in_ms)} unless its holder looks at it or works with it`
}

const HOW: Readonly<Record<Suspension['how'], string>> = {
  held: 'its stack is alive, and waits where the error happened',
  post_mortem: 'its stack has unwound, and its frames are kept to be looked at',
}

/** ` 0: [USE-VALUE] Use another value.`, as the debugger of a Lisp lists them; each in one line. */
export function restartChoices(restarts: readonly NumberedRestart[]): string[] {
  return restarts.map(restart => indent(restartText(restart)))
}

export function restartText({ number, name, description, reads }: NumberedRestart): string {
  const said = description === '' ? '' : ` ${oneLine(description)}`
  return `${number}: [${oneLine(name).toUpperCase()}]${said}${reads === true ? ' (takes a value)' : ''}`
}

/**
 * A report without the restarts in it, which are listed below it while they can be taken, with what they take. Only
 * what the image has written of exactly these is left out: a message may have a heading like theirs.
 */
export function withoutRestarts(report: string, restarts: readonly NumberedRestart[]): string {
  if (restarts.length === 0) return report
  const lines = restarts.map(
    ({ number, name, description }) => ` ${number}: [${name.toUpperCase()}] ${description}\n`,
  )
  const section = `\nRestarts:\n${lines.join('')}`
  // Below it there are only frames, a line each; above it stands what the program says.
  const whole = `${report}\n`
  const at = whole.lastIndexOf(section)
  return at === -1 ? report : `${whole.slice(0, at)}${whole.slice(at + section.length)}`.trimEnd()
}

export const conditionLine = ({ type, message }: Pick<Suspension, 'type' | 'message'>): string =>
  message === '' ? typeWord(type) : `${typeWord(type)}: ${message}`

/**
 * Frames as a backtrace of the language shows them: a Lisp's begins with the innermost, others end with it. `opened`
 * says how to see the frames of libraries, of which several in a row are one line; left out: all are shown.
 */
export function backtrace(frames: readonly StackFrame[], told: Told, opened?: string): string[] {
  const lisp = termsOf(told).innermostFirst
  if (lisp) return frames.map(frame => indent(lispFrame(frame)))
  if (opened === undefined) return frames.toReversed().flatMap(frame => pythonFrame(frame).map(indent))
  // Where the error happened is shown, whoever has written it.
  const inner = frames.filter(({ number }) => number === 0)
  const outer = frames.filter(({ number }) => number !== 0)
  const lines = runsOf(outer.toReversed()).flatMap(run =>
    run.length === 1 || isOwn(run[0]) ? run.flatMap(pythonFrame) : [foldedFrames(run, opened)],
  )
  return [...lines, ...inner.flatMap(pythonFrame)].map(indent)
}

/** `9 to 4: 6 frames of starlette (open: debug_state {"all": true})` */
function foldedFrames(run: readonly StackFrame[], opened: string): string {
  const numbers = [run[0]?.number, run.at(-1)?.number].join(' to ')
  return `${numbers}: ${foldedWords(foldedRun(run))} (open: ${opened})`
}

/** `3: (SHOP::TOTAL #<ORDER>) at /srv/shop.lisp:12` */
function lispFrame(frame: StackFrame): string {
  const place = placeOf(frame)
  return `${frame.number}: ${callText(frame)}${place === '' ? '' : ` at ${place}`}`
}

/** `3: File "/srv/shop.py", line 12, in total`, and below it the line of source. */
function pythonFrame(frame: StackFrame): string[] {
  const { number, function: name, file, line, source } = frame
  const where = file === null ? '' : `File ${JSON.stringify(file)}${line === null ? '' : `, line ${line}`}, `
  const told = source === null || source.trim() === '' ? [] : [indent(oneLine(source.trim()))]
  return [`${number}: ${where}in ${oneLine(name)}${sinceWord(frame)}`, ...told]
}

const callText = ({ call, function: name }: Pick<StackFrame, 'call' | 'function'>): string =>
  oneLine(call ?? name)

/** `frame 3 (shop::total, /srv/shop.lisp:12)`: what does not change as long as the frame stands. */
export function frameWord(frame: StackFrame): string {
  const place = placeOf(frame)
  return `frame ${frame.number} (${oneLine(frame.function)}${place === '' ? '' : `, ${place}`})`
}
