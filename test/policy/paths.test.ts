import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openFiles } from '../../src/files/files.ts'
import { judgedPath, judgedPaths } from '../../src/policy/judged-paths.ts'
import { type CallsRig, errorOf, resultOf, rigsOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { NO_FILES } from '../support/no-files.ts'

const test = suite('files that the policy speaks about, in calls')

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

test('the rule told at the third time allows nothing below the file once a folder stands there (threat 22)', async () => {
  const rig = project('', [])
  const person = rig.seat(() => ({ deny: 'no' }))
  const create = (path: string) => rig.run('create_file', { path, content: 'x\n' })
  for (let n = 0; n < 3; n++) assert.is(errorOf(await create('src/x')).code, 'denied')
  const told = person.plans.at(-1)?.rule ?? ''
  writeFileSync(join(rig.root, '../policy.toml'), told)
  mkdirSync(join(rig.root, 'src/x'), { recursive: true })
  await rig.clock.pass(5 * 60_000)
  assert.is(errorOf(await create('src/x/y')).code, 'denied')
  rmSync(join(rig.root, 'src/x'), { recursive: true })
  assert.ok((await create('src/x')).ok)
  assert.is(person.plans.length, 4)
})

const paths = suite('judged paths')

let folder = ''

let root = ''

paths.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-judged-')))
  root = join(folder, 'project')
  mkdirSync(join(root, 'secrets'), { recursive: true })
  writeFileSync(join(root, 'secrets/s.py'), 'x = 1')
})

paths.after.each(() => rmSync(folder, { recursive: true, force: true }))

const anywhere = (path: string) => judgedPath({ path, confined: false, root, files: NO_FILES })

paths('a path that may lead anywhere is judged by where it leads, inside of the project or not', () => {
  symlinkSync('secrets', join(root, 'public'))
  const real = join(root, 'secrets/s.py')
  for (const path of [
    'secrets/s.py',
    './secrets//s.py',
    'public/s.py',
    real,
    `${root}/public/../secrets/s.py`,
  ])
    assert.is(anywhere(path), real, path)
  assert.is(anywhere('../else/new.py'), join(folder, 'else/new.py'))
  assert.is(anywhere('secrets/new.py'), join(root, 'secrets/new.py'))
})

paths('a way that each process sees otherwise, or that goes in a circle, is refused', () => {
  symlinkSync('round', join(root, 'round'))
  const refused = ['round/s.py', 'secrets/s.py/x']
  if (process.platform === 'linux') {
    symlinkSync('/proc/self/cwd', join(root, 'here'))
    refused.push(
      '/proc/self/cwd/secrets/s.py',
      'here/secrets/s.py',
      '/dev/fd/0',
      '/proc/self/root/etc/passwd',
    )
  }
  for (const path of refused) {
    const judged = anywhere(path)
    assert.is(typeof judged === 'string' ? judged : judged.error.code, 'path_refused', path)
  }
})

paths('a confined path goes to the files of the project, which may refuse it', () => {
  const asked: unknown[] = []
  const files = { ...NO_FILES, realPath: (path: unknown) => `/real/${asked.push(path)}` }
  const paths = [
    { name: 'one', confined: true },
    { name: 'two', confined: false },
    { name: 'left_out', confined: false },
  ]
  const args = { one: 'a.py', two: 'secrets/s.py', other: 'b.py' }
  assert.equal(judgedPaths({ paths, args, root, files }), ['/real/1', join(root, 'secrets/s.py')])
  assert.equal(asked, [{ root, path: 'a.py' }])
  const refused = judgedPaths({ paths, args, root, files: NO_FILES })
  assert.is(Array.isArray(refused) ? '' : refused.error.code, 'path_refused')
})

paths('the path of each object in a list is judged, whatever else stands in it', () => {
  const paths = [{ name: 'edits', confined: false, each: 'path' }]
  const judged = (edits: unknown) => judgedPaths({ paths, args: { edits }, root, files: NO_FILES })
  symlinkSync('secrets', join(root, 'public'))
  const edits = [{ path: 'a.py' }, { path: 'public/s.py' }, { path: 'a.py' }, { path: 7 }, null, 'b.py', {}]
  assert.equal(judged(edits), [join(root, 'a.py'), join(root, 'secrets/s.py')])
  assert.equal([judged('a.py'), judged(undefined), judged([])], [[], [], []])
  const confined = [{ name: 'edits', confined: true, each: 'path' }]
  const refused = judgedPaths({ paths: confined, args: { edits }, root, files: NO_FILES })
  assert.is(Array.isArray(refused) ? '' : refused.error.code, 'path_refused')
})
