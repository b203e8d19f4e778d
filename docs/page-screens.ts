import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { toEnd } from '../examples/demos/page.ts'
import { openBrowser, openPage, seated } from '../test/support/browser.ts'
import { openRig } from '../test/support/rig.ts'
import { venvPython } from '../test/support/runtimes.ts'

/**
 * Takes the pictures of the page again, docs/screens/page-*.png: a real browser, daemon and program. By hand, after a build:
 * node --import tsx docs/page-screens.ts
 */
const SHOP = `import logging, threading

RATES = {'winter': 0.2}
lock = threading.Lock()


def discount(order):
    rate = RATES.get(order['season'], 0)
    return order['total'] / rate


def ship(orders):
    with lock:
        return [discount(order) for order in orders]


def total(orders):
    return sum(order['total'] for order in orders)


def work():
    try:
        ship([{'season': 'summer', 'total': 120}])
    except ZeroDivisionError:
        logging.exception('an order could not be shipped')
    with lock:
        lock.acquire()


threading.Thread(target=work, name='worker', daemon=True).start()
print('ready', flush=True)
threading.Event().wait()
`
const EDITS = [
  {
    path: 'shop.py',
    old_str: "    return order['total'] / rate\n",
    new_str: "    return order['total'] / rate if rate else 0\n",
    why: 'A season without a rate has no discount.',
  },
  {
    path: 'shop.py',
    old_str: "    return sum(order['total'] for order in orders)\n",
    new_str: "    return sum(order['total'] - discount(order) for order in orders)\n",
    why: 'A total takes the discount off.',
  },
]

const rig = openRig({ files: { 'shop.py': SHOP, 'imago.toml': '' } })
const browser = await openBrowser()
try {
  await rig.serve()
  const program = rig.begin(['run', '--name', 'shop', '--', venvPython, 'shop.py'])
  await program.says(/ready/)
  const client = await rig.connect({ name: 'claude-code' })
  const page = await openPage(rig, browser)
  await page.setViewportSize({ width: 880, height: 760 })
  await seated(rig, page)
  await page.keyboard.press('2')
  await page.getByRole('button', { name: /ZeroDivisionError/ }).click()
  await page.getByText('rate').first().waitFor()
  await keep(page, 'error')
  const answer = client.call({ tool: 'propose_file_edit', args: { edits: EDITS } })
  await page.keyboard.press('1')
  await page.getByRole('button', { name: /propose_file_edit/ }).click()
  await page.locator('article[aria-busy=false]').waitFor()
  await page.keyboard.press('y')
  await keep(page, 'plan')
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize({ width: 360, height: 640 })
  await keep(page, 'small')
  await toEnd(page)
  await page.keyboard.press('y')
  await page.keyboard.press('y')
  await answer
  program.child.kill('SIGTERM')
} finally {
  await browser.close()
  await rig.close()
}

async function keep(page: Page, name: string) {
  await page.screenshot({ path: join(import.meta.dirname, `screens/page-${name}.png`) })
}
