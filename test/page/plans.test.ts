import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toEnd } from '../../examples/demos/page.ts'
import {
  leftEnded,
  opened,
  openedNow,
  openPageScene,
  type PageScene,
  presses,
  shows,
} from '../support/browser.ts'
import { assert, suite } from '../support/harness.ts'

/** What waits, on the page, in the real browser. */
const test = suite('plans on the page', { limitMs: 60_000 })

const LINES = Array.from({ length: 30 }, (_, n) => `line ${n + 1}\n`).join('')
let scene: PageScene
let rig: PageScene['rig']
let page: PageScene['page']
let client: PageScene['client']

test.before(async () => {
  scene = await openPageScene({ 'shop.txt': LINES })
  ;({ rig, page, client } = scene)
})
test.after(() => scene?.close())

const shop = () => readFileSync(join(rig.project, 'shop.txt'), 'utf8')

/** Proposes these replacements of lines, and opens the plan on the page. */
async function proposed(...edits: readonly (readonly [old: string, text: string])[]) {
  const answer = client.call({
    tool: 'propose_file_edit',
    args: { edits: edits.map(([old_str, new_str]) => ({ path: 'shop.txt', old_str, new_str })) },
  })
  await opened(page)
  return { answer }
}

test('a plan of two hunks: one is taken, one refused with a reason, by the keys of git add -p; and undone', async () => {
  const { answer } = await proposed(['line 2\n', 'second\n'], ['line 25\n', 'last\n'])
  await presses(page, 'y', 'n')
  await page.keyboard.type('it is needed')
  await page.keyboard.press('Enter')
  await shows(
    page,
    /hunk 1 \(shop.txt:2\) ✓ taken.*hunk 2 \(shop.txt:25\) ✗ refused: it is needed.*All is decided/s,
  )
  await presses(page, 'y')
  await shows(page, /Sent\./)
  assert.match(JSON.stringify(await answer), 'it is needed')
  assert.is(shop(), LINES.replace('line 2\n', 'second\n'))
  await page.getByRole('button', { name: /Undo/ }).waitFor()
  await page.locator('ins', { hasText: '+second' }).waitFor()
  await page.keyboard.press('u')
  await openedNow(page)
  await presses(page, 'y')
  await shows(page, /It ended: ok/)
  assert.is(shop(), LINES)
  await leftEnded(page)
  assert.is(await page.getByText('Sent.').count(), 0)
  await page.getByRole('button', { name: /^propose_file_edit .*approved in part, taken back \d/ }).waitFor()
  await page.getByRole('button', { name: /^undo_change .*approved, can be undone .*\d:\d\d/ }).waitFor()
  await page.getByRole('button', { name: /^propose_file_edit ((?!undone).)*\d:\d\d/ }).click()
  await shows(page, /Of this was done, and taken back:/)
  assert.is(await page.getByRole('button', { name: /Undo/ }).count(), 0)
  await leftEnded(page)
  await page.getByRole('button', { name: /^undo_change / }).click()
  await page.getByRole('button', { name: 'Redo what it took back' }).click()
  await openedNow(page)
  await presses(page, 'y')
  await page.getByRole('button', { name: /^Undo plan-/ }).waitFor()
  assert.is(shop(), LINES.replace('line 2\n', 'second\n'))
  await page.keyboard.press('u')
  await openedNow(page)
  await presses(page, 'y')
  await page.getByRole('button', { name: 'Redo what it took back' }).waitFor()
  assert.is(shop(), LINES)
  await leftEnded(page)
})

test('names, purposes, texts and reasons are text, never markup; what is hidden in them is marked', async () => {
  const markup = '<img src=x onerror="document.title=1">'
  const path = '<img src=x onerror=a>.txt'
  const answer = client.call({
    tool: 'propose_file_edit',
    args: {
      edits: [
        {
          path,
          old_str: '',
          new_str: `<script>document.title=2</script>\u200b\n`,
          why: `<b>${markup}\u202e`,
        },
      ],
    },
  })
  await opened(page)
  await shows(
    page,
    /LOOK: .*<b><img src=x onerror="document.title=1">⟦U\+202E⟧.*<script>document.title=2<\/script>⟦U\+200B⟧/s,
  )
  await presses(page, 'e')
  await shows(page, /Characters that are not seen are in it: U\+200B/)
  await page.getByRole('textbox').press('Escape')
  await presses(page, 'n')
  await page.keyboard.type(`${markup}&`)
  await page.keyboard.press('Enter')
  await shows(page, /hunk 1 .* refused: <img src=x onerror="document.title=1">&/)
  await presses(page, 'y')
  assert.match(JSON.stringify(await answer), 'onerror')
  assert.is(await page.locator('main img, main script').count(), 0)
  assert.match(await page.title(), /Imago$/)
  await leftEnded(page)
})

test('an edited hunk is written as it was typed, and the arguments of a whole plan become a plan of their own', async () => {
  const { answer } = await proposed(['line 3\n', 'third\n'], ['line 20\n', 'twentieth\n'])
  await presses(page, 'e')
  await page.locator('.hunk.here', { hasText: 'hunk 1' }).getByRole('textbox').waitFor()
  await page.getByRole('textbox').fill('3rd <b>')
  await page.getByRole('textbox').press('Control+Enter')
  await presses(page, 'n')
  await page.keyboard.press('Enter')
  await shows(page, /hunk 1 \S+ ✎ edited.*hunk 2 \S+ ✗ refused/s)
  await presses(page, 'y')
  assert.ok((await answer).ok)
  assert.is(shop(), LINES.replace('line 3\n', '3rd <b>\n'))
  await leftEnded(page)

  const whole = client.call({ tool: 'write_file', args: { path: 'new.txt', content: 'asked\n' } })
  await opened(page)
  await presses(page, 'e')
  const field = page.getByRole('textbox')
  await field.fill((await field.inputValue()).replace('asked', 'wanted'))
  await field.press('Control+Enter')
  await shows(page, /edited/)
  await leftEnded(page)
  await opened(page)
  await presses(page, 'y')
  assert.ok((await whole).ok)
  assert.is(readFileSync(join(rig.project, 'new.txt'), 'utf8'), 'wanted\n')
  await leftEnded(page)
})

test('a plan whose caller gives up stays on the page, says why it has gone, and takes no answer', async () => {
  const gone = new AbortController()
  const answer = client.call({
    tool: 'write_file',
    args: { path: 'gone.txt', content: 'x\n' },
    signal: gone.signal,
  })
  await opened(page)
  gone.abort()
  await shows(page, /withdrawn/)
  await presses(page, 'y')
  assert.not.ok((await answer).ok)
  await leftEnded(page)
})

test('10,000 lines are drawn as few elements, and are answered once their end was on the screen', async () => {
  const content = Array.from({ length: 10_000 }, (_, n) => `line ${n} <b>`).join('\n')
  const answer = client.call({ tool: 'write_file', args: { path: 'long.txt', content } })
  await opened(page)
  await shows(page, /line 9999 <b>/)
  assert.ok((await page.locator('article *').count()) < 100)
  await presses(page, 'y')
  await shows(page, /There is more of it below/)
  assert.match(await page.title(), /^\(1\) /)
  await toEnd(page)
  await presses(page, 'y')
  assert.ok((await answer).ok)
  await leftEnded(page)
})
