import { COMMANDS, runCommandLine } from '../../dist/src/front/cli.js'

/**
 * Runs every command in this process, one after the other, with a hostile text wherever a command takes a text. What
 * they print goes to the streams of this process. `every-command.mjs TEXT`, after `npm run build`.
 */
const [hostile = ''] = process.argv.slice(2)

/** Those that go on until they are ended, and where their output is tried. */
const ENDLESS = {
  '': 'prompt.test.ts and console.test.ts',
  watch: 'hostile-askers.test.ts',
  serve: 'daemon.test.ts',
  mcp: 'bridge.test.ts',
  lsp: 'lsp.test.ts',
}

/** What stands behind the name, where an operand alone would not print the text. */
const LINES = {
  call: [
    ['eval_expr', JSON.stringify({ expr: `print(${JSON.stringify(hostile)})` })],
    ['eval_expr', JSON.stringify({ expr: `raise ValueError(${JSON.stringify(hostile)})` })],
    ['eval_expr', JSON.stringify({ expr: JSON.stringify(hostile) }), '--json'],
  ],
  approve: [[hostile, '--code', hostile]],
  deny: [[hostile, '--code', hostile, '--reason', hostile]],
  policy: [[], ['check'], ['check', hostile]],
  log: [['--count', 'all'], ['--long'], ['verify'], [hostile]],
}

for (const { name, operands } of COMMANDS) {
  if (name in ENDLESS) continue
  const plain = operands[1] === 0 ? [[], [hostile]] : [[hostile], ['--name', hostile]]
  for (const line of LINES[name] ?? plain)
    await runCommandLine({ argv: [name, ...line], openDaemon: () => Promise.reject(new Error(hostile)) })
}
process.exit(0)
