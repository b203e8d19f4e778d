import type { OutputSoFar } from './define.ts'

/** What was printed, as every answer about an evaluation carries it. */
export interface Printed {
  readonly stdout: string
  readonly stderr: string
  /** Both streams, in the order in which they were written. */
  readonly output: string
  readonly truncated: boolean
  /** Characters that were not kept; present when there are any. */
  readonly dropped?: number
  /** For `read_more`, where `output` was cut. */
  readonly output_handle?: string
}

export function printed({ stdout, stderr, output, truncated, dropped, handle }: OutputSoFar): Printed {
  return {
    stdout,
    stderr,
    output,
    truncated,
    ...(dropped > 0 && { dropped }),
    ...(handle !== undefined && { output_handle: handle }),
  }
}

/** The printed text under a heading that says which stream it is; empty when nothing was printed. */
export function showPrinted(text: Printed): string[] {
  const { stdout, stderr, output } = text
  const lost = lossNote(text)
  const heading = lost === '' ? '' : ` (${lost})`
  if (stdout !== '' && stderr !== '') return [`stdout and stderr, in order${heading}:`, trimmed(output)]
  if (stdout !== '') return [`stdout${heading}:`, trimmed(stdout)]
  if (stderr !== '') return [`stderr${heading}:`, trimmed(stderr)]
  return lost === '' ? [] : [`output: ${lost}`]
}

function lossNote({ truncated, dropped = 0, output_handle }: Printed): string {
  const notes = []
  if (output_handle !== undefined) notes.push(`cut; all that was kept: read_more ${output_handle}`)
  else if (truncated) notes.push('cut')
  if (dropped > 0) notes.push(`${dropped} characters were dropped`)
  return notes.join('; ')
}

const trimmed = (text: string): string => text.replace(/\n$/, '')
