import { applyPatch } from 'diff'
import fc from 'fast-check'
import type { Choice, Hunk } from '../../tools/contract.ts'
import { unifiedDiff } from '../../tools/diff.ts'
import {
  applied,
  type Edit,
  fatesOf,
  hunksFrom,
  hunksOfDiff,
  MOST_HUNKS,
  showFates,
  widened,
} from '../../tools/hunks.ts'
import { linesOf, newlineOf } from '../../tools/newlines.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('hunks')

const fileOf = (text: string) => ({
  path: '/project/a.txt',
  shown: 'a.txt',
  newline: newlineOf(text),
  text,
})

const hunksOf = (text: string, edits: readonly Omit<Edit, 'why'>[]): Hunk[] => {
  const all = edits.map(edit => ({ ...edit, why: null }))
  return hunksFrom(fileOf(text), widened(text, all))
}

/** One edit of the only place where that stands. */
const edit = (text: string, old: string, put: string): Hunk => {
  const from = text.indexOf(old)
  const [hunk] = hunksOf(text, [{ number: 1, from, to: from + old.length, text: put }])
  if (hunk === undefined) throw new Error('an edit has no hunk')
  return hunk
}

const linesIn = ({ line, before, after }: Hunk) => [line, before, after]

test('a hunk is the whole lines that an edit touches, and no others', () => {
  const text = 'one\ntwo two\nthree\nfour\n'
  assert.equal(linesIn(edit(text, 'wo t', '')), [2, 'two two\n', 'two\n'])
  assert.equal(linesIn(edit(text, 'two two\n', '')), [2, 'two two\n', ''])
  assert.equal(linesIn(edit(text, '\nthree', '')), [3, 'three\n', ''])
  assert.equal(linesIn(edit(text, 'three\n', 'three and ')), [3, 'three\nfour\n', 'three and four\n'])
  assert.equal(linesIn(edit(text, 'three\n', 'three\nthree and a half\n')), [4, '', 'three and a half\n'])
  assert.equal(linesIn(edit(text, 'one\n', 'zero\none\n')), [1, '', 'zero\n'])
})

test('a last line that does not end is kept so, and ended where something follows it', () => {
  const text = 'a\nb'
  assert.equal(linesIn(edit(text, 'b', 'B')), [2, 'b', 'B'])
  assert.equal(linesIn(edit(text, 'b', 'b\nc\n')), [2, 'b', 'b\nc\n'])
  assert.equal(linesIn(edit(text, '\nb', '')), [1, 'a\nb', 'a'])
})

test('the text of a hunk is what git shows of it, with three lines of context, as if it were alone', () => {
  const text = Array.from({ length: 12 }, (_, index) => `${index + 1}\n`).join('')
  const [first, second] = hunksOf(text, [
    { number: 2, from: text.indexOf('9\n'), to: text.indexOf('9\n') + 2, text: 'nine\nand a half\n' },
    { number: 1, from: text.indexOf('5\n'), to: text.indexOf('5\n') + 2, text: '' },
  ])
  assert.is(first?.diff, '@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n')
  assert.is(second?.diff, '@@ -6,7 +6,8 @@\n 6\n 7\n 8\n-9\n+nine\n+and a half\n 10\n 11\n 12\n')
  assert.equal([first?.number, second?.number], [1, 2])
})

test('what a person wrote has the line ends of the file, and is a line of its own', () => {
  const text = 'a\r\nb\r\nc\r\n'
  const hunk = edit(text, 'b', 'B')
  const written = (put: string) => applied(fileOf(text), [hunk], [chose(1, put)])
  assert.is(written('x\ny\n'), 'a\r\nx\r\ny\r\nc\r\n')
  assert.is(written('x\r\ny\r\n'), 'a\r\nx\r\ny\r\nc\r\n')
  assert.is(written('x\ny'), 'a\r\nx\r\ny\r\nc\r\n')
  assert.is(written(''), 'a\r\nc\r\n')
  const last = edit('a\nb', 'b', 'B')
  assert.is(applied(fileOf('a\nb'), [last], [chose(1, 'x')]), 'a\nx')
})

const chose = (hunk: number, text: string): Choice => ({ hunk, decision: 'edit', text, reason: null })

test('what became of each is told by its number, with what was written where that is not what was proposed', () => {
  const text = 'a\r\nb\r\nc\r\n'
  const hunks = hunksOf(text, [
    { number: 2, from: 0, to: 1, text: 'A' },
    { number: 1, from: 3, to: 4, text: 'B' },
    { number: 3, from: 6, to: 7, text: 'C' },
  ])
  const told = fatesOf(hunks, [
    { hunk: 1, decision: 'edit', text: 'x\r\ny\r\n', reason: 'two of them' },
    { hunk: 2, decision: 'edit', text: 'A\n', reason: null },
    { hunk: 3, decision: 'refuse', reason: null },
  ])
  assert.equal(
    told.map(({ number, line, outcome, reason, text: put }) => [number, line, outcome, reason, put]),
    [
      [1, 2, 'edited', 'two of them', 'x\ny\n'],
      [2, 1, 'applied', null, undefined],
      [3, 3, 'refused', null, undefined],
    ],
  )
})

test('a hunk of which some lines were taken as proposed was not edited, but applied in part', () => {
  const hunks = hunksOf('a\nb\n', [{ number: 1, from: 0, to: 1, text: 'A\nB' }])
  const fates = fatesOf(hunks, [{ hunk: 1, decision: 'edit', text: 'A\n', reason: 'no B', inPart: true }])
  assert.equal(fates, [
    { number: 1, path: 'a.txt', line: 1, outcome: 'in part', reason: 'no B', text: 'A\n' },
  ])
  assert.match(showFates(fates).join('\n'), /^hunk 1 \(a\.txt:1\) was applied in part: no B\n/)
})

test('what was written is told as it stands in the file, whatever line ends were proposed or given', () => {
  const crlf = 'a\r\nb\r\nc\r\n'
  const of = (text: string, put: string, given: string) => {
    const at = text.indexOf('b')
    const [hunk] = hunksOf(text, [{ number: 1, from: at, to: at + 1, text: put }])
    assert.ok(hunk !== undefined)
    const [fate] = fatesOf([hunk], [chose(1, given)])
    return [fate?.outcome, fate?.text, applied(fileOf(text), [hunk], [chose(1, given)])]
  }
  // A bare LF was proposed in a file of CR LF, and the person's text is spelled as the file is.
  assert.equal(of(crlf, 'x\ny', 'x\ny\r\n'), ['edited', 'x\ny\n', 'a\r\nx\r\ny\r\nc\r\n'])
  assert.equal(of(crlf, 'x\r\ny', 'x\ny\n'), ['applied', undefined, 'a\r\nx\r\ny\r\nc\r\n'])
  assert.equal(of('a\nb\nc\n', 'x', 'x\r\n'), ['edited', 'x\r\n', 'a\nx\r\nc\n'])
  assert.equal(of('a\nb\nc\n', 'x', 'x'), ['applied', undefined, 'a\nx\nc\n'])
  assert.equal(of('a\nb\nc\n', 'x', 'y'), ['edited', 'y\n', 'a\ny\nc\n'])
  assert.equal(of('a\nb', 'x', 'y'), ['edited', 'y', 'a\ny'])
})

test('a difference of one part, or of too many, has no hunks', () => {
  const parts = (count: number) => {
    const lines = Array.from({ length: count * 10 }, (_, index) => `${index}\n`)
    const before = lines.join('')
    const after = lines.map((line, index) => (index % 10 === 0 ? 'x\n' : line)).join('')
    return hunksOfDiff(fileOf(before), after, unifiedDiff({ path: 'a.txt', before, after })).length
  }
  assert.equal([parts(1), parts(2), parts(MOST_HUNKS), parts(MOST_HUNKS + 1)], [0, 2, MOST_HUNKS, 0])
})

const CHARS = fc.constantFrom('a', 'b', '\n', '\r\n', 'é', '😀', '')

const TEXT = fc.array(CHARS, { maxLength: 60 }).map(parts => parts.join(''))

/** The text with those edits that were taken, character by character. */
function spliced(text: string, edits: readonly Omit<Edit, 'why'>[]): string {
  let result = ''
  let at = 0
  for (const { from, to, text: put } of [...edits].sort(
    (one, other) => one.from - other.from || one.to - other.to,
  )) {
    result += text.slice(at, from) + put
    at = to
  }
  return result + text.slice(at)
}

test('any edits that share no line, of which any are taken, are what replacing their characters gives', () => {
  let several = 0
  const places = fc.array(fc.tuple(fc.nat(80), fc.nat(8), TEXT, fc.boolean()), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(TEXT, places, (text, all) => {
      const edits: (Omit<Edit, 'why'> & { readonly taken: boolean })[] = []
      for (const [place, length, put, taken] of all) {
        const from = Math.min(place, text.length)
        const to = Math.min(from + length, text.length)
        const one = { number: edits.length + 1, from, to, text: put, taken }
        if (text.slice(from, to) !== put && !shareLines(text, [...edits, one])) edits.push(one)
      }
      if (edits.length > 1) several++
      const hunks = hunksOf(text, edits)
      const choices = edits.map(
        ({ number, taken }): Choice =>
          taken ? { hunk: number, decision: 'accept' } : { hunk: number, decision: 'refuse', reason: null },
      )
      assert.is(applied(fileOf(text), hunks, []), spliced(text, edits))
      assert.is(
        applied(fileOf(text), hunks, choices),
        spliced(
          text,
          edits.filter(({ taken }) => taken),
        ),
      )
    }),
    { numRuns: 2_000 },
  )
  assert.ok(several > 50, `${several} of several edits`)
})

/** By the lines that they are widened to. */
function shareLines(text: string, edits: readonly Omit<Edit, 'why'>[]): boolean {
  const lines = widened(
    text,
    edits.map(one => ({ ...one, why: null })),
  )
  return lines.some(({ at, removed }, index) => {
    const next = lines[index + 1]
    return next !== undefined && (next.at < at + removed || (next.at === at && next.removed + removed === 0))
  })
}

test('any two texts are each other but for the hunks of their difference, each of which is a patch by itself', () => {
  let several = 0
  const line = fc.constantFrom('a\n', 'b\n', 'c\n', 'd\r\n', '\n')
  const texts = fc
    .tuple(
      fc.array(line, { minLength: 30, maxLength: 80 }),
      fc.array(fc.tuple(fc.nat(80), line), { minLength: 2, maxLength: 6 }),
      fc.boolean(),
    )
    .map(([lines, changes, ends]) => {
      const after = [...lines]
      for (const [at, put] of changes) after.splice(at, at % 2, put)
      const cut = (text: string) => (ends ? text : text.replace(/\n$/, ''))
      return [cut(lines.join('')), cut(after.join(''))] as const
    })
  fc.assert(
    fc.property(texts, fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }), ([before, after], taken) => {
      const hunks = hunksOfDiff(fileOf(before), after, unifiedDiff({ path: 'a.txt', before, after }))
      if (hunks.length === 0) return
      several++
      const refuse = ({ number }: Hunk): Choice => ({ hunk: number, decision: 'refuse', reason: null })
      const accept = ({ number }: Hunk): Choice => ({ hunk: number, decision: 'accept' })
      assert.is(applied(fileOf(before), hunks, hunks.map(refuse)), before)
      assert.is(applied(fileOf(before), hunks, hunks.map(accept)), after)
      const choices = hunks.map((hunk, index) => (taken[index % 10] ? accept(hunk) : refuse(hunk)))
      assert.is(applied(fileOf(before), hunks, choices), byLines(before, hunks, choices))
      for (const hunk of hunks) {
        const alone = hunks.map(one => (one === hunk ? accept(one) : refuse(one)))
        const patch = `--- a\n+++ a\n${hunk.diff}`
        const options = { autoConvertLineEndings: false }
        assert.is(applyPatch(before, patch, options), applied(fileOf(before), hunks, alone))
      }
    }),
    { numRuns: 1_000 },
  )
  assert.ok(several > 50, `${several} of several hunks`)
})

/** From the last hunk to the first, so that no line moves before it is counted. */
function byLines(text: string, hunks: readonly Hunk[], choices: readonly Choice[]): string {
  const lines = linesOf(text)
  for (const { number, line, before, after } of [...hunks].reverse())
    if (choices.some(({ hunk, decision }) => hunk === number && decision === 'accept'))
      lines.splice(line - 1, linesOf(before).length, after)
  return lines.join('')
}
