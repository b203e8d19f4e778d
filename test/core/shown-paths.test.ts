import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openFiles } from '../../src/files/files.ts'
import { type CallsRig, resultOf, rigsOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('what the policy lets a search show')

const open = rigsOf(test)

/** A project of files that all hold the same word, with the user's policy. */
function project(policy: string, files: readonly string[]): CallsRig {
  const rig = open({
    policy,
    projectFiles: root => {
      const stateDir = join(dirname(root), 'state')
      mkdirSync(stateDir)
      return openFiles({ protected: [stateDir, join(dirname(root), 'policy.toml')], stateDir })
    },
  })
  for (const file of files) put(rig, file, 'word\n')
  return rig
}

function put({ root }: CallsRig, file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), text)
}

const FILES = ['a', 'keys/one', 'keys/deep/two', 'src/b']

const rule = (...lines: string[]) => `[[rule]]\n${lines.join('\n')}\n`

async function found(rig: CallsRig, args: object = {}): Promise<[paths: string[], withheld: unknown]> {
  const { found: all, left_out } = resultOf(await rig.run('search_files', { text: 'word', ...args }))
  return [(all as { path: string }[]).map(({ path }) => path), (left_out as { withheld?: number }).withheld]
}

for (const [what, policy] of [
  ['denies to all tools', rule('decision = "deny"', 'path = "keys"')],
  ['would have a person asked about', rule('decision = "ask"', 'path = "keys"')],
  ['denies to the tool', rule('decision = "deny"', 'tool = "search_*"', 'path = "keys"')],
  ['denies to read_file', rule('decision = "deny"', 'tool = "read_file"', 'path = "keys"')],
  ['denies in other letters', rule('decision = "deny"', 'path = "KEYS"')],
] as const)
  test(`what a rule ${what} is not shown by a search from above, and counted`, async () => {
    const rig = project(policy, FILES)
    assert.equal(await found(rig), [['a', 'src/b'], 1])
  })

test('what no rule is about is shown, as is what one allows', async () => {
  const allow = rule('decision = "allow"', 'tool = "write_file"', 'path = "src"')
  const other = rule('decision = "deny"', 'tool = "edit_file"', 'path = "keys"')
  assert.equal(await found(project(allow + other, FILES)), [
    ['a', 'keys/deep/two', 'keys/one', 'src/b'],
    undefined,
  ])
})

test('a project below says what is shown of it to a search from above', async () => {
  const rig = project('', ['a', 'shop/keys/one', 'shop/b', 'else/c'])
  put(rig, 'shop/imago.toml', rule('decision = "deny"', 'path = "keys"'))
  put(rig, 'else/imago.toml', rule('decision = "deny"', 'tool = "search_files"'))
  assert.equal(await found(rig), [['a', 'shop/b'], 2])
})

test('a listing and a tree leave out the same', async () => {
  const rig = project(rule('decision = "deny"', 'path = "src/keys"'), ['src/keys/one', 'src/b'])
  const listed = resultOf(await rig.run('list_directory', { path: 'src' }))
  assert.equal(
    [(listed.entries as { name: string }[]).map(({ name }) => name), listed.left_out],
    [['b'], { withheld: 1 }],
  )
  const tree = resultOf(await rig.run('directory_tree', {}))
  assert.not.match(JSON.stringify(tree.children), 'keys')
  assert.equal(tree.left_out, { withheld: 1 })
})

test('a call that names what is denied is denied itself', async () => {
  const rig = project(rule('decision = "deny"', 'path = "keys"'), FILES)
  for (const tool of ['search_files', 'list_directory', 'directory_tree', 'get_file_info']) {
    const answer = await rig.run(tool, {
      path: 'keys/deep',
      ...(tool === 'search_files' && { text: 'word' }),
    })
    assert.is(!answer.ok && answer.error.code, 'denied', tool)
  }
})
