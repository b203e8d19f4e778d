import type { Frame, Raised, Text, TypeName } from '../wire/kernel.ts'

/** How things are put in one line, wherever a model or a person reads them. */

/** `int`, `numpy.ndarray`: the module is left out where everybody knows it. */
export function typeWord({ name, module, qualified }: TypeName): string {
  return module === null || module === 'builtins' ? name : qualified
}

/** `840 ms`, `2.5 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(1))} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `ZeroDivisionError: division by zero`, as a language prints the last line of its report. */
export function exceptionLine({ type, message }: Raised): string {
  return message === '' ? typeWord(type) : `${typeWord(type)}: ${message}`
}

/** The report without what the first line of the answer has said: all of it, or a message and type that it begins with. */
export function reportOf(raised: Raised): string {
  const { message, traceback } = raised
  const report = traceback.trimEnd()
  if (report === exceptionLine(raised)) return ''
  if (message === '' || !report.startsWith(`${message}\n`)) return report
  return report.slice(message.length + 1).replace(/^ *\[Condition of type [^\n]*\]\n*/, '')
}

/** `load, app.py:12`, or as much of it as is known. */
export function frameLine({ function: name, file, line }: Frame): string {
  if (file === null) return name
  return line === null ? `${name}, ${file}` : `${name}, ${file}:${line}`
}

/** The innermost frame that is the program's own; the innermost of all where none is. */
export function programFrame(frames: readonly Frame[]): Frame | undefined {
  return frames.findLast(frame => frame.implementation !== true) ?? frames.at(-1)
}

/** The ways to go on that stood where it was raised, innermost first; nothing where the report has them, or none were. */
export function restartLines({ restarts = [], traceback }: Raised): string[] {
  if (restarts.every(({ name, description }) => traceback.includes(description || name))) return []
  const lines = restarts.map(({ name, description }) => {
    const said = description === '' || description === name ? '' : `: ${oneLine(description)}`
    return indent(`${oneLine(name)}${said}`)
  })
  return ['restarts that stood there, none taken:', ...lines]
}

/** Characters that would break a line are written as escapes, so that one name stays one line. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, mark =>
    JSON.stringify(mark)
      .slice(1, -1)
      .replace(/[^\x20-\x7e]/, escaped),
  )
}

const escaped = (mark: string): string => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Each line set in, so that a long text reads as part of what is above it. */
export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ')
}

/**
 * A text of the program's, in the lines that it has: those after the first are set in, whatever breaks them, so that none
 * of them reads as a line of ours.
 */
export function setIn(text: string): string {
  return text.replace(LINE_BREAK, '\n    ')
}

const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g

/**
 * A report of the language's, every line of it set in: its messages, those of causes and notes among them, are the
 * program's, and none of their lines can then stand where one of ours does.
 */
export function reportSetIn(report: string): string {
  return linesOf(report)
    .map(line => (line === '' ? '' : `${REPORT_MARGIN}${line}`))
    .join('\n')
}

export const REPORT_MARGIN = '  '

/** The lines of a text, whatever breaks them. */
export const linesOf = (text: string): string[] => text.split(LINE_BREAK)

/** `cut at 4096 of 20000 characters`, or without the whole where that is not known. */
export function cutNote({ text, original_len }: Text): string {
  return `cut at ${text.length}${original_len === null ? '' : ` of ${original_len}`} characters`
}

/** The first characters of a text, at most so many UTF-16 units, with no character cut in two. */
export function beginning(text: string, most: number): string {
  if (text.length <= most) return text
  const last = text.charCodeAt(most - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most)
}
