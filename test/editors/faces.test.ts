import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { Neovim } from '../../examples/demos/neovim.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import { leftEnded, letIn, openBrowser, opened, openPage, shows } from '../support/browser.ts'
import { type EmacsPlugin, openEmacsPlugin } from '../support/emacs-plugin.ts'
import { assert, suite } from '../support/harness.ts'
import { openNeovimPlugin } from '../support/neovim-plugin.ts'
import { openRig, until } from '../support/rig.ts'

/** Emacs, Neovim and the page, side by side in one project. */
const test = suite('two editors and the page', { limitMs: 90_000 })

const rig = openRig({ files: { 'a.txt': 'one\ntwo\nthree\n', 'imago.toml': '' } })
let client: DaemonClient
let emacs: EmacsPlugin
let neovim: Neovim
let browser: Browser
let page: Page

test.before(async () => {
  await rig.serve()
  client = await rig.connect()
  emacs = await openEmacsPlugin(rig, 'a.txt')
  browser = await openBrowser()
  page = await openPage(rig, browser)
  await page.getByRole('button', { name: 'Sit' }).click()
  await until(async () => /1 seat wanted/.test(await emacs.eval('(imago-sign)')), 'the wish of the page')
  emacs.command('imago-admit')
  await emacs.until('(active-minibuffer-window)')
  emacs.type('yes\r')
  await shows(page, /You sit here/)
  neovim = await openNeovimPlugin({ cwd: rig.project, env: rig.env, folder: rig.folder })
  await neovim.types(':edit a.txt<CR>:Imago sit<CR>')
  await letIn(page)
  await neovim.shows(/seated through nvim/)
})
test.after(async () => {
  await neovim?.end()
  await browser?.close()
  await emacs?.kill().catch(() => {})
  await rig.close()
})

const lines = () => readFileSync(join(rig.project, 'a.txt'), 'utf8').split('\n')

/** A plan for line 2 that all of them have open, each one key before its answer. */
async function asked(put: string) {
  await emacs.visit('a.txt')
  const edits = [{ path: 'a.txt', old_str: lines()[1], new_str: put }]
  const call = client.call({ tool: 'propose_file_edit', args: { edits } })
  await emacs.signed(1)
  emacs.command('imago-plans')
  await emacs.shows(`+${put}`)
  emacs.type('ny')
  await emacs.shows('What will be applied')
  await neovim.types('<Esc>:silent! only | edit! a.txt | Imago plans<CR>')
  await neovim.shows(new RegExp(`\\+${put}`))
  await neovim.types('y')
  await neovim.shows(/what will be applied: 1 of 1/)
  await opened(page)
  await page.keyboard.press('y')
  await shows(page, /All is decided/)
  return { call }
}

/** That text as a screen or a page has it, however it breaks its lines. */
const pattern = (text: string) => new RegExp(text.replace(/[^\w ]/g, '\\$&').replaceAll(' ', '\\s+'))

const BY: Readonly<Record<string, RegExp>> = { Emacs: /through emacs/, Neovim: /through nvim/, page: /page/ }

const FACES = {
  Emacs: () => Promise.resolve(emacs.type('y')),
  Neovim: () => neovim.types('y'),
  page: () => page.keyboard.press('y'),
}

for (const [name, answers] of Object.entries(FACES))
  test(`a plan that all have open is decided by the first answer, of ${name}, and the others see by whom`, async () => {
    const { call } = await asked(name)
    await answers()
    assert.ok((await call).ok)
    assert.equal(lines(), ['one', name, 'three', ''])
    const { ends } = await client.request('approvals', {})
    const why = ends.at(-1)?.why ?? ''
    assert.match(why, BY[name] ?? /!/)
    await emacs.shows(why)
    await neovim.shows(pattern(why))
    await shows(page, pattern(why))
    await leftEnded(page)
  })

test('answers that all give at once change the file once, and exactly one of them counts', async () => {
  const { call } = await asked('all')
  await Promise.all(Object.values(FACES).map(answers => answers()))
  assert.ok((await call).ok)
  assert.equal(lines(), ['one', 'all', 'three', ''])
  const { ends } = await client.request('approvals', {})
  assert.equal(
    ends.filter(({ outcome, ended }) => outcome === 'approved' && ended?.outcome === 'ok').length,
    4,
  )
  await emacs.shows('It ended: ok.')
  await neovim.shows(/It ended: ok/)
  await leftEnded(page)
})

test('a daemon that is killed under all comes back: an editor has its seat again, and the page says that its daemon has ended', async () => {
  const { pid } = await client.request('status', {})
  process.kill(pid, 'SIGKILL')
  await shows(page, /The daemon of this page has ended/)
  // Any command starts one, where no editor has.
  await rig.imago(['kernels'])
  const again = await rig.connect()
  const seats = async () => (await again.request('approvals', {})).seats.map(({ who }) => who)
  await until(async () => (await seats()).length > 0, 'the seat of the first that comes back')
  assert.match((await seats()).join(), /through (emacs|nvim)/)
})
