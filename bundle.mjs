// Makes the files that start at once: the entry, the commands that are one call, all commands, the language server, the
// agent, and the daemon (src/code-cache.ts); and the page, for a browser.
import { createHash } from 'node:crypto'
import { appendFileSync, chmodSync, copyFileSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { build } from 'esbuild'

const common = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  // Each stands where its source stands, so paths beside it are as they were.
  define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename', IS_BUILT: 'true' },
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
  // A package's CommonJS form may look for its own files at run time, which one file does not have.
  mainFields: ['module', 'main'],
  // Half of the file: in this form it is one function, which V8 passes over where a command does not need it.
  alias: { zod: createRequire(import.meta.url).resolve('zod') },
  // It looks for files of its own beside it, and no command that has to start at once needs it.
  external: ['msgpackr'],
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

const [CLI, CALL, LSP, SERVE] = [
  './front/cli.js',
  './commands/call.js',
  './lsp/server.js',
  './commands/kernels.js',
]
const AGENT = ['./commands/ask.js', './commands/runs.js']
const parts = [
  ['cli', [CLI], path => path !== LSP && !AGENT.includes(path)],
  ['call', [CLI], path => path === CALL],
  ['lsp', [CLI], path => path === LSP],
  // The providers ask for zod by other names, and get the same one as our code.
  [
    'agent',
    [CLI],
    (path, importer) => AGENT.includes(path) || !importer.endsWith('/front/cli.js'),
    { alias: {} },
  ],
  // The daemon, with the command that starts it: hundreds of files would be found and read one by one. The MCP library asks
  // for zod by another name, and gets the same one as our code.
  [
    'daemon',
    [CLI, './daemon.js'],
    (path, importer) => path === SERVE || !importer.endsWith('/front/cli.js'),
    { alias: {} },
  ],
]
for (const [name, modules, isMeant, more] of parts)
  await build({
    ...commands,
    ...more,
    stdin: {
      contents: modules.map(module => `export * from '${module}'\n`).join(''),
      resolveDir: 'dist/src',
    },
    outfile: `dist/src/front/${name}.cjs`,
    plugins: [loading(isMeant)],
  })
const files = parts.map(([name]) => `dist/src/front/${name}.cjs`)

// The name of this build, for what is kept of it: the last 16 bytes of all.
const name = createHash('sha256')
for (const file of files) name.update(readFileSync(file))
const end = `//${name.digest('hex').slice(0, 16)}`
for (const file of files) appendFileSync(file, end)

// From its sources: a browser runs it, so it is compiled by another tsconfig.
await build({
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2023',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
  entryPoints: { page: 'src/page/app.tsx' },
  outdir: 'dist/src/page',
})
await build({
  minify: true,
  logLevel: 'warning',
  entryPoints: ['src/page/page.css'],
  outdir: 'dist/src/page',
})
copyFileSync('src/page/page.html', 'dist/src/page/index.html')
