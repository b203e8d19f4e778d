// Makes the files that start at once: the entry, the commands that are one call, all commands, the language server, and
// the daemon (src/code-cache.ts).
import { createHash } from 'node:crypto'
import { appendFileSync, chmodSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { build } from 'esbuild'

const common = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  // Each stands where its source stands, so paths beside it are as they were.
  define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
  logLevel: 'warning',
}

// A CommonJS entry: Node need not load what loads modules, unless this is the daemon or the bridge.
const program = 'dist/src/main.cjs'
await build({
  ...common,
  entryPoints: ['dist/src/main.js'],
  outfile: program,
  external: ['./daemon.js', './front/*'],
})
chmodSync(program, 0o755)

const commands = {
  ...common,
  entryPoints: ['dist/src/front/cli.js'],
  // A package's CommonJS form may look for its own files at run time, which one file does not have.
  mainFields: ['module', 'main'],
  // Half of the file: in this form it is one function, which V8 passes over where a command does not need it.
  alias: { zod: createRequire(import.meta.url).resolve('zod') },
  // Both look for files of their own beside them, and no command that has to start at once needs them.
  external: ['pino', 'msgpackr'],
}

/** Leaves out what is loaded by commands for which that does not hold. */
const loading = isMeant => ({
  name: 'loading',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\// }, ({ kind, path, importer }) =>
      kind === 'dynamic-import' && !isMeant(path, importer) ? { path, external: true } : undefined,
    )
  },
})

const [CALL, LSP, SERVE] = ['./commands/call.js', './lsp/server.js', './commands/kernels.js']
const parts = [
  ['dist/src/front/cli.cjs', path => path !== LSP],
  ['dist/src/front/call.cjs', path => path === CALL],
  ['dist/src/front/lsp.cjs', path => path === LSP],
]
for (const [outfile, isMeant] of parts) await build({ ...commands, outfile, plugins: [loading(isMeant)] })

// The daemon, with the command line that starts it: hundreds of files would be found and read one by one.
const daemon = 'dist/src/front/daemon.cjs'
const { entryPoints: _, alias: __, ...whole } = commands
await build({
  ...whole,
  outfile: daemon,
  stdin: { contents: "export * from './front/cli.js'; export * from './daemon.js'", resolveDir: 'dist/src' },
  external: [...commands.external, 'ws'],
  plugins: [loading((path, importer) => path === SERVE || !importer.endsWith('/front/cli.js'))],
})
const files = [...parts.map(([file]) => file), daemon]

// The name of this build, for what is kept of it: the last 16 bytes of all.
const name = createHash('sha256')
for (const file of files) name.update(readFileSync(file))
const end = `//${name.digest('hex').slice(0, 16)}`
for (const file of files) appendFileSync(file, end)
