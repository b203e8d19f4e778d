import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openRig } from '../test/support/rig.ts'
import { openScreen, type ScreenOf } from '../test/support/screen.ts'

/**
 * Takes the screens of docs/console.md anew: a real console at a terminal of 80 columns and 16 rows. Each one stands
 * below a line `<!-- screen NAME -->`. By hand, after a build: node --import tsx docs/screens.ts
 */
const SHOP = `class Order:
    """What somebody wants, and where it goes."""

    def __init__(self, total, items):
        self.total = total
        self.items = items

    def ship(self, to: str, *, express: bool = False) -> None:
        """Send it."""
        if not self.items:
            raise ValueError('nothing to send')
`

/** A function of a Lisp program that is called with what it does not expect. */
const PRICE = '(defun price (item) (ecase item (:tea 3)))'
const MENDED = '(defun price (item) (ecase item (:tea 3) (:milk 1)))'

const rig = openRig({ files: { 'shop.py': SHOP } })
const lispRig = openRig()
const page = join(import.meta.dirname, 'console.md')
let text = readFileSync(page, 'utf8')

function keep(name: string, screen: ScreenOf) {
  const begin = `<!-- screen ${name} -->\n`
  const at = text.indexOf(begin)
  if (at < 0) throw new Error(`docs/console.md has no place for ${name}`)
  const behind = text.slice(at + begin.length)
  const rest = behind.startsWith('```text\n') ? behind.slice(behind.indexOf('\n```\n') + 5) : behind
  const shown = screen.text().replaceAll(`${rig.folder}/`, '/home/ada/')
  text = `${text.slice(0, at + begin.length)}\`\`\`text\n${shown}\n\`\`\`\n${rest}`
}

const screen = openScreen(rig, { columns: 80, rows: 16 })
try {
  await screen.shows(/^>>>/m)
  screen.type('from shop import Order\r')
  await screen.shows(/import Order\n>>>$/)
  screen.type('orders = [Order(12, ["tea"]), Order(30, [])]\r')
  await screen.shows(/\]\n>>>$/)
  screen.type(
    'def largest(orders):\r"""The one that costs most."""\rreturn max(orders, key=lambda o: o.total)\r\r',
  )
  await screen.shows(/o\.total\)\n>>>$/)
  screen.type('largest(orders).total, [o.items for o in orders]\r')
  await screen.shows(/\n\(30, .*\n>>>$/)
  keep('session', screen)

  screen.type('\x0corders[0].\t')
  await screen.shows('items')
  screen.type('\x15"".is\t')
  await screen.shows('isalpha')
  screen.type('\t\t')
  await screen.shows(/"".isalpha$/m)
  keep('menu', screen)

  screen.type('\x03\x0corders[0].ship("Rome", express=')
  await screen.shows(/^orders\[0\]\.ship\(to/m)
  keep('signature', screen)

  screen.type('\x03\x0corders[1].ship("Rome")\r')
  await screen.shows(/ValueError: nothing[\s\S]*\n>>>$/)
  keep('traceback', screen)

  screen.type('\x0cimport time\r')
  await screen.shows(/time\n>>>$/)
  screen.type('for number in range(5):\rprint("batch", number, "of 5"); time.sleep(1)\r\r')
  await screen.shows(/3 s · Ctrl-C interrupts$/)
  keep('running', screen)
  await screen.shows(/>>>$/)

  screen.type('\x0c\x12largest')
  await screen.shows('search: largest')
  keep('search', screen)

  screen.type('\x07\x03\x0ccheapest = ')
  await screen.shows(/^>>> cheapest =$/m)
  const model = await rig.connect({ name: 'claude-code' })
  const args = { path: 'shop.py', old_str: 'nothing to send', new_str: 'there is nothing to send' }
  void model.call({ tool: 'edit_file', args }).catch(() => {})
  await screen.shows('Ctrl-T answers')
  keep('approvals', screen)
  screen.type('\x03\x04')
  await screen.ended

  await lispRig.serve()
  await lispRig.begin(['start', 'lisp', '--name', 'shop']).ended
  const lisp = openScreen(lispRig, { columns: 80, rows: 24 })
  await lisp.shows(/^>>>$/m)
  for (const form of [PRICE, "(defun total (items) (reduce #'+ (mapcar #'price items)))"]) {
    lisp.type(`${form}\r`)
    await lisp.shows(/\n(price|total)\n>>>$/)
  }
  lisp.type('\x0c(total (list :tea :milk))\r')
  await lisp.shows(/suspended as[\s\S]*\n\[1\] >>>$/)
  lisp.type(`${MENDED}\r`)
  await lisp.shows(/\nprice\n\[1\] >>>$/)
  lisp.type(':again\r')
  await lisp.shows(/\n4\n>>>$/)
  keep('restarts', lisp)
  lisp.close()
} finally {
  screen.close()
  await rig.close()
  await lispRig.close()
}
writeFileSync(page, text)
process.exit(0)
