import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const compiled = join(import.meta.dirname, '../../.test-runtimes/compiled')
const OPTIONS = { loader: 'ts', format: 'esm', target: 'node20', sourcemap: 'inline', sourcesContent: false }

/** Node's hook: a `.ts` module without its types, compiled anew only when its text is another. */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context)
  const path = fileURLToPath(url)
  const text = readFileSync(path, 'utf8')
  const kept = join(compiled, `${hashOf(path)}.js`)
  // Its last line says what it was compiled from.
  const mark = `\n// ${hashOf(JSON.stringify(OPTIONS) + text)}\n`
  const code = read(kept)
  if (code?.endsWith(mark)) return { format: 'module', source: code, shortCircuit: true }
  return { format: 'module', source: await compile({ path, text, kept, mark }), shortCircuit: true }
}

const hashOf = text => createHash('sha256').update(text).digest('hex')

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

async function compile({ path, text, kept, mark }) {
  const { transformSync } = await import('esbuild')
  const code = transformSync(text, { ...OPTIONS, sourcefile: path }).code + mark
  mkdirSync(compiled, { recursive: true })
  // Another process may be at the same file.
  writeFileSync(`${kept}.${process.pid}`, code)
  renameSync(`${kept}.${process.pid}`, kept)
  return code
}
