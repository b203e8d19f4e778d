import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openNeovim } from '../../examples/demos/neovim.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { codeOf, journalOf, openScene, textOf, UNPRIVILEGED } from '../support/attacking.ts'
import { EDITOR } from '../support/editors.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { emacsPaths, neovimPath } from '../support/runtimes.ts'
import { NOT_NATIVE } from '../support/slime-emacs.ts'

/**
 * Another program of the same user, which says that it is an editor, or drives that of a person. What succeeds is a test too, and
 * docs/attacks.md names each of them.
 */
const test = suite('attacker, editors', { limitMs: 60_000 })
const scene = openScene()
test.before(() => scene.begin())
test.after(() => scene.close())

const SIT = 'sit {"through":"Neovim"}'
const nobodySits = () =>
  until(async () => (await scene.imago('approvals')).text.includes('Nobody has a seat'), 'no seat')
const forget = () => rmSync(join(scene.rig.project, 'theirs.txt'), { force: true })

test('an attacker who says that it is an editor while nobody sits succeeds: it approves its own plan', async () => {
  const editor = scene.lets(EDITOR)
  editor.write(`${SIT}\n`)
  await editor.says('"type":"seated"')
  const { answer } = await scene.proposes('theirs.txt')
  await editor.says('"type":"plan"')
  editor.write('approve\n')
  assert.is(codeOf(await answer), 'ok')
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  // What is left to see afterwards.
  assert.match(
    journalOf(scene).join('\n'),
    /"what":"taken","seat":"seat-\d+","who":"through node \(process \d+\)/,
  )
  forget()
  process.kill(-editor.pid, 'SIGKILL')
  await nobodySits()
})

test('an attacker who says that it is an editor while a person sits is asked about, and silence or no is no (threat 5)', async () => {
  const { screen } = await scene.sits()
  const editor = scene.lets(EDITOR)
  editor.write(`${SIT}\n`)
  await screen.shows(/too: through node[\s\S]*It has no terminal, and shows the code[\s\S]*\[y\]es \[n\]o$/)
  screen.type('n\n')
  await editor.says('turned away by seat-')
  assert.not.match(editor.so.text, '"type":"seated"')
  screen.close()
  process.kill(-editor.pid, 'SIGKILL')
  await nobodySits()
})

test('an attacker who drives the editor of a person succeeds: a seat through an editor belongs to each program that drives the editor', async () => {
  const folder = join(scene.rig.folder, 'emacs')
  mkdirSync(folder, { mode: 0o700 })
  const socket = join(folder, 'server')
  const emacs = scene.lets(
    [
      ...[emacsPaths().emacs, '-Q', `--fg-daemon=${socket}`, '--eval', NOT_NATIVE],
      ...['-l', join(PACKAGE_ROOT, 'test/support/editor-emacs.el')],
    ],
    { env: { EDITOR_PROGRAM: EDITOR.join('\n') } },
  )
  /** What any program of the user can run. */
  const drives = async (line: string) =>
    (await scene.runs(['emacsclient', '-s', socket, '-e', `(editor-does ${JSON.stringify(line)})`])).text
  await until(async () => /ready/.test(await drives('')), 'Emacs')
  await drives(SIT)
  await until(async () => (await scene.imago('approvals')).text.includes('seat-'), 'the seat')
  assert.match((await scene.imago('approvals')).text, `through emacs (process ${emacs.pid})`)
  const { plan, answer } = await scene.proposes('theirs.txt')
  await until(async () => (await drives('')).includes(plan), 'the plan in Emacs')
  await drives('approve')
  assert.is(codeOf(await answer), 'ok')
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  forget()
  process.kill(-emacs.pid, 'SIGKILL')
  await nobodySits()
})

const DRIVES_NEOVIM =
  'an attacker who drives the Neovim of a person succeeds, over the socket that each Neovim has, without a plugin'
if (!existsSync(neovimPath)) test.skip(DRIVES_NEOVIM, 'there is no Neovim: node test/setup.mjs')
else
  test(DRIVES_NEOVIM, async () => {
    const { project: cwd, env, folder } = scene.rig
    const neovim = await openNeovim([...UNPRIVILEGED, neovimPath], { cwd, env, folder })
    try {
      await neovim.types(':edit new.py<CR>')
      await until(async () => (await neovim.lua('return #vim.lsp.get_clients()')) === 1, 'its client')
      await neovim.types(':ImagoSit<CR>')
      await neovim.shows(/through nvim/)
      const { plan, answer } = await scene.proposes('theirs.txt')
      const client = "vim.lsp.get_clients({name = 'imago'})[1]"
      const asks = `${client}:request_sync('imago/approvals', vim.empty_dict()).result.approvals[1].hash`
      const params = `{plan = '${plan}', hash = ${asks}, decision = 'approve'}`
      const lua = `${client}:request_sync('imago/answer', ${params}) and 1`
      const expr = `luaeval("${lua}")`
      const tried = await scene.runs([neovimPath, '--server', neovim.address, '--remote-expr', expr])
      assert.is(tried.text.trim(), '1')
      assert.is(codeOf(await answer), 'ok')
      assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
    } finally {
      await neovim.end()
      forget()
    }
    await nobodySits()
  })
