import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { approves, type Neovim, openNeovim } from '../../examples/demos/neovim.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { neovimPath } from '../support/runtimes.ts'

/** A real Neovim with its own client for language servers and no plugin, as examples/demos/neovim.lua sets it up. */
const test = suite('Neovim', { limitMs: 90_000 })

const ORDERS = `DISCOUNTS = {None: 0, 'loyal': 10}


def total(order, rate=2):
    discount = DISCOUNTS[order['discount']]
    return order['price'] * rate - discount
`
const SOURCE = `import threading, sys
sys.path.insert(0, '.')
import orders
orders.SEASON = 'winter'
def fail(order): threading.Thread(target=orders.total, args=(order,), name='till').start()`

let rig: Rig
let client: DaemonClient
let program: Program
let neovim: Neovim

async function open() {
  rig = openRig({ files: { 'orders.py': ORDERS, 'pyproject.toml': '' } })
  await rig.serve()
  client = await rig.connect()
  const { folder, project, env, paths } = rig
  program = await startProgram({
    folder: project,
    runtimeDir: paths.runtimeDir,
    name: 'shop',
    source: SOURCE,
  })
  neovim = await openNeovim([neovimPath], { cwd: project, env, folder })
  await neovim.types(':edit orders.py<CR>')
}

async function close() {
  await neovim?.end()
  program?.signal('SIGKILL')
  await program?.ended
  await rig?.close()
}

const edit = (old_str: string, new_str: string) =>
  client.call({ tool: 'edit_file', args: { path: 'orders.py', old_str, new_str } })

const answers = (title: string, text: string) => approves(neovim, { title, text, file: 'orders.py' })

const FACTS: Readonly<Record<string, () => Promise<void>>> = {
  'an error of a running program is at its line with its values, and names are completed from the image':
    async () => {
      const fails = { tool: 'eval_expr', args: { expr: "fail({'discount': 'none'})", kernel: 'shop' } }
      await until(async () => (await client.call(fails)).ok, 'the program to be joined')
      await neovim.shows(/^E .*order\['discount'\]\] KeyError: 'none' · order=\{'discount': 'none'\}/m)
      await neovim.types('GoSEAS<C-x><C-o>')
      await neovim.shows(/^ +SEASON$/m)
      await neovim.types('<Esc>u')
    },

  'a seat through it approves a plan that a code action shows, and takes the change back': async () => {
    await neovim.types(':ImagoSit<CR>')
    await neovim.shows(/through nvim \(process \d+\), which calls itself "Neovim"/)
    const call = edit('rate=2', 'rate=3')
    await answers('Edit orders.py', '^-def.*rate=2.*\\n\\+def.*rate=3')
    assert.ok((await call).ok)
    await neovim.shows(/def total\(order, rate=3\)/)
    await neovim.types(':ImagoUndo<CR>')
    await answers('Take back', '^-def.*rate=3.*\\n\\+def.*rate=2')
    assert.is(readFileSync(join(rig.project, 'orders.py'), 'utf8'), ORDERS)
  },

  'a plan that has the marks of a fold and a modeline is shown whole (threat 14)': async () => {
    // As for everybody but root.
    await neovim.lua('vim.go.modeline = true')
    const call = edit('discount\n', 'discount  # <(\nimport evil  # )>\n# vim: fdm=marker fmr=<(,)> fdl=0\n')
    await answers('Edit orders.py', '^\\+import evil')
    assert.ok((await call).ok)
  },
}

if (existsSync(neovimPath)) {
  test.before(open)
  test.after(close)
  for (const [fact, body] of Object.entries(FACTS)) test(fact, body)
} else for (const fact of Object.keys(FACTS)) test.skip(fact, 'there is no Neovim: node test/setup.mjs')
