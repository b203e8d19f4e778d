import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { Neovim } from '../../examples/demos/neovim.ts'
import { serveBriskly } from '../support/brisk-daemon.ts'
import { assert, suite } from '../support/harness.ts'
import { openNeovimPlugin } from '../support/neovim-plugin.ts'
import { RawClient } from '../support/raw-client.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { neovimPath } from '../support/runtimes.ts'

/** The plugin of editors/neovim with a daemon that soon gives up who says nothing. */
const test = suite('faults of the Neovim plugin', { limitMs: 90_000 })

const ORDERS = 'line0 = 0\nline1 = 1\n'

let rig: Rig
let daemon: ChildProcess
let neovim: Neovim

async function open() {
  rig = openRig({ files: { 'orders.py': ORDERS, 'pyproject.toml': '' } })
  daemon = await serveBriskly(rig, 200)
  neovim = await openNeovimPlugin({ cwd: rig.project, env: rig.env, folder: rig.folder })
}

async function close() {
  await neovim?.end()
  daemon?.kill('SIGKILL')
  if (daemon?.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit')
  await rig?.close()
}

const FACTS: Readonly<Record<string, () => Promise<void>>> = {
  'while a prompt of Neovim is open, nothing else runs in it, and its seat is kept for longer than a silent client is':
    async () => {
      await using client = await rig.connect()
      const seats = async () => (await client.request('approvals', {})).seats.map(({ seat }) => seat)
      await neovim.types(':edit orders.py<CR>')
      await until(async () => (await seats()).length === 1, 'its seat')
      const sat = await seats()
      const edit = { path: 'orders.py', old_str: 'line1 = 1', new_str: 'line1 = 2' }
      const call = client.call({ tool: 'edit_file', args: edit })
      await until(async () => (await client.request('approvals', {})).approvals.length === 1, 'the plan')
      await neovim.types(':Imago plans<CR>')
      await neovim.shows(/│ \+line1 = 2/)
      await neovim.types('n')
      await neovim.shows(/Reason/)
      const silent = await RawClient.greeted(rig.paths.socket, rig.project)
      assert.is((await silent.lastWords()).at(-1)?.type, 'bye')
      assert.equal(await seats(), sat)
      await neovim.types('not now<CR>')
      assert.match(JSON.stringify(await call), /denied.*not now/)
    },
}

if (existsSync(neovimPath)) {
  test.before(open)
  test.after(close)
  for (const [fact, body] of Object.entries(FACTS)) test(fact, body)
} else for (const fact of Object.keys(FACTS)) test.skip(fact, 'there is no Neovim: node test/setup.mjs')
