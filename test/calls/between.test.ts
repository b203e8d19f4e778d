import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../../src/calls/contract.ts'
import { type CallsRig, errorOf, openCallsRig, resultOf, settled } from '../support/calls-rig.ts'
import { doneWith, FakeKernel } from '../support/fake-kernel.ts'
import { assert, suite } from '../support/harness.ts'

/** Calls from one project that are about kernels, jobs and texts of another one. */
const test = suite('between projects')

const LONG = 'x'.repeat(100_000)

const SCRIPT = {
  evaluate: {
    loop: { ends: 'never' },
    quick: { ends: doneWith('7') },
    long: { events: [{ type: 'output', stream: 'stdout', text: LONG } as const], ends: doneWith('1') },
  },
} as const

interface Between extends CallsRig {
  /** The kernel `web`, which lives in the other project. */
  readonly web: FakeKernel
  /** The root of the other project. */
  readonly other: string
  /** From the project of the rig, unless `root` says otherwise. */
  eval(args: object, caller?: Partial<Caller>): ReturnType<CallsRig['run']>
}

const open: CallsRig[] = []

test.after.each(async () => {
  for (const rig of open.splice(0)) await rig.close()
})

interface Given {
  /** The user's rules, and those of the project that `web` lives in. */
  readonly policy?: string
  readonly theirs?: string
  /** Where the program runs that is called `main`. */
  readonly runsIn?: string
  /** A program `web` listens in the other project, and is no kernel yet. */
  readonly listens?: boolean
}

/** `main` lives in the project of the rig, and `web` in another one. */
function between({ policy, theirs, runsIn, listens = false }: Given = {}): Between {
  const web = new FakeKernel(SCRIPT)
  const roots = new Map<string, readonly string[]>()
  const rig: CallsRig = openCallsRig({
    script: SCRIPT,
    ...(policy !== undefined && { policy }),
    options: {
      kernels: {
        async resolve({ name, chosen }) {
          const found = name ?? chosen ?? 'main'
          return { name: found, kernel: found === 'web' ? web : rig.kernel }
        },
        rootsOf: name => roots.get(name) ?? [],
        attachable: name => ({
          name,
          otherNames: [],
          roots: listens && name === 'web' ? [join(rig.folder, 'other')] : [],
          elsewhere: listens && name === 'web',
        }),
        async choose(name, { elsewhere, root }) {
          if (roots.get(name)?.[0] !== root && !elsewhere) return { type: 'elsewhere', what: name }
          return { type: 'chosen', kernel: { ...ROW, name } }
        },
      },
    },
  })
  open.push(rig)
  const other = realpathSync(mkdirSync(join(rig.folder, 'other'), { recursive: true }) ?? '')
  if (theirs !== undefined) writeFileSync(join(other, 'imago.toml'), theirs)
  roots.set('main', [rig.root, ...(runsIn === undefined ? [] : [join(rig.folder, runsIn)])])
  roots.set('web', [other])
  return {
    ...rig,
    web,
    other,
    eval: (args, caller = {}) => rig.run('eval_expr', { expr: 'quick', ...args }, { caller }),
  }
}

const ROW = {
  name: 'web',
  group: 'web',
  state: 'ready',
  chosen: true,
  language: 'python',
  pid: 1,
  running_ms: null,
  suspended: 0,
  what: 'a fake',
  message: null,
}

const LETS_IN = '[[rule]]\ndecision = "allow"\ntool = "*"\nkernel = "web"\n'
const DENIES = '[[rule]]\ndecision = "deny"\ntool = "eval_expr"\n'

test('what a project denies on its kernel is denied to a caller in another one, and the answer names the file', async () => {
  const { eval: evaluate, web, other } = between({ policy: LETS_IN, theirs: DENIES })
  const error = errorOf(await evaluate({ kernel: 'web' }))
  assert.is(error.code, 'denied')
  assert.match(error.message, `Rule 1 of ${join(other, 'imago.toml')} denies eval_expr (cautious) in web.`)
  assert.equal(web.asked, [])
  assert.ok((await evaluate({})).ok)
})

test('what the project of a kernel has a person asked about is asked, wherever the call comes from', async () => {
  const rig = between({ policy: LETS_IN, theirs: DENIES.replace('deny', 'ask') })
  const person = rig.seat(() => 'approve')
  assert.ok((await rig.eval({ kernel: 'web' })).ok)
  assert.is(person.plans.length, 1)
})

test('a program that a person attached for this project is still bound by what the project it runs in denies', async () => {
  const rig = between({ theirs: DENIES, runsIn: 'other' })
  for (const args of [{}, { kernel: 'main' }]) {
    const error = errorOf(await rig.eval(args))
    assert.equal([error.code, rig.kernel.asked], ['denied', []])
  }
})

for (const [tool, args] of [
  ['eval_expr', { expr: 'quick' }],
  ['inspect', { expr: 'x' }],
] as const)
  test(`${tool} on a kernel of another project is asked about, and with nobody to ask refused with what to do`, async () => {
    const rig = between()
    const error = errorOf(await rig.run(tool, { ...args, kernel: 'web' }))
    assert.is(error.code, 'approval_unavailable')
    assert.match(
      error.message,
      'web is a kernel of another project. With attach {"name":"web"} a person is asked once',
    )
    assert.match(error.message, /decision = "allow"\ntool = ".+"\nlevel = ".+"\nkernel = "web"$/)
    assert.not.match(JSON.stringify(error), rig.other)
    assert.equal(rig.web.asked, [])
  })

test('a person who is asked reads whose kernel it is; their yes is for that call, and their no ends it', async () => {
  const rig = between()
  const answers = ['approve', 'deny'] as const
  let asked = 0
  const person = rig.seat(() => answers[asked++] ?? 'deny')
  assert.is(resultOf(await rig.eval({ kernel: 'web' })).value_repr, '7')
  assert.match(person.plans[0]?.title ?? '', `in web, a kernel of another project (${rig.other})`)
  assert.is(errorOf(await rig.eval({ kernel: 'web' })).code, 'denied')
  assert.is(rig.web.asked.length, 1)
})

test('a rule that allows and names the kernel lets calls in; one for whatever kernel does not', async () => {
  assert.ok((await between({ policy: LETS_IN }).eval({ kernel: 'web' })).ok)
  const any = between({ policy: LETS_IN.replace('"web"', '"*"') })
  assert.is(errorOf(await any.eval({ kernel: 'web' })).code, 'approval_unavailable')
})

test('a person who lets a connection attach lets its calls in, named or not, and no others', async () => {
  const rig = between()
  const person = rig.seat(() => 'approve')
  assert.ok((await rig.run('attach', { name: 'web' })).ok)
  assert.is(person.plans.length, 1)
  for (const args of [{ kernel: 'web' }, {}]) assert.ok((await rig.eval(args)).ok)
  assert.equal([person.plans.length, rig.web.asked.length], [1, 2])
  person.leave()
  assert.is(errorOf(await rig.eval({ kernel: 'web' }, { id: 'another' })).code, 'approval_unavailable')
})

test('a person who sits names any kernel, as long as the policy of its project lets them', async () => {
  const seat = () => 'seat-1'
  assert.ok((await between().eval({ kernel: 'web' }, { seat })).ok)
  assert.is(errorOf(await between({ theirs: DENIES }).eval({ kernel: 'web' }, { seat })).code, 'denied')
})

test('where a rule names kernels, the kernel is found first, and the policy of its project holds all the same', async () => {
  const policy = '[[rule]]\ndecision = "deny"\ntool = "eval_expr"\nkernel = "nothing"\n'
  const rig = between({ policy, theirs: DENIES, runsIn: 'other' })
  assert.is(errorOf(await rig.eval({})).code, 'denied')
})

test('to have been let in to a kernel is not to be let in to what its project denies', async () => {
  const rig = between({ theirs: DENIES })
  rig.seat(() => 'approve')
  assert.ok((await rig.run('attach', { name: 'web' })).ok)
  for (const args of [{ kernel: 'web' }, {}]) assert.is(errorOf(await rig.eval(args)).code, 'denied')
  assert.equal(rig.web.asked, [])
})

const DENIES_ATTACH = DENIES.replace('eval_expr', 'attach')

test('what a project denies of attach holds before its program is a kernel, and the answer names the file', async () => {
  const rig = between({ theirs: DENIES_ATTACH, listens: true })
  const person = rig.seat(() => 'approve')
  const error = errorOf(await rig.run('attach', { name: 'web' }))
  assert.is(error.code, 'denied')
  assert.match(error.message, `Rule 1 of ${join(rig.other, 'imago.toml')} denies attach (dangerous).`)
  assert.equal(person.plans, [])
})

test('the rule that a refused attach offers lets that program be attached, and no other', async () => {
  const error = errorOf(await between({ listens: true }).run('attach', { name: 'web' }))
  assert.is(error.code, 'approval_unavailable')
  const [rule = ''] = /\[\[rule\]\][\s\S]*$/.exec(error.message) ?? []
  assert.match(rule, '\ntool = "attach"\nlevel = "dangerous"\nkernel = "web"')
  assert.ok((await between({ listens: true, policy: rule }).run('attach', { name: 'web' })).ok)
  for (const kernel of ['"shop"', '"*"']) {
    const other = between({ listens: true, policy: rule.replace('"web"', kernel) })
    assert.is(errorOf(await other.run('attach', { name: 'web' })).code, 'approval_unavailable')
  }
})

test('where the project of a program asks, and where nobody says anything, a person is asked once', async () => {
  for (const theirs of [DENIES_ATTACH.replace('deny', 'ask'), '']) {
    const rig = between({ theirs, listens: true })
    const person = rig.seat(() => 'approve')
    assert.ok((await rig.run('attach', { name: 'web' })).ok)
    assert.is(person.plans.length, 1)
  }
})

test('a person who was seen at a terminal names any kernel, as far as the policy of its project lets them', async () => {
  const isPerson = () => true
  assert.ok((await between().eval({ kernel: 'web' }, { isPerson })).ok)
  assert.is(errorOf(await between({ theirs: DENIES }).eval({ kernel: 'web' }, { isPerson })).code, 'denied')
})

test('a job of another project is as one that does not exist: it is not listed, told or interrupted', async () => {
  const rig = between()
  const elsewhere = { caller: { root: rig.other, id: 'another' } }
  assert.is(resultOf(await rig.eval({ expr: 'loop', patience: 0 })).job, 'job-1')
  for (const action of ['status', 'wait', 'interrupt']) {
    const error = errorOf(await rig.run('job', { job: 'job-1', action, seconds: 0 }, elsewhere))
    const none = errorOf(await rig.run('job', { job: 'job-9', action, seconds: 0 }, elsewhere))
    assert.is(error.code, 'unknown_job')
    assert.equal(
      JSON.parse(JSON.stringify(none).replaceAll('job-9', 'job-1')),
      JSON.parse(JSON.stringify(error)),
    )
  }
  await settled()
  assert.is(rig.calls.busy(), 1)
  assert.is(resultOf(await rig.run('job', { job: 'job-1', action: 'status' })).status, 'running')
})

test('a text of another project is as one that has made room for newer ones', async () => {
  const rig = between()
  const { handle, truncated } = handleIn(await rig.eval({ expr: 'long' }))
  assert.ok(truncated)
  assert.is(resultOf(await rig.run('read_more', { handle, count: 10 })).text, 'x'.repeat(10))
  const theirs = errorOf(await rig.run('read_more', { handle }, { caller: { root: rig.other } }))
  assert.is(theirs.code, 'stale_handle')
  assert.match(theirs.message, 'made room for newer ones, or is of another project')
})

function handleIn(envelope: Awaited<ReturnType<CallsRig['run']>>) {
  const result = resultOf(envelope)
  const [handle = ''] = /@out\.\d+/.exec(String(result.output)) ?? []
  return { handle, truncated: result.truncated }
}
