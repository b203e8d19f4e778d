import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openRegistry, type Registry } from '../../src/core/registry.ts'
import type { Tool } from '../../tools/define.ts'
import { failed, ok } from '../../tools/outcome.ts'
import { LightSignal } from '../../wire/signal.ts'
import { errorOf, type RigOptions, rigsOf, settled, toolAt, until } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { MemoryFiles, putTool } from '../support/memory-files.ts'

const test = suite('stale')
const open = rigsOf(test)

const PUT = { path: 'a.txt', text: 'new' }

interface Stage extends RigOptions {
  at?(moment: string): void
  trouble?(): string | undefined
}

/**
 * A rig in which something can be done at any moment of a call: before and after each line of the journal, each step at
 * the files, and between a plan and its answer. `at` is called with the names of those moments, in order.
 */
function staged({ at = () => undefined, trouble, ...options }: Stage = {}) {
  const made: { files?: MemoryFiles } = {}
  const moments: string[] = []
  const moment = (name: string) => {
    moments.push(name)
    at(name)
  }
  const rig = open({
    tools: [putTool],
    projectFiles: root => {
      made.files = new MemoryFiles(root)
      made.files.put('a.txt', 'old')
      made.files.onStep = moment
      return made.files
    },
    journalAs: journal => ({
      write(entry) {
        moment(`before ${entry.type}`)
        journal.write(entry)
        moment(`after ${entry.type}`)
      },
      async sync(entry) {
        moment(`before ${entry.type} is on the disk`)
        await journal.sync(entry)
        moment(`after ${entry.type} is on the disk`)
      },
      get trouble() {
        return trouble?.()
      },
    }),
    ...options,
  })
  if (made.files === undefined) throw new Error('the rig made no files')
  rig.seat(() => {
    moment('while a person looks')
    return 'approve'
  })
  return { ...rig, files: made.files, moments }
}

/** The moments of one approved call, in order. */
async function momentsOf(options: RigOptions = {}, tool = 'put', args: object = PUT): Promise<string[]> {
  const { run, moments } = staged(options)
  assert.ok((await run(tool, args)).ok)
  return moments
}

test('there are moments between all that happens in an approved call', async () => {
  assert.equal(await momentsOf(), [
    'look',
    'before requested',
    'after requested',
    'while a person looks',
    'before decided is on the disk',
    'after decided is on the disk',
    'lock',
    'moved',
    'before dispatched is on the disk',
    'after dispatched is on the disk',
    'moved',
    'moved',
    'commit',
    'before ended',
    'after ended',
  ])
})

/** Does something at each moment in turn; `after` are the moments at which it comes too late to matter. */
async function atEach(
  moments: readonly string[],
  body: (number: number, moment: string) => Promise<void>,
): Promise<void> {
  for (const [number, moment] of moments.entries()) await body(number, moment)
}

test('a file that is changed at any moment before it is replaced is never written over (threat 18) (fault 28)', async () => {
  await atEach(await momentsOf(), async (number, moment) => {
    let passed = 0
    const rig = staged({
      at: () => {
        if (passed++ === number) rig.files.put('a.txt', 'theirs')
      },
    })
    const envelope = await rig.run('put', PUT)
    const late = moment.endsWith('ended')
    const early = moment === 'look'
    if (late || early) assert.ok(envelope.ok, moment)
    else {
      const error = errorOf(envelope)
      assert.equal([error.code, error.details.causes], ['stale_plan', ['a.txt was changed']], moment)
      assert.match(error.message, 'Nothing was changed')
      assert.match(JSON.stringify(error.details.preview), '-theirs', moment)
      assert.equal(rig.files.effects, [], moment)
    }
    assert.is(rig.files.text('a.txt'), early ? 'new' : 'theirs', moment)
    assert.is(rig.files.effects[0]?.text, early || late ? 'new' : undefined)
    assert.equal(invariantsOf(await rig.journal(), rig.files.effects), [], moment)
  })
})

test('a file that was changed and changed back is what was approved', async () => {
  const rig = staged({
    at: moment => {
      if (moment === 'before requested') rig.files.put('a.txt', 'theirs')
      if (moment === 'lock') rig.files.put('a.txt', 'old')
    },
  })
  assert.ok((await rig.run('put', PUT)).ok)
})

test('a stale plan is not asked about again by itself, and its approval is worth nothing afterwards (threat 19)', async () => {
  const rig = staged({
    at: moment => {
      if (moment === 'lock') rig.files.put('a.txt', 'theirs')
    },
  })
  assert.is(errorOf(await rig.run('put', PUT)).code, 'stale_plan')
  await settled()
  assert.is(rig.moments.filter(moment => moment === 'while a person looks').length, 1)
  rig.files.put('a.txt', 'old')
  rig.files.onStep = () => undefined
  await rig.clock.pass(60_000)
  assert.is(rig.files.text('a.txt'), 'old')
})

/** What can happen beside a call, from which of its moments on it counts, and what it comes to. */
interface Disturbance {
  readonly what: string
  readonly code: string
  readonly rig?: (state: { disturbed: boolean }) => Stage
  disturb?(rig: ReturnType<typeof staged>): void
  /** The first moment at which it can be noticed at all. */
  readonly from?: string
  /** The commit notices it too. */
  readonly untilCommit?: true
}

const DISTURBANCES: readonly Disturbance[] = [
  {
    what: 'a deny that is written (threat 10)',
    code: 'denied',
    disturb: ({ folder }) =>
      writeFileSync(join(folder, 'policy.toml'), '[[rule]]\ndecision = "deny"\ntool = "put"\n'),
  },
  {
    what: 'a policy that cannot be read any more',
    code: 'denied',
    disturb: ({ folder }) => writeFileSync(join(folder, 'policy.toml'), 'nonsense'),
  },
  {
    what: 'a tool that is put in the place of another (threat 11)',
    code: 'stale_plan',
    untilCommit: true,
    rig: state => ({
      options: {
        registry: swapped(putTool, () => (state.disturbed ? { ...putTool, description: 'Puts.' } : putTool)),
      },
    }),
  },
  {
    what: 'trouble in the journal',
    code: 'internal',
    rig: state => ({
      trouble: () => (state.disturbed ? 'It is not what was written.' : undefined),
    }),
  },
  {
    what: 'an hour that only the wall clock saw (fault 25)',
    code: 'approval_timed_out',
    disturb: ({ wall }) => {
      wall.ahead = 3_600_000
    },
    from: 'while a person looks',
  },
]

for (const { what, code, rig: more, disturb, from = 'look', untilCommit } of DISTURBANCES)
  test(`${what}, at whatever moment before the effect, stops it`, async () => {
    const moments = await momentsOf()
    // The handler begins between the second look at the evidence and the third, which is part of the commit.
    const last = moments.lastIndexOf('moved') - (untilCommit ? 0 : 1)
    await atEach(moments, async (number, moment) => {
      const state = { disturbed: false }
      let passed = 0
      const at = () => {
        if (passed++ !== number) return
        state.disturbed = true
        disturb?.(rig)
      }
      const rig: ReturnType<typeof staged> = staged({ ...more?.(state), at })
      const envelope = await rig.run('put', PUT)
      if (number > last || number < moments.indexOf(from)) assert.ok(envelope.ok, moment)
      else {
        assert.is(errorOf(envelope).code, code, moment)
        assert.equal([rig.files.effects, rig.files.text('a.txt')], [[], 'old'], moment)
      }
      assert.equal(invariantsOf(await rig.journal(), rig.files.effects), [], moment)
    })
  })

/** A registry in which one tool can become another. */
function swapped(tool: Tool, now: () => Tool | undefined): Registry {
  const registry = openRegistry([tool])
  return { ...registry, find: name => (name === tool.name ? now() : undefined), schema: registry.schema }
}

const MUTATED: readonly (readonly [field: string, change: Partial<Tool>])[] = [
  ['name', { name: 'put2' }],
  ['description', { description: 'Puts, and says nothing.' }],
  ['parameters', { parameters: putTool.parameters.partial() }],
  ['level', { level: 'safe' }],
  ['needs', { needs: ['evaluate'] }],
  ['categories', { categories: ['files'] }],
  ['paths', { paths: [] }],
  ['code', { code: `${putTool.code} ` }],
]

for (const [field, change] of MUTATED)
  test(`a tool whose ${field} changes while a person looks needs another approval (threat 11)`, async () => {
    let now: Tool = putTool
    const { run, seat, files, clock } = open2(() => now)
    const person = seat()
    const answered = run('put', PUT)
    await person.next()
    now = { ...putTool, ...change }
    person.answer('approve')
    const error = errorOf(await answered)
    assert.equal(
      [error.code, error.details.causes],
      ['stale_plan', ['the tool put itself is not what it was']],
    )
    assert.equal([files.effects, person.plans.length], [[], 1])
    now = putTool
    const again = run('put', PUT)
    await person.next()
    person.answer('approve')
    assert.ok((await again).ok)
    assert.is(person.plans.length, 2)
    assert.is(clock.waiting, 0)
  })

/** A rig with one tool, as the registry has it now. */
function open2(now: () => Tool | undefined) {
  const made: { files?: MemoryFiles } = {}
  const projectFiles = (root: string) => {
    made.files = new MemoryFiles(root)
    return made.files
  }
  const rig = open({ tools: [putTool], projectFiles, options: { registry: swapped(putTool, now) } })
  if (made.files === undefined) throw new Error('the rig made no files')
  return { ...rig, files: made.files }
}

test('a tool that is taken away while a person looks does not run (threat 11)', async () => {
  let now: Tool | undefined = putTool
  const { run, seat, files } = open2(() => now)
  const person = seat()
  const answered = run('put', PUT)
  await person.next()
  now = undefined
  person.answer('approve')
  assert.is(errorOf(await answered).code, 'stale_plan')
  assert.equal(files.effects, [])
})

test('a plan whose file changes while a person looks goes stale before they answer (fault 28)', async () => {
  const { run, files, seat, clock, journal } = open2(() => putTool)
  files.put('a.txt', 'old')
  const person = seat()
  const answered = run('put', PUT)
  const plan = await person.next()
  files.put('a.txt', 'theirs')
  await clock.pass(1_000)
  const error = errorOf(await answered)
  assert.equal([error.code, error.details.causes], ['stale_plan', ['a.txt was changed']])
  assert.equal(error.details.preview, { title: 'Put a.txt', body: '-theirs\n+new\n' })
  assert.match(error.next ?? '', 'asked anew')
  assert.is(person.answer('approve', plan.id).type, 'late')
  assert.equal(invariantsOf(await journal(), files.effects), [])
})

test('a stale plan that cannot be made any more says why', async () => {
  let refuses = false
  const tool: Tool = {
    ...putTool,
    plan: (args, context) =>
      refuses
        ? Promise.resolve(failed('not_text', { message: 'It is not text now.' }))
        : putTool.plan(args, context),
  }
  const { run, files, seat, clock } = rigWith(tool)
  const person = seat()
  const answered = run('put', PUT)
  await person.next()
  refuses = true
  files.put('a.txt', '\0')
  await clock.pass(1_000)
  assert.equal(errorOf(await answered).details.preview, { failed: 'It is not text now.' })
})

function rigWith(tool: Tool) {
  const made: { files?: MemoryFiles } = {}
  const rig = open({
    tools: [tool],
    projectFiles: root => {
      made.files = new MemoryFiles(root)
      return made.files
    },
  })
  if (made.files === undefined) throw new Error('the rig made no files')
  return { ...rig, files: made.files }
}

test('the image that a plan was for is gone at whatever moment: the plan is void (fault 31)', async () => {
  const first = toolAt('dangerous')
  const moments = await momentsOf({ tools: [first.tool] }, 'do_dangerous', {})
  assert.is(moments.at(-3), 'after dispatched is on the disk')
  await atEach(moments, async (number, moment) => {
    const { tool, ran } = toolAt('dangerous')
    let passed = 0
    const rig: ReturnType<typeof staged> = staged({
      tools: [tool],
      at: () => {
        if (passed++ === number) rig.kernel.die()
      },
    })
    const envelope = await rig.run('do_dangerous')
    if (number > moments.length - 3) assert.ok(envelope.ok, moment)
    else {
      const error = errorOf(envelope)
      assert.is(error.code, 'stale_plan', moment)
      assert.match(error.message, 'the image of main has ended or was begun anew')
      assert.equal(ran, [], moment)
    }
    assert.equal(invariantsOf(await rig.journal(), []), [], moment)
  })
})

test('a kernel that was begun anew under the same name is another image (fault 31)', async () => {
  const { tool, ran } = toolAt('dangerous')
  const other = open().kernel
  let now: typeof other | undefined
  const rig = open({
    tools: [tool],
    options: {
      kernels: {
        resolve: async () => ({ name: 'main', kernel: rig.kernel }),
        living: () => ({ name: 'main', kernel: now ?? rig.kernel }),
      },
    },
  })
  const person = rig.seat()
  const answered = rig.run('do_dangerous')
  await person.next()
  now = other
  await rig.clock.pass(1_000)
  assert.is(errorOf(await answered).code, 'stale_plan')
  assert.is(person.told.at(-1)?.type, 'settled')
  assert.equal(ran, [])
})

test('two plans for one file: the first that is carried out makes the other stale', async () => {
  const { run, files, seat, journal } = open2(() => putTool)
  const person = seat()
  const answers = [run('put', PUT), run('put', { path: 'a.txt', text: 'other' })]
  const plans = [await person.next(), await person.next()]
  for (const { id } of plans) person.answer('approve', id)
  const [one, other] = await Promise.all(answers)
  assert.ok(one?.ok)
  assert.is(errorOf(other ?? { ok: true, result: null }).code, 'stale_plan')
  assert.equal(files.effects.length, 1)
  assert.equal(invariantsOf(await journal(), files.effects), [])
})

test('while another plan has the files, a cancelled one does not run when its turn comes (fault 30)', async () => {
  const { run, files, seat } = open2(() => putTool)
  seat(() => 'approve')
  const unlock = await files.lock([join(files.root, 'a.txt')])
  const signal = new LightSignal()
  const waits: string[] = []
  files.onStep = step => void waits.push(step)
  const answered = run('put', PUT, { signal })
  await until(() => waits.includes('lock'))
  signal.abort()
  unlock()
  assert.is(errorOf(await answered).code, 'withdrawn')
  assert.equal(files.effects, [])
})

test('changes are carried out once, and only while the handler runs', async () => {
  let kept: (() => Promise<unknown>) | undefined
  const twice: Tool = {
    ...putTool,
    async handler(_, { commit }) {
      kept = commit
      const first = await commit()
      const second = await commit().catch((error: Error) => error.message)
      return ok({ first: first.type, second })
    },
  }
  const { run, files, seat } = rigWith(twice)
  seat(() => 'approve')
  const envelope = await run('put', PUT)
  assert.equal(envelope, {
    ok: true,
    result: { first: 'committed', second: 'the approved changes were carried out before' },
  })
  await kept?.().then(
    () => assert.unreachable(),
    (error: Error) => assert.match(error.message, 'the call is over'),
  )
  assert.is(files.effects.length, 1)
})

test('a handler that does not wait for its changes is waited for, and the journal knows how to undo them', async () => {
  const hasty: Tool = {
    ...putTool,
    async handler(_, { commit }) {
      void commit()
      return ok('done')
    },
  }
  const { run, files, seat, journal } = rigWith(hasty)
  seat(() => 'approve')
  files.onStep = step => (step === 'commit' ? settled() : undefined)
  assert.ok((await run('put', PUT)).ok)
  assert.is(files.text('a.txt'), 'new')
  const ended = (await journal()).find(({ type }) => type === 'ended')
  assert.is(ended?.undo, files.effects[0]?.change)
})

test('a handler cannot change the bytes that were approved (threat 18)', async () => {
  const sly: Tool = {
    ...putTool,
    async plan(args, context) {
      const proposal = await putTool.plan(args, context)
      if (proposal.type === 'proposal') stolen = proposal.changes[0]?.after ?? undefined
      return proposal
    },
  }
  let stolen: Uint8Array | undefined
  const { run, files, seat } = rigWith(sly)
  const person = seat()
  const answered = run('put', PUT)
  await person.next()
  stolen?.set(Buffer.from('bad'))
  person.answer('approve')
  const error = errorOf(await answered)
  assert.is(error.code, 'stale_plan')
  assert.match(error.message, 'not to the last byte what was approved')
  assert.equal(files.effects, [])
})

for (const [what, at] of [
  ['asked', 'requested'],
  ['decided', 'decided'],
  ['dispatched', 'dispatched'],
] as const)
  test(`where it cannot be written that a plan was ${what}, it is not carried out (fault 12)`, async () => {
    const made: { files?: MemoryFiles } = {}
    const rig = open({
      tools: [putTool],
      projectFiles: root => {
        made.files = new MemoryFiles(root)
        return made.files
      },
      journalAs: journal => ({
        write: entry => {
          if (entry.type === at) throw new Error('ENOSPC')
          journal.write(entry)
        },
        sync: async entry => {
          if (entry.type === at) throw new Error('ENOSPC')
          await journal.sync(entry)
        },
      }),
    })
    rig.seat(() => 'approve')
    const error = errorOf(await rig.run('put', PUT))
    assert.equal([error.code, error.details.reason], ['internal', 'journal_unavailable'])
    assert.equal(made.files?.effects, [])
  })
