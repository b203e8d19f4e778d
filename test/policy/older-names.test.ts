import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openFiles } from '../../src/files/files.ts'
import { type CallsRig, errorOf, type RigOptions, resultOf, rigsOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

/** What the gate and a person say of calls that have an older name of their own, such as `create_file`. */
const test = suite('tools that were merged')

const open = rigsOf(test)

const rule = (decision: string, tool: string) => `[[rule]]\ndecision = "${decision}"\ntool = "${tool}"\n`

/** A project with one file, `there`. */
function project(policy = '', more: RigOptions = {}): CallsRig {
  const rig = open({
    policy,
    projectFiles: root => {
      const stateDir = join(dirname(root), 'state')
      mkdirSync(stateDir)
      return openFiles({ protected: [stateDir], stateDir })
    },
    ...more,
  })
  writeFileSync(join(rig.root, 'there'), 'theirs\n')
  return rig
}

const textOf = ({ root }: CallsRig, path: string) =>
  existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined

/** What each way to make and to overwrite a file comes to: done, or the code of the refusal. */
async function ways(rig: CallsRig): Promise<Readonly<Record<string, string>>> {
  const ask = async (tool: string, path: string, more: object = {}) => {
    const answer = await rig.run(tool, { path, content: 'ours\n', ...more })
    return answer.ok ? 'done' : answer.error.code
  }
  return {
    'create_file, new': await ask('create_file', 'a/b'),
    'write_file with new, new': await ask('write_file', 'c/d', { new: true }),
    'write_file, new': await ask('write_file', 'e'),
    'create_file over another': await ask('create_file', 'there'),
    'write_file with new over another': await ask('write_file', 'there', { new: true }),
    'write_file over another': await ask('write_file', 'there'),
  }
}

test('what allows create_file allows new files by either name, and no file to be overwritten or written without it (threat 9)', async () => {
  const rig = project(rule('allow', 'create_file'))
  assert.equal(await ways(rig), {
    'create_file, new': 'done',
    'write_file with new, new': 'done',
    'write_file, new': 'approval_unavailable',
    'create_file over another': 'already_exists',
    'write_file with new over another': 'already_exists',
    'write_file over another': 'approval_unavailable',
  })
  assert.is(textOf(rig, 'there'), 'theirs\n')
})

test('what allowed write_file allows no more than it did: folders are made by create_file (threat 9)', async () => {
  const rig = project(rule('allow', 'write_file'))
  const { 'write_file, new': made, 'write_file over another': over, ...others } = await ways(rig)
  assert.equal([made, over], ['done', 'done'])
  assert.equal(new Set(Object.values(others)), new Set(['approval_unavailable']))
  assert.is(existsSync(join(rig.root, 'a')), false)
  assert.is(existsSync(join(rig.root, 'c')), false)
})

test('what denies create_file denies new files by either name, and leaves write_file as it is (threat 9)', async () => {
  const rig = project(rule('deny', 'create_file') + rule('allow', 'write_file'))
  assert.equal(await ways(rig), {
    'create_file, new': 'denied',
    'write_file with new, new': 'denied',
    'write_file, new': 'done',
    'create_file over another': 'denied',
    'write_file with new over another': 'denied',
    'write_file over another': 'done',
  })
})

test('what denies write_file denies all of it, by whatever name, also where create_file is allowed', async () => {
  const rig = project(rule('deny', 'write_file') + rule('allow', 'create_file'))
  assert.equal(new Set(Object.values(await ways(rig))), new Set(['denied']))
  assert.equal(
    [textOf(rig, 'there'), textOf(rig, 'a/b'), textOf(rig, 'e')],
    ['theirs\n', undefined, undefined],
  )
})

test('whoever is refused is told of the rule that would allow this call, and that rule does', async () => {
  const rig = project()
  const { message } = errorOf(await rig.run('write_file', { path: 'a/b', content: 'x\n', new: true }))
  const told = /\[\[rule\]\]\n[\s\S]*$/.exec(message)?.[0] ?? ''
  assert.match(told, 'tool = "create_file"')
  const after = project(told.replace(/\npath = .*/, ''))
  resultOf(await after.run('write_file', { path: 'a/b', content: 'x\n', new: true }))
  assert.is(
    errorOf(await after.run('write_file', { path: 'there', content: 'x\n' })).code,
    'approval_unavailable',
  )
})

test('what is granted for new files is granted for no other, and is told by that name (threat 22)', async () => {
  const rig = project()
  mkdirSync(join(rig.root, 'src'))
  writeFileSync(join(rig.root, 'src/there'), 'theirs\n')
  let first = true
  const person = rig.seat(() => {
    const reply = first ? { grant: 'src/**' } : ('deny' as const)
    first = false
    return reply
  })
  const write = (path: string, more: object = {}) =>
    rig.run('write_file', { path, content: 'ours\n', ...more })
  resultOf(await write('src/a', { new: true }))
  assert.equal(
    rig.approvals.grants().map(({ tool, pattern }) => [tool, pattern]),
    [['create_file', 'src/**']],
  )
  resultOf(await rig.run('create_file', { path: 'src/b', content: 'ours\n' }))
  assert.is(person.plans.length, 1)
  assert.is(errorOf(await write('src/there')).code, 'denied')
  assert.equal([person.plans.length, textOf(rig, 'src/there')], [2, 'theirs\n'])
})

test('what is granted for write_file is not granted for new files with their folders', async () => {
  const rig = project()
  mkdirSync(join(rig.root, 'src'))
  let first = true
  const person = rig.seat(() => {
    const reply = first ? { grant: 'src/**' } : ('deny' as const)
    first = false
    return reply
  })
  resultOf(await rig.run('write_file', { path: 'src/a', content: 'ours\n' }))
  const { code } = errorOf(await rig.run('write_file', { path: 'src/b/c', content: 'ours\n', new: true }))
  assert.equal([code, person.plans.length, textOf(rig, 'src/b/c')], ['denied', 2, undefined])
})

test('a call that a person edits is judged by what they made of it', async () => {
  const rig = project(rule('deny', 'create_file'))
  const { plans } = rig.seat(plan =>
    plan.body.includes('ours') ? { edit: { path: 'a', content: 'mine\n', new: true } } : 'approve',
  )
  const { code } = errorOf(await rig.run('write_file', { path: 'a', content: 'ours\n' }))
  assert.equal([code, plans.length, textOf(rig, 'a')], ['denied', 1, undefined])
})

test('what a person made of a call is judged as that once more when it happens', async () => {
  const rig = project()
  const { plans } = rig.seat(plan => {
    if (plan.body.includes('ours')) return { edit: { path: 'a', content: 'mine\n', new: true } }
    writeFileSync(join(rig.root, '../policy.toml'), rule('deny', 'create_file'))
    return 'approve'
  })
  const { code } = errorOf(await rig.run('write_file', { path: 'a', content: 'ours\n' }))
  assert.equal([code, plans.map(({ tool }) => tool)], ['denied', ['write_file', 'create_file']])
  assert.is(textOf(rig, 'a'), undefined)
})

test('an older name says its arguments whatever the call says, and one that says another is refused', async () => {
  const rig = project(rule('allow', '*'))
  const error = errorOf(await rig.run('create_file', { path: 'there', content: 'ours\n', new: false }))
  assert.equal([error.code, textOf(rig, 'there')], ['invalid_args', 'theirs\n'])
  assert.match(error.message, '"new" is true in create_file')
  resultOf(await rig.run('create_file', { file_path: 'a', text: 'ours\n', new: true }))
  const [entry] = (await rig.journal()).filter(({ type }) => type === 'dispatched')
  assert.equal([entry?.tool, entry?.args], ['write_file', { path: 'a', content: 'ours\n', new: true }])
})

const LOOKS = [
  ['describe_symbol', { name: 'x' }, 'inspect', { expr: 'x' }],
  ['function_arglist', { symbol: 'x' }, 'inspect', { expr: 'x' }],
  ['list_package_symbols', { package: 'x' }, 'list_globals', { package: 'x' }],
] as const

for (const [older, args, tool, otherwise] of LOOKS) {
  test(`what denies ${older} denies that look by either name, and no other of ${tool}`, async () => {
    const rig = project(rule('deny', older))
    assert.is(errorOf(await rig.run(older, args)).code, 'denied')
    const other = await rig.run(tool, otherwise)
    assert.ok(other.ok || other.error.code !== 'denied')
  })

  test(`what denies ${tool} denies ${older} with it`, async () => {
    const rig = project(rule('deny', tool))
    assert.is(errorOf(await rig.run(older, args)).code, 'denied')
  })
}
