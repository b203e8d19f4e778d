import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { addressOf, journalOf, openScene, textOf } from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'

/**
 * A program that is no person's, and answers as an MCP client when it is asked about its own call. What succeeds is a
 * test too, and docs/attacks.md names each of them.
 */
const test = suite('attacker, over MCP', { limitMs: 60_000 })
const scene = openScene()
const CLIENT = join(import.meta.dirname, '../support/self_approving.py')
/** Imago in a folder of its name, so that its words stand on the command line of whatever starts it, too. */
const FOLDER = join(scene.rig.folder, 'imago')
const SERVER = [process.execPath, join(FOLDER, 'dist/src/main.cjs'), 'mcp', '--profile', 'full']
const policyFile = join(scene.rig.paths.configDir, 'policy.toml')
test.before(async () => {
  symlinkSync(PACKAGE_ROOT, FOLDER)
  mkdirSync(scene.rig.paths.configDir, { recursive: true })
  await scene.begin()
  // The kernel of the project, in which code runs below.
  assert.is((await scene.imago('start', 'python', '--name', 'project')).code, 0)
})
test.after.each(() => rmSync(join(scene.rig.project, 'theirs.txt'), { force: true }))
test.after(() => scene.close())

interface CameTo {
  /** How many questions it was asked, and answered. */
  readonly asked: number
  readonly failed: boolean
  readonly text: string
}

async function answers(how: string, command: readonly string[] = SERVER, name = 'a-client'): Promise<CameTo> {
  const { text } = await scene.runs(['python3', CLIENT, how, name, ...command])
  return JSON.parse(text) as CameTo
}

const succeeded = ({ asked, failed, text }: CameTo) => {
  assert.equal([asked, failed], [1, false], text)
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  // What is left to see afterwards.
  assert.match(journalOf(scene).join('\n'), /"type":"decided".*"answer":"approved","by":"client a-client"/)
}

const refused = ({ asked, failed, text }: CameTo) => {
  assert.equal([asked, failed], [0, true], text)
  assert.match(text, /^approval_unavailable: /)
  assert.is(textOf(scene, 'theirs.txt'), undefined)
}

test('an attacker who answers as an MCP client itself succeeds: its yes approves its own call', async () => {
  succeeded(await answers('alone'))
})

test('an attacker who answers as an MCP client succeeds also while a person sits', async () => {
  const { screen } = await scene.sits()
  try {
    succeeded(await answers('alone'))
  } finally {
    screen.close()
    await until(async () => (await scene.imago('approvals')).text.includes('Nobody has a seat'), 'no seat')
  }
})

test('an attacker whom the host of an MCP server starts succeeds if it puts its own server right below that host', async () => {
  succeeded(await answers('become'))
})

test('what the host of an MCP server starts cannot say yes through a server of its own (threat 4)', async () => {
  refused(await answers('below'))
})

test('code in a kernel that answers as an MCP client cannot say yes (threat 4)', async () => {
  const words = ['python3', CLIENT, 'alone', 'a-client', ...SERVER]
  const env = JSON.stringify(JSON.stringify(scene.rig.env))
  const expr = [
    'import json, subprocess',
    `ran = subprocess.run(${JSON.stringify(words)}, env=json.loads(${env}), capture_output=True, text=True)`,
    'print(ran.stdout or ran.stderr)',
  ].join('\n')
  const call = ['call', { tool: 'eval_expr', args: { expr } }]
  const [answer] = (await scene.intrudes('calls', ...addressOf(scene), JSON.stringify([call]))) as {
    readonly result: Envelope
  }[]
  if (answer?.result.ok !== true) throw new Error(JSON.stringify(answer))
  refused(JSON.parse(String((answer.result.result as { output?: string }).output)) as CameTo)
})

test('a program that does not show which process it is cannot say yes (threat 4)', async () => {
  refused(await answers('silent', addressOf(scene)))
})

for (const name of ['codex-mcp-client', 'claude-code'])
  test(`whoever calls itself ${name} cannot say yes, unless the user has said that it counts (threat 4)`, async () => {
    refused(await answers('alone', SERVER, name))
  })

test('a policy that was changed to let a client say yes does not, until a person has accepted it (threat 10)', async () => {
  writeFileSync(policyFile, '[[client]]\nname = "codex*"\nyes = "counts"\n')
  refused(await answers('alone', SERVER, 'codex-mcp-client'))
})

test('where the policy has a seat asked, no MCP client can say yes, by whatever name (threat 4)', async () => {
  writeFileSync(policyFile, '[[client]]\nname = "*"\nyes = "asks_a_seat"\n')
  refused(await answers('alone'))
  refused(await answers('become'))
})
