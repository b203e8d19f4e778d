import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPolicy } from '../../src/policy/policy.ts'
import type { Tool } from '../../tools/define.ts'
import { failed } from '../../tools/outcome.ts'
import { LightSignal } from '../../wire/signal.ts'
import { errorOf, toolAt, until } from '../support/calls-rig.ts'
import { fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { putTool, swapped } from '../support/memory-files.ts'

const test = suite('moved')

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

test('a stale plan that cannot be made any more says why', async () => {
  let refuses = false
  const tool: Tool = {
    ...putTool,
    plan: (args, context) =>
      refuses
        ? Promise.resolve(failed('not_text', { message: 'It is not text now.' }))
        : putTool.plan(args, context),
  }
  const { run, files, seat, clock } = open({ tools: [tool] })
  const person = seat()
  const answered = run('put', PUT)
  await person.next()
  refuses = true
  files.put('a.txt', '\0')
  await clock.pass(1_000)
  assert.equal(errorOf(await answered).details.preview, { failed: 'It is not text now.' })
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
  const { run, files, seat, journal } = open()
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
  assert.match(error.message, 'not to the last byte what was approved')
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

test('so does one in a folder that the file lies in, below the root of the caller (threat 10)', async () => {
  const config = mkdtempSync(join(tmpdir(), 'imago-policy-'))
  const policy = openPolicy(config, { freshMs: Number.POSITIVE_INFINITY })
  const { run, seat, files, root } = open({ options: { policy } })
  const args = { ...PUT, path: 'sub/a.txt' }
  const person = seat()
  const answered = run('put', args)
  await person.next()
  mkdirSync(join(root, 'sub'))
  writeFileSync(join(root, 'sub/imago.toml'), '[[rule]]\ndecision = "deny"\n')
  person.answer('approve')
  assert.is(errorOf(await answered).code, 'denied')
  assert.is(errorOf(await run('put', args)).code, 'denied')
  assert.is(person.plans.length, 1)
  assert.equal(files.effects, [])
  rmSync(config, { recursive: true })
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
