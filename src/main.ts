#!/usr/bin/env node
// The entry: hands each command to its own code and loads nothing else. `imago mcp` is a pipe, and starts as one.

const [first, ...rest] = process.argv.slice(2)

if (first === 'mcp' && !rest.includes('--help') && !rest.includes('-h')) {
  const { bridge } = await import('./front/bridge.ts')
  process.exitCode = await bridge(rest)
} else {
  const { runCommandLine } = await import('./front/command-line.ts')
  const exit = await runCommandLine({
    argv: process.argv.slice(2),
    openDaemon: async paths => (await import('./daemon.ts')).openDaemon({ paths }),
  })
  process.exit(exit)
}
