import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXIT, type ExitCode } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import { connectHere } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { hasTerminal } from '../seat/at-terminal.ts'
import { lineOf, NoAnswer, openLineInput } from '../seat/line-terminal.ts'
import { seat } from './seat.ts'

/**
 * `imago web`: prints the address of a page of this project, and opens it in the browser. At a terminal it then lets the page
 * have a seat, by the code that the page shows.
 */
export async function web(input: CommandInput): Promise<ExitCode> {
  const { printer, options } = input
  const { address } = await addressOfPage()
  printer.out(`${address}\n`)
  const opens = options['no-open'] !== true
  if (opens) openBrowser(address)
  if (!opens || !hasTerminal()) return EXIT.done
  const code = await typedCode(text => printer.out(text))
  return code === '' ? EXIT.done : await seat({ ...input, operands: [code] })
}

async function addressOfPage() {
  await using client = await connectHere('imago web')
  return await client.request('open_page', {})
}

/** Other users see the words of a command: they name a file that leads to the address, and that only its owner can read. */
function openBrowser(address: string): void {
  const file = join(findPaths().runtimeDir, 'page.html')
  writeFileSync(file, `<meta http-equiv="refresh" content="0; url=${address.replaceAll('&', '&amp;')}">\n`, {
    mode: 0o600,
  })
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  // Where there is none, the address was printed.
  spawn(program, [file], { detached: true, stdio: 'ignore' })
    .on('error', () => {})
    .unref()
}

/** Empty where the person leaves. */
async function typedCode(print: (text: string) => void): Promise<string> {
  const input = openLineInput(process.stdin, print)
  const at = { input, print, terminal: process.stdout, drop: input.left }
  try {
    return (
      await lineOf('To answer plans there, type the code that the page shows (Enter: not now): ', at)
    ).trim()
  } catch (error) {
    if (error instanceof NoAnswer) return ''
    throw error
  } finally {
    input.close()
  }
}
