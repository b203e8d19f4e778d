import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { attacksPage } from './pages/attacks.ts'
import { errorsPage } from './pages/errors.ts'
import { operationsPage } from './pages/operations.ts'
import { performancePage } from './pages/performance.ts'
import { syntaxesPage } from './pages/syntaxes.ts'
import { toolsPage } from './pages/tools.ts'
import { wireBytesPage } from './pages/wire-bytes.ts'
import { wireSchemaPage } from './pages/wire-schema.ts'

/**
 * Writes the pages that are made from code. With `--check` it writes nothing, names the pages that differ from
 * what the code says, and exits 1 if there is one.
 */
const PAGES: Readonly<Record<string, () => string>> = {
  'tools.md': toolsPage,
  'attacks.md': attacksPage,
  'errors.md': errorsPage,
  'operations.md': operationsPage,
  'performance.md': performancePage,
  'syntaxes.md': syntaxesPage,
  'wire-bytes.md': wireBytesPage,
  'wire-schema.json': wireSchemaPage,
}

const check = process.argv.includes('--check')
const stale = Object.entries(PAGES).filter(([name, page]) => written(name) !== page())

if (!check) for (const [name, page] of stale) writeFileSync(path(name), page())
for (const [name] of stale)
  console.log(check ? `docs/${name} differs; run: npm run docs` : `wrote docs/${name}`)
process.exitCode = check && stale.length > 0 ? 1 : 0

function written(name: string): string | undefined {
  try {
    return readFileSync(path(name), 'utf8')
  } catch {
    return undefined
  }
}

function path(name: string): string {
  return join(import.meta.dirname, name)
}
