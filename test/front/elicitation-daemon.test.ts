import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { makePlace, type Place } from '../support/bridge-process.ts'
import { journalLines } from '../support/calls-rig.ts'
import { APPROVES, DENIES, type Dialog, ELICITING } from '../support/eliciting.ts'
import { assert, suite } from '../support/harness.ts'
import { venvPython } from '../support/runtimes.ts'

/** The same against a daemon, through `imago mcp`: these tests are the program that started it, so that their yes counts. */
const test = suite('elicitation at a daemon', { limitMs: 60_000 })
const place = makePlace()
/** Another user's: below this program, which is a host at the first place, nobody's yes counts there. */
const python = makePlace()
test.after(async () => {
  await place.clear()
  await python.clear()
})

const transport = () =>
  new StdioClientTransport({
    command: place.command,
    args: place.args('--profile', 'full'),
    env: { ...place.env },
    cwd: place.project,
    stderr: 'ignore',
  })
const pathOf = ({ project }: Place, name: string) => join(project, name)

for (const kind of ELICITING)
  test(`${kind.name}: a person at its dialog approves one file, and refuses another`, async () => {
    const dialogs: Dialog[] = []
    const client = await kind.connect(transport(), dialog => {
      dialogs.push(dialog)
      return dialog.message.includes('Create wanted') || dialog.message.includes('wanted-')
        ? APPROVES
        : DENIES
    })
    assert.is(client.revision, kind.revision)
    const [wanted, other] = [`wanted-${kind.revision}.txt`, `other-${kind.revision}.txt`]
    const done = await client.call('write_file', { path: wanted, content: 'one\ntwo\n' })
    assert.is(done.failed, false, done.text)
    assert.is(readFileSync(pathOf(place, wanted), 'utf8'), 'one\ntwo\n')
    assert.match(dialogs[0]?.message ?? '', /\n {4}\| .*one\n {4}\| .*two\n/)
    const refused = await client.call('write_file', { path: other, content: 'one\n' })
    assert.match(refused.text, /^denied: .*not that file/s)
    assert.not.ok(existsSync(pathOf(place, other)))
    await client.close()
  })

test('a client named claude-code is told the line that lets its dialog count, and once it stands there, how to accept it', async () => {
  const client = new Client({ name: 'claude-code', version: '2.1.0' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async () => ({
    ...APPROVES,
    content: { ...APPROVES.content },
  }))
  await client.connect(transport())
  const writes = async (path: string) => {
    const { content } = await client.callTool({ name: 'write_file', arguments: { path, content: 'x' } })
    return (content as { text: string }[])[0]?.text ?? ''
  }
  const file = join(place.folder, 'config/policy.toml')
  const refused = await writes('asked.txt')
  assert.match(refused, /^approval_unavailable: /)
  const lines = '[[client]]\nname = "claude-code"\nyes = "counts"\n'
  assert.match(
    refused,
    `${file} (imago install CLIENT --dialog does it), and runs imago policy accept:\n${lines}`,
  )
  const installed = await place.imago('install', 'claude-code', '--dialog', '--yes')
  assert.is(installed.code, 0, installed.stderr)
  assert.is(readFileSync(file, 'utf8'), lines)
  assert.match(await writes('waits.txt'), 'It counts once a person runs imago policy accept.')
  await client.close()
})

interface Called {
  readonly failed: boolean
  readonly text: string
  readonly asked: readonly unknown[]
}

for (const mode of ['auto', 'legacy'])
  test(`the Python package mcp 2.3.0, mode ${mode}: only whoever approves has approved`, async () => {
    const script = join(import.meta.dirname, '../support/mcp_dialog.py')
    const child = spawn(venvPython, [script, mode, python.command, ...python.args('--profile', 'full')], {
      cwd: python.project,
      env: python.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr)])
    assert.ok(out !== '', problems)
    const { version, ...calls } = JSON.parse(out) as { version: string } & Record<string, Called>
    assert.is(version, mode === 'auto' ? '2026-07-28' : '2025-11-25')
    assert.is(Object.keys(calls).length, 8)
    for (const [word, { failed, asked, text: said }] of Object.entries(calls as Record<string, Called>)) {
      const approved = word.startsWith('approved')
      assert.equal([failed, asked.length], [!approved, 1], said)
      assert.is(existsSync(pathOf(python, `${word}.txt`)), approved)
      rmSync(pathOf(python, `${word}.txt`), { force: true })
      if (!approved) assert.match(said, /Nothing ran/)
    }
    assert.match(calls.denied?.text ?? '', 'not that')
  })

test('the journal says of each that it was the client, and how it was answered', () => {
  const saidAt = ({ folder }: Place) => {
    const decided = journalLines(join(folder, 'state')).filter(({ type }) => type === 'decided')
    return [...new Set(decided.map(({ answer, by }) => `${answer} by ${by}`))].sort()
  }
  assert.equal(saidAt(place), ['approved by client a-client', 'denied by client a-client'])
  const words = ['approved', 'denied', 'dismissed', 'unavailable']
  assert.equal(
    saidAt(python),
    words.map(word => `${word} by client mcp`),
  )
})
