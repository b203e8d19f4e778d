import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { circlesIn, codeLinesOf, filesIn, importsOf, textOf } from '../test/support/imports.ts'
import { pathsTaken } from './paths.ts'

/**
 * `npm run house`: the size of the house, from the code. For each folder its files, lines and code lines (without blanks and
 * comments); the circles of imports; the small files that have one importer; and how many files the daemon runs through for a
 * warm `eval_expr` and an approved `edit_file` (`bench/paths.ts`).
 */
const PRODUCT = ['src', 'tools', 'wire', 'editors'].filter(folder => existsSync(folder))
const LANGUAGES = ['.ts', '.tsx', '.css', '.py', '.lisp', '.asd', '.lua', '.el']
const SMALL = 80

const product = filesIn(PRODUCT, LANGUAGES).filter(path => !isTest(path))
const tests = [...filesIn(['test'], [...LANGUAGES, '.mjs']), ...filesIn(PRODUCT, LANGUAGES).filter(isTest)]

const rooms = [...new Set(product.map(roomOf))].sort()
row('room', 'files', 'lines', 'code')
for (const room of rooms)
  sizeOf(
    room,
    product.filter(path => roomOf(path) === room),
  )
for (const language of LANGUAGES)
  sizeOf(
    `all ${language}`,
    product.filter(path => path.endsWith(language)),
  )
sizeOf('product', product)
sizeOf('tests', tests)

const arrows = product
  .filter(path => /\.(?:tsx?|py)$/.test(path))
  .flatMap(path => importsOf(path, textOf(path)))
const circles = circlesIn(arrows)
console.log(`\n${circles.length} import circles, of ${circles.flat().length} files`)
for (const circle of circles) console.log(`  ${circle.join(' ')}`)

const importers = new Map<string, Set<string>>()
for (const { from, to } of arrows) importers.set(to, (importers.get(to) ?? new Set()).add(from))
const shreds = product.flatMap(path => {
  const [only, ...others] = importers.get(path) ?? []
  const lines = linesOf(path)
  return only === undefined || others.length > 0 || lines >= SMALL ? [] : [{ path, lines, only }]
})
console.log(`\n${shreds.length} files under ${SMALL} lines with one importer`)
for (const { path, lines, only } of shreds) console.log(`  ${lines} ${path} (${only})`)

const paths = await pathsTaken()
console.log(`\na warm eval_expr runs through ${paths.eval.files.length} files`)
console.log(
  `an approved edit_file runs through ${paths.edit.files.length} files, and calls lstat ${paths.edit.lstats} times`,
)

function isTest(path: string): boolean {
  return path.includes('/tests/')
}

function roomOf(path: string): string {
  return dirname(path)
}

function linesOf(path: string): number {
  return textOf(path).split('\n').length - 1
}

function sizeOf(name: string, paths: readonly string[]): void {
  const lines = paths.reduce((sum, path) => sum + linesOf(path), 0)
  const code = paths.reduce((sum, path) => sum + codeLinesOf(path, textOf(path)), 0)
  row(name, paths.length, lines, code)
}

function row(name: string, ...figures: readonly (string | number)[]): void {
  console.log(`${name.padEnd(36)}${figures.map(figure => String(figure).padStart(8)).join('')}`)
}
