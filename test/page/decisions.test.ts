import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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

/** What a person has decided and typed of a plan on the page, until it is sent and after. */
const test = suite('decisions on the page', { limitMs: 60_000 })

const LINES = Array.from({ length: 60 }, (_, n) => `line ${n + 1}\n`).join('')
let scene: PageScene
let rig: PageScene['rig']
let page: PageScene['page']
let client: PageScene['client']

test.before(async () => {
  scene = await openPageScene({ 'shop.txt': LINES, 'shop.sql': '-- one\n-- two\n' })
  ;({ rig, page, client } = scene)
})
test.after(() => scene?.close())

const textOf = (file: string) => readFileSync(join(rig.project, file), 'utf8')
const hunk = (number: number) => page.locator('.hunk').nth(number - 1)
const field = () => page.getByRole('textbox')
const bar = () => page.locator('.buttons')

const replaced = (...edits: readonly (readonly [old: string, text: string])[]) =>
  client.call({
    tool: 'propose_file_edit',
    args: { edits: edits.map(([old_str, new_str]) => ({ path: 'shop.txt', old_str, new_str })) },
  })

/** Whether all of it is between the head of the page and its lower end. */
const isInSight = (selector: string) =>
  page.evaluate<boolean>(`(() => {
    const { top, bottom } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect()
    return top >= document.querySelector('header').getBoundingClientRect().bottom && bottom <= innerHeight
  })()`)

test('while a field is open, nothing else decides, and what is typed there stays, also where the person looks elsewhere', async () => {
  const answer = replaced(['line 2\n', 'second\n'], ['line 25\n', 'last\n'])
  await opened(page)
  await presses(page, 'e')
  await field().fill('typed\n')
  assert.is(await bar().getByRole('button').count(), 0)
  await bar().getByText('A field is open: use its text or cancel it first.').waitFor()
  await page.getByRole('heading', { name: 'propose_file_edit' }).click()
  for (const key of ['y', 'a', 's', 'j', 'n']) await page.keyboard.press(key)
  // The keys lead to the field, and the second one is typed there.
  assert.is(await field().inputValue(), 'typed\nasjn')
  await hunk(2).locator('.head').click()
  await page.getByRole('button', { name: 'Errors' }).click()
  await page.getByRole('button', { name: 'Waits' }).click()
  await opened(page)
  assert.is(await field().inputValue(), 'typed\nasjn')
  await field().press('Escape')
  await bar().getByText('Your text is not used. The same key brings it back.').waitFor()
  await presses(page, 'e')
  assert.is(await field().inputValue(), 'typed\nasjn')
  await page.getByRole('button', { name: 'As it was' }).click()
  assert.is(await field().inputValue(), 'second\n')
  await field().fill('typed\n')
  await page.getByRole('button', { name: 'Take this text' }).click()
  await presses(page, 'n')
  await field().fill('a reason')
  await page.keyboard.press('Escape')
  await presses(page, 'n')
  assert.is(await field().inputValue(), 'a reason')
  await page.keyboard.press('Enter')
  await shows(
    page,
    /hunk 1 \(shop.txt:2\) ✎ edited.*hunk 2 \(shop.txt:25\) ✗ refused: a reason.*All is decided/s,
  )
  await presses(page, 'y')
  assert.ok((await answer).ok)
  assert.is(textOf('shop.txt'), LINES.replace('line 2\n', 'typed\n'))
})

test('a plan that was answered here shows what was done of it, hunk by hunk, and below that its outcome and Undo, which opens its plan', async () => {
  await page.getByText('Of this was done:').waitFor()
  await hunk(1)
    .filter({ hasText: /✎ edited.*\+typed/s })
    .waitFor()
  assert.is(await page.getByText('+second').count(), 0)
  await hunk(2).filter({ hasText: '✗ refused: a reason' }).waitFor()
  const colours = `[...document.querySelectorAll('ins')].map(line => getComputedStyle(line).backgroundColor)`
  const [taken, refused] = await page.evaluate<string[]>(colours)
  assert.is(refused, 'rgba(0, 0, 0, 0)')
  assert.is.not(taken, refused)
  await bar()
    .getByRole('status')
    .filter({ hasText: /approved in part.*It ended: ok/ })
    .waitFor()
  assert.ok(await isInSight('.buttons'))
  await bar().getByRole('button', { name: /Undo/ }).click()
  await openedNow(page)
  await page.getByRole('heading', { name: /undo_change/ }).waitFor()
  const names = page.locator('.diff i')
  await names.filter({ hasText: /^--- a\/shop.txt\n\+\+\+ b\/shop.txt\n@@/ }).waitFor()
  assert.is(await page.locator('.diff del').first().textContent(), '-typed\n')
  assert.is(await page.getByRole('button', { name: 'Edit the arguments' }).count(), 0)
  await presses(page, 'y')
  await page.getByText('This was done:').waitFor()
  assert.is(textOf('shop.txt'), LINES)
  await leftEnded(page)
})

test('a line that begins like the head of a file is a line', async () => {
  const args = { path: 'shop.sql', content: '++ one\n-- two\n' }
  const answer = client.call({ tool: 'write_file', args })
  await opened(page)
  assert.is(await page.locator('.diff del').textContent(), '--- one\n')
  assert.is(await page.locator('.diff ins').textContent(), '+++ one\n')
  await presses(page, 'n')
  await page.keyboard.type('no SQL')
  await page.keyboard.press('Enter')
  assert.match(JSON.stringify(await answer), 'no SQL')
  await shows(page, /Nothing of this was done:no SQL/)
  await leftEnded(page)
})

test('decisions stay while the person is at another plan; one that others have answered says that they were not sent', async () => {
  const first = replaced(['line 2\n', 'second\n'], ['line 25\n', 'last\n'], ['line 50\n', 'fifty\n'])
  await opened(page)
  await presses(page, 'y', 'n')
  await page.keyboard.type('not last')
  await page.keyboard.press('Enter')
  await presses(page, 'q')
  const over = new AbortController()
  const second = client.call({
    tool: 'write_file',
    args: { path: 'new.txt', content: 'new\n' },
    signal: over.signal,
  })
  await page.getByRole('region', { name: 'What waits for you' }).getByText('write_file').click()
  await openedNow(page)
  await presses(page, 'n')
  await page.keyboard.type('half a rea')
  over.abort()
  await shows(page, /Nothing of this was done:What you had decided and typed here was not sent\.half a rea/)
  await second.catch(() => {})
  await leftEnded(page)
  await opened(page)
  await hunk(1).filter({ hasText: '✓ taken' }).waitFor()
  await hunk(2).filter({ hasText: '✗ refused: not last' }).waitFor()
  await page.locator('.hunk.here', { hasText: 'hunk 3' }).waitFor()
  assert.ok(await isInSight('.hunk.here'))
  await presses(page, 'y', 'y')
  assert.ok((await first).ok)
  await page.getByText('Of this was done:').waitFor()
  await leftEnded(page)
})

test('a plan opens with its first hunk in sight and its evidence folded; what is said of a key is in sight, and read aloud', async () => {
  await page.setViewportSize({ width: 880, height: 500 })
  const answer = replaced(['line 30\n', 'thirty\n'], ['line 40\n', `forty\u202e\n${'more\n'.repeat(40)}`])
  await opened(page)
  assert.is(await page.locator('article details[open]').count(), 0)
  assert.ok(await isInSight('article .warning'))
  assert.ok(await isInSight('.hunk.here'))
  const evidence =
    /imago test asks, 3 times by now\. Changes 2 places in shop\.txt: 42 lines added, 2 removed\. More/
  await page.locator('summary', { hasText: evidence }).click()
  await page.getByText(/sha256 [0-9a-f]{64}\n/).waitFor()
  assert.is(await page.getByRole('button', { name: 'Split' }).count(), 0)
  await page.keyboard.press('J')
  await presses(page, 'y')
  await bar().getByRole('status').filter({ hasText: 'There is more of it below.' }).waitFor()
  assert.ok(await isInSight('.buttons [role=status]'))
  await page.keyboard.press('x')
  assert.is(await bar().getByRole('status').textContent(), '')
  await presses(page, 'd', 'Enter', 'y')
  await answer
  await leftEnded(page)
})

test('letters that are typed on behind a field that has closed decide nothing; Shift-Enter does not close it', async () => {
  const answer = replaced(['line 3\n', 'third\n'])
  await opened(page)
  await presses(page, 'n')
  await page.keyboard.type('one')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('try')
  assert.is(await field().inputValue(), 'one\ntry')
  await page.keyboard.press('Enter')
  await page.keyboard.type('try y')
  await page.locator('body:not(.hushed)').waitFor()
  await shows(page, /✗ refused: one try@@.*All is decided/s)
  // A second yes says nothing of what was sent.
  await page.keyboard.type('yy')
  assert.match(JSON.stringify(await answer), 'one try')
  await shows(page, /Nothing of this was done/)
  assert.is(await page.getByText('Not sent').count(), 0)
  await leftEnded(page)
})

test('y on a decided hunk keeps its decision; a button of its name takes it after all; Send stays in the bar', async () => {
  const answer = replaced(['line 3\n', 'third\n'], ['line 20\n', 'twentieth\n'], ['line 40\n', 'fortieth\n'])
  await opened(page)
  await presses(page, 'n', 'Enter', 'n')
  await page.keyboard.type('stays')
  await presses(page, 'Enter', 'K', 'y')
  await hunk(1).filter({ hasText: '✗ refused' }).waitFor()
  await page.locator('.hunk.here', { hasText: 'hunk 3' }).waitFor()
  assert.is(
    await bar()
      .getByRole('button', { name: /the rest/ })
      .count(),
    0,
  )
  await presses(page, 'y', 'n')
  await page.locator('.hunk.here', { hasText: 'hunk 3' }).waitFor()
  await bar().getByRole('button', { name: 'Send' }).waitFor()
  await presses(page, 'K', 'y')
  await hunk(2).filter({ hasText: '✗ refused: stays' }).waitFor()
  assert.is(await page.locator('.hunk.here').count(), 0)
  await presses(page, 'n', 'K', 'K')
  await bar().getByRole('button', { name: 'Take it after all' }).click()
  await hunk(1).filter({ hasText: '✓ taken' }).waitFor()
  await bar().getByRole('button', { name: 'Send' }).click()
  assert.ok((await answer).ok)
  await leftEnded(page)
})

test('a page that would be loaded again asks first while something was decided and not sent', async () => {
  const answer = replaced(['line 4\n', 'fourth\n'])
  await opened(page)
  await presses(page, 'y')
  const asked = page.waitForEvent('dialog')
  const left = page.goto('about:blank').catch(() => 'it stays')
  const dialog = await asked
  assert.is(dialog.type(), 'beforeunload')
  await dialog.dismiss()
  assert.is(await left, 'it stays')
  await presses(page, 'y')
  assert.ok((await answer).ok)
  await leftEnded(page)
})
