import { leftEnded, opened, openPageScene, type PageScene, presses, shows } from '../support/browser.ts'
import { assert, suite } from '../support/harness.ts'
import { HOSTILE_NAMES, HOSTILE_TEXTS } from '../support/hostile-texts.ts'

/** Texts that were made to be taken for something else, as plans, purposes and reasons on the page. */
const test = suite('hostile texts on the page', { limitMs: 90_000 })

let scene: PageScene
let page: PageScene['page']
let client: PageScene['client']

test.before(async () => {
  scene = await openPageScene({})
  ;({ page, client } = scene)
})
test.after(() => scene?.close())

/** What a reader would not see, or what moves the rest: the page has marks in the place of each. */
const UNSEEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

const withoutBlanks = (text: string) => text.replace(/[\s,]/g, '')

const allText = () => page.evaluate<string>('document.body.textContent')

test('each text of a plan is shown to its end, with its marks, and nothing in it is obeyed (threat 14) (threat 15) (threat 16) (threat 17)', async () => {
  for (const { what, text, marks, payload } of HOSTILE_TEXTS) {
    const edits = [{ path: 'new.py', old_str: '', new_str: text.replaceAll('\0', '') }]
    const over = new AbortController()
    const answer = client.call({ tool: 'propose_file_edit', args: { edits }, signal: over.signal })
    await opened(page)
    await shows(page, /hunk 1 \(new.py:1\)/)
    const shown = await allText()
    assert.not.match(shown, UNSEEN, what)
    // No tool writes a NUL, and how long a text is, is said of a plan with its difference.
    const seen = marks.filter(mark => mark !== '⟦U+0000⟧' && !/\d (?:lines|characters)$/.test(mark))
    for (const mark of [...seen, payload])
      assert.ok(withoutBlanks(shown).includes(withoutBlanks(mark)), `${mark} of ${what}`)
    over.abort()
    await answer.catch(() => {})
    await leftEnded(page)
  }
})

test('names in one plan, however hostile, are each in a row of the page (threat 14)', async () => {
  const names = HOSTILE_NAMES.map(([, name]) => name.slice(0, 1_000))
  const edits = names.map((why, at) => ({ path: `new-${at}.py`, old_str: '', new_str: `x = ${at}\n`, why }))
  const answer = client.call({ tool: 'propose_file_edit', args: { edits } })
  await opened(page)
  await shows(page, new RegExp(`hunk ${names.length} \\(`))
  assert.not.match(await allText(), UNSEEN)
  assert.is(await page.locator('ol.hunks > li').count(), names.length)
  await presses(page, 'd')
  await page.keyboard.insertText(names[4] ?? '')
  await page.keyboard.press('Enter')
  await shows(page, /All is decided/)
  assert.not.match(await allText(), UNSEEN)
  await presses(page, 'y')
  await answer
  await leftEnded(page)
})
