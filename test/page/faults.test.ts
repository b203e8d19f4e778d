import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toEnd } from '../../examples/demos/page.ts'
import {
  leftEnded,
  letIn,
  opened,
  openPage,
  openPageScene,
  type PageScene,
  presses,
  shows,
} from '../support/browser.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'

/** A page beside other seats, a tab that is killed, a file that changes meanwhile, and a plan of many files. */
const test = suite('faults of the page', { limitMs: 90_000 })

let scene: PageScene
let rig: PageScene['rig']
let browser: PageScene['browser']
let page: PageScene['page']
let client: PageScene['client']

test.before(async () => {
  scene = await openPageScene({ 'a.txt': 'one\ntwo\nthree\n' })
  ;({ rig, browser, page, client } = scene)
})
test.after(() => scene?.close())

const a = () => readFileSync(join(rig.project, 'a.txt'), 'utf8')

const replaced = (old_str: string, new_str: string) =>
  client.call({ tool: 'propose_file_edit', args: { edits: [{ path: 'a.txt', old_str, new_str }] } })

test('a hunk is split, and its parts are decided one by one', async () => {
  const answer = replaced('one\ntwo\nthree\n', '1\ntwo\n3\n')
  await opened(page)
  await presses(page, 's')
  await shows(page, /hunk 1, part 1 \(a.txt:1\).*hunk 1, part 2 \(a.txt:3\)/s)
  await presses(page, 'y', 'n')
  await page.keyboard.type('three stays')
  await page.keyboard.press('Enter')
  await presses(page, 'y')
  assert.match(JSON.stringify(await answer), 'three stays')
  assert.is(a(), '1\ntwo\nthree\n')
  await leftEnded(page)
})

test('a file that changes between showing and answering is not written over, and the page says so', async () => {
  const answer = replaced('two\n', '2\n')
  await opened(page)
  writeFileSync(join(rig.project, 'a.txt'), 'mine\ntwo\n')
  await presses(page, 'y', 'y')
  assert.not.ok((await answer).ok)
  // The daemon may have noticed before the answer came.
  await shows(page, /It ended: \w+|\bstale\b/)
  assert.is(await page.getByText('It ended: ok').count(), 0)
  assert.is(a(), 'mine\ntwo\n')
  await leftEnded(page)
})

test('a terminal and the page answer one plan: the first counts, and the other is told by whom', async () => {
  const screen = openScreen(rig, { args: ['watch', '--plain'], columns: 160, rows: 50 })
  await letIn(page)
  await screen.shows('plans that need approval are shown here')
  const answer = replaced('two\n', '2\n')
  await opened(page)
  await screen.shows('Apply this hunk?')
  screen.type('y\n')
  await screen.shows('Is that to be done?')
  screen.type('y\n')
  assert.ok((await answer).ok)
  await shows(page, /This was done:.*\+2.*approved.*terminal/s)
  await presses(page, 'y')
  await leftEnded(page)
  const other = replaced('2\n', 'zwei\n')
  await screen.shows('zwei')
  await opened(page)
  await presses(page, 'y', 'y')
  assert.ok((await other).ok)
  await screen.shows(/approved.*page/s)
  await leftEnded(page)
  screen.close()
})

test('a tab that is killed with its plan open leaves the plan to those who sit', async () => {
  const other = await openPage(rig, browser)
  await other.getByRole('button', { name: 'Sit' }).click()
  await letIn(page)
  await shows(other, /You sit here/)
  const answer = replaced('zwei\n', 'two\n')
  await opened(other)
  await presses(other, 'y')
  const killed = other.waitForEvent('crash')
  void other.goto('chrome://crash').catch(() => {})
  await killed
  await opened(page)
  await presses(page, 'n')
  await page.keyboard.press('Enter')
  await presses(page, 'y')
  assert.match(JSON.stringify(await answer), 'denied')
  await leftEnded(page)
})

test('a plan of 100 files, which is the most that there are, is shown, decided and sent', async () => {
  const edits = Array.from({ length: 100 }, (_, n) => ({
    path: `many-${n}.txt`,
    old_str: '',
    new_str: `file ${n}\n`,
  }))
  const answer = client.call({ tool: 'propose_file_edit', args: { edits } })
  await opened(page)
  await shows(page, /hunk 100 \(many-99.txt:1\)/)
  await presses(page, 'n')
  await page.keyboard.type('not that')
  await page.keyboard.press('Enter')
  await toEnd(page)
  await presses(page, 'a')
  await shows(
    page,
    /hunk 1 \(many-0.txt:1\) makes the new file ✗ refused: not that.*hunk 100 \(many-99.txt:1\) makes the new file ✓ taken.*All is decided/s,
  )
  await presses(page, 'y')
  assert.ok((await answer).ok)
  const outcome = page.getByRole('article', { name: 'What came of it' }).getByRole('status')
  await outcome.filter({ hasText: 'It ended: ok.' }).waitFor()
  await until(async () => page.evaluate<boolean>('scrollY === 0'), 'its first hunk to be in sight')
  assert.is(readFileSync(join(rig.project, 'many-99.txt'), 'utf8'), 'file 99\n')
})
