import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import {
  leftEnded,
  openBrowser,
  opened,
  openedNow,
  openPage,
  presses,
  seated,
  shows,
} from '../support/browser.ts'
import { assert, suite } from '../support/harness.ts'
import { faultsOfLooks } from '../support/page-looks.ts'
import { type Begun, openRig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** What the page shows besides plans, of a program that fails and waits. Its texts are as hostile as texts can be. */
const test = suite('views of the page', { limitMs: 60_000 })

const MARKUP = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
const SOURCE = `
import logging, struct, threading, zlib
class Cart:
    def __init__(self):
        self.items = [1, {'deep': ${JSON.stringify(MARKUP)}}]
cart = Cart()
lock = threading.Lock()
lock.acquire()
def waits():
    with lock: pass
threading.Thread(target=waits, name='<b>\u202ewaiter', daemon=True).start()
mine, yours, both = threading.RLock(), threading.RLock(), threading.Barrier(2)
def moves(here, there):
    with here:
        both.wait()
        with there: pass
for name, locks in {'<i>there': (mine, yours), 'back': (yours, mine)}.items():
    threading.Thread(target=moves, args=locks, name=name, daemon=True).start()
class Figure:
    def _repr_png_(self):
        def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        size = struct.pack('>IIBBBBB', 1200, 40, 8, 0, 0, 0, 0)
        rows = zlib.compress((bytes(1) + bytes(range(240)) * 5) * 40)
        return b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', size) + chunk(b'IDAT', rows) + chunk(b'IEND', b'')
def fail(n):
    basket = {'name': ${JSON.stringify(MARKUP)}, 'more': {'deep': 'inside'}}
    return n / 0
try: fail(3)
except Exception as error:
    left = error
    logging.exception('a request for %s failed', '/orders')
print('ready', flush=True)
threading.Event().wait()
`

/** A program that has become two, and one that they have started. */
const FAMILY = `
import multiprocessing, os, time
first, number = os.getpid(), 1
def stays():
    while first in (os.getpid(), os.getppid()): time.sleep(0.05)
multiprocessing.get_context('fork').Process(target=stays).start()
if os.fork() == 0: number = 2
stays()
`
const rig = openRig({
  files: {
    'imago.toml': '',
    'shop.py': SOURCE,
    'web.py': FAMILY,
    'gone.py': 'raise ValueError("<b>gone")\n',
  },
})
let browser: Browser
let page: Page
let program: Begun

test.before(async () => {
  await rig.serve()
  await rig.begin(['run', '--', venvPython, 'gone.py']).ended
  program = rig.begin(['run', '--name', 'shop', '--', venvPython, 'shop.py'])
  await program.says(/ready/)
  browser = await openBrowser()
  page = await openPage(rig, browser)
})
test.after(async () => {
  await browser?.close()
  program?.child.kill('SIGTERM')
  await program?.ended
  await rig.close()
})

/** Nothing that a program says has become a part of the page. */
async function hasNoMarkup() {
  assert.is(await page.locator('main img, main script, main b:has-text("\u202e")').count(), 0)
  assert.match(await page.title(), /Imago$/)
}

test('a program, and what each of its threads does, the frames of the project in full', async () => {
  await page.keyboard.press('3')
  await page.getByRole('button', { name: /^shop listens/ }).click()
  await page.getByRole('heading', { name: /^shop/ }).waitFor()
  await shows(page, /<b>⟦U\+202E⟧waiter waiting for the lock/s)
  await shows(page, /waits .*with lock: pass/s)
  await hasNoMarkup()
})

test('threads that wait for each other are told above all, in their circle', async () => {
  const circle = /They wait for each other: (<i>there → back → <i>there|back → <i>there → back)/
  await page.getByRole('alert').filter({ hasText: circle }).waitFor()
  // What does the same is told once.
  await shows(
    page,
    /\(2\) waiting for the reentrant lock there that (<i>there|back) holds; .* that (<i>there|back) holds/,
  )
  await page.keyboard.press('q')
})

test('a family is listed together, its members by their numbers and its helper as one, and each opens', async () => {
  const web = rig.begin(['run', '--name', 'web', '--', venvPython, 'web.py'])
  const programs = page.getByRole('region', { name: 'Programs of this project' })
  const members = programs.getByRole('button', { name: /^web listens/ })
  for (const count of [2, 1]) {
    await until(async () => (await members.count()) === count, `${count} of the family to be told`)
    await members.first().click()
    await shows(page, /Look again.*stays .*web\.py:5 *while first in/s)
    // It has another name now, and stays open.
    await page.getByRole('heading', { name: /^web(\/2)? ready/ }).waitFor()
    await page.keyboard.press('q')
  }
  const [first, second, helper] = [/^web ready .*process/, /^web\/2 ready .*process/, /^web-worker listens/]
  for (const name of [first, second, helper]) await programs.getByRole('button', { name }).waitFor()
  await programs.getByRole('button', { name: helper }).click()
  await shows(page, /web-worker.*Look again.*stays .*web\.py:5 *while first in/s)
  await page.keyboard.press('q')
  await programs.getByRole('button', { name: /^web-worker .*process \d+, a helper/ }).waitFor()
  await page.keyboard.press('4')
  const field = page.getByLabel('An expression, or statements')
  for (const name of ['web', 'web/2']) {
    await page.getByRole('combobox').selectOption(name)
    await field.fill('10 * number')
    await page.keyboard.press('Control+Enter')
  }
  for (const came of [/^10 \* number10$/, /^10 \* number20$/])
    await page.locator('article', { hasText: came }).waitFor()
  await page.getByRole('combobox').selectOption('')
  await field.press('Escape')
  web.child.kill('SIGTERM')
  await web.ended
})

test('an error as it came, with the values of that moment, which open field by field; its markup is text', async () => {
  await page.keyboard.press('2')
  await page.getByRole('button', { name: /ZeroDivisionError.* \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/ }).click()
  await shows(page, /ZeroDivisionError: division by zero.*it was logged as: a request for \/orders failed/s)
  await shows(page, /fail .*return n \/ 0.*n 3.*basket \{'name': '<img src=x onerror=/s)
  await page.locator('summary', { hasText: 'basket' }).click()
  await page.locator('summary', { hasText: /^ *'more': \{'deep'/ }).click()
  await page.locator('summary', { hasText: /^ *'deep': 'inside'$/ }).waitFor()
  await hasNoMarkup()
  await page.keyboard.press('q')
})

test('errors of processes that have gone are below, and open as others', async () => {
  const past = page.getByRole('region', { name: 'Errors of processes that have gone' })
  await past.getByRole('button', { name: /ValueError: <b>gone/ }).click()
  await shows(page, /gone, process \d+ ValueError: <b>gone.*module.*raise ValueError/s)
  await hasNoMarkup()
  await page.keyboard.press('q')
})

test('an expression runs, a value opens field by field without running anything, a table is cells of text, and the last ones are recalled', async () => {
  await page.keyboard.press('4')
  const field = page.getByLabel('An expression, or statements')
  await page.keyboard.type('cart')
  await page.keyboard.press('Control+Shift+Enter')
  await page.locator('summary', { hasText: 'items' }).click()
  await page.locator('summary', { hasText: /^ *\{'deep'/ }).click()
  await shows(page, /<script>document.title=2<\/script>/s)
  await field.fill(
    'class Table:\n    def _repr_html_(self): return "<table onclick=1><tr><th>a</th></tr><tr><td><b>x</b><img src=x onerror=alert(1)></td></tr></table>"\nTable()',
  )
  await page.keyboard.press('Control+Enter')
  await page.getByRole('cell', { name: 'x', exact: true }).waitFor()
  await field.fill('print("out"); 1 / 0')
  await page.keyboard.press('Control+Enter')
  await shows(page, /exception: ZeroDivisionError.*1 \/ 0.*out/s)
  await field.fill('len(cart.items) + 40')
  await page.keyboard.press('Control+Shift+Enter')
  await shows(page, /Code would have to run to tell/)
  await page.getByRole('button', { name: 'Run it', exact: true }).first().click()
  await page.locator('article', { hasText: /^len\(cart.items\) \+ 4042$/ }).waitFor()
  assert.is(await page.getByText(/next:|get_last_error|on_error|eval_expr/).count(), 0)
  for (const [key, text] of [
    ['ArrowUp', 'len(cart.items) + 40'],
    ['ArrowUp', 'print("out"); 1 / 0'],
    ['ArrowDown', 'len(cart.items) + 40'],
    ['ArrowDown', ''],
  ] as const) {
    await field.press(key)
    assert.is(await field.inputValue(), text)
  }
  await field.fill('mine')
  await field.press('ArrowUp')
  assert.is(await field.inputValue(), 'mine')
  await page.getByRole('button', { name: 'Errors' }).click()
  await page.getByRole('button', { name: 'Expression' }).click()
  assert.is(await field.inputValue(), 'mine')
  await hasNoMarkup()
})

test('a figure is shown as a picture, no wider than the page', async () => {
  await page.getByLabel('An expression, or statements').fill('Figure()')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('img', { name: 'A figure' }).waitFor()
  const widths = `(({ naturalWidth, width }) => [naturalWidth, width <= innerWidth])(document.querySelector('main img'))`
  await until(async () => String(await page.evaluate(widths)) === '1200,true', 'the picture')
})

test('code that asks for a line of input gets what is typed; what waits behind it says so', async () => {
  // The keys of views count once the field is left, and its own leads back to it.
  await page.keyboard.press('Escape')
  await page.keyboard.press('2')
  await page.getByRole('main', { name: 'Errors' }).waitFor()
  for (const key of ['4', 'Escape', '4']) await page.keyboard.press(key)
  await page.keyboard.type('2')
  await page.getByLabel('An expression, or statements').fill('input("name? ") * 2')
  await page.keyboard.press('Control+Enter')
  await page.getByLabel(/The code asks: name\?/).waitFor()
  await page.getByLabel('An expression, or statements').fill('40 + 2')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('button', { name: 'It waits for the one before: stop it' }).waitFor()
  await page.getByLabel(/The code asks: name\?/).fill('ada')
  await page.keyboard.press('Enter')
  await shows(page, /'adaada'/s)
  await page.locator('article', { hasText: /^40 \+ 242$/ }).waitFor()
})

test('the journal says who asked and what came of it, once the page sits', async () => {
  await page.locator('h1').click()
  await presses(page, '5')
  await shows(page, /needs a seat/s)
  await page.keyboard.press('1')
  await page.keyboard.press('S')
  const asks =
    'Within a minute, type in a terminal: imago seat \\w{4}-\\w{4} \\(it asks there: y, then Enter\\)'
  await shows(page, new RegExp(`Nobody sits, so that all that needs a person is refused\\. ${asks}Give up`))
  await seated(rig, page)
  await page.keyboard.press('5')
  await page.getByRole('button', { name: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*input\("name\? "\) \* 2/ }).click()
  await shows(page, /ok .*eval_expr .*page +input\("name\? "\) \* 2.*gate: allow/s)
  await hasNoMarkup()
})

test('an approved edit says which program still runs the text from before', async () => {
  const client = await rig.connect()
  const args = { path: 'shop.py', old_str: 'return n / 0', new_str: 'return n' }
  const answer = client.call({ tool: 'edit_file', args })
  await page.keyboard.press('1')
  await opened(page)
  await page.keyboard.press('y')
  await page.keyboard.press('y')
  assert.ok((await answer).ok)
  await shows(page, /It ended: ok\. shop still runs what it loaded before of shop\.py: load_file/)
  await leftEnded(page)
})

test('a run of the agent: what it did, what it waits for; it is cancelled there; those of other projects are not told', async () => {
  const folder = join(rig.paths.stateDir, 'runs')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const keep = (run: string, root: string) => {
    const begun = { run, id: run, root, text: `mend <b>${run}`, guidance: '', model: 'm', profile: 'full' }
    const entries = [
      { type: 'begun', at: 1, ...begun },
      { type: 'waits', at: 2, for: 'Edit <b>a.txt' },
    ]
    const lines = entries.map(entry => `${JSON.stringify(entry)}\n`).join('')
    writeFileSync(join(folder, `${run}.jsonl`), lines, { mode: 0o600 })
  }
  keep('run-1', rig.project)
  keep('run-2', '/elsewhere')
  await page.keyboard.press('6')
  await page.getByRole('button', { name: /run-1 waits mend <b>run-1 — waits for Edit <b>a.txt/ }).click()
  assert.is(await page.getByText('run-2').count(), 0)
  await page.getByRole('button', { name: 'Cancel it' }).click()
  await until(
    () => /cancelled/.test(readFileSync(join(folder, 'run-1.jsonl'), 'utf8')),
    'the run to be cancelled',
  )
  await shows(page, /run-1 cancelled/)
  await page.keyboard.press('q')
})

test('the page asks nothing of the daemon while nothing happens in its project', async () => {
  const elsewhere = join(rig.folder, 'elsewhere')
  mkdirSync(elsewhere)
  const stranger = await rig.connect({ root: elsewhere })
  await stranger.request('start', { language: 'python', name: 'elsewhere' })
  const asked: string[] = []
  page.once('websocket', socket => {
    socket.on('framesent', ({ payload }) => {
      if (/"method"/.test(String(payload))) asked.push(String(payload))
    })
  })
  await page.reload()
  for (const [key, view] of Object.entries({ 3: 'Programs', 6: 'Runs' })) {
    await page.keyboard.press(key)
    await page.getByRole('main', { name: view }).getByRole('listitem').first().waitFor()
    const waits = { tool: 'eval_expr', args: { expr: '__import__("time").sleep(2.5)', kernel: 'elsewhere' } }
    // What has come with the connection is asked for within the first.
    await stranger.call(waits)
    const before = asked.length
    await stranger.call(waits)
    assert.ok(before > 0)
    assert.equal(asked.slice(before), [])
  }
  await stranger.close()
})

/** Opens all that is folded in what is shown. */
const unfold = () => page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)

test('in light and in dark, every view and what opens there has contrast enough, and 360 pixels are wide enough', async () => {
  await page.setViewportSize({ width: 360, height: 640 })
  const client = await rig.connect()
  const path = `${'long'.repeat(40)}.py`
  const edits = [
    { path: 'shop.py', old_str: 'return n', new_str: `return n # \u202e${'wide'.repeat(90)}` },
    { path, old_str: '', new_str: '1\n', why: 'b'.repeat(200) },
  ]
  const over = new AbortController()
  const answer = client.call({ tool: 'propose_file_edit', args: { edits }, signal: over.signal })
  const waits = page.getByRole('region', { name: 'What waits for you' }).getByRole('button')
  const faults: string[] = []
  const looked = async (what: string) => {
    await unfold()
    await until(async () => (await page.getByText('…', { exact: true }).count()) === 0, 'all answers')
    faults.push(...(await faultsOfLooks(page)).map(fault => `${what}: ${fault}`))
  }
  await page.keyboard.press('1')
  await waits.first().waitFor()
  await looked('Waits')
  await waits.first().click()
  await openedNow(page)
  await presses(page, 'y', 'n')
  await looked('a plan, and a field')
  await page.keyboard.type('no')
  await page.keyboard.press('Enter')
  await looked('what is decided')
  over.abort()
  await answer.catch(() => {})
  await page.getByRole('article', { name: 'What came of it' }).waitFor()
  await looked('a plan that has ended')
  await presses(page, 'q')
  await page
    .getByRole('button', { name: /approved/ })
    .first()
    .click()
  await looked('a plan that was done')
  await page.keyboard.press('4')
  await looked('Expression')
  await page.keyboard.press('Escape')
  for (const [key, view] of Object.entries({ 2: 'Errors', 3: 'Programs', 5: 'Journal', 6: 'Runs' })) {
    await page.keyboard.press(key)
    const rows = page.getByRole('main', { name: view }).getByRole('listitem')
    await rows.first().waitFor()
    await looked(view)
    await rows.getByRole('button').first().click()
    await page.getByRole('button', { name: 'Back' }).waitFor()
    await looked(`a row of ${view}`)
  }
  assert.equal(faults, [])
})
