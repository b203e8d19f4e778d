import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Neovim, openNeovim } from '../../examples/demos/neovim.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { neovimPath } from '../support/runtimes.ts'

/** The plugin in a real Neovim, with a real daemon and a real Python program. */
const test = suite('Neovim plugin', { limitMs: 120_000 })

const ORDERS = `${Array.from({ length: 40 }, (_, n) => `line${n} = ${n}\n`).join('')}`
const PLUGIN = join(PACKAGE_ROOT, 'editors/neovim')
const INIT = join(import.meta.dirname, 'neovim.lua')

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
  neovim = await openNeovim([neovimPath], {
    cwd: project,
    env: { ...env, IMAGO_PLUGIN: PLUGIN },
    folder,
    init: INIT,
  })
  await neovim.types(':edit orders.py<CR>:Imago sit<CR>')
  await neovim.shows(/seated as through nvim/)
}

const SOURCE = `import sys
sys.path.insert(0, '.')`

async function close() {
  await neovim?.end()
  program?.signal('SIGKILL')
  await program?.ended
  await rig?.close()
}

const text = () => readFileSync(join(rig.project, 'orders.py'), 'utf8')
const command = (words: string) => neovim.types(`<Esc>:Imago ${words}<CR>`)
const at = (line: number, put: string) => ({
  path: 'orders.py',
  old_str: `line${line} = ${line}\n`,
  new_str: put,
})
const propose = (...edits: object[]) => client.call({ tool: 'propose_file_edit', args: { edits } })
/** The lines of the file that have a sign. */
const signs = () =>
  neovim.lua(`
  local lines, buf = {}, vim.fn.bufnr('orders.py')
  for name, space in pairs(vim.api.nvim_get_namespaces()) do
    for _, mark in ipairs(name:match('^imago%-plans') and vim.api.nvim_buf_get_extmarks(buf, space, 0, -1, {}) or {}) do
      table.insert(lines, mark[2] + 1)
    end
  end
  return table.concat(lines, ' ')`)
const signed = (lines: string) => until(async () => (await signs()) === lines, `signs at ${lines}`)

const FACTS: Readonly<Record<string, () => Promise<void>>> = {
  'a hunk is taken and one refused with a reason, and the file is read again': async () => {
    const call = propose({ ...at(3, 'line3 = 33\n'), why: 'odd' }, at(30, ''))
    await until(
      async () => (await neovim.lua(`return require('imago').status()`)) === 'imago: 1 plan waits',
      'the plan',
    )
    await command('plans')
    await neovim.shows(/━ hunk 1 of 2 · orders.py:4: odd +· undecided[\s\S]*│ -line3 = 3\n│ \+line3 = 33/)
    await signed('4 31')
    await neovim.types('y')
    await neovim.shows(/✓ taken/)
    await neovim.types('n')
    await neovim.shows(/Reason/)
    await neovim.types('keep it<CR>')
    await neovim.shows(/what will be applied: 1 of 2[\s\S]*orders.py:31 +✗ refused: keep it/)
    await neovim.types('y')
    const answer = await call
    assert.match(JSON.stringify(answer), /keep it/)
    assert.is(text(), ORDERS.replace('line3 = 3\n', 'line3 = 33\n'))
    await neovim.shows(/It ended: ok. To take it back: :Imago undo plan-/)
    await signed('')
    await neovim.types('q')
    await neovim.shows(/^ *line3 = 33$/m)
  },
}

if (existsSync(neovimPath)) {
  test.before(open)
  test.after(close)
  for (const [fact, body] of Object.entries(FACTS)) test(fact, body)
} else for (const fact of Object.keys(FACTS)) test.skip(fact, 'there is no Neovim: node test/setup.mjs')
