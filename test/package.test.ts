import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { assert, suite } from './support/harness.ts'

interface Locked {
  readonly resolved?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const test = suite('package')
const root = join(import.meta.dirname, '..')
const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8')) as Record<string, unknown>
const locked = Object.entries(read('package-lock.json').packages as Record<string, Locked>)

test('the lock file has an entry for every optional package, or npm ci refuses it', () => {
  const names = new Set(locked.map(([path]) => path.replace(/^.*node_modules\//, '')))
  const wanted = locked.flatMap(([, entry]) => Object.keys(entry.optionalDependencies ?? {}))
  assert.ok(wanted.length > 0)
  assert.equal(
    wanted.filter(name => !names.has(name)),
    [],
  )
})

test('the lock file names no address to download from', () => {
  assert.equal(
    locked.filter(([, entry]) => entry.resolved?.startsWith('http')),
    [],
  )
})

test('dependencies are pinned', () => {
  const { dependencies, devDependencies } = read('package.json') as Record<string, Record<string, string>>
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([, range]) =>
    /[^\d.]/.test(range),
  )
  assert.equal(loose, [])
})

test('what is published has both far ends, without what Python compiled and without its tests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'imago-packed-'))
  try {
    const python = 'wire/peers/python'
    const shipped = [
      'dist/src/main.js',
      'docs/index.md',
      'package.json',
      'wire/peers/lisp/imago-peer.asd',
      'wire/peers/lisp/start.lisp',
      `${python}/imago/looking/fields.py`,
    ]
    const left = [
      `${python}/imago/looking/__pycache__/fields.cpython-311.pyc`,
      `${python}/imago/stray.pyc`,
      `${python}/tests/test_calls.py`,
    ]
    for (const name of [...shipped, ...left]) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), '')
    }
    cpSync(join(root, 'package.json'), join(folder, 'package.json'))
    const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [packed] = JSON.parse(said) as { files: { path: string }[] }[]
    assert.equal(packed?.files.map(({ path }) => path).sort(), shipped)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
