import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { DaemonClient } from '../../src/front/client.ts'
import { openBrowser, openPage, seated, shows } from '../support/browser.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'

/** What waits, on the page, in the real browser. */
const test = suite('plans on the page', { limitMs: 60_000 })

const LINES = Array.from({ length: 30 }, (_, n) => `line ${n + 1}\n`).join('')
const rig = openRig({ files: { 'shop.txt': LINES, 'imago.toml': '' } })
let browser: Browser
let page: Page
let client: DaemonClient

test.before(async () => {
  await rig.serve()
  browser = await openBrowser()
  client = await rig.connect()
  page = await openPage(rig, browser)
  await seated(rig, page)
})
test.after(async () => {
  await browser?.close()
  await rig.close()
})

const shop = () => readFileSync(join(rig.project, 'shop.txt'), 'utf8')

/** Proposes these replacements of lines, and opens the plan on the page. */
async function proposed(...edits: readonly (readonly [old: string, text: string])[]) {
  const answer = client.call({
    tool: 'propose_file_edit',
    args: { edits: edits.map(([old_str, new_str]) => ({ path: 'shop.txt', old_str, new_str })) },
  })
  await opened()
  return { answer }
}

/** Opens the first plan that waits. */
async function opened() {
  await page.getByRole('region', { name: 'What waits for you' }).getByRole('button').first().click()
  await page.locator('article[aria-busy=false]').waitFor()
}

test('a plan of two hunks: one is taken, one refused with a reason, by the keys of git add -p; and undone', async () => {
  const { answer } = await proposed(['line 2\n', 'second\n'], ['line 25\n', 'last\n'])
  await page.keyboard.press('y')
  await page.keyboard.press('n')
  await page.keyboard.type('it is needed')
  await page.keyboard.press('Enter')
  await shows(page, /hunk 1 \(shop.txt:2\) is takenhunk 2 \(shop.txt:25\) is refused: it is needed/)
  await page.keyboard.press('y')
  assert.match(JSON.stringify(await answer), 'it is needed')
  assert.is(shop(), LINES.replace('line 2\n', 'second\n'))
  await page.getByRole('button', { name: /Undo/ }).waitFor()
  await page.keyboard.press('u')
  await opened()
  await page.keyboard.press('y')
  await shows(page, /approved/)
  assert.is(shop(), LINES)
  await page.keyboard.press('q')
})
