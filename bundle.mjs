// Makes the one file that holds all commands but the daemon: see src/code-cache.ts.
import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { build } from 'esbuild'

const file = 'dist/src/front/cli.cjs'

await build({
  entryPoints: ['src/front/cli.ts'],
  outfile: file,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  // A package's CommonJS form may look for its own files at run time, which one file does not have.
  mainFields: ['module', 'main'],
  // The file stands where its entry stands, so paths beside it are as they were.
  define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
  // Both look for files of their own beside them, and no command that has to start at once needs them.
  external: ['pino', 'msgpackr'],
  logLevel: 'warning',
})

// The name of this build, for what is kept of it: its last 16 bytes.
appendFileSync(file, `//${createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16)}`)
