import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPolicy } from '../../src/policy/policy.ts'
import type { Tool } from '../../tools/define.ts'
import { LightSignal } from '../../wire/signal.ts'
import { errorOf, type RigOptions, rigsOf, settled, toolAt, until } from '../support/calls-rig.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { MemoryFiles, putTool, swapped } from '../support/memory-files.ts'

const test = suite('what has moved since a plan', { limitMs: 50_000 })

const openRig = rigsOf(test)

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
  const rig = openRig({
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
    'before dispatched is on the disk',
    'after dispatched is on the disk',
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
    rig: state => ({
      options: {
        registry: swapped(putTool, () => (state.disturbed ? { ...putTool, description: 'Puts.' } : putTool)),
      },
    }),
  },
  {
    what: 'trouble in the journal',
    code: 'denied',
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

for (const { what, code, rig: more, disturb, from = 'look' } of DISTURBANCES)
  test(`${what}, at whatever moment before the effect, stops it`, async () => {
    const moments = await momentsOf()
    const last = moments.lastIndexOf('moved')
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

const open = fileRigsOf(test)

/** A rig with one tool, as the registry has it now. */
const rigAs = (now: () => Tool | undefined) => open({ options: { registry: swapped(putTool, now) } })

const MUTATED: readonly (readonly [field: string, change: Partial<Tool>])[] = [
  ['name', { name: 'put2' }],
  ['description', { description: 'Puts, and says nothing.' }],
  ['parameters', { parameters: putTool.parameters.partial() }],
  ['level', { level: 'safe' }],
  ['needs', { needs: ['evaluate'] }],
  ['categories', { categories: ['files'] }],
  ['paths', { paths: [] }],
  ['profile', { profile: 'core' }],
  ['parameterAliases', { parameterAliases: { file: 'path' } }],
  ['typed', { typed: ['text'] }],
  ['code', { code: `${putTool.code} ` }],
]

for (const [field, change] of MUTATED)
  test(`a tool whose ${field} changes while a person looks needs another approval (threat 11)`, async () => {
    let now: Tool = putTool
    const { run, seat, files, clock } = rigAs(() => now)
    const person = seat()
    const answered = run('put', PUT)
    await person.next()
    now = { ...putTool, ...change }
    person.answer('approve')
    const error = errorOf(await answered)
    assert.equal(
      [error.code, error.details.causes],
      ['stale_plan', ['the definition of the tool put has changed']],
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

test('a tool that is taken away while a person looks does not run (threat 11)', async () => {
  let now: Tool | undefined = putTool
  const { run, seat, files } = rigAs(() => now)
  const person = seat()
  const answered = run('put', PUT)
  await person.next()
  now = undefined
  person.answer('approve')
  assert.is(errorOf(await answered).code, 'stale_plan')
  assert.equal(files.effects, [])
})

test('a plan whose file changes while a person looks goes stale before they answer (fault 28)', async () => {
  const { run, files, seat, clock, journal } = open()
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

test('while another plan has the files, a cancelled one does not run when its turn comes (fault 30)', async () => {
  const { run, files, seat } = open()
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

test('where the answer of a tool fails over changes that are made, the journal knows how to undo them', async () => {
  const failing: Tool = {
    ...putTool,
    async plan(args, context) {
      const proposal = await putTool.plan(args, context)
      if (proposal.type !== 'proposal') return proposal
      return {
        ...proposal,
        result() {
          throw new Error('no result')
        },
      }
    },
  }
  const { run, files, seat, journal } = open({ tools: [failing] })
  seat(() => 'approve')
  assert.is(errorOf(await run('put', PUT)).code, 'internal')
  assert.is(files.text('a.txt'), 'new')
  const ended = (await journal()).find(({ type }) => type === 'ended')
  assert.equal([ended?.outcome, ended?.undo], ['internal', files.effects[0]?.change])
})

test('a tool cannot change the bytes that were approved (threat 18)', async () => {
  const sly: Tool = {
    ...putTool,
    async plan(args, context) {
      const proposal = await putTool.plan(args, context)
      if (proposal.type === 'proposal') stolen = proposal.changes[0]?.after ?? undefined
      return proposal
    },
  }
  let stolen: Uint8Array | undefined
  const { run, files, seat } = open({ tools: [sly] })
  const person = seat()
  const answered = run('put', PUT)
  await person.next()
  stolen?.set(Buffer.from('bad'))
  person.answer('approve')
  const error = errorOf(await answered)
  assert.is(error.code, 'stale_plan')
  assert.match(error.message, 'differs from the one that was approved')
  assert.equal(files.effects, [])
})

for (const [what, at] of [
  ['asked', 'requested'],
  ['decided', 'decided'],
  ['dispatched', 'dispatched'],
] as const)
  test(`where it cannot be written that a plan was ${what}, it is not carried out (fault 12)`, async () => {
    const rig = open({
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
    assert.equal(rig.files.effects, [])
  })

test('a person who is asked about load_file approves the text that would run, and no other (threat 18)', async () => {
  const { run, seat, files, kernel } = open({ policy: '[[rule]]\ndecision = "ask"\ntool = "load_file"\n' })
  const person = seat()
  const answered = run('load_file', { path: 'a.txt' })
  const plan = await person.next()
  assert.equal([plan.title, plan.body.trim()], ['Runs a.txt in the live image', 'old'])
  files.put('a.txt', 'worse')
  person.answer('approve')
  assert.is(errorOf(await answered).code, 'stale_plan')
  assert.equal(kernel.asked, [])
})

test('a rule that denies counts at the moment of the effect, however lately the policy was looked at (threat 10)', async () => {
  const config = mkdtempSync(join(tmpdir(), 'imago-policy-'))
  const policy = openPolicy(config, { freshMs: Number.POSITIVE_INFINITY })
  const { run, seat, files } = open({ options: { policy } })
  const person = seat()
  const answered = run('put', PUT)
  await person.next()
  writeFileSync(join(config, 'policy.toml'), '[[rule]]\ndecision = "deny"\ntool = "put"\n')
  person.answer('approve')
  assert.is(errorOf(await answered).code, 'denied')
  assert.equal(files.effects, [])
  rmSync(config, { recursive: true })
})
