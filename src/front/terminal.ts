/**
 * Text from kernels, tools and files on its way to a terminal. Whatever could move the cursor, colour, retitle,
 * type an answer or turn the reading direction is shown as a mark instead of being obeyed.
 */
export function escapeControls(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(CONTROLS, mark)
}

/** The same inside a JSON text: still JSON, still the same value. */
export function escapeControlsInJson(text: string): string {
  return text.replace(CONTROLS_IN_JSON, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** C0 without tab and line feed, delete, C1, and the marks that turn, part or hide text. */
const TURNING = '\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff'
const CONTROLS = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f${TURNING}]`, 'g')
const CONTROLS_IN_JSON = new RegExp(`[\\u007f-\\u009f${TURNING}]`, 'g')

function mark(unit: string): string {
  const code = unit.charCodeAt(0)
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`
}

export interface Printer {
  /** Standard output: text as it is for a program, escaped for a terminal. */
  out(text: string): void
  /** Standard error, alike. */
  err(text: string): void
}

/** Prints to the two streams of a process. A reader that went away (`| head`) ends printing, not the command. */
export function openPrinter(streams: Pick<NodeJS.Process, 'stdout' | 'stderr'> = process): Printer {
  const printTo = (stream: NodeJS.WriteStream & { fd: number }) => {
    let open = true
    stream.on('error', () => {
      open = false
    })
    return (text: string) => {
      if (open && text !== '') stream.write(stream.isTTY ? escapeControls(text) : text)
    }
  }
  return { out: printTo(streams.stdout), err: printTo(streams.stderr) }
}

/** Whether a terminal of this name can do more than print lines. */
export const isCapable = (env: Readonly<Record<string, string | undefined>>) =>
  env.TERM !== undefined && env.TERM !== '' && env.TERM !== 'dumb' && env.TERM !== 'unknown'
