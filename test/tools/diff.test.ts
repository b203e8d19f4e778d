import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { applyPatch } from 'diff'
import fc from 'fast-check'
import { unifiedDiff } from '../../tools/diff.ts'
import { linesOf, newlineOf, spelled, unspelled } from '../../tools/newlines.ts'
import { assert, isLong, suite } from '../support/harness.ts'

const test = suite('diff')

const diff = (before: string | null, after: string | null, path = 'src/shop.py') =>
  unifiedDiff({ path, before, after })

test('a change is shown as git shows it, with three lines of context', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\nh\n'
  const { groups, ...shown } = diff(before, before.replace('e\n', 'E\nE\n'))
  assert.equal(groups, [[{ old: 4, new: 4, removed: 1, added: 2 }]])
  assert.equal(shown, {
    text: [
      'diff --git a/src/shop.py b/src/shop.py',
      '--- a/src/shop.py',
      '+++ b/src/shop.py',
      '@@ -2,7 +2,8 @@',
      ' b',
      ' c',
      ' d',
      '-e',
      '+E',
      '+E',
      ' f',
      ' g',
      ' h',
      '',
    ].join('\n'),
    added: 2,
    removed: 1,
  })
})

test('a new file is all added lines with its mode, and one that goes away all removed ones', () => {
  assert.match(
    diff(null, 'a\nb\n').text,
    'new file mode 100644\n--- /dev/null\n+++ b/src/shop.py\n@@ -0,0 +1,2 @@\n+a\n+b\n',
  )
  assert.match(
    diff('a\n', null).text,
    'deleted file mode 100644\n--- a/src/shop.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n',
  )
  assert.match(diff(null, '').text, /^diff --git .*\nnew file mode 100644\n$/)
  assert.is(diff('a\n', 'a\n').text, '')
})

test('a name that looks like another, or would break the header, is written in escapes (threat 17)', () => {
  assert.match(diff('a', 'b', 'src/p\u0430y.py').text, '"a/src/p\\320\\260y.py"')
  assert.match(diff('a', 'b', 'x\n+++ b/other').text, '"a/x\\n+++ b/other"')
})

/** Lines out of few, so that they repeat, with every kind of line end. */
const text = fc
  .array(
    fc.tuple(
      fc.constantFrom('', 'a', 'b', ' a', '-', '+a', '@@ -1 +1 @@', '\\ No', 'é', '\t'),
      fc.constantFrom('\n', '\n', '\r\n', '\r'),
    ),
    { maxLength: 40 },
  )
  .chain(lines =>
    fc.constantFrom('', 'z', '\r').map(last => lines.map(line => line.join('')).join('') + last),
  )

/** Two that have much in common. */
const pair = fc.oneof(
  fc.tuple(text, text),
  fc
    .tuple(text, fc.array(fc.tuple(fc.nat(60), fc.nat(3), text), { maxLength: 3 }))
    .map(([before, edits]): [string, string] => {
      const lines = linesOf(before)
      for (const [at, count, other] of edits) lines.splice(at, count, ...linesOf(other).slice(0, 3))
      return [before, lines.join('')]
    }),
)

test('applied to the old content a diff gives the new one, whatever they are', () => {
  fc.assert(
    fc.property(pair, ([before, after]) => {
      const { text: patch, added, removed } = diff(before, after)
      if (before === after) return patch === ''
      assert.is(applyPatch(before, patch, { autoConvertLineEndings: false }), after)
      const marked = (mark: string) =>
        patch.split('\n').filter(line => line.startsWith(mark) && !/^(---|\+\+\+) [ab]\//.test(line)).length
      assert.equal([marked('+'), marked('-')], [added, removed])
      return true
    }),
    { numRuns: isLong ? 2_000 : 500 },
  )
})

test('git and patch apply a diff to the same result', () => {
  const folder = mkdtempSync(join(tmpdir(), 'imago-diff-'))
  try {
    for (const [before, after] of fc.sample(pair, { numRuns: 20, seed: 7 })) applied(folder, before, after)
    applied(folder, null, 'new\nfile')
    applied(folder, null, '')
    applied(folder, 'a b\r\nc\r\n', 'a b\r\nd\r\n', 'a file/with blanks ä.txt')
    const many = (mark: string) => Array.from({ length: 9_000 }, (_, n) => (n % 3 ? `${n}\n` : mark)).join('')
    applied(folder, many('old\n'), many('new\n'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

function applied(folder: string, before: string | null, after: string, path = 'src/shop.py') {
  if (before === after) return
  const { text: patch } = diff(before, after, path)
  const run = (program: string, args: readonly string[]) => {
    const file = join(folder, path)
    rmSync(file, { force: true })
    mkdirSync(dirname(file), { recursive: true })
    if (before !== null) writeFileSync(file, before)
    const { status, error, stderr } = spawnSync(program, args, {
      cwd: folder,
      input: patch,
      encoding: 'utf8',
    })
    if (error !== undefined && 'code' in error && error.code === 'ENOENT') return
    assert.is(status, 0, `${program}: ${stderr}\n${JSON.stringify({ before, after })}`)
    assert.is(readFileSync(file, 'utf8'), after, program)
  }
  run('git', ['-c', 'core.autocrlf=false', 'apply', '--whitespace=nowarn', '-'])
  // GNU patch takes a diff in which all lines end with CR LF for one that was damaged on its way.
  if (after !== '') run('patch', ['--binary', '-p1', '--silent'])
}

/** Contents that differ nearly everywhere, for which the shortest difference is out of reach. */
const LARGE: readonly (readonly [what: string, make: (side: string) => string])[] = [
  [
    '8 MiB in which every second line differs',
    side => repeated(200_000, n => `${n % 2 ? n : side + n} of many lines here\n`),
  ],
  ['8 MiB of other lines', side => repeated(200_000, n => `${side}${n} of lines, all different\n`)],
  [
    '4 million empty lines, and some more',
    side => `${'\n'.repeat(4_000_000)}${side}${'\n'.repeat(side === 'a' ? 1 : 100_000)}`,
  ],
  ['lines out of two, at random', side => repeated(1_000_000, random(side))],
  ['one line of 8 MiB', side => side.repeat(8 << 20)],
]

for (const [what, make] of LARGE)
  test(`a diff of large contents ends, and is exact: ${what}`, () => {
    const [before, after] = [make('a'), make('b')]
    const { text: patch, added, removed } = diff(before, after)
    assert.ok(added > 0 && removed > 0)
    assert.is(rebuilt(before, patch) === after, true)
  })

test('edits in thousands of places are each shown in their place', () => {
  const before = repeated(200_000, n => (n % 20 === 0 ? 'return None\n' : `${n}\n`))
  const { added, removed } = diff(before, before.replaceAll('None', 'null'))
  assert.equal({ added, removed }, { added: 10_000, removed: 10_000 })
})

function repeated(count: number, line: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => line(n)).join('')
}

function random(seed: string): () => string {
  let state = seed.charCodeAt(0)
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state & 65_536 ? 'x\n' : 'y\n'
  }
}

/** Applies a patch in one pass; the package's own search is not meant for hunks of this size. */
function rebuilt(before: string, patch: string): string {
  const old = linesOf(before)
  const made: string[] = []
  let at = 0
  let last = ''
  for (const line of linesOf(patch.slice(patch.indexOf('\n@@ ') + 1))) {
    const start = /^@@ -(\d+),(\d+) /.exec(line)
    const to = start === null ? at : Number(start[1]) - (start[2] === '0' ? 0 : 1)
    for (; at < to; at++) made.push(old[at] ?? '')
    if (line.startsWith('\\') && last !== '-') made.push((made.pop() ?? '').slice(0, -1))
    if (line.startsWith('+') || line.startsWith(' ')) made.push(line.slice(1))
    if (line.startsWith('-') || line.startsWith(' ')) at++
    last = line.slice(0, 1)
  }
  return made.join('') + old.slice(at).join('')
}

test('a text of one kind of line end is the same after it was read with LF and written again', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[^\r\n]*$/)),
      fc.constantFrom('\n', '\r\n', '\r'),
      (lines, end) => {
        const text = lines.join(end)
        assert.is(spelled(unspelled(text, newlineOf(text)), newlineOf(text)), text)
      },
    ),
  )
})
