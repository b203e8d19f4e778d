import { KernelError } from '../../src/kernels/kernel-error.ts'
import type { Member, Wanted } from '../../src/kernels/wanted.ts'
import type { ProjectKernel } from '../../tools/contract.ts'
import { TOOLS } from '../../tools/index.ts'
import { showEnvelope } from '../../tools/show.ts'
import { WireError } from '../../wire/errors.ts'
import { type CallsRig, errorOf, type RigOptions, resultOf, rigsOf, settled } from '../support/calls-rig.ts'
import { FakeKernel, type Script } from '../support/fake-kernel.ts'
import { assert, suite } from '../support/harness.ts'

/** Calls to all of a group of kernels. */
const test = suite('calls to a group')
const rigFor = rigsOf(test)

interface Group extends CallsRig {
  readonly members: readonly FakeKernel[]
  /** What is said of the group as a whole; the names that were asked for. */
  readonly groups: string[]
}

const kernelName = (index: number) => (index === 0 ? 'web' : `web/${index + 1}`)

/** The group `web`, each member with a script of its own. */
function group(
  scripts: readonly Script[],
  more: RigOptions & { group?: () => readonly Member[] } = {},
): Group {
  const members = scripts.map((script, index) => new FakeKernel({ epoch: `0000000${index + 1}`, ...script }))
  const groups: string[] = []
  const own = members.map((kernel, index) => ({
    name: kernelName(index),
    place: { name: kernelName(index), kernel },
  }))
  const rig = rigFor({
    ...more,
    options: {
      ...more.options,
      kernels: {
        resolve: async ({ name = '' }) => ({ name, kernel: members[0] ?? new FakeKernel() }),
        async group(name: string, _: Wanted) {
          groups.push(name)
          return more.group?.() ?? own
        },
        membersOf: () => own.map(({ name }) => name),
        living: ({ name }) => own.find(one => one.name === name)?.place,
      },
    },
  })
  return { ...rig, members, groups }
}

const found = (value: string): Script => ({
  globals: {
    type: 'found',
    value: { globals: [{ name: value, type_name: 'int' }], total: 1 },
  },
})

const ALL = { kernel: 'web/*' }

const membersIn = (result: Record<string, unknown>) =>
  result.members as readonly { kernel: string; ok: boolean; error?: { code: string; message: string } }[]

const answers = (result: Record<string, unknown>) =>
  membersIn(result).map(({ kernel, ok, error }) => [kernel, ok ? 'ok' : error?.code])

test('a look goes to all side by side, and is answered by member', async () => {
  const { run, members, groups } = group([found('a'), found('b')])
  const result = resultOf(await run('list_globals', ALL))
  assert.equal(answers(result), [
    ['web', 'ok'],
    ['web/2', 'ok'],
  ])
  assert.match(JSON.stringify(result), /"kernel":"web\/2","ok":true,"result":\{.*"b"/)
  assert.equal(groups, ['web'])
  for (const member of members) assert.is(member.asked.length, 1)
})

test('it is one call in the journal, which names the members and their lives', async () => {
  const { run, journal } = group([found('a'), found('b')])
  await run('list_globals', ALL)
  await run('trace_function', { ...ALL, name: 'total' })
  const lines = await journal()
  assert.equal(
    lines.map(({ type, tool, kernel }) => [type, tool, kernel]),
    [
      ['looked', 'list_globals', 'web/*'],
      ['dispatched', 'trace_function', 'web/*'],
      ['ended', undefined, undefined],
    ],
  )
  const members = [
    { kernel: 'web', epoch: '00000001' },
    { kernel: 'web/2', epoch: '00000002' },
  ]
  assert.equal(
    lines.slice(0, 2).map(line => [line.members, line.epoch]),
    [
      [members, null],
      [members, null],
    ],
  )
})

test('what fails in one, for whatever reason, is told of that one', async () => {
  const frozen: Script = { globals: new WireError('UNRESPONSIVE', 'it is held') }
  const unable: Script = { abilities: ['evaluate'] }
  const gone = {
    name: 'web/4',
    error: new KernelError('kernel_unavailable', { message: 'It has ended.', next: null }),
  }
  const kernels = [found('a'), frozen, unable].map((script, index) => {
    const name = kernelName(index)
    return { name, place: { name, kernel: new FakeKernel(script) } }
  })
  const { run } = group([], { group: () => [...kernels, gone] })
  assert.equal(answers(resultOf(await run('list_globals', ALL))), [
    ['web', 'ok'],
    ['web/2', 'unresponsive'],
    ['web/3', 'not_available'],
    ['web/4', 'kernel_unavailable'],
  ])
})

test('one that never answers is given up after the time of a look, and the others have answered', async () => {
  const { run } = group([found('a'), { globals: 'never' }], { options: { lookMs: 20 } })
  assert.equal(answers(resultOf(await run('list_globals', ALL))), [
    ['web', 'ok'],
    ['web/2', 'internal'],
  ])
})

test('where all fail alike it has failed, and the message names all once; else each by itself', async () => {
  const { run, journal } = group([{}, {}])
  const error = errorOf(await run('inspect', { ...ALL, expr: 'nothing' }))
  assert.equal(
    [error.code, error.message],
    ['not_found', 'Nothing is called nothing. So in all of web, web/2.'],
  )
  const other = group([{ globals: new WireError('UNRESPONSIVE', 'held') }, { abilities: [] }])
  const mixed = errorOf(await other.run('list_globals', ALL))
  assert.is(mixed.code, 'unresponsive')
  assert.match(mixed.message, /^web: .*held\nweb\/2: list_globals does not work in web\/2/)
  const [line] = await journal()
  assert.equal([line?.type, line?.outcome], ['looked', 'not_found'])
})

test('answers that do not fit beside each other are left out whole, the later ones first, and never cut into another form', async () => {
  const globals = Array.from({ length: 340 }, (_, index) => ({
    name: `name_${index}`.padEnd(30, '_'),
    type_name: 'int',
  }))
  const long: Script = { globals: { type: 'found', value: { globals, total: 340 } } }
  const { run } = group([long, long, found('a'), long])
  const envelope = await run('list_globals', { ...ALL, limit: 500 })
  const result = resultOf(envelope)
  assert.equal(answers(result), [
    ['web', 'ok'],
    ['web/2', 'ok'],
    ['web/3', 'ok'],
    ['web/4', 'too_large'],
  ])
  assert.is(result.truncated, undefined)
  const text = showEnvelope(
    envelope,
    TOOLS.find(({ name }) => name === 'list_globals'),
  )
  assert.match(text, /^web\/4:\n {2}too_large: .*\n {2}next: Name that kernel alone: \{"kernel": "web\/4"\}/)
  assert.not.match(text, '"globals"')
})

test('one that lives alone is asked alone, and answers as a member', async () => {
  const { run } = group([found('a')])
  assert.equal(answers(resultOf(await run('list_globals', ALL))), [['web', 'ok']])
})

test('what runs code, changes or keeps anything is refused with the members named, and nothing is attached', async () => {
  const { run, members, groups } = group([found('a'), found('b')])
  for (const [tool, args] of [
    ['eval_expr', { expr: '1' }],
    ['load_file', { path: 'app.py' }],
    ['debug_restart', { restart: 0 }],
  ] as const) {
    const { code, message, next, details } = errorOf(await run(tool, { ...args, ...ALL }))
    assert.is(code, 'invalid_args')
    assert.is(
      message,
      `${tool} is for one kernel, and web/* stands for all of them: web, web/2. Nothing ran.`,
    )
    assert.is(next, 'Name one: {"kernel": "web"}')
    assert.equal(details.kernels, ['web', 'web/2'])
  }
  assert.equal(groups, [])
  assert.equal([...members.flatMap(({ asked }) => asked)], [])
})

test('a look that would have to run code is refused of that member, and runs none', async () => {
  const { run, members } = group([
    { inspect: { x: { type: 'needs_evaluation', because: 'a property would run' } } },
    { inspect: { x: { type: 'not_found', what: 'x', nearest: [] } } },
  ])
  const { message } = errorOf(await run('inspect', { ...ALL, expr: 'x' }))
  assert.match(message, 'web: Code would have to run to tell: a property would run. Nothing was run.')
  assert.equal(
    members.flatMap(({ asked }) => asked).filter(({ method }) => method === 'evaluate'),
    [],
  )
})

// The gate

const rule = (decision: string, kernel: string, tool = '*') =>
  `[[rule]]\ndecision = "${decision}"\ntool = "${tool}"\nkernel = "${kernel}"\n`

test('what a rule denies in one member is not asked of that one, and the others answer', async () => {
  const { run, members } = group([found('a'), found('b')], { policy: rule('deny', 'web/2') })
  const result = resultOf(await run('list_globals', ALL))
  assert.equal(answers(result), [
    ['web', 'ok'],
    ['web/2', 'denied'],
  ])
  assert.equal(members[1]?.asked, [])
})

test('what a rule denies in all of a name is denied before any is looked for', async () => {
  const { run, groups } = group([found('a'), found('b')], { policy: rule('deny', 'web*') })
  const { code, message } = errorOf(await run('list_globals', ALL))
  assert.is(code, 'denied')
  assert.match(message, 'web/*')
  assert.equal(groups, [])
})

test('what a rule has a person asked about in one member alone is told to name that one', async () => {
  const { run, seat } = group([found('a'), found('b')], { policy: rule('ask', 'web/2') })
  const person = seat(() => 'approve')
  const result = resultOf(await run('list_globals', ALL))
  assert.equal(answers(result), [
    ['web', 'ok'],
    ['web/2', 'approval_unavailable'],
  ])
  assert.is(person.plans.length, 0)
})

const TRACED: Script = {
  looks: {
    trace: {
      type: 'found',
      value: {
        id: 't1@ab12',
        name: 'total',
        who: 'test',
        by: 'fake',
        state: 'on',
        seen: 0,
        wanted: 10,
        at: '2026-11-30T09:12:30.000Z',
        expires_in_ms: 1,
        notes: [],
      } as never,
    },
  },
}

test('a person who is asked about all is asked once, told who they are, and then it happens in each', async () => {
  const { run, seat, members } = group([TRACED, TRACED], { policy: rule('ask', '*', 'trace_function') })
  const person = seat(() => 'approve')
  const result = resultOf(await run('trace_function', { ...ALL, name: 'total' }))
  assert.equal(answers(result), [
    ['web', 'ok'],
    ['web/2', 'ok'],
  ])
  assert.is(person.plans.length, 1)
  assert.match(JSON.stringify(person.plans), 'Trace total, in web, web/2')
  for (const { asked } of members) assert.is(asked.filter(({ method }) => method === 'trace').length, 1)
})

test('a tracepoint is set in all, and ends in all', async () => {
  const { run } = group([TRACED, { looks: { trace: { type: 'not_found', what: 'total', nearest: [] } } }])
  assert.equal(answers(resultOf(await run('trace_function', { ...ALL, name: 'total' }))), [
    ['web', 'ok'],
    ['web/2', 'not_found'],
  ])
})

test('one that was cancelled before its members were there is withdrawn', async () => {
  const cancel = new AbortController()
  const { run } = group([], {
    options: {},
    group: () => {
      cancel.abort()
      return []
    },
  })
  assert.is(errorOf(await run('list_globals', ALL, { signal: cancel.signal })).code, 'withdrawn')
})

test('how its members were reached is told once', async () => {
  const kernel = new FakeKernel(found('a'))
  const joined = { name: 'web' } as never
  const { run } = group([], {
    group: () => [
      { name: 'web', place: { name: 'web', kernel, joined } },
      { name: 'web/2', place: { name: 'web/2', kernel, waited: true } },
    ],
  })
  const { notice } = resultOf(await run('list_globals', ALL))
  assert.is(
    notice,
    'Attached for this call: web (process 1).\nWaited for, in place of what has ended: web/2 (process 1).',
  )
})

// What a connection has chosen

const chosenAs = (name: string): ProjectKernel => ({
  ...{ name, group: name, state: 'idle', chosen: true, language: 'python', pid: 1 },
  ...{ running_ms: null, suspended: 0, what: 'a test', message: null },
})

test('what the callers of a connection have chosen ends with it, and not before their calls do', async () => {
  const asked: (string | undefined)[] = []
  let choose = () => {}
  const choosing = new Promise<void>(resolve => {
    choose = resolve
  })
  const kernel = new FakeKernel()
  const rig = rigFor({
    options: {
      kernels: {
        async resolve({ chosen }) {
          asked.push(chosen)
          return { name: chosen ?? 'main', kernel }
        },
        async choose(name) {
          if (name === 'late') await choosing
          return { type: 'chosen', kernel: chosenAs(name) }
        },
      },
    },
  })
  const from = (id: string, name: string) => rig.run('attach', { name }, { caller: { id } })
  const look = (id: string) => rig.run('list_globals', {}, { caller: { id } })
  for (const id of ['client-1', 'client-1 model', 'client-12']) await from(id, 'web')
  const late = from('client-1 other', 'late')
  rig.calls.left('client-1')
  for (const id of ['client-1', 'client-1 model', 'client-12']) await look(id)
  assert.equal(asked.splice(0), [undefined, undefined, 'web'])
  choose()
  await late
  await settled()
  await look('client-1 other')
  assert.equal(asked, [undefined])
})
