import type { DaemonClient } from '../../src/front/client.ts'
import { openPrinter } from '../../src/front/print.ts'
import type { Envelope } from '../../tools/outcome.ts'

/** One call of a demo, and what has to come of it. */
export interface Step {
  readonly says: string
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** What the answer must show. */
  readonly expects: readonly RegExp[]
  readonly ok?: boolean
}

/** How long a program may take to begin, or a person waits for something to appear, before a demo is given up, in milliseconds. */
export const PATIENCE_MS = 30_000
/** Between two looks, in milliseconds. */
export const STEP_MS = 200

export const { out } = openPrinter()

/** Prints a screen, in a margin of its own, without its empty lines and those that Neovim marks as none of a text. */
export function outScreen(screen: string): void {
  const lines = screen.split('\n').filter(line => !/^(~|\s*$)/.test(line))
  out(`${lines.map(line => `    | ${line}`).join('\n')}\n`)
}

/** Something in a demo was not as it should be; the demo ends with exit code 1. */
export class Differs extends Error {
  override readonly name = 'Differs'
}

/** Makes one call, shows it as a model sees it, and compares; the answer as it came. Throws `Differs`. */
export async function take(
  client: DaemonClient,
  { says, tool, args, expects, ok = true }: Step,
): Promise<Envelope> {
  out(`\n# ${says}\n> ${tool} ${JSON.stringify(args)}\n`)
  const envelope: Envelope = await client.call({ tool, args })
  const { text } = await client.request('show', { tool, envelope })
  out(`${text}\n`)
  const missing = expects.filter(expected => !expected.test(text))
  if (envelope.ok === ok && missing.length === 0) return envelope
  throw new Differs(
    `expected ${ok ? 'success' : 'a failure'} that shows ${missing.map(String).join(' and ')}`,
  )
}
