import fc from 'fast-check'
import { shownPlan, unshowable } from '../../src/approvals/preview.ts'
import {
  escapeJson,
  escapePlan,
  escapePlanLine,
  escapeText,
  fitsEscapedPlan,
  warningsOf,
} from '../../src/text/escape.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan } from '../support/plans.ts'

const test = suite('escape')

const PRINTED: readonly (readonly [what: string, text: string, shown: string])[] = [
  ['plain text, tabs and line ends', 'a\tb\nc\r\nd é 語 עברית', 'a\tb\nc\nd é 語 עברית'],
  ['a carriage return that would overwrite', 'safe\revil', 'safe\\x0devil'],
  ['C0, delete and C1', '\x00\x07\x08\x1b\x7f\x9b', '\\x00\\x07\\x08\\x1b\\x7f\\x9b'],
  ['what turns text', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
  ['what has no width', 'a\u200bb\ufeffc\u200c\u00ad\u034f', 'a\\u200bb\\ufeffc\\u200c\\xad\\u034f'],
  ['formats that nobody uses', '\u206a\ufff9', '\\u206a\\ufff9'],
  ['tags', 'a\u{e0041}', 'a\\u{e0041}'],
  ['fillers and other blanks', '\u3164\u115f\u2800\u00a0\u3000', '\\u3164\\u115f\\u2800\\xa0\\u3000'],
  ['private and unassigned ones', '\ue000\u{f0000}\u0378', '\\ue000\\u{f0000}\\u0378'],
  ['half of a character', 'a\ud800', 'a\\ud800'],
  ['emoji of several characters', '👩‍🔬 ❤️ 1️⃣ 👍🏽 🇨🇿', '👩‍🔬 ❤️ 1️⃣ 👍🏽 🇨🇿'],
  [
    'joiners elsewhere',
    'pass\u200dword 1\u200d2 👩\u200d\u200d',
    'pass\\u200dword 1\\u200d2 👩\\u200d\\u200d',
  ],
  ['a flag that says more than a flag', '🏴\u{e0065}\u{e0076}\u{e007f}', '🏴\\u{e0065}\\u{e0076}\\u{e007f}'],
  ['brackets of a plan', '⟦U+202E⟧', '⟦U+202E⟧'],
]

for (const [what, text, shown] of PRINTED)
  test(`${what}, as a reader is shown it (threat 16)`, () => {
    assert.is(escapeText(text), shown)
    assert.is(escapeText(shown), shown)
  })

test('JSON keeps its value when what cannot be seen in it is escaped (threat 16)', () => {
  const text = JSON.stringify({ a: PRINTED.map(([, raw]) => raw).join('') })
  assert.equal(JSON.parse(escapeJson(text)), JSON.parse(text))
  assert.is(escapeText(escapeJson(text)), escapeJson(text))
})

test('whatever a text holds, nothing that cannot be seen is left in what is printed, but in emoji (threat 16)', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), text => {
      const rest = escapeText(text)
        .replace(/[\n\t ]/g, '')
        .replace(EMOJI, '')
      assert.not.match(rest, /[\p{C}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u2800]/u)
    }),
    { numRuns: 500 },
  )
})

const RGI = String.raw`\p{RGI_Emoji}`

const EMOJI = new RegExp(`${RGI}`, 'gv')

const HIDDEN: readonly (readonly [what: string, text: string, shown: string, threat: 16 | 17])[] = [
  ['a colour', '\x1b[31mred\x1b[0m', '⟦U+001B⟧[31mred⟦U+001B⟧[0m', 16],
  ['a title (OSC)', '\x1b]0;owned\x07', '⟦U+001B⟧]0;owned⟦U+0007⟧', 16],
  ['a C1 control', 'a\u009b2Jb', 'a⟦U+009B⟧2Jb', 16],
  ['a backspace', 'safe\b\b\b\bevil', `safe${'⟦U+0008⟧'.repeat(4)}evil`, 16],
  ['a lone carriage return', 'shown\rhidden', 'shown⟦U+000D⟧hidden', 16],
  ['NUL and DEL', '\0\x7f', '⟦U+0000⟧⟦U+007F⟧', 16],
  ['Trojan Source', 'if admin\u202e \u2066# no\u2069', 'if admin⟦U+202E⟧ ⟦U+2066⟧# no⟦U+2069⟧', 17],
  ['the other directions', '\u061c\u200e\u200f\u202a\u2067', '⟦U+061C⟧⟦U+200E⟧⟦U+200F⟧⟦U+202A⟧⟦U+2067⟧', 17],
  ['zero width', 'pass\u200bword\u200d\u2060\ufeff', 'pass⟦U+200B⟧word⟦U+200D⟧⟦U+2060⟧⟦U+FEFF⟧', 17],
  ['a soft hyphen', 'rm\u00ad', 'rm⟦U+00AD⟧', 17],
  ['fillers', 'x\u3164\uffa0\u115f', 'x⟦U+3164⟧⟦U+FFA0⟧⟦U+115F⟧', 17],
  ['tags', 'a\u{e0041}', 'a⟦U+E0041⟧', 17],
  ['variation selectors', 'a\ufe0f\u{e0100}', 'a⟦U+FE0F⟧⟦U+E0100⟧', 17],
  ['other spaces', 'a\u00a0b\u2003c\u3000', 'a⟦U+00A0⟧b⟦U+2003⟧c⟦U+3000⟧', 17],
  ['separators of lines', 'a\u2028b\u2029', 'a⟦U+2028⟧b⟦U+2029⟧', 17],
  ['half a character', 'a\ud800', 'a⟦U+D800⟧', 17],
  ['empty Braille', 'a\u2800b', 'a⟦U+2800⟧b', 17],
  ['blanks of old scripts and of music', '\u{13441}\u{16fe4}\u{1d159}', '⟦U+13441⟧⟦U+16FE4⟧⟦U+1D159⟧', 17],
  ['an object that is not there', 'a\ufffc', 'a⟦U+FFFC⟧', 17],
  ['what looks like the end of a line', 'x = 1␍', 'x = 1⟦U+240D⟧', 17],
  ['what looks like a mark', '⟦U+202E⟧', '⟦U+27E6⟧U+202E⟦U+27E7⟧', 17],
  ['a private one', '\ue000', '⟦U+E000⟧', 17],
]

for (const [what, text, shown, threat] of HIDDEN)
  test(`${what} is shown by its mark, and warned of (threat ${threat})`, () => {
    assert.is(escapePlan(text).text, shown)
    const [first] = escapePlan(text).hidden.keys()
    assert.match(warningsOf(text).join('\n'), `⟦${first}⟧`)
  })

test('whether a text fits is known without marking it, to the character (threat 15)', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 50 }), text => {
      const { length } = escapePlan(text).text
      assert.equal([fitsEscapedPlan(text, length), fitsEscapedPlan(text, length - 1)], [true, false])
    }),
    { numRuns: 500 },
  )
  assert.equal([fitsEscapedPlan('a\r\n', 3), fitsEscapedPlan('a\r\n', 2)], [true, false])
})

test('nobody is asked about what is too long to be read, by the marks that it would be shown with (threat 15)', () => {
  const most = 4 * 1024 * 1024
  assert.is(unshowable(somePlan({ body: 'x'.repeat(most) })), undefined)
  assert.is(unshowable(somePlan({ body: 'x'.repeat(most + 1) }))?.error.code, 'too_large')
  assert.is(unshowable(somePlan({ body: '\x01'.repeat(most / 8) })), undefined)
  assert.is(unshowable(somePlan({ body: '\x01'.repeat(most / 8 + 1) }))?.error.code, 'too_large')
})

test('hidden characters of thousands of kinds have some warnings, and not thousands (threat 15)', () => {
  const kinds = Array.from({ length: 5_000 }, (_, index) => String.fromCodePoint(0xf0000 + index))
  const warnings = warningsOf(kinds.join('\n'))
  assert.is(warnings.length, 21)
  assert.match(warnings[20] ?? '', '4,980 other characters')
})

test('tabs, newlines, letters of any script, accents and emoji stay as they are', () => {
  const text = 'def f():\n\treturn "žluťoučký 日本語 e\u0301 עברית 🙂"\n'
  assert.equal([escapePlan(text).text, warningsOf(text)], [text, []])
})

test('the carriage return of a CRLF is seen at the end of its line, and is nothing to warn of', () => {
  assert.is(escapePlan('a\r\nb\n').text, 'a␍\nb\n')
  assert.equal(warningsOf('a\r\nb\n'), [])
})

test('in one line there are no newlines and no tabs (threat 14)', () => {
  assert.is(escapePlanLine('Edit a.py\nApproved already.\t'), 'Edit a.py⟦U+000A⟧Approved already.⟦U+0009⟧')
})

test('the same character is counted, not named over and over (threat 17)', () => {
  const warnings = warningsOf(`${'\u202e\n'.repeat(1_200)}\u200b`)
  assert.is(warnings.length, 2)
  assert.match(warnings[0] ?? '', 'U+202E (reorders text), occurs 1,200 times')
})

test('letters that look like others are named where they stand in one word with Latin ones (threat 17)', () => {
  assert.match(warningsOf('import p\u0430ypal')[0] ?? '', 'p\u0430ypal (U+0430)')
  assert.match(warningsOf('s\u03bfrt()')[0] ?? '', 'U+03BF')
  assert.equal(warningsOf('Δx = λ * 2  # привет, мир'), [])
})

test('what may hide at the far end of a line, or behind blanks, is warned of (threat 15)', () => {
  assert.match(warningsOf(`x = 1${' '.repeat(500)}; evil()`).join(), 'The longest line has 513 characters')
  assert.match(warningsOf(`x = 1${' '.repeat(500)}; evil()`).join(), '500 blanks')
  assert.equal(warningsOf('\n'.repeat(500)), [])
  for (const blank of ['\u2800', '\u00a0', '\u200b', '\u{1d159}', ' \t'])
    assert.match(warningsOf(`x = 1${blank.repeat(150)}; evil()`).join(), /\d blanks stand in a row/)
})

test('a plan is shown whole, with its size and its hash, however long it is (threat 15)', () => {
  const body = `${'+\tx = 1\n'.repeat(10_000)}+evil()\n`
  const plan = somePlan({ title: 'Edit \x1b[2Ja.py', body })
  const shown = shownPlan(plan)
  assert.equal([shown.body, shown.lines, shown.bytes, shown.hash], [body, 10_001, body.length, plan.hash])
  assert.is(shown.title, 'Edit ⟦U+001B⟧[2Ja.py')
  assert.match(shown.warnings.join(), 'U+001B')
})

test('whatever a preview holds, nothing of it that is not seen is left in what is shown (threat 16)', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.string(), (body, title) => {
      const shown = shownPlan(somePlan({ title, body }))
      assert.not.match(shown.title, /[\p{C}\p{Zl}\p{Zp}\n\t]/u)
      assert.not.match(
        shown.body.replace(/[\n\t]/g, ''),
        /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u,
      )
      assert.is(shown.body.split('\n').length, body.split('\n').length)
    }),
    { numRuns: 500 },
  )
})
