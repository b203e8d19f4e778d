import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAttachmentStore } from '../../src/kernels/attachment-store.ts'
import type { Kernels } from '../../src/kernels/kernels.ts'
import type { Wanted } from '../../src/kernels/wanted.ts'
import { WireError } from '../../wire/errors.ts'
import { FakeLauncher, refusal } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'
import { openKernels } from '../support/kernels-alone.ts'

/** What takes the place of a program that has ended. */
const test = suite('successors')

/** The process that starts the program again. */
const PARENT = 40

let folder = ''
let shop = ''
let launcher = new FakeLauncher()
let programs = new FakePrograms()
let kernels: Kernels = openKernels({ launch: launcher.launch })
let now = 0

let isWithheld = false

function open(): Kernels {
  const attachments = openAttachmentStore({ stateDir: folder, log: () => {} })
  const home = join(folder, 'home')
  return openKernels({
    launch: launcher.launch,
    home,
    programs,
    attachments,
    now: () => now,
    withholds: () => isWithheld,
  })
}

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-followed-')))
  shop = join(folder, 'shop')
  for (const name of ['shop', 'home']) mkdirSync(join(folder, name))
  launcher = new FakeLauncher()
  programs = new FakePrograms()
  now = 0
  kernels = open()
})

test.after.each(async () => {
  await kernels.close()
  rmSync(folder, { recursive: true, force: true })
})

const here = (more: Partial<Wanted> = {}): Wanted => ({ root: shop, env: {}, ...more })

/** Announcements in the order of their seconds; what ends in a test has ended when the test runs. */
const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`
const LATER = '2999-01-01T00:00:00Z'
const listens = (more: Parameters<FakePrograms['announce']>[0] = {}) =>
  programs.announce({ cwd: shop, parent: PARENT, announced_at: at(1), ...more })

const ended = async (pid: number) => {
  programs.end(pid)
  programs.latest.die({ reason: 'exited', message: `web has ended (process ${pid}).` })
  await new Promise(resolve => setImmediate(resolve))
}

const row = () => kernels.list().find(({ name }) => name === 'web')

/** When it is as a test expects: successors are looked for now and then. */
async function until(holds: () => boolean, what: string): Promise<void> {
  for (let looks = 0; !holds(); looks++) {
    if (looks > 3_000) throw new Error(`waited in vain for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const follows = (pid: number) =>
  until(
    () => row()?.attached?.address === `unix:/run/programs/${pid}.sock` && row()?.state === 'ready',
    `${pid}`,
  )

/** The program web, attached to, as process 500. */
const begin = async () => {
  listens({ pid: 500 })
  await kernels.resolve(here())
}

test('what the same parent starts of that name, program and folder takes the place of what has ended, as a new epoch', async () => {
  await begin()
  const before = row()
  await ended(500)
  assert.is(row()?.state, 'ended')
  listens({ pid: 501, announced_at: LATER })
  await follows(501)
  assert.is.not(row()?.epoch, before?.epoch)
  assert.equal(
    kernels.list().map(({ name }) => name),
    ['web'],
  )
  assert.is((await kernels.resolve(here())).kernel.identity.epoch, row()?.epoch)
})

for (const [what, other] of [
  ['name', { name: 'jobs' }],
  ['program', { program: '/srv/shop/other.py' }],
  ['folder', { cwd: '/srv/other' }],
  ['parent', { parent: 41 }],
] as const)
  test(`what has another ${what} is no successor`, async () => {
    await begin()
    await ended(500)
    listens({ pid: 501, announced_at: LATER, ...other })
    // Whatever is looked for at that time, the true one is found, and only that.
    listens({ pid: 502, announced_at: LATER })
    await follows(502)
    assert.equal(
      programs.joinings.map(({ process }) => process?.pid),
      [500, 502],
    )
  })

test('what is announced after the end is preferred to what ran beside it', async () => {
  await begin()
  listens({ pid: 501, announced_at: at(2) })
  listens({ pid: 502, announced_at: LATER })
  await ended(500)
  await follows(502)
})

test('a worker that overlaps with what it replaces takes its place when that ends, and not before', async () => {
  await begin()
  listens({ pid: 501, announced_at: at(2) })
  assert.equal(
    (await kernels.project(shop, undefined)).kernels.map(({ name }) => name),
    ['web', 'web-501'],
  )
  await ended(500)
  await follows(501)
})

test('of two that could be the successor neither is, and both are named', async () => {
  await begin()
  await ended(500)
  listens({ pid: 501, announced_at: LATER })
  listens({ pid: 502, announced_at: LATER })
  const error = await refusal(kernels.resolve(here()))
  assert.match(error.message, 'Several could take its place: web-501, web-502.')
  assert.is(programs.joinings.length, 1)
  await kernels.choose('web-502', { root: shop, elsewhere: false })
  await follows(502)
})

/** `web` and `web/2`, as processes 500 and 501, which end in that order at the same moment. */
const endBoth = async () => {
  for (const pid of [500, 501]) {
    listens({ pid })
    await kernels.choose(String(pid), { root: shop, elsewhere: false })
  }
  const [first, second] = programs.kernels
  for (const pid of [500, 501]) programs.end(pid)
  first?.die({ reason: 'exited', message: 'web has ended (process 500).' })
  second?.die({ reason: 'exited', message: 'web has ended (process 501).' })
  await new Promise(resolve => setImmediate(resolve))
}

const addresses = () => kernels.list().map(({ name, state, attached }) => [name, state, attached?.address])
const socket = (pid: number) => `unix:/run/programs/${pid}.sock`

test('members of a group that end together are each given a successor of their own, and never the same', async () => {
  await endBoth()
  for (const pid of [601, 602]) listens({ pid, announced_at: LATER.replace('00Z', `0${pid - 600}Z`) })
  await until(() => kernels.list().every(({ state }) => state === 'ready'), 'both to be back')
  assert.equal(addresses(), [
    ['web', 'ready', socket(601)],
    ['web/2', 'ready', socket(602)],
  ])
})

test('of two members that have ended the first is given the one successor there is, and the other waits for the next', async () => {
  await endBoth()
  listens({ pid: 601, announced_at: LATER })
  await until(() => kernels.list().some(({ state }) => state === 'ready'), 'one to be back')
  assert.is(programs.joinings.length, 3)
  const waiting = kernels.resolve(here({ name: 'web/2' }))
  listens({ pid: 602, announced_at: '2999-01-01T00:00:01Z' })
  assert.is((await waiting).waited, true)
  assert.equal(addresses(), [
    ['web', 'ready', socket(601)],
    ['web/2', 'ready', socket(602)],
  ])
})

test('of more successors than members that have ended none is taken, and all are named', async () => {
  await endBoth()
  for (const pid of [601, 602, 603]) listens({ pid, announced_at: LATER })
  for (const name of ['web', 'web/2']) {
    const { message } = await refusal(kernels.resolve(here({ name })))
    assert.match(message, 'Several could take its place: web-601, web-602, web-603.')
  }
  assert.is(programs.joinings.length, 2)
})

test('a call to all of a group in the gap goes to those that live, and waits where none does', async () => {
  await endBoth()
  const names = async () =>
    (await kernels.group('web', here())).map(one => ('place' in one ? one.name : 'none'))
  const waiting = names()
  for (const pid of [601, 602]) listens({ pid, announced_at: LATER })
  assert.equal(await waiting, ['web', 'web/2'])
  programs.end(602)
  programs.latest.die({ reason: 'exited', message: 'web has ended (process 602).' })
  await new Promise(resolve => setImmediate(resolve))
  assert.is((await names()).length, 1)
})

test('once all of a group have ended, what starts them too, the answer is how the last one ended', async () => {
  await endBoth()
  programs.gone.add(PARENT)
  const { code, message } = await refusal(kernels.group('web', here()))
  assert.equal([code, message], ['kernel_unavailable', 'web has ended (process 501).'])
})

test('one that has changed its name while it was attached is followed by what announces the name it was attached by', async () => {
  await begin()
  programs.end(500)
  listens({ pid: 500, name: 'other' })
  await ended(500)
  listens({ pid: 501, name: 'other', announced_at: LATER })
  listens({ pid: 502, announced_at: LATER })
  await follows(502)
  assert.equal(
    programs.joinings.map(({ process }) => process?.pid),
    [500, 502],
  )
})

test('what starts a successor is none: its child is', async () => {
  await begin()
  await ended(500)
  listens({ pid: 501, announced_at: LATER })
  listens({ pid: 502, parent: 501, announced_at: LATER })
  assert.is(
    (await kernels.resolve(here({ patienceMs: 0 }))).joined?.attached?.address,
    'unix:/run/programs/502.sock',
  )
  assert.equal(
    programs.joinings.map(({ process }) => process?.pid),
    [500, 502],
  )
})

// What is said meanwhile

test('a call in the gap waits for the successor, goes to it, and says that it has waited', async () => {
  await begin()
  await ended(500)
  const waiting = kernels.resolve(here())
  const named = kernels.resolve(here({ name: 'web' }))
  listens({ pid: 501, announced_at: LATER })
  const found = await Promise.all([waiting, named])
  for (const { name, waited, kernel } of found)
    assert.equal([name, waited, kernel.identity.epoch], ['web', true, row()?.epoch])
  assert.is((await kernels.resolve(here())).waited, undefined)
})

test('a call waits no longer than its patience, and says then what ended and what is waited for', async () => {
  await begin()
  await ended(500)
  const { code, message, next, retryable } = await refusal(kernels.resolve(here({ patienceMs: 0 })))
  assert.is(code, 'kernel_unavailable')
  assert.is(message, 'web has ended (process 500). Nothing has taken its place so far.')
  assert.match(next ?? '', `What process ${PARENT} starts next takes its place as web.`)
  assert.match(next ?? '', 'Tools for files work meanwhile')
  assert.is(retryable, true)
})

test('one that did not come back is told with the words of what ended it, and still followed', async () => {
  await begin()
  await ended(500)
  const waiting = refusal(kernels.resolve(here()))
  const failed = programs.announce({ pid: 501, cwd: shop, parent: PARENT, announced_at: LATER })
  programs.end(501)
  programs.ends.push({ program: failed, ended: 'SyntaxError: invalid syntax (views.py:9)' })
  const { message, details } = await waiting
  assert.is(
    message,
    'web has ended (process 500). It did not come back: SyntaxError: invalid syntax (views.py:9).',
  )
  assert.is(details.reason, 'did_not_come_back')
  assert.match(row()?.message ?? '', 'did not come back: SyntaxError')
  isWithheld = true
  assert.match(row()?.message ?? '', 'It did not come back. ')
  assert.not.match((await refusal(kernels.resolve(here()))).message, 'SyntaxError')
  isWithheld = false
  listens({ pid: 502, announced_at: '2999-01-01T00:00:01Z' })
  await follows(502)
  assert.is(row()?.message, null)
})

test('one that was joined just before it failed is told with its own last words', async () => {
  const program = listens({ pid: 500 })
  await kernels.resolve(here())
  // It announces itself anew as it says what ends it.
  const { epoch } = programs.latest.identity
  programs.ends.push({
    program: { ...program, epoch, announced_at: LATER },
    ended: 'SyntaxError: invalid syntax (views.py:9)',
  })
  await ended(500)
  const { message } = await refusal(kernels.resolve(here()))
  assert.is(
    message,
    'web has ended (process 500). It did not come back: SyntaxError: invalid syntax (views.py:9).',
  )
})

test('words of an earlier life, or of another program, are not those of what did not come back', async () => {
  listens({ pid: 500, announced_at: at(5) })
  await kernels.resolve(here())
  const others = [{ announced_at: at(4) }, { name: 'jobs', announced_at: LATER }]
  for (const [number, other] of others.entries()) {
    const program = programs.announce({ pid: 600 + number, cwd: shop, parent: PARENT, ...other })
    programs.end(program.pid)
    programs.ends.push({ program, ended: 'ValueError: of another' })
  }
  await ended(500)
  const { details } = await refusal(kernels.resolve(here({ patienceMs: 0 })))
  assert.is(details.reason, 'ended')
})

// How long it is followed

test('after ten minutes it is followed no more, and what comes then is a program like any other', async () => {
  await begin()
  await ended(500)
  now = 599_999
  const still = await refusal(kernels.resolve(here({ patienceMs: 0 })))
  assert.match(still.next ?? '', 'takes its place as web')
  now = 600_000
  const over = await refusal(kernels.resolve(here({ patienceMs: 0 })))
  assert.is(over.next, 'Once it listens again: imago attach web')
  listens({ pid: 501, announced_at: LATER })
  assert.is((await kernels.resolve(here())).joined?.name, 'web')
})

test('once what started it has ended it is followed no more', async () => {
  await begin()
  await ended(500)
  programs.gone.add(PARENT)
  const { next } = await refusal(kernels.resolve(here({ patienceMs: 0 })))
  assert.is(next, 'Once it listens again: imago attach web')
})

test('after a quarter of a minute calls do not wait any more, and it is followed all the same', async () => {
  await begin()
  await ended(500)
  now = 15_000
  assert.is((await refusal(kernels.resolve(here()))).details.reason, 'ended')
  listens({ pid: 501, announced_at: LATER })
  await follows(501)
})

test('a program that starts anew every second for a minute is the same kernel all the while', async () => {
  await begin()
  for (let pid = 501; pid <= 560; pid++) {
    listens({ pid, announced_at: `2026-01-01T00:01:00.${pid}Z` })
    now += 1_000
    await ended(pid - 1)
    await follows(pid)
  }
  assert.is(programs.joinings.length, 61)
  assert.equal(
    kernels.list().map(({ name, state }) => [name, state]),
    [['web', 'ready']],
  )
})

test('one that cannot be joined yet is tried again', async () => {
  await begin()
  await ended(500)
  programs.failures.push(new WireError('LINK_REFUSED', 'ECONNREFUSED'))
  listens({ pid: 501, announced_at: LATER })
  await follows(501)
  assert.is(programs.joinings.length, 3)
})

test('detaching ends the following, and another program may have the name', async () => {
  await begin()
  await ended(500)
  await kernels.detach('web')
  assert.equal(kernels.list(), [])
  listens({ pid: 501, announced_at: LATER })
  assert.is((await kernels.resolve(here())).joined?.name, 'web')
})

test('the next daemon follows what has ended meanwhile', async () => {
  await begin()
  await kernels.close()
  programs.end(500)
  programs.rejoined.push('web has ended (process 500).')
  listens({ pid: 501, announced_at: LATER })
  kernels = open()
  await follows(501)
})
