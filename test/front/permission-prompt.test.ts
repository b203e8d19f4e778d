import { join } from 'node:path'
import { APPROVES, ELICITING, linesOver, served } from '../support/eliciting.ts'
import { fileRigsOf } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { MAIN, openRig, until } from '../support/rig.ts'
import type { Reply } from '../support/seat.ts'
import { APPROVE, noSeat, openWatch } from '../support/watching.ts'

/** The host of a model asks before it does something itself, as `claude -p --permission-prompt-tool` does. */
const test = suite('permission_prompt', { limitMs: 60_000 })
const open = fileRigsOf(test)

const BASH = { tool_name: 'Bash', input: { command: 'make clean\nmake', timeout: 5 }, tool_use_id: 'toolu_1' }
const HOST = join(import.meta.dirname, '../support/permission-host.mjs')

const DENIED = { behavior: 'deny' }

/** A host whose own dialog approves whatever it is asked, and a seat that replies so in turn; without a reply nobody sits. */
async function host(replies: Reply | readonly Reply[] = [], kind = ELICITING[1]) {
  const rig = open()
  const left = [replies].flat()
  const seat = left.length === 0 ? undefined : rig.seat(() => left.shift())
  const session = { id: 'client-1', root: rig.root, env: {}, options: { profile: 'desk' } }
  const { stream } = served(rig, { session })
  const dialogs: unknown[] = []
  const client = await kind?.connect(linesOver(stream), dialog => {
    dialogs.push(dialog)
    return APPROVES
  })
  const asks = async (call: object): Promise<Record<string, unknown>> => {
    const said = await client?.call('permission_prompt', { ...call })
    assert.is(said?.failed, false, said?.text)
    return JSON.parse(said?.text ?? '')
  }
  return { rig, asks, dialogs, plans: seat?.plans ?? [], client, stream }
}

test('what a person allows is answered with its input, as one text of JSON', async () => {
  const { asks, rig, plans } = await host('approve')
  assert.equal(await asks(BASH), { behavior: 'allow', updatedInput: BASH.input })
  assert.equal(
    [plans[0]?.tool, plans[0]?.level, plans[0]?.title],
    ['permission_prompt', 'dangerous', 'Allow Bash: make clean\\nmake'],
  )
  const ended = (await rig.journal()).find(({ type }) => type === 'ended')
  assert.is(ended?.outcome, 'allowed')
})

test('an input of 200,000 characters comes back whole', async () => {
  const { asks } = await host('approve')
  const input = { file_path: 'a.txt', content: 'x'.repeat(200_000) }
  assert.equal(await asks({ tool_name: 'Write', input }), { behavior: 'allow', updatedInput: input })
})

test('what a person denies is answered with their reason, and so is what cannot be understood', async () => {
  const { asks } = await host({ deny: 'not on this branch' })
  const { behavior, message } = await asks(BASH)
  assert.is(behavior, 'deny')
  assert.match(String(message), /not on this branch/)
  for (const call of [{}, { tool_name: 'Bash', input: 'rm -rf build' }, { ...BASH, allow: true }])
    assert.is((await asks(call)).behavior, 'deny')
})

for (const kind of ELICITING)
  test(`${kind.name}: the dialog of a host that approves everything by itself is not asked, and where nobody sits the host is told what to do (threat 34)`, async () => {
    const { asks, dialogs } = await host(undefined, kind)
    const { message, ...denied } = await asks(BASH)
    assert.equal([denied, dialogs], [DENIED, []])
    assert.match(
      String(message),
      /^Bash was not allowed\. Nobody can be asked.* \(imago watch, in a terminal\)/,
    )
  })

const SHOWN = [
  {
    what: 'a command',
    ...BASH,
    body: ['command:', '    make clean', '    make', 'timeout: 5'],
  },
  {
    what: 'an edit',
    tool_name: 'Edit',
    input: {
      file_path: '/p/a.py',
      old_string: 'def f():\n    return 1',
      new_string: 'def f():\n    return 2',
      replace_all: false,
    },
    body: [
      'file_path: /p/a.py',
      'replace_all: false',
      'old_string (-) and new_string (+):',
      '     def f():',
      '    -    return 1',
      '    +    return 2',
    ],
  },
  {
    what: 'several edits',
    tool_name: 'MultiEdit',
    input: {
      file_path: 'a',
      edits: [
        { old_string: 'x', new_string: '' },
        { old_string: '', new_string: 'y' },
      ],
    },
    body: [
      'file_path: a',
      'edits:',
      ...['1', '2'].flatMap(name => [
        `    ${name}:`,
        '        old_string (-) and new_string (+):',
        `            -${name === '1' ? 'x' : ''}`,
        `            +${name === '1' ? '' : 'y'}`,
      ]),
    ],
  },
  {
    what: 'an argument that imitates another',
    tool_name: 'Write',
    input: { content: '\nfile_path: b', file_path: 'a', 'x\ny': null, none: '', list: [], bidi: 'a\u202eb' },
    body: [
      'content:',
      '    ',
      '    file_path: b',
      'file_path: a',
      '"x\\ny": null',
      'none: ""',
      'list: []',
      'bidi: a⟦U+202E⟧b',
    ],
  },
]

for (const { what, body, tool_name, input } of SHOWN)
  test(`a person is shown ${what} whole`, async () => {
    const { asks, plans } = await host('deny')
    await asks({ tool_name, input })
    const [, , ...lines] = (plans[0]?.body ?? '').split('\n')
    assert.equal(lines, [...body, ''])
  })

test('an input that a person has put in its place is what is allowed; another tool in its place is denied', async () => {
  const input = { command: 'make -n' }
  const { asks } = await host([{ edit: { ...BASH, input } }, 'approve'])
  assert.equal(await asks(BASH), { behavior: 'allow', updatedInput: input })
  const other = await host([{ edit: { ...BASH, tool_name: 'Read' } }, 'approve'])
  assert.is((await other.asks(BASH)).behavior, 'deny')
  const long = await host([{ edit: { ...BASH, input: { command: 'x'.repeat(200_000) } } }, 'approve'])
  assert.is((await long.asks(BASH)).behavior, 'deny')
})

test('tools of Imago are let through, since they ask themselves, and others that look like them are not', async () => {
  const { asks } = await host()
  const behaviors = []
  for (const name of [
    'mcp__imago__write_file',
    'mcp__plugin_imago_imago__eval_expr',
    'mcp__imago2__write_file',
    'mcp__other__mcp__imago__write_file',
    'mcp__imago__',
    'mcp__imago__evil',
    'mcp__imago__permission_prompt',
  ])
    behaviors.push((await asks({ tool_name: name, input: {} })).behavior)
  assert.equal(behaviors, ['allow', 'allow', 'deny', 'deny', 'deny', 'deny', 'deny'])
})

test('the question is taken back when its host has gone', async () => {
  const rig = open()
  const seat = rig.seat()
  const session = { id: 'client-1', root: rig.root, env: {}, options: { profile: 'desk' } }
  const { stream } = served(rig, { session })
  const client = await ELICITING[1]?.connect(linesOver(stream), () => APPROVES)
  void client?.call('permission_prompt', BASH).catch(() => undefined)
  await seat.next()
  await client?.close()
  await until(() => seat.told.some(({ type }) => type === 'settled'), 'the question to be taken back')
  const ends = (await rig.journal()).map(({ type, answer }) => `${type} ${answer ?? ''}`)
  assert.ok(ends.includes('decided cancelled'), ends.join())
})

test('a person at imago watch allows a command of a real client, and imago log says so', async () => {
  const rig = openRig()
  const asks = async () => {
    const words = [JSON.stringify(BASH), process.execPath, MAIN, 'mcp', '--profile', 'desk']
    const { stdout, stderr } = await rig.imago(words, { main: HOST })
    assert.ok(stdout !== '', stderr)
    const { tools, content } = JSON.parse(stdout)
    assert.equal([tools.includes('eval_expr'), tools.includes('write_file')], [true, false])
    assert.equal([content.length, content[0].type], [1, 'text'])
    return JSON.parse(content[0].text)
  }
  try {
    await rig.serve()
    assert.is((await asks()).behavior, 'deny')
    const { screen } = await openWatch(rig)
    const answer = asks()
    await screen.shows(APPROVE)
    for (const part of ['Allow Bash', '|     make clean\n', '| timeout: 5\n', 'claude-code'])
      assert.ok(screen.text().includes(part), part)
    screen.type('y\n')
    assert.equal(await answer, { behavior: 'allow', updatedInput: BASH.input })
    screen.close()
    await noSeat(rig)
    const { stdout } = await rig.imago(['log', '--outcome', 'allowed'])
    assert.match(stdout, /^ .* allowed .* permission_prompt .* claude-code .*Allow Bash: make clean/m)
    assert.not.match((await rig.imago(['log', '--outcome', 'failed'])).stdout, / allowed /)
  } finally {
    await rig.close()
  }
})
