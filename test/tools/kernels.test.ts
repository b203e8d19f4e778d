import type { ProjectKernel } from '../../tools/contract.ts'
import { attach, kernels } from '../../tools/kernels.ts'
import { failed } from '../../tools/outcome.ts'
import { errorOf as errorIn, resultOf as resultIn, rigsOf } from '../support/calls-rig.ts'
import { FakeKernel } from '../support/fake-kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, resultOf, run } from './context.ts'

const test = suite('kernels and attach')
const rig = rigsOf(test)

const row = (given: Partial<ProjectKernel>): ProjectKernel => ({
  name: 'web',
  group: 'web',
  state: 'ready',
  chosen: false,
  language: 'python',
  pid: 4711,
  running_ms: null,
  suspended: 0,
  what: 'CPython 3.11.7, manage.py',
  message: null,
  ...given,
})

const shown = (rows: readonly ProjectKernel[]) =>
  kernels.show({ kernels: rows, searched: '/run/imago/programs' })

test('kernels says what can be called in a Lisp and is listed nowhere else', () => {
  const lisp = row({ name: 'shop', language: 'lisp', what: 'SBCL 2.2.9' })
  assert.match(shown([lisp]), /^in SBCL 2\.2\.9: compile_form .*`package` of eval_expr/m)
  assert.not.match(shown([{ ...lisp, state: 'ended' }, row({})]), /compile_form/)
})

test('kernels lists what lives and what listens, marks where calls go, and says what each is doing', () => {
  const rows = [
    row({ name: 'web', chosen: true, state: 'busy', running_ms: 2_000 }),
    row({ name: 'web-4700', state: 'supervisor', pid: 4700 }),
    row({ name: 'jobs', group: 'jobs', state: 'listens', pid: 4800, what: 'CPython 3.11.7, jobs.py' }),
  ]
  assert.is(
    shown(rows),
    [
      '* web  busy for 2 s  process 4711, CPython 3.11.7, manage.py',
      '  web-4700  starts the program again, not attached  process 4700, CPython 3.11.7, manage.py',
      '  jobs  listens, not attached  process 4800, CPython 3.11.7, jobs.py',
      'any call can name one: {"kernel": "jobs"}',
    ].join('\n'),
  )
})

test('kernels says how all of one name are asked, where more than one live or listen, and not of what has ended', () => {
  const all = [row({}), row({ name: 'web/2' }), row({ name: 'web-47', state: 'listens' })]
  assert.match(shown(all), /\nlook at all of web, or trace in all: name the kernel "web\/\*"(\n|$)/)
  assert.match(shown([row({}), row({ name: 'web-47', state: 'listens' })]), /"web\/\*"/)
  const others = ['supervisor', 'ended'].map(state => row({ name: `web-${state}`, state }))
  assert.not.match(shown([row({}), ...others, row({ name: 'jobs', group: 'jobs' })]), 'all of')
})

test('kernels names the next step where no call would find its way, and where nothing is there', () => {
  const free = row({ name: 'web-1', state: 'listens' })
  assert.match(shown([free, row({ name: 'web-2', state: 'listens' })]), /\nnext: attach \{"name":"web-1"\}$/)
  assert.match(shown([]), /looked in \/run\/imago\/programs[\s\S]*imago run -- COMMAND/)
})

test('what a program calls itself forges no line of the list', () => {
  assert.is(shown([row({ what: 'x\n* root  ready', message: 'a\nb' })]).split('\n').length, 2)
})

test('attach in the project answers with the kernel, and its caller’s calls go there', async () => {
  const asked: unknown[] = []
  const choose = async (name: string, how: unknown) => {
    asked.push([name, how])
    return { type: 'chosen' as const, kernel: row({ chosen: true }) }
  }
  const outcome = await run(attach, { name: 'web' }, { level: 'cautious', kernels: { choose } })
  assert.is(resultOf(outcome).name, 'web')
  assert.equal(asked, [['web', { elsewhere: false }]])
  assert.match(attach.show(resultOf(outcome)), /^attached: \* web[\s\S]*Calls of this connection/)
})

test('why one could not be chosen is the answer', async () => {
  const choose = async () => failed('no_such_kernel', { message: 'No kernel is named "wob".' })
  assert.is(errorOf(await run(attach, { name: 'wob' }, { kernels: { choose } })).code, 'no_such_kernel')
})

/** A call path on which `mail` is a program of another project. */
const outside = () => {
  const chosen: boolean[] = []
  const made = rig({
    options: {
      kernels: {
        resolve: async ({ chosen }) => ({ name: chosen ?? 'main', kernel: new FakeKernel() }),
        async choose(name, { elsewhere }) {
          if (!elsewhere) return { type: 'elsewhere', what: `${name}-600 (in /srv/mail)` }
          chosen.push(elsewhere)
          return { type: 'chosen', kernel: row({ name }) }
        },
      },
    },
  })
  return { ...made, chosen }
}

test('attach outside the project rises to a person, and without one nothing is attached', async () => {
  const { run, chosen } = outside()
  assert.is(errorIn(await run('attach', { name: 'mail' })).code, 'approval_unavailable')
  assert.equal(chosen, [])
})

test('a person who approves it has it attached, and the calls of that connection alone go there', async () => {
  const { run, chosen, seat, journal } = outside()
  seat(() => 'approve')
  assert.is(resultIn(await run('attach', { name: 'mail' })).name, 'mail')
  assert.equal(chosen, [true])
  await run('list_globals', {})
  await run('list_globals', {}, { caller: { id: 'somebody else' } })
  const looks = (await journal()).filter(({ tool }) => tool === 'list_globals')
  assert.equal(
    looks.map(({ kernel }) => kernel),
    ['mail', 'main'],
  )
})

// Another life of a program

/** A call path whose one kernel is a program that can start anew. */
function restarting() {
  const life = (number: number) => {
    const kernel = new FakeKernel({ epoch: `0000000${number}` })
    const identity = { ...kernel.identity, attached: true, pid: 500 + number }
    return Object.defineProperty(kernel, 'identity', { value: identity })
  }
  let kernel = life(1)
  const made = rig({ options: { kernels: { resolve: async () => ({ name: 'web', kernel }) } } })
  const notice = async (id: string) => {
    const envelope = await made.run('list_globals', {}, { caller: { id } })
    return resultIn(envelope).notice
  }
  return {
    notice,
    restart(number: number) {
      kernel = life(number)
    },
  }
}

test('that another process has taken the place of a program is told once to each caller that has met it', async () => {
  const { notice, restart } = restarting()
  assert.is(await notice('one'), undefined)
  assert.is(await notice('two'), undefined)
  restart(2)
  const told =
    'web is another process since your last call (501 has ended, 502 took its place): ' +
    'handles, traces and suspended evaluations of the one before are gone.'
  assert.is(await notice('one'), told)
  assert.is(await notice('one'), undefined)
  assert.is(await notice('three'), undefined)
  restart(3)
  assert.match(String(await notice('two')), '501 has ended, 503 took its place')
  assert.match(String(await notice('one')), '502 has ended, 503 took its place')
})
