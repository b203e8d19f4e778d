import { openLeases } from '../../src/core/leases.ts'
import type { Tool } from '../../tools/define.ts'
import { WireError } from '../../wire/errors.ts'
import type { Evaluated, Looked, LookName, Looks, Suspension, Watcher } from '../../wire/kernel.ts'
import { errorOf } from '../support/calls-rig.ts'
import { doneWith } from '../support/fake-kernel.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { assert, suite } from '../support/harness.ts'
import {
  ADA,
  CLAUDE,
  CODEX,
  kernelOf,
  leasesRigsOf,
  ROOT,
  S1,
  StoppingKernel,
} from '../support/leases-rig.ts'

const test = suite('whose a suspended evaluation is while several things happen at once')
const rigOf = leasesRigsOf(test)

test('what neither the book nor the image knows is not asked of the image, though it could stop there by then', async () => {
  let there: readonly Suspension[] = []
  const rig = rigOf({ looks: { suspensions: () => ({ type: 'found', value: { suspensions: there } }) } })
  const evaluations = () => kernelOf(rig).asked.filter(({ method }) => method === 'evaluate').length
  for (const [tool, args] of [
    ['debug_eval', { suspension: S1, expr: '1' }],
    ['debug_restart', { suspension: S1, leave: true }],
  ] as const) {
    const { code, message } = errorOf(await rig.call(CODEX, tool, args))
    assert.is(code, 'not_found')
    assert.match(message, /no suspended evaluation s1@ab12.* Nothing was run\.$/)
  }
  there = [suspendedAs('s2@ab12').suspension]
  const { details } = errorOf(await rig.call(CODEX, 'debug_eval', { suspension: S1, expr: '1' }))
  assert.equal(details.nearest, ['s2@ab12'])
  assert.is(evaluations(), 0)
})

test('what has ended is not found either, whatever an older list of the image says', async () => {
  const { suspension } = suspendedAs(S1)
  const rig = rigOf({ looks: { suspensions: { type: 'found', value: { suspensions: [suspension] } } } })
  const kernel = kernelOf(rig)
  rig.leases.lives({ name: 'main', root: ROOT, kernel })
  kernel.tell({ type: 'suspended', suspension })
  kernel.tell({ type: 'ended', id: S1, how: 'expired', message: '' })
  assert.is(errorOf(await rig.call(CODEX, 'debug_eval', { suspension: S1, expr: '1' })).code, 'not_found')
  assert.is(kernel.asked.filter(({ method }) => method === 'evaluate').length, 0)
})

/** A kernel whose looks and evaluations a test answers one by one, with the leases of some callers over it. */
class Answered extends StoppingKernel {
  /** Those that wait for an answer to their list, in the order in which they have asked. */
  readonly lists: ((ids: readonly Suspension[]) => void)[] = []
  readonly begun: ((evaluated: Evaluated | WireError) => void)[] = []

  override look<Name extends LookName>(): Promise<Looked<Looks[Name]['found']>> {
    return new Promise(resolve => {
      this.lists.push(suspensions => resolve({ type: 'found', value: { suspensions } } as never))
    })
  }

  override evaluate(): Promise<Evaluated> {
    return new Promise((resolve, reject) => {
      this.begun.push(how => (how instanceof WireError ? reject(how) : resolve(how)))
    })
  }
}

function leased() {
  const kernel = new Answered()
  const noted: string[] = []
  const { book, ...leases } = openLeases({
    later: entry => {
      if (entry.type === 'suspension') noted.push(`${entry.suspension} ${entry.what}`)
    },
  })
  const life = book.lifeOf({ name: 'main', root: ROOT, kernel })
  const tool: Pick<Tool, 'needs'> = { needs: ['suspensions'] }
  const as = (caller: typeof CLAUDE) =>
    leases.kernelFor({ name: 'main', kernel }, { caller, tool, level: 'cautious' })
  return {
    kernel,
    book,
    life,
    noted,
    told: (caller: typeof CLAUDE) => leases.noticesFor(caller),
    list: (caller: typeof CLAUDE) => as(caller).look('suspensions', {}, { deadlineMs: 60_000 }),
    runs(caller: typeof CLAUDE, suspension = S1): Promise<Evaluated> {
      const work = { type: 'frame', suspension, frame: 0, source: '1' } as const
      const watcher: Watcher = {}
      return as(caller).evaluate(
        { call: `call-${kernel.begun.length}` as never, who: caller.who, work },
        watcher,
      )
    },
    /** Who holds it, as `codex`; undefined where it is not known, or anybody's. */
    holder(suspension = S1) {
      const claim = life.leased.get(suspension)?.claim
      return claim === undefined || claim.type === 'anyone' ? claim?.type : claim.who
    },
    offered(suspension = suspendedAs(S1).suspension) {
      return book.adopt(life, suspension, {
        claim: { type: 'person', key: 'connection p', who: 'ada' },
        by: 'ada',
      })
    },
  }
}

test('an answer that comes late, to a look older than what was learnt, ends nothing', async () => {
  const { kernel, list, noted, holder } = leased()
  const { suspension } = suspendedAs(S1)
  const older = list(CODEX)
  const newer = list(CODEX)
  kernel.lists[1]?.([suspension])
  await newer
  kernel.lists[0]?.([])
  await older
  assert.is(holder(), suspension.who)
  const newest = list(CODEX)
  kernel.lists[2]?.([])
  await newest
  assert.is(holder(), undefined)
  assert.equal(noted, [`${S1} suspended`, `${S1} lost`])
})

test('one whose end was only concluded lives on when its beginning is told, and is whose it was', async () => {
  const { kernel, book, life, list, noted, holder, told } = leased()
  const { suspension } = suspendedAs(S1)
  for (const there of [[suspension], []]) {
    const look = list(CODEX)
    kernel.lists.at(-1)?.(there)
    await look
  }
  // An older list says nothing new.
  book.learn(life, [suspension])
  assert.is(holder(), undefined)
  kernel.tell({ type: 'suspended', suspension })
  assert.is(holder(), suspension.who)
  book.hold(life, suspension, { type: 'caller', key: 'host of claude-code', who: 'claude-code' })
  assert.is(holder(), 'claude-code')
  assert.equal(noted, [`${S1} suspended`, `${S1} lost`, `${S1} suspended`])
  assert.equal(told(CLAUDE), [])
})

test('one that somebody had taken is theirs again when it turns out to live, and they are told of no end', async () => {
  const { kernel, book, life, list, holder, told } = leased()
  const { suspension } = suspendedAs(S1)
  const seen = list(CODEX)
  kernel.lists[0]?.([suspension])
  await seen
  const taken = life.leased.get(S1)
  if (taken === undefined) throw new Error('it was not learnt')
  book.take(taken, { type: 'caller', key: 'host of codex', who: 'codex' }, 'ada')
  const look = list(CODEX)
  kernel.lists[1]?.([])
  await look
  assert.is(holder(), undefined)
  book.hold(life, suspension, { type: 'caller', key: 'host of claude-code', who: 'claude-code' })
  assert.is(holder(), 'codex')
  assert.equal(told(CODEX), [])
})

test('once its end is told, nothing revives it', async () => {
  const { kernel, book, life, list, holder } = leased()
  const { suspension } = suspendedAs(S1)
  for (const there of [[suspension], []]) {
    const look = list(CODEX)
    kernel.lists.at(-1)?.(there)
    await look
  }
  kernel.tell({ type: 'ended', id: S1, how: 'expired', message: '' })
  kernel.tell({ type: 'suspended', suspension })
  book.hold(life, suspension, { type: 'caller', key: 'host of claude-code', who: 'claude-code' })
  assert.is(holder(), undefined)
})

const REFUSED = { type: 'refused', reason: 'malformed', message: 'There is no such frame.' } as const

test('of calls at once that all come to nothing, the last one gives back what it is offered', async () => {
  const { kernel, runs, holder, offered, told } = leased()
  offered()
  const calls = [runs(CODEX), runs(CODEX), runs(CODEX)]
  assert.is(holder(), 'codex')
  kernel.begun[1]?.(REFUSED)
  await calls[1]
  assert.is(holder(), 'codex')
  kernel.begun[0]?.({ type: 'withdrawn' })
  await calls[0]
  assert.is(holder(), 'codex')
  kernel.begun[2]?.(REFUSED)
  await calls[2]
  assert.is(holder(), 'anyone')
  assert.is(told(CODEX).length, 0)
  assert.is(told(CLAUDE).length, 1)
})

test('of calls at once of which one has run, none gives anything back', async () => {
  for (const first of [0, 1]) {
    const { kernel, runs, holder, offered } = leased()
    offered()
    const calls = [runs(CODEX), runs(CODEX)]
    kernel.begun[first]?.(doneWith('1'))
    await calls[first]
    kernel.begun[1 - first]?.(REFUSED)
    await calls[1 - first]
    assert.is(holder(), 'codex')
  }
})

test('what a person takes in between is not given back to anybody', async () => {
  const { kernel, book, runs, holder, offered } = leased()
  const one = offered()
  const call = runs(CODEX)
  book.take(one, { type: 'person', key: 'connection client-9', who: ADA.who }, ADA.who)
  kernel.begun[0]?.(REFUSED)
  await call
  assert.is(holder(), ADA.who)
})

test('an evaluation that never reached the image leaves an offer as it was, and one that may have does not', async () => {
  const cases = [
    [new WireError('BUSY', 'Too many wait.'), 'anyone'],
    [new WireError('UNRESPONSIVE', 'It does not answer.'), 'anyone'],
    [
      new WireError('REMOTE_FAULT', 'It is busy.', { remote: { code: 'busy', message: '', data: null } }),
      'anyone',
    ],
    [
      new WireError('REMOTE_FAULT', 'It broke.', { remote: { code: 'internal', message: '', data: null } }),
      'codex',
    ],
    [new WireError('LINK_CLOSED', 'It is gone.'), 'codex'],
  ] as const
  for (const [fault, expected] of cases) {
    const { kernel, runs, holder, offered } = leased()
    offered()
    const call = runs(CODEX)
    kernel.begun[0]?.(fault)
    let thrown: unknown
    await call.catch(error => {
      thrown = error
    })
    assert.is(thrown, fault)
    assert.is(holder(), expected, fault.message)
  }
})

test('what ends by a call of somebody’s that came after another’s that was refused names whoever had it go on', async () => {
  const { kernel, book, life, runs, offered } = leased()
  const heard: unknown[] = []
  book.watch({ caller: CLAUDE, heard: event => heard.push(event.type === 'ended' ? event.by : event.type) })
  offered()
  const refused = runs(CODEX)
  kernel.begun[0]?.(REFUSED)
  await refused
  const goesOn = runs(CLAUDE)
  kernel.tell({ type: 'ended', id: S1, how: 'resumed', message: 'It goes on.' })
  kernel.begun[1]?.(doneWith('1'))
  await goesOn
  assert.is(heard.at(-1), 'claude-code')
  assert.is(life.leased.size, 0)
})
