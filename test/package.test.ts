import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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
