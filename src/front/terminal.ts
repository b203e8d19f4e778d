import { escapeText } from '../core/escape.ts'

/** Where commands print. What cannot be seen is escaped, at a terminal and in a pipe. */
export interface Printer {
  /** Standard output. */
  out(text: string): void
  /** Standard error, alike. */
  err(text: string): void
}

export interface PrinterOptions {
  readonly streams?: Pick<NodeJS.Process, 'stdout' | 'stderr'>
  /** A pipe is given text as it is, for what code has printed to be read by a program. */
  readonly exactInPipe?: true
}

/** Prints to the two streams of a process. A reader that went away (`| head`) ends printing, not the command. */
export function openPrinter({ streams = process, exactInPipe }: PrinterOptions = {}): Printer {
  const printTo = (stream: NodeJS.WriteStream & { fd: number }) => {
    let open = true
    stream.on('error', () => {
      open = false
    })
    return (text: string) => {
      if (open && text !== '') stream.write(exactInPipe && !stream.isTTY ? text : escapeText(text))
    }
  }
  return { out: printTo(streams.stdout), err: printTo(streams.stderr) }
}

/** Whether a terminal of this name can do more than print lines. */
export const isCapable = (env: Readonly<Record<string, string | undefined>>) =>
  env.TERM !== undefined && env.TERM !== '' && env.TERM !== 'dumb' && env.TERM !== 'unknown'
