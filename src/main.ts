#!/usr/bin/env node
// The entry: hands each command to its own code and loads nothing else. `imago mcp` is a pipe, and starts as one.

import { join } from 'node:path'

// Node opens its debugger on this signal, for whoever connects: every program of the user could run code in a daemon,
// or in a seat, also where the system lets no process look into another.
process.on('SIGUSR1', () => {})

void main()

async function main() {
  // A signal that came before that line has opened it already.
  const { refuseDebugger } = await import('./debugger.ts')
  try {
    refuseDebugger()
  } catch (error) {
    process.stderr.write(`imago: ${error instanceof Error ? error.message : error}\n`)
    process.exit(2)
  }

  const argv = process.argv.slice(2)
  const [first, ...rest] = argv
  if (first === 'mcp' && !rest.includes('--help') && !rest.includes('-h')) {
    const { bridge } = await import('./front/bridge.ts')
    process.exitCode = await bridge(rest)
    return
  }
  const bundle = await bundleFor(first)
  // An editor ends it, which then does not return.
  if (first === 'lsp') process.on('exit', () => bundle?.keep())
  const { runCommandLine } = bundle?.exports ?? (await import('./front/cli.ts'))
  const exit = await runCommandLine({
    argv,
    openDaemon: async (paths, webPort) =>
      (bundle?.exports.openDaemon ?? (await import('./daemon.ts')).openDaemon)({ paths, webPort }),
  })
  if (exit !== 2) bundle?.keep()
  await Promise.all([process.stdout, process.stderr].map(sent))
  process.exit(exit)
}

/** A pipe takes 64 KiB at once; the rest is sent as its reader takes it, and an exit would drop it. */
const sent = (stream: NodeJS.WriteStream) =>
  new Promise<void>(resolve => {
    if (stream.writableLength === 0) resolve()
    else stream.write('', () => resolve())
  })

/** Commands that are one call of a tool. They have a file of their own: V8 loads a small one faster. */
const CALLS: readonly string[] = ['call', 'eval', 'inspect', 'threads', 'undo', 'tools', 'describe']

/** The files of `bundle.mjs` for commands that do not share that of all. */
const FILES: Readonly<Record<string, string>> = {
  serve: 'daemon',
  lsp: 'lsp',
  ask: 'agent',
  runs: 'agent',
}

/** What a command needs in one file, as a build makes it. Undefined where this runs from source. */
async function bundleFor(command = '') {
  const { loadCached } = await import('./code-cache.ts')
  const file = CALLS.includes(command) ? 'call' : (FILES[command] ?? 'cli')
  const use = /^[a-z]+$/.test(command) ? command : 'prompt'
  type Parts = typeof import('./front/cli.ts') & Partial<typeof import('./daemon.ts')>
  return loadCached<Parts>(join(import.meta.dirname, `front/${file}.cjs`), use)
}
