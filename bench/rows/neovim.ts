import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Neovim, openNeovim } from '../../examples/demos/neovim.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { neovimPath } from '../../test/support/runtimes.ts'
import { unifiedDiff } from '../../tools/diff.ts'
import { type BenchDaemon, benchDaemon } from '../daemon.ts'
import { median, type Row, ratio } from '../row.ts'
import { twoFiles } from './diffs.ts'

const lack = () => (existsSync(neovimPath) ? undefined : 'there is no Neovim: node test/setup.mjs')

const PLUGIN = JSON.stringify(join(PACKAGE_ROOT, 'editors/neovim'))
const LSP = [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'lsp'].map(word =>
  JSON.stringify(word),
)
/** Without the search for a Python with `pynvim`, which takes a second or two when a Python file is opened. */
const BARE = 'vim.o.swapfile = false\nvim.g.loaded_python3_provider = 0\n'
const WITH_PLUGIN = `${BARE}vim.opt.runtimepath:prepend(${PLUGIN})\nvim.g.imago = { cmd = { ${LSP} } }\n`

const TELL = `lua local used = vim.loop.getrusage()
local function ms(time) return time.sec * 1000 + time.usec / 1000 end
io.stdout:write(ms(used.utime) + ms(used.stime))`

let daemon: BenchDaemon

/** Milliseconds of processor time that Neovim itself takes from its start until a Python file is open. */
async function start(init: string): Promise<number> {
  const words = ['--clean', '--headless', '-u', join(daemon.folder, init), 'orders.py', '-c', TELL]
  const child = spawn(neovimPath, words, { cwd: daemon.folder, env: daemon.env })
  const ended = once(child, 'exit')
  const [told] = await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await ended
  return Number(told)
}

export const neovimStart: Row = {
  what: 'start of Neovim with the plugin, against Neovim alone',
  how: 'processor time of Neovim itself from its start until a Python file is open, with `imago lsp` started beside it, 20 times each in turn; what the plugin adds',
  bar: { relation: '≤', limit: 30, unit: 'ms' },
  lack,
  async setUp() {
    daemon = await benchDaemon()
    for (const [name, text] of [
      ['bare.lua', BARE],
      ['plugin.lua', WITH_PLUGIN],
      ['orders.py', 'total = 1\n'],
    ] as const)
      writeFileSync(join(daemon.folder, name), text)
  },
  async tearDown() {
    await daemon?.close()
  },
  async measure() {
    const [us, them]: [number[], number[]] = [[], []]
    for (let turn = 0; turn < 20; turn++) {
      us.push(await start('plugin.lua'))
      them.push(await start('bare.lua'))
    }
    const [with_ms, bare_ms] = [median(us), median(them)]
    return { figure: with_ms - bare_ms, parts: { with_ms, bare_ms } }
  },
}

/** Both are on the screen when the clock stops; what is left of them goes before the next one. */
const DRAWS = `
local client, plans = require('imago.client'), require('imago.plan')
local heading = vim.tbl_map(function(line) return '│ ' .. line end, vim.fn.readfile('body'))
local plan = { hunks = {}, files = {}, hash = '1', heading = heading }
client.ask = function(_, _, _, done) done(plan) end
local project = { id = 0, seat = {}, places = {}, rows = { approvals = { ['plan-1'] = { waits = true } } } }
local function timed(draw)
  local begun = vim.loop.hrtime()
  draw()
  vim.cmd.redraw()
  local took = (vim.loop.hrtime() - begun) / 1000000
  vim.cmd('silent! diffoff! | silent! %bwipeout!')
  return took
end
local ours, own = {}, {}
for _ = 1, 10 do
  table.insert(ours, timed(function() plans.open(project, 'plan-1') end))
  table.insert(own, timed(function() vim.cmd('silent edit before.txt | silent vertical diffsplit after.txt') end))
end
return { ours, own }`

let neovim: Neovim
let files: string

export const neovimPlan: Row = {
  what: 'a plan of 10,000 lines drawn in Neovim, against its own diff of the same texts',
  how: '1,000 places in a file of 10,000 lines: until the plan is on the screen, against `:diffsplit` of the two texts, 10 times each in turn',
  bar: { relation: '≤', limit: 2, unit: '×' },
  lack,
  async setUp() {
    files = mkdtempSync(join(tmpdir(), 'imago-bench-neovim-'))
    const { before, after, remove } = twoFiles(10_000)
    remove()
    writeFileSync(join(files, 'before.txt'), before)
    writeFileSync(join(files, 'after.txt'), after)
    writeFileSync(join(files, 'body'), unifiedDiff({ path: 'orders.py', before, after }).text)
    writeFileSync(join(files, 'init.lua'), WITH_PLUGIN)
    neovim = await openNeovim([neovimPath], { cwd: files, folder: files, init: join(files, 'init.lua') })
  },
  async tearDown() {
    await neovim?.end()
    rmSync(files, { recursive: true, force: true })
  },
  async measure() {
    const [ours = [], own = []] = (await neovim.lua(DRAWS)) as number[][]
    const [ours_ms, own_ms] = [median(ours), median(own)]
    return ratio(ours_ms, own_ms, { ours_ms, own_ms })
  },
}
