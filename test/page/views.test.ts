import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { leftEnded, openBrowser, opened, openPage, presses, seated, shows } from '../support/browser.ts'
import { assert, suite } from '../support/harness.ts'
import { type Begun, openRig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** What the page shows besides plans, of a program that fails and waits. Its texts are as hostile as texts can be. */
const test = suite('views of the page', { limitMs: 60_000 })

const MARKUP = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
const SOURCE = `
import logging, threading
class Cart:
    def __init__(self):
        self.items = [1, {'deep': ${JSON.stringify(MARKUP)}}]
cart = Cart()
lock = threading.Lock()
lock.acquire()
def waits():
    with lock: pass
threading.Thread(target=waits, name='<b>\u202ewaiter', daemon=True).start()
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
const rig = openRig({
  files: { 'imago.toml': '', 'shop.py': SOURCE, 'gone.py': 'raise ValueError("<b>gone")\n' },
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
  await page.keyboard.press('q')
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
  mkdirSync(folder, { mode: 0o700 })
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

test('360 pixels are wide enough for each view', async () => {
  await page.setViewportSize({ width: 360, height: 640 })
  for (const key of ['1', '2', '3', '4', '5', '6']) {
    await page.keyboard.press('Escape')
    await page.keyboard.press(key)
    await until(
      async () =>
        page.evaluate<boolean>(
          'Math.max(document.documentElement.scrollWidth, document.querySelector("nav").scrollWidth) <= 360',
        ),
      `view ${key} to fit`,
    )
  }
})
