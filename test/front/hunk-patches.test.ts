import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ShownHunk } from '../../src/approvals/contract.ts'
import { choiceOf, fromPatch, joined, type Part, patchOf, split } from '../../src/front/hunks/patch.ts'
import { escapePlan } from '../../src/text/escape.ts'
import { unifiedDiff } from '../../tools/diff.ts'
import { assert, suite } from '../support/harness.ts'
import { random } from '../support/random.ts'

const test = suite('hunks for an editor')

/** A hunk in a file: what stands above it, its own lines, and what stands below. */
interface Place {
  readonly above?: string
  readonly before: string
  readonly after: string
  readonly below?: string
}

function hunkOf({ above = '', before, after, below = '' }: Place): ShownHunk {
  const diff = unifiedDiff({ path: 'x', before: above + before + below, after: above + after + below })
  return {
    number: 1,
    shown: 'x',
    line: above.split('\n').length,
    before,
    after,
    diff: escapePlan(diff.text.replace(/^[\s\S]*?(?=^@@)/m, '')).text,
    why: null,
  }
}

const lines = (patch: string) => patch.split('\n').filter(line => !line.startsWith('#'))

const SHOP = hunkOf({
  above: 'import os\n\n',
  before: 'def next(n):\n    return None\n',
  after: 'def next(n):\n    return n + 1\n',
  below: '\nprint(next(1))\n',
})

test('an editor is given the lines of a hunk as git gives them, and around them what stands there', () => {
  const patch = patchOf(SHOP)
  assert.equal(lines(patch), [
    '@@ -3,2 +3,2 @@',
    ' def next(n):',
    '-    return None',
    '+    return n + 1',
    '',
  ])
  assert.match(patch, '#    import os\n')
  assert.match(patch, '#    print(next(1))\n')
  assert.match(patch, "# To keep a line that begins with '-', make its '-' a ' '.")
})

test('a patch that was not touched is the hunk as it was', () => {
  assert.equal(fromPatch(SHOP, patchOf(SHOP)), { type: 'text', text: SHOP.after })
})

const edited = (...edits: readonly (readonly [string, string])[]) =>
  fromPatch(
    SHOP,
    edits.reduce((patch, [from, to]) => patch.replace(from, to), patchOf(SHOP)),
  )

test('a line is kept by a blank in place of its minus, left out by deleting it, and put in with a plus', () => {
  const kept = edited(['-    return None', '     return None'], ['+    return n + 1', '+    # later'])
  assert.equal(kept, { type: 'text', text: 'def next(n):\n    return None\n    # later\n' })
  assert.equal(edited(['+    return n + 1\n', '']), { type: 'text', text: 'def next(n):\n' })
  const more = edited(['+    return n + 1', '+    n += 1\n+    return n'])
  assert.equal(more, { type: 'text', text: 'def next(n):\n    n += 1\n    return n\n' })
})

test('that nothing ends the last line of a file needs no care in an edit', () => {
  const hunk = hunkOf({ before: 'a\nb', after: 'a\nc' })
  const written = ['@@ -1,2 +1,2 @@', ' a', '-b', '\\ No newline at end of file', '+c']
  assert.equal(lines(patchOf(hunk)), [...written, '\\ No newline at end of file', ''])
  assert.equal(fromPatch(hunk, [...written, ''].join('\n')), { type: 'text', text: 'a\nc\n' })
  const kept = patchOf(hunk).replace('-b', ' b')
  assert.equal(fromPatch(hunk, kept), { type: 'text', text: 'a\nb\nc' })
  const without = hunkOf({ before: 'a\nb\n', after: 'a\nb\nc' })
  const left = patchOf(without).replace('+c\n', '').replace('\n a\n', '\n a\n+d\n')
  assert.equal(fromPatch(without, left), { type: 'text', text: 'a\nd\nb\n' })
})

test('nothing at all, or remarks alone, leave a hunk undecided', () => {
  for (const text of ['', '\n', '# a remark\n', '@@ -3,2 +3,2 @@\n# a remark\n\n'])
    assert.equal(fromPatch(SHOP, text), { type: 'none' }, JSON.stringify(text))
})

const BAD: readonly (readonly [what: string, from: string, to: string, why: RegExp])[] = [
  ['a line of the file that was deleted', '-    return None\n', '', /from line 4 on/],
  ['a line of the file that was changed', ' def next(n):', ' def last(n):', /from line 3 on/],
  ['a line that the file has not', ' def next(n):', ' def next(n):\n     pass', /from line 4 on/],
  [
    'a line that begins with nothing known',
    '+    return',
    'return',
    /Line \d+ of the patch begins with none/,
  ],
  ['a last line that ends nowhere', 'n + 1', 'n + 1\n\\ No newline at end of file', /has to end/],
]

for (const [what, from, to, why] of BAD)
  test(`a patch with ${what} is refused with the cause`, () => {
    const got = edited([from, to])
    assert.is(got.type, 'bad', JSON.stringify(got))
    assert.match(got.type === 'bad' ? got.why : '', why)
  })

test('an edit that would change nothing says how the hunk is refused', () => {
  const got = edited(['-    return None', '     return None'], ['+    return n + 1\n', ''])
  assert.match(got.type === 'bad' ? got.why : '', /would stay as it is. To refuse the hunk, answer n/)
})

test('why a patch is refused quotes nothing of the file (threat 14)', () => {
  const hostile = hunkOf({ before: 'a\x1b]0;y\x07\n', after: 'b\x1b[2J\n' })
  const got = fromPatch(hostile, patchOf(hostile).replace('-a', '-c'))
  assert.is(got.type, 'bad')
  assert.is(JSON.stringify(got).includes(String.raw`\u001b`), false)
})

test('hidden characters reach an editor as they stand in the file, and the diff of a part with marks (threat 14)', () => {
  const hunk = hunkOf({ before: 'keep\nold\n', after: 'keep\nnew \u202e\x1b[31m\n', below: 'on\n' })
  assert.match(patchOf(hunk), '+new \u202e\x1b[31m')
  const [part] = split(hunk)
  assert.match(part?.diff ?? '', '+new ⟦U+202E⟧⟦U+001B⟧[31m')
  assert.is(part?.after, 'new \u202e\x1b[31m\n')
})

test('line ends are those of the file again, whatever an editor makes of them', () => {
  const hunk = hunkOf({ before: 'a\r\nb\r\n', after: 'a\r\nB\r\n' })
  assert.equal(lines(patchOf(hunk)), ['@@ -1,2 +1,2 @@', ' a', '-b', '+B', ''])
  assert.equal(fromPatch(hunk, patchOf(hunk).replace('+B', '+C\n+D')), {
    type: 'text',
    text: 'a\r\nC\r\nD\r\n',
  })
  const mixed = hunkOf({ before: 'a\r\nb\n', after: 'a\r\nB\n' })
  assert.equal(fromPatch(mixed, patchOf(mixed).replace('+B', '+C')), { type: 'text', text: 'a\r\nC\n' })
})

test('a hunk that only adds, or only takes away, can be edited', () => {
  const adds = hunkOf({ above: 'a\n', before: '', after: 'b\n', below: 'c\n' })
  assert.equal(lines(patchOf(adds)), ['@@ -1,0 +2,1 @@', '+b', ''])
  assert.equal(fromPatch(adds, '+c\n+d\n'), { type: 'text', text: 'c\nd\n' })
  const takes = hunkOf({ above: 'a\n', before: 'b\nc\n', after: '', below: 'd\n' })
  assert.equal(fromPatch(takes, ' b\n-c\n'), { type: 'text', text: 'b\n' })
})

test('a hunk is split where lines stand in it that stay, and each part shows what is next to it', () => {
  const before = 'a\n1\n2\n3\n4\nb\nc\n5\nd\n'
  const hunk = hunkOf({ above: 'x\ny\n', before, after: 'A\n1\n2\n3\n4\nc\n5\nd\ne\n', below: 'z\n' })
  const parts = split(hunk)
  assert.equal(
    parts.map(({ part, line, before, after }) => ({ part, line, before, after })),
    [
      { part: 1, line: 3, before: 'a\n', after: 'A\n' },
      { part: 2, line: 8, before: 'b\n', after: '' },
      { part: 3, line: 12, before: '', after: 'e\n' },
    ],
  )
  assert.is(parts[0]?.diff, '@@ -1,6 +1,6 @@\n x\n y\n-a\n+A\n 1\n 2\n 3\n')
  assert.is(parts[1]?.diff, '@@ -5,7 +5,6 @@\n 2\n 3\n 4\n-b\n c\n 5\n d\n')
  assert.is(parts[2]?.diff, '@@ -9,4 +8,5 @@\n c\n 5\n d\n+e\n z\n')
})

test('parts that were decided one by one are one choice for their hunk', () => {
  const hunk = hunkOf({ before: 'a\n1\nb\n', after: 'A\n1\nB\n' })
  const [one, two] = split(hunk) as [Part, Part]
  const accept = (part: Part) => ({ part, decision: { type: 'accept' } }) as const
  const refuse = (part: Part, reason: string | null) =>
    ({ part, decision: { type: 'refuse', reason } }) as const
  assert.equal(choiceOf(hunk, [accept(one), accept(two)]), { hunk: 1, decision: 'accept' })
  assert.equal(choiceOf(hunk, [refuse(one, 'no'), refuse(two, 'no')]), {
    hunk: 1,
    decision: 'refuse',
    reason: 'no',
  })
  assert.equal(choiceOf(hunk, [refuse(one, 'wrong'), refuse(two, 'later')]), {
    hunk: 1,
    decision: 'refuse',
    reason: 'At line 1: wrong At line 3: later',
  })
  assert.equal(choiceOf(hunk, [accept(one), refuse(two, null)]), {
    hunk: 1,
    decision: 'edit',
    text: 'A\n1\nb\n',
    reason: null,
    inPart: true,
  })
  assert.equal(
    choiceOf(hunk, [{ part: one, decision: { type: 'edit', text: 'x\ny\n' } }, refuse(two, 'no')]),
    {
      hunk: 1,
      decision: 'edit',
      text: 'x\ny\n1\nb\n',
      reason: 'no',
    },
  )
})

/** Lines that look like marks of a patch, that are the same, that are blank, or that nothing ends. */
const LINES = ['a', 'b', 'c', '', ' ', '-a', '+b', '#c', '@@ -1 +1 @@', '\\ No', 'ä', 'x\r', '\t']

function drawn(seed: number) {
  const { below } = random(seed)
  const some = (most: number) =>
    Array.from({ length: below(most + 1) }, () => `${LINES[below(LINES.length)]}\n`)
  const before = some(9)
  const after = before.flatMap(line => {
    const dice = below(6)
    return dice === 0 ? [] : dice === 1 ? some(2) : dice === 2 ? [line, ...some(1)] : [line]
  })
  const [above, behind] = [some(5).join(''), below(3) > 0 ? some(5).join('') : '']
  const cut = (text: string) => (behind === '' && below(3) === 0 ? text.replace(/\n$/, '') : text)
  return { place: { above, before: cut(before.join('')), after: cut(after.join('')), below: behind }, below }
}

/** What the person's `git apply` makes of the file with a patch of ours; undefined where it refuses. */
function applied({ above = '', before, below = '' }: Place, patch: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'imago-test-'))
  try {
    writeFileSync(join(folder, 'x'), above + before + below)
    const body = lines(patch).filter(line => line !== '')
    writeFileSync(join(folder, 'patch'), `--- a/x\n+++ b/x\n${body.join('\n')}\n`)
    // git wants its one patch where it says it is, and believes no context: there is none here.
    const git = ['apply', '--recount', '--unidiff-zero', '--whitespace=nowarn', 'patch']
    const { status } = spawnSync('git', git, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } })
    return status === 0 ? readFileSync(join(folder, 'x'), 'utf8') : undefined
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('what is understood of patches, edited at random, is what git makes of them', () => {
  let [good, refused] = [0, 0]
  for (let seed = 1; seed <= 150; seed++) {
    const { place, below } = drawn(seed)
    if (place.before === place.after) continue
    const hunk = hunkOf(place)
    const patch = patchOf(hunk)
      .split('\n')
      .flatMap(line => {
        const dice = below(8)
        if (line.startsWith('-') && dice < 3) return [` ${line.slice(1)}`]
        if (line.startsWith('+') && dice < 2) return []
        if (line.startsWith('+') && dice === 2) return [line, '+more']
        return /^[ -]/.test(line) && dice === 7 && below(3) === 0 ? [`${line}?`] : [line]
      })
      .join('\n')
    const got = fromPatch(hunk, patch)
    const theirs = applied(place, patch)
    // Of lines that nothing ends, git expects that the patch says so in the right place.
    const unended = patch.includes('\\ No newline')
    if (got.type !== 'text') {
      refused++
      if (unended) continue
      const same = `${place.above}${place.before}${place.below}`
      assert.ok(theirs === undefined || theirs === same, `seed ${seed}: ${JSON.stringify({ got, patch })}`)
      continue
    }
    good++
    const ours = `${place.above}${got.text}${place.below}`
    if (!unended) assert.is(theirs, ours, `seed ${seed}\n${patch}`)
    else if (theirs !== undefined) assert.is(theirs.replaceAll('\n', ''), ours.replaceAll('\n', ''), patch)
  }
  assert.ok(good > 60 && refused > 10, `${good} good, ${refused} refused`)
})

test('the parts of a hunk at random, each taken or not, are what git makes of their diffs', () => {
  let several = 0
  for (let seed = 1; seed <= 150; seed++) {
    const { place, below } = drawn(seed)
    if (place.before === place.after) continue
    const hunk = hunkOf(place)
    const parts = split(hunk)
    if (parts.length > 1) several++
    const taken = parts.filter(() => below(2) === 0)
    const text = joined(
      hunk,
      taken.map(part => ({ part, text: part.after })),
    )
    if (taken.length === parts.length) assert.is(text, place.after)
    if (taken.length === 0) assert.is(text, place.before)
    const [only] = taken
    if (taken.length !== 1 || only === undefined) continue
    const theirs = applied(place, patchOf(only))
    assert.is(theirs, `${place.above}${text}${place.below}`, `seed ${seed}\n${patchOf(only)}`)
  }
  assert.ok(several > 30, `${several} with several parts`)
})
