import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Neovim } from '../../examples/demos/neovim.ts'
import { hunkHead, planHeading } from '../../src/front/lsp/plan-lines.ts'
import { escapePlan } from '../../src/text/escape.ts'
import { INVISIBLE } from '../../wire/invisible.ts'
import { assert, suite } from '../support/harness.ts'
import { type Hostile, hostilePlan } from '../support/hostile-plan.ts'
import { straysIn } from '../support/hostile-screen.ts'
import { FORGERY, HOSTILE_NAMES, HOSTILE_TEXTS, type HostileText } from '../support/hostile-texts.ts'
import { luaWith, openNeovimPlugin } from '../support/neovim-plugin.ts'
import { neovimPath } from '../support/runtimes.ts'

/**
 * Texts that were made to be taken for something else, in a real Neovim with the plugin. In place of `imago lsp` it is
 * answered by the test, in the words of the core, or in raw ones that the core would have marked.
 */
const test = suite('hostile texts in Neovim', { limitMs: 60_000 })

/** Of a chunk: each request is answered at once with `given.answer`. */
const ANSWERED = `
  local given = ...
  local client, window = require('imago.client'), require('imago.window')
  client.ask = function(_, _, _, done) return done and done(given.answer) end
  local project = { id = 0, seat = {}, places = {}, rows = { approvals = {} } }
  local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n') end
  vim.cmd('silent! %bwipeout!')`

/** Shows a plan; with \`reason\`, its first hunk is refused. What the buffer has, and the rows that are on the screen. */
const DRAWS = `${ANSWERED}
  project.rows.approvals['plan-1'] = { waits = true }
  require('imago.plan').open(project, 'plan-1')
  if given.reason then
    vim.ui.input = function(_, done) done(given.reason) end
    vim.api.nvim_feedkeys('n', 'x', false)
  end
  vim.cmd.redraw()
  return text()`

/** Evaluates a line, and shows its result, the value, the errors, and a suspended evaluation. */
const LOOKS = `${ANSWERED}
  local values, found = require('imago.values'), {}
  vim.bo.buftype = 'nofile'
  values.eval(project, '', { range = 1, line1 = 1, line2 = 1 })
  local space = vim.api.nvim_get_namespaces()['imago-results']
  table.insert(found, vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })[1][4].virt_text[1][1])
  project.rows.errors = { { shown = given.raw, at = '' } }
  require('imago.programs').errors(project)
  table.insert(found, vim.fn.getqflist()[1].text)
  project.rows.suspensions = { { id = 'suspension-1', kernel = given.raw, shown = given.raw, waits = true } }
  for _, shows in ipairs({
    function() values.result(project) end,
    function() values.value(project, given.raw) end,
    function() require('imago.programs').threads(project) end,
    function() require('imago.programs').debug(project) end,
  }) do
    shows()
    table.insert(found, text())
  end
  vim.cmd.redraw()
  return table.concat(found, '\\n')`

let neovim: Neovim

async function open() {
  const folder = mkdtempSync(join(tmpdir(), 'imago-neovim-'))
  neovim = await openNeovimPlugin({ cwd: folder, env: { PATH: process.env.PATH ?? '' }, folder })
}

/** What the plugin shows of it in its buffers. Nothing of it is a control, there or on the screen. */
async function shown(code: string, given: unknown): Promise<string> {
  const text = String(await luaWith(neovim, code, given))
  assert.equal(straysIn(text, /(?!)/g), [])
  assert.equal(straysIn(neovim.screen(), /(?!)/g), [])
  return text
}

function draws(hostile: Hostile, more: object = {}) {
  const plan = hostilePlan(hostile)
  const heading = planHeading(plan, plan)
  const hunks = plan.hunks.map(hunk => ({ ...hunk, head: hunkHead(hunk, plan.hunks.length) }))
  return shown(DRAWS, { answer: { ...plan, files: [], heading, hunks }, ...more })
}

/** What a line begins with in which somebody has named something. */
const NAMING = /^(?:Write |! | {2}do_dangerous in .*, asked by | {2}What is defined in |━ hunk 1 of 1 · )/

async function isSeenWhole({ text, marks, payload }: HostileText, inHunk: boolean) {
  const lines = (await draws({ body: text, inHunk })).split('\n')
  for (const line of lines) if (line.includes(FORGERY)) assert.match(line, /^│ /)
  const all = withoutBlanks(lines.map(line => line.replace(/^│ /, '')).join(''))
  // How long a text is, is said of the whole of a plan.
  const known = inHunk ? marks.filter(mark => !/\d (?:lines|characters)$/.test(mark)) : marks
  for (const mark of [...known, payload]) assert.ok(all.includes(withoutBlanks(mark)), `${mark} is not shown`)
}

const withoutBlanks = (text: string) => text.replace(/[\s,]/g, '')

if (!existsSync(neovimPath)) test.skip('all of them', 'there is no Neovim: node test/setup.mjs')
else {
  test.before(open)
  test.after(() => neovim?.end())

  for (const threat of [14, 15, 16, 17])
    test(`in Neovim, all of a hostile plan is seen, in hunks too, and no line of it is taken for one of the plugin (threat ${threat})`, async () => {
      for (const text of HOSTILE_TEXTS.filter(one => one.threat === threat))
        for (const inHunk of [false, true]) await isSeenWhole(text, inHunk)
    })

  test('in Neovim, a name, a title, the purpose of a hunk and a reason are text in one line of the plugin (threat 14)', async () => {
    for (const [what, name] of HOSTILE_NAMES)
      for (const inHunk of [false, true]) {
        const reason = inHunk ? Buffer.from(name).toString() : undefined
        const lines = (await draws({ name, inHunk }, { reason })).split('\n')
        for (const line of lines) if (line.includes(FORGERY)) assert.match(line, NAMING, what)
        if (inHunk)
          assert.ok(
            lines.some(line => /^━ hunk 1 .* ✗ refused: ./.test(line)),
            what,
          )
      }
  })

  test('in Neovim, values, errors and what a program says of itself reach no terminal as codes (threat 16)', async () => {
    const texts = [...HOSTILE_TEXTS.map(({ text }) => text), ...HOSTILE_NAMES.map(([, name]) => name)]
    for (const raw of texts.map(text => Buffer.from(text).toString())) {
      const parts = [{ label: raw, expr: raw }]
      await shown(LOOKS, { raw, answer: { shown: raw, line: raw, parts, result: { restarts: [] } } })
      await shown(LOOKS, { raw, answer: { shown: raw, line: raw, parts: [], error: { message: raw } } })
    }
  })

  test('in Neovim, each character that is not seen has a mark, as it has wherever a plan is shown (threat 17)', async () => {
    const unseen = new RegExp(`(?!\\p{Cn}|\\p{Cs})${INVISIBLE}`, 'u')
    const points = [...Array(0x30000).keys(), ...Array.from({ length: 0x200 }, (_, n) => 0xe0000 + n)]
    const all = points
      .filter(point => point > 0 && (point < 0xe000 || point > 0xf800))
      .map(point => String.fromCodePoint(point))
      .filter(character => unseen.test(character))
      .join('')
    const code = `${ANSWERED}\n return table.concat(window.lines(given.answer), '\\n')`
    assert.is(await shown(code, { answer: `seen\n${all}, 語 é` }), `seen\n${escapePlan(all).text}, 語 é`)
  })
}
