import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative, sep } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** One import of one file. `to` is a file of this repository, the name of a package, or `?` where it is computed. */
export interface Arrow {
  readonly from: string
  readonly to: string
  /** Loaded while the program runs, and not before. */
  readonly lazy: boolean
}

/** Every file below these folders of the repository, as paths from its root. */
export function filesIn(folders: readonly string[], endings: readonly string[]): string[] {
  return folders
    .flatMap(folder =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(path => join(folder, path)),
    )
    .map(path => path.split(sep).join('/'))
    .filter(path => endings.some(ending => path.endsWith(ending)))
    .filter(path => !path.includes('__pycache__'))
    .sort()
}

export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

// Reads too much rather than too little: an import in a comment counts, so that none can hide behind syntax.
const FROM = /\b(?:from|import)\s*(['"])([^'"\s,]+)\1/g
const CALLED = /\b(import|require)\s*\(\s*(?:(['"`])([^'"`\n]*)\2\s*[,)])?/g

/** Every import of a source text: type-only ones, re-exports, side effects, `import()` as a value or a type. */
export function importsOf(path: string, text: string): Arrow[] {
  if (path.endsWith('.py')) return pythonImportsOf(path, text)
  const plain = [...text.matchAll(FROM)].map(([, , to = '?']) => ({ to, lazy: false }))
  const called = [...text.matchAll(CALLED)].map(([, word, , to = '?']) => ({
    to: to.includes('${') ? '?' : to,
    lazy: word === 'import',
  }))
  return [...plain, ...called].map(({ to, lazy }) => ({ from: path, to: resolved(path, to), lazy }))
}

const PYTHON_FROM = /^([ \t]*)from[ \t]+([\w.]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n]*))/gm
const PYTHON_IMPORT = /^([ \t]*)import[ \t]+([^\n]*)/gm
/** Where the packages of ours are that the peers are made of. */
const PYTHON_PACKAGES: Readonly<Record<string, string>> = {
  imago: 'wire/peers/python',
  imago_wolfram: 'wire/peers/wolfram',
}

/** Every import of a Python text. Those within functions are lazy, and count all the same. */
function pythonImportsOf(path: string, text: string): Arrow[] {
  const from = [...text.matchAll(PYTHON_FROM)].flatMap(([, indent, module = '', several, one = '']) =>
    namesIn(several ?? one).map(name => ({
      to: moduleFile(`${module}.${name}`) ?? moduleFile(module) ?? module.split('.')[0] ?? '?',
      lazy: indent !== '',
    })),
  )
  const plain = [...text.matchAll(PYTHON_IMPORT)].flatMap(([, indent, names = '']) =>
    namesIn(names).map(name => ({
      to: moduleFile(name) ?? name.split('.')[0] ?? '?',
      lazy: indent !== '',
    })),
  )
  return [...from, ...plain].map(arrow => ({ from: path, ...arrow }))
}

/** `a, b as c  # of those` → a, b */
function namesIn(list: string): string[] {
  const names = list.replaceAll(/#.*$/gm, '').split(',')
  return names.map(name => name.trim().split(/\s+/)[0] ?? '').filter(name => name !== '')
}

/** The file of a module of ours. */
function moduleFile(name: string): string | undefined {
  const folder = PYTHON_PACKAGES[name.split('.')[0] ?? '']
  if (folder === undefined) return undefined
  const path = `${folder}/${name.replaceAll('.', '/')}`
  return [`${path}.py`, `${path}/__init__.py`].find(file => existsSync(join(root, file)))
}

/** The circles of imports, each as its files in order: files that can all be reached from each other (Tarjan, 1972). */
export function circlesIn(arrows: readonly Arrow[]): string[][] {
  const importsFrom = new Map<string, string[]>()
  for (const { from, to } of arrows) importsFrom.set(from, [...(importsFrom.get(from) ?? []), to])
  const indexes = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []

  function visit(file: string): number {
    const index = indexes.size
    indexes.set(file, index)
    stack.push(file)
    let low = index
    for (const to of importsFrom.get(file) ?? []) {
      if (!indexes.has(to)) low = Math.min(low, visit(to))
      else if (stack.includes(to)) low = Math.min(low, indexes.get(to) ?? low)
    }
    if (low === index) {
      const circle = stack.splice(stack.indexOf(file))
      if (circle.length > 1) circles.push(circle.sort())
    }
    return low
  }

  for (const file of importsFrom.keys()) if (!indexes.has(file)) visit(file)
  return circles
}

const COMMENTS: readonly (readonly [ending: string, comment: RegExp])[] = [
  ['.tsx', /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm],
  ['.ts', /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm],
  ['.py', /^\s*(?:[rR]?"""[\s\S]*?"""|#.*)$/gm],
  ['.lisp', /#\|[\s\S]*?\|#|^\s*;.*$/gm],
]

/** How many lines of a source text are neither blank nor comments. A Python docstring is a comment, a Lisp one is code. */
export function codeLinesOf(path: string, text: string): number {
  const comment = COMMENTS.find(([ending]) => path.endsWith(ending))?.[1]
  const code = comment === undefined ? text : text.replace(comment, '')
  return code.split('\n').filter(line => line.trim() !== '').length
}

function resolved(path: string, to: string): string {
  if (to.startsWith('.')) return posix.normalize(posix.join(posix.dirname(path), to))
  if (to.startsWith('/')) return relative(root, to)
  if (to === '?' || to.startsWith('node:')) return to
  return to
    .split('/')
    .slice(0, to.startsWith('@') ? 2 : 1)
    .join('/')
}
