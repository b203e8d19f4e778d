import { openApprovals } from '../../src/approvals/queue.ts'
import { SYSTEM_CLOCK } from '../../src/clock.ts'
import { openSeats } from '../../src/front/seat/seats.ts'
import type { ServeContext } from '../../src/front/server.ts'
import { openSuspensionMethods } from '../../src/front/suspension-methods.ts'
import type { JournalEntry } from '../../src/journal/entries.ts'
import type { Journal } from '../../src/journal/journal.ts'
import type { SuspensionEvent } from '../../src/suspensions/rows.ts'
import type { WireError } from '../../wire/errors.ts'
import type { Refusal } from '../../wire/link/calls.ts'
import type { Link } from '../../wire/link/link.ts'
import { startOf } from '../../wire/process-start.ts'
import { assert, suite } from '../support/harness.ts'
import { client, kernelOf, leasesRigsOf, ROOT, stops } from '../support/leases-rig.ts'
import { openRig, until } from '../support/rig.ts'

const test = suite('the methods about suspended evaluations')

const rigOf = leasesRigsOf(test)

const S1 = 's1@ab12'

const NAMED = { kernel: 'main', suspension: S1 }

/** One connection of a client, as the server tells of it; what its methods send is in `events`. */
function connection(id: string) {
  const events: unknown[] = []
  const cancel = new AbortController()
  const context = {
    session: { id, name: 'imago console', version: '1', root: ROOT, env: {}, options: {} },
    link: {} as Link,
    served: {
      signal: cancel.signal,
      event(event: unknown) {
        events.push(event)
        return 'sent'
      },
    },
  } as unknown as ServeContext
  return { context, events, cancel }
}

/** A desk where something of Claude's is suspended, and seats that are granted to whoever asks for one first. */
async function opened() {
  const rig = rigOf({ evaluate: { boom: stops(S1) } })
  const seatLines: JournalEntry[] = []
  const journal: Pick<Journal, 'later' | 'trouble' | 'acknowledge'> = {
    later: entry => void seatLines.push(entry),
    trouble: undefined,
    acknowledge: async () => {},
  }
  const seats = openSeats({
    approvals: openApprovals({
      clock: SYSTEM_CLOCK,
      wallClock: Date.now,
      expiryMs: 60_000,
      journal: journal as Journal,
      log: () => {},
    }),
    journal,
    prove: async () => ({
      type: 'proved',
      who: 'terminal /dev/pts/7 (process 4711)',
      pid: process.pid,
      started: startOf(process.pid) ?? '',
      terminal: '/dev/pts/7',
      command: 'imago console',
    }),
  })
  const methods = openSuspensionMethods({ desk: rig.desk, ...seats })
  await rig.call(client('claude-code'), 'eval_expr', { expr: 'boom' })
  const ada = connection('client-9')
  void seats.methods.sit({}, ada.context)
  while (seats.whoSits(ada.context.link) === undefined) await new Promise(resolve => setImmediate(resolve))
  return { rig, seats, methods, ada, seatLines }
}

async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    return (error as Refusal).code
  }
  return 'none'
}

test('anybody sees what is suspended, and whose it is', async () => {
  const { methods } = await opened()
  const { suspensions } = await methods.suspensions({}, connection('client-2').context)
  const [row] = suspensions
  assert.equal(
    [row?.id, row?.kernel, row?.root, row?.message, row?.expires_in_ms, row?.busy],
    [S1, 'main', ROOT, 'no stock', 900_000, false],
  )
  assert.equal(row?.holder, { type: 'other', who: 'claude-code', person: false })
})

test('only those who sit take, hand, see theirs and adopt; others are refused, named and written down (threat 4)', async () => {
  const { methods, seatLines, rig } = await opened()
  const { context } = connection('client-9 ')
  for (const work of [
    () => methods.take(NAMED, context),
    () => methods.hand(NAMED, context),
    () => methods.theirs({ kernel: 'main' }, context),
    () => methods.adopt({ kernel: 'main', id: 'last_exc' }, context),
  ])
    assert.is(await codeOf(work), 'no_seat')
  const refused = seatLines.flatMap(entry =>
    entry.type === 'seat' && entry.what === 'refused' ? [entry] : [],
  )
  assert.is(refused.length, 4)
  assert.match(refused[0]?.why ?? '', /take over s1@ab12/)
  assert.is((await rig.desk.list(client('claude-code')))[0]?.holder.type, 'you')
  assert.equal(kernelOf(rig).leases, [])
})

test('somebody who sits takes it, and puts it before the agents; those who watch are told of both', async () => {
  const { methods, ada } = await opened()
  const watching = connection('client-3')
  const watched = methods.watch_suspensions({}, watching.context)
  const taken = await methods.take({ ...NAMED, lease_ms: 5_000 }, ada.context)
  assert.equal([taken.holder, taken.expires_in_ms], [{ type: 'you' }, 5_000])
  const handed = await methods.hand(NAMED, ada.context)
  assert.equal(handed.holder, { type: 'anyone' })
  const who = 'seat-1, terminal /dev/pts/7 (process 4711)'
  const told = watching.events as SuspensionEvent[]
  assert.equal(
    told.map(event => [event.type, 'by' in event ? event.by : undefined]),
    [
      ['taken', who],
      ['handed', who],
    ],
  )
  assert.equal(told[0]?.suspension.holder, { type: 'other', who, person: true })
  watching.cancel.abort()
  assert.equal(await watched, {})
  await methods.take(NAMED, ada.context)
  assert.is(told.length, 2)
})

test('a daemon lists nothing where nothing is suspended, refuses those without a seat, and checks what it is sent (threat 4)', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const link = await rig.connect()
    assert.equal(await link.request('suspensions', {}), { suspensions: [] })
    const refusedAs = async (work: Promise<unknown>) =>
      work.then(
        () => 'none',
        (error: WireError) => error.remote?.code,
      )
    assert.is(await refusedAs(link.request('take', NAMED)), 'no_seat')
    assert.is(await refusedAs(link.request('hand', NAMED)), 'no_seat')
    assert.is(await refusedAs(link.request('theirs', { kernel: 'main' })), 'no_seat')
    assert.is(await refusedAs(link.request('adopt', { kernel: 'main', id: 'x' })), 'no_seat')
    assert.is(
      await refusedAs(link.request('hand', { ...NAMED, to: 'codex' } as typeof NAMED)),
      'invalid_params',
    )
    for (const params of [{ kernel: 'main' }, { ...NAMED, lease_ms: 0 }, { ...NAMED, seat: 'seat-1' }])
      assert.is(await refusedAs(link.request('take', params as typeof NAMED)), 'invalid_params')
    const over = new AbortController()
    const watched = link.watchSuspensions({ signal: over.signal, heard: () => {} })
    over.abort()
    await watched
  } finally {
    await rig.close()
  }
})

test('an error in a real image waits there under its holder’s name, is refused to another project, and ends in the journal', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const [own, other] = [await rig.connect(), await rig.connect({ root: rig.folder })]
    const events: SuspensionEvent[] = []
    const over = new AbortController()
    const watched = own.watchSuspensions({ signal: over.signal, heard: event => events.push(event) })
    const raised = await own.call({ tool: 'eval_expr', args: { expr: 'left = 40\nleft / 0' } })
    assert.ok(!raised.ok && raised.error.code === 'exception')
    const { suspensions } = await other.request('suspensions', {})
    const [row] = suspensions
    if (row === undefined) throw new Error('nothing is suspended')
    assert.equal(
      [row.kernel, row.root, row.type.name, row.busy, row.holder],
      [
        'project',
        rig.project,
        'ZeroDivisionError',
        false,
        { type: 'other', who: 'imago test', person: false },
      ],
    )
    assert.ok((row.expires_in_ms ?? 0) > 0 && (row.expires_in_ms ?? 0) <= 600_000)
    const [kernel] = (await own.request('kernels', {})).kernels
    assert.is(kernel?.suspended, 1)
    assert.is((await own.request('status', {})).suspended, 1)
    const leave = { suspension: row.id, leave: true, kernel: 'project' }
    const refused = await other.call({ tool: 'debug_restart', args: leave })
    assert.ok(!refused.ok && refused.error.code === 'held_by_other')
    const left = await own.call({ tool: 'debug_restart', args: leave })
    assert.ok(left.ok, JSON.stringify(left))
    await until(() => events.length === 2, 'both events')
    assert.equal(
      events.map(event => [
        event.type,
        event.suspension.id,
        'how' in event ? event.how : event.suspension.holder.type,
      ]),
      [
        ['suspended', row.id, 'you'],
        ['ended', row.id, 'left'],
      ],
    )
    over.abort()
    await watched
    const log = await rig.imago(['log', '--kernel', 'project'])
    assert.match(log.stdout, new RegExp(`${row.id} in project, of imago test: suspended: ZeroDivisionError`))
    assert.match(log.stdout, new RegExp(`${row.id} in project, of imago test: left by imago test`))
  } finally {
    await rig.close()
  }
})
