import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Neovim } from '../../examples/demos/neovim.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import { assert, suite } from '../support/harness.ts'
import { NEOVIM_PLUGIN, openNeovimPlugin } from '../support/neovim-plugin.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { neovimPath } from '../support/runtimes.ts'
import { openSeatTerminal } from '../support/watching.ts'

/** The plugin of editors/neovim in a real Neovim, with a real daemon and a real Python program. */
const test = suite('Neovim plugin', { limitMs: 120_000 })

const ORDERS = Array.from({ length: 40 }, (_, n) => `line${n} = ${n}\n`).join('')
const SHOP = `BASKET = {'tea': 3}


def total(order):
    rate = len(order)
    return BASKET['cake'] * rate
`
const SOURCE = `import sys, threading
sys.path.insert(0, '.')
import shop
LUA = "vim.cmd('quit') %s [[ ]] <CR>"
ESCAPES = '\\x1b[31mred\\x1b[0m \\u202e'
class Box: pass
BOX = Box(); BOX.first = {'deep': [LUA]}; BOX.second = ESCAPES
def fail(): threading.Thread(target=shop.total, args=('ab',), name='till').start()`

let rig: Rig
let client: DaemonClient
let program: Program
let neovim: Neovim

async function open() {
  rig = openRig({ files: { 'orders.py': ORDERS, 'shop.py': SHOP, 'pyproject.toml': '' } })
  await rig.serve()
  client = await rig.connect()
  const { folder, project, paths } = rig
  const runs = { folder: project, runtimeDir: paths.runtimeDir, name: 'till', source: SOURCE }
  program = await startProgram(runs)
  neovim = await openEditor(folder)
}

/** With orders.py; it takes a seat by itself. */
async function openEditor(folder: string): Promise<Neovim> {
  const opened = await begin(folder)
  await opened.types(':edit orders.py<CR>')
  const seats = async () => (await client.request('approvals', {})).seats
  await until(async () => (await seats()).some(({ who }) => who.startsWith('through nvim')), 'its seat')
  return opened
}

const begin = (folder: string, settings = {}) =>
  openNeovimPlugin({ cwd: rig.project, env: rig.env, folder, settings })

async function close() {
  await neovim?.end()
  program?.signal('SIGKILL')
  await program?.ended
  await rig?.close()
}

const text = () => readFileSync(join(rig.project, 'orders.py'), 'utf8')
const reset = async () => {
  await says('')
  // By a call that is over when it answers: keys are typed later, and would write over the file.
  await neovim.lua(`for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buf].buftype == '' then vim.bo[buf].modified = false end
  end`)
  writeFileSync(join(rig.project, 'orders.py'), ORDERS)
  await command('silent! only | edit! orders.py')
}
const command = (words: string) => neovim.types(`<Esc>:${words}<CR>`)
const at = (line: number, put: string) => ({
  path: 'orders.py',
  old_str: `line${line} = ${line}\n`,
  new_str: put,
})
const propose = (...edits: object[]) => client.call({ tool: 'propose_file_edit', args: { edits } })
const says = (expected: string, editor = neovim) => {
  const status = () => editor.lua(`return require('imago').status()`)
  return until(async () => (await status()) === expected, `the status line to be ${expected}`)
}
/** A person at a terminal, whom Neovim lets sit. */
async function openOther() {
  const other = await openSeatTerminal(rig)
  const sits = other.says('sit')
  await says('imago: 1 seat wanted')
  await command('Imago sit')
  await neovim.shows(/terminal .* wants a seat, started with [\s\S]*\?\n1: no\n2: yes/)
  await neovim.types('2<CR>')
  await sits
  return {
    /** Answers the only plan that waits. */
    async answers(decision: string) {
      const [plan] = (await client.request('approvals', {})).approvals
      const given = { plan: plan?.id, hash: plan?.hash, decision }
      assert.equal((await other.says('answer', given)).answer, { type: 'taken' })
    },
    close: () => other.screen.close(),
  }
}
/** The lines of orders.py that have a sign. */
const signs = () =>
  neovim.lua(`
  local space = vim.api.nvim_get_namespaces()['imago-plans']
  local found = vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('orders.py'), space, 0, -1, {})
  return table.concat(vim.tbl_map(function(one) return one[2] + 1 end, found), ' ')`)
const signed = (lines: string) => until(async () => (await signs()) === lines, `signs at ${lines}`)

const FACTS: Readonly<Record<string, () => Promise<void>>> = {
  'a hunk is taken and one refused with a reason; the file is read again, and undo puts it back':
    async () => {
      const call = propose({ ...at(3, 'line3 = 33\u202e\n'), why: 'odd' }, at(30, ''))
      await says('imago: 1 plan waits')
      await command('Imago plans')
      await neovim.shows(/^! A character that does not show, U\+202E[\s\S]*asked by imago test/m)
      await neovim.shows(/━ hunk 1 of 2 · orders.py:4: odd +· undecided[\s\S]*│ \+line3 = 33⟦U\+202E⟧/)
      await signed('4 31')
      await neovim.types('yn')
      await neovim.shows(/Reason/)
      await neovim.types('keep it<CR>')
      await neovim.shows(
        /what will be applied: 1 of 2[\s\S]*│ \+line3 = 33[\s\S]*hunk 2 of 2 · orders.py:31 +✗ refused: keep it/,
      )
      await neovim.types('y')
      assert.match(JSON.stringify(await call), /hunk 2[^}]*keep it|keep it/)
      assert.is(text(), ORDERS.replace('line3 = 3\n', 'line3 = 33\u202e\n'))
      await neovim.shows(/It ended: ok. To take it back: :Imago undo plan-/)
      await signed('')
      await neovim.types('q')
      await neovim.shows(/line3 = 33<202e>$/m)
      const said = async () => String(await neovim.lua(`return vim.fn.execute('messages')`))
      assert.is((await said()).match(/1 plan waits: :Imago plans/g)?.length, 1)
      const [done] = (await client.request('approvals', {})).ends.slice(-1)
      await command(`Imago undo ${done?.id}`)
      await neovim.shows(/^Take back[\s\S]*│ -line3 = 33⟦/m)
      await neovim.types('yy')
      await until(() => text() === ORDERS, 'the undo')
      assert.is((await said()).match(/1 plan waits: :Imago plans/g)?.length, 1, 'it was asked for')
      const { stdout } = await rig.imago(['log'])
      assert.match(stdout, /propose_file_edit .*chosen by seat-1: 1 of 2 hunks/)
    },

  'unsaved text is said before all else, and S saves it': async () => {
    await reset()
    await command('normal! Gophony = 1')
    const call = client.call({
      tool: 'edit_file',
      args: { path: 'orders.py', old_str: 'line5 = 5', new_str: 'line5 = 0' },
    })
    await says('imago: 1 plan waits')
    await command('Imago plans')
    await neovim.shows(
      /^! orders.py has unsaved text in this editor: S saves it, and the plan is then out of date\nEdit orders.py/m,
    )
    await neovim.types('S')
    await until(() => text().endsWith('phony = 1\n'), 'the text to be saved')
    await neovim.shows(/^Edit orders.py$/m)
    await neovim.types('n')
    await neovim.shows(/Reason/)
    await neovim.types('<CR>')
    assert.match(JSON.stringify(await call), /denied|stale/)
  },

  'another seat answers first: its sign goes, and its window says who did, and no key answers it':
    async () => {
      await reset()
      const other = await openOther()
      const call = propose(at(3, 'line3 = 4\n'), at(9, ''))
      await signed('4 10')
      await command('Imago plans')
      await neovim.shows(/hunk 1 of \d/)
      await other.answers('deny')
      await neovim.shows(/^● .*denied it/m)
      await signed('')
      await neovim.types('Gay')
      assert.match(JSON.stringify(await call), 'denied')
      assert.is(text(), ORDERS)
      other.close()
    },

  'a hunk is written otherwise, in a window of its own': async () => {
    await reset()
    const call = propose(at(3, 'line3 = 4\n'), at(9, ''))
    await says('imago: 1 plan waits')
    await command('Imago plans')
    await neovim.shows(/hunk 1 of \d/)
    await neovim.types('e')
    await neovim.shows(/^line3 = 4$/m)
    await neovim.types('cclocal = "%s"<Esc>:write<CR>')
    await neovim.shows(/✎ edited[\s\S]*│ \+local = "%s"/)
    await neovim.types('a')
    await neovim.shows(/2 of 2, as one change/)
    await neovim.types('y')
    assert.ok((await call).ok)
    assert.is(text(), ORDERS.replace('line3 = 3', 'local = "%s"').replace('line9 = 9\n', ''))
  },

  'what was refused stays so when the rest is taken, wherever the cursor is': async () => {
    await reset()
    const call = propose(at(3, 'line3 = 4\n'), at(9, ''))
    await says('imago: 1 plan waits')
    await command('Imago plans')
    await neovim.shows(/hunk 1 of \d/)
    await neovim.types('Gn')
    await neovim.shows(/Reason/)
    await neovim.types('<CR>')
    await neovim.shows(/hunk 2 of 2 · orders.py:10 +✗ refused/)
    await neovim.types('Ga')
    await neovim.shows(/1 of 2, as one change/)
    await neovim.types('y')
    assert.ok((await call).ok)
    assert.is(text(), ORDERS.replace('line3 = 3', 'line3 = 4'))
  },

  'a range and a form are evaluated, with the result at the line, and all of it in a window': async () => {
    await command('silent! only | enew | setfiletype python')
    await neovim.lua(
      `vim.api.nvim_buf_set_lines(0, 0, -1, false, {'@staticmethod', 'def f():', '  return LUA', '', 'f()', 'ESCAPES', '1 / 0', '  6 * 7'})`,
    )
    await command('3')
    await command('Imago eval')
    await neovim.shows(/return LUA +⇒/)
    await neovim.shows(/return LUA +⇒ \(no value\)$/m)
    await command('5Imago eval')
    await neovim.shows(/^f\(\) +⇒ "vim\.cmd\('quit'\) %s \[\[ \]\] <CR>"$/m)
    await command('6Imago eval')
    await neovim.shows(/ESCAPES +⇒ '\\x1b\[31mred/m)
    await command('8Imago eval')
    await neovim.shows(/6 \* 7 +⇒ 42 \(run at the top level\)$/m)
    await command('7Imago eval')
    await neovim.shows(/1 \/ 0 +✗ ZeroDivisionError/)
    await command('Imago result')
    await neovim.shows(/imago:\/\/result[\s\S]*/)
    await neovim.shows(/division by zero/)
    await says('imago: 1 suspended')
    await command('Imago debug')
    await neovim.shows(/<CR> frame {2}e evaluate there/)
    await neovim.types('r')
    await neovim.shows(/Go on by \(.*1 abort\)/)
    await neovim.types('1<CR>')
    // The answer opens that window once more.
    await neovim.shows(/nothing of yours is suspended here now/)
    await says('')
  },

  'an expression is evaluated in place of the form, what takes no words says so, and :edit clears results':
    async () => {
      await reset()
      await command('4')
      await command('Imago eval 6 * 7')
      await neovim.shows(/line3 = 3 +6 \* 7 ⇒ 42$/m)
      await command('Imago errors now')
      await neovim.shows(/:Imago errors takes no words; nothing was done/)
      await command('Imago')
      await neovim.shows(/imago: nothing waits\. :Imago debug, errors, eval/)
      await command('edit')
      await until(async () => !/⇒ 42/.test(neovim.screen()), 'the result to go')
    },

  'lines are lit while they run, until :Imago interrupt stops them': async () => {
    await command('silent! only | enew | setfiletype python')
    await neovim.lua(
      `vim.api.nvim_buf_set_lines(0, 0, -1, false, {'while True:', '  threading.Event().wait(0.01)'})`,
    )
    const lit = () =>
      neovim.lua(`local space = vim.api.nvim_get_namespaces()['imago-runs']
        return #vim.api.nvim_buf_get_extmarks(0, space, 0, -1, {})`)
    await command('1')
    await command('Imago eval')
    await until(async () => (await lit()) === 1, 'its light')
    await until(async () => {
      await command('Imago interrupt')
      return (await lit()) === 0
    }, 'its end')
    await neovim.shows(/wait\(0\.01\) +✗ The code was stopped/)
  },

  'a plan that was left with q opens as it was, until it is over': async () => {
    await reset()
    const call = propose(at(3, ''), at(9, ''))
    await says('imago: 1 plan waits')
    await command('Imago plans')
    await neovim.shows(/hunk 1 of \d/)
    await neovim.types('y')
    await neovim.shows(/━ hunk 2 of .*· undecided/)
    await neovim.types('q')
    await command('Imago plans')
    await neovim.shows(/hunk 1 of .*✓ taken[\s\S]*hunk 2 of .*· undecided/)
    await neovim.types('Gyq')
    await command('Imago plans')
    await neovim.shows(/^y send this[\s\S]*2 of 2, as one change/m)
    await neovim.types('Gny')
    await neovim.shows(/^y send this/m)
    await neovim.types('y')
    assert.ok((await call).ok)
    await command('only')
  },

  'a value opens field by field, and is never more than text': async () => {
    await command('Imago value BOX')
    await neovim.shows(/^▸ first = \{'deep'.*\n▸ second = '\\x1b\[31mred/m)
    await neovim.types('/▸ first<CR><CR>')
    await neovim.shows(/^▸ 'deep': \["vim\.cmd\('quit'\)/m)
    await neovim.types('-')
    await neovim.shows(/^▸ first = .*\n▸ second = /m)
  },

  'an error of the program is at its line with its values, and in the quickfix list; threads are shown':
    async () => {
      assert.ok((await client.call({ tool: 'eval_expr', args: { expr: 'fail()', kernel: 'till' } })).ok)
      const noted = () =>
        neovim.lua(
          `local _, p = next(require('imago.client').projects); return vim.tbl_count(p.rows.errors or {})`,
        )
      await until(async () => Number(await noted()) > 0, 'the error')
      await command('edit shop.py')
      await neovim.shows(/^E.*return BASKET\['cake'\] \* rate +KeyError: 'cake' · rate=2$/m)
      await command('Imago errors')
      await neovim.shows(/shop\.py\|6 error\| KeyError: 'cake' \(till, thread till, /)
      await neovim.types('<CR>')
      await neovim.shows(/return BASKET/)
      await command('cclose')
      await command('Imago value')
      await neovim.shows(/shop\.py:6 in total[\s\S]*rate = 2/)
      await neovim.types('q')
      await command('Imago value order')
      await neovim.shows(/^'ab'|: 'ab'/m)
      await neovim.types('q')
      await command('Imago threads')
      await neovim.shows(/MainThread/)
    },

  'names, reasons and texts with codes of a terminal, Lua or a status line are text': async () => {
    await reset()
    const name = "%{system('x')} <CR>.py"
    writeFileSync(join(rig.project, name), 'a\nb\nc\n')
    const why = "\x1b]0;title\x07 ' .. vim.cmd.quit() .. '"
    const edit = (old_str: string) => ({ path: name, old_str, new_str: '\x9b31m\u200b\n', why })
    const call = propose(edit('a\n'), edit('c\n'))
    await says('imago: 1 plan waits')
    await command('Imago plans')
    await neovim.shows(/^! .*U\+009B/m)
    await neovim.shows(
      /hunk 1 of 2 · %\{system\('x'\)\} <CR>\.py:1: ⟦U\+001B⟧\]0;title⟦U\+0007⟧ ' \.\. vim\.cmd\.quit\(\) \.\. '/,
    )
    await neovim.types('d')
    await neovim.shows(/Reason/)
    await neovim.types(']] .. os.exit() %s<CR>y')
    assert.match(JSON.stringify(await call), ']] .. os.exit() %s')
  },

  'a file that changes while its plan is shown is not written, and the window says so': async () => {
    await reset()
    const call = propose(at(3, ''), at(9, ''))
    await says('imago: 1 plan waits')
    await command('Imago plans')
    await neovim.shows(/hunk 1 of \d/)
    writeFileSync(join(rig.project, 'orders.py'), `${ORDERS}new = 1\n`)
    await neovim.types('Gay')
    await neovim.shows(/^● .*(changed|stale)/m)
    assert.match(JSON.stringify(await call), 'stale_plan')
    assert.is(text(), `${ORDERS}new = 1\n`)
  },

  'checkhealth names the daemon, the programs and the seat; help has its tags': async () => {
    await command('silent! only | checkhealth imago')
    await neovim.shows(
      /found .*lsp[\s\S]*its daemon is process \d+[\s\S]*programs of this project: till[\s\S]*seated through nvim/,
    )
    await command('silent! bwipeout | help imago')
    await neovim.shows(/^\*imago\.txt\*.*Imago in Neovim|^imago\.txt.*Imago in Neovim/m)
    await command('help imago-plans')
    await neovim.shows(/y {2}take the hunk/)
    const made = join(rig.folder, 'doc')
    cpSync(join(NEOVIM_PLUGIN, 'doc'), made, { recursive: true })
    await neovim.lua(`vim.cmd.helptags('${made}')`)
    const tags = (folder: string) => readFileSync(join(folder, 'tags'), 'utf8')
    assert.is(tags(made), tags(join(NEOVIM_PLUGIN, 'doc')))
    await command('helpclose')
  },

  'checkhealth says in the words of what failed why nothing answers, and how imago is installed':
    async () => {
      const folder = mkdtempSync(join(rig.folder, 'broken-'))
      writeFileSync(join(folder, 'file'), '')
      const env = { ...rig.env, IMAGO_RUNTIME_DIR: join(folder, 'file') }
      const broken = await openNeovimPlugin({ cwd: rig.project, env, folder })
      await broken.types(':checkhealth imago<CR>')
      await broken.shows(/does not answer: The directory [\s\S]*it is no directory[\s\S]*npm ci && npm link/)
      const ends = `{ 'sh', '-c', 'echo there is no node; exit 1' }`
      await broken.lua(`require('imago.client').config.cmd = ${ends}
        for _, client in ipairs(vim.lsp.get_active_clients()) do client.stop(true) end`)
      await broken.types(':checkhealth imago<CR>')
      await broken.shows(/does not answer: there is no node[\s\S]*npm ci && npm link/)
      await broken.end()
    },

  'a daemon that is killed under a plan comes back by itself; the plan has gone, and the next one is answered':
    async () => {
      await reset()
      const gone = await rig.connect()
      void gone.call({ tool: 'propose_file_edit', args: { edits: [at(3, '')] } }).catch(() => {})
      await says('imago: 1 plan waits')
      await command('Imago plans')
      await neovim.shows(/hunk 1 of \d/)
      await gone.close()
      const { pid } = await client.request('status', {})
      process.kill(pid, 'SIGKILL')
      await neovim.shows(/^q close[\s\S]*^● This plan is not known any more/m)
      await neovim.types('ayq')
      await until(
        () =>
          rig.connect().then(
            again => {
              client = again
              return true
            },
            () => false,
          ),
        'the daemon',
      )
      const seats = async () => (await client.request('approvals', {})).seats.length
      await until(async () => (await seats()) === 1, 'its seat')
      const call = propose(at(3, ''), at(9, ''))
      await says('imago: 1 plan waits')
      await command('Imago plans')
      await neovim.shows(/hunk 1 of \d/)
      await neovim.types('Gay')
      assert.ok((await call).ok)
    },

  'a plan of 10,000 lines is shown, and approved once its end was seen': async () => {
    await reset()
    const content = Array.from({ length: 10_000 }, (_, n) => `row${n} = ${n}\n`).join('')
    const call = client.call({ tool: 'write_file', args: { path: 'rows.py', content } })
    await says('imago: 1 plan waits')
    await command('Imago plans')
    await neovim.shows(/│ \+row1 = 1$/m)
    await neovim.types('y')
    await neovim.shows(/^│ \+row20 = 20$[\s\S]*imago: it goes on: the same key again/m)
    await neovim.types('G')
    await neovim.shows(/│ \+row9999 = 9999$/m)
    await neovim.types('y')
    assert.ok((await call).ok)
    assert.is(readFileSync(join(rig.project, 'rows.py'), 'utf8'), content)
  },

  'the hunk that a key decides is on the screen to its end, below the keys; where it does not fit, it is read on':
    async () => {
      await reset()
      const long = Array.from({ length: 45 }, (_, n) => `long${n} = ${n}\n`).join('')
      const short = 'line20 = 0\n'.repeat(8)
      const call = propose(at(3, short), at(20, short), at(30, long))
      await says('imago: 1 plan waits')
      await command('Imago plans')
      await neovim.shows(/^y take {2}n refuse .*q later[\s\S]*━ hunk 1 [\s\S]*(│ \+line20 = 0\n){8}/m)
      await neovim.types('y')
      await neovim.shows(/^y take .*q later[\s\S]*━ hunk 2 [\s\S]*(│ \+line20 = 0\n){8}/m)
      await neovim.types('y')
      await neovim.shows(/^y take .*q later *\n━ hunk 3 [\s\S]*long10 = 10/m)
      for (const end of [/long25 = 25/, /long44 = 44/]) {
        await neovim.types('y')
        await neovim.shows(end)
      }
      await neovim.types('y')
      await neovim.shows(/^y send this[\s\S]*3 of 3, as one change/m)
      await neovim.types('y')
      assert.ok((await call).ok)
    },

  'a seat that is left takes its signs along, and may be taken again': async () => {
    await reset()
    const call = propose(at(3, ''), at(9, ''))
    await signed('4 10')
    await command('Imago leave')
    await signed('')
    await command('Imago sit')
    await signed('4 10')
    await command('Imago plans')
    await neovim.shows(/hunk 1 of \d/)
    await neovim.types('d')
    await neovim.shows(/Reason/)
    await neovim.types('<CR>e')
    await neovim.shows(/^y send this/m)
    await neovim.lua(`vim.api.nvim_buf_set_lines(vim.fn.bufnr('orders.py'), -1, -1, false, { 'late = 1' })`)
    await neovim.types('y')
    await neovim.shows(/^● Nothing was sent: .*\n! orders.py has unsaved text/m)
    await neovim.types('y')
    assert.match(JSON.stringify(await call), 'denied')
  },

  'a plan of 100 files, the most there can be, is shown, and the only open one has its sign': async () => {
    await reset()
    const paths = Array.from({ length: 99 }, (_, n) => `part${n}.py`)
    for (const path of paths) writeFileSync(join(rig.project, path), 'old\n')
    const edits = paths.map(path => ({ path, old_str: 'old\n', new_str: 'new\n' }))
    const call = propose(at(3, ''), ...edits)
    await says('imago: 1 plan waits')
    await signed('4')
    await command('Imago plans')
    await neovim.shows(/^Edit 100 files: 100 hunks$/m)
    await neovim.types('G')
    await neovim.shows(/━ hunk 100 of 100 · part98.py:1 /)
    await neovim.types('ay')
    assert.ok((await call).ok)
    await until(() => text() === ORDERS.replace('line3 = 3\n', ''), 'the change')
    assert.is(readFileSync(join(rig.project, 'part98.py'), 'utf8'), 'new\n')
  },

  'a second Neovim keeps quiet where one sits, and is let in; the first answer of the two wins': async () => {
    await reset()
    const call = propose(at(3, 'line3 = 4\n'), at(9, ''))
    const second = await begin(mkdtempSync(join(rig.folder, 'second-')))
    await second.types(':edit orders.py<CR>')
    await says('imago: 1 plan waits, no seat', second)
    assert.not.match(String(await second.lua(`return vim.fn.execute('messages')`)), 'imago')
    await second.types(':Imago plans<CR>')
    await second.shows(/imago: Within a minute, say yes to the code \w{4}-\w{4} in \/\S+/)
    await says('imago: 1 plan waits, 1 seat wanted')
    await command('Imago sit')
    // How long it is depends on this folder: anywhere in it a line may end.
    await neovim.shows(/through nvim .*, which calls itself .* wants a seat, [\s\S]*\?\n1: no\n2: yes/)
    await second.types('<Esc>Gotyped')
    await second.shows(/^typed$/m)
    await neovim.types('2<CR>')
    const told = () => second.lua(`return vim.fn.execute('messages')`)
    await until(async () => /plan-\w+ waits: :Imago plans shows it/.test(String(await told())), 'its message')
    assert.is(await second.lua('return vim.api.nvim_get_mode().mode'), 'i')
    await second.types('<Esc>u:Imago plans<CR>')
    await second.shows(/hunk 1 of \d/)
    await command('Imago plans')
    await neovim.shows(/hunk 1 of \d/)
    await second.types('Gay')
    assert.ok((await call).ok)
    await neovim.shows(/^● .*approved[\s\S]*It ended: ok/m)
    await neovim.types('Gay')
    assert.is(text(), ORDERS.replace('line3 = 3', 'line3 = 4').replace('line9 = 9\n', ''))
    await second.end()
  },

  'at 80 columns a long message needs no key, and all of it is among the messages': async () => {
    await reset()
    await command('set columns=80')
    await command(`Imago undo ${'語'.repeat(60)}`)
    await neovim.shows(/^imago: .*語.*\.\.\..*$/m)
    await neovim.types('otyped<Esc>')
    await neovim.shows(/^typed$/m)
    const told = String(await neovim.lua(`return vim.fn.execute('messages')`)).replaceAll('\n', '')
    assert.match(told, '語'.repeat(60))
    assert.match(told, 'is not known')
    await command('undo | set columns=160')
  },

  'with `sit = false` it takes no seat by itself': async () => {
    await command('silent! only | Imago leave')
    const quiet = await begin(mkdtempSync(join(rig.folder, 'quiet-')), { sit: false })
    await quiet.types(':edit orders.py<CR>:Imago threads<CR>')
    await quiet.shows(/MainThread/)
    assert.equal((await client.request('approvals', {})).seats, [])
    await quiet.end()
    await command('Imago sit')
    await neovim.shows(/seated through nvim/)
    await command('')
  },

  'an editor that hangs holds no plan: another seat answers, and it says so once it goes on': async () => {
    await reset()
    const other = await openOther()
    const call = propose(at(3, ''), at(9, ''))
    await says('imago: 1 plan waits')
    await command('Imago plans')
    await neovim.shows(/hunk 1 of \d/)
    process.kill(neovim.pid, 'SIGSTOP')
    await other.answers('approve')
    assert.ok((await call).ok)
    const typed = neovim.types('d')
    process.kill(neovim.pid, 'SIGCONT')
    await typed
    await neovim.shows(/^● .*approved/m)
    other.close()
    await neovim.types('<CR>')
  },

  'an editor that is killed leaves its plan to the others': async () => {
    await reset()
    const other = await openOther()
    const call = propose(at(3, ''), at(9, ''))
    await says('imago: 1 plan waits')
    await command('Imago plans')
    await neovim.shows(/hunk 1 of \d/)
    await neovim.end()
    const seats = async () => (await client.request('approvals', {})).seats.length
    await until(async () => (await seats()) === 1, 'its seat to go')
    await other.answers('approve')
    assert.ok((await call).ok)
    other.close()
  },
}

if (existsSync(neovimPath)) {
  test.before(open)
  test.after(close)
  for (const [fact, body] of Object.entries(FACTS)) test(fact, body)
} else for (const fact of Object.keys(FACTS)) test.skip(fact, 'there is no Neovim: node test/setup.mjs')

const OLD = 'a Neovim that is too old says in one line which it needs'
const { stdout } = spawnSync('nvim', ['--version'], { encoding: 'utf8' })
if (!/^NVIM v0\.[78]\./.test(stdout ?? ''))
  test.skip(OLD, 'there is no Neovim 0.7 or 0.8, as Debian 12 has it')
else
  test(OLD, () => {
    const args = [
      '--clean',
      '--headless',
      '--cmd',
      `set rtp^=${NEOVIM_PLUGIN}`,
      '-c',
      'Imago plans',
      '-c',
      'quit',
    ]
    const { stderr } = spawnSync('nvim', args, { encoding: 'utf8' })
    assert.match(stderr, /^imago: this plugin needs Neovim 0\.9 or newer\s*$/)
  })
