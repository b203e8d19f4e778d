import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { EXIT, type ExitCode } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import { connectHere } from '../client.ts'
import type { CommandInput } from '../command.ts'

/** `imago web`: prints the address of a page of this project, and opens it in the browser; over SSH, how it is reached instead. */
export async function web({ printer, options }: CommandInput): Promise<ExitCode> {
  await using client = await connectHere('imago web')
  const { address } = await client.request('open_page', {})
  printer.out(`${address}\n`)
  if (process.env.SSH_CONNECTION !== undefined) printer.err(`imago: ${forwardingOf(address)}\n`)
  else if (options['no-open'] !== true) openBrowser(address)
  return EXIT.done
}

/** The daemon takes its own port alone: a page of another one may be anybody's. */
function forwardingOf(address: string): string {
  const { port } = new URL(address)
  return `on the machine that you sit at, first: ssh -N -L ${port}:127.0.0.1:${port} ${userInfo().username}@${hostname()}`
}

/** Other users see the words of a command: they name a file that leads to the address, and that only its owner can read. */
function openBrowser(address: string): void {
  const { page: file } = findPaths()
  const to = address.replaceAll('&', '&amp;')
  writeFileSync(file, `<meta http-equiv="refresh" content="0; url=${to}">\n`, { mode: 0o600 })
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  // Where there is none, the address was printed.
  spawn(program, [file], { detached: true, stdio: 'ignore' })
    .on('error', () => {})
    .unref()
}
