import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../src/front/client.ts'
import { PACKAGE_ROOT } from '../src/paths.ts'
import type { Envelope } from '../tools/outcome.ts'
import { CODE_SERVER, installCodeServer, openVsCode, type VsCodeWindow } from './support/code-server.ts'
import { assert, suite } from './support/harness.ts'
import { type Program, startProgram } from './support/program.ts'
import { openRig, type Rig, until } from './support/rig.ts'
import { extensionSha256, LAST_RUN } from './support/vscode-sources.ts'

/**
 * `npm run test:vscode`: the packed extension in a real VS Code, code-server, which Chromium shows, with a real daemon and
 * a real Python program. It is not in `npm test`, for it weighs 800 MB. Where all passes it writes down its run in
 * test/editors/vscode-last-run.json, which `npm test` compares with the extension, and with `IMAGO_TEST_SCREENS=1` takes the
 * picture docs/screens/vscode-plan.png again.
 */
const test = suite('VS Code', { limitMs: 300_000 })

const ORDERS = `RATES = {'winter': 0.2}


def discount(order):
    rate = RATES.get(order['season'], 0)
    return order['total'] / rate


def ship(orders):
    return [discount(order) for order in orders]


def total(orders):
    return sum(order['total'] for order in orders)


def names(orders):
    return [order['name'] for order in orders]
`
const EDITS = [
  {
    path: 'orders.py',
    old_str: "    return order['total'] / rate\n",
    new_str: "    return order['total'] / rate if rate else 0\n",
    why: 'A season without a rate has no discount.',
  },
  {
    path: 'orders.py',
    old_str: "    return sum(order['total'] for order in orders)\n",
    new_str: "    return sum(order['total'] - discount(order) for order in orders)\n",
    why: 'A total takes the discount off.',
  },
  {
    path: 'orders.py',
    old_str: "    return [order['name'] for order in orders]\n",
    new_str: "    return sorted(order['name'] for order in orders)\n",
  },
]
const SOURCE = `import sys, threading
sys.path.insert(0, '.')
import orders
HTML = '[click](command:imago.undo) <b>'
def fail(): threading.Thread(target=orders.ship, args=([{'season': 'summer', 'total': 120}],)).start()
def wait(): threading.Event().wait()
threading.Thread(target=wait, name='waiter', daemon=True).start()`

let rig: Rig
let client: DaemonClient
let code: VsCodeWindow
let program: Program | undefined
let proposed: Promise<Envelope> | undefined
let facts = 0
let failed = true
/** Of the extension as it is packed for this run. */
let packed = ''
const REASON = 'this one stays'

test.before(async () => {
  installCodeServer()
  rig = openRig({ files: { 'orders.py': ORDERS, 'pyproject.toml': '' } })
  await rig.serve()
  client = await rig.connect()
  packed = extensionSha256()
  code = await openVsCode(rig)
})

test.after.each(async () => {
  await code?.page.screenshot({ path: join(PACKAGE_ROOT, `.test-runtimes/vscode-${++facts}.png`) })
})

test.after(async () => {
  await code?.close()
  program?.signal('SIGKILL')
  await rig?.close()
  if (failed) return
  const run = { sha256: packed, codeServer: CODE_SERVER, passed: new Date().toISOString().slice(0, 10) }
  writeFileSync(join(PACKAGE_ROOT, LAST_RUN), `${JSON.stringify(run, null, 2)}\n`)
})

const text = () => readFileSync(join(rig.project, 'orders.py'), 'utf8')
const lens = (title: string) => code.page.locator('.codelens-decoration a', { hasText: title })
const lensesSay = (said: string) =>
  code.page.locator('.codelens-decoration', { hasText: said }).first().waitFor()
const sign = () => code.page.locator('.statusbar-item', { hasText: 'Imago:' })
const pressed = async (keys: string) => {
  for (const key of keys.split(' ')) await code.page.keyboard.press(key)
}

/** The texts of lines of editors, and of what is drawn behind them. */
const DRAWN = `[...document.querySelectorAll('.view-line')].flatMap(line => [
  line.textContent,
  ...[...line.querySelectorAll('span')].map(span => getComputedStyle(span, '::after').content),
])`

/** A line of an editor says that. */
const shows = (said: RegExp) =>
  until(async () => {
    const drawn = await code.page.evaluate<string[]>(DRAWN)
    return drawn.some(text => said.test(text.replaceAll('\u00a0', ' ')))
  }, `a line with ${said}`)

/** Runs a command by its title. */
async function run(title: string): Promise<void> {
  await pressed('F1')
  await code.page.keyboard.type(title)
  await code.page.locator('.quick-input-list').getByText(title).first().waitFor()
  await pressed('Enter')
}

/** Opens a file by the explorer; `says`: in one of its lines. */
async function openFile(name: string, says: RegExp): Promise<void> {
  await code.page.locator('.explorer-folders-view').getByText(name, { exact: true }).dblclick()
  await code.page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor()
  await shows(says)
  await code.page.locator('.editor-group-container.active .monaco-editor.focused').waitFor()
}

/** Evaluates a line that is written at the end of the file. */
async function evaluated(line: string): Promise<void> {
  await pressed('Escape Control+End Enter')
  await code.page.keyboard.insertText(line)
  await pressed('Escape Control+Alt+Enter')
}

/** Has a plan wait; answers with the call that it is about. */
async function propose(edits: readonly object[]) {
  const call = client.call({ tool: 'propose_file_edit', args: { edits } })
  await sign().getByText('Imago: 1 plan waits').waitFor()
  return { call }
}

async function openPlan(): Promise<void> {
  await sign().click()
  await lensesSay('undecided (hunk 1')
}

test('it sits when it starts; a plan that waits is a status item, and takes no focus', async () => {
  await until(async () => (await client.request('approvals', {})).seats.length === 1, 'the seat')
  // What waits for nobody is a sign that leads to all that can be done.
  await code.page.locator('.statusbar-item', { hasText: /^Imago$/ }).click()
  await code.page.locator('.quick-input-list').getByText('Imago: Show a Value…').waitFor()
  await pressed('Escape')
  assert.is(await sign().count(), 0)
  proposed = (await propose(EDITS)).call
  assert.is(await code.page.getByRole('tab', { name: /Imago: / }).count(), 0)
})

test('it opens in the diff editor, where one hunk is taken, one refused with a reason, one edited', async () => {
  await openPlan()
  assert.match((await code.page.locator('.multiDiffEditor').textContent()) ?? '', /asked.by.imago.test/)
  if (process.env.IMAGO_TEST_SCREENS === '1') {
    mkdirSync(join(PACKAGE_ROOT, 'docs/screens'), { recursive: true })
    await code.page.screenshot({ path: join(PACKAGE_ROOT, 'docs/screens/vscode-plan.png') })
  }
  await lens('Take').and(code.page.locator(':text-is("Take")')).first().click()
  await lensesSay('✓ taken (hunk 1 of 3)')
  // By their keys, where the hunk is that was gone to.
  await pressed('n')
  await code.page.locator('.quick-input-message').getByText('to refuse hunk 2 of 3 · orders.py:14').waitFor()
  await code.page.locator('.quick-input-widget input').fill(REASON)
  await pressed('Enter')
  await lensesSay(`✗ refused: ${REASON} (hunk 2 of 3)`)
  await pressed('e')
  await lensesSay('Take this text')
  await pressed('Control+a')
  await code.page.keyboard.insertText("    return {order['name'] for order in orders}")
  await pressed('Control+s')
  await lensesSay('Send this')
  assert.is(text(), ORDERS)
  // A key so soon could be one that is held.
  await code.page.waitForTimeout(1_000)
  await pressed('y')
  await lensesSay('Undo')
  const answer = await proposed
  assert.ok(answer?.ok, JSON.stringify(answer))
  assert.match(JSON.stringify(answer), REASON)
  assert.match(
    text(),
    /if rate else 0\n[\s\S]*order\['total'\] for[\s\S]*return \{order\['name'\] for order in orders\}\n/,
  )
  await until(async () => (await sign().count()) === 0, 'the sign to go')
})

test('the change is taken back, which is a plan too', async () => {
  await lens('Undo').click()
  await lensesSay('Approve')
  await lens('Approve').click()
  await until(() => text() === ORDERS, 'the old text')
})

test('unsaved text is said first, with an offer to save it', async () => {
  await openFile('orders.py', /RATES = /)
  await code.page.keyboard.insertText('# mine\n')
  const { call } = await propose(EDITS.slice(1))
  await openPlan()
  await lensesSay('Save the unsaved text')
  await lens('Save the unsaved text').click()
  await until(() => text().startsWith('# mine\n'), 'the text to be saved')
  // The file is another one now, so that the plan ends unanswered, and says so.
  assert.is((await call).ok, false)
  await shows(/● /)
})

test('code is evaluated in the program, with its result behind the line, as text', async () => {
  const { project, paths } = rig
  program = await startProgram({
    folder: project,
    runtimeDir: paths.runtimeDir,
    name: 'till',
    source: SOURCE,
  })
  await openFile('till.py', /import orders/)
  await evaluated('HTML')
  await shows(/⇒ '\[click\]\(command:imago\.undo\) <b>'/)
})

test('an evaluation says that it runs, and is stopped', async () => {
  await evaluated('while True: threading.Event().wait(0.01)')
  await shows(/… runs/)
  await until(async () => (await client.request('status', {})).running > 0, 'the job')
  await run('Imago: Stop the Evaluation')
  await shows(/✗ The code was stopped/)
})

test('a value that is asked for opens in its view, and a frame of a thread leads to its place', async () => {
  await run('Imago: Show a Value…')
  await code.page.locator('.quick-input-widget input').fill('orders.RATES')
  await pressed('Enter')
  const rows = code.page.locator('.monaco-list-row')
  const row = (said: string | RegExp) => rows.getByText(said)
  await row("'winter': 0.2").waitFor()
  await rows.filter({ hasText: 'CPython' }).locator('.monaco-tl-twistie').click()
  await row(/^Thread "waiter"/).click()
  await rows.filter({ hasText: /^wait\s*till\.py:\d+$/ }).click()
  await code.page
    .locator('.monaco-list-row.selected')
    .filter({ hasText: /till\.py:\d+$/ })
    .waitFor()
  await run('File: Focus on Files Explorer')
})

test('an error of the program is in Problems, with its values behind its line', async () => {
  await openFile('till.py', /import orders/)
  await evaluated('fail()')
  await run('Problems: Focus on Problems View')
  await code.page
    .locator('.markers-panel')
    .getByText(/ZeroDivisionError/)
    .first()
    .waitFor()
  await openFile('orders.py', /RATES = /)
  await shows(/order=\{'season': 'summer'/)
})

test('who approves a change is told which program still runs the old text', async () => {
  const { call } = await propose(EDITS.slice(2))
  await openPlan()
  await lens('Take').and(code.page.locator(':text-is("Take")')).first().click()
  await lensesSay('Send this')
  await code.page.waitForTimeout(1_000)
  await pressed('y')
  assert.ok((await call).ok)
  await shows(/till still runs what it loaded before of orders\.py/)
  failed = false
})
