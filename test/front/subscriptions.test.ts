import type { Topic } from '../../src/front/operations/operation.ts'
import { type SubscriptionEvent, Subscriptions, type TopicRow } from '../../src/front/subscriptions.ts'
import { NotedErrors, notedTraces } from '../../src/front/topics.ts'
import { codecOf } from '../../wire/codec/codec.ts'
import { HEADER_BYTES, LIMITS } from '../../wire/codec/messages.ts'
import type { Kernel, NewsOf } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'

/** The rows of topics, and who follows them. */
const test = suite('subscriptions')

const kernels = new Map<string, TopicRow>()
let reads = 0

const open = (instance = 'one') =>
  new Subscriptions({
    instance,
    sources: {
      kernels() {
        reads++
        return [...kernels.values()]
      },
    },
  })

const put = (key: string, value: unknown, root: string | null = '/shop') =>
  void kernels.set(key, { key, root, kernel: key, value })

const turn = () => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

interface Following {
  readonly since?: string
  readonly root?: string
  readonly topics?: readonly Topic[]
  reads?(): boolean
  mayBeTold?(row: TopicRow): boolean
}

/** Somebody who follows, and what they have heard. */
function follower(store: Subscriptions, more: Following = {}) {
  const heard: SubscriptionEvent[] = []
  let free = () => {}
  const { since, root = '/shop', topics = ['kernels'], reads: isRead = () => true } = more
  const end = store.follow({
    topics,
    since,
    mayBeTold: more.mayBeTold ?? (row => row.root === null || row.root === root),
    tell(event) {
      if (!isRead()) return 'dropped'
      heard.push(event)
      return 'sent'
    },
    whenRead(work) {
      free = work
    },
  })
  return { heard, end, readAgain: () => free() }
}

/** The rows as somebody has them who heard all that. */
function rowsOf(heard: readonly SubscriptionEvent[]): Readonly<Record<string, unknown>> {
  const rows = new Map<string, unknown>()
  for (const event of heard) {
    if ('snapshot' in event) rows.clear()
    for (const { key, value } of 'snapshot' in event ? event.snapshot : event.changes)
      if (value === null) rows.delete(key)
      else rows.set(key, value)
  }
  return Object.fromEntries(rows)
}

test.before.each(() => {
  kernels.clear()
  reads = 0
})

test('a follower gets the rows as they are, and each change once in a turn of the loop', async () => {
  put('web', { state: 'ready' })
  const store = open()
  const { heard } = follower(store)
  assert.equal(heard, [
    { rev: 'one:1:0', snapshot: [{ topic: 'kernels', key: 'web', value: { state: 'ready' } }] },
  ])
  for (let n = 0; n < 10_000; n++) {
    put('web', { state: 'busy', n })
    store.touch('kernels')
  }
  put('worker', { state: 'ready' })
  await turn()
  assert.is(heard.length, 2)
  assert.equal(rowsOf(heard), { web: { state: 'busy', n: 9_999 }, worker: { state: 'ready' } })
  kernels.delete('worker')
  store.touch('kernels')
  await turn()
  assert.equal(heard.at(-1), { rev: 'one:4:0', changes: [{ topic: 'kernels', key: 'worker', value: null }] })
})

/** Whether the link of a client carries it. */
function carries(event: SubscriptionEvent): boolean {
  try {
    const frame = codecOf('json').frame({ type: 'event', id: 1, event }, LIMITS)
    codecOf('json').decode(frame.subarray(HEADER_BYTES), LIMITS)
    return true
  } catch {
    return false
  }
}

/** A value with as many fields as the row of a call has. */
const callOf = (n: number) => ({ job: n, call: '', tool: '', kernel: '', root: '', elapsed: 0, plan: null })

test('10,000 rows that change in a turn are told whole, in events that a link carries, and nothing twice', async () => {
  for (let n = 0; n < 10_000; n++) put(`k${n}`, callOf(n))
  const store = open()
  const snapshot = follower(store)
  for (let n = 0; n < 10_000; n++) put(`k${n}`, callOf(-n - 1))
  store.touch('kernels')
  await turn()
  const { heard } = snapshot
  assert.ok(heard.every(carries))
  assert.is(heard.flatMap(event => ('snapshot' in event ? event.snapshot : event.changes)).length, 20_000)
  assert.equal(heard.map(event => 'snapshot' in event).lastIndexOf(true), 0)
  assert.equal(rowsOf(heard), Object.fromEntries([...kernels].map(([key, { value }]) => [key, value])))
  // Who breaks off behind one of them comes back with its revision.
  for (const end of [1, 7, 11, heard.length - 1]) {
    const back = follower(store, { since: heard[end - 1]?.rev ?? '' })
    back.end()
    assert.equal(rowsOf([...heard.slice(0, end), ...back.heard]), rowsOf(heard))
  }
})

test('a snapshot of which a client reads some goes on there once it reads again, and comes to its end', async () => {
  for (let n = 0; n < 10_000; n++) put(`k${n}`, n)
  const store = open()
  let credit = 3
  const { heard, readAgain } = follower(store, { reads: () => credit-- > 0 })
  assert.is(heard.length, 3)
  put('k0', 'changed')
  kernels.delete('k1')
  while (credit < 0) {
    credit = 2
    readAgain()
  }
  assert.is(heard.length, 11)
  assert.equal(rowsOf(heard), Object.fromEntries([...kernels].map(([key, { value }]) => [key, value])))
})

test('what only grows older is no change, and nothing is read while nobody follows', async () => {
  put('web', { state: 'busy', running: { call: 'c', elapsed_ms: 1 } })
  const store = open()
  store.touch('kernels')
  await turn()
  assert.is(reads, 0)
  const { heard, end } = follower(store)
  put('web', { state: 'busy', running: { call: 'c', elapsed_ms: 900 } })
  store.touch('kernels')
  await turn()
  assert.is(heard.length, 1)
  end()
  const before = reads
  store.touch('kernels')
  await turn()
  assert.is(reads, before)
  assert.match(JSON.stringify(follower(store).heard), '"elapsed_ms":900')
})

test('a client that comes back misses nothing: changes and rows that have gone meanwhile', async () => {
  put('web', 1)
  put('worker', 1)
  const store = open()
  const first = follower(store)
  const { rev } = first.heard.at(-1) ?? { rev: '' }
  first.end()
  put('web', 2)
  kernels.delete('worker')
  put('new', 1)
  const { heard } = follower(store, { since: rev })
  assert.is(heard.length, 1)
  assert.ok(heard[0] !== undefined && 'changes' in heard[0])
  assert.equal(rowsOf([...first.heard, ...heard]), { web: 2, new: 1 })
})

test('a client of another daemon, of a revision that is not known, or of nonsense gets the snapshot', () => {
  put('web', 1)
  for (const since of ['two:1', 'one:99', 'one:', 'one:-1', '', ':', 'one:1:1e9']) {
    const { heard } = follower(open(), { since })
    assert.ok(heard[0] !== undefined && 'snapshot' in heard[0], since)
  }
})

test('a client that comes back with more topics than before gets the snapshot', () => {
  put('web', 1)
  const store = open()
  const first = follower(store, { topics: ['seats'] })
  const { rev: since = '' } = first.heard[0] ?? {}
  first.end()
  const again = follower(store, { since, topics: ['seats'] })
  assert.ok('changes' in (again.heard[0] ?? {}))
  const { heard } = follower(store, { since, topics: ['seats', 'kernels'] })
  assert.ok('snapshot' in (heard[0] ?? {}))
  assert.equal(rowsOf(heard), { web: 1 })
})

test('a client that takes a seat, or comes back to one, is told the rows for seats that were there before', async () => {
  const store = open()
  let isSeated = false
  kernels.set('wanted-1', { key: 'wanted-1', root: null, kernel: null, forSeats: true, value: 1 })
  put('web', 1)
  const mayBeTold = (row: TopicRow) => row.forSeats !== true || isSeated
  const first = follower(store, { mayBeTold })
  assert.equal(rowsOf(first.heard), { web: 1 })
  isSeated = true
  put('web', 2)
  store.touch('kernels')
  await turn()
  assert.equal(rowsOf(first.heard), { web: 2, 'wanted-1': 1 })
  const { rev: since = '' } = first.heard.at(-1) ?? {}
  first.end()
  assert.equal(rowsOf(follower(store, { since, mayBeTold }).heard), { 'wanted-1': 1 })
  const many = first.heard.length
  store.touch('kernels')
  await turn()
  assert.is(first.heard.length, many)
})

test('a client that was away while more rows went than are remembered gets the snapshot', async () => {
  const store = open()
  const { heard, end } = follower(store)
  const { rev } = heard[0] ?? { rev: '' }
  for (let n = 0; n < 600; n++) put(`k${n}`, n)
  store.touch('kernels')
  await turn()
  kernels.clear()
  store.touch('kernels')
  await turn()
  end()
  const back = follower(store, { since: rev })
  assert.ok(back.heard[0] !== undefined && 'snapshot' in back.heard[0])
})

test('a client that was away while a row went over to another project gets the snapshot, and has it no more', async () => {
  for (const isGoneBetween of [false, true]) {
    kernels.clear()
    put('web', 1)
    put('worker', 1)
    const store = open()
    const first = follower(store)
    follower(store)
    const { rev } = first.heard.at(-1) ?? { rev: '' }
    first.end()
    if (isGoneBetween) kernels.delete('web')
    store.touch('kernels')
    await turn()
    put('web', 2, '/other')
    const { heard } = follower(store, { since: rev })
    assert.equal(rowsOf([...first.heard, ...heard]), { worker: 1 })
  }
})

test('a client that does not read loses its changes, for which nothing is read, and gets one snapshot once it reads', async () => {
  put('web', 0)
  const store = open()
  let isRead = true
  const { heard, readAgain } = follower(store, { reads: () => isRead })
  isRead = false
  for (let n = 1; n < 100; n++) {
    put('web', n)
    store.touch('kernels')
    await turn()
  }
  assert.is(heard.length, 1)
  isRead = true
  readAgain()
  assert.is(heard.length, 2)
  assert.ok('snapshot' in (heard[1] ?? {}))
  assert.equal(rowsOf(heard), { web: 99 })
})

test('a change is missed by nobody where another client begins to follow, or reads again, before it was told', async () => {
  put('web', 1)
  const store = open()
  let isRead = true
  const [first, slow] = [follower(store), follower(store, { reads: () => isRead })]
  isRead = false
  put('web', 2)
  store.touch('kernels')
  await turn()
  put('web', 3)
  store.touch('kernels')
  const second = follower(store)
  await turn()
  for (const { heard } of [first, second]) assert.equal(rowsOf(heard), { web: 3 })
  put('web', 4)
  store.touch('kernels')
  isRead = true
  slow.readAgain()
  await turn()
  for (const { heard } of [first, second, slow]) assert.equal(rowsOf(heard), { web: 4 })
  assert.is(second.heard.length, 2)
})

test('rows of another project are told to nobody, and one that goes over to it has gone', async () => {
  put('web', 1)
  put('theirs', 1, '/other')
  const store = open()
  const { heard } = follower(store)
  assert.equal(rowsOf(heard), { web: 1 })
  put('web', 2, '/other')
  store.touch('kernels')
  await turn()
  assert.equal(rowsOf(heard), {})
  assert.is(heard.filter(event => 'snapshot' in event).length, 1)
  assert.not.match(JSON.stringify(heard), 'theirs')
  kernels.delete('theirs')
  store.touch('kernels')
  await turn()
  assert.not.match(JSON.stringify(heard), 'theirs')
})

test('a kernel that floods with notes is looked at once at a time, and followers hear one change in a turn', async () => {
  const tell = new Map<NewsOf, () => void>()
  let [looks, most, changes] = [0, 0, 0]
  let answer = () => {}
  const kernel = {
    identity: { abilities: new Set(['errors', 'traces']) },
    ended: new Promise(() => {}),
    watchNews(of: NewsOf, listener: () => void) {
      tell.set(of, listener)
      return () => {}
    },
    async look() {
      most = Math.max(most, ++looks)
      await new Promise<void>(resolve => {
        answer = resolve
      })
      looks--
      return { type: 'found', value: { errors: [] } }
    },
  } as unknown as Kernel
  const errors = new NotedErrors({ isFollowed: () => true, changed: () => void changes++ })
  const traces = notedTraces(() => store.touch('traces'))
  const store: Subscriptions = new Subscriptions({
    instance: 'one',
    sources: { traces: () => traces.rows() },
  })
  const heard: SubscriptionEvent[] = []
  for (const noted of [errors, traces]) noted.lives({ name: 'web', root: '/shop', kernel })
  const end = store.follow({
    topics: ['traces'],
    mayBeTold: () => true,
    tell(event) {
      heard.push(event)
      return 'sent'
    },
  })
  for (let n = 0; n < 100_000; n++) for (const told of tell.values()) told()
  await turn()
  assert.equal(rowsOf(heard), { web: { kernel: 'web', news: 100_000 } })
  assert.is(heard.length, 2)
  for (const expected of [1, 2]) {
    answer()
    await turn()
    assert.is(changes, expected)
  }
  assert.equal([looks, most], [0, 1])
  end()
})

test('a row that has gone is told to be gone, too, where the client stopped reading before that event', async () => {
  const names = Array.from({ length: 2_000 }, (_, n) => `k${n}`)
  for (const name of names) put(name, 1)
  const store = open()
  let left = Infinity
  const { heard, readAgain } = follower(store, { reads: () => left-- > 0 })
  assert.is(Object.keys(rowsOf(heard)).length, 2_000)
  left = 1
  for (const name of names) put(name, 2, '/other')
  store.touch('kernels')
  await turn()
  left = Infinity
  readAgain()
  assert.equal(rowsOf(heard), {})
})

test('an image is told whether somebody follows its errors, the last word last, and again where it did not hear that', async () => {
  const watches: unknown[] = []
  let answer = (_: unknown) => {}
  let isFollowed = true
  const kernel = {
    identity: { abilities: new Set(['errors']) },
    ended: new Promise(() => {}),
    watchNews: () => () => {},
    look: (_: string, query: { watch: string }) => {
      watches.push(query.watch)
      return new Promise(resolve => {
        answer = resolve
      })
    },
  } as unknown as Kernel
  const errors = new NotedErrors({ isFollowed: () => isFollowed, changed: () => {} })
  errors.lives({ name: 'web', root: '/shop', kernel })
  isFollowed = false
  errors.askAll()
  assert.equal(watches, ['on'])
  answer({ type: 'found', value: { errors: [] } })
  await turn()
  assert.equal(watches, ['on', 'off'])
  isFollowed = true
  errors.askAll()
  answer({ type: 'found', value: { errors: [] } })
  await turn()
  assert.equal(watches, ['on', 'off', 'on'])
  answer({ type: 'timed_out', deadline_ms: 1_000 })
  await until(() => watches.length === 4, 'another look after one that was not answered')
  answer({ type: 'found', value: { errors: [] } })
  await turn()
  isFollowed = false
  errors.askAll()
  answer({ type: 'found', value: { errors: [] } })
  await turn()
  errors.askAll()
  assert.equal(watches.slice(4), ['off'])
})
