import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ShownPlan } from '../../src/approvals/contract.ts'
import { type Files, openFiles } from '../../src/files/files.ts'
import type { Fate } from '../../tools/hunks.ts'
import type { ToolError } from '../../tools/outcome.ts'
import { type CallsRig, errorOf, resultOf, rigsOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import type { Reply } from '../support/seat.ts'

const test = suite('what a plan tells of files')

const open = rigsOf(test)

const SECRET = 'first = 1\nkey = "s3cret"\nlast = 3\n'

const KEY = 'private/key.txt'

const GONE = 'private/gone.txt'

const rule = (...lines: string[]) => `[[rule]]\n${lines.join('\n')}\n`

const DENIES = rule('decision = "deny"', 'tool = "read_file"', 'path = "private"')

const ASKS = rule('decision = "ask"', 'path = "private"')

const ALLOWS = rule('decision = "allow"', 'effect = "write_file"')

/** A project with a file that is no business of the caller's; `filesAs` is what its files do otherwise. */
function project(policy: string, filesAs: (files: Files) => Files = files => files): CallsRig {
  const rig = open({
    policy,
    projectFiles: root => {
      const stateDir = join(dirname(root), 'state')
      mkdirSync(stateDir)
      return filesAs(openFiles({ protected: [stateDir, join(dirname(root), 'policy.toml')], stateDir }))
    },
  })
  mkdirSync(join(rig.root, 'private'))
  put(rig, KEY, SECRET)
  put(rig, 'open.txt', 'a\nb\nc\n')
  return rig
}

const at = ({ root }: CallsRig, path: string) => join(root, path)

const put = (rig: CallsRig, path: string, text: string) => writeFileSync(at(rig, path), text)

const textOf = (rig: CallsRig, path: string) => readFileSync(at(rig, path), 'utf8')

type Call = readonly [tool: string, args: object]

const edit = (path: string, old_str: string, more: object = {}): Call => [
  'edit_file',
  { path, old_str, new_str: 'other', ...more },
]

const insert = (path: string, expected: string, more: object = {}): Call => [
  'insert_at_line',
  { path, line: 2, content: 'x\n', expected, ...more },
]

const propose = (path: string, old_str: string): Call => [
  'propose_file_edit',
  { edits: [{ path, old_str, new_str: 'other' }] },
]

/** Each comes to nothing, for a reason that says something of the file, or of whether it is there. */
const PROBES: readonly Call[] = [
  insert(KEY, 'zz'),
  insert(KEY, 'zz', { line: 99 }),
  edit(KEY, 'KEY = "S3CRET"'),
  edit(KEY, 'key  =  "s3cret"'),
  edit(KEY, 'key', { count: 7 }),
  edit(GONE, 'key'),
  propose(KEY, 'KEY = "S3CRET"'),
  propose(GONE, 'key'),
  ['propose_file_edit', { edits: ['first', 'fir'].map(old_str => ({ path: KEY, old_str, new_str: 'x' })) }],
  ['write_file', { path: KEY, content: SECRET }],
  ['write_file', { path: KEY, content: 'x', new: true }],
  ['delete_file', { path: GONE }],
  ['move_file', { source: GONE, destination: 'here.txt' }],
  ['move_file', { source: 'open.txt', destination: KEY }],
]

/** Without the names of things that differ from call to call, and of the tool. */
const gist = ({ code, message, details, next }: ToolError, tool: string) =>
  JSON.stringify([code, message, details, next]).replaceAll(tool, 'TOOL')

for (const [what, policy] of [
  ['denies to read_file', DENIES],
  ['denies to read_file, and lets all changes through,', DENIES + ALLOWS],
  ['would have a person asked about', ASKS],
] as const)
  test(`whatever a call comes to, of a file that a rule ${what} the caller learns nothing, and always the same (threat 9)`, async () => {
    const rig = project(policy)
    const { plans } = rig.seat(() => 'deny')
    const said = new Set<string>()
    for (const [tool, args] of PROBES) {
      const error = errorOf(await rig.run(tool, args))
      assert.equal([error.code, error.details.reason], ['denied', 'not_shown'], JSON.stringify([tool, args]))
      said.add(gist(error, tool))
    }
    assert.is(said.size, 1)
    assert.not.match([...said].join(), /s3cret|first|gone|lines|nearest/)
    assert.is(plans.length, 0)
    assert.is(textOf(rig, KEY), SECRET)
  })

/** Pairs of a guess that is right and one that is wrong, of which no person hears. */
const GUESSES: readonly (readonly [right: Call, wrong: Call])[] = [
  [edit(KEY, 's3cret'), edit(KEY, 'secret')],
  [insert(KEY, 'key = "s3cret"'), insert(KEY, 'key = "x"')],
  [propose(KEY, 's3cret'), propose(KEY, 'secret')],
]

async function alike(rig: CallsRig, [right, wrong]: readonly [Call, Call], code: string): Promise<void> {
  const [one, other] = [errorOf(await rig.run(...right)), errorOf(await rig.run(...wrong))]
  assert.is(one.code, code)
  assert.is(gist(one, right[0]), gist(other, wrong[0]))
}

test('a guess at what a file holds is answered alike, right or wrong, as long as no person is asked (threat 9)', async () => {
  const elsewhere = rule('decision = "allow"', 'effect = "write_file"', 'path = "docs"')
  const denied = rule('decision = "deny"', 'effect = "write_file"', 'path = "private"')
  for (const guess of GUESSES) {
    await alike(project(DENIES + elsewhere), guess, 'approval_unavailable')
    await alike(project(DENIES + elsewhere + denied), guess, 'denied')
  }
})

test('a change too long to be shown is no way to guess either (threat 9)', async () => {
  const rig = project(DENIES)
  const { plans } = rig.seat(() => 'deny')
  const content = `${'x'.repeat(4 * 1024 * 1024)}\n`
  const guess = [insert(KEY, 'key = "s3cret"', { content }), insert(KEY, 'key = "x"', { content })] as const
  await alike(rig, guess, 'denied')
  assert.is(plans.length, 0)
})

for (const [what, policy] of [
  ['denies to read_file', DENIES],
  ['would have a person asked about', ASKS],
] as const)
  test(`a plan that is out of date shows nothing of a file that a rule ${what} (threat 9)`, async () => {
    const rig = project(policy)
    rig.seat(() => {
      put(rig, KEY, `# moved\n${SECRET}`)
      return 'approve'
    })
    const error = errorOf(await rig.run('write_file', { path: KEY, content: 'new\n' }))
    assert.equal([error.code, 'preview' in error.details], ['stale_plan', false])
    assert.not.match(JSON.stringify(error), /s3cret|moved|sha256/)
  })

test('what a link leads to by then is not shown by the preview of a plan that is out of date (threat 9)', async () => {
  const rig = project(DENIES)
  rig.seat(() => {
    rmSync(at(rig, 'open.txt'))
    symlinkSync(KEY, at(rig, 'open.txt'))
    return 'approve'
  })
  const error = errorOf(await rig.run('write_file', { path: 'open.txt', content: 'new\n' }))
  assert.is(error.code, 'stale_plan')
  assert.not.match(JSON.stringify(error), /s3cret|key\.txt/)
  assert.is(textOf(rig, KEY), SECRET)
})

test('what cannot be taken back tells nothing of the file that it would be (threat 9)', async () => {
  const rig = project(DENIES)
  rig.seat(() => 'approve')
  const { undo } = resultOf(await rig.run(...edit(KEY, 's3cret')))
  put(rig, KEY, 'theirs\n')
  const moved = errorOf(await rig.run('undo_change', { change: undo }))
  put(rig, KEY, SECRET)
  const already = errorOf(await rig.run('undo_change', { change: undo }))
  assert.equal([moved.details.reason, already.details.reason], ['not_shown', 'not_shown'])
  assert.is(gist(moved, 'undo_change'), gist(already, 'undo_change'))
  assert.is(errorOf(await rig.run('undo_change', { change: 'plan-nothing' })).code, 'not_found')
})

const choosing =
  (...refused: number[]) =>
  ({ hunks }: ShownPlan): Reply => ({
    choose: hunks.map(({ number: hunk }) =>
      refused.includes(hunk) ? { hunk, decision: 'refuse', reason: 'no' } : { hunk, decision: 'accept' },
    ),
  })

test('where a refused hunk stands is not told of a file that read_file may not show (threat 9)', async () => {
  const edits = ['first', 'last'].map(old_str => ({ path: KEY, old_str, new_str: 'x' }))
  const linesOf = (fates: unknown) => (fates as Fate[]).map(({ outcome, line }) => [outcome, line])
  const rig = project(DENIES)
  rig.seat(choosing(2))
  const { hunks } = resultOf(await rig.run('propose_file_edit', { edits }))
  assert.equal(linesOf(hunks), [
    ['applied', 1],
    ['refused', null],
  ])
  const other = project(DENIES)
  other.seat(choosing(1, 2))
  const { details } = errorOf(await other.run('propose_file_edit', { edits }))
  assert.equal(linesOf(details.hunks), [
    ['refused', null],
    ['refused', null],
  ])
})
